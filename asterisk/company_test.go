package asterisk_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
)

// The tenants and the context of a small company.
const (
	acme      = "aaaaaaaa-0000-4000-8000-000000000000"
	other     = "bbbbbbbb-0000-4000-8000-000000000000"
	inside    = "ctx-acme-internal-1"
	public    = "ctx-acme-incall-1"
	theirs    = "ctx-other-internal-1"
	alice     = "00000001-0000-4000-8000-000000000001"
	bob       = "00000002-0000-4000-8000-000000000002"
	reception = "dddddddd-0000-4000-8000-000000000001"
	sales     = "cccccccc-0000-4000-8000-000000000001"
)

// read makes an object of its JSON, as a client would read it, and then changes it.
func read[T any](tb testing.TB, text string, edits ...func(o *T)) *T {
	tb.Helper()
	o := new(T)
	if err := json.Unmarshal([]byte(text), o); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	for _, edit := range edits {
		edit(o)
	}
	return o
}

func to(tb testing.TB, text string) *confdsvc.Destination {
	tb.Helper()
	return read[confdsvc.Destination](tb, text)
}

// company is a company in which Alice has two telephones, and Bob one, with a group, an incoming number and mailboxes.
func company(tb testing.TB) *confdsvc.Snapshot {
	tb.Helper()
	line := func(id confdsvc.ID) *confdsvc.Line {
		return &confdsvc.Line{ID: id, TenantUUID: acme, Context: inside}
	}
	extension := func(id confdsvc.ID, exten, in string) *confdsvc.Extension {
		return &confdsvc.Extension{ID: id, TenantUUID: acme, Exten: exten, Context: in, Enabled: true}
	}
	endpoint := func(uuid, name, options string) *confdsvc.EndpointSIP {
		return read(tb, `{"uuid": "`+uuid+`", "tenant_uuid": "`+acme+`", "name": "`+name+`", "transport": {"uuid": "t", "name": "transport-udp"},
			"aor_section_options": [["max_contacts", "1"], ["qualify_frequency", "60"]],
			"auth_section_options": [["username", "`+name+`"], ["password", "secret-`+name+`"]],
			"endpoint_section_options": [["allow", "!all,ulaw"], `+options+`]}`, func(*confdsvc.EndpointSIP) {})
	}
	feature := func(name, exten string, enabled bool) *confdsvc.ExtensionFeature {
		return &confdsvc.ExtensionFeature{Feature: name, Exten: exten, Context: "xivo-features", Enabled: enabled}
	}
	return &confdsvc.Snapshot{
		Slugs: map[string]string{acme: "acme", other: "other"},
		Contexts: []*confdsvc.Context{
			{ID: 1, TenantUUID: acme, Name: inside, Label: "Inside", Type: "internal", Enabled: true},
			{ID: 2, TenantUUID: acme, Name: public, Label: "From outside", Type: "incall", Enabled: true},
			{ID: 3, TenantUUID: other, Name: theirs, Label: "Theirs", Type: "internal", Enabled: true},
		},
		Users: []*confdsvc.User{
			{ID: 1, UUID: alice, TenantUUID: acme, Firstname: "Alice", CallerID: new(`"Alice Martin"`), RingSeconds: new(int64(20)), SimultaneousCalls: new(int64(2)), CallTransferEnabled: new(true)},
			{ID: 2, UUID: bob, TenantUUID: acme, Firstname: "Bob", CallerID: new(`"Bob"`)},
		},
		Lines:      []*confdsvc.Line{line(1), line(2), line(3)},
		Extensions: []*confdsvc.Extension{extension(1, "101", inside), extension(2, "102", inside), extension(3, "200", inside), extension(4, "5550100", public)},
		Features: []*confdsvc.ExtensionFeature{
			feature("enablednd", "*25", true), feature("fwdunc", "_*21.", true), feature("fwdundoall", "*20", true), feature("vmusermsg", "*98", true),
			feature("pickup", "_*8.", true), feature("phoneprogfunckey", "_*735.", true), feature("vmboxslt", "_*97.", false),
		},
		Voicemails: []*confdsvc.Voicemail{
			{ID: 1, TenantUUID: acme, Name: "Alice Martin", Number: "101", Context: inside, Password: new("1234"), Email: new("alice@example.org"), Timezone: new("eu-fr"), Enabled: true, AskPassword: true},
		},
		Groups: []*confdsvc.Group{
			{ID: 1, UUID: sales, TenantUUID: acme, Name: "grp-acme-1", Label: "Sales", Strategy: "all", Timeout: new(int64(40)), UserTimeout: new(int64(15)), RetryDelay: new(int64(5)), RingInUse: true, Enabled: true},
		},
		Incalls: []*confdsvc.Incall{
			{ID: 1, TenantUUID: acme, Destination: *to(tb, `{"type": "user", "user_id": 1}`)},
		},
		Transports: []*confdsvc.SIPTransport{
			read[confdsvc.SIPTransport](tb, `{"uuid": "t", "name": "transport-udp", "options": [["protocol", "udp"], ["bind", "0.0.0.0:5060"]]}`),
		},
		Endpoints: []*confdsvc.EndpointSIP{
			endpoint("e1", "alice", `["dtmf_mode", "rfc4733"]`), endpoint("e2", "alice-web", `["webrtc", "yes"]`), endpoint("e3", "bob", `["dtmf_mode", "rfc4733"]`),
		},
		Zones:            []confdsvc.ZoneMessage{{Name: "eu-fr", Timezone: "Europe/Paris", Message: new("'vm-received' q 'digits/at' HM")}},
		UserLines:        map[confdsvc.ID][]confdsvc.ID{1: {1, 2}, 2: {3}},
		LineUsers:        map[confdsvc.ID][]confdsvc.ID{1: {1}, 2: {1}, 3: {2}},
		LineExtensions:   map[confdsvc.ID][]confdsvc.ID{1: {1}, 2: {1}, 3: {2}},
		LineSIP:          map[confdsvc.ID]string{1: "e1", 2: "e2", 3: "e3"},
		UserVoicemail:    map[confdsvc.ID]confdsvc.ID{1: 1},
		GroupExtensions:  map[string][]confdsvc.ID{sales: {3}},
		GroupUsers:       map[string][]confdsvc.ID{sales: {1, 2}},
		IncallExtensions: map[confdsvc.ID][]confdsvc.ID{1: {4}},
	}
}

func mustJSON(tb testing.TB, value any) []byte {
	tb.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// addCalls gives the company a menu with a schedule, conferences, a parking lot and a paging.
func addCalls(tb testing.TB, s *confdsvc.Snapshot) {
	tb.Helper()
	for exten, in := range map[string]string{"400": inside, "401": inside, "700": inside, "5550101": public} {
		number := map[string]confdsvc.ID{"400": 40, "401": 41, "700": 70, "5550101": 51}[exten]
		s.Extensions = append(s.Extensions, &confdsvc.Extension{ID: number, TenantUUID: acme, Exten: exten, Context: in, Enabled: true})
	}
	slices.SortFunc(s.Extensions, func(a, b *confdsvc.Extension) int { return int(a.ID - b.ID) })
	s.Features = append(s.Features, &confdsvc.ExtensionFeature{Feature: "paging", Exten: "_*11.", Context: "xivo-features", Enabled: true})
	s.Conferences = []*confdsvc.Conference{
		read[confdsvc.Conference](tb, `{"id": 1, "tenant_uuid": "`+acme+`", "name": "Open", "max_users": 0, "announce_only_user": true}`),
		read[confdsvc.Conference](tb, `{"id": 2, "tenant_uuid": "`+acme+`", "name": "Board", "max_users": 2, "pin": "12", "admin_pin": "34", "quiet_join_leave": true,
			"record": true, "music_on_hold": "default"}`),
	}
	s.ConferenceExtensions = map[confdsvc.ID][]confdsvc.ID{1: {40}, 2: {41}}
	s.ParkingLots = []*confdsvc.ParkingLot{
		read[confdsvc.ParkingLot](tb, `{"id": 1, "tenant_uuid": "`+acme+`", "name": "Lot", "slots_start": "701", "slots_end": "702", "timeout": 30, "music_on_hold": "default"}`),
	}
	s.ParkingExtensions = map[confdsvc.ID][]confdsvc.ID{1: {70}}
	s.Pagings = []*confdsvc.Paging{
		read[confdsvc.Paging](tb, `{"id": 1, "tenant_uuid": "`+acme+`", "number": "6", "duplex": true, "announce_caller": true, "caller_notification": false, "enabled": true}`),
	}
	s.PagingCallers, s.PagingMembers = map[confdsvc.ID][]confdsvc.ID{1: {1}}, map[confdsvc.ID][]confdsvc.ID{1: {1, 2}}
	s.Menus = []*confdsvc.IVR{
		read[confdsvc.IVR](tb, `{"id": 1, "tenant_uuid": "`+acme+`", "name": "Main", "greeting_sound": "hello-world", "menu_sound": "vm-options", "invalid_sound": "pbx-invalid",
			"timeout": 2, "max_tries": 2, "abort_destination": {"type": "user", "user_id": 2}, "choices": [
			{"exten": "1", "destination": {"type": "user", "user_id": 1}}, {"exten": "2", "destination": {"type": "ivr", "ivr_id": 2}},
			{"exten": "_9X", "destination": {"type": "conference", "conference_id": 1}}, {"exten": "_[", "destination": {"type": "none"}}]}`),
		read[confdsvc.IVR](tb, `{"id": 2, "tenant_uuid": "`+acme+`", "name": "Second", "menu_sound": "../secret", "timeout": 0, "max_tries": 999999,
			"timeout_destination": {"type": "hangup", "cause": "normal"}, "choices": [{"exten": "*", "destination": {"type": "ivr", "ivr_id": 1}}]}`),
	}
	period := func(from, to, rest string) string {
		return `{"hours_start": "` + from + `", "hours_end": "` + to + `", "week_days": [1, 2, 3, 4, 5, 6, 7], "month_days": [], "months": []` + rest + `}`
	}
	s.Schedules = []*confdsvc.Schedule{
		read[confdsvc.Schedule](tb, `{"id": 1, "tenant_uuid": "`+acme+`", "name": "Hours", "timezone": "Europe/Paris", "enabled": true,
			"closed_destination": {"type": "user", "user_id": 2}, "open_periods": [`+period("08:00", "17:59", `, "week_days": [5, 1, 2]`)+`],
			"exceptional_periods": [`+period("12:00", "12:59", `, "months": [12], "month_days": [24, 25], "destination": {"type": "hangup", "cause": "busy", "timeout": null}`)+`]}`),
		read[confdsvc.Schedule](tb, `{"id": 2, "tenant_uuid": "`+acme+`", "timezone": "Mars/North,x", "enabled": true, "closed_destination": {"type": "none"}, "open_periods": []}`),
	}
	s.UserSchedule, s.GroupSchedule, s.IncallSchedule = map[confdsvc.ID]confdsvc.ID{1: 2}, map[string]confdsvc.ID{sales: 1}, map[confdsvc.ID]confdsvc.ID{2: 1}
	s.Incalls = append(s.Incalls, &confdsvc.Incall{ID: 2, TenantUUID: acme, Destination: *to(tb, `{"type": "ivr", "ivr_id": 1}`)})
	s.IncallExtensions[2] = []confdsvc.ID{51}
}

// addTeams gives the company a filter of calls to Alice, which Bob takes, with each source and in each order; a switchboard of Bob's, and a call pickup.
func addTeams(tb testing.TB, s *confdsvc.Snapshot) {
	tb.Helper()
	for feature, exten := range map[string]string{"bsfilter": "_*37.", "switchboard": "_*38."} {
		s.Features = append(s.Features, &confdsvc.ExtensionFeature{Feature: feature, Exten: exten, Context: "xivo-features", Enabled: true})
	}
	for i, strategy := range []string{"all-recipients-then-linear-surrogates", "all-surrogates-then-all-recipients", "linear-surrogates-then-all-recipients"} {
		f := read[confdsvc.CallFilter](tb, `{"tenant_uuid": "`+acme+`", "name": "Filter\nof Alice", "caller_id_mode": "prepend", "caller_id_name": "For Alice:", "enabled": true}`)
		f.ID, f.Strategy, f.Source = confdsvc.ID(i+1), strategy, []string{"all", "internal", "external"}[i]
		f.SurrogatesTimeout = new(int64(15))
		f.Recipients.Users = []confdsvc.FilterRecipient{{UserRef: confdsvc.UserRef{ID: 1, UUID: alice}}}
		f.Surrogates.Users = []confdsvc.FilterSurrogate{{UserRef: confdsvc.UserRef{ID: 2, UUID: bob}, MemberID: int64(i + 1)}}
		s.CallFilters = append(s.CallFilters, f)
	}
	s.CallFilters[1].Fallbacks.NoAnswer = to(tb, `{"type": "user", "user_id": 2}`)
	s.Switchboards = []*confdsvc.Switchboard{read[confdsvc.Switchboard](tb, `{"uuid": "`+reception+`", "tenant_uuid": "`+acme+`", "name": "Reception", "timeout": 20,
		"fallbacks": {"noanswer_destination": {"type": "user", "user_id": 1}}}`)}
	s.Switchboards[0].ID, s.Switchboards[0].Members.Users = 1, []confdsvc.UserRef{{ID: 2, UUID: bob}}
	s.CallPickups = []*confdsvc.CallPickup{read[confdsvc.CallPickup](tb, `{"id": 1, "tenant_uuid": "`+acme+`", "name": "Sales", "enabled": true}`)}
	s.CallPickups[0].Interceptors.Groups = []confdsvc.PickupGroup{{UUID: sales, ID: 1}}
	s.CallPickups[0].Targets.Users = []confdsvc.PickupUser{{ID: 1, UUID: alice}}
	s.Incalls[0].Destination = *to(tb, `{"type": "switchboard", "switchboard_uuid": "`+reception+`", "ring_time": 2.5}`)
}
