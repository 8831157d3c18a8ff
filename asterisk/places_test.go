package asterisk_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
)

// Asterisk rings for ever with 0 seconds, and a queue without a limit: nothing does.
func TestRingTimes(t *testing.T) {
	for typed, want := range map[string]string{"0.5": "=1)", "12.5": "=13)", "1e9": "=10800)", "0": "", "-1": ""} {
		s := company(t)
		s.Users[0].Fallbacks.Busy = to(t, `{"type": "user", "user_id": 2, "ring_time": `+typed+`}`)
		text := grepped(string(withoutLibrary(t, generate(t, s)["extensions.conf"])), alice+"-busy,1,Set(RINGFENCE_SECONDS")
		if want == "" && text != "" || !strings.Contains(text, want) {
			t.Errorf("%s: %s", typed, text)
		}
	}
	for _, tt := range []struct {
		typed       *int64
		user, group string
	}{
		{nil, "30", "10800"},
		{new(int64(0)), "10800", "10800"},
		{new(int64(1)), "1", "1"},
		{new(int64(10800)), "10800", "10800"},
		{new(int64(1 << 31)), "10800", "10800"},
	} {
		for _, strategy := range []string{"all", "linear"} {
			s := company(t)
			s.Users[0].RingSeconds, s.Groups[0].Timeout, s.Groups[0].Strategy = tt.typed, tt.typed, strategy
			s.Groups[0].UserTimeout, s.Groups[0].RetryDelay = new(int64(1<<31)), new(int64(1<<31))
			text := string(withoutLibrary(t, generate(t, s)["extensions.conf"]))
			for _, part := range []string{
				"ringfence-user,s,1(" + alice + ",2," + tt.user + ",", `Set(RINGFENCE_LIMIT=${IF($["${RINGFENCE_SECONDS}" = ""]?` + tt.group + ":${RINGFENCE_SECONDS})})",
			} {
				if !strings.Contains(text, part) {
					t.Errorf("%s is missing in\n%s", part, text)
				}
			}
			for line := range strings.Lines(text) {
				long := strings.Contains(line, "2147483648") && !strings.Contains(line, "${RINGFENCE_LEFT} < 2147483648]?${RINGFENCE_LEFT}:")
				if long || strings.Contains(line, "Queue(") && !strings.Contains(line, ",${RINGFENCE_LIMIT})") {
					t.Errorf("%s: %s", strategy, line)
				}
			}
		}
	}
}

// A call takes a place of who is called on their own channels: a caller who is transferred takes none with them.
func TestPlacesAreThoseOfTheCalled(t *testing.T) {
	sections := checkFiles(t, generate(t, company(t)))["extensions.conf"].Sections
	taken := []string{}
	for _, section := range sections {
		for _, v := range section.Values {
			if strings.Contains(v.Text, "Set(GROUP(ringfence)=") {
				taken = append(taken, section.Name)
			}
			if section.Name == "ringfence-user" && strings.Contains(v.Text, "Dial(") && !strings.Contains(v.Text, "b(ringfence-place^s^1(${ARG1}-${place}))") {
				t.Errorf("a call takes no place: %s", v.Text)
			}
		}
	}
	if !slices.Equal(taken, []string{"ringfence-place"}) {
		t.Errorf("places are taken in %q", taken)
	}
}

// A call is picked up by every number of who is called, and by none of another tenant.
func TestPickupsByEveryNumber(t *testing.T) {
	s := company(t)
	add := func(id confdsvc.ID, exten, in, tenant string, line confdsvc.ID) {
		s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: id, TenantUUID: tenant, Exten: exten, Context: in, Enabled: true})
		s.LineExtensions[line] = append(s.LineExtensions[line], id)
	}
	more := &confdsvc.Context{ID: 4, TenantUUID: acme, Name: "ctx-acme-internal-2", Type: "internal", Enabled: true}
	s.Contexts = append(s.Contexts, more, &confdsvc.Context{ID: 5, TenantUUID: acme, Name: "off", Type: "internal"})
	s.Includes = map[confdsvc.ID][]confdsvc.ID{1: {4, 3, 1, 5}}
	add(11, "111", inside, acme, 1)
	add(12, "112", inside, acme, 2)
	add(13, "_12X", inside, acme, 2)
	add(14, "201", more.Name, acme, 3)
	add(15, "301", theirs, other, 3)
	add(16, "302", theirs, acme, 3)
	s.Users = append(s.Users, &confdsvc.User{ID: 3, UUID: "00000003-0000-4000-8000-000000000003", TenantUUID: acme, Firstname: "Patterns"})
	s.Lines = append(s.Lines, &confdsvc.Line{ID: 9, TenantUUID: acme, Context: inside})
	s.UserLines[3], s.LineUsers[9], s.LineSIP[9] = []confdsvc.ID{9}, []confdsvc.ID{3}, "e9"
	e := *s.Endpoints[0]
	e.UUID, e.Name = "e9", "patterns"
	s.Endpoints = append(s.Endpoints, &e)
	add(17, "_13X", inside, acme, 9)
	files := checkFiles(t, generate(t, s))
	const alices, bobs, patterns = "101%" + inside, "102%" + inside, "00000003-0000-4000-8000-000000000003"
	found := map[string]string{}
	for _, name := range []string{"1", "2", "3", "4", "5"} {
		if section := files["extensions.conf"].Section("ringfence-pickups-" + name); section != nil {
			for _, v := range section.Values {
				found[name] += " " + v.Name + " " + v.Text
			}
		}
	}
	want := map[string]string{
		"1": " exten _13X,1,Return(" + patterns + ") exten _12X,1,Return(" + alices + ") exten 112,1,Return(" + alices + ") exten 111,1,Return(" + alices + ") exten 102,1,Return(" + bobs +
			") exten 101,1,Return(" + alices + ") include ringfence-pickups-4",
		"4": " exten 201,1,Return(" + bobs + ")",
	}
	if !maps.Equal(found, want) {
		t.Errorf("got %q, want %q", found, want)
	}
	for name, mark := range map[string]string{"alice": alices, "alice-web": alices, "bob": bobs, "patterns": patterns} {
		section := files["pjsip.conf"].Section(name)
		if set := section.All("set_var"); !slices.Contains(set, "PICKUPMARK="+mark) || !slices.Contains(set, "RINGFENCE_PICKUPS=ringfence-pickups-1") {
			t.Errorf("%s: %q", name, set)
		}
	}
}
