package asterisk

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/confdsvc"
)

// plan is a snapshot, with what generators look up in it. It holds only what works: nothing that is disabled.
type plan struct {
	*confdsvc.Snapshot
	options Options

	contexts     map[string]*confdsvc.Context // by the names of their sections
	contextIDs   map[confdsvc.ID]*confdsvc.Context
	users        map[confdsvc.ID]*confdsvc.User
	lines        map[confdsvc.ID]*confdsvc.Line
	extensions   map[confdsvc.ID]*confdsvc.Extension
	voicemails   map[confdsvc.ID]*confdsvc.Voicemail
	groups       map[confdsvc.ID]*confdsvc.Group
	queues       map[confdsvc.ID]*confdsvc.Queue
	agents       map[confdsvc.ID]*confdsvc.Agent
	music        map[string]*confdsvc.MOH // by name
	musicUUIDs   map[string]*confdsvc.MOH
	sounds       map[[2]string]*confdsvc.Sound // by tenant and name of the category
	schedules    map[confdsvc.ID]*confdsvc.Schedule
	menus        map[confdsvc.ID]*confdsvc.IVR
	conferences  map[confdsvc.ID]*confdsvc.Conference
	applications map[string]*confdsvc.Application
	trunks       map[confdsvc.ID]*confdsvc.Trunk
	parking      map[string][]*confdsvc.ParkingLot // the lots that have a number in a context, by its name
	endpoints    map[string]*confdsvc.EndpointSIP  // by UUID, also those with which nobody can telephone, as the next
	customs      map[confdsvc.ID]*confdsvc.EndpointCustom
	iax          map[confdsvc.ID]*confdsvc.EndpointIAX
	registersIAX map[confdsvc.ID]*confdsvc.RegisterIAX
	transports   map[string]bool   // the names of those that are written
	features     map[string]string // the numbers, or patterns, of feature codes, by feature
	// entries are what each context holds, by its name.
	entries map[string][]entry
	// leads are the entries, by context and number, that lead somewhere; patterns are those of them that are patterns, by context.
	leads    map[[2]string]bool
	patterns map[string][]string
	lit      map[[2]string]bool // which numbers of which contexts have a lamp
	// public are the tenants' phone numbers that begin with +, by tenant and digits; mains are their main numbers.
	public map[[2]string]string
	mains  map[string]string
	// emergencies are the emergency numbers of each tenant that reach somebody, and then the installation's, by what is dialled.
	emergencies map[string]map[string][]*confdsvc.EmergencyNumber
	left        []leftout.Omission // what the files lack
}

// isOn reads an attribute that is true while nobody has set it.
func isOn(flag *bool) bool { return flag == nil || *flag }

// isSet reads an attribute that is false while nobody has set it.
func isSet(flag *bool) bool { return flag != nil && *flag }

// text reads a text that may be missing.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// index returns the objects without a fault, by their keys.
func index[K comparable, T any](objects []*T, key func(o *T) K, fault func(o *T) string) map[K]*T {
	out := make(map[K]*T, len(objects))
	for _, o := range objects {
		if fault == nil || fault(o) == "" {
			out[key(o)] = o
		}
	}
	return out
}

// leaveOut names the objects that have a fault.
func leaveOut[T any](p *plan, objects []*T, fault func(o *T) string, name func(o *T) leftout.Omission) {
	for _, o := range objects {
		if why := fault(o); why != "" {
			p.leave(name(o), why)
		}
	}
}

// leave names what the files lack, and why.
func (p *plan) leave(o leftout.Omission, why string) {
	o.Tenant, o.Reason = p.Slugs[o.TenantUUID], why
	p.left = append(p.left, o)
}

// disabled is the fault of what somebody has disabled.
const disabled = "it is disabled"

func newPlan(s *confdsvc.Snapshot, o Options) *plan {
	s = withSections(s)
	p := &plan{
		Snapshot: s, options: o, transports: map[string]bool{}, features: map[string]string{}, entries: map[string][]entry{},
		leads: map[[2]string]bool{}, patterns: map[string][]string{}, lit: map[[2]string]bool{}, parking: map[string][]*confdsvc.ParkingLot{},
		public: map[[2]string]string{}, mains: map[string]string{}, emergencies: map[string]map[string][]*confdsvc.EmergencyNumber{},
	}
	p.contexts = index(s.Contexts, func(c *confdsvc.Context) string { return c.Name }, p.contextFault)
	p.contextIDs = index(s.Contexts, func(c *confdsvc.Context) confdsvc.ID { return c.ID }, p.contextFault)
	p.users = index(s.Users, func(u *confdsvc.User) confdsvc.ID { return u.ID }, func(u *confdsvc.User) string {
		if !isOn(u.Enabled) {
			return disabled
		}
		return ""
	})
	p.lines = index(s.Lines, func(l *confdsvc.Line) confdsvc.ID { return l.ID }, func(l *confdsvc.Line) string { return p.placeFault(l.TenantUUID, l.Context) })
	p.extensions = index(s.Extensions, func(x *confdsvc.Extension) confdsvc.ID { return x.ID }, p.extensionFault)
	p.voicemails = index(s.Voicemails, func(v *confdsvc.Voicemail) confdsvc.ID { return v.ID }, p.voicemailFault)
	p.groups = index(s.Groups, func(g *confdsvc.Group) confdsvc.ID { return g.ID }, p.groupFault)
	p.queues = index(s.Queues, func(q *confdsvc.Queue) confdsvc.ID { return q.ID }, p.queueFault)
	p.agents = index(s.Agents, func(a *confdsvc.Agent) confdsvc.ID { return a.ID }, nil)
	p.music = index(s.Music, func(m *confdsvc.MOH) string { return m.Name }, p.musicFault)
	p.musicUUIDs = index(s.Music, func(m *confdsvc.MOH) string { return m.UUID }, p.musicFault)
	p.sounds = index(s.Sounds, func(o *confdsvc.Sound) [2]string { return [2]string{o.TenantUUID, o.Name} }, nil)
	p.schedules = index(s.Schedules, func(s *confdsvc.Schedule) confdsvc.ID { return s.ID }, scheduleFault)
	p.menus = index(s.Menus, func(m *confdsvc.IVR) confdsvc.ID { return m.ID }, nil)
	p.conferences = index(s.Conferences, func(o *confdsvc.Conference) confdsvc.ID { return o.ID }, nil)
	p.applications = index(s.Applications, func(o *confdsvc.Application) string { return o.UUID }, nil)
	for _, l := range s.ParkingLots {
		if p.lotFault(l) == "" {
			in := p.lotNumber(l).Context
			p.parking[in] = append(p.parking[in], l)
		}
	}
	p.endpoints = index(s.Endpoints, func(e *confdsvc.EndpointSIP) string { return e.UUID }, nil)
	p.customs = index(s.Customs, func(e *confdsvc.EndpointCustom) confdsvc.ID { return e.ID }, nil)
	p.iax = index(s.EndpointsIAX, func(x *confdsvc.EndpointIAX) confdsvc.ID { return x.ID }, nil)
	p.registersIAX = index(s.RegistersIAX, func(r *confdsvc.RegisterIAX) confdsvc.ID { return r.ID }, nil)
	for _, t := range s.Transports {
		p.transports[t.Name] = p.transportFault(t) == ""
	}
	p.trunks = index(s.Trunks, func(t *confdsvc.Trunk) confdsvc.ID { return t.ID }, p.trunkFault)
	for _, f := range s.Features {
		if f.Enabled && conf.IsExten(f.Exten) {
			p.features[f.Feature] = f.Exten
		}
	}
	for _, n := range s.PhoneNumbers {
		if digits, international := strings.CutPrefix(n.Number, "+"); international {
			p.public[[2]string{n.TenantUUID, digits}] = n.Number
		}
	}
	for _, n := range s.PhoneNumbers {
		if n.Main {
			p.mains[n.TenantUUID] = p.seen(n.TenantUUID, n.Number)
		}
	}
	for tenant := range s.Slugs {
		p.emergencies[tenant] = p.emergenciesOf(tenant)
	}
	p.enter()
	p.leaveFaults()
	return p
}

// leaveFaults names the objects that the files do not have. Users have none of their own: their lines tell of them.
func (p *plan) leaveFaults() {
	leaveOut(p, p.Lines, p.lineFault, p.named)
	leaveOut(p, p.Trunks, p.trunkFault, p.namedTrunk)
	for _, l := range p.Lines {
		if c := p.customs[p.LineCustom[l.ID]]; c != nil && customSuffix(c) != text(c.InterfaceSuffix) {
			p.optionOf(p.named(l), "")("interface_suffix", wrongForm)
		}
	}
	leaveOut(p, p.Extensions, p.extensionFault, func(x *confdsvc.Extension) leftout.Omission {
		return leftout.Omission{TenantUUID: x.TenantUUID, Kind: "extension", Key: fmt.Sprint(x.ID), Name: x.Exten}
	})
	leaveOut(p, p.Contexts, p.contextFault, func(c *confdsvc.Context) leftout.Omission {
		return leftout.Omission{TenantUUID: c.TenantUUID, Kind: "context", Key: fmt.Sprint(c.ID), Name: c.Label}
	})
	leaveOut(p, p.Voicemails, p.voicemailFault, func(v *confdsvc.Voicemail) leftout.Omission {
		return leftout.Omission{TenantUUID: v.TenantUUID, Kind: "voicemail", Key: fmt.Sprint(v.ID), Name: v.Number}
	})
	leaveOut(p, p.Groups, p.groupFault, func(g *confdsvc.Group) leftout.Omission {
		return leftout.Omission{TenantUUID: g.TenantUUID, Kind: "group", Key: g.UUID, Name: g.Label}
	})
	leaveOut(p, p.Queues, p.queueFault, namedQueue)
	p.leaveRules()
	leaveOut(p, p.Music, p.musicFault, func(m *confdsvc.MOH) leftout.Omission {
		return leftout.Omission{TenantUUID: m.TenantUUID, Kind: "moh", Key: m.UUID, Name: m.Label}
	})
	leaveOut(p, p.Schedules, scheduleFault, func(s *confdsvc.Schedule) leftout.Omission {
		return leftout.Omission{TenantUUID: s.TenantUUID, Kind: "schedule", Key: fmt.Sprint(s.ID), Name: text(s.Name)}
	})
	leaveOut(p, p.ParkingLots, p.lotFault, func(l *confdsvc.ParkingLot) leftout.Omission {
		return leftout.Omission{TenantUUID: l.TenantUUID, Kind: "parkinglot", Key: fmt.Sprint(l.ID), Name: text(l.Name)}
	})
	leaveOut(p, p.Outcalls, p.outcallFault, func(o *confdsvc.Outcall) leftout.Omission {
		return leftout.Omission{TenantUUID: o.TenantUUID, Kind: "outcall", Key: fmt.Sprint(o.ID), Name: o.Name}
	})
	leaveOut(p, p.Transports, p.transportFault, func(t *confdsvc.SIPTransport) leftout.Omission {
		return leftout.Omission{Kind: "transport", Key: t.UUID, Name: t.Name}
	})
}

// named returns how a line is named: as its endpoint, and with its main user.
func (p *plan) named(l *confdsvc.Line) leftout.Omission {
	o := leftout.Omission{TenantUUID: l.TenantUUID, Kind: "line", Key: fmt.Sprint(l.ID)}
	if e := p.endpoints[p.LineSIP[l.ID]]; e != nil {
		o.Name = e.Name
	} else if c := p.customs[p.LineCustom[l.ID]]; c != nil {
		o.Name = c.Interface
	}
	if users := p.LineUsers[l.ID]; len(users) > 0 {
		if at, found := slices.BinarySearchFunc(p.Users, users[0], func(u *confdsvc.User, id confdsvc.ID) int { return cmp.Compare(u.ID, id) }); found {
			o.UserUUID, o.User = p.Users[at].UUID, nameOf(p.Users[at])
		}
	}
	return o
}

// contextFault says why a context is in no file, or nothing. So do the next for other objects.
func (p *plan) contextFault(c *confdsvc.Context) string {
	switch {
	case !c.Enabled:
		return disabled
	case !conf.IsSectionName(c.Name):
		return kept(c.Name)
	}
	return p.taken(c.Name, "extensions.conf")
}

func scheduleFault(s *confdsvc.Schedule) string {
	if !s.Enabled {
		return disabled
	}
	return ""
}

// placeFault is the fault of an object in a context that does not work.
func (p *plan) placeFault(tenantUUID, context string) string {
	if p.contextOf(tenantUUID, context) == nil {
		return "its context " + strconv.Quote(strings.TrimPrefix(context, renamed)) + " is disabled or left out, or another tenant's"
	}
	return ""
}

func (p *plan) extensionFault(x *confdsvc.Extension) string {
	switch {
	case !x.Enabled:
		return disabled
	case !conf.IsExten(x.Exten):
		return "it is no number, and no pattern, that Asterisk can read"
	}
	return p.placeFault(x.TenantUUID, x.Context)
}

func (p *plan) voicemailFault(v *confdsvc.Voicemail) string {
	switch {
	case !v.Enabled:
		return disabled
	case !isDigits(v.Number):
		return "its number is more than digits"
	case slices.Contains([]string{"general", "zonemessages"}, strings.ToLower(v.Context)):
		return "its context has the name of a section that voicemail.conf keeps for something else"
	}
	return cmp.Or(p.placeFault(v.TenantUUID, v.Context), p.taken(v.Context, "voicemail.conf"), p.taken(mailbox(v), "voicemail.conf"))
}

func (p *plan) groupFault(g *confdsvc.Group) string {
	if !g.Enabled {
		return disabled
	}
	return cmp.Or(wrongName(g.Name), p.taken(g.Name, "queues.conf"))
}

func (p *plan) musicFault(m *confdsvc.MOH) string {
	return cmp.Or(wrongName(m.Name), p.taken(m.Name, "musiconhold.conf"))
}

// ownNames are sections that extensions.conf or the generator keep for themselves, beside those that no object can have.
var ownNames = []string{"globals", "usersharedlines", featureContext}

// renamed begins the sections of contexts that cannot have their own names there. The library takes it away again, for mailboxes.
const renamed = "ringfence-context-"

// section returns the name of a context in the dialplan: its own one, unless that is kept for something else. A name that it has returned stays.
func section(context string) string {
	if (confdsvc.IsReserved(context) || slices.Contains(ownNames, strings.ToLower(context))) && !strings.HasPrefix(context, renamed) {
		return renamed + context
	}
	return context
}

// withSections returns a snapshot in which contexts, and what is in them, name the sections of the dialplan. Voicemails keep the names of their
// contexts, which are folders too; what names a context otherwise finds it by [plan.contextOf].
func withSections(s *confdsvc.Snapshot) *confdsvc.Snapshot {
	if !slices.ContainsFunc(s.Contexts, func(c *confdsvc.Context) bool { return section(c.Name) != c.Name }) {
		return s
	}
	own := *s
	own.Contexts = each(s.Contexts, func(c *confdsvc.Context) { c.Name = section(c.Name) })
	own.Lines = each(s.Lines, func(l *confdsvc.Line) { l.Context = section(l.Context) })
	own.Extensions = each(s.Extensions, func(x *confdsvc.Extension) { x.Context = section(x.Context) })
	own.Trunks = each(s.Trunks, func(t *confdsvc.Trunk) {
		if t.Context != nil {
			t.Context = new(section(*t.Context))
		}
	})
	own.Emergencies = each(s.Emergencies, func(n *confdsvc.EmergencyNumber) {
		if n.Context != nil {
			n.Context = new(section(*n.Context))
		}
	})
	own.Customs = each(s.Customs, func(c *confdsvc.EndpointCustom) {
		if m := localForm.FindStringSubmatch(c.Interface); m != nil {
			c.Interface = "Local/" + m[1] + "@" + section(m[2])
		}
	})
	return &own
}

// each returns copies of objects that are changed.
func each[T any](objects []*T, change func(o *T)) (copies []*T) {
	for _, o := range objects {
		one := *o
		change(&one)
		copies = append(copies, &one)
	}
	return copies
}

// contextOf returns a tenant's own context, or nil if there is none that works. Its name is that of its section.
func (p *plan) contextOf(tenantUUID, name string) *confdsvc.Context {
	if c := p.contexts[section(name)]; c != nil && c.TenantUUID == tenantUUID {
		return c
	}
	return nil
}

// extensionsOf returns the numbers of a tenant's object that work, of those with these ids.
func (p *plan) extensionsOf(tenantUUID string, ids []confdsvc.ID) (all []*confdsvc.Extension) {
	for _, id := range ids {
		if x := p.extensions[id]; x != nil && x.TenantUUID == tenantUUID {
			all = append(all, x)
		}
	}
	return all
}

func mailbox(v *confdsvc.Voicemail) string { return v.Number + "@" + v.Context }

// boxOf returns a user's mailbox, or nil.
func (p *plan) boxOf(u *confdsvc.User) *confdsvc.Voicemail {
	v := p.voicemails[p.UserVoicemail[u.ID]]
	if v == nil || v.TenantUUID != u.TenantUUID {
		return nil
	}
	return v
}

// musicOf returns the class of a music on hold that a tenant's object names, or "" if the tenant has none of that name.
func (p *plan) musicOf(tenantUUID string, name *string) string {
	if m := p.music[text(name)]; m != nil && m.TenantUUID == tenantUUID {
		return m.Name
	}
	if text(name) == "default" {
		return "default"
	}
	return ""
}

// mainUser returns the main user of a line, or nil if it has none or a disabled one.
func (p *plan) mainUser(lineID confdsvc.ID) *confdsvc.User {
	if users := p.LineUsers[lineID]; len(users) > 0 {
		return p.users[users[0]]
	}
	return nil
}

// context returns the context in which a user dials, and in which their calls are forwarded: that of their main line.
func (p *plan) context(u *confdsvc.User) *confdsvc.Context {
	for _, id := range p.UserLines[u.ID] {
		if l := p.lines[id]; l != nil && l.TenantUUID == u.TenantUUID {
			return p.contexts[l.Context]
		}
	}
	return nil
}

// number returns the number of a user, or nil: the first one of their lines.
func (p *plan) number(u *confdsvc.User) *confdsvc.Extension {
	for _, lineID := range p.UserLines[u.ID] {
		for _, x := range p.extensionsOf(u.TenantUUID, p.LineExtensions[lineID]) {
			if !strings.HasPrefix(x.Exten, "_") {
				return x
			}
		}
	}
	return nil
}

// device is what rings: a SIP endpoint, or an interface that a custom endpoint names.
type device struct {
	// watch is its name for hints; dial is what rings it, which for a SIP endpoint is empty while no telephone is registered.
	watch, dial string
}

// lineFault says why a line rings nothing, and no telephone can use it, or nothing.
func (p *plan) lineFault(l *confdsvc.Line) string {
	if p.lines[l.ID] == nil {
		return p.placeFault(l.TenantUUID, l.Context)
	}
	_, fault := p.device(l.ID)
	return fault
}

// device returns what a line of p.lines rings or, if there is nothing, why. The telephone of a disabled user is none.
func (p *plan) device(lineID confdsvc.ID) (d device, fault string) {
	l := p.lines[lineID]
	if len(p.LineUsers[lineID]) > 0 && p.mainUser(lineID) == nil {
		return d, "its user is disabled"
	}
	if e := p.endpoints[p.LineSIP[lineID]]; e != nil && e.TenantUUID == l.TenantUUID {
		return device{watch: "PJSIP/" + e.Name, dial: "${PJSIP_DIAL_CONTACTS(" + e.Name + ")}"}, p.unusable(e)
	}
	if c := p.customs[p.LineCustom[lineID]]; c != nil && c.TenantUUID == l.TenantUUID {
		return device{watch: c.Interface, dial: c.Interface + customSuffix(c)}, p.customFault(c)
	}
	return d, "it has no endpoint of its tenant"
}

// customFault says why a custom endpoint reaches nothing, or nothing.
func (p *plan) customFault(c *confdsvc.EndpointCustom) string {
	if !c.Enabled {
		return "its endpoint is disabled"
	}
	if !isInterface(p, c) {
		return "its interface is none of a number of its tenant, and none that the operator lists (RINGFENCE_ASTERISK_INTERFACES)"
	}
	return ""
}

// maxDevices is how many bytes the names of what rings for a user have at most: more would not fit into a line.
const maxDevices = 4000

// devices returns what a user's lines ring, all at once. What does not fit is left out.
func (p *plan) devices(u *confdsvc.User) (all []device) {
	size := 0
	for _, id := range p.UserLines[u.ID] {
		if l := p.lines[id]; l == nil || l.TenantUUID != u.TenantUUID {
			continue
		}
		if d, fault := p.device(id); fault == "" && !slices.Contains(all, d) && size+len(d.dial) < maxDevices {
			all, size = append(all, d), size+len(d.dial)+1
		}
	}
	return all
}

// watchedDevices returns the devices as a hint names them.
func watchedDevices(devices []device) string {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = d.watch
	}
	return strings.Join(names, "&")
}

// localForm is a custom interface that leads into the dialplan, hardwareForm one that may lead to a channel of the machine.
var (
	localForm    = regexp.MustCompile(`^Local/([0-9*#]{1,40})@([A-Za-z0-9_-]{1,79})$`)
	hardwareForm = regexp.MustCompile(`^(DAHDI|dahdi|SCCP|sccp|Custom|Dongle)/[A-Za-z0-9._-]{1,100}$`)
	suffixForm   = regexp.MustCompile(`^/[A-Za-z]{1,8}$`)
)

// isInterface reports whether a custom endpoint may have its interface. It may lead to hardware that the operator lists, or to a number of the
// tenant's own: another name would ring, and watch, another tenant's telephone.
func isInterface(p *plan, c *confdsvc.EndpointCustom) bool {
	if m := localForm.FindStringSubmatch(c.Interface); m != nil {
		return p.contextOf(c.TenantUUID, m[2]) != nil
	}
	return hardwareForm.MatchString(c.Interface) && slices.ContainsFunc(p.options.Interfaces, func(listed string) bool {
		technology, all := strings.CutSuffix(listed, "*")
		return c.Interface == listed || all && strings.HasPrefix(c.Interface, technology)
	})
}

// CheckInterfaces refuses a list of interfaces in which one could not be that of any custom endpoint.
func CheckInterfaces(listed []string) error {
	for _, one := range listed {
		technology, all := strings.CutSuffix(one, "/*")
		if all {
			one = technology + "/x"
		}
		if !hardwareForm.MatchString(one) {
			return fmt.Errorf("%q is no interface, such as SCCP/door, and no technology with all of its interfaces, such as SCCP/*", one)
		}
	}
	return nil
}

func customSuffix(c *confdsvc.EndpointCustom) string {
	if s := text(c.InterfaceSuffix); suffixForm.MatchString(s) {
		return s
	}
	return ""
}
