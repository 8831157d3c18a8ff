package asterisk_test

import (
	"encoding/json"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
)

// The tenants and the context of a small company.
const (
	acme   = "aaaaaaaa-0000-4000-8000-000000000000"
	other  = "bbbbbbbb-0000-4000-8000-000000000000"
	inside = "ctx-acme-internal-1"
	public = "ctx-acme-incall-1"
	theirs = "ctx-other-internal-1"
	alice  = "00000001-0000-4000-8000-000000000001"
	bob    = "00000002-0000-4000-8000-000000000002"
	sales  = "cccccccc-0000-4000-8000-000000000001"
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
