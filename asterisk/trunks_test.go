package asterisk_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/store"
)

// carrierAt adds to a company a trunk that registers at a carrier.
func carrierAt(tb testing.TB, s *confdsvc.Snapshot, server string) {
	tb.Helper()
	s.Endpoints = append(s.Endpoints, read[confdsvc.EndpointSIP](tb, `{"uuid": "e0", "tenant_uuid": "`+acme+`", "name": "carrier", "transport": {"uuid": "t", "name": "transport-udp"},
				"endpoint_section_options": [["allow", "!all,alaw"], ["from_user", "+15550100"], ["media_encryption", "sdes"], ["timers", "yes"], ["dtmf_mode", "rfc4733"]],
				"identify_section_options": [["match", "192.0.2.10, 198.51.100.0/24"]],
				"registration_section_options": [["server_uri", "sip:`+server+`"], ["client_uri", "sip:acme@`+server+`"], ["contact_user", "5550100"], ["retry_interval", "20"]],
				"registration_outbound_auth_section_options": [["username", "acme"], ["password", "secret-registration"]],
				"outbound_auth_section_options": [["username", "acme"], ["password", "secret-calls"]]}`))
	s.Trunks, s.TrunkSIP = []*confdsvc.Trunk{{ID: 1, TenantUUID: acme, Context: new(public)}}, map[confdsvc.ID]string{1: "e0"}
}

// What a trunk lacks is named with its reason.
func TestWhatTrunksLackIsNamed(t *testing.T) {
	const trunk = "trunk 1 (carrier), tenant acme: "
	carrier := func(section string, pairs ...[]string) func(*confdsvc.Snapshot) {
		return func(s *confdsvc.Snapshot) {
			e := s.Endpoints[3]
			*map[string]*confdsvc.SIPOptions{
				"auth": &e.Auth, "aor": &e.AOR, "identify": &e.Identify, "registration": &e.Registration, "login": &e.RegistrationAuth, "out": &e.OutboundAuth, "endpoint": &e.Endpoint,
			}[section] = confdsvc.SIPOptions{JSON: store.JSON[[][]string]{V: pairs}}
		}
	}
	for name, test := range map[string]struct {
		edit func(s *confdsvc.Snapshot)
		want []string
	}{
		"a trunk with half a login": {carrier("auth", []string{"username", "x"}), []string{trunk + "its endpoint has no login: auth_section_options needs"}},
		"a trunk that registers without a secret": {
			carrier("login", []string{"username", "x"}),
			[]string{"the option registration_section_options of " + trunk + "it does not register: its endpoint has no login: registration_outbound_auth_section_options needs"},
		},
		"a trunk that registers nowhere": {
			carrier("registration", []string{"server_uri", "carrier"}), []string{"the option registration_section_options of " + trunk + "it does not register: it needs server_uri and client_uri"},
		},
		"a trunk that calls without a secret": {carrier("out", []string{"username", "x"}), []string{"the option outbound_auth_section_options of " + trunk}},
		"a trunk to this Asterisk":            {carrier("aor", []string{"contact", "sip:127.0.0.1"}), []string{trunk + "it leads to this Asterisk itself"}},
		"a trunk to this Asterisk and another": {
			carrier("aor", []string{"contact", "SIP:127.0.0.1"}, []string{"contact", "sip:192.0.2.1"}), []string{trunk + "it leads to this Asterisk itself"},
		},
		"a trunk by this Asterisk": {carrier("endpoint", []string{"outbound_proxy", "sip:127.0.0.1"}), []string{trunk + "it leads to this Asterisk itself"}},
		"a trunk that registers at this Asterisk": {
			carrier("registration", []string{"server_uri", "sip:pbx.example:5060;transport=tcp"}, []string{"client_uri", "sip:x@pbx.example"}), []string{trunk + "it leads to this Asterisk itself"},
		},
		"a trunk to a program beside": {carrier("aor", []string{"contact", "sip:127.0.0.1:5090"}), nil},
		"a trunk known by a name":     {carrier("identify", []string{"match", "carrier.example"}), []string{"the option identify_section_options.match of " + trunk + "it is no address"}},
		"a trunk known by everything": {carrier("identify", []string{"match", "0.0.0.0/0"}), []string{"the option identify_section_options.match of " + trunk + "it is no address"}},
		"a trunk known by a header": {
			carrier("identify", []string{"match_header", "To: /.*/"}, []string{"match", "192.0.2.1"}), []string{"the option identify_section_options.match_header of " + trunk},
		},
		"a trunk of nobody":        {func(s *confdsvc.Snapshot) { delete(s.TrunkSIP, 1) }, []string{"trunk 1, tenant acme: it has no endpoint"}},
		"a trunk into the company": {func(s *confdsvc.Snapshot) { s.Trunks[0].Context = new(inside) }, []string{"the option context of " + trunk + "its context is none for incoming calls"}},
		"a trunk into another tenant": {
			func(s *confdsvc.Snapshot) { s.Trunks[0].Context = new(theirs) }, []string{"the option context of " + trunk + "its context \"" + theirs + "\" is disabled or left out"},
		},
		"a trunk without a context": {func(s *confdsvc.Snapshot) { s.Trunks[0].Context = nil }, nil},
		"a trunk with a callgroup":  {carrier("endpoint", []string{"call_group", "1"}), []string{"the option endpoint_section_options.call_group of " + trunk}},
	} {
		s := company(t)
		carrierAt(t, s, "carrier.example")
		test.edit(s)
		got := leftOut(t, s)
		if !slices.EqualFunc(got, test.want, strings.HasPrefix) {
			t.Errorf("%s: got  %s\nwant %s", name, strings.Join(got, "\n     "), strings.Join(test.want, "\n     "))
		}
		checkFiles(t, generate(t, s))
	}
}

// Of two trunks with one address, whosever they are, the first has the calls from there, unless those of the other one come by its registration.
// Nobody but the operator reads of it.
func TestTrunksShareNoAddress(t *testing.T) {
	for name, test := range map[string]struct {
		match, line string
		want        []string
		left        int
	}{
		"the same":           {"192.0.2.10", "", nil, 1},
		"inside a network":   {"198.51.100.7", "", nil, 1},
		"around an address":  {"192.0.2.0/24", "no", nil, 1},
		"told by the line":   {"192.0.2.10", "yes", nil, 0},
		"another one beside": {"192.0.2.10,203.0.113.1,2001:db8::/32", "", []string{"203.0.113.1/32", "2001:db8::/32"}, 1},
		"written otherwise":  {"::ffff:192.0.2.10", "", nil, 1},
	} {
		s := company(t)
		carrierAt(t, s, "carrier.example")
		s.Endpoints = append(s.Endpoints, read(t, `{"uuid": "e9", "tenant_uuid": "`+other+`", "name": "theirs"}`, func(e *confdsvc.EndpointSIP) {
			e.Identify.V = [][]string{{"match", test.match}}
			e.Registration.V = [][]string{{"server_uri", "sip:carrier.example"}, {"client_uri", "sip:x@carrier.example"}}
			if test.line != "" {
				e.Registration.V = append(e.Registration.V, []string{"line", test.line})
			}
		}))
		s.Trunks = append(s.Trunks, &confdsvc.Trunk{ID: 2, TenantUUID: other})
		s.TrunkSIP[2] = "e9"
		f, err := conf.Parse(generate(t, s)["pjsip.conf"])
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, section := range f.Sections {
			if kind, _ := section.Get("type"); kind == "identify" && section.Name == "theirs" {
				got = section.All("match")
			}
		}
		left := leftOut(t, s)
		if !slices.Equal(got, test.want) || len(left) != test.left || slices.ContainsFunc(left, func(line string) bool { return strings.Contains(line, "acme") }) {
			t.Errorf("%s: %q, and %q is left out", name, got, left)
		}
	}
}

// What somebody types for a trunk is in its own sections alone, whatever it is.
func TestHostileTrunk(t *testing.T) {
	s := company(t)
	carrierAt(t, s, "carrier.example")
	e := s.Endpoints[3]
	hostile := "x\n[alice]\ntype = endpoint\n;--"
	e.Name = "carrier"
	for _, o := range []*confdsvc.SIPOptions{&e.AOR, &e.Endpoint, &e.Identify, &e.Registration, &e.RegistrationAuth, &e.OutboundAuth} {
		for _, name := range []string{"type", "endpoint", "outbound_auth", "auth", "aors", "transport", "contact", "match", "match_request_uri", "realm", "contact_user", "outbound_proxy", "identify_by", "context", "set_var", "callerid"} {
			o.V = append(o.V, []string{name, hostile}, []string{name, "alice"})
		}
	}
	files := generate(t, s)
	parsed := checkFiles(t, files)
	for _, section := range parsed["pjsip.conf"].Sections {
		for _, v := range section.Values {
			if v.Text == "alice" && !strings.HasPrefix(section.Name, "alice") && v.Name != "contact_user" && v.Name != "realm" && v.Name != "callerid" {
				t.Errorf("[%s] has %s = %s", section.Name, v.Name, v.Text)
			}
		}
	}
	// Without a login a trunk is known by its address alone, and nobody registers in its place.
	for _, section := range parsed["pjsip.conf"].Sections {
		kind, _ := section.Get("type")
		by, _ := section.Get("identify_by")
		most := section.All("max_contacts")
		if section.Name == "carrier" && (kind == "endpoint" && by != "ip" || kind == "aor" && !slices.Equal(most, []string{"0"})) {
			t.Errorf("%s: identify_by %q, max_contacts %q", kind, by, most)
		}
	}
}
