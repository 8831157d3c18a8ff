package confdsvc_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// observed is what existing clients read after a minimal create, without what is generated.
const observed = `{
	"firstname": "Al", "lastname": null, "email": null, "timezone": null, "country": null, "language": null,
	"description": null, "caller_id": "\"Al\"", "outgoing_caller_id": null, "mobile_phone_number": null,
	"mobile_fallback_enabled": false, "username": null, "password": null, "music_on_hold": null,
	"preprocess_subroutine": null, "userfield": null, "call_transfer_enabled": false, "dtmf_hangup_enabled": false,
	"call_record_enabled": false, "call_record_outgoing_external_enabled": false,
	"call_record_outgoing_internal_enabled": false, "call_record_incoming_internal_enabled": false,
	"call_record_incoming_external_enabled": false, "online_call_record_enabled": false, "supervision_enabled": true,
	"ring_seconds": 30, "simultaneous_calls": 5, "call_permission_password": null, "subscription_type": 0,
	"enabled": true, "agent": null, "call_permissions": [], "call_pickup_user_targets_flat": [],
	"fallbacks": {"noanswer_destination": null, "busy_destination": null, "congestion_destination": null, "fail_destination": null},
	"groups": [], "incalls": [], "lines": [],
	"forwards": {"busy": {"enabled": false, "destination": null}, "noanswer": {"enabled": false, "destination": null},
		"unconditional": {"enabled": false, "destination": null}},
	"schedules": [], "services": {"dnd": {"enabled": false}, "incallfilter": {"enabled": false}},
	"switchboards": [], "voicemail": null, "queues": [], "func_key_template_id": null
}`

func TestNewUser(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		got := c.create("/users", object{"firstname": "Al"})
		for _, generated := range []string{"id", "uuid", "tenant_uuid", "created_at", "links"} {
			if got[generated] == nil {
				t.Errorf("no %s", generated)
			}
			delete(got, generated)
		}
		var want object
		decode(t, observed, &want)
		for name := range got {
			if _, there := want[name]; !there {
				t.Errorf("existing clients know no %s", name)
			}
		}
		for name := range want {
			if !reflect.DeepEqual(got[name], want[name]) {
				t.Errorf("%s is %v, want %v", name, got[name], want[name])
			}
		}
	})
}

func TestCallerID(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		long := strings.Repeat("é", 128)
		for _, test := range []struct {
			body object
			want string
		}{
			{object{"firstname": "Al"}, `"Al"`},
			{object{"firstname": "Al", "lastname": "Bé"}, `"Al Bé"`},
			{object{"firstname": "", "lastname": "Bé"}, `"Bé"`},
			{object{"firstname": ""}, `""`},
			{object{"firstname": `A"l\`, "lastname": `"; x="`}, `"Al ; x="`},
			{object{"firstname": "Al", "caller_id": nil}, `"Al"`},
			{object{"firstname": "Al", "caller_id": `"Else" <+33123>`}, `"Else" <+33123>`},
			{object{"firstname": long, "lastname": long}, `"` + long + " " + long[:2*29] + `"`},
		} {
			o := c.create("/users", test.body)
			if o["caller_id"] != test.want {
				t.Errorf("%v: %v", test.body, o["caller_id"])
			}
			c.do(http.MethodPut, "/users/"+o.text("id"), object{"caller_id": o["caller_id"], "firstname": "New"}).want(http.StatusNoContent)
			if after := c.get("/users/" + o.text("id")).object(); after["caller_id"] != test.want {
				t.Errorf("a new name made the caller ID %v", after["caller_id"])
			}
		}
		for _, bad := range []string{"Al", `"Al`, `"A"l"`, `"Al" <abc>`, `"Al" <1>` + "\n", `"A\"`, `"Al" <1> x`} {
			c.do(http.MethodPost, "/users", object{"firstname": "Al", "caller_id": bad}).want(http.StatusBadRequest).says("caller_id")
		}
	})
}

// An e-mail address and a username lead to one user of the installation; the refusal says no more than what was sent.
func TestUniqueAmongAllUsers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		a, b := w.as(t, "a"), w.as(t, "b")
		first := b.create("/users", object{"firstname": "Secret", "email": "Al@Example.org", "username": "al"})
		other := a.create("/users", object{"firstname": "Other"})
		for body, want := range map[string]string{
			`{"firstname":"X","email":"al@example.ORG"}`: `User already exists ('email': 'al@example.ORG')`,
			`{"firstname":"X","username":"al"}`:          `User already exists ('username': 'al')`,
		} {
			for method, path := range map[string]string{http.MethodPost: "/users", http.MethodPut: "/users/" + other.text("id")} {
				got := a.do(method, path, body).want(http.StatusBadRequest).says("Resource Error - " + want)
				for _, leak := range []string{"Secret", "Al@Example.org", first.text("uuid"), w.tenants["b"], "confd_user"} {
					if strings.Contains(got.body, leak) {
						t.Errorf("the refusal tells %q: %s", leak, got.body)
					}
				}
			}
		}
		if after := a.get("/users/" + other.text("id")).object(); !reflect.DeepEqual(after, other) {
			t.Errorf("a refused update changed it: %v", after)
		}
		b.do(http.MethodPut, "/users/"+first.text("id"), object{"email": "AL@example.org"}).want(http.StatusNoContent) // one's own, in another case
		b.do(http.MethodDelete, "/users/"+first.text("id"), nil).want(http.StatusNoContent)
		a.create("/users", object{"firstname": "X", "email": "al@example.org", "username": "al"})
	})
}

// What belongs to resources that are not there yet is refused, never dropped; nothing asked is nothing refused.
func TestNotAvailableYet(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		path := "/users/" + c.create("/users", object{
			"firstname": "Al", "lines": []any{}, "groups": []any{}, "agent": nil, "auth": nil, "voicemail": nil, "func_key_template_id": nil,
		}).text("id")
		for _, more := range []object{
			{"groups": []any{object{"uuid": "x"}}},
			{"incalls": []any{object{}}},
			{"switchboards": []any{1}},
			{"agent": object{"number": "1"}},
			{"auth": object{"username": "al"}},
			{"device_id": "x"},
			{"func_key_template_id": 1},
		} {
			for name := range more {
				c.do(http.MethodPut, path, more).want(http.StatusBadRequest).says("Input Error - " + name + ": Is not available yet")
				more["firstname"] = "Al"
				c.do(http.MethodPost, "/users", more).want(http.StatusBadRequest).says("Input Error - " + name + ": Is not available yet")
				break
			}
		}
		c.do(http.MethodPost, "/users", object{"firstname": "Al", "lines": []any{object{"id": 9}}}).want(http.StatusBadRequest).says("lines: Is not available yet")
		c.do(http.MethodPost, "/users", object{"firstname": "Al", "voicemail": object{"id": 9}}).want(http.StatusBadRequest).says("voicemail: Is not available yet")
		for _, method := range []string{http.MethodPut, http.MethodDelete} {
			var body any
			if method == http.MethodPut {
				body = object{}
			}
			c.do(method, path+"?recursive=true", body).want(http.StatusBadRequest).says("recursive: Is not available yet")
		}
		c.get("/users?view=summary").want(http.StatusBadRequest).says("view")
		c.get("/users?view=x&view=y").want(http.StatusBadRequest).says("view")
		if l := c.get("/users").list(); *l.Total != 1 {
			t.Errorf("a refused create made something: total %d", *l.Total)
		}
	})
}

func TestCallRecordEnabled(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		path := "/users/" + c.create("/users", object{"firstname": "Al", "call_record_enabled": true}).text("id")
		flags := func() string {
			o := c.get(path).object()
			return strings.Join([]string{
				o.text("call_record_enabled"), o.text("call_record_outgoing_external_enabled"), o.text("call_record_outgoing_internal_enabled"),
				o.text("call_record_incoming_internal_enabled"), o.text("call_record_incoming_external_enabled"),
			}, " ")
		}
		for _, step := range []struct {
			body   string
			status int
			want   string
		}{
			{`{}`, 204, "true true true true true"},
			{`{"call_record_incoming_internal_enabled":false}`, 204, "false true true false true"},
			{`{"call_record_enabled":null}`, 204, "false true true false true"},
			{`{"call_record_enabled":true,"call_record_outgoing_internal_enabled":false}`, 400, "false true true false true"},
			{`{"call_record_enabled":false,"call_record_outgoing_internal_enabled":false}`, 204, "false true false false true"},
			{`{"call_record_enabled":true}`, 204, "true true true true true"},
			{`{"call_record_enabled":false}`, 204, "false false false false false"},
		} {
			c.do(http.MethodPut, path, step.body).want(step.status)
			if got := flags(); got != step.want {
				t.Errorf("after %s: %s", step.body, got)
			}
		}
	})
}

func TestUserFieldRules(t *testing.T) {
	c := newWorld(t, storetest.SQLite(t)).as(t, "a")
	for _, test := range []struct {
		field    string
		value    any
		accepted bool
	}{
		{"language", "fr_FR", true},
		{"language", "fr_FR\n", false},
		{"language", "french", false},
		{"email", "a@b.c", true},
		{"email", "Al <a@b.c>", false},
		{"email", "", false},
		{"email", strings.Repeat("a", 250) + "@b.cd", false},
		{"mobile_phone_number", "+33*6#1", true},
		{"mobile_phone_number", "06 12", false},
		{"username", "a.b@c", true},
		{"username", "a", false},
		{"username", "a b", false},
		{"username", "a\u00e9", false},
		{"password", "abcd", true},
		{"password", "abc", false},
		{"call_permission_password", "1#*", true},
		{"call_permission_password", "a", false},
		{"description", "two\nlines", true},
		{"userfield", "two\nlines", false},
		{"firstname", "a\rb", false},
		{"firstname", "a\u0085b", false},
		{"subscription_type", 10, true},
		{"subscription_type", 11, false},
		{"subscription_type", nil, false},
		{"simultaneous_calls", 0, false},
		{"enabled", nil, true},
		{"mobile_fallback_enabled", nil, false},
		{"firstname", strings.Repeat("é", 128), true},
		{"firstname", strings.Repeat("é", 129), false},
	} {
		body := object{"firstname": "Al"}
		body[test.field] = test.value
		got := c.do(http.MethodPost, "/users", body)
		if (got.status == http.StatusCreated) != test.accepted {
			t.Errorf("%s = %q: %d %s", test.field, test.value, got.status, got.body)
		}
		if !test.accepted {
			got.says("Input Error - " + test.field)
		}
	}
}

func TestInfosAndStatus(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		if o := c.get("/infos").want(http.StatusOK).object(); o["uuid"] != nil || o["wazo_version"] == nil {
			t.Errorf("infos: %v", o)
		}
		if _, err := db.Exec(t.Context(), `INSERT INTO auth_server (id, uuid) VALUES (1, $1)`, w.tenants["a"]); err != nil {
			t.Fatal(err)
		}
		if o := c.get("/infos").want(http.StatusOK).object(); o["uuid"] != w.tenants["a"] {
			t.Errorf("infos: %v", o)
		}
		want, _ := json.Marshal(object{"rest_api": object{"status": "ok"}})
		if got := c.get("/status").want(http.StatusOK).body; got != string(want) {
			t.Errorf("status: %s", got)
		}
	})
}
