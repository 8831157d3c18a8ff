package asterisk_test

import (
	"strings"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
)

// Who has a call counts, and not who has had one and handed it on.
func TestRealPlaces(t *testing.T) {
	s := office(t)
	for _, u := range s.Users {
		u.SimultaneousCalls, u.CallTransferEnabled = new(int64(1)), new(true)
		seconds(u, 30)
	}
	s.Groups[0].MaxCalls = new(int64(1))
	s.GroupUsers[sales] = []confdsvc.ID{2}
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")
	alice, desk, bobPhone, carolPhone, davePhone := a.phone(t, "alice"), a.phone(t, "alice-desk"), a.phone(t, "bob"), a.phone(t, "carol"), a.phone(t, "dave")
	all := []*phone{alice, desk, bobPhone, carolPhone, davePhone}
	rest := func(when string) { t.Helper(); a.rest(when, "answer", all) }

	status := func(p *phone, number string, want int) *call {
		t.Helper()
		c, got := p.dial(number)
		if got != want {
			t.Fatalf("%s dials %s: %d, want %d\n%s", p.name, number, got, want, a.cli("core show channels verbose")+a.cli("group show channels")+a.log()[a.read:])
		}
		return c
	}
	heard := func(what string) {
		t.Helper()
		wait(t, what, func() bool { return strings.Contains(a.log()[a.read:], what) }, func() string { return a.log()[a.read:] })
	}
	for _, number := range []string{"102", "200"} { // a call of their own, and one of the group
		status(alice, number, 200)
		bobPhone.saw("answers")
		if number == "102" {
			status(davePhone, "102", 486)
		} else {
			status(davePhone, "200", 503)
		}
		bobPhone.current().press("*1")
		heard("pbx-transfer")
		bobPhone.current().press("103")
		carolPhone.saw("answers")
		wait(t, "Bob has hung up", func() bool { return bobPhone.count("hung up") > 0 }, nil)
		status(davePhone, number, 200).hangUp()
		status(davePhone, "103", 486)
		rest("a blind transfer of a call to " + number)
	}
	given := status(alice, "102", 200)
	bobPhone.saw("answers")
	bobPhone.current().press("*2")
	heard("pbx-transfer")
	bobPhone.current().press("103")
	carolPhone.saw("answers")
	bobPhone.current().hangUp()
	wait(t, "Alice and Carol talk", func() bool { return strings.Contains(a.cli("core show channels count"), "2 active channels") }, func() string { return a.cli("core show channels") })
	if given.over() {
		t.Error("the call has ended")
	}
	status(davePhone, "102", 200).hangUp()
	status(davePhone, "103", 486)
	rest("an attended transfer")
	// Two telephones that ring for a call are one call, also when one of them refuses it.
	alice.when("ring")
	desk.when("busy")
	done := make(chan int)
	go func() { _, got := davePhone.dial("101"); done <- got }()
	alice.saw("rings")
	status(carolPhone, "101", 200) // the mailbox
	heard("vm-isonphone")
	if alice.count("rings") != 1 {
		t.Errorf("Alice: %q", alice.log())
	}
	alice.pickUp()
	if got := <-done; got != 200 {
		t.Errorf("Dave: %d", got)
	}
	rest("two telephones")
	bobPhone.when("ring") // who picks a call up has it, and not who was called
	go func() { _, got := davePhone.dial("102"); done <- got }()
	bobPhone.saw("rings")
	status(carolPhone, "*8102", 200)
	if got := <-done; got != 200 {
		t.Errorf("Dave: %d", got)
	}
	bobPhone.saw("cancelled")
	bobPhone.when("answer")
	status(alice, "102", 200)
	rest("picked up")
}

// A call is picked up by every number of who is called, also where the number is in a context that the caller's own includes.
func TestRealPickupsByEveryNumber(t *testing.T) {
	s := office(t)
	s.Contexts = append(s.Contexts, &confdsvc.Context{ID: 4, TenantUUID: acme, Name: "ctx-acme-internal-2", Type: "internal", Enabled: true})
	s.Includes = map[confdsvc.ID][]confdsvc.ID{1: {4}}
	for i, x := range []confdsvc.Extension{{Exten: "112", Context: inside}, {Exten: "_13X", Context: inside}, {Exten: "202", Context: "ctx-acme-internal-2"}} {
		x.ID, x.TenantUUID, x.Enabled = confdsvc.ID(50+i), acme, true
		s.Extensions = append(s.Extensions, &x)
		s.LineExtensions[3] = append(s.LineExtensions[3], x.ID)
	}
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")
	bobPhone, carolPhone, davePhone := a.phone(t, "bob"), a.phone(t, "carol"), a.phone(t, "dave")
	bobPhone.when("ring")
	numbers := []string{"102", "112", "135", "202"}
	for i, number := range numbers {
		done := make(chan int)
		go func() { _, got := davePhone.dial(number); done <- got }()
		bobPhone.saw("rings")
		for _, nobody := range []string{"*8103", "*8999"} {
			if _, got := carolPhone.dial(nobody); got < 400 {
				t.Errorf("%s picks up: %d", nobody, got)
			}
		}
		by := numbers[(i+1)%len(numbers)]
		if _, got := carolPhone.dial("*8" + by); got != 200 {
			t.Fatalf("%s is picked up by %s: %d\n%s", number, by, got, a.news())
		}
		if got := <-done; got != 200 {
			t.Errorf("Dave: %d", got)
		}
		for _, p := range []*phone{bobPhone, carolPhone, davePhone} {
			p.hangUpAll()
		}
		a.idle()
		bobPhone.log()
	}
	a.clean("the pickups")
}
