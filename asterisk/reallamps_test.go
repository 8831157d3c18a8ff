package asterisk_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/confdsvc"
)

// Codes and the API agree, and so do lamps, whoever has changed something.
func TestRealLamps(t *testing.T) {
	s := office(t)
	s.Keys = []*confdsvc.FuncKeyTemplate{read[confdsvc.FuncKeyTemplate](t, `{"id": 1, "tenant_uuid": "`+acme+`", "keys": {
		"1": {"blf": true, "destination": {"type": "service", "service": "enablednd"}},
		"2": {"blf": true, "destination": {"type": "forward", "forward": "unconditional", "exten": "103"}},
		"3": {"blf": true, "destination": {"type": "forward", "forward": "busy", "exten": "104"}},
		"4": {"blf": true, "destination": {"type": "forward", "forward": "noanswer", "exten": null}},
		"5": {"blf": true, "destination": {"type": "groupmember", "group_id": 1, "action": "toggle"}},
		"6": {"blf": true, "destination": {"type": "service", "service": "incallfilter"}},
		"7": {"blf": true, "destination": {"type": "service", "service": "callrecord"}},
		"8": {"blf": true, "destination": {"type": "custom", "exten": "777"}}}}`)}
	s.Users[1].FuncKeyTemplateID = new(confdsvc.ID(1))
	stranger(t, s)
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")
	alicePhone, bobPhone, carolPhone, strange := a.phone(t, "alice"), a.phone(t, "bob"), a.phone(t, "carol"), a.phone(t, "stranger")
	const prefix = "*7352"
	keys := map[string]string{
		"dnd": prefix + "***25", "unconditional": prefix + "***21103", "busy": prefix + "***23104", "noanswer": prefix + "***22",
		"left-1": prefix + "***501", "incallfilter": prefix + "***27", "callrecord": prefix + "***26",
	}
	watched := []string{"102", "777"}
	for _, key := range keys {
		watched = append(watched, key)
	}
	for _, number := range watched {
		if got := carolPhone.subscribe(number); got != 200 {
			t.Fatalf("%s: %d", number, got)
		}
		carolPhone.shows(number, "terminated")
		if got := strange.subscribe(number); got != 404 {
			t.Errorf("a telephone of another tenant watches %s: %d", number, got)
		}
	}
	// agree waits until both sides have a value, and says how long it took.
	agree := func(name, value string) {
		t.Helper()
		start := time.Now()
		off := value == "" || value == "0"
		wait(t, name+" is "+value, func() bool {
			ours, theirs := a.kept(name), a.inDB(bob, name)
			same := func(got string) bool { return got == value || off && (got == "" || got == "0") }
			return (same(ours) || strings.HasPrefix(name, "left-")) && same(theirs)
		}, func() string { return a.kept(name) + " and " + a.inDB(bob, name) })
		carolPhone.shows(keys[name], map[bool]string{true: "terminated", false: "confirmed"}[off])
		t.Logf("%s is %q after %s", name, value, time.Since(start).Round(time.Millisecond))
	}
	dial := func(number string) {
		t.Helper()
		c, got := bobPhone.dial(number)
		if got != 200 {
			t.Fatalf("%s: %d\n%s", number, got, a.news())
		}
		c.ended()
	}
	for _, test := range []struct{ name, code, on, off string }{
		{"dnd", "*25", "1", "*25"},
		{"dnd", keys["dnd"], "1", keys["dnd"]},
		{"unconditional", "*21103", "103", "*21103"},
		{"unconditional", keys["unconditional"], "103", "*20"},
		{"busy", "*23104", "104", "*23104"},
		{"busy", keys["busy"], "104", keys["busy"]},
		{"noanswer", "*22103", "103", keys["noanswer"]},
		{"incallfilter", "*27", "1", keys["incallfilter"]},
		{"callrecord", keys["callrecord"], "1", "*26"},
		{"left-1", "*521", "1", "*511"},
		{"left-1", keys["left-1"], "1", "*501"},
	} {
		dial(test.code)
		agree(test.name, test.on)
		if strings.HasPrefix(test.name, "left-") { // confd has it not
			dial(test.off)
			agree(test.name, "0")
			continue
		}
		a.store(bob, test.name, "0")
		agree(test.name, "0")
		a.store(bob, test.name, test.on)
		agree(test.name, test.on)
		dial(test.off)
		agree(test.name, "0")
	}
	// Who telephones.
	c, got := alicePhone.dial("102")
	if got != 200 {
		t.Fatal(got)
	}
	carolPhone.shows("102", "confirmed")
	c.hangUp()
	carolPhone.shows("102", "terminated")
	bobPhone.hangUpAll()
	bobPhone.when("ring")
	done := make(chan int)
	go func() {
		_, got := alicePhone.dial("102")
		done <- got
	}()
	carolPhone.shows("102", "early")
	bobPhone.pickUp()
	<-done
	carolPhone.shows("102", "confirmed")
	alicePhone.hangUpAll()
	carolPhone.shows("102", "terminated")
	// What another program switches.
	a.cli("devstate change Custom:ringfence-key-" + acme + "-777 INUSE")
	carolPhone.shows("777", "confirmed")
	a.idle()
	// An apply in between leaves the lamps as they are.
	dial("*25")
	agree("dnd", "1")
	s.Users[1].CallerID = new("Robert")
	s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: 999, TenantUUID: acme, Exten: "199", Context: inside, Enabled: true})
	s.LineExtensions[4] = append(s.LineExtensions[4], 999)
	a.set(s)
	a.apply()
	if got := carolPhone.lamp(keys["dnd"]); got != "confirmed" {
		t.Errorf("after an apply the lamp is %s", got)
	}
	dial("*25")
	agree("dnd", "0")
}

// Who watches a number goes on watching it when its telephone changes, and nobody watches that of a user who is gone.
func TestRealWatchers(t *testing.T) {
	s := office(t)
	a := startReal(t, s)
	a.apply()
	carolPhone := a.phone(t, "carol")
	for _, number := range []string{"102", "104"} {
		if got := carolPhone.subscribe(number); got != 200 {
			t.Fatalf("%s: %d", number, got)
		}
	}
	if got := carolPhone.subscribe("105"); got != 404 {
		t.Errorf("a number of nobody: %d", got)
	}
	a.clean("the first apply")
	for _, name := range []string{"bob-new", "bob-newest"} {
		s.Endpoints[2].Name, s.Endpoints[2].Auth.V = name, [][]string{{"username", name}, {"password", "secret-" + name}}
		a.set(s)
		a.apply()
		bobPhone := a.phone(t, name)
		carolPhone.shows("102", "terminated")
		if _, got := carolPhone.dial("102"); got != 200 || bobPhone.count("answers") != 1 {
			t.Errorf("%s: status %d", name, got)
		}
		carolPhone.shows("102", "confirmed")
		carolPhone.hangUpAll()
		carolPhone.shows("102", "terminated")
		a.idle()
	}
	// Asterisk was told of a number more, and has it as if it had read it.
	s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: 999, TenantUUID: acme, Exten: "109", Context: inside, Enabled: true})
	s.LineExtensions[4] = append(s.LineExtensions[4], 999)
	a.set(s)
	a.apply()
	if strings.Contains(a.log()[a.read:], "Time to delete the old dialplan") {
		t.Error("it has read all of the dialplan")
	}
	davePhone := a.phone(t, "dave")
	if _, got := davePhone.dial("109"); got != 200 || carolPhone.count("answers") != 1 {
		t.Errorf("the number more: status %d", got)
	}
	if got := davePhone.subscribe("109"); got != 200 {
		t.Errorf("its lamp: %d", got)
	}
	davePhone.shows("109", "confirmed")
	davePhone.hangUpAll()
	davePhone.shows("109", "terminated")
	a.idle()
	s.Users = slices.Delete(s.Users, 3, 4)
	delete(s.LineUsers, 5)
	delete(s.UserLines, 4)
	s.Lines = slices.Delete(s.Lines, 4, 5)
	a.set(s)
	a.apply()
	if got := carolPhone.subscribe("104"); got != 404 {
		t.Errorf("who is gone: %d", got)
	}
	if got := carolPhone.subscribe("102"); got != 200 {
		t.Errorf("who is still there: %d", got)
	}
	a.news()
}

// stranger adds a telephone of another tenant.
func stranger(t *testing.T, s *confdsvc.Snapshot) {
	t.Helper()
	s.Users = append(s.Users, &confdsvc.User{ID: 9, UUID: "00000009-0000-4000-8000-000000000009", TenantUUID: other, Firstname: "Stranger"})
	s.Lines = append(s.Lines, &confdsvc.Line{ID: 9, TenantUUID: other, Context: theirs})
	s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: 900, TenantUUID: other, Exten: "901", Context: theirs, Enabled: true})
	s.Endpoints = append(s.Endpoints, read[confdsvc.EndpointSIP](t, `{"uuid": "stranger", "tenant_uuid": "`+other+`", "name": "stranger",
		"auth_section_options": [["username", "stranger"], ["password", "secret-stranger"]], "endpoint_section_options": [["allow", "!all,ulaw"]]}`))
	s.UserLines[9], s.LineUsers[9], s.LineExtensions[9], s.LineSIP[9] = []confdsvc.ID{9}, []confdsvc.ID{9}, []confdsvc.ID{900}, "stranger"
}
