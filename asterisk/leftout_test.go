package asterisk_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/confdsvc"
)

// leftOut returns what the files lack of a snapshot, a line for each.
func leftOut(tb testing.TB, s *confdsvc.Snapshot) (lines []string) {
	tb.Helper()
	_, left, err := asterisk.Generate(s, asterisk.Options{Interfaces: []string{"DAHDI/*"}, Own: []string{"pbx.example"}, Sounds: "/sounds", NoFaxes: "there is no mail server"})
	if err != nil {
		tb.Fatal(err)
	}
	for _, o := range left {
		lines = append(lines, o.String())
	}
	return lines
}

// What is stored is in the files, or is named with its reason: nobody looks for a telephone that silently is not there.
func TestWhatTheFilesLackIsNamed(t *testing.T) {
	const (
		hers = "line 1 (alice) of Alice, tenant acme: "
		his  = "line 3 (bob) of Bob, tenant acme: "
		of   = " of line 3 (bob) of Bob, tenant acme: "
	)
	endpoint := func(name, value string) func(*confdsvc.Snapshot) {
		return func(s *confdsvc.Snapshot) {
			s.Endpoints[2].Endpoint.V = append(s.Endpoints[2].Endpoint.V, []string{name, value})
		}
	}
	login := func(pairs ...[]string) func(*confdsvc.Snapshot) {
		return func(s *confdsvc.Snapshot) { s.Endpoints[2].Auth.V = pairs }
	}
	custom := func(c confdsvc.EndpointCustom) func(*confdsvc.Snapshot) {
		return func(s *confdsvc.Snapshot) {
			c.ID, c.TenantUUID = 1, acme
			s.Customs, s.LineCustom = []*confdsvc.EndpointCustom{&c}, map[confdsvc.ID]confdsvc.ID{3: 1}
			delete(s.LineSIP, 3)
		}
	}
	for name, test := range map[string]struct {
		edit func(s *confdsvc.Snapshot)
		want []string
	}{
		"nothing": {func(*confdsvc.Snapshot) {}, nil},
		"no subroutine": {
			func(s *confdsvc.Snapshot) {
				s.Users[1].PreprocessSubroutine, s.Groups[0].PreprocessSubroutine = new("before"), new("x,1)&System(")
			},
			[]string{
				"the option preprocess_subroutine of group " + sales + " (Sales), tenant acme: it is no name of a subroutine",
				"the option preprocess_subroutine of user " + bob + " (Bob), tenant acme: Asterisk's own extensions.conf has no context [subroutine-before]",
			},
		},
		"menus that are silent, or lead nowhere": {
			func(s *confdsvc.Snapshot) {
				s.Sounds = []*confdsvc.Sound{{TenantUUID: acme, UUID: "menus", Name: "menus"}}
				s.Sounds[0].Files.V = []confdsvc.SoundFile{{Name: "hello"}}
				s.Menus = []*confdsvc.IVR{read[confdsvc.IVR](t, `{"id": 1, "tenant_uuid": "`+acme+`", "name": "Main", "greeting_sound": "menus/hello",
					"menu_sound": "/var/spool/asterisk/voicemail/x", "invalid_sound": "pbx-invalid", "abort_sound": "menus/bye", "choices": [
					{"exten": "1", "destination": {"type": "user", "user_id": 99}}, {"exten": "2", "destination": {"type": "none"}},
					{"exten": "3", "destination": {"type": "user", "user_id": 1}}, {"exten": "_[9-0]", "destination": {"type": "none"}}]}`)}
				s.Incalls[0].Destination, s.Incalls[0].GreetingSound = *to(t, `{"type": "ivr", "ivr_id": 9}`), new("http://x/y")
			},
			[]string{
				"the option greeting_sound of incall 1, tenant acme: it is no name of a sound",
				"the option destination of incall 1, tenant acme: it leads nowhere",
				"the option menu_sound of ivr 1 (Main), tenant acme: it is no name of a sound",
				"the option abort_sound of ivr 1 (Main), tenant acme: the category of sounds has none of this name",
				"the option choices.1 of ivr 1 (Main), tenant acme: it leads nowhere",
				"the option choices.2 of ivr 1 (Main), tenant acme: it leads nowhere",
				"the option choices._[9-0] of ivr 1 (Main), tenant acme: it is no number",
			},
		},
		"DISA for everybody, a callback for nobody, and a fax": {
			func(s *confdsvc.Snapshot) {
				fax := *to(t, `{"type": "application", "application": "fax_to_mail", "email": "a@example.org"}`)
				s.Incalls[0].Destination = *to(t, `{"type": "application", "application": "disa", "context": "`+inside+`", "pin": null}`)
				for i, in := range []string{inside, theirs} {
					back := *to(t, `{"type": "application", "application": "callback_disa", "context": "`+in+`", "pin": "1"}`)
					s.Incalls = append(s.Incalls, &confdsvc.Incall{ID: confdsvc.ID(2 + i), TenantUUID: acme, Destination: back})
				}
				s.Incalls = append(s.Incalls, &confdsvc.Incall{ID: 4, TenantUUID: acme, Destination: fax})
				s.Users[0].MobilePhoneNumber, s.Users[1].MobilePhoneNumber = new("102"), new("0612345678") // too short, and nowhere
			},
			[]string{
				"the option destination of incall 1, tenant acme: it leads nowhere: without a PIN everybody",
				"the option destination of incall 2, tenant acme: it leads nowhere: only users are called back",
				"the option destination of incall 3, tenant acme: it leads nowhere: what it leads to",
				"the option destination of incall 4, tenant acme: it leads nowhere: faxes are not received: there is no mail server",
			},
		},
		"no login":    {login(), []string{his + "its endpoint has no login"}},
		"no password": {login([]string{"username", "bob"}), []string{his + "its endpoint has no login"}},
		"a blank":     {login([]string{"username", "bob"}, []string{"password", "secret "}), []string{his + "the password of its endpoint begins or ends with a blank"}},
		"a control character": {
			login([]string{"username", "b\tb"}, []string{"password", "secret"}), []string{his + "the username of its endpoint is too long, or has a character"},
		},
		"a disabled user": {
			func(s *confdsvc.Snapshot) { s.Users[0].Enabled = new(false) },
			[]string{
				hers + "its user is disabled", "line 2 (alice-web) of Alice, tenant acme: its user is disabled",
				"the option destination of incall 1, tenant acme: it leads nowhere",
			},
		},
		"no endpoint":                {func(s *confdsvc.Snapshot) { delete(s.LineSIP, 3) }, []string{"line 3 of Bob, tenant acme: it has no endpoint"}},
		"another tenant's endpoint":  {func(s *confdsvc.Snapshot) { s.Endpoints[2].TenantUUID = other }, []string{his + "it has no endpoint of its tenant"}},
		"a reserved name":            {func(s *confdsvc.Snapshot) { s.Endpoints[2].Name = "Anonymous" }, []string{"line 3 (Anonymous) of Bob, tenant acme: its endpoint: its name \"Anonymous\" is kept"}},
		"a disabled custom endpoint": {custom(confdsvc.EndpointCustom{Interface: "DAHDI/1"}), []string{"line 3 (DAHDI/1) of Bob, tenant acme: its endpoint is disabled"}},
		"another interface":          {custom(confdsvc.EndpointCustom{Interface: "PJSIP/alice", Enabled: true}), []string{"line 3 (PJSIP/alice) of Bob, tenant acme: its interface is none"}},
		"hardware that is not listed": {
			custom(confdsvc.EndpointCustom{Interface: "SCCP/door", Enabled: true}),
			[]string{"line 3 (SCCP/door) of Bob, tenant acme: its interface is none of a number of its tenant, and none that the operator lists"},
		},
		"a suffix": {custom(confdsvc.EndpointCustom{Interface: "DAHDI/1", InterfaceSuffix: new("/a,b"), Enabled: true}), []string{"the option interface_suffix of line 3 (DAHDI/1)"}},
		"a disabled context": {
			func(s *confdsvc.Snapshot) { s.Contexts[0].Enabled = false },
			[]string{
				hers + `its context "` + inside + `" is disabled`, `line 2 `, his + "its context", "extension 1 (101), tenant acme: its context", "extension 2 ", "extension 3 ",
				"context 1 (Inside), tenant acme: it is disabled", "voicemail 1 (101), tenant acme: its context",
			},
		},
		"a disabled number": {func(s *confdsvc.Snapshot) { s.Extensions[1].Enabled = false }, []string{"extension 2 (102), tenant acme: it is disabled"}},
		"a disabled group":  {func(s *confdsvc.Snapshot) { s.Groups[0].Enabled = false }, []string{"group " + sales + " (Sales), tenant acme: it is disabled"}},
		"no transport": {
			func(s *confdsvc.Snapshot) { s.Transports[0].Options.V = [][]string{{"protocol", "udp"}} },
			[]string{"transport t (transport-udp): its option bind is no address", "the option transport of line 1 ", "the option transport of line 2 ", "the option transport of line 3 "},
		},
		"an option that names a file": {endpoint("dtls_private_key", "/etc/shadow"), []string{"the option endpoint_section_options.dtls_private_key" + of}},
		"an option in another form":   {endpoint("rtp_timeout", "soon"), []string{"the option endpoint_section_options.rtp_timeout" + of + "Asterisk would refuse its value"}},
		"another tenant's context":    {endpoint("context", theirs), []string{"the option endpoint_section_options.context" + of + "its value is nothing that the tenant has"}},
		"music that is not there":     {endpoint("moh_suggest", "none"), []string{"the option endpoint_section_options.moh_suggest" + of}},
		"a variable of Asterisk's":    {endpoint("set_var", "TOUCH_MIXMONITOR=x"), []string{"the option endpoint_section_options.set_var" + of + "Asterisk or the dialplan obeys"}},
		"too short a session":         {endpoint("timers_min_se", "9999"), []string{"the option endpoint_section_options.timers_min_se" + of}},
		"a pickup group":              {endpoint("call_group", "a b"), []string{"the option endpoint_section_options.call_group" + of}},
		"an option of the address": {
			func(s *confdsvc.Snapshot) {
				s.Endpoints[2].AOR.V = append(s.Endpoints[2].AOR.V, []string{"contact", "x"})
			}, []string{"the option aor_section_options.contact" + of},
		},
		"an option of the login": {
			func(s *confdsvc.Snapshot) {
				s.Endpoints[2].Auth.V = append(s.Endpoints[2].Auth.V, []string{"md5_cred", "hunter2"})
			}, []string{"the option auth_section_options.md5_cred" + of},
		},
		"a section that no telephone has": {
			func(s *confdsvc.Snapshot) { s.Endpoints[2].Identify.V = [][]string{{"match", "192.0.2.1"}} }, []string{"the option identify_section_options" + of + "a telephone has no such section"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := company(t)
			test.edit(s)
			got := leftOut(t, s)
			if !slices.EqualFunc(got, test.want, strings.HasPrefix) {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(test.want, "\n     "))
			}
			for _, line := range got {
				if strings.Contains(line, "hunter2") || strings.Contains(line, "secret") {
					t.Errorf("%s tells a secret", line)
				}
			}
		})
	}
}

// A custom endpoint reaches the hardware that the operator lists, and no other.
func TestOnlyListedInterfaces(t *testing.T) {
	for _, test := range []struct {
		listed []string
		name   string
		taken  bool
	}{
		{nil, "SCCP/door", false},
		{[]string{"SCCP/door"}, "SCCP/door", true},
		{[]string{"SCCP/door"}, "SCCP/door2", false},
		{[]string{"SCCP/door"}, "sccp/door", false},
		{[]string{"DAHDI/1", "SCCP/*"}, "SCCP/door", true},
		{[]string{"SCCP/*"}, "DAHDI/1", false},
		{[]string{"SCCP/*"}, "SCCP/a&PJSIP/alice", false},
		{nil, "Local/101@" + inside, true},
	} {
		s := company(t)
		s.Customs = []*confdsvc.EndpointCustom{{ID: 1, TenantUUID: acme, Interface: test.name, Enabled: true}}
		s.LineCustom = map[confdsvc.ID]confdsvc.ID{3: 1}
		delete(s.LineSIP, 3)
		files, _, err := asterisk.Generate(s, asterisk.Options{Interfaces: test.listed})
		if err != nil {
			t.Fatal(err)
		}
		if taken := strings.Contains(string(files["extensions.conf"]), test.name); taken != test.taken {
			t.Errorf("%v, %s: %t", test.listed, test.name, taken)
		}
	}
	if err := asterisk.CheckInterfaces([]string{"SCCP/*", "DAHDI/1"}); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"*", "SCCP", "SCCP/", "PJSIP/*", "PJSIP/alice", "Local/1@x", "SCCP/a*", "SCCP/a&b"} {
		if asterisk.CheckInterfaces([]string{bad}) == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
