package asterisk

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/asterisk/conf"
)

// plan is a snapshot, with what generators look up in it. It holds only what works: nothing that is disabled.
type plan struct {
	*confdsvc.Snapshot
	options Options

	contexts   map[string]*confdsvc.Context // by name
	contextIDs map[int64]*confdsvc.Context
	users      map[int64]*confdsvc.User
	lines      map[int64]*confdsvc.Line
	extensions map[int64]*confdsvc.Extension
	voicemails map[int64]*confdsvc.Voicemail
	mailboxes  map[string]*confdsvc.Voicemail // by number@context
	groups     map[int64]*confdsvc.Group
	music      map[string]*confdsvc.MOH // by name
	musicUUIDs map[string]*confdsvc.MOH
	endpoints  map[string]*confdsvc.EndpointSIP // by UUID: those with which somebody can telephone
	customs    map[int64]*confdsvc.EndpointCustom
	transports map[string]bool   // the names of those that are written
	features   map[string]string // the numbers, or patterns, of feature codes, by feature
	// entries are what each context holds, by its name.
	entries map[string][]entry
	// leads are the entries, by context and number, that lead somewhere; patterns are those of them that are patterns, by context.
	leads    map[[2]string]bool
	patterns map[string][]string
	lit      map[[2]string]bool // which numbers of which contexts have a lamp
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

// index returns the objects that pass, by their keys.
func index[K comparable, T any](objects []*T, key func(o *T) K, pass func(o *T) bool) map[K]*T {
	out := make(map[K]*T, len(objects))
	for _, o := range objects {
		if pass == nil || pass(o) {
			out[key(o)] = o
		}
	}
	return out
}

func newPlan(s *confdsvc.Snapshot, o Options) *plan {
	p := &plan{Snapshot: s, options: o, transports: map[string]bool{}, features: map[string]string{}, entries: map[string][]entry{}, leads: map[[2]string]bool{}, patterns: map[string][]string{}, lit: map[[2]string]bool{}}
	works := func(c *confdsvc.Context) bool { return c.Enabled && conf.IsSectionName(c.Name) && !isOurs(c.Name) }
	p.contexts = index(s.Contexts, func(c *confdsvc.Context) string { return c.Name }, works)
	p.contextIDs = index(s.Contexts, func(c *confdsvc.Context) int64 { return c.ID }, works)
	p.users = index(s.Users, func(u *confdsvc.User) int64 { return u.ID }, func(u *confdsvc.User) bool { return isOn(u.Enabled) })
	p.lines = index(s.Lines, func(l *confdsvc.Line) int64 { return l.ID }, func(l *confdsvc.Line) bool { return p.contextOf(l.TenantUUID, l.Context) != nil })
	p.extensions = index(s.Extensions, func(x *confdsvc.Extension) int64 { return x.ID }, func(x *confdsvc.Extension) bool {
		return x.Enabled && isExten(x.Exten) && p.contextOf(x.TenantUUID, x.Context) != nil
	})
	hasBox := func(v *confdsvc.Voicemail) bool {
		return v.Enabled && isDigits(v.Number) && p.contextOf(v.TenantUUID, v.Context) != nil
	}
	p.voicemails = index(s.Voicemails, func(v *confdsvc.Voicemail) int64 { return v.ID }, hasBox)
	p.mailboxes = index(s.Voicemails, mailbox, hasBox)
	p.groups = index(s.Groups, func(g *confdsvc.Group) int64 { return g.ID }, func(g *confdsvc.Group) bool { return g.Enabled && conf.IsSectionName(g.Name) })
	isMusic := func(m *confdsvc.MOH) bool {
		return conf.IsSectionName(m.Name) && m.Name != "default" && m.Name != "general"
	}
	p.music = index(s.Music, func(m *confdsvc.MOH) string { return m.Name }, isMusic)
	p.musicUUIDs = index(s.Music, func(m *confdsvc.MOH) string { return m.UUID }, isMusic)
	p.endpoints = index(s.Endpoints, func(e *confdsvc.EndpointSIP) string { return e.UUID }, isUsable)
	p.customs = index(s.Customs, func(e *confdsvc.EndpointCustom) int64 { return e.ID }, func(e *confdsvc.EndpointCustom) bool { return e.Enabled })
	for _, t := range s.Transports {
		p.transports[t.Name] = isTransport(t)
	}
	for _, f := range s.Features {
		if f.Enabled && isExten(f.Exten) {
			p.features[f.Feature] = f.Exten
		}
	}
	p.enter()
	return p
}

// ownNames are sections that extensions.conf, voicemail.conf or the generator keep for themselves.
var ownNames = []string{"general", "globals", "zonemessages", "usersharedlines", featureContext}

// isOurs reports whether a name is one that no context of a tenant can have.
func isOurs(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "ringfence") || slices.Contains(ownNames, name)
}

// contextOf returns a tenant's own context, or nil if there is none that works.
func (p *plan) contextOf(tenantUUID, name string) *confdsvc.Context {
	if c := p.contexts[name]; c != nil && c.TenantUUID == tenantUUID {
		return c
	}
	return nil
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
func (p *plan) mainUser(lineID int64) *confdsvc.User {
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
		for _, id := range p.LineExtensions[lineID] {
			if x := p.extensions[id]; x != nil && x.TenantUUID == u.TenantUUID && !strings.HasPrefix(x.Exten, "_") {
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

// device returns what a line rings, and whether there is anything. The telephone of a disabled user is none.
func (p *plan) device(lineID int64) (device, bool) {
	l := p.lines[lineID]
	if l == nil || len(p.LineUsers[lineID]) > 0 && p.mainUser(lineID) == nil {
		return device{}, false
	}
	if e := p.endpoints[p.LineSIP[lineID]]; e != nil && e.TenantUUID == l.TenantUUID {
		return device{watch: "PJSIP/" + e.Name, dial: "${PJSIP_DIAL_CONTACTS(" + e.Name + ")}"}, true
	}
	if c := p.customs[p.LineCustom[lineID]]; c != nil && c.TenantUUID == l.TenantUUID {
		if name, ok := customInterface(p, c); ok {
			return device{watch: name, dial: name + customSuffix(c)}, true
		}
	}
	return device{}, false
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
		if d, ok := p.device(id); ok && !slices.Contains(all, d) && size+len(d.dial) < maxDevices {
			all, size = append(all, d), size+len(d.dial)+1
		}
	}
	return all
}

// watched returns the devices as a hint names them.
func watched(devices []device) string {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = d.watch
	}
	return strings.Join(names, "&")
}

// localForm is a custom interface that leads into the dialplan, hardwareForm one that leads to a channel of the machine.
var (
	localForm    = regexp.MustCompile(`^Local/([0-9*#]{1,40})@([A-Za-z0-9_-]{1,79})$`)
	hardwareForm = regexp.MustCompile(`^(DAHDI|dahdi|SCCP|sccp|Custom|Dongle)/[A-Za-z0-9._-]{1,100}$`)
	suffixForm   = regexp.MustCompile(`^/[A-Za-z]{1,8}$`)
)

// customInterface returns the interface of a custom endpoint. It may lead to hardware, or to a number of the tenant's own: another
// endpoint's name would ring, and watch, another tenant's telephone.
func customInterface(p *plan, c *confdsvc.EndpointCustom) (string, bool) {
	if m := localForm.FindStringSubmatch(c.Interface); m != nil {
		return c.Interface, p.contextOf(c.TenantUUID, m[2]) != nil
	}
	return c.Interface, hardwareForm.MatchString(c.Interface)
}

func customSuffix(c *confdsvc.EndpointCustom) string {
	if s := text(c.InterfaceSuffix); suffixForm.MatchString(s) {
		return s
	}
	return ""
}
