package asterisk

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/asterisk/conf"
)

func init() {
	parts = append(parts,
		part{"pjsip.conf", 0, "global", writeSIPGlobal},
		part{"pjsip.conf", 1, "transports", writeTransports},
		part{"pjsip.conf", 2, "lines", writeSIPLines},
	)
}

func writeSIPGlobal(_ *plan, w *conf.Writer) {
	w.Section("global")
	w.Set("type", "global")
	w.Set("user_agent", "Ringfence")
	w.Section("system")
	w.Set("type", "system")
}

// isTransport reports whether Asterisk can open a transport: without an address, or without a certificate where the protocol needs
// one, it refuses it.
func isTransport(t *confdsvc.SIPTransport) bool {
	bind, _ := t.Options.Last("bind")
	protocol, _ := t.Options.Last("protocol")
	certificate, _ := t.Options.Last("cert_file")
	return conf.IsSectionName(t.Name) && transportForms.allow("bind", bind) && (protocol != "tls" || certificate != "")
}

func writeTransports(p *plan, w *conf.Writer) {
	transports := slices.Clone(p.Transports)
	slices.SortFunc(transports, func(a, b *confdsvc.SIPTransport) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range transports {
		if !p.transports[t.Name] {
			continue
		}
		w.Section(t.Name)
		w.Set("type", "transport")
		writeOptions(w, t.Options, transportForms)
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

// writeOptions writes the options that have a form, in their order. One with another value would make Asterisk refuse the whole
// section, and is left out; so is one without a form.
func writeOptions(w *conf.Writer, options confdsvc.SIPOptions, forms optionForms) {
	for _, pair := range options.V {
		value := strings.TrimSpace(conf.Plain(pair[1]))
		if pair[0] == "allow" || pair[0] == "disallow" {
			value = strings.ReplaceAll(value, " ", "")
		}
		if conf.Fits(value, maxValue) && forms.allow(pair[0], value) {
			w.Set(pair[0], value)
		}
	}
}

// withTimers returns options without the shortest session if it is longer than a session: Asterisk would refuse the endpoint.
func withTimers(o confdsvc.SIPOptions) confdsvc.SIPOptions {
	seconds := func(name string, otherwise int) int {
		value, _ := o.Last(name)
		if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && endpointForms.allow(name, strings.TrimSpace(value)) {
			return n
		}
		return otherwise
	}
	if seconds("timers_min_se", 90) > seconds("timers_sess_expires", 1800) {
		o.V = slices.DeleteFunc(slices.Clone(o.V), func(pair []string) bool { return pair[0] == "timers_min_se" })
	}
	return o
}

// isUsable reports whether a telephone can use an endpoint. One without a username and a password would let everybody telephone, and
// the name anonymous is that of everybody whom Asterisk does not know.
func isUsable(e *confdsvc.EndpointSIP) bool {
	username, _ := e.Auth.Last("username")
	password, _ := e.Auth.Last("password")
	clean := func(s string) bool {
		return s != "" && conf.Plain(s) == s && strings.TrimSpace(s) == s && conf.Fits(s, maxValue)
	}
	return clean(username) && clean(password) && conf.IsSectionName(e.Name) && e.Name != "global" && e.Name != "system" &&
		!strings.HasPrefix(strings.ToLower(e.Name), "anonymous")
}

func writeSIPLines(p *plan, w *conf.Writer) {
	for _, l := range p.Lines {
		e := p.endpoints[p.LineSIP[l.ID]]
		if e == nil {
			continue
		}
		if _, rings := p.device(l.ID); rings {
			writeSIPLine(p, w, p.lines[l.ID], e)
		}
	}
}

func writeSIPLine(p *plan, w *conf.Writer, l *confdsvc.Line, e *confdsvc.EndpointSIP) {
	u := p.mainUser(l.ID)
	w.Section(e.Name)
	w.Set("type", "endpoint")
	w.Set("aors", e.Name)
	w.Set("auth", e.Name)
	if e.Transport != nil && e.Transport.Name != nil && p.transports[*e.Transport.Name] {
		w.Set("transport", *e.Transport.Name)
	}
	in := p.dialsIn(l, e)
	w.Set("context", in)
	for _, name := range []string{"message_context", "subscribe_context", "overlap_context"} {
		if value, _ := e.Endpoint.Last(name); p.contextOf(l.TenantUUID, value) != nil {
			w.Set(name, value)
		}
	}
	w.Set("callerid", p.callerID(e, u))
	writePickupGroups(w, l.TenantUUID, e.Endpoint)
	writeOptions(w, withTimers(e.Endpoint), endpointForms)
	if codecs, _ := e.Endpoint.Last("allow"); !endpointForms.allow("allow", strings.ReplaceAll(codecs, " ", "")) {
		w.Set("allow", "!all,ulaw,alaw") // Asterisk's own default is no codec: such a telephone could ring, and not be answered
	}
	if music, _ := e.Endpoint.Last("moh_suggest"); p.musicOf(l.TenantUUID, &music) != "" {
		w.Set("moh_suggest", music)
	} else if u != nil && p.musicOf(l.TenantUUID, u.MusicOnHold) != "" {
		w.Set("moh_suggest", *u.MusicOnHold)
	}
	p.writeLineVariables(w, l, u, in)
	for _, pair := range e.Endpoint.V {
		if pair[0] == "set_var" {
			writeVariable(w, pair[1])
		}
	}
	w.Section(e.Name)
	w.Set("type", "aor")
	writeOptions(w, e.AOR, aorForms)
	if _, limited := e.AOR.Last("max_contacts"); !limited {
		w.Set("max_contacts", "1") // Asterisk's own default is none
	}
	w.Section(e.Name)
	w.Set("type", "auth")
	w.Set("auth_type", "userpass")
	for _, name := range []string{"username", "password"} {
		value, _ := e.Auth.Last(name)
		w.Set(name, value)
	}
	writeOptions(w, e.Auth, authForms)
}

// dialsIn returns the context in which a line dials: the one that its endpoint names, if it is the tenant's own, or the line's.
func (p *plan) dialsIn(l *confdsvc.Line, e *confdsvc.EndpointSIP) string {
	if name, _ := e.Endpoint.Last("context"); p.contextOf(l.TenantUUID, name) != nil {
		return name
	}
	return l.Context
}

// callerIDForm takes a caller ID apart, however it was typed.
var callerIDForm = regexp.MustCompile(`^\s*"?(.*?)"?\s*(?:<([^<>]*)>)?\s*$`)

// callerID returns a line's caller ID: what its endpoint says, else that of the user. Without a number of its own it has the user's.
func (p *plan) callerID(e *confdsvc.EndpointSIP, u *confdsvc.User) string {
	typed, own := e.Endpoint.Last("callerid")
	if own = own && conf.Fits(typed, maxValue); !own {
		typed = ""
	}
	if !own && u != nil {
		typed = text(u.CallerID)
	}
	name, number := "", ""
	if m := callerIDForm.FindStringSubmatch(conf.Plain(typed)); m != nil {
		name, number = m[1], conf.Digits(m[2])
	}
	if number == "" && u != nil {
		if x := p.number(u); x != nil {
			number = x.Exten
		}
	}
	return conf.CallerID(name, number)
}

// maxGroups is how many pickup groups of a kind a telephone is in at most: more would not fit into a line.
const maxGroups = 50

// writePickupGroups writes who may pick up whose calls. The groups belong to the tenant: so their names hold it, and the numbered
// ones, which all tenants would share, become named ones.
func writePickupGroups(w *conf.Writer, tenantUUID string, o confdsvc.SIPOptions) {
	for _, kind := range []string{"call", "pickup"} {
		var names []string
		for _, option := range []string{kind + "_group", "named_" + kind + "_group"} {
			value, _ := o.Last(option)
			for name := range strings.SplitSeq(value, ",") {
				if name = strings.TrimSpace(name); len(names) < maxGroups && groupForm.MatchString(name) && !slices.Contains(names, tenantUUID+"-"+name) {
					names = append(names, tenantUUID+"-"+name)
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
	if c := p.contexts[in]; c != nil {
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
	reservedVariable = regexp.MustCompile(`(?i)^_*(RINGFENCE|WAZO|XIVO|TRANSFER_CONTEXT|FORWARD_CONTEXT|PICKUPMARK|GOSUB|MACRO|ARG[0-9]|LOCAL|DIAL|BLIND|ATTENDED|VM_|CALLBACK)`)
)

// writeVariable writes a variable of somebody's own. Its value has no character that separates the arguments of applications.
func writeVariable(w *conf.Writer, typed string) {
	name, value, assigned := strings.Cut(conf.Plain(typed), "=")
	if assigned && variableForm.MatchString(name) && !reservedVariable.MatchString(name) && conf.Fits(value, maxValue) && !strings.ContainsAny(value, ",^") {
		w.Set("set_var", name+"="+value)
	}
}
