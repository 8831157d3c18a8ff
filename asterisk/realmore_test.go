package asterisk_test

import (
	"os"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/helpers"
)

// outside adds a number that calls from outside dial, and what it leads to. Telephones may dial it, too.
func outside(t *testing.T, s *confdsvc.Snapshot, id confdsvc.ID, exten, destination string) *confdsvc.Incall {
	t.Helper()
	i := &confdsvc.Incall{ID: id, TenantUUID: acme, Destination: *to(t, destination)}
	s.Incalls = append(s.Incalls, i)
	s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: id + 200, TenantUUID: acme, Exten: exten, Context: public, Enabled: true})
	s.IncallExtensions[id] = []confdsvc.ID{id + 200}
	s.Includes = map[confdsvc.ID][]confdsvc.ID{1: {2}}
	return i
}

// Where calls go on, what function keys dial, and what a mailbox keeps.
func TestRealDestinations(t *testing.T) {
	s := office(t)
	for _, u := range s.Users {
		seconds(u, 1)
	}
	carolUser := s.Users[2]
	f := &carolUser.Fallbacks
	f.Busy, f.NoAnswer = to(t, `{"type": "voicemail", "voicemail_id": 2, "greeting": "busy", "skip_instructions": true}`), to(t, `{"type": "user", "user_id": 4, "ring_time": 2}`)
	f.Fail = to(t, `{"type": "sound", "filename": "tt-weasels", "skip": false, "no_answer": true}`)
	bobUser := s.Users[1]
	bobUser.Fallbacks.Busy, bobUser.Fallbacks.NoAnswer = to(t, `{"type": "custom", "command": "SayDigits(77)"}`), to(t, `{"type": "extension", "exten": "103", "context": "`+inside+`"}`)
	bobUser.MobileFallbackEnabled, bobUser.MobilePhoneNumber = true, new("104")
	incall := outside(t, s, 2, "5550102", `{"type": "user", "user_id": 2}`)
	incall.CallerIDMode, incall.CallerIDName, incall.GreetingSound = new("prepend"), new(`Out, side "é" ${X};`), new("hello-world")
	outside(t, s, 3, "5550103", `{"type": "application", "application": "disa", "context": "`+inside+`", "pin": "1234"}`)
	outside(t, s, 4, "5550104", `{"type": "hangup", "cause": "busy", "timeout": 1}`)
	outside(t, s, 5, "5550105", `{"type": "none"}`)
	outside(t, s, 6, "5550106", `{"type": "application", "application": "voicemail", "context": "`+inside+`"}`)
	outside(t, s, 7, "5550107", `{"type": "custom", "command": "Echo()"}`)
	s.Keys = []*confdsvc.FuncKeyTemplate{read[confdsvc.FuncKeyTemplate](t, `{"id": 1, "tenant_uuid": "`+acme+`", "keys": {
		"1": {"blf": true, "destination": {"type": "service", "service": "enablednd"}},
		"2": {"blf": true, "destination": {"type": "forward", "forward": "unconditional", "exten": null}},
		"3": {"blf": true, "destination": {"type": "forward", "forward": "busy", "exten": "104"}},
		"4": {"blf": true, "destination": {"type": "groupmember", "group_id": 1, "action": "toggle"}}}}`)}
	bobUser.FuncKeyTemplateID = new(confdsvc.ID(1))
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")
	alice, bobPhone, carolPhone, davePhone := a.phone(t, "alice"), a.phone(t, "bob"), a.phone(t, "carol"), a.phone(t, "dave")
	all := []*phone{alice, bobPhone, carolPhone, davePhone}
	run := func(name string, what map[*phone]string, dial *phone, number string, want int, heard ...string) {
		t.Helper()
		for _, p := range all {
			if does := what[p]; does != "" {
				p.when(does)
			}
		}
		a.news()
		_, got := dial.dial(number)
		if got != want {
			t.Errorf("%s: status %d, want %d", name, got, want)
		}
		for _, one := range heard {
			if who, ok := strings.CutPrefix(one, "dave "); ok {
				davePhone.saw(who)
				continue
			}
			wait(t, name+": "+one, func() bool { return strings.Contains(a.log()[a.read:], one) }, func() string { return a.log()[a.read:] })
		}
		a.rest(name, "answer", all)
	}
	ring, busy := map[*phone]string{carolPhone: "ring", bobPhone: "ring"}, map[*phone]string{carolPhone: "busy", bobPhone: "busy"}
	run("busy to a voicemail", busy, alice, "103", 200, "VoiceMail(\"PJSIP/alice", "104@"+inside+",bs", "beep.")
	run("no answer to a user", ring, alice, "103", 200, "dave answers")
	run("busy to a command", busy, alice, "102", 200, "digits/7")
	run("no answer to a number, and on", ring, alice, "102", 200, "dave answers")
	bobPhone.register(0)
	run("mobile", nil, alice, "102", 200, "dave answers")
	bobPhone.register(600)
	carolPhone.register(0)
	run("fail to a sound", nil, alice, "103", 603, "tt-weasels")
	carolPhone.register(600)
	run("incoming, with a name", nil, alice, "5550102", 200, "hello-world")
	run("DISA", nil, alice, "5550103", 200, "DISA(")
	run("busy", nil, alice, "5550104", 486)
	run("none", nil, alice, "5550105", 404, "ss-noservice")
	run("mailboxes", nil, alice, "5550106", 200, "vm-login")
	run("echo", nil, alice, "5550107", 200, "Echo(")
	run("key: do not disturb", nil, bobPhone, "*7352***25", 200, "activated")
	wait(t, "it is on", func() bool { return a.kept("dnd") == "1" }, nil)
	run("key of somebody else", nil, alice, "*7352***25", 404, "ss-noservice")
	run("key: off", nil, bobPhone, "*7352***25", 200, "de-activated")
	run("key: forward on busy", nil, bobPhone, "*7352***23104", 200, "activated")
	wait(t, "it is on", func() bool { return a.kept("busy") == "104" }, nil)
	run("key: leave the group", nil, bobPhone, "*7352***501", 200, "activated")
	if got := a.cli("core show hints"); !strings.Contains(got, "Custom:ringfence-busy-"+bob) || strings.Count(got, "State:InUse") != 2 {
		t.Error(got)
	}
	a.news()
	c, got := bobPhone.dial("*7352***21")
	if got != 200 {
		t.Fatalf("key: forward without a number: %d", got)
	}
	wait(t, "it asks", func() bool { return strings.Contains(a.log()[a.read:], "vm-enter-num-to-call") }, nil)
	c.press("103#")
	wait(t, "the number is stored", func() bool { return a.kept("unconditional") == "103" }, func() string { return a.log()[a.read:] })
	c.ended()
	a.clean("key: forward without a number")
	// A new PIN stays in the mailbox's folder: the generated file does not change.
	before, _ := os.ReadFile(a.dir + "/generated/live/voicemail.conf")
	if c, got = alice.dial("*98"); got != 200 {
		t.Fatalf("own mailbox: %d", got)
	}
	said := func(what string) {
		t.Helper()
		wait(t, what, func() bool { return strings.Contains(a.log()[a.read:], what) }, func() string { return a.log()[a.read:] })
	}
	said("vm-password")
	c.press("1234#")
	said("vm-opts")
	c.press("0")
	said("vm-options")
	c.press("5")
	said("vm-newpassword")
	c.press("5678#")
	said("vm-reenterpassword")
	c.press("5678#")
	said("vm-passchanged")
	c.hangUp()
	inFolder := func(when, want string) {
		t.Helper()
		if got, err := helpers.ChosenPIN(a.dir+"/spool/voicemail", inside, "101"); got != want || err != nil {
			t.Errorf("%s: in the mailbox's folder is the PIN %q, want %q, %v", when, got, want, err)
		}
	}
	inFolder("a new PIN", "5678")
	after, _ := os.ReadFile(a.dir + "/generated/live/voicemail.conf")
	if string(before) != string(after) {
		t.Errorf("voicemail.conf has changed: %s", after)
	}
	// confd has it, and the PIN of confd counts from then on, also the one that is still in the live files.
	wait(t, "the PIN is stored", func() bool { return a.pin(s.Voicemails[0]) == "5678" }, a.log)
	opens := func(pin, inFolderThen string) {
		t.Helper()
		a.idle()
		a.keepPIN(apply.Mailbox{Context: inside, Number: "101"}, pin, nil)
		a.apply()
		inFolder("an apply of "+pin, inFolderThen)
		a.news()
		if c, got = alice.dial("*98"); got != 200 {
			t.Fatalf("own mailbox: %d", got)
		}
		said("vm-password")
		c.press(pin + "#")
		said("vm-opts")
		c.hangUp()
	}
	opens("1234", "") // the one in the live files
	opens("5678", "")
	opens("9999", "")
	// A transport that changes.
	a.idle()
	a.news()
	s.Transports = append(s.Transports, read[confdsvc.SIPTransport](t, `{"uuid": "t2", "name": "transport-tcp", "options": [["protocol", "tcp"], ["bind", "127.0.0.1:0"]]}`))
	a.set(s)
	a.apply()
	if got := a.cli("pjsip show transports"); !strings.Contains(got, "transport-tcp") {
		t.Error(got)
	}
	a.clean("another transport")
}

// Calls are picked up and handed on.
func TestRealPickupsAndTransfers(t *testing.T) {
	s := office(t)
	s.Endpoints[2].Endpoint.V = append(s.Endpoints[2].Endpoint.V, []string{"named_call_group", "sales"})
	s.Endpoints[3].Endpoint.V = append(s.Endpoints[3].Endpoint.V, []string{"pickup_group", "1"}, []string{"named_pickup_group", "sales"})
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")
	alice, bobPhone, carolPhone, davePhone := a.phone(t, "alice"), a.phone(t, "bob"), a.phone(t, "carol"), a.phone(t, "dave")
	rest := func(when string) {
		t.Helper()
		a.rest(when, "answer", []*phone{alice, bobPhone, carolPhone, davePhone})
	}
	for _, test := range [][2]string{{"102", "*8102"}, {"200", "*8102"}, {"102", "*8"}} {
		bobPhone.when("ring")
		alice.when("ring") // she is in the group, too
		done := make(chan int)
		go func() {
			_, got := davePhone.dial(test[0])
			done <- got
		}()
		bobPhone.saw("rings")
		if _, got := carolPhone.dial(test[1]); got != 200 {
			t.Fatalf("%v: Carol: %d\n%s", test, got, a.news())
		}
		if got := <-done; got != 200 {
			t.Errorf("%v: Dave: %d", test, got)
		}
		rest(strings.Join(test[:], " picked up by "))
	}
	c, _ := alice.dial("102")
	c.press("*1")
	wait(t, "the transfer", func() bool { return strings.Contains(a.log()[a.read:], "pbx-transfer") }, nil)
	c.press("103")
	carolPhone.saw("answers")
	sentOn(t, carolPhone, "101", "deflection")
	c.ended()
	rest("a blind transfer")
	if _, got := davePhone.dial("*90"); got != 200 {
		t.Errorf("*90: %d", got)
	}
	wait(t, "it is off", func() bool { return a.inDB(dave, "novoicemail") == "1" }, nil)
	rest("*90")
	davePhone.when("busy")
	if _, got := alice.dial("104"); got != 486 {
		t.Errorf("without the mailbox: %d", got)
	}
	rest("without the mailbox")
}
