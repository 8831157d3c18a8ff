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

// plan is a snapshot, with what generators look up in it. It holds only what works: nothing that is disabled, or has another fault.
type plan struct {
	*confdsvc.Snapshot
	stored  *confdsvc.Snapshot // with what does not work
	options Options

	contexts     index[string, confdsvc.Context] // by the names of their sections
	contextIDs   index[confdsvc.ID, confdsvc.Context]
	users        index[confdsvc.ID, confdsvc.User]
	lines        index[confdsvc.ID, confdsvc.Line]
	extensions   index[confdsvc.ID, confdsvc.Extension]
	voicemails   index[confdsvc.ID, confdsvc.Voicemail]
	groups       index[confdsvc.ID, confdsvc.Group]
	queues       index[confdsvc.ID, confdsvc.Queue]
	agents       index[confdsvc.ID, confdsvc.Agent]
	music        index[string, confdsvc.MOH] // by name
	musicUUIDs   index[string, confdsvc.MOH]
	sounds       map[[2]string]*confdsvc.Sound // by tenant and name of the category
	schedules    index[confdsvc.ID, confdsvc.Schedule]
	menus        index[confdsvc.ID, confdsvc.IVR]
	conferences  index[confdsvc.ID, confdsvc.Conference]
	switchboards index[string, confdsvc.Switchboard]
	applications index[string, confdsvc.Application]
	outcalls     index[confdsvc.ID, confdsvc.Outcall]
	trunks       index[confdsvc.ID, confdsvc.Trunk]
	parking      map[string][]*confdsvc.ParkingLot   // the lots that have a number in a context, by its name
	endpoints    index[string, confdsvc.EndpointSIP] // by UUID, also those with which nobody can telephone, as the next
	customs      index[confdsvc.ID, confdsvc.EndpointCustom]
	iax          index[confdsvc.ID, confdsvc.EndpointIAX]
	registersIAX index[confdsvc.ID, confdsvc.RegisterIAX]
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

// choice is a letter of an application's options, and whether it is chosen.
type choice struct {
	is     bool
	letter string
}

// letters returns the letters that are chosen.
func letters(all ...choice) string {
	var chosen strings.Builder
	for _, c := range all {
		if c.is {
			chosen.WriteString(c.letter)
		}
	}
	return chosen.String()
}

// text reads a text that may be missing.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// index has objects of a kind by their keys, each with its tenant.
type index[K comparable, T any] map[K]owned[T]

type owned[T any] struct {
	tenantUUID string
	object     *T
}

// newIndex returns the index of objects, of which key returns the key and the tenant.
func newIndex[K comparable, T any](objects []*T, key func(o *T) (key K, tenantUUID string)) index[K, T] {
	x := make(index[K, T], len(objects))
	for _, o := range objects {
		k, tenantUUID := key(o)
		x[k] = owned[T]{tenantUUID, o}
	}
	return x
}

// at returns the object with a key, or nil.
func (x index[K, T]) at(key K) *T { return x[key].object }

// of returns the object of a tenant with a key, or nil.
func (x index[K, T]) of(tenantUUID string, key K) *T {
	if one := x[key]; one.tenantUUID == tenantUUID {
		return one.object
	}
	return nil
}

// among returns the objects of a tenant that have these keys, in this order.
func (x index[K, T]) among(tenantUUID string, keys []K) (all []*T) {
	for _, key := range keys {
		if o := x.of(tenantUUID, key); o != nil {
			all = append(all, o)
		}
	}
	return all
}

// ids returns the ids of what an object is linked with.
func ids[T any](linked []T, id func(one T) int64) (all []confdsvc.ID) {
	for _, one := range linked {
		all = append(all, confdsvc.ID(id(one)))
	}
	return all
}

// byName returns objects in the order of their names.
func byName[T any](objects []T, name func(o T) string) []T {
	return slices.SortedStableFunc(slices.Values(objects), func(a, b T) int { return strings.Compare(name(a), name(b)) })
}

// working returns the objects without a fault.
func working[T any](objects []T, fault func(o T) string) []T {
	return slices.DeleteFunc(slices.Clone(objects), func(o T) bool { return fault(o) != "" })
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

// off is the fault of what is not enabled, or nothing.
func off(enabled bool) string {
	if enabled {
		return ""
	}
	return disabled
}

// named returns how the files name an object that they lack.
func named(kind, tenantUUID string, key any, name string) leftout.Omission {
	return leftout.Omission{TenantUUID: tenantUUID, Kind: kind, Key: fmt.Sprint(key), Name: name}
}

func newPlan(s *confdsvc.Snapshot, o Options) *plan {
	s = withSections(s)
	p := &plan{
		Snapshot: new(*s), stored: s, options: o, transports: map[string]bool{}, features: map[string]string{}, entries: map[string][]entry{},
		leads: map[[2]string]bool{}, patterns: map[string][]string{}, lit: map[[2]string]bool{}, parking: map[string][]*confdsvc.ParkingLot{},
		public: map[[2]string]string{}, mains: map[string]string{}, emergencies: map[string]map[string][]*confdsvc.EmergencyNumber{},
		sounds: map[[2]string]*confdsvc.Sound{},
	}
	p.Contexts = working(s.Contexts, p.contextFault)
	p.contexts = newIndex(p.Contexts, func(c *confdsvc.Context) (string, string) { return c.Name, c.TenantUUID })
	p.contextIDs = newIndex(p.Contexts, func(c *confdsvc.Context) (confdsvc.ID, string) { return c.ID, c.TenantUUID })
	p.Users = working(s.Users, func(u *confdsvc.User) string { return off(isOn(u.Enabled)) })
	p.users = newIndex(p.Users, func(u *confdsvc.User) (confdsvc.ID, string) { return u.ID, u.TenantUUID })
	p.Lines = working(s.Lines, func(l *confdsvc.Line) string { return p.placeFault(l.TenantUUID, l.Context) })
	p.lines = newIndex(p.Lines, func(l *confdsvc.Line) (confdsvc.ID, string) { return l.ID, l.TenantUUID })
	p.Extensions = working(s.Extensions, p.extensionFault)
	p.extensions = newIndex(p.Extensions, func(x *confdsvc.Extension) (confdsvc.ID, string) { return x.ID, x.TenantUUID })
	p.Voicemails = working(s.Voicemails, p.voicemailFault)
	p.voicemails = newIndex(p.Voicemails, func(v *confdsvc.Voicemail) (confdsvc.ID, string) { return v.ID, v.TenantUUID })
	p.Groups = working(s.Groups, p.groupFault)
	p.groups = newIndex(p.Groups, func(g *confdsvc.Group) (confdsvc.ID, string) { return g.ID, g.TenantUUID })
	p.Queues = working(s.Queues, p.queueFault)
	p.queues = newIndex(p.Queues, func(q *confdsvc.Queue) (confdsvc.ID, string) { return q.ID, q.TenantUUID })
	p.agents = newIndex(s.Agents, func(a *confdsvc.Agent) (confdsvc.ID, string) { return a.ID, a.TenantUUID })
	p.Music = working(s.Music, p.musicFault)
	p.music = newIndex(p.Music, func(m *confdsvc.MOH) (string, string) { return m.Name, m.TenantUUID })
	p.musicUUIDs = newIndex(p.Music, func(m *confdsvc.MOH) (string, string) { return m.UUID, m.TenantUUID })
	for _, o := range s.Sounds {
		p.sounds[[2]string{o.TenantUUID, o.Name}] = o
	}
	p.Schedules = working(s.Schedules, scheduleFault)
	p.schedules = newIndex(p.Schedules, func(s *confdsvc.Schedule) (confdsvc.ID, string) { return s.ID, s.TenantUUID })
	p.menus = newIndex(s.Menus, func(m *confdsvc.IVR) (confdsvc.ID, string) { return m.ID, m.TenantUUID })
	p.conferences = newIndex(s.Conferences, func(o *confdsvc.Conference) (confdsvc.ID, string) { return o.ID, o.TenantUUID })
	p.switchboards = newIndex(s.Switchboards, func(o *confdsvc.Switchboard) (string, string) { return o.UUID, o.TenantUUID })
	p.applications = newIndex(s.Applications, func(o *confdsvc.Application) (string, string) { return o.UUID, o.TenantUUID })
	p.ParkingLots = working(s.ParkingLots, p.lotFault)
	for _, l := range p.ParkingLots {
		in := p.lotNumber(l).Context
		p.parking[in] = append(p.parking[in], l)
	}
	p.endpoints = newIndex(s.Endpoints, func(e *confdsvc.EndpointSIP) (string, string) { return e.UUID, e.TenantUUID })
	p.customs = newIndex(s.Customs, func(e *confdsvc.EndpointCustom) (confdsvc.ID, string) { return e.ID, e.TenantUUID })
	p.iax = newIndex(s.EndpointsIAX, func(x *confdsvc.EndpointIAX) (confdsvc.ID, string) { return x.ID, x.TenantUUID })
	p.registersIAX = newIndex(s.RegistersIAX, func(r *confdsvc.RegisterIAX) (confdsvc.ID, string) { return r.ID, r.TenantUUID })
	p.Transports = working(s.Transports, p.transportFault)
	for _, t := range p.Transports {
		p.transports[t.Name] = true
	}
	p.Trunks = working(s.Trunks, p.trunkFault)
	p.trunks = newIndex(p.Trunks, func(t *confdsvc.Trunk) (confdsvc.ID, string) { return t.ID, t.TenantUUID })
	p.Outcalls = working(s.Outcalls, func(o *confdsvc.Outcall) string { return off(o.Enabled) })
	p.outcalls = newIndex(p.Outcalls, func(o *confdsvc.Outcall) (confdsvc.ID, string) { return o.ID, o.TenantUUID })
	p.CallPermissions = working(s.CallPermissions, func(c *confdsvc.CallPermission) string { return off(c.Enabled) })
	p.CallFilters = working(s.CallFilters, func(f *confdsvc.CallFilter) string { return off(f.Enabled) })
	p.CallPickups = working(s.CallPickups, func(k *confdsvc.CallPickup) string { return off(k.Enabled) })
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
	p.leaveFaults(s)
	return p
}

// leaveFaults names the objects of a snapshot that the files do not have. Users have none of their own: their lines tell of them.
func (p *plan) leaveFaults(s *confdsvc.Snapshot) {
	leaveOut(p, s.Lines, p.lineFault, p.namedLine)
	leaveOut(p, s.Trunks, p.trunkFault, p.namedTrunk)
	for _, l := range s.Lines {
		if c := p.customs.at(p.LineCustom[l.ID]); c != nil && customSuffix(c) != text(c.InterfaceSuffix) {
			p.optionOf(p.namedLine(l), "")("interface_suffix", wrongForm)
		}
	}
	leaveOut(p, s.Extensions, p.extensionFault, func(x *confdsvc.Extension) leftout.Omission { return named("extension", x.TenantUUID, x.ID, x.Exten) })
	leaveOut(p, s.Contexts, p.contextFault, func(c *confdsvc.Context) leftout.Omission { return named("context", c.TenantUUID, c.ID, c.Label) })
	leaveOut(p, s.Voicemails, p.voicemailFault, func(v *confdsvc.Voicemail) leftout.Omission { return named("voicemail", v.TenantUUID, v.ID, v.Number) })
	leaveOut(p, s.Groups, p.groupFault, namedGroup)
	leaveOut(p, s.Queues, p.queueFault, namedQueue)
	p.leaveRules()
	leaveOut(p, s.Music, p.musicFault, func(m *confdsvc.MOH) leftout.Omission { return named("moh", m.TenantUUID, m.UUID, m.Label) })
	leaveOut(p, s.Schedules, scheduleFault, namedSchedule)
	leaveOut(p, s.ParkingLots, p.lotFault, func(l *confdsvc.ParkingLot) leftout.Omission {
		return named("parkinglot", l.TenantUUID, l.ID, text(l.Name))
	})
	leaveOut(p, s.Outcalls, p.outcallFault, namedOutcall)
	leaveOut(p, s.Transports, p.transportFault, namedTransport)
}

// namedLine returns how a line is named: as its endpoint, and with its main user.
func (p *plan) namedLine(l *confdsvc.Line) leftout.Omission {
	o := named("line", l.TenantUUID, l.ID, "")
	if e := p.endpoints.at(p.LineSIP[l.ID]); e != nil {
		o.Name = e.Name
	} else if c := p.customs.at(p.LineCustom[l.ID]); c != nil {
		o.Name = c.Interface
	}
	if users := p.LineUsers[l.ID]; len(users) > 0 {
		all := p.stored.Users
		if at, found := slices.BinarySearchFunc(all, users[0], func(u *confdsvc.User, id confdsvc.ID) int { return cmp.Compare(u.ID, id) }); found {
			o.UserUUID, o.User = all[at].UUID, nameOf(all[at])
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

func scheduleFault(s *confdsvc.Schedule) string { return off(s.Enabled) }

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
	return cmp.Or(off(g.Enabled), wrongName(g.Name), p.taken(g.Name, "queues.conf"))
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
	return p.contexts.of(tenantUUID, section(name))
}

func mailbox(v *confdsvc.Voicemail) string { return v.Number + "@" + v.Context }

// boxOf returns a user's mailbox, or nil.
func (p *plan) boxOf(u *confdsvc.User) *confdsvc.Voicemail {
	return p.voicemails.of(u.TenantUUID, p.UserVoicemail[u.ID])
}

// musicOf returns the class of a music on hold that a tenant's object names, or "" if the tenant has none of that name.
func (p *plan) musicOf(tenantUUID string, name *string) string {
	if text(name) == "default" || p.music.of(tenantUUID, text(name)) != nil {
		return text(name)
	}
	return ""
}

// mainUser returns the main user of a line, or nil if it has none or a disabled one.
func (p *plan) mainUser(lineID confdsvc.ID) *confdsvc.User {
	if users := p.LineUsers[lineID]; len(users) > 0 {
		return p.users.at(users[0])
	}
	return nil
}

// context returns the context in which a user dials, and in which their calls are forwarded: that of their main line.
func (p *plan) context(u *confdsvc.User) *confdsvc.Context {
	for _, l := range p.lines.among(u.TenantUUID, p.UserLines[u.ID]) {
		return p.contexts.at(l.Context)
	}
	return nil
}

// number returns the number of a user, or nil: the first one of their lines.
func (p *plan) number(u *confdsvc.User) *confdsvc.Extension {
	for _, lineID := range p.UserLines[u.ID] {
		if x := p.firstNumber(u.TenantUUID, p.LineExtensions[lineID]); x != nil {
			return x
		}
	}
	return nil
}

// firstNumber returns the first of a tenant's extensions with these ids that is no pattern, or nil.
func (p *plan) firstNumber(tenantUUID string, ids []confdsvc.ID) *confdsvc.Extension {
	for _, x := range p.extensions.among(tenantUUID, ids) {
		if !strings.HasPrefix(x.Exten, "_") {
			return x
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
	if p.lines.at(l.ID) == nil {
		return p.placeFault(l.TenantUUID, l.Context)
	}
	_, fault := p.device(l)
	return fault
}

// device returns what a line rings or, if there is nothing, why. The telephone of a disabled user is none.
func (p *plan) device(l *confdsvc.Line) (d device, fault string) {
	if len(p.LineUsers[l.ID]) > 0 && p.mainUser(l.ID) == nil {
		return d, "its user is disabled"
	}
	if e := p.endpoints.of(l.TenantUUID, p.LineSIP[l.ID]); e != nil {
		return device{watch: "PJSIP/" + e.Name, dial: "${PJSIP_DIAL_CONTACTS(" + e.Name + ")}"}, p.unusable(e)
	}
	if c := p.customs.of(l.TenantUUID, p.LineCustom[l.ID]); c != nil {
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
	for _, l := range p.lines.among(u.TenantUUID, p.UserLines[u.ID]) {
		if d, fault := p.device(l); fault == "" && !slices.Contains(all, d) && size+len(d.dial) < maxDevices {
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
