package asterisk

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() { parts = append(parts, part{"pjsip.conf", 3, "trunks", writeTrunks}) }

// The names of a trunk's logins at its carrier are its endpoint's with one of these behind it: no endpoint has a name like that.
const (
	registrationLogin = "@register"
	outboundLogin     = "@out"
)

// closed is the context of the library in which calls find nothing.
const closed = "ringfence-closed"

// namedTrunk returns how a trunk is named: as its endpoint.
func (p *plan) namedTrunk(t *confdsvc.Trunk) leftout.Omission {
	o := named("trunk", t.TenantUUID, t.ID, "")
	if e := p.endpoints.at(p.TrunkSIP[t.ID]); e != nil {
		o.Name = e.Name
	} else if c := p.customs.at(p.TrunkCustom[t.ID]); c != nil {
		o.Name = c.Interface
	} else if x := p.iaxOf(t); x != nil {
		o.Name = x.Name
	}
	return o
}

// trunkFault says why no call goes by a trunk, or nothing. The dialplan calls by one without a fault: PJSIP/number@name of its endpoint, or its
// interface.
func (p *plan) trunkFault(t *confdsvc.Trunk) string {
	if e := p.endpoints.of(t.TenantUUID, p.TrunkSIP[t.ID]); e != nil {
		return p.carrierFault(e)
	}
	if c := p.customs.of(t.TenantUUID, p.TrunkCustom[t.ID]); c != nil {
		return p.customFault(c)
	}
	if x := p.iaxOf(t); x != nil {
		return p.iaxFault(x)
	}
	return "it has no endpoint of its tenant"
}

func (p *plan) carrierFault(e *confdsvc.EndpointSIP) string {
	if why := cmp.Or(wrongName(e.Name), p.taken(e.Name, "pjsip.conf")); why != "" {
		return "its endpoint: " + why
	}
	if !conf.IsSectionName(e.Name + registrationLogin) {
		return "its endpoint: its name is longer than 70 characters"
	}
	if len(e.Auth.V) > 0 {
		if fault := e.Auth.NoLogin("auth_section_options"); fault != "" {
			return fault
		}
	}
	if e.LeadsHere(p.Transports, p.options.Own) != "" {
		return "it leads to this Asterisk itself: its calls would come back for ever"
	}
	return ""
}

func writeTrunks(p *plan, w *conf.Writer) {
	var taken []netip.Prefix
	for _, t := range p.Trunks {
		if e := p.endpoints.at(p.TrunkSIP[t.ID]); e != nil {
			taken = append(taken, p.writeTrunk(w, t, e, taken)...)
		}
	}
}

// writeTrunk writes a trunk, and returns the addresses from which its calls come. Those that others have taken are not its own.
func (p *plan) writeTrunk(w *conf.Writer, t *confdsvc.Trunk, e *confdsvc.EndpointSIP, taken []netip.Prefix) []netip.Prefix {
	named := p.namedTrunk(t)
	omit := p.optionOf(named, "endpoint_section_options.")
	login, registers := len(e.Auth.V) > 0, p.registers(e, named)
	p.beginEndpoint(w, named, e, login, p.comesIn(t, named))
	if _, typed := e.Endpoint.Last("context"); typed {
		omit("context", "the trunk's own attribute says where its calls go")
	}
	if typed, _ := e.Endpoint.Last("callerid"); typed != "" && conf.Fits(typed, maxValue) {
		w.Set("callerid", conf.ParseCallerID(conf.Plain(typed)).String())
	}
	// Without a login its calls are known by their address alone: a name is easily said.
	w.Set("identify_by", map[bool]string{false: "ip", true: "username,auth_username,ip"}[login])
	for _, option := range []string{"call_group", "pickup_group", "named_call_group", "named_pickup_group"} {
		if _, typed := e.Endpoint.Last(option); typed {
			omit(option, "a trunk picks up no calls")
		}
	}
	writeOptions(w, withTimers(e.Endpoint, omit), endpointForms, omit, append(apart, "identify_by")...)
	p.endEndpoint(w, e, "", omit)
	out := len(e.OutboundAuth.V) > 0
	if out {
		if fault := e.OutboundAuth.NoLogin("outbound_auth_section_options"); fault != "" {
			p.optionOf(named, "")("outbound_auth_section_options", fault)
			out = false
		} else {
			w.Set("outbound_auth", e.Name+outboundLogin)
		}
	}
	w.Set("set_var", "__WAZO_TENANT_UUID="+t.TenantUUID)
	w.Set("set_var", "WAZO_CHANNEL_DIRECTION=from-wazo")
	w.Set("set_var", fmt.Sprintf("__RINGFENCE_TRUNK=%d", t.ID))
	writeVariables(w, e, omit)

	w.Section(e.Name)
	w.Set("type", "aor")
	aor := p.optionOf(named, "aor_section_options.")
	if server, _ := e.Registration.Last("server_uri"); registers && !hasForm(e.AOR, aorForms, "contact") {
		w.Set("contact", server)
	}
	if login {
		writeOptions(w, e.AOR, aorForms, aor)
		writeDefaults(w, e.AOR, aorForms, aorDefaults(1))
	} else { // nobody registers with it
		writeOptions(w, e.AOR, aorForms, aor, "max_contacts")
		writeDefaults(w, e.AOR, aorForms, [][2]string{{"qualify_frequency", "60"}})
		w.Set("max_contacts", "0")
	}
	if login {
		p.writeLogin(w, named, e.Name, e.Auth, "auth_section_options.")
	}
	if out {
		p.writeLogin(w, named, e.Name+outboundLogin, e.OutboundAuth, "outbound_auth_section_options.")
	}
	own := p.writeIdentify(w, named, e, taken)
	if registers {
		p.writeRegistration(w, named, e)
	}
	return own
}

// comesIn returns the context in which a trunk's calls come in: one of its tenant for incoming calls, or the one that has nothing. What others
// hold, such as feature codes and the numbers of outgoing calls, is not for everybody.
func (p *plan) comesIn(t *confdsvc.Trunk, named leftout.Omission) string {
	if t.Context == nil {
		return closed
	}
	fault := p.placeFault(t.TenantUUID, *t.Context)
	if fault == "" && p.contexts.at(*t.Context).Type != "incall" {
		fault = "its context is none for incoming calls (incall), which may include others"
	}
	if fault != "" {
		p.optionOf(named, "")("context", fault)
		return closed
	}
	return *t.Context
}

// registers reports whether a trunk registers at its carrier, and names what keeps it from that.
func (p *plan) registers(e *confdsvc.EndpointSIP, named leftout.Omission) bool {
	server, has := e.Registration.Last("server_uri")
	client, also := e.Registration.Last("client_uri")
	fault := ""
	switch {
	case !has && !also:
		return false
	case !registrationForms.allow("server_uri", strings.TrimSpace(server)) || !registrationForms.allow("client_uri", strings.TrimSpace(client)):
		fault = "it needs server_uri and client_uri, each a URI as sip:me@carrier.example"
	case len(e.RegistrationAuth.V) > 0:
		fault = e.RegistrationAuth.NoLogin("registration_outbound_auth_section_options")
	}
	if fault != "" {
		p.optionOf(named, "")("registration_section_options", "it does not register: "+fault)
	}
	return fault == ""
}

// writeIdentify writes by which addresses a trunk's calls are known, and returns them. Of several trunks with one address, of whichever tenants, the
// first one has it: Asterisk would take any of them.
func (p *plan) writeIdentify(w *conf.Writer, named leftout.Omission, e *confdsvc.EndpointSIP, taken []netip.Prefix) (own []netip.Prefix) {
	omit := p.optionOf(named, "identify_section_options.")
	byLine, _ := e.Registration.Last("line")
	for _, pair := range e.Identify.V {
		if pair[0] != "match" {
			continue
		}
		for typed := range strings.SplitSeq(pair[1], ",") {
			at, ok := conf.Network(typed)
			switch {
			case !ok:
				omit("match", "it is no address, and no network of 65,536 addresses at most. "+
					"A name would count only as Asterisk finds it while it loads the file")
			case !slices.ContainsFunc(taken, at.Overlaps):
				own = append(own, at)
			case !conf.IsYes(byLine):
				omit("match", "another trunk has this address, and the calls from there. "+
					"With line=yes in registration_section_options, calls that come by the registration are told apart")
			}
		}
	}
	if len(own) > 0 {
		w.Section(e.Name)
		w.Set("type", "identify")
		w.Set("endpoint", e.Name)
		for _, at := range own {
			w.Set("match", at.String())
		}
		writeOptions(w, e.Identify, identifyForms, omit, "match")
	}
	return own
}

func (p *plan) writeRegistration(w *conf.Writer, named leftout.Omission, e *confdsvc.EndpointSIP) {
	omit := p.optionOf(named, "registration_section_options.")
	login := len(e.RegistrationAuth.V) > 0
	if login {
		p.writeLogin(w, named, e.Name+registrationLogin, e.RegistrationAuth, "registration_outbound_auth_section_options.")
	}
	w.Section(e.Name)
	w.Set("type", "registration")
	line, typed := e.Registration.Last("line")
	_, byAddress := e.Identify.Last("match")
	byLine := conf.IsYes(line) || !typed && !byAddress
	if byLine { // Asterisk refuses an endpoint without the line
		w.Set("endpoint", e.Name)
	}
	if login {
		w.Set("outbound_auth", e.Name+registrationLogin)
	}
	switch typed, _ := e.Registration.Last("transport"); {
	case p.transports[typed]:
		w.Set("transport", typed)
	case typed != "":
		omit("transport", "that transport is left out")
	case e.Transport != nil && p.transports[text(e.Transport.Name)]:
		w.Set("transport", *e.Transport.Name)
	}
	writeOptions(w, e.Registration, registrationForms, omit, "transport")
	// It goes on to try, so that it is there again once the carrier is, or a password is right. Without addresses its calls are known by the line.
	defaults := [][2]string{
		{"retry_interval", "60"}, {"max_retries", "10000"}, {"auth_rejection_permanent", "no"}, {"forbidden_retry_interval", "60"}, {"fatal_retry_interval", "60"},
	}
	if byLine {
		defaults = append(defaults, [2]string{"line", "yes"})
	}
	writeDefaults(w, e.Registration, registrationForms, defaults)
}
