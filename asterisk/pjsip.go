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

func init() {
	parts = append(parts,
		part{"pjsip.conf", 0, "global", writeSIPGlobal},
		part{"pjsip.conf", 1, "transports", writeTransports},
		part{"pjsip.conf", 2, "lines", writeSIPLines},
		part{"extensions.conf", 2, "names", writeNames},
	)
}

// writeSIPGlobal writes what there is one of. Asterisk loads no second one.
func writeSIPGlobal(p *plan, w *conf.Writer) {
	for _, name := range []string{"global", "system"} {
		if why := p.taken(name, "pjsip.conf"); why != "" {
			p.leave(leftout.Omission{Kind: "section", Key: "pjsip.conf", Name: name}, why+", which counts in its place")
			continue
		}
		w.Section(name)
		w.Set("type", name)
		options := p.Section("pjsip/" + name)
		if name == "system" && len(options) > 0 {
			w.Comment("Asterisk reads this section only when it starts: a change of it needs a restart.")
		}
		if options["endpoint_identifier_order"] != "" {
			w.Comment("Asterisk reads endpoint_identifier_order only when it starts: a change of it needs a restart.")
		}
		if name == "global" && options["user_agent"] == "" {
			w.Set("user_agent", "Ringfence")
		}
		p.writeOptionsOf(w, "pjsip.conf", "pjsip/"+name)
	}
}

// transportFault says why Asterisk cannot open a transport, or nothing: without an address, or without a certificate where the protocol needs
// one, it refuses it.
func (p *plan) transportFault(t *confdsvc.SIPTransport) string {
	bind, _ := t.Options.Last("bind")
	protocol, _ := t.Options.Last("protocol")
	certificate, _ := t.Options.Last("cert_file")
	switch {
	case !transportForms.allow("bind", bind):
		return "its option bind is no address"
	case protocol == "tls" && certificate == "":
		return "its protocol is tls, and it has no cert_file"
	}
	return cmp.Or(wrongName(t.Name), p.taken(t.Name, "pjsip.conf"))
}

func namedTransport(t *confdsvc.SIPTransport) leftout.Omission {
	return named("transport", "", t.UUID, t.Name)
}

func writeTransports(p *plan, w *conf.Writer) {
	for _, t := range byName(p.Transports, func(t *confdsvc.SIPTransport) string { return t.Name }) {
		w.Section(t.Name)
		w.Set("type", "transport")
		writeOptions(w, t.Options, transportForms, p.optionOf(namedTransport(t), "options."))
		if protocol, _ := t.Options.Last("protocol"); protocol == "tls" && !choosesTLS(t.Options) {
			w.Set("method", "tlsv1_2")
		}
	}
}

// choosesTLS reports whether a transport says which version of TLS it speaks. Otherwise Asterisk speaks version 1.0 alone, which
// telephones refuse.
func choosesTLS(o confdsvc.SIPOptions) bool {
	method, _ := o.Last("method")
	return transportForms.allow("method", method)
}

// maxValue is how many bytes a value that somebody typed has in the file at most. Asterisk reads no line of 8 KiB, and one that is too
// long would keep all tenants from being written.
const maxValue = 1000

// omit names an option that a section does not get, and why.
type omit func(option, why string)

// optionOf returns what names the options of an object that begin with this.
func (p *plan) optionOf(o leftout.Omission, begin string) omit {
	return func(option, why string) {
		o.Option = begin + option
		p.leave(o, why)
	}
}

// The reasons for which options are left out.
const (
	noForm    = "the files have it from elsewhere, or never: it could name a file, a profile or another section"
	wrongForm = "Asterisk would refuse its value, or could not read it"
	notTheirs = "its value is nothing that the tenant has"
)

// writeOptions writes the options that have a form, in their order. One with another value would make Asterisk refuse the whole
// section, and is left out; so is one without a form. Those of apart are written elsewhere.
func writeOptions(w *conf.Writer, options confdsvc.SIPOptions, forms optionForms, omit omit, apart ...string) {
	for _, pair := range options.V {
		value := strings.TrimSpace(conf.Plain(pair[1]))
		if pair[0] == "allow" || pair[0] == "disallow" {
			value = strings.ReplaceAll(value, " ", "")
		}
		switch {
		case slices.Contains(apart, pair[0]):
		case forms[pair[0]] == nil:
			omit(pair[0], noForm)
		case !conf.Fits(value, maxValue) || !forms.allow(pair[0], value):
			omit(pair[0], wrongForm)
		default:
			w.Set(pair[0], value)
		}
	}
}

// withTimers returns options without the shortest session if it is longer than a session: Asterisk would refuse the endpoint.
func withTimers(o confdsvc.SIPOptions, omit omit) confdsvc.SIPOptions {
	seconds := func(name string, otherwise int) int {
		value, _ := o.Last(name)
		if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && endpointForms.allow(name, strings.TrimSpace(value)) {
			return n
		}
		return otherwise
	}
	if seconds("timers_min_se", 90) > seconds("timers_sess_expires", 1800) {
		o.V = slices.DeleteFunc(slices.Clone(o.V), func(pair []string) bool { return pair[0] == "timers_min_se" })
		omit("timers_min_se", "the shortest session would be longer than timers_sess_expires")
	}
	return o
}

// unusable says why no telephone can use an endpoint, or nothing. One without a username and a password would let everybody telephone, and
// the name anonymous is that of everybody whom Asterisk does not know.
func (p *plan) unusable(e *confdsvc.EndpointSIP) string {
	if why := cmp.Or(wrongName(e.Name), p.taken(e.Name, "pjsip.conf")); why != "" {
		return "its endpoint: " + why
	}
	return e.Auth.NoLogin("auth_section_options")
}

// eachSIPLine goes through the lines at which a telephone can register, with their endpoints.
func (p *plan) eachSIPLine(do func(l *confdsvc.Line, e *confdsvc.EndpointSIP)) {
	for _, l := range p.Lines {
		if e := p.endpoints.of(l.TenantUUID, p.LineSIP[l.ID]); e != nil && p.lineFault(l) == "" {
			do(l, e)
		}
	}
}

func writeSIPLines(p *plan, w *conf.Writer) {
	p.eachSIPLine(func(l *confdsvc.Line, e *confdsvc.EndpointSIP) { writeSIPLine(p, w, l, e) })
}

// writeNames writes how each line is called, by its id, for the library's ringfence-caller. In pjsip.conf a new name would need a reload of all
// telephones.
func writeNames(p *plan, w *conf.Writer) {
	w.Section("ringfence-names")
	all := []entry{{exten: "_X!", steps: []step{{"Return", ""}}}}
	p.eachSIPLine(func(l *confdsvc.Line, e *confdsvc.EndpointSIP) {
		id := p.callerID(e, p.mainUser(l.ID))
		all = append(all, entry{exten: fmt.Sprint(l.ID), steps: []step{{"Return", conf.Argument(id.Name)}}})
	})
	p.writeEntries(w, all)
}

func writeSIPLine(p *plan, w *conf.Writer, l *confdsvc.Line, e *confdsvc.EndpointSIP) {
	u := p.mainUser(l.ID)
	named := p.namedLine(l)
	omit := p.optionOf(named, "endpoint_section_options.")
	in := p.dialsIn(l, e)
	if o := p.takes(l); o != nil {
		p.beginEndpoint(w, named, e, true, p.takenContext(in, o))
		if typed, _ := e.Endpoint.Last("subscribe_context"); p.contextOf(l.TenantUUID, typed) == nil {
			w.Set("subscribe_context", in) // the application takes calls alone
		}
	} else {
		p.beginEndpoint(w, named, e, true, in)
	}
	if value, typed := e.Endpoint.Last("context"); typed && section(value) != in {
		omit("context", notTheirs)
	}
	number := conf.CallerID{Number: p.callerID(e, u).Number}
	w.Set("callerid", cmp.Or(number.String(), `""`)) // without a number Asterisk would believe what the telephone says
	if typed, _ := e.Endpoint.Last("callerid"); !conf.Fits(typed, maxValue) {
		omit("callerid", wrongForm)
	}
	writePickupGroups(w, l.TenantUUID, e.Endpoint, p.pickupGroups(u), omit)
	writeOptions(w, withTimers(e.Endpoint, omit), endpointForms, omit, apart...)
	music := ""
	if u != nil {
		music = p.musicOf(l.TenantUUID, u.MusicOnHold)
	}
	p.endEndpoint(w, e, music, omit)
	p.writeLineVariables(w, l, u, in)
	writeVariables(w, e, omit)
	w.Section(e.Name)
	w.Set("type", "aor")
	writeOptions(w, e.AOR, aorForms, p.optionOf(named, "aor_section_options."))
	// There may be a telephone for each user of the line, and for each line of its user.
	most := max(1, len(p.LineUsers[l.ID]))
	if u != nil {
		most = max(most, len(p.UserLines[u.ID]))
	}
	writeDefaults(w, e.AOR, aorForms, aorDefaults(most))
	p.writeLogin(w, named, e.Name, e.Auth, "auth_section_options.")
	p.leaveSections(named, e)
}

// beginEndpoint begins the section of an endpoint that dials in a context.
func (p *plan) beginEndpoint(w *conf.Writer, named leftout.Omission, e *confdsvc.EndpointSIP, login bool, in string) {
	w.Section(e.Name)
	w.Set("type", "endpoint")
	w.Set("aors", e.Name)
	if login {
		w.Set("auth", e.Name)
	}
	if e.Transport != nil && e.Transport.Name != nil {
		if p.transports[*e.Transport.Name] {
			w.Set("transport", *e.Transport.Name)
		} else {
			p.optionOf(named, "")("transport", "that transport is left out")
		}
	}
	w.Set("context", in)
	// A text message (RFC 3428) would run what a call runs, as nobody: it would make telephones ring, and calls to the outside.
	w.Set("message_context", closed)
	if _, typed := e.Endpoint.Last("message_context"); typed {
		p.optionOf(named, "endpoint_section_options.")("message_context", "text messages run no dialplan")
	}
	for _, name := range []string{"subscribe_context", "overlap_context"} {
		switch value, typed := e.Endpoint.Last(name); {
		case typed && p.contextOf(e.TenantUUID, value) == nil:
			p.optionOf(named, "endpoint_section_options.")(name, notTheirs)
		case typed:
			w.Set(name, section(value))
		}
	}
}

// endEndpoint writes what an endpoint needs after its options: codecs, whom its calls are accounted to, and the music that it, or else this music, says.
func (p *plan) endEndpoint(w *conf.Writer, e *confdsvc.EndpointSIP, otherwise string, omit omit) {
	if codecs, _ := e.Endpoint.Last("allow"); !endpointForms.allow("allow", strings.ReplaceAll(codecs, " ", "")) {
		w.Set("allow", "!all,ulaw,alaw") // Asterisk's own default is no codec: such a telephone could ring, and not be answered
	}
	writeDefaults(w, e.Endpoint, endpointForms, [][2]string{{"accountcode", e.TenantUUID}})
	music, typed := e.Endpoint.Last("moh_suggest")
	if music = p.musicOf(e.TenantUUID, &music); typed && music == "" {
		omit("moh_suggest", notTheirs)
	}
	if music = cmp.Or(music, otherwise); music != "" {
		w.Set("moh_suggest", music)
	}
}

// writeVariables writes the variables that an endpoint sets.
func writeVariables(w *conf.Writer, e *confdsvc.EndpointSIP, omit omit) {
	for _, pair := range e.Endpoint.V {
		if pair[0] == "set_var" && !writeVariable(w, pair[1]) {
			omit("set_var", "Asterisk or the dialplan obeys this variable, or its value separates arguments")
		}
	}
}

// writeLogin writes the section of a login.
func (p *plan) writeLogin(w *conf.Writer, named leftout.Omission, section string, o confdsvc.SIPOptions, begin string) {
	w.Section(section)
	w.Set("type", "auth")
	w.Set("auth_type", "userpass")
	for _, name := range login {
		value, _ := o.Last(name)
		w.Set(name, value)
	}
	writeOptions(w, o, authForms, p.optionOf(named, begin), "username", "password", "auth_type")
}

// aorDefaults are what neither an endpoint nor its templates say of where telephones are, of which so many may be there. A new one takes the place
// of one that does not answer, or else of the oldest: Asterisk would refuse a telephone that comes back with another port until what it said
// before expires.
func aorDefaults(most int) [][2]string {
	return [][2]string{{"max_contacts", strconv.Itoa(most)}, {"remove_existing", "yes"}, {"remove_unavailable", "yes"}, {"qualify_frequency", "60"}}
}

// writeDefaults writes the options that have no value of their form.
func writeDefaults(w *conf.Writer, typed confdsvc.SIPOptions, forms optionForms, defaults [][2]string) {
	for _, option := range defaults {
		if !hasForm(typed, forms, option[0]) {
			w.Set(option[0], option[1])
		}
	}
}

// hasForm reports whether an option has a value of its form.
func hasForm(o confdsvc.SIPOptions, forms optionForms, name string) bool {
	value, _ := o.Last(name)
	return forms.allow(name, strings.TrimSpace(value))
}

// leaveSections names the sections of an endpoint that are not those of a telephone.
func (p *plan) leaveSections(o leftout.Omission, e *confdsvc.EndpointSIP) {
	for _, one := range []struct {
		name    string
		options confdsvc.SIPOptions
	}{
		{"identify", e.Identify}, {"registration", e.Registration}, {"registration_outbound_auth", e.RegistrationAuth}, {"outbound_auth", e.OutboundAuth},
	} {
		if len(one.options.V) > 0 {
			p.optionOf(o, one.name)("_section_options", "a telephone has no such section")
		}
	}
}

// login are the options with which a telephone says who it is.
var login = []string{"username", "password"}

// apart are the options of an endpoint that are not written as they are.
var apart = []string{
	"context", "message_context", "subscribe_context", "overlap_context", "callerid", "call_group", "pickup_group", "named_call_group", "named_pickup_group",
	"moh_suggest", "set_var",
}

// dialsIn returns the context in which a line dials: the one that its endpoint names, if it is the tenant's own, or the line's.
func (p *plan) dialsIn(l *confdsvc.Line, e *confdsvc.EndpointSIP) string {
	name, _ := e.Endpoint.Last("context")
	if c := p.contextOf(l.TenantUUID, name); c != nil {
		return c.Name
	}
	return l.Context
}

// callerID returns a line's caller ID: what its endpoint says, else that of the user. Without a number of its own it has the user's.
func (p *plan) callerID(e *confdsvc.EndpointSIP, u *confdsvc.User) conf.CallerID {
	typed, own := e.Endpoint.Last("callerid")
	if own = own && conf.Fits(typed, maxValue); !own {
		typed = ""
	}
	if !own && u != nil {
		typed = text(u.CallerID)
	}
	id := conf.ParseCallerID(conf.Plain(typed))
	if id.Number = conf.Digits(id.Number); id.Number == "" && u != nil {
		if x := p.number(u); x != nil {
			id.Number = x.Exten
		}
	}
	return id
}

// maxGroups is how many pickup groups of a kind a telephone is in at most: more would not fit into a line.
const maxGroups = 50

// writePickupGroups writes who may pick up whose calls. The groups belong to the tenant: so their names hold it, and the numbered
// ones, which all tenants would share, become named ones. Those of call pickups come first.
func writePickupGroups(w *conf.Writer, tenantUUID string, o confdsvc.SIPOptions, pickups map[string][]string, omit omit) {
	for _, kind := range []string{"call", "pickup"} {
		names := slices.Clone(pickups[kind][:min(len(pickups[kind]), maxGroups)])
		for _, option := range []string{kind + "_group", "named_" + kind + "_group"} {
			value, typed := o.Last(option)
			for name := range strings.SplitSeq(value, ",") {
				name = tenantUUID + "-" + strings.TrimSpace(name)
				switch {
				case !typed || slices.Contains(names, name):
				case len(names) == maxGroups:
					omit(option, "a telephone is in 50 groups at most")
				case !groupForm.MatchString(name[len(tenantUUID)+1:]):
					omit(option, wrongForm)
				default:
					names = append(names, name)
				}
			}
		}
		if len(names) > 0 {
			w.Set("named_"+kind+"_group", strings.Join(names, ","))
		}
	}
}

// writeLineVariables writes what the dialplan knows of who telephones. The names that begin with WAZO_ are those of the existing
// platform, whose clients read them.
func (p *plan) writeLineVariables(w *conf.Writer, l *confdsvc.Line, u *confdsvc.User, in string) {
	set := func(name, value string) { w.Set("set_var", name+"="+value) }
	set("__WAZO_TENANT_UUID", l.TenantUUID)
	set("WAZO_CHANNEL_DIRECTION", "from-wazo")
	set("WAZO_LINE_ID", fmt.Sprint(l.ID))
	set("TRANSFER_CONTEXT", in)
	if u == nil {
		return
	}
	set("WAZO_USERID", fmt.Sprint(u.ID))
	set("WAZO_USERUUID", u.UUID)
	set("PICKUPMARK", p.pickupMark(u))
	if c := p.contexts.at(in); c != nil {
		set("RINGFENCE_PICKUPS", pickups(c))
	}
	if box := p.boxOf(u); box != nil {
		w.Set("mailboxes", mailbox(box))
		set("RINGFENCE_OWN_MAILBOX", mailbox(box))
		if !box.AskPassword || !isDigits(text(box.Password)) {
			set("RINGFENCE_OWN_MAILBOX_OPTIONS", "s")
		}
	}
	if options := dialOptions(u, true); options != "" {
		set("RINGFENCE_CALLER_OPTIONS", options)
	}
}

// variableForm is the name of a variable that somebody may set. Asterisk obeys many variables, such as TOUCH_MIXMONITOR, which runs a
// program, and all their names are in capitals: so one of somebody's own has a small letter, or begins with X_. One with parentheses
// would be a function, such as FILE, which writes wherever it is told; the reserved ones are those of this dialplan.
var (
	variableForm     = regexp.MustCompile(`^_{0,2}(X_[A-Za-z0-9_]{1,78}|[A-Z][A-Z0-9_]{0,39}[a-z][A-Za-z0-9_]{0,39}|[a-z][A-Za-z0-9_]{0,79})$`)
	reservedVariable = regexp.MustCompile(`(?i)^_*(RINGFENCE|WAZO|XIVO|(TRANSFER|FORWARD)_CONTEXT|PICKUPMARK|` +
		`GOSUB|MACRO|ARG[0-9]|LOCAL|DIAL|BLIND|ATTENDED|VM_|CALLBACK)`)
)

// writeVariable writes a variable of somebody's own, and reports whether it may be written. Its value has no character that separates
// the arguments of applications.
func writeVariable(w *conf.Writer, typed string) bool {
	name, value, assigned := strings.Cut(conf.Plain(typed), "=")
	if !assigned || !variableForm.MatchString(name) || reservedVariable.MatchString(name) || !conf.Fits(value, maxValue) || strings.ContainsAny(value, ",^") {
		return false
	}
	w.Set("set_var", name+"="+value)
	return true
}
