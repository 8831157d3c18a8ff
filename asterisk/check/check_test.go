package check_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk/check"
)

// good is a configuration without a fault, that has one of everything.
var good = map[string]string{
	"pjsip.conf": `; comment; with a semicolon
[transport-udp]
type = transport
bind = 0.0.0.0
[phone](!)
type = endpoint
context = internal
moh_suggest = quiet
[alice](phone)
aors = alice
auth = alice
transport = transport-udp
mailboxes = 101@internal
callerid = "Semi\; colon" <101>
[alice]
type = aor
[alice]
type = auth
[trunk]
type = aor
`,
	"extensions.conf": `[general]
static = yes
[globals]
A = b
[internal]
include = shared
exten = 101,hint,PJSIP/alice&Custom:DND101
exten = 101,1,Set(CALLERID(name)=${DB(names/101)})
same = n(start),GotoIf($["${DB(dnd/101)}" = "1"]?busy)
same = n,Set(CHANNEL(musicclass)=quiet)
same = n,Set(CHANNEL(hangup_handler_push)=ring,s,1(a,b))
same = n,Gosub(ring,s,1(a,b))
same = n,Dial(PJSIP/alice&Local/102@shared/n,30,tTU(ring^x)b(ring^s^1))
same = n,GosubIf($["${X}" = "?:"]?ring,s,1(1):ring,s,deep(2))
same = n,ExecIf($[${A} > 1]?Queue(support):VoiceMail(101@internal,u))
same = n,Goto(shared,102,1)
same = n(busy),VoiceMail(101@internal,b)
same = n,Goto(start)
same = n,Goto(${CONTEXT},${EXTEN},1)
same = n,Hangup
exten = _X.,1,Goto(101,start)
exten = *98,1,VoiceMailMain(101@internal)
[shared]
exten = _1[0-2]Z,1,NoOp(\; a semicolon)
same = n,Queue(support,t,,,30)
[ring]
exten = s,1,NoOp
same = n(deep),Return()
`,
	"voicemail.conf": `[general]
minsecs = 5
maxsilence = 3
[zonemessages]
eu = Europe/Paris|'vm-received' q
[internal]
101 => 1234,Alice,a@example.org,,tz=eu|attach=yes
102 => 1234,Bob
`,
	"queues.conf": `[general]
persistentmembers = no
[support]
strategy = ringall
musicclass = quiet
context = internal
member = Local/101@internal,0,,hint:101@internal
member = PJSIP/alice
`,
	"musiconhold.conf": `[quiet]
mode = files
directory = /var/lib/quiet
`,
	"confbridge.conf": "[bridge]\ntype = bridge\n[keys]\ntype = menu\n1 = toggle_mute\n",
	"features.conf":   "[general]\npickupexten = *8\n[featuremap]\nblindxfer = *1\natxfer = *2\n[applicationmap]\n",
	"rtp.conf":        "[general]\nrtpstart = 10000\nrtpend = 20000\n",
}

func tree(texts map[string]string) map[string][]byte {
	files := map[string][]byte{}
	for name, text := range texts {
		files[name] = []byte(text)
	}
	return files
}

func TestGood(t *testing.T) {
	for _, f := range check.Files(tree(good)) {
		t.Error(f)
	}
}

// A change finds what a look at everything finds, and looks no further than it must.
func TestChanged(t *testing.T) {
	before := maps.Clone(good)
	for i := range 300 {
		before["pjsip.conf"] += fmt.Sprintf("[sip%d]\ntype = endpoint\ncontext = internal\naors = sip%[1]d\n[sip%[1]d]\ntype = aor\n", i)
		before["extensions.conf"] += fmt.Sprintf("[context%d]\nexten => %[1]d,hint,PJSIP/sip%[1]d\nexten => %[1]d,1,Goto(context0,0,more)\nsame => n(more),Dial(PJSIP/sip%[1]d)\n", i)
		before["voicemail.conf"] += fmt.Sprintf("%d => 1234,Carol\n", 1000+i)
		before["queues.conf"] += fmt.Sprintf("[queue%d]\nmember = PJSIP/sip%[1]d\n", i)
		before["musiconhold.conf"] += fmt.Sprintf("[music%d]\nmode = files\ndirectory = /var/lib/music\n", i)
	}
	if found := check.Files(tree(before)); len(found) > 0 {
		t.Fatal(found)
	}
	const unseen = "[unseen]\nexten => 1,1,Nothing()\n" // a fault that was there before
	for name, test := range map[string]struct{ file, before, after string }{
		"nothing":                  {},
		"a step more":              {"extensions.conf", "same => n(more),Dial(PJSIP/sip7)", "same => n(more),Dial(PJSIP/sip7)\nsame => n,VoiceMail(1007@internal)"},
		"another step":             {"extensions.conf", "Dial(PJSIP/sip7)", "Goto(context8,8,more)"},
		"an extension more":        {"extensions.conf", "exten => 7,1", "exten => 17,1,Queue(queue9)\nexten => 7,1"},
		"another device":           {"extensions.conf", "Dial(PJSIP/sip7)", "Dial(PJSIP/sip8&Local/9@context9)"},
		"a telephone more":         {"pjsip.conf", "[sip7]", "[bob]\ntype = endpoint\ncontext = context9\naors = sip8\nmailboxes = 1009@internal\nmoh_suggest = music7\n[sip7]"},
		"a context to dial in":     {"pjsip.conf", "context = internal\naors = sip7", "context = context8\naors = sip7"},
		"a mailbox more":           {"voicemail.conf", "1007 =>", "2007 => 1,Dan,,,tz=eu\n1007 =>"},
		"a member more":            {"queues.conf", "member = PJSIP/sip7\n", "member = PJSIP/sip7\nmember = Local/9@context9\n"},
		"another hint":             {"extensions.conf", "exten => 7,hint,PJSIP/sip7", "exten => 77,hint,PJSIP/sip7"},
		"a hint less":              {"extensions.conf", "exten = 101,hint,PJSIP/alice&Custom:DND101\nexten", "exten"},
		"no such aor":              {"pjsip.conf", "aors = sip7", "aors = sip7777"},
		"an aor less":              {"pjsip.conf", "[sip7]\ntype = aor\n", ""},
		"a telephone twice":        {"pjsip.conf", "[sip7]\ntype = aor\n", "[sip7]\ntype = aor\n[sip7]\ntype = aor\n"},
		"a telephone less":         {"pjsip.conf", "[sip7]\ntype = endpoint\ncontext = internal\naors = sip7\n[sip7]\ntype = aor\n", ""},
		"a label less":             {"extensions.conf", "same = n(deep)", "same = n"},
		"a step less":              {"extensions.conf", "\nsame = n(deep),Return()", ""},
		"a context less":           {"extensions.conf", "[context7]\nexten => 7,hint,PJSIP/sip7\nexten => 7,1,Goto(context0,0,more)\nsame => n(more),Dial(PJSIP/sip7)\n", ""},
		"a gap":                    {"extensions.conf", "exten => 7,1,", "exten => 7,2,"},
		"an extension twice":       {"extensions.conf", "exten => 7,1,", "exten => 7,1,NoOp()\nexten => 7,1,"},
		"no such extension":        {"extensions.conf", "Dial(PJSIP/sip7)", "Goto(context8,9,1)"},
		"no such label":            {"extensions.conf", "Dial(PJSIP/sip7)", "Goto(context8,8,less)"},
		"no such queue":            {"extensions.conf", "Dial(PJSIP/sip7)", "Queue(queue777)"},
		"no such mailbox":          {"extensions.conf", "Dial(PJSIP/sip7)", "VoiceMail(9999@internal)"},
		"a mailbox of another":     {"extensions.conf", "Dial(PJSIP/sip7)", "VoiceMail(1007@context7)"},
		"an inclusion less":        {"extensions.conf", "include = shared", ""},
		"a mailbox less":           {"voicemail.conf", "102 => 1234,Bob\n", ""},
		"a mailbox twice":          {"voicemail.conf", "1007 =>", "1008 =>"},
		"a zone less":              {"voicemail.conf", "eu = Europe/Paris|'vm-received' q\n", ""},
		"no such zone":             {"voicemail.conf", "1007 => 1234,Carol", "1007 => 1234,Carol,,,tz=us"},
		"a queue twice":            {"queues.conf", "[queue7]", "[queue8]"},
		"a class less":             {"musiconhold.conf", "[quiet]\nmode = files\ndirectory = /var/lib/quiet\n", ""},
		"a semicolon":              {"pjsip.conf", "aors = sip7\n", "aors = sip7\naccountcode = a;b\n"},
		"a comment without an end": {"extensions.conf", "exten => 7,1", ";-- all of the rest\nexten => 7,1"},
	} {
		t.Run(name, func(t *testing.T) {
			after := maps.Clone(before)
			if test.file != "" {
				after[test.file] = strings.Replace(after[test.file], test.before, test.after, 1)
				if after[test.file] == before[test.file] {
					t.Fatal("nothing has changed")
				}
			}
			want := check.Files(tree(after))
			if got := check.Changed(tree(before), tree(after)); !slices.Equal(got, want) {
				t.Errorf("found %v, want %v", got, want)
			}
			faulty := maps.Clone(before)
			faulty["extensions.conf"] += unseen
			after["extensions.conf"] += unseen
			if got := check.Changed(tree(faulty), tree(after)); len(want) == 0 && len(got) > 0 && !strings.HasSuffix(name, " less") {
				t.Errorf("it has looked at what has not changed: %v", got)
			}
		})
	}
}

// Each fault is found, with its file and line, and nothing else is.
func TestFaults(t *testing.T) {
	for _, tt := range []struct{ name, file, before, after, want string }{
		{"no context of an endpoint", "pjsip.conf", "context = internal", "context = gone", `pjsip.conf:9: [alice] context: there is no context "gone"`},
		{"an endpoint without a context", "pjsip.conf", "context = internal\n", "", `[alice] has no context`},
		{"no aor", "pjsip.conf", "aors = alice", "aors = alice, bob", `pjsip.conf:10: [alice] aors: there is no aor "bob"`},
		{"no auth", "pjsip.conf", "auth = alice\nt", "auth = bob\nt", `there is no auth "bob"`},
		{"no transport", "pjsip.conf", "transport = transport-udp", "transport = tls", `there is no transport "tls"`},
		{"no mailbox of an endpoint", "pjsip.conf", "mailboxes = 101@internal", "mailboxes = 101@other", `there is no mailbox "101@other"`},
		{"no music", "pjsip.conf", "moh_suggest = quiet", "moh_suggest = loud", `there is no class "loud"`},
		{"one object twice", "pjsip.conf", "[trunk]", "[alice]\ntype = aor\n[trunk]", `[alice] is twice of type aor`},
		{"an object of no type", "pjsip.conf", "[trunk]", "[bob]\ncontext = internal\n[trunk]", `[bob] has no known type`},
		{"an unknown template", "pjsip.conf", "[alice](phone)", "[alice](phone2)", "pjsip.conf:9:"},
		{"a value cut short", "pjsip.conf", `Semi\; colon`, `Semi; colon`, `pjsip.conf:14: a semicolon cuts the line short`},
		{"a long line", "pjsip.conf", "bind = 0.0.0.0", "bind = " + strings.Repeat("0", 8200), "pjsip.conf:4:"},
		{"a control character", "pjsip.conf", "bind = 0.0.0.0", "bind = 0.0.0.\x1b0", "pjsip.conf:4: the line has a control character"},
		{"another file", "pjsip.conf", "[trunk]", "#include /etc/passwd\n[trunk]", `it reads another file, "/etc/passwd"`},
		{"a program", "pjsip.conf", "[trunk]", "#exec /bin/sh\n[trunk]", "pjsip.conf:19:"},
		{"no application", "extensions.conf", "same = n,Hangup", "same = n,Hangupp", `Asterisk has no application "Hangupp"`},
		{"a forbidden application", "extensions.conf", "same = n,Hangup", "same = n,System(rm)", `Asterisk has no application "System"`},
		{"no application in ExecIf", "extensions.conf", "?Queue(support):", "?Qeue(support):", `Asterisk has no application "Qeue"`},
		{"no function", "extensions.conf", "${DB(names/101)}", "${DBB(names/101)}", `Asterisk has no function "DBB"`},
		{"a function within another", "extensions.conf", "${DB(names/101)}", "${DB(${SHELL(id)})}", `Asterisk has no function "SHELL"`},
		{"no function that is set", "extensions.conf", "CALLERID(name)=", "CALLER(name)=", `Asterisk has no function "CALLER"`},
		{"no label", "extensions.conf", "Goto(start)", "Goto(stat)", `101 in [internal] has no priority "stat"`},
		{"no label of another extension", "extensions.conf", "Goto(101,start)", "Goto(101,stat)", `has no priority "stat"`},
		{"no extension", "extensions.conf", "Goto(shared,102,1)", "Goto(shared,109x,1)", `there is no extension "109x" in [shared]`},
		{"no context", "extensions.conf", "Goto(shared,102,1)", "Goto(shard,102,1)", `there is no context "shard"`},
		{"no context of a Gosub", "extensions.conf", "Gosub(ring,s,1(a,b))", "Gosub(rang,s,1(a,b))", `there is no context "rang"`},
		{"no target of GotoIf", "extensions.conf", "?busy)", "?bsy)", `has no priority "bsy"`},
		{"no second target of GosubIf", "extensions.conf", "ring,s,deep(2)", "ring,s,deeper(2)", `s in [ring] has no priority "deeper"`},
		{"no extension that rings", "extensions.conf", "Local/102@shared/n", "Local/992@shared/n", `there is no extension "992" in [shared]`},
		{"no endpoint that rings", "extensions.conf", "Dial(PJSIP/alice", "Dial(PJSIP/bob", `there is no endpoint "bob"`},
		{"no routine of an option", "extensions.conf", "U(ring^x)", "U(rang^x)", `option U: there is no context "rang"`},
		{"no handler of an option", "extensions.conf", "b(ring^s^1)", "b(ring^s^9)", `s in [ring] has no priority "9"`},
		{"no endpoint of a hint", "extensions.conf", "hint,PJSIP/alice", "hint,PJSIP/bob", `there is no endpoint "bob"`},
		{"no queue", "extensions.conf", "Queue(support,t", "Queue(helpdesk,t", `there is no queue "helpdesk"`},
		{"no mailbox", "extensions.conf", "VoiceMailMain(101@internal)", "VoiceMailMain(109@internal)", `there is no mailbox "109@internal"`},
		{"no hangup handler", "extensions.conf", "push)=ring,s", "push)=ring,t", `"t"`},
		{"no music of a channel", "extensions.conf", "(musicclass)=quiet", "(musicclass)=loud", `there is no class "loud"`},
		{"no included context", "extensions.conf", "include = shared", "include = shard", `there is no context "shard"`},
		{"a gap", "extensions.conf", "exten = *98,1,", "exten = *98,3,NoOp\nexten = *98,1,", `*98 has a gap before priority 3`},
		{"no first priority", "extensions.conf", "exten = *98,1,", "exten = *98,2,", `*98 has a gap before priority 2`},
		{"a priority twice", "extensions.conf", "exten = *98,1,", "exten = *98,1,NoOp\nexten = *98,1,", "priority 1 twice"},
		{"a label twice", "extensions.conf", "n(busy)", "n(start)", `has the label "start" twice`},
		{"brackets", "extensions.conf", "${DB(names/101)}", "${DB(names/101)", "are not closed"},
		{"minsecs", "voicemail.conf", "minsecs = 5", "minsecs = 3", "voicemail.conf:2: minsecs must be larger"},
		{"a comma in a name", "voicemail.conf", "Alice,a@", "Ali,ce,a@", "voicemail.conf:7: the mailbox 101 has 6 fields"},
		{"a mailbox twice", "voicemail.conf", "102 =>", "101 =>", "voicemail.conf:8: the mailbox 101@internal is there twice"},
		{"no zone message", "voicemail.conf", "tz=eu", "tz=us", `there is no zone message "us"`},
		{"an option without a value", "voicemail.conf", "attach=yes", "attach", `an option "attach" without a value`},
		{"an unknown strategy", "queues.conf", "ringall", "ringall2", `unknown strategy "ringall2"`},
		{"no music of a queue", "queues.conf", "musicclass = quiet", "musicclass = loud", `queues.conf:5: [support]: there is no class "loud"`},
		{"no context of a queue", "queues.conf", "context = internal", "context = gone", `there is no context "gone"`},
		{"no member", "queues.conf", "Local/101@internal", "Local/abc@internal", `a member of [support]: there is no extension "abc"`},
		{"no hint of a member", "queues.conf", "hint:101@internal", "hint:102@shared", `there is no hint "102@shared"`},
		{"a queue twice", "queues.conf", "[support]", "[support]\n[support]", "[support] is there twice"},
		{"an unknown mode", "musiconhold.conf", "mode = files", "mode = file", `unknown mode "file"`},
		{"a profile of nothing", "confbridge.conf", "type = menu", "type = meny", `[keys] has an unknown type "meny"`},
		{"the same keys twice", "features.conf", "atxfer = *2", "atxfer = *1", "atxfer has the keys *1, as blindxfer has"},
		{"an application", "features.conf", "[applicationmap]", "[applicationmap]\nx = *3,self,System,rm", "x runs an application"},
		{"no ports", "rtp.conf", "rtpend = 20000", "rtpend = 9000", "[general] has no ports from 10000 to 9000"},
		{"no directory", "musiconhold.conf", "directory = /var/lib/quiet\n", "", "[quiet] has no directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			texts := maps.Clone(good)
			if !strings.Contains(texts[tt.file], tt.before) {
				t.Fatalf("%s has no %q", tt.file, tt.before)
			}
			texts[tt.file] = strings.Replace(texts[tt.file], tt.before, tt.after, 1)
			found := check.Files(tree(texts))
			hit := false
			for _, f := range found {
				hit = hit || strings.Contains(f.String(), tt.want)
			}
			if !hit {
				t.Errorf("found %v, want %q", found, tt.want)
			}
			if len(found) > 4 {
				t.Errorf("found too much: %v", found)
			}
		})
	}
}

// Whatever the files hold, checking them ends.
func FuzzFiles(f *testing.F) {
	for name, text := range good {
		f.Add(name, text)
	}
	f.Add("extensions.conf", "[a]\ninclude = a\nexten = 1,1,GotoIf(?:,,,)\nexten = _[,1,Dial(Local/@,,U(b()G()\nexten = x,1,Goto(1,1)")
	f.Fuzz(func(_ *testing.T, name, text string) {
		files := tree(good)
		files[name] = []byte(text)
		check.Files(files)
	})
}
