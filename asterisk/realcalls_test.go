package asterisk_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
)

// The users of the office, beside Alice and Bob.
const (
	carol = "00000003-0000-4000-8000-000000000003"
	dave  = "00000004-0000-4000-8000-000000000004"
)

// office is the company with four people at plain telephones: Alice has two, and she and Dave have mailboxes.
func office(t *testing.T) *confdsvc.Snapshot {
	t.Helper()
	s := company(t)
	s.Endpoints[1].Name = "alice-desk"
	s.Endpoints[1].Endpoint.V = [][]string{{"allow", "!all,ulaw"}}
	s.Endpoints[1].Auth.V = [][]string{{"username", "alice-desk"}, {"password", "secret-alice-desk"}}
	for i, one := range []struct{ uuid, name, exten string }{{carol, "carol", "103"}, {dave, "dave", "104"}} {
		id := confdsvc.ID(i + 3)
		s.Users = append(s.Users, &confdsvc.User{ID: id, UUID: one.uuid, TenantUUID: acme, Firstname: one.name, CallerID: new(`"` + one.name + `"`)})
		s.Lines = append(s.Lines, &confdsvc.Line{ID: id + 1, TenantUUID: acme, Context: inside})
		s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: id + 10, TenantUUID: acme, Exten: one.exten, Context: inside, Enabled: true})
		s.Endpoints = append(s.Endpoints, read[confdsvc.EndpointSIP](t, `{"uuid": "`+one.name+`", "tenant_uuid": "`+acme+`", "name": "`+one.name+`",
			"auth_section_options": [["username", "`+one.name+`"], ["password", "secret-`+one.name+`"]], "endpoint_section_options": [["allow", "!all,ulaw"]]}`))
		s.UserLines[id], s.LineUsers[id+1], s.LineExtensions[id+1], s.LineSIP[id+1] = []confdsvc.ID{id + 1}, []confdsvc.ID{id}, []confdsvc.ID{id + 10}, one.name
	}
	s.Voicemails = append(s.Voicemails, &confdsvc.Voicemail{ID: 2, TenantUUID: acme, Name: "Dave", Number: "104", Context: inside, Password: new("4711"), Enabled: true})
	s.UserVoicemail[4] = 2
	for feature, exten := range map[string]string{
		"fwdbusy": "_*23.", "fwdrna": "_*22.", "incallfilter": "*27", "callrecord": "*26", "enablevm": "*90", "phonestatus": "*10", "directoryaccess": "*36",
		"groupmembertoggle": "_*50.", "groupmemberjoin": "_*51.", "groupmemberleave": "_*52.", "vmboxmsgslt": "_*96.", "recsnd": "*9",
	} {
		s.Features = append(s.Features, &confdsvc.ExtensionFeature{Feature: feature, Exten: exten, Context: "xivo-features", Enabled: true})
	}
	return s
}

func seconds(u *confdsvc.User, n int64) { u.RingSeconds = &n }

// What a call does, at real telephones.
func TestRealCalls(t *testing.T) {
	s := office(t)
	for i := range s.Users {
		seconds(s.Users[i], 2)
	}
	s.Users[1].SimultaneousCalls = new(int64(1))
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")
	alice, desk, bobPhone, carolPhone, davePhone := a.phone(t, "alice"), a.phone(t, "alice-desk"), a.phone(t, "bob"), a.phone(t, "carol"), a.phone(t, "dave")
	all := []*phone{alice, desk, bobPhone, carolPhone, davePhone}
	begin := func(t *testing.T, what map[*phone]string) {
		t.Helper()
		for _, p := range all {
			p.t = t
			if does := what[p]; does != "" {
				p.when(does)
			}
		}
		a.t = t
		a.news()
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(a.log()[a.read:])
			}
			a.rest(t.Name(), "answer", all)
		})
	}
	// status dials and checks the final status.
	status := func(t *testing.T, p *phone, number string, want int) *call {
		t.Helper()
		c, got := p.dial(number)
		if got != want {
			t.Fatalf("%s dials %s: %d, want %d", p.name, number, got, want)
		}
		return c
	}
	heard := func(t *testing.T, what ...string) {
		t.Helper()
		for _, one := range what {
			wait(t, one, func() bool { return strings.Contains(a.log()[a.read:], one) }, nil)
		}
	}
	run := func(name string, what map[*phone]string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			begin(t, what)
			f(t)
		})
	}
	run("wrong password", nil, func(t *testing.T) {
		wrong := newPhone(t, bobPhone.server(), "bob", "bob", "wrong")
		if got := wrong.register(60); got != 401 {
			t.Errorf("status %d", got)
		}
		if _, got := wrong.dial("101"); got != 401 {
			t.Errorf("a call: status %d", got)
		}
		nobody := newPhone(t, bobPhone.server(), "nobody", "nobody", "x")
		if got := nobody.register(60); got != 401 {
			t.Errorf("nobody: status %d", got)
		}
		a.news()
	})
	run("all lines ring", map[*phone]string{alice: "ring", desk: "ring"}, func(t *testing.T) {
		c := status(t, bobPhone, "101", 200)
		heard(t, "VoiceMail(", "vm-")
		if alice.count("rings") != 1 || desk.count("rings") != 1 {
			t.Errorf("alice: %q, desk: %q", alice.log(), desk.log())
		}
		heard(t, "vm-intro")
		c.press("#")
		heard(t, "beep.")
		wait(t, "some seconds are recorded", func() bool { return size(a, "101", "tmp/*.wav") > 20000 }, nil)
		c.hangUp()
		wait(t, "the message", func() bool {
			return size(a, "101", "INBOX/msg0000.wav") > 20000 && size(a, "101", "INBOX/msg0000.txt") > 0
		}, nil)
	})
	run("one of two answers", map[*phone]string{alice: "ring"}, func(t *testing.T) {
		status(t, bobPhone, "101", 200).hangUp()
		alice.saw("cancelled")
		desk.saw("answers")
	})
	run("busy", map[*phone]string{bobPhone: "busy"}, func(t *testing.T) { status(t, alice, "102", 486) })
	run("busy with a mailbox", map[*phone]string{davePhone: "busy"}, func(t *testing.T) {
		status(t, alice, "104", 200)
		heard(t, "vm-isonphone")
	})
	run("no answer", map[*phone]string{bobPhone: "ring"}, func(t *testing.T) {
		status(t, alice, "102", 480)
		bobPhone.saw("cancelled")
	})
	run("one's own number", nil, func(t *testing.T) { status(t, bobPhone, "102", 200).hangUp() })
	run("unknown number", nil, func(t *testing.T) { status(t, alice, "999", 404) })
	run("a text message runs nothing", nil, func(t *testing.T) {
		for _, number := range []string{"102", "999", "*25"} {
			if got := alice.text(number); got != 404 {
				t.Errorf("to %s: status %d", number, got)
			}
		}
		if strings.Contains(a.log()[a.read:], "ast_msg_queue") || bobPhone.count("rings") != 0 {
			t.Errorf("bob: %q, log:\n%s", bobPhone.log(), a.log()[a.read:])
		}
	})
	run("not in service", nil, func(t *testing.T) {
		_, got := alice.dial("*9")
		if got != 404 {
			t.Errorf("status %d", got)
		}
		alice.saw("hears 183")
		heard(t, "ss-noservice")
	})
	run("absent", nil, func(t *testing.T) {
		bobPhone.register(0)
		status(t, alice, "102", 480)
		if bobPhone.register(600) != 200 {
			t.Error("not back")
		}
	})
	run("do not disturb", nil, func(t *testing.T) {
		c := status(t, bobPhone, "*25", 200)
		heard(t, "Playing 'activated")
		c.ended()
		wait(t, "it is stored", func() bool { return a.kept("dnd") == "1" }, nil)
		status(t, alice, "102", 486)
		if bobPhone.count("rings") > 0 {
			t.Error("it rings")
		}
		a.store(bob, "dnd", "0")
		status(t, alice, "102", 200)
	})
	run("unconditional forward", nil, func(t *testing.T) {
		c := status(t, bobPhone, "*21103", 200)
		heard(t, "Playing 'activated")
		c.ended()
		wait(t, "it is stored", func() bool { return a.kept("unconditional") == "103" }, nil)
		status(t, alice, "102", 200).hangUp()
		carolPhone.saw("answers")
		sentOn(t, carolPhone, "102", "unconditional")
		if bobPhone.count("rings") > 0 {
			t.Error("it rings")
		}
		status(t, bobPhone, "*20", 200).ended()
		wait(t, "it is off", func() bool { return a.kept("unconditional") == "" }, nil)
	})
	run("a code without its number asks for it", nil, func(t *testing.T) {
		c := status(t, bobPhone, "*21", 200)
		heard(t, "vm-enter-num-to-call")
		c.press("103#")
		heard(t, "Playing 'activated")
		c.ended()
		wait(t, "it is stored", func() bool { return a.kept("unconditional") == "103" }, nil)
		status(t, bobPhone, "*21", 200).ended()
		wait(t, "it is off", func() bool { return a.kept("unconditional") == "" }, nil)
		c = status(t, bobPhone, "*96", 200)
		wait(t, "it asks again", func() bool { return strings.Count(a.log()[a.read:], "Playing 'vm-enter-num-to-call") == 2 }, nil)
		c.press("104#")
		heard(t, "VoiceMail(\"PJSIP/bob", "104@"+inside)
		c.hangUp()
	})
	run("forward to a feature code", nil, func(t *testing.T) {
		a.store(carol, "unconditional", "*21104")
		if _, got := bobPhone.dial("103"); got < 400 {
			t.Errorf("status %d", got)
		}
		if got := a.kept("unconditional"); got != "" {
			t.Errorf("who called forwards to %s", got)
		}
		a.store(carol, "unconditional", "")
	})
	run("forward on busy and no answer", map[*phone]string{bobPhone: "busy"}, func(t *testing.T) {
		a.store(bob, "busy", "103")
		a.store(bob, "noanswer", "104")
		status(t, alice, "102", 200).hangUp()
		carolPhone.saw("answers")
		sentOn(t, carolPhone, "102", "user-busy")
		bobPhone.when("ring")
		status(t, alice, "102", 200).hangUp()
		davePhone.saw("answers")
		sentOn(t, davePhone, "102", "no-answer")
		a.store(bob, "busy", "")
		a.store(bob, "noanswer", "")
	})
	run("forwards in circles", nil, func(t *testing.T) {
		a.store(bob, "unconditional", "103")
		a.store(carol, "unconditional", "102")
		_, got := alice.dial("102")
		if got < 400 {
			t.Errorf("status %d", got)
		}
		a.store(bob, "unconditional", "")
		a.store(carol, "unconditional", "")
	})
	run("forward to nowhere", nil, func(t *testing.T) {
		a.store(bob, "unconditional", "5559999")
		status(t, alice, "102", 480)
		a.store(bob, "unconditional", "")
	})
	run("simultaneous calls", nil, func(t *testing.T) {
		c := status(t, alice, "102", 200)
		status(t, carolPhone, "102", 486)
		c.hangUp()
		a.idle()
		status(t, carolPhone, "102", 200).hangUp()
	})
	run("pickup", map[*phone]string{bobPhone: "ring"}, func(t *testing.T) {
		done := make(chan int)
		go func() { _, got := alice.dial("102"); done <- got }()
		bobPhone.saw("rings")
		c := status(t, carolPhone, "*8102", 200)
		if got := <-done; got != 200 {
			t.Errorf("status %d", got)
		}
		bobPhone.saw("cancelled")
		c.hangUp()
	})
	run("pickup of nothing", nil, func(t *testing.T) {
		_, got := carolPhone.dial("*8102")
		if got < 400 {
			t.Errorf("status %d", got)
		}
	})
	run("own mailbox", nil, func(t *testing.T) {
		c := status(t, alice, "*98", 200)
		heard(t, "vm-password")
		c.press("1234#")
		heard(t, "vm-youhave")
		c.hangUp()
		c = status(t, davePhone, "*98", 200)
		heard(t, "vm-youhave")
		c.hangUp()
		if _, got := bobPhone.dial("*98"); got != 404 {
			t.Errorf("Bob has no mailbox: %d", got)
		}
	})
	run("phone status and directory", nil, func(t *testing.T) {
		a.store(bob, "unconditional", "103")
		c := status(t, bobPhone, "*10", 200)
		heard(t, "call-fwd-unconditional", "activated", "digits/3")
		c.ended()
		a.store(bob, "unconditional", "")
		c = status(t, bobPhone, "*36", 200)
		heard(t, "dir-")
		c.hangUp()
	})
	run("filter", nil, func(t *testing.T) {
		a.store(bob, "incallfilter", "1")
		c := status(t, alice, "102", 200)
		heard(t, "priv-recordintro")
		c.hangUp()
		a.store(bob, "incallfilter", "0")
	})
	run("recording", nil, func(t *testing.T) {
		for user, other := range map[string]string{bob: "24", "00000001-0000-4000-8000-000000000001": "245"} { // Alice calls Bob inside
			a.store(user, "callrecord", other)
		}
		status(t, alice, "102", 200).hangUp()
		if strings.Contains(a.log()[a.read:], " MixMonitor(\"") {
			t.Error("a call of a kind that nobody records is recorded")
		}
		a.idle()
		a.store("00000001-0000-4000-8000-000000000001", "callrecord", "0")
		a.store(bob, "callrecord", "5")
		c := status(t, alice, "102", 200)
		heard(t, "MixMonitor")
		wait(t, "a file", func() bool {
			found, _ := filepath.Glob(a.dir + "/spool/monitor/ringfence/" + acme + "/*.wav")
			return len(found) == 1
		}, func() string { return a.cli("core show channels") })
		c.hangUp()
		a.store(bob, "callrecord", "0")
	})
	run("group", map[*phone]string{alice: "ring", desk: "ring"}, func(t *testing.T) {
		status(t, carolPhone, "200", 200).hangUp()
		bobPhone.saw("answers")
	})
	run("group of all", map[*phone]string{alice: "ring", desk: "ring", bobPhone: "ring"}, func(t *testing.T) {
		done := make(chan int)
		go func() {
			c, got := carolPhone.dial("200")
			if c != nil {
				c.hangUp()
			}
			done <- got
		}()
		alice.saw("rings")
		desk.saw("rings")
		bobPhone.saw("rings")
		alice.pickUp()
		if got := <-done; got != 200 {
			t.Errorf("status %d", got)
		}
		bobPhone.saw("cancelled")
		desk.saw("cancelled")
	})
	run("group with do not disturb", nil, func(t *testing.T) {
		a.store(bob, "dnd", "1")
		status(t, carolPhone, "200", 200).hangUp()
		if bobPhone.count("rings") > 0 {
			t.Error("Bob's rings")
		}
		a.store(bob, "dnd", "0")
	})
	run("leave the group", nil, func(t *testing.T) {
		c := status(t, bobPhone, "*521", 200)
		heard(t, "de-activated")
		c.ended()
		status(t, carolPhone, "200", 200).hangUp()
		if bobPhone.count("rings") > 0 {
			t.Error("Bob's rings")
		}
		status(t, bobPhone, "*501", 200).ended()
		if got := a.inDB(bob, "left-1"); got == "1" {
			t.Error(got)
		}
	})
	run("incoming", nil, func(t *testing.T) {
		a.cli("channel originate Local/5550100@" + public + " application Wait 1")
		wait(t, "alice", func() bool { return alice.count("answers")+desk.count("answers") > 0 }, nil)
	})
	run("lamps", nil, func(t *testing.T) {
		if got := carolPhone.subscribe("102"); got != 200 {
			t.Fatal(got)
		}
		carolPhone.saw("terminated")
		c := status(t, alice, "102", 200)
		carolPhone.saw("confirmed")
		c.hangUp()
	})
}

// size is how large the files of a mailbox are.
func size(a *pbxUnderTest, mailbox, files string) (n int64) {
	found, _ := filepath.Glob(filepath.Join(a.dir, "spool/voicemail", inside, mailbox, files))
	for _, name := range found {
		if info, err := os.Stat(name); err == nil {
			n += info.Size()
		}
	}
	return n
}

// sentOn checks that a telephone learnt who has sent the call to it, and why.
func sentOn(t *testing.T, p *phone, number, why string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, event := range p.events {
		if strings.HasPrefix(event, "sent on by ") && strings.Contains(event, "<sip:"+number+"@") && strings.Contains(event, "reason="+why) {
			return
		}
	}
	t.Errorf("%s did not learn that %s has sent the call on (%s): %q", p.name, number, why, p.events)
}
