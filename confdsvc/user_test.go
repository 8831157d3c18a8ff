package confdsvc_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	samples["users"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"firstname": fmt.Sprintf("First%d", n)} },
		Values: func(n int) object {
			return object{"email": fmt.Sprintf("al%d@example.org", n), "username": fmt.Sprintf("al%d", n), "password": "abcd", "music_on_hold": "default"}
		},
		Except: []string{
			"agent", "auth", "device_id", "func_key_template_id", "switchboards", "call_record_enabled", "mobile_fallback_enabled", // not by themselves
			"lines", "voicemail", "forwards", "fallbacks", "incalls", "groups", // not on create
		},
		Follow: map[string][]string{
			"call_record_outgoing_external_enabled": {"call_record_enabled"}, "call_record_outgoing_internal_enabled": {"call_record_enabled"},
			"call_record_incoming_internal_enabled": {"call_record_enabled"}, "call_record_incoming_external_enabled": {"call_record_enabled"},
		},
		Parts: map[string]object{
			"forwards":  {"busy": object{"enabled": true, "destination": "123"}, "noanswer": object{"enabled": false, "destination": "456"}},
			"services":  {"dnd": object{"enabled": true}},
			"fallbacks": {"noanswer_destination": object{"type": "none"}},
		},
		Links: map[string]crudtest.Link{"lines": {Ready: func(c *crudtest.Client, _, line object) { giveEndpoint(c, line) }}},
	}
}

// observed is what existing clients read after a minimal create, without generated values.
const observed = `{
	"firstname": "Al", "lastname": null, "email": null, "timezone": null, "country": null, "language": null,
	"description": null, "caller_id": "\"Al\"", "outgoing_caller_id": null, "mobile_phone_number": null,
	"mobile_fallback_enabled": false, "username": null, "password": null, "music_on_hold": null,
	"preprocess_subroutine": null, "userfield": null, "call_transfer_enabled": false, "dtmf_hangup_enabled": false,
	"call_record_enabled": false, "call_record_outgoing_external_enabled": false,
	"call_record_outgoing_internal_enabled": false, "call_record_incoming_internal_enabled": false,
	"call_record_incoming_external_enabled": false, "online_call_record_enabled": false, "supervision_enabled": true,
	"ring_seconds": 30, "simultaneous_calls": 5, "call_permission_password": null, "subscription_type": 0,
	"enabled": true, "agent": null, "call_permissions": [], "call_pickup_target_users": [],
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
		got := c.Create("/users", object{"firstname": "Al"})
		for _, generated := range []string{"id", "uuid", "tenant_uuid", "created_at", "links"} {
			if got[generated] == nil {
				t.Errorf("no %s", generated)
			}
			delete(got, generated)
		}
		for _, ours := range []string{"max_calls", "max_calls_per_minute", "max_minutes_per_day"} {
			if value, there := got[ours]; !there || value != nil {
				t.Errorf("%s is %v, want null", ours, value)
			}
			delete(got, ours)
		}
		var want object
		resttest.Decode(t, observed, &want)
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
			o := c.Create("/users", test.body)
			if o["caller_id"] != test.want {
				t.Errorf("%v: %v", test.body, o["caller_id"])
			}
			c.Do(http.MethodPut, "/users/"+o.Text("id"), object{"caller_id": o["caller_id"], "firstname": "New"}).Want(http.StatusNoContent)
			if after := c.Get("/users/" + o.Text("id")).Object(); after["caller_id"] != test.want {
				t.Errorf("a new name made the caller ID %v", after["caller_id"])
			}
		}
		for _, bad := range []string{"Al", `"Al`, `"A"l"`, `"Al" <abc>`, `"Al" <1>` + "\n", `"A\"`, `"Al" <1> x`} {
			c.Do(http.MethodPost, "/users", object{"firstname": "Al", "caller_id": bad}).Want(http.StatusBadRequest).Says("caller_id")
		}
	})
}

// An e-mail address and a username lead to one user of the installation; the refusal says no more than what was sent.
func TestUniqueAmongAllUsers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		a, b := w.as(t, "a"), w.as(t, "b")
		first := b.Create("/users", object{"firstname": "Secret", "email": "Al@Example.org", "username": "al"})
		other := a.Create("/users", object{"firstname": "Other"})
		for body, want := range map[string]string{
			`{"firstname":"X","email":"al@example.ORG"}`:                 `User already exists ('email': 'al@example.ORG')`,
			`{"firstname":"X","username":"al","email":"al@example.org"}`: `User already exists ('email': 'al@example.org')`,
			`{"firstname":"X","username":"al"}`:                          `User already exists ('username': 'al')`,
		} {
			for method, path := range map[string]string{http.MethodPost: "/users", http.MethodPut: "/users/" + other.Text("id")} {
				got := a.Do(method, path, body).Want(http.StatusBadRequest).Says("Resource Error - " + want)
				for _, leak := range []string{"Secret", "Al@Example.org", first.Text("uuid"), w.tenants["b"], "confd_user"} {
					if strings.Contains(got.Body, leak) {
						t.Errorf("the refusal tells %q: %s", leak, got.Body)
					}
				}
			}
		}
		if after := a.Get("/users/" + other.Text("id")).Object(); !reflect.DeepEqual(after, other) {
			t.Errorf("a refused update changed it: %v", after)
		}
		b.Do(http.MethodPut, "/users/"+first.Text("id"), object{"email": "AL@example.org"}).Want(http.StatusNoContent) // the user's own, in another case
		b.Do(http.MethodDelete, "/users/"+first.Text("id"), nil).Want(http.StatusNoContent)
		a.Create("/users", object{"firstname": "X", "email": "al@example.org", "username": "al"})
	})
}

// What belongs to resources that do not exist yet is refused, never dropped; what is empty is accepted. A PUT that does not ask for what
// is nested ignores it.
func TestNotAvailableYet(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		path := "/users/" + c.Create("/users", object{
			"firstname": "Al", "lines": []any{}, "groups": []any{}, "agent": nil, "auth": nil, "voicemail": nil, "func_key_template_id": nil,
			"switchboards": []any{}, "incalls": []any{}, "device_id": nil,
		}).Text("id")
		for name, value := range map[string]any{
			"device_id": "x",
		} {
			body := object{"firstname": "Al", name: value}
			c.Do(http.MethodPost, "/users", body).Want(http.StatusBadRequest).Says("Input Error - field '" + name + "':").Says("was not found")
			c.Do(http.MethodPut, path+"?recursive=true", body).Want(http.StatusBadRequest).Says("was not found")
			c.Do(http.MethodPut, path+"?recursive=True", body).Want(http.StatusBadRequest).Says("was not found")
			c.Do(http.MethodPut, path+"?recursive=yes", body).Want(http.StatusBadRequest).Says("recursive")
			c.Do(http.MethodPut, path+"?recursive=False", body).Want(http.StatusNoContent)
			c.Do(http.MethodPut, path, body).Want(http.StatusNoContent)
		}
		// What is empty has the type of what would be there.
		for name, values := range map[string][]any{
			"switchboards": {"", 0, false, object{}}, "agent": {"", []any{}, 0, false}, "device_id": {[]any{}, object{}, 0, false},
			"lines": {"", 0, false, object{}, []any{object{"context": "default", "endpoint_sccp": ""}}, []any{object{"context": "default", "endpoint_sccp": []any{}}}},
		} {
			for _, value := range values {
				body := object{"firstname": "Al", name: value}
				c.Do(http.MethodPost, "/users", body).Want(http.StatusBadRequest).Says("Input Error - " + name + ":")
				c.Do(http.MethodPut, path+"?recursive=true", body).Want(http.StatusBadRequest).Says("Input Error - " + name + ":")
			}
		}
		c.Get("/users?view=x&view=y").Want(http.StatusBadRequest).Says("view")
		if l := c.Get("/users").List(); l.Total != 1 {
			t.Errorf("a refused create made something: total %d", l.Total)
		}
	})
}

func TestCallRecordEnabled(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		path := "/users/" + c.Create("/users", object{"firstname": "Al", "call_record_enabled": true}).Text("id")
		flags := func() string {
			o := c.Get(path).Object()
			return strings.Join([]string{
				o.Text("call_record_enabled"), o.Text("call_record_outgoing_external_enabled"), o.Text("call_record_outgoing_internal_enabled"),
				o.Text("call_record_incoming_internal_enabled"), o.Text("call_record_incoming_external_enabled"),
			}, " ")
		}
		for _, step := range []struct {
			body   string
			status int
			want   string
		}{
			{`{}`, 204, "true true true true true"},
			{`{"call_record_incoming_internal_enabled":false}`, 204, "false true true false true"},
			{`{"call_record_enabled":null}`, 400, "false true true false true"},
			{`{"call_record_enabled":true,"call_record_outgoing_internal_enabled":false}`, 400, "false true true false true"},
			{`{"call_record_enabled":false,"call_record_outgoing_internal_enabled":true}`, 204, "false true true false true"}, // as it is read
			{`{"call_record_enabled":false,"call_record_incoming_internal_enabled":true}`, 400, "false true true false true"},
			{`{"call_record_enabled":false,"call_record_outgoing_internal_enabled":false}`, 204, "false false false false false"},
			{`{"call_record_enabled":true,"call_record_incoming_external_enabled":true}`, 204, "true true true true true"},
			{`{"call_record_enabled":false,"call_record_outgoing_external_enabled":true,"call_record_outgoing_internal_enabled":false,
				"call_record_incoming_internal_enabled":false,"call_record_incoming_external_enabled":false}`, 204, "false true false false false"},
			{`{"call_record_enabled":true}`, 204, "true true true true true"},
			{`{"call_record_enabled":false}`, 204, "false false false false false"},
		} {
			c.Do(http.MethodPut, path, step.body).Want(step.status)
			if got := flags(); got != step.want {
				t.Errorf("after %s: %s", step.body, got)
			}
		}
		for body, status := range map[string]int{
			`{"firstname":"Al","call_record_enabled":false,"call_record_incoming_internal_enabled":true}`: 400,
			`{"firstname":"Al","call_record_enabled":true,"call_record_incoming_internal_enabled":false}`: 400,
			`{"firstname":"Al","call_record_enabled":true,"call_record_incoming_internal_enabled":true}`:  201,
		} {
			c.Do(http.MethodPost, "/users", body).Want(status)
		}
	})
}

// Clients send null for the default of a new user; in an update they could not read that value again.
func TestNullIsTheDefaultOfANewUser(t *testing.T) {
	defaults := object{
		"caller_id": `"Al"`, "call_transfer_enabled": false, "dtmf_hangup_enabled": false, "call_record_enabled": false, "online_call_record_enabled": false,
		"supervision_enabled": true, "ring_seconds": 30, "simultaneous_calls": 5, "enabled": true,
	}
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		body := object{"firstname": "Al"}
		for name := range defaults {
			body[name] = nil
		}
		made := c.Create("/users", body)
		path := "/users/" + made.Text("id")
		before := c.Get(path).Object()
		for name, want := range defaults {
			if !made.Same(name, want) {
				t.Errorf("%s: null made it %v, want %v", name, made[name], want)
			}
			c.Do(http.MethodPut, path, object{name: nil, "lastname": "Changed"}).Want(http.StatusBadRequest).Says("Input Error - " + name + ": ['Field may not be null.']")
		}
		if after := c.Get(path).Object(); !reflect.DeepEqual(after, before) {
			t.Errorf("a refused update changed it: %v", after)
		}
	})
}

// A call cannot fall back to a number that there is not, however the two are taken apart.
func TestMobileFallbackNeedsANumber(t *testing.T) {
	const said = "Resource Error - PSTN fallback must be disabled when mobile phone number is not set"
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		c.Do(http.MethodPost, "/users", object{"firstname": "Al", "mobile_fallback_enabled": true}).Want(http.StatusBadRequest).Says(said)
		path := "/users/" + c.Create("/users", object{"firstname": "Al"}).Text("id")
		c.Do(http.MethodPut, path, object{"mobile_fallback_enabled": true}).Want(http.StatusBadRequest).Says(said)
		c.Do(http.MethodPut, path, object{"mobile_fallback_enabled": true, "mobile_phone_number": "0611"}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path, object{"mobile_phone_number": nil}).Want(http.StatusBadRequest).Says(said)
		c.Do(http.MethodPut, path, object{"mobile_phone_number": nil, "mobile_fallback_enabled": false}).Want(http.StatusNoContent)
	})
}

func TestUnreadableBodies(t *testing.T) {
	c := newWorld(t, storetest.SQLite(t)).as(t, "a")
	path := "/users/" + c.Create("/users", object{"firstname": "Al"}).Text("id")
	for _, body := range []any{nil, "", " ", "{", "x", `{"firstname":}`, `{"firstname":"Al"} x`, "\ufeff{}", "{\"firstname\":\"\xff\"}"} {
		for method, path := range map[string]string{http.MethodPost: "/users", http.MethodPut: path} {
			got := c.Do(method, path, body).Want(http.StatusBadRequest)
			if want := `["The browser (or proxy) sent a request that this server could not understand."]`; strings.TrimSpace(got.Body) != want {
				t.Errorf("%s %q: %s", method, body, got.Body)
			}
		}
	}
	c.Do(http.MethodPut, path, `{"firstname":"A","firstname":"B"}`).Want(http.StatusBadRequest).Says("firstname")
	c.Do(http.MethodPut, path, `[]`).Want(http.StatusBadRequest).Says("object")
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
		got := c.Do(http.MethodPost, "/users", body)
		if (got.Status == http.StatusCreated) != test.accepted {
			t.Errorf("%s = %q: %d %s", test.field, test.value, got.Status, got.Body)
		}
		if !test.accepted {
			got.Says("Input Error - " + test.field)
		}
	}
}

func TestInfosAndStatus(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		if o := c.Get("/infos").Want(http.StatusOK).Object(); o["uuid"] != nil || o["wazo_version"] == nil {
			t.Errorf("infos: %v", o)
		}
		w.installation = w.tenants["a"]
		if o := c.Get("/infos").Want(http.StatusOK).Object(); o["uuid"] != w.tenants["a"] {
			t.Errorf("infos: %v", o)
		}
		const want = `{"rest_api":{"status":"ok"},"bus_consumer":{"status":"ok"},"master_tenant":{"status":"ok"},"service_token":{"status":"ok"}}`
		if got := c.Get("/status").Want(http.StatusOK).Body; got != want {
			t.Errorf("status: %s", got)
		}
	})
}
