package asterisk_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
)

// Alice's calls are filtered, Bob and Carol are her secretaries; calls wait at a switchboard of Bob's and Carol's; and Dave may answer Alice's calls.
func TestRealTeams(t *testing.T) {
	s := office(t)
	for _, u := range s.Users {
		seconds(u, 2)
	}
	s.UserVoicemail = nil
	for feature, exten := range map[string]string{"bsfilter": "_*37.", "switchboard": "_*38."} {
		s.Features = append(s.Features, &confdsvc.ExtensionFeature{Feature: feature, Exten: exten, Context: "xivo-features", Enabled: true})
	}
	ref := func(id int64, uuid string) confdsvc.UserRef { return confdsvc.UserRef{ID: id, UUID: uuid} }
	filter := read[confdsvc.CallFilter](t, `{"id": 1, "tenant_uuid": "`+acme+`", "name": "Boss", "source": "all", "enabled": true}`)
	filter.Recipients.Users = []confdsvc.FilterRecipient{{UserRef: ref(1, alice)}}
	filter.Surrogates.Users = []confdsvc.FilterSurrogate{{UserRef: ref(2, bob), MemberID: 1}, {UserRef: ref(3, carol), MemberID: 2}}
	s.CallFilters = []*confdsvc.CallFilter{filter}
	board := read[confdsvc.Switchboard](t, `{"uuid": "`+reception+`", "tenant_uuid": "`+acme+`", "name": "Reception", "timeout": 60,
		"fallbacks": {"noanswer_destination": {"type": "user", "user_id": 4}}}`)
	board.ID, board.Members.Users = 1, []confdsvc.UserRef{ref(2, bob), ref(3, carol)}
	s.Switchboards = []*confdsvc.Switchboard{board}
	s.Incalls = []*confdsvc.Incall{
		{ID: 1, TenantUUID: acme, Destination: *to(t, `{"type": "switchboard", "switchboard_uuid": "`+reception+`", "ring_time": null}`)},
		{ID: 2, TenantUUID: acme, Destination: *to(t, `{"type": "switchboard", "switchboard_uuid": "`+reception+`", "ring_time": 1}`)},
	}
	for exten, id := range map[string]confdsvc.ID{"500": 90, "501": 91} {
		s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: id, TenantUUID: acme, Exten: exten, Context: inside, Enabled: true})
	}
	s.IncallExtensions = map[confdsvc.ID][]confdsvc.ID{1: {90}, 2: {91}}
	pickup := read[confdsvc.CallPickup](t, `{"id": 1, "tenant_uuid": "`+acme+`", "name": "Sales", "enabled": true}`)
	pickup.Interceptors.Users = []confdsvc.PickupUser{{ID: 4, UUID: dave}}
	pickup.Targets.Users = []confdsvc.PickupUser{{ID: 1, UUID: alice}}
	s.CallPickups = []*confdsvc.CallPickup{pickup}
	a := startReal(t, s)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(a.log()[a.read:])
		}
	})
	set := func(edit func()) {
		t.Helper()
		edit()
		a.set(s)
		a.apply()
	}
	set(func() { filter.Strategy = "all" })
	a.clean("the first apply")
	alicePhone, desk, bobPhone, carolPhone, davePhone := a.phone(t, "alice"), a.phone(t, "alice-desk"), a.phone(t, "bob"), a.phone(t, "carol"), a.phone(t, "dave")
	all := []*phone{alicePhone, desk, bobPhone, carolPhone, davePhone}
	// does says what the telephones do, each by its name and a word, in the next call.
	does := func(what string) {
		t.Helper()
		a.rest("a call", "answer", all)
		for one := range strings.FieldsSeq(what) {
			name, word, _ := strings.Cut(one, "=")
			for _, p := range all {
				if p.name == name {
					p.when(word)
				}
			}
		}
	}
	// rings has somebody call: the telephones in rung ring, at once or one after the other, the first of them answers when all have, and no other rings.
	rings := func(who *phone, number string, rung ...*phone) {
		t.Helper()
		does("alice=ring alice-desk=ring bob=ring carol=ring")
		done := make(chan int)
		go func() { _, got := who.dial(number); done <- got }()
		for _, p := range rung {
			p.saw("rings")
		}
		rung[0].pickUp()
		if got := <-done; got != 200 {
			t.Fatalf("filter %s, %s dials %s: %d\n%s", filter.Strategy, who.name, number, got, a.log()[a.read:])
		}
		for _, p := range all {
			if p.count("rings") > 0 && !slices.Contains(rung, p) {
				t.Errorf("filter %s, %s dials %s: %s has %q", filter.Strategy, who.name, number, p.name, p.log())
			}
		}
		does("")
	}
	switches := func(who *phone, code, name, user, value string) {
		t.Helper()
		if _, got := who.dial(code); got != 200 {
			t.Fatalf("%s dials %s: %d\n%s", who.name, code, got, a.log()[a.read:])
		}
		wait(t, name+" is "+value, func() bool { return a.inDB(user, name) == value }, nil)
		does("")
	}
	does("")
	if got := bobPhone.subscribe("*371"); got != 200 {
		t.Fatalf("the lamp of the filter: %d", got)
	}

	rings(davePhone, "101", alicePhone, desk) // nobody has switched it on
	if _, got := davePhone.dial("*371"); got < 400 {
		t.Errorf("who is not in the filter switches it: %d", got)
	}
	does("")
	switches(bobPhone, "*371", "filter-1", bob, "1")
	bobPhone.shows("*371", "confirmed")
	switches(alicePhone, "*372", "filter-2", carol, "1") // the boss may, too
	rings(davePhone, "101", carolPhone, alicePhone, desk, bobPhone)
	rings(bobPhone, "101", alicePhone, desk) // secretaries reach the boss
	for strategy, rung := range map[string][]*phone{
		"all-recipients-then-linear-surrogates": {carolPhone, alicePhone, desk, bobPhone}, "all-recipients-then-all-surrogates": {bobPhone, alicePhone, desk, carolPhone},
		"all-surrogates-then-all-recipients": {alicePhone, desk, bobPhone, carolPhone}, "linear-surrogates-then-all-recipients": {desk, alicePhone, bobPhone, carolPhone},
	} {
		set(func() { filter.Strategy = strategy })
		rings(davePhone, "101", rung...)
	}
	set(func() { filter.Fallbacks.NoAnswer = to(t, `{"type": "user", "user_id": 3}`) })
	switches(carolPhone, "*372", "filter-2", carol, "0")
	does("bob=busy alice=busy alice-desk=busy")
	if _, got := davePhone.dial("101"); got != 200 || carolPhone.count("answers") != 1 {
		t.Errorf("the fallback of the filter: %d, Carol %q\n%s", got, carolPhone.log(), a.log()[a.read:])
	}
	set(func() { filter.Source = "external" })
	does("")
	rings(davePhone, "101", alicePhone, desk)
	a.clean("the filters")

	// A call waits, is seen, is taken once, in the order in which calls came, and only by members; who waits too long goes on.
	does("")
	if got := bobPhone.subscribe("*381"); got != 200 {
		t.Fatalf("the lamp of the switchboard: %d", got)
	}
	first, got := alicePhone.dial("500")
	second, other := davePhone.dial("500")
	if got != 200 || other != 200 {
		t.Fatalf("they wait: %d, %d\n%s", got, other, a.log()[a.read:])
	}
	bobPhone.shows("*381", "confirmed")
	waiting := func(want string) {
		t.Helper()
		var said string
		wait(t, "the state of the switchboards is "+want, func() bool {
			is, err := a.service.Live(t.Context())
			said = fmt.Sprint(err)
			for _, s := range is.Switchboards.Items {
				said += fmt.Sprint(" ", s.UUID, " ", s.Waiting)
			}
			return said == want
		}, func() string { return said })
	}
	waiting("<nil> " + reception + " 2")
	if _, got := desk.dial("*381"); got < 400 {
		t.Errorf("who is no member takes a call: %d", got)
	}
	takes := func(who *phone) *call {
		t.Helper()
		c, got := who.dial("*381")
		if got != 200 {
			t.Fatalf("%s takes a call: %d", who.name, got)
		}
		return c
	}
	taken := takes(bobPhone)
	a.said("basic-bridge")
	taken.hangUp()
	first.ended()
	taken = takes(carolPhone)
	bobPhone.shows("*381", "terminated")
	waiting("<nil>")
	talks := regexp.MustCompile(`PJSIP/dave-\w+ joined 'simple_bridge'`)
	wait(t, "Carol and Dave talk", func() bool { return talks.MatchString(a.log()[a.read:]) }, nil)
	second.hangUp()
	taken.ended()
	if _, got := carolPhone.dial("*381"); got < 400 {
		t.Errorf("nobody waits, and Carol gets %d", got)
	}
	does("")
	waits, _ := alicePhone.dial("501")
	davePhone.saw("answers")
	waits.hangUp()
	does("")
	gone, _ := alicePhone.dial("500")
	bobPhone.shows("*381", "confirmed")
	gone.hangUp()
	bobPhone.shows("*381", "terminated")
	does("")
	a.clean("the switchboard")

	// Dave answers what rings at Alice's, and nobody else does so by the short code.
	set(func() { filter.Enabled = false })
	does("alice=ring alice-desk=ring")
	done := make(chan int)
	go func() { _, got := bobPhone.dial("101"); done <- got }()
	alicePhone.saw("rings")
	if _, got := carolPhone.dial("*8"); got < 400 {
		t.Errorf("Carol picks up: %d", got)
	}
	if _, got := davePhone.dial("*8"); got != 200 || <-done != 200 {
		t.Errorf("Dave picks up: %d\n%s", got, a.log()[a.read:])
	}
	does("")
}

// Who telephones in another tenant reaches nothing of this one by any number or code, while calls ring, wait and are parked there: no telephone rings,
// nothing that Asterisk keeps changes, and all calls go on.
func TestRealStranger(t *testing.T) {
	s := office(t)
	for _, u := range s.Users {
		seconds(u, 300)
	}
	addCalls(t, s)
	addTeams(t, s)
	s.UserSchedule, s.GroupSchedule, s.IncallSchedule, s.UserVoicemail = nil, nil, nil, map[confdsvc.ID]confdsvc.ID{4: 2}
	s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: 90, TenantUUID: acme, Exten: "500", Context: inside, Enabled: true})
	s.IncallExtensions[1] = []confdsvc.ID{90} // to the switchboard
	s.Incalls[0].Destination = *to(t, `{"type": "switchboard", "switchboard_uuid": "`+reception+`", "ring_time": 300}`)
	for feature, exten := range map[string]string{"agentstaticlogin": "_*31.", "agentstaticlogoff": "_*32.", "agentstaticlogtoggle": "_*30.", "agentpause": "_*33."} {
		s.Features = append(s.Features, &confdsvc.ExtensionFeature{Feature: feature, Exten: exten, Context: "xivo-features", Enabled: true})
	}
	queueOf(t, s, 1, acme, "301", queueOptions, 1).Members.Users = []confdsvc.QueueUser{{UserRef: confdsvc.UserRef{ID: 3}}}
	own := read[confdsvc.FuncKeyTemplate](t, `{"id": 9, "tenant_uuid": "`+acme+`", "keys": {"1": {"blf": true, "destination": {"type": "service", "service": "enablednd"}}}}`)
	own.UserID = new(confdsvc.ID(2))
	s.Keys = append(s.Keys, own)
	stranger(t, s)
	s.Extensions[len(s.Extensions)-1].Exten = "102" // as Bob's
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")
	alicePhone, bobPhone, carolPhone, davePhone, theirPhone := a.phone(t, "alice"), a.phone(t, "bob"), a.phone(t, "carol"), a.phone(t, "dave"), a.phone(t, "stranger")
	ours := []*phone{alicePhone, bobPhone, carolPhone, davePhone}
	bobPhone.when("ring")
	done := make(chan int)
	go func() { _, got := alicePhone.dial("102"); done <- got }()
	bobPhone.saw("rings")
	alicePhone.saw("hears 180")
	if _, got := davePhone.dial("500"); got != 200 {
		t.Fatalf("a call does not wait: %d", got)
	}
	wait(t, "it waits", func() bool { return strings.Contains(a.cli("database show ringfence-waiting"), reception) }, nil)
	kept := func() string {
		return a.cli("database show ringfence") + a.cli("database show ringfence-waiting") + a.cli("database show ringfence-agents")
	}
	before := kept()
	for _, p := range ours {
		p.log()
	}
	for number := range strings.FieldsSeq(`101 200 301 400 500 700 701 5550101 *8 *8101 *371 *381 *116 *309001 *319001 *329001 *3312 *501 *511 *521 *7352***25 *96104 *97104 1u2 ` + bob + " " + reception) {
		if c, got := theirPhone.dial(number); got == 200 {
			c.hangUp()
		}
		wait(t, "the call to "+number+" is over", func() bool { return strings.Contains(a.cli("core show channels count"), "3 active channels") }, func() string { return a.cli("core show channels") })
	}
	if after := kept(); after != before {
		t.Errorf("kept is\n%s\nand was\n%s", after, before)
	}
	for _, p := range ours {
		if said := p.log(); len(said) > 0 {
			t.Errorf("%s: %q", p.name, said)
		}
	}
	if found, _ := filepath.Glob(a.dir + "/spool/voicemail/" + inside + "/*/INBOX/*"); len(found) > 0 {
		t.Errorf("messages are left: %q", found)
	}
	bobPhone.pickUp()
	if got := <-done; got != 200 {
		t.Errorf("the call that rang ends with %d", got)
	}
	a.rest("a stranger", "answer", append(ours, theirPhone))
}
