package asterisk_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/confdsvc"
)

// What callers choose in a menu, when it is open, and where they wait, talk and hear, at real telephones.
func TestRealMenus(t *testing.T) {
	s := office(t)
	for _, u := range s.Users {
		seconds(u, 30)
		u.CallTransferEnabled = new(true)
	}
	addCalls(t, s)
	s.UserSchedule, s.GroupSchedule, s.IncallSchedule = nil, nil, nil
	s.Includes = map[confdsvc.ID][]confdsvc.ID{1: {2}}
	s.Menus[0].Choices.V = append(s.Menus[0].Choices.V, confdsvc.IVRChoice{Exten: "5", Destination: *to(t, `{"type": "group", "group_id": 1}`)})
	s.GroupUsers[sales] = []confdsvc.ID{3}
	schedules(t, s)
	s.Menus = append(s.Menus, read[confdsvc.IVR](t, `{"id": 3, "tenant_uuid": "`+acme+`", "name": "Round", "menu_sound": "beep", "timeout": 1, "max_tries": 1,
		"timeout_destination": {"type": "ivr", "ivr_id": 3}}`))
	outside(t, s, 18, "5550118", `{"type": "ivr", "ivr_id": 3}`)
	stranger(t, s)
	theirLot := *s.ParkingLots[0] // with the same slots
	theirLot.ID, theirLot.TenantUUID = 2, other
	s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: 970, TenantUUID: other, Exten: "700", Context: theirs, Enabled: true})
	s.ParkingLots, s.ParkingExtensions[2] = append(s.ParkingLots, &theirLot), []confdsvc.ID{970}
	a := startReal(t, s)
	// Calls whose clock is set to 3:00 UTC, a day before and a day after summer time begins in Paris.
	clocks := "[test-clock]\n"
	for exten, at := range map[string]time.Time{"winter": time.Date(2026, 3, 28, 3, 0, 0, 0, time.UTC), "summer": time.Date(2026, 3, 30, 3, 0, 0, 0, time.UTC)} {
		clocks += fmt.Sprintf("exten => %s,1,Set(__TESTTIME=%d.0)\nsame => n,Goto(%s,5550116,1)\n", exten, at.Unix(), public)
	}
	a.spoilFile("extensions.conf", clocks)
	a.apply()
	a.clean("the first apply")
	alice, desk, bobPhone, carolPhone, davePhone := a.phone(t, "alice"), a.phone(t, "alice-desk"), a.phone(t, "bob"), a.phone(t, "carol"), a.phone(t, "dave")
	all := []*phone{alice, desk, bobPhone, carolPhone, davePhone}
	rest := func(when string) { t.Helper(); a.rest(when, "answer", all) }
	heard := func(what string) {
		t.Helper()
		wait(t, what, func() bool { return strings.Contains(a.log()[a.read:], what) }, func() string { return a.log()[a.read:] })
	}
	dial := func(p *phone, number string) *call {
		t.Helper()
		c, got := p.dial(number)
		if got != 200 {
			t.Fatalf("%s dials %s: %d\n%s", p.name, number, got, a.news())
		}
		return c
	}

	c := dial(davePhone, "5550101")
	heard("Playing 'vm-options")
	c.press("1")
	alice.saw("answers")
	rest("a choice")
	c = dial(davePhone, "5550101")
	heard("Playing 'vm-options")
	c.press("7")
	heard("Playing 'pbx-invalid")
	bobPhone.saw("answers") // after the second try, in which nothing is chosen
	rest("no choice")
	c = dial(davePhone, "5550101")
	for range 7 { // more often than a call is sent on, to the second menu and back
		heard("Playing 'vm-options")
		a.news()
		c.press("2")
		heard("WaitExten")
		a.news()
		c.press("*")
	}
	heard("Playing 'vm-options")
	c.press("5")
	carolPhone.saw("answers")
	rest("from menu to menu")

	for number, open := range map[string]bool{"5550110": true, "5550111": false, "5550112": true, "5550113": false, "5550114": false, "5550115": true} {
		dial(davePhone, number)
		if open {
			alice.saw("answers")
		} else {
			bobPhone.saw("answers")
		}
		rest(number)
	}
	for exten, p := range map[string]*phone{"winter": alice, "summer": bobPhone} {
		a.cli("channel originate Local/" + exten + "@test-clock application Wait 60")
		p.saw("answers")
		rest(exten)
	}
	if _, got := davePhone.dial("5550117"); got == 200 { // it sends callers to itself, for ever
		t.Error("a schedule that leads to itself answers")
	}
	rest("a circle")
	dial(davePhone, "5550118").ended() // a menu that asks again, for ever, and nobody chooses
	rest("a circle of menus")

	dial(davePhone, "400")
	dial(alice, "400")
	wait(t, "two talk", func() bool { return strings.Contains(a.cli("confbridge list"), "2 ") }, func() string { return a.cli("confbridge list") })
	rest("a conference")
	pin := func(p *phone, digits string) *call {
		t.Helper()
		a.news()
		c := dial(p, "401")
		heard("conf-getpin")
		c.press(digits + "#")
		return c
	}
	pin(davePhone, "12")
	wait(t, "Dave is in", func() bool { return strings.Contains(a.cli("confbridge list ringfence-2"), "dave") }, func() string { return a.cli("confbridge list ringfence-2") })
	wrong := pin(carolPhone, "99")
	for range 2 {
		heard("conf-invalidpin")
		a.news()
		heard("conf-getpin")
		wrong.press("98#")
	}
	wrong.ended()
	leads := pin(alice, "34")
	wait(t, "Alice leads", func() bool {
		for line := range strings.Lines(a.cli("confbridge list ringfence-2")) {
			if fields := strings.Fields(line); strings.Contains(line, "alice") && len(fields) > 1 && strings.Contains(fields[1], "A") {
				return true
			}
		}
		return false
	}, func() string { return a.cli("confbridge list ringfence-2") })
	pin(bobPhone, "12").ended() // it is full
	leads.press("2")
	heard("conf-lockednow")
	davePhone.current().press("2") // who does not lead has no such key
	davePhone.current().press("1")
	heard("conf-muted")
	if got := a.cli("confbridge list"); !strings.Contains(got, "Yes") {
		t.Errorf("the conference is locked no longer: %s", got)
	}
	rest("a conference with a PIN")

	s.Users[0].RingSeconds = new(int64(29)) // the dialplan is reloaded, and the lots are not
	a.set(s)
	a.apply()
	strangerPhone := a.phone(t, "stranger")
	davePhone.subscribe("701")
	dial(davePhone, "102")
	bobPhone.saw("answers")
	bobPhone.current().press("*1")
	heard("pbx-transfer")
	bobPhone.current().press("700")
	wait(t, "Dave waits", func() bool { return strings.Contains(a.cli("parking show ringfence-parking-1"), "701") }, func() string { return a.cli("parking show") })
	davePhone.shows("701", "confirmed")
	if c, got := strangerPhone.dial("701"); got == 200 {
		c.hangUp()
	}
	if lot := a.cli("parking show ringfence-parking-1"); !strings.Contains(lot, "701") {
		t.Errorf("another tenant has taken the call: %s", lot)
	}
	dial(carolPhone, "701")
	wait(t, "Carol has taken it", func() bool { return strings.Contains(a.cli("core show channels count"), "2 active channels") }, func() string { return a.cli("core show channels") })
	rest("a parked call")

	alice.when("busy") // she is a member, and speaks
	desk.when("busy")
	dial(alice, "*116")
	bobPhone.saw("answers itself")
	rest("a paging")
	if _, got := davePhone.dial("*116"); got == 200 {
		t.Error("somebody else may page")
	}
	rest("no paging")
}

// schedules gives the company numbers that lead to Alice while it is open, and to Bob when it is not.
func schedules(t *testing.T, s *confdsvc.Snapshot) {
	t.Helper()
	// At any moment it is another day of the week there than here.
	const far, near = "Pacific/Kiritimati", "Etc/GMT+12"
	zone, err := time.LoadLocation(far)
	if err != nil {
		t.Fatal(err)
	}
	today := int64(time.Now().In(zone).Weekday()+6)%7 + 1
	on := func(destination string) string {
		return fmt.Sprintf(`{"hours_start": "00:00", "hours_end": "23:59", "week_days": [%d, %d], "month_days": [], "months": []%s}`, today, today%7+1, destination)
	}
	for i, one := range []string{
		`"timezone": "` + far + `", "open_periods": [` + on("") + `]`,
		`"timezone": "` + near + `", "open_periods": [` + on("") + `]`,
		`"enabled": false, "open_periods": []`,
		`"open_periods": []`,
		`"timezone": "` + far + `", "open_periods": [` + on("") + `], "exceptional_periods": [` + on(`, "destination": {"type": "user", "user_id": 2}`) + `]`,
		`"timezone": "` + near + `", "open_periods": [{"hours_start": "00:00", "hours_end": "23:59", "week_days": [], "month_days": [], "months": []}],
			"exceptional_periods": [` + on(`, "destination": {"type": "user", "user_id": 2}`) + `]`,
		`"timezone": "Europe/Paris", "open_periods": [{"hours_start": "03:30", "hours_end": "04:30", "week_days": [], "month_days": [], "months": []}]`,
		`"open_periods": [], "closed_destination": {"type": "extension", "exten": "5550117", "context": "` + public + `"}`,
	} {
		id := confdsvc.ID(10 + i)
		schedule := read[confdsvc.Schedule](t, fmt.Sprintf(`{"id": %d, "tenant_uuid": "%s", "enabled": true, "closed_destination": {"type": "user", "user_id": 2}, %s}`, id, acme, one))
		s.Schedules = append(s.Schedules, schedule)
		outside(t, s, id, fmt.Sprintf("55501%d", id), `{"type": "user", "user_id": 1}`)
		if s.IncallSchedule == nil {
			s.IncallSchedule = map[confdsvc.ID]confdsvc.ID{}
		}
		s.IncallSchedule[id] = id
	}
}

// A user, a group and a queue take calls while their schedule is open, and lead to its destination while it is closed.
func TestRealSchedules(t *testing.T) {
	s := office(t)
	for _, u := range s.Users {
		seconds(u, 30)
	}
	hours := read[confdsvc.Schedule](t, `{"id": 1, "tenant_uuid": "`+acme+`", "enabled": true, "open_periods": [], "closed_destination": {"type": "user", "user_id": 4}}`)
	open := read[confdsvc.Schedule](t, `{"open_periods": [{"hours_start": "00:00", "hours_end": "23:59", "week_days": [], "month_days": [], "months": []}]}`).OpenPeriods
	s.Schedules = []*confdsvc.Schedule{hours}
	q := queueOf(t, s, 1, acme, "301", queueOptions)
	q.Members.Users = []confdsvc.QueueUser{{UserRef: confdsvc.UserRef{ID: 2}}}
	q.Schedules, s.UserSchedule, s.GroupSchedule = []confdsvc.ScheduleRef{{ID: 1}}, map[confdsvc.ID]confdsvc.ID{2: 1}, map[string]confdsvc.ID{sales: 1}
	s.GroupUsers[sales] = []confdsvc.ID{2}
	a := startReal(t, s)
	a.apply()
	a.clean("the first apply")
	alice, bobPhone, davePhone := a.phone(t, "alice"), a.phone(t, "bob"), a.phone(t, "dave")
	all := []*phone{alice, bobPhone, davePhone}
	reach := func(when string, who, not *phone) {
		t.Helper()
		for number := range strings.FieldsSeq("102 200 301") {
			if _, got := alice.dial(number); got != 200 {
				t.Errorf("%s, %s: %d", when, number, got)
			}
			who.saw("answers")
			if n := not.count("rings"); n > 0 {
				t.Errorf("%s, %s: %s rings", when, number, not.name)
			}
			a.rest(when+", "+number, "answer", all)
		}
	}
	reach("closed", davePhone, bobPhone)
	hours.OpenPeriods = open
	a.set(s)
	a.apply()
	reach("open", bobPhone, davePhone)
}
