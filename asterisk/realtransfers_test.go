package asterisk_test

import (
	"strings"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
)

// aliceUUID is that of the user, where the telephone has her name.
const aliceUUID = alice

// Calls are handed on, by the codes of features.conf and by the telephones' own transfers; and who is called back if that fails.
func TestRealTransfers(t *testing.T) {
	s := office(t)
	for _, u := range s.Users {
		seconds(u, 8)
	}
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")
	alice, bobPhone, carolPhone, davePhone := a.phone(t, "alice"), a.phone(t, "bob"), a.phone(t, "carol"), a.phone(t, "dave")
	all := []*phone{alice, bobPhone, carolPhone, davePhone}
	// joined waits until so many telephones have been connected. Asterisk accepts a transfer before, and does nothing.
	joined := func(n int) {
		a.t.Helper()
		wait(a.t, "they are connected", func() bool {
			return strings.Count(a.log()[a.read:], " joined 'simple_bridge'") >= n
		}, func() string { return a.log()[a.read:] })
	}
	// run has Alice call Bob, and then does something with the call.
	run := func(name string, does map[*phone]string, f func(t *testing.T, c *call)) {
		t.Run(name, func(t *testing.T) {
			select {
			case <-a.ended:
				t.Fatal("Asterisk has ended")
			default:
			}
			for _, p := range all {
				p.t = t
			}
			for p, what := range does {
				p.when(what)
			}
			a.t = t
			a.news()
			t.Cleanup(func() {
				if t.Failed() {
					t.Log(a.log()[a.read:])
				}
				a.rest(name, "answer", all)
			})
			c, got := alice.dial("102")
			if got != 200 {
				t.Fatalf("Alice calls Bob: %d", got)
			}
			joined(2)
			f(t, c)
		})
	}
	said := a.said
	// talk waits until these, and nobody else, are in a call.
	talk := func(names ...string) {
		a.t.Helper()
		wait(a.t, strings.Join(names, " talks to "), func() bool {
			channels, there := a.cli("core show channels concise"), 0
			for line := range strings.Lines(channels) {
				if fields := strings.Split(line, "!"); len(fields) > 12 && strings.HasPrefix(fields[0], "PJSIP/") {
					name, _, _ := strings.Cut(strings.TrimPrefix(fields[0], "PJSIP/"), "-0")
					if there++; fields[4] != "Up" || !strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ") {
						return false
					}
				}
			}
			return there == len(names)
		}, func() string { return a.cli("core show channels") + a.log()[a.read:] })
	}
	consult := func(c *call, number string) {
		c.press("*2")
		said("pbx-transfer")
		c.press(number)
	}

	run("code: blind", nil, func(_ *testing.T, c *call) {
		c.press("*1")
		said("pbx-transfer")
		c.press("103")
		carolPhone.saw("answers")
		c.ended()
		talk("bob", "carol")
	})
	run("code: attended", nil, func(_ *testing.T, c *call) {
		consult(c, "103")
		carolPhone.saw("answers")
		talk("alice", "bob", "carol")
		c.hangUp()
		talk("bob", "carol")
	})
	run("code: attended, the other one is busy", map[*phone]string{carolPhone: "busy"}, func(_ *testing.T, c *call) {
		consult(c, "103")
		carolPhone.saw("rings")
		said("beeperr")
		talk("alice", "bob")
		if c.over() {
			a.t.Error("Alice is out")
		}
	})
	run("code: attended, nobody has that number", nil, func(_ *testing.T, c *call) {
		consult(c, "999")
		said("pbx-invalid")
		talk("alice", "bob")
	})
	run("code: hung up while it rings", map[*phone]string{carolPhone: "ring"}, func(_ *testing.T, c *call) {
		consult(c, "103")
		carolPhone.saw("rings")
		c.hangUp()
		// Asterisk 22.10.1 can crash if Carol answers while it still joins her call to Bob's.
		wait(a.t, "Bob hears it ring", func() bool { return strings.Count(a.log()[a.read:], ";1 joined 'simple_bridge'") == 2 }, nil)
		carolPhone.pickUp()
		talk("bob", "carol")
	})
	run("code: hung up while it rings, and nobody answers", map[*phone]string{carolPhone: "ring"}, func(t *testing.T, c *call) {
		consult(c, "103")
		carolPhone.saw("rings")
		c.hangUp()
		carolPhone.saw("cancelled")
		alice.saw("rings") // who has handed the call on is called back
		alice.saw("answers")
		talk("alice", "bob")
		if davePhone.count("rings") > 0 {
			t.Error("Dave is called")
		}
	})
	run("code: attended, to a feature code", nil, func(t *testing.T, c *call) {
		consult(c, "*25")
		said("ss-noservice")
		c.hangUp()
		if a.kept("dnd") == "1" {
			t.Error("Bob has got do-not-disturb from Alice")
		}
		if a.inDB(aliceUUID, "dnd") == "1" {
			t.Error("Alice has it")
		}
	})
	run("REFER: blind", nil, func(t *testing.T, c *call) {
		if got := c.transfer("103", nil); got != 202 {
			t.Fatalf("REFER: %d", got)
		}
		carolPhone.saw("answers")
		alice.saw("SIP/2.0 200")
		c.hangUp() // as a telephone does then; Asterisk would wait a minute for it
		talk("bob", "carol")
	})
	run("REFER: blind, the other one is busy", map[*phone]string{carolPhone: "busy"}, func(t *testing.T, c *call) {
		if got := c.transfer("103", nil); got != 202 {
			t.Fatalf("REFER: %d", got)
		}
		carolPhone.saw("rings")
		bobPhone.saw("hung up")
		a.idle()
		if alice.count("rings") > 0 {
			t.Error("Alice is called back")
		}
	})
	run("REFER: blind, nobody has that number", nil, func(t *testing.T, c *call) {
		if got := c.transfer("999", nil); got != 202 {
			t.Errorf("REFER: %d", got)
		}
		alice.saw("SIP/2.0 404")
		talk("alice", "bob")
	})
	run("REFER: blind, to a feature code", nil, func(t *testing.T, c *call) {
		if got := c.transfer("*25", nil); got != 202 {
			t.Errorf("REFER: %d", got)
		}
		said("ss-noservice")
		if a.kept("dnd") == "1" || a.inDB(aliceUUID, "dnd") == "1" {
			t.Error("a transfer has switched on do-not-disturb")
		}
	})
	run("REFER: blind, by who is called", nil, func(t *testing.T, _ *call) {
		bobPhone.saw("answers")
		if got := bobPhone.current().transfer("103", nil); got != 202 {
			t.Fatalf("REFER: %d", got)
		}
		carolPhone.saw("answers")
		talk("alice", "carol")
	})
	run("REFER: attended", nil, func(t *testing.T, c *call) {
		second, got := alice.dial("103")
		if got != 200 {
			t.Fatalf("Alice calls Carol: %d", got)
		}
		joined(4)
		if got := c.transfer("103", second); got != 202 {
			t.Fatalf("REFER: %d", got)
		}
		alice.saw("SIP/2.0 200")
		c.hangUp()
		second.hangUp()
		talk("bob", "carol")
	})
	run("REFER: attended, with a call that is none of hers", nil, func(t *testing.T, c *call) {
		second, got := davePhone.dial("103")
		if got != 200 {
			t.Fatalf("Dave calls Carol: %d", got)
		}
		joined(4)
		strange := &call{p: alice, id: "no-such-call", local: second.local, far: second.far}
		if got = c.transfer("103", strange); got != 202 {
			t.Errorf("REFER: %d", got)
		}
		alice.saw("SIP/2.0 404")
		talk("alice", "bob", "dave", "carol")
	})
	run("REFER: blind, while it rings elsewhere", map[*phone]string{carolPhone: "ring"}, func(t *testing.T, c *call) {
		done := make(chan int)
		go func() {
			_, got := alice.dial("103")
			done <- got
		}()
		carolPhone.saw("rings")
		if got := c.transfer("103", nil); got != 202 {
			t.Fatalf("REFER: %d", got)
		}
		carolPhone.when("answer")
		wait(t, "both calls ring", func() bool { return carolPhone.count("rings") > 1 || carolPhone.count("answers") > 0 }, a.news)
		alice.hangUpAll()
		<-done
	})
}

// Who calls from outside, and knows the PIN, telephones as if they were inside; nobody else does.
func TestRealDISA(t *testing.T) {
	s := office(t)
	outside(t, s, 3, "5550103", `{"type": "application", "application": "disa", "context": "`+inside+`", "pin": "1234"}`)
	outside(t, s, 4, "5550104", `{"type": "application", "application": "disa", "context": "`+inside+`", "pin": null}`)
	outside(t, s, 5, "5550105", `{"type": "application", "application": "disa", "context": "`+theirs+`", "pin": "1234"}`)
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")
	alice, bobPhone := a.phone(t, "alice"), a.phone(t, "bob")
	begin := func(number string) *call {
		t.Helper()
		a.news()
		bobPhone.log()
		c, got := alice.dial(number)
		if got != 200 {
			t.Fatalf("status %d\n%s", got, a.news())
		}
		a.said("DISA(")
		return c
	}
	end := func(when string) {
		t.Helper()
		a.rest(when, "answer", []*phone{alice, bobPhone})
	}
	c := begin("5550103")
	c.press("1234#")
	c.press("102")
	bobPhone.saw("answers")
	if bobPhone.count("rings") != 1 {
		t.Errorf("%q", bobPhone.log())
	}
	end("the right PIN")

	for _, wrong := range []string{"1235#102", "#102", "12345#102", "123#102", "*25#102"} {
		c = begin("5550103")
		c.press(wrong)
		a.said("bad password")
		if bobPhone.count("rings") > 0 {
			t.Errorf("%s: Bob's rings", wrong)
		}
		end(wrong)
	}

	c = begin("5550103") // nothing is dialled: Asterisk ends the call
	c.ended()
	end("no PIN")

	c = begin("5550103")
	c.press("1234#")
	c.press("*25") // that of who calls from outside: nobody's
	a.said("ss-noservice")
	if a.inDB(aliceUUID, "dnd") == "1" {
		t.Error("a feature code works from outside")
	}
	end("a feature code")

	for number := range strings.FieldsSeq("5550104 5550105") {
		if _, got := alice.dial(number); got != 404 {
			t.Errorf("%s: %d", number, got)
		}
	}
	end("without a PIN, and in a context of another tenant")
}

// A user who calls from their mobile number hangs up unanswered, is called back there, and dials as if they were inside; nobody else is called.
func TestRealCallback(t *testing.T) {
	s := office(t)
	outside(t, s, 3, "5550103", `{"type": "application", "application": "callback_disa", "context": "`+inside+`", "pin": "1234"}`)
	outside(t, s, 4, "5550104", `{"type": "application", "application": "callback_disa", "context": "`+inside+`", "pin": null}`)
	for i, number := range []string{"33612345678", "0612345679"} { // Alice and Bob telephone with the mobile numbers of Carol and Dave
		e := s.Endpoints[2*i]
		e.Endpoint.V = append(e.Endpoint.V, []string{"callerid", "<" + number + ">"})
		s.Users[2+i].MobilePhoneNumber = new("00" + number[len(number)-9:])
	}
	s.CallPermissions = []*confdsvc.CallPermission{
		read[confdsvc.CallPermission](t, `{"id": 1, "tenant_uuid": "`+acme+`", "name": "Dear", "mode": "deny", "enabled": true, "extensions": ["_0090."]}`),
	}
	s.UserCallPermissions = map[confdsvc.ID][]confdsvc.ID{3: {1}}
	a := startReal(t, s)
	carrier := outsideOf(t, a, s)[0]
	s.Includes = map[confdsvc.ID][]confdsvc.ID{1: {2, 6}}
	a.set(s)
	a.apply()
	a.clean("the first apply")
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(a.log()[a.read:])
		}
	})
	alice, bobPhone, davePhone := a.phone(t, "alice"), a.phone(t, "bob"), a.phone(t, "dave")
	all := []*phone{alice, bobPhone, davePhone, carrier}
	calledBack := func(who *phone, number, at string) *call {
		t.Helper()
		a.news()
		if _, got := who.dial(number); got != 486 {
			t.Fatalf("%s dials %s: %d\n%s", who.name, number, got, a.news())
		}
		carrier.saw("answers")
		if c := carrier.current(); !strings.Contains(c.invite.first, "sip:"+at+"@") {
			t.Errorf("%s is called back: %s", who.name, c.invite.first)
		}
		a.said("DISA(")
		return carrier.current()
	}
	c := calledBack(alice, "5550103", "0612345678")
	c.press("1234#")
	c.press("104")
	davePhone.saw("answers")
	a.rest("with a PIN", "answer", all)
	if _, got := alice.dial("5550103"); got != 486 {
		t.Errorf("called back twice in a minute: %d", got)
	}
	if _, got := davePhone.dial("5550103"); got != 404 {
		t.Errorf("who calls from another number: %d", got)
	}
	c = calledBack(bobPhone, "5550104", "0612345679")
	if n := carrier.count("rings"); n > 1 {
		t.Errorf("the carrier gets %d calls", n)
	}
	c.press("*25")
	a.said("ss-noservice")
	a.rest("without a PIN", "answer", all)
	if a.inDB(dave, "dnd") == "1" {
		t.Error("a feature code works from outside")
	}

	a.cli("dialplan set global RINGFENCE_CALLED_BACK_" + carol + " 0") // a minute later
	c = calledBack(alice, "5550103", "0612345678")
	c.press("1234#")
	c.press("009012")
	a.said("[refused@ringfence-outgoing:") // Carol may not call there
	a.rest("what the user may not", "answer", all)
	s.CallPermissions = append(s.CallPermissions,
		read[confdsvc.CallPermission](t, `{"id": 2, "tenant_uuid": "`+acme+`", "name": "Mobiles", "mode": "deny", "enabled": true, "extensions": ["_006."]}`))
	s.UserCallPermissions[4] = []confdsvc.ID{2}
	a.set(s)
	a.apply()
	a.cli("dialplan set global RINGFENCE_CALLED_BACK_" + dave + " 0")
	a.news()
	if _, got := bobPhone.dial("5550104"); got != 486 {
		t.Errorf("who may not call the own mobile number: %d", got)
	}
	a.said("[refused@ringfence-outgoing:")
	if n := carrier.count("rings"); n > 0 {
		t.Errorf("the carrier gets %d calls", n)
	}
	a.rest("nor be called back there", "answer", all)
}
