package confdsvc_test

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// withRanges makes a context of a tenant, and returns its name.
func withRanges(c *resttest.Client, kind string, ranges object) string {
	body := object{"label": kind, "type": kind}
	maps.Copy(body, ranges)
	return c.Create("/contexts", body).Text("name")
}

// company is a tenant with contexts and a group, and a user with everything in them.
type company struct {
	*resttest.Client
	in, from, group string
}

func newCompany(c *resttest.Client) company {
	return company{
		Client: c, in: withRanges(c, "internal", object{"user_ranges": []object{{"start": "1000", "end": "1999"}}}),
		from: withRanges(c, "incall", nil), group: c.Create("/groups", object{"label": "Sales"}).Text("uuid"),
	}
}

func (c company) user(number string) object {
	return object{
		"firstname": "Al", "lastname": "One",
		"voicemail": object{"name": "Al", "number": number, "context": c.in},
		"lines": []any{object{
			"context": c.in, "endpoint_sip": object{"auth_section_options": [][]string{{"username", "al"}}},
			"extensions": []any{object{"exten": number}},
		}},
		"incalls":      []any{object{"extensions": []any{object{"exten": "555" + number, "context": c.from}}}},
		"groups":       []any{object{"uuid": c.group}},
		"switchboards": []any{}, "agent": nil,
		"forwards":  object{"busy": object{"enabled": true, "destination": "123"}},
		"fallbacks": object{"fail_destination": object{"type": "none"}},
	}
}

// at returns what is in a JSON value, by names and places: "lines.0.id".
func at(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case object:
			value = v[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// counts returns how many rows the tables of the service have.
func counts(t *testing.T, db store.DB) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, table := range []string{
		"confd_user", "confd_line", "confd_extension", "confd_voicemail", "confd_incall", "confd_endpoint_sip", "confd_endpoint_custom", "confd_sip_name",
		"confd_user_line", "confd_line_extension", "confd_line_endpoint", "confd_user_voicemail", "confd_incall_extension", "confd_group_user",
		"confd_group", "confd_group_number", "confd_destination", "confd_outcall", "confd_outcall_extension", "confd_outcall_trunk",
		"confd_paging", "confd_paging_caller", "confd_paging_member", "audit",
	} {
		n, err := store.Get[int](t.Context(), db, "SELECT count(*) FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		out[table] = n
	}
	return out
}

func TestNestedUser(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newCompany(newWorld(t, db).as(t, "a"))
		made := c.Do(http.MethodPost, "/users", c.user("1001")).Want(http.StatusCreated)
		user := c.Get("/users/" + fmt.Sprint(made.JSON("id")))
		if made.Header.Get("Etag") != user.Header.Get("Etag") || made.Header.Get("Location") != prefix+"/users/"+fmt.Sprint(made.JSON("id")) {
			t.Errorf("%v", made.Header)
		}
		got := made.Object()
		for path, want := range map[string]any{
			"voicemail.number": "1001", "voicemail.users.0.firstname": "Al", "lines.0.context": c.in, "lines.0.protocol": "sip",
			"lines.0.extensions.0.exten": "1001", "lines.0.extensions.0.context": c.in, "lines.0.users.0.firstname": "Al",
			"lines.0.endpoint_sip.auth_section_options.0.1": "al",
			"incalls.0.destination.type":                    "user", "incalls.0.destination.user_id": got["id"], "incalls.0.extensions.0.exten": "5551001",
			"groups.0.uuid": c.group, "forwards.busy.destination": "123", "fallbacks.fail_destination.type": "none",
		} {
			if at(got, path) != want {
				t.Errorf("%s is %v, want %v", path, at(got, path), want)
			}
		}
		shown := user.Object()
		for _, path := range []string{"voicemail.id", "lines.0.id", "lines.0.endpoint_sip.uuid", "lines.0.extensions.0.id", "incalls.0.id", "groups.0.id"} {
			if at(got, path) == nil || at(got, path) != at(shown, path) {
				t.Errorf("%s: made %v, read %v", path, at(got, path), at(shown, path))
			}
		}
		sip := c.Get("/endpoints/sip/" + at(got, "lines.0.endpoint_sip.uuid").(string)).Object()
		if !reflect.DeepEqual(at(sip, "endpoint_section_options.0"), []any{"context", c.in}) {
			t.Errorf("the telephone dials by %v", sip["endpoint_section_options"])
		}
		if in := c.Get("/contexts?type=incall").List().Items[0]; !reflect.DeepEqual(at(in, "incall_ranges.0.start"), "5551001") {
			t.Errorf("the range of the incall: %v", in["incall_ranges"])
		}
	})
}

// A refusal at any step leaves nothing of what was before it.
func TestNestedUserAllOrNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c, other := newCompany(w.as(t, "a")), newCompany(w.as(t, "b"))
		taken := c.Create("/users", c.user("1001"))
		c.Create("/groups", object{"label": "Support"})
		before := counts(t, db)
		line := func(more object) []any {
			l := object{"context": c.in, "endpoint_sip": object{}, "extensions": []any{object{"exten": "1002"}}}
			maps.Copy(l, more)
			return []any{l}
		}
		for name, bad := range map[string]struct {
			body object
			says string
		}{
			"a voicemail's number":       {object{"voicemail": object{"name": "X", "number": "1001", "context": c.in}}, "Voicemail already exists"},
			"a foreign voicemail":        {object{"voicemail": object{"name": "X", "number": "1002", "context": other.in}}, "Context was not found"},
			"a global voicemail":         {object{"voicemail": object{"name": "X", "number": "1002", "context": c.in, "accesstype": "global"}}, "global voicemail"},
			"a line's context":           {object{"lines": line(object{"context": "nowhere"})}, "field 'context': Context was not found"},
			"a foreign line":             {object{"lines": line(object{"context": other.in})}, "field 'context': Context was not found"},
			"a line without an endpoint": {object{"lines": line(object{"endpoint_sip": nil})}, "Line must be associated with a Endpoint"},
			"two endpoints":              {object{"lines": line(object{"endpoint_custom": object{"interface": "x"}})}, "Line is associated with a Endpoint"},
			"an endpoint's option":       {object{"lines": line(object{"endpoint_sip": object{"aor_section_options": [][]string{{"no", "1"}}}})}, "invalid variable"},
			"an endpoint's name":         {object{"lines": line(object{"endpoint_sip": object{"name": at(taken, "lines.0.endpoint_sip.name")}})}, "already exists"},
			"a foreign template":         {object{"lines": line(object{"endpoint_sip": object{"templates": []any{object{"uuid": template(t, w, "b")}}}})}, "was not found"},
			"an unknown endpoint":        {object{"lines": line(object{"endpoint_sccp": object{}})}, "Endpoint sccp was not found"},
			"another user's number":      {object{"lines": line(object{"extensions": []any{object{"exten": "1001"}}})}, "Line is associated with a Extension"},
			"a number out of range":      {object{"lines": line(object{"extensions": []any{object{"exten": "9002"}}})}, "outside of range"},
			"no number":                  {object{"lines": line(object{"extensions": []any{object{"context": c.in}}})}, "{'exten': ['Missing data for required field.']}"},
			"a number that is null":      {object{"lines": line(object{"extensions": []any{object{"exten": nil}}})}, "{'exten': ['Field may not be null.']}"},
			"a number of no form":        {object{"lines": line(object{"extensions": []any{object{"exten": "abc"}}})}, "does not match expected pattern"},
			"a foreign number":           {object{"lines": line(object{"extensions": []any{object{"exten": "1002", "context": other.in}}})}, "Context was not found"},
			"two numbers":                {object{"lines": line(object{"extensions": []any{object{"exten": "1002"}, object{"exten": "1003"}}})}, "Line is associated with a Extension"},
			"an incall's number":         {object{"incalls": []any{object{"extensions": []any{object{"exten": "5551001", "context": c.from}}}}}, "Incall is associated with a Extension"},
			"an incall's context":        {object{"incalls": []any{object{"extensions": []any{object{"exten": "1010", "context": c.in}}}}}, "cannot be associated"},
			"a foreign incall":           {object{"incalls": []any{object{"extensions": []any{object{"exten": "5559", "context": other.from}}}}}, "Context was not found"},
			"a group":                    {object{"groups": []any{object{"id": 987654}}}, "Group was not found"},
			"a foreign group":            {object{"groups": []any{object{"uuid": other.group}}}, "Group was not found"},
			"a group twice":              {object{"groups": []any{object{"uuid": c.group}, object{"uuid": c.group}}}, "same group more than once"},
			"a group without a line":     {object{"lines": []any{}}, "User must be associated with a Line"},
			"a forward":                  {object{"forwards": object{"busy": object{"enabled": true}}}, "forwards: {'busy': {'destination': ['Is required to enable the forward']}}"},
			"a fallback":                 {object{"fallbacks": object{"busy_destination": object{"type": "user", "user_id": 987654}}}, "User was not found"},
			"a switchboard":              {object{"switchboards": []any{object{"uuid": other.group}}}, "Switchboard was not found"},
			"an agent":                   {object{"agent": object{"id": 987654}}, "Agent was not found"},
			"a field of an item":         {object{"lines": line(object{"extensions": []any{object{"exten": 5}}})}, "lines: {0: {'extensions': {0: {'exten': ['Not a valid string.']}}}}"},
			"a missing field":            {object{"lines": []any{object{}}}, "lines: {0: {'context': ['Missing data for required field.']}}"},
		} {
			body := c.user("1002")
			maps.Copy(body, bad.body)
			got := c.Do(http.MethodPost, "/users", body).Want(http.StatusBadRequest)
			if !strings.Contains(got.Body, bad.says) {
				t.Errorf("%s: %s", name, got.Body)
			}
			if after := counts(t, db); !reflect.DeepEqual(after, before) {
				t.Fatalf("%s left something: %v, before %v", name, after, before)
			}
		}
	})
}

// template returns the first SIP template of a tenant.
func template(t *testing.T, w *world, tenant string) string {
	t.Helper()
	return w.as(t, tenant).Get("/endpoints/sip/templates").List().Items[0].Text("uuid")
}

// A number that is there is used, and so is what it has.
func TestNestedUserTakesNumbers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newCompany(newWorld(t, db).as(t, "a"))
		there := c.Create("/extensions", object{"exten": "1001", "context": c.in})
		incall := c.Create("/extensions", object{"exten": "5551001", "context": c.from})
		got := c.Create("/users", c.user("1001"))
		if at(got, "lines.0.extensions.0.id") != there["id"] || at(got, "incalls.0.extensions.0.id") != incall["id"] {
			t.Errorf("%v", got)
		}
		twice := c.user("1002")
		twice["voicemail"], twice["incalls"] = nil, []any{}
		one := object{"context": c.in, "endpoint_sip": object{}, "extensions": []any{object{"exten": "1002"}}}
		twice["lines"] = []any{one, one}
		if got := c.Create("/users", twice); at(got, "lines.0.extensions.0.id") != at(got, "lines.1.extensions.0.id") {
			t.Errorf("%v", got["lines"])
		}
	})
}

func TestNestedUserRecursive(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newCompany(newWorld(t, db).as(t, "a"))
		empty := counts(t, db)
		made := c.Create("/users", c.user("1001"))
		path := "/users/" + made.Text("uuid")
		shown := c.Get(path)
		first := counts(t, db)

		// What was read can be written back, and changes nothing.
		c.Do(http.MethodPut, path+"?recursive=true", shown.Object()).Want(http.StatusNoContent)
		if after := counts(t, db); !reflect.DeepEqual(after, first) || c.Get(path).Body != shown.Body {
			t.Errorf("%v, before %v\n%s\n%s", after, first, c.Get(path).Body, shown.Body)
		}
		// What is not sent stays.
		line := fmt.Sprint(at(made, "lines.0.id"))
		c.Do(http.MethodPut, path+"?recursive=true", object{
			"lastname": "Two", "voicemail": object{"name": "Al Two"}, "forwards": object{"busy": object{"enabled": false}},
			"lines": []any{object{"id": at(made, "lines.0.id"), "position": 2, "endpoint_sip": object{"label": "desk"}, "extensions": []any{object{"exten": "1002"}}}},
		}).Want(http.StatusNoContent)
		got := c.Get(path).Object()
		for name, want := range map[string]any{
			"lastname": "Two", "voicemail.name": "Al Two", "voicemail.id": at(made, "voicemail.id"), "lines.0.extensions.0.exten": "1002",
			"lines.0.endpoint_sip.label": "desk", "lines.0.endpoint_sip.uuid": at(made, "lines.0.endpoint_sip.uuid"),
			"forwards.busy.enabled": false, "forwards.busy.destination": "123", "groups.0.uuid": c.group, "incalls.0.id": at(made, "incalls.0.id"),
		} {
			if at(got, name) != want {
				t.Errorf("%s is %v, want %v", name, at(got, name), want)
			}
		}
		if l := c.Get("/extensions?exten=1001").List(); l.Total != 0 {
			t.Errorf("the number that the line lost is left")
		}
		// The list is the whole: a second line comes before the first, which stays.
		c.Do(http.MethodPut, path+"?recursive=true", object{"lines": []any{
			object{"context": c.in, "endpoint_custom": object{"interface": "x"}}, object{"id": at(made, "lines.0.id")},
		}}).Want(http.StatusNoContent)
		if got := c.Get(path).Object(); at(got, "lines.0.name") != "x" || fmt.Sprint(at(got, "lines.1.id")) != line {
			t.Errorf("%v", got["lines"])
		}
		for _, bad := range []object{
			{"lines": []any{object{"id": 987654}}}, {"voicemail": object{"id": 987654}}, {"incalls": []any{object{"id": 987654}}},
		} {
			c.Do(http.MethodPut, path+"?recursive=true", bad).Want(http.StatusBadRequest).Says("was not found")
		}
		again := object{"id": at(made, "lines.0.id")}
		c.Do(http.MethodPut, path+"?recursive=true", object{"lines": []any{again, again}}).Want(http.StatusBadRequest).Says("Cannot associate same line more than once.")
		c.Do(http.MethodPut, path+"?recursive=true", object{"groups": []any{}, "incalls": []any{}, "voicemail": nil, "lines": []any{}}).Want(http.StatusNoContent)
		after := c.Get(path).Object()
		for _, name := range []string{"groups", "incalls", "lines"} {
			if list, _ := after[name].([]any); len(list) != 0 {
				t.Errorf("%s: %v", name, list)
			}
		}
		left := counts(t, db)
		if after["voicemail"] != nil || left["confd_line"]+left["confd_endpoint_sip"]+left["confd_endpoint_custom"]+left["confd_voicemail"] != 0 || left["confd_incall"] != 1 {
			t.Errorf("%v", left)
		}
		c.Do(http.MethodDelete, path+"?recursive=true", nil).Want(http.StatusNoContent)

		second := c.user("1003")
		second["incalls"] = nil
		delete(second, "incalls")
		c.Do(http.MethodDelete, "/users/"+c.Create("/users", second).Text("uuid")+"?recursive=true", nil).Want(http.StatusNoContent)
		gone := counts(t, db)
		for table, n := range empty {
			switch table {
			case "audit", "confd_incall", "confd_incall_extension", "confd_destination", "confd_extension": // the incall of the first
				continue
			}
			if gone[table] != n {
				t.Errorf("%s has %d rows, want %d", table, gone[table], n)
			}
		}
	})
}

// What others use too is not deleted with a user.
func TestNestedUserSharedStays(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newCompany(newWorld(t, db).as(t, "a"))
		made := c.Create("/users", c.user("1001"))
		other := c.Create("/users", object{"firstname": "Bo"})
		for _, what := range []string{"lines/" + fmt.Sprint(at(made, "lines.0.id")), "voicemails/" + fmt.Sprint(at(made, "voicemail.id"))} {
			c.Do(http.MethodPut, "/users/"+other.Text("uuid")+"/"+what, nil).Want(http.StatusNoContent)
		}
		c.Do(http.MethodDelete, "/users/"+made.Text("uuid"), nil).Want(http.StatusBadRequest).Says("User is associated with a Voicemail")
		c.Do(http.MethodDelete, "/users/"+made.Text("uuid")+"?recursive=false", nil).Want(http.StatusBadRequest)
		c.Do(http.MethodDelete, "/users/"+made.Text("uuid")+"?recursive=true", nil).Want(http.StatusNoContent)
		got := c.Get("/users/" + other.Text("uuid")).Object()
		if at(got, "lines.0.extensions.0.exten") != "1001" || at(got, "voicemail.id") != at(made, "voicemail.id") {
			t.Errorf("%v", got)
		}
		if incall := c.Get("/incalls").List().Items[0]; at(incall, "destination.type") != "none" {
			t.Errorf("%v", incall)
		}
	})
}

func TestNestedLine(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newCompany(newWorld(t, db).as(t, "a"))
		made := c.Create("/lines", object{"context": c.in, "endpoint_custom": object{"interface": "x"}, "extensions": []any{object{"exten": "1001"}}})
		if made["name"] != "x" || at(made, "extensions.0.exten") != "1001" || at(made, "endpoint_custom.id") == nil {
			t.Errorf("%v", made)
		}
		path := "/lines/" + fmt.Sprint(made["id"])
		c.Do(http.MethodPut, path, object{"extensions": []any{}}).Want(http.StatusNoContent) // without recursive it is ignored
		c.Do(http.MethodPut, path+"?recursive=true", c.Get(path).Object()).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path+"?recursive=true", object{"endpoint_custom": nil}).Want(http.StatusBadRequest).Says("Line is associated with a Extension")
		if got := c.Get(path).Object(); at(got, "extensions.0.exten") != "1001" || at(got, "endpoint_custom.id") == nil {
			t.Errorf("%v", got)
		}
		c.Do(http.MethodPut, path+"?recursive=true", object{"extensions": []any{}}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path+"?recursive=true", object{"endpoint_custom": nil}).Want(http.StatusNoContent)
		c.Do(http.MethodPut, path+"?recursive=true", object{"endpoint_sip": object{"label": "desk"}}).Want(http.StatusNoContent)
		if got := c.Get(path).Object(); at(got, "endpoint_sip.label") != "desk" {
			t.Errorf("%v", got)
		}
		c.Do(http.MethodDelete, path+"?recursive=true", nil).Want(http.StatusNoContent)
		if n := counts(t, db); n["confd_extension"]+n["confd_endpoint_custom"]+n["confd_endpoint_sip"]+n["confd_line"] != 0 {
			t.Errorf("%v", n)
		}
	})
}

// No body, however odd, does anything but what it says, or is answered with anything but a refusal.
func TestNestedBadBodies(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newCompany(newWorld(t, db).as(t, "a"))
		path := "/users/" + c.Create("/users", c.user("1001")).Text("uuid") + "?recursive=true"
		many := make([]any, 1001)
		for i := range many {
			many[i] = object{"context": c.in}
		}
		before := counts(t, db)
		for _, name := range []string{"voicemail", "lines", "incalls", "groups", "forwards", "fallbacks"} {
			for _, value := range []any{5, "x", true, []any{nil}, []any{5}, []any{[]any{}}, []any{object{"id": "x"}}, many, object{"busy": 5, "busy_destination": 5, "name": 5}} {
				if name != "incalls" || !reflect.DeepEqual(value, []any{object{"id": "x"}}) { // an id means nothing to a POST
					c.Do(http.MethodPost, "/users", object{"firstname": "X", name: value}).Want(http.StatusBadRequest)
				}
				c.Do(http.MethodPut, path, object{name: value}).Want(http.StatusBadRequest)
			}
		}
		for _, endpoint := range []any{5, []any{}, "x", object{"name": 5}, object{"templates": []any{5}}} {
			line := []any{object{"context": c.in, "endpoint_sip": endpoint}}
			c.Do(http.MethodPost, "/users", object{"firstname": "X", "lines": line}).Want(http.StatusBadRequest).Says("lines: {0: {'endpoint_sip': ")
			c.Do(http.MethodPut, path, object{"lines": line}).Want(http.StatusBadRequest).Says("lines: {0: {'endpoint_sip': ")
		}
		if after := counts(t, db); !reflect.DeepEqual(after, before) {
			t.Errorf("%v, before %v", after, before)
		}
	})
}

// Of several users who are made at once with one number exactly one gets it; the others are refused, and leave nothing.
func TestNestedUsersForOneNumber(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newCompany(newWorld(t, db).as(t, "a"))
		var made atomic.Int64
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				body := c.user("1001")
				body["firstname"] = fmt.Sprintf("User %d", i)
				delete(body, "voicemail")
				delete(body, "incalls")
				switch got, err := c.Try(t.Context(), http.MethodPost, "/users", body); {
				case err != nil:
					t.Error(err)
				case got.Status == http.StatusCreated:
					made.Add(1)
				case got.Status != http.StatusBadRequest && got.Status != http.StatusConflict:
					t.Errorf("%d %s", got.Status, got.Body)
				}
			})
		}
		all.Wait()
		n := counts(t, db)
		if made.Load() != 1 || n["confd_user"] != 1 || n["confd_line"] != 1 || n["confd_extension"] != 1 || n["confd_endpoint_sip"] != 1 {
			t.Errorf("%d were made: %v", made.Load(), n)
		}
	})
}

// What is named by its key is linked, and not made or changed.
func TestNestedUserLinksWhatIsThere(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c, other := newCompany(w.as(t, "a")), newCompany(w.as(t, "b"))
		box := c.Create("/voicemails", object{"name": "Box", "number": "1001", "context": c.in})
		number := c.Create("/extensions", object{"exten": "1001", "context": c.in})
		outside := c.Create("/extensions", object{"exten": "5551", "context": c.from})
		incall := c.Create("/incalls", object{"destination": object{"type": "none"}})
		sip := c.Create("/endpoints/sip", object{"label": "desk"})
		line := c.Create("/lines", object{"context": c.in, "endpoint_custom": object{"interface": "Local/1@x"}})
		before := counts(t, db)
		made := c.Create("/users", object{
			"firstname": "Al", "voicemail": object{"id": box["id"], "name": "Other"},
			"lines": []any{
				object{"context": c.in, "endpoint_sip": object{"uuid": sip["uuid"]}, "extensions": []any{object{"id": number["id"]}}}, object{"id": line["id"]},
			},
			"incalls": []any{object{"extensions": []any{object{"id": outside["id"]}}}, object{"id": incall["id"]}},
		})
		got := c.Get("/users/" + made.Text("id")).Object()
		for path, want := range map[string]any{
			"voicemail.id": box["id"], "voicemail.name": "Box", "lines.0.extensions.0.id": number["id"], "lines.0.endpoint_sip.uuid": sip["uuid"],
			"lines.1.id": line["id"], "incalls.0.id": incall["id"], "incalls.1.extensions.0.id": outside["id"],
		} {
			if at(got, path) != want {
				t.Errorf("%s is %v, want %v: %v", path, at(got, path), want, got)
			}
		}
		wantCallerID(c.Client, fmt.Sprintf("/lines/%v", at(made, "lines.0.id")), `Al|1001|"Al" <1001>`)
		if in := c.Get("/contexts?type=incall").List().Items[0]; at(in, "incall_ranges.0.start") != "5551" {
			t.Errorf("the range of the incall: %v", in["incall_ranges"])
		}
		after := counts(t, db)
		for table, more := range map[string]int{"confd_user": 1, "confd_line": 1, "confd_incall": 1, "confd_voicemail": 0, "confd_extension": 0, "confd_endpoint_sip": 0} {
			if after[table] != before[table]+more {
				t.Errorf("%s has %d more rows, want %d", table, after[table]-before[table], more)
			}
		}
		foreignBox := other.Create("/voicemails", object{"name": "Box", "number": "1001", "context": other.in})
		below := w.as(t, "a1").Create("/voicemails", object{"name": "Box", "number": "1001", "context": "of-a1"})
		for name, bad := range map[string]struct {
			body object
			says string
		}{
			"no voicemail":       {object{"voicemail": object{"id": 987654}}, "field 'voicemail': Voicemail was not found ('id': 987654)"},
			"a foreign one":      {object{"voicemail": object{"id": foreignBox["id"]}}, "Voicemail was not found"},
			"one of a tenant":    {object{"voicemail": object{"id": below["id"]}}, "different tenants"},
			"no key":             {object{"voicemail": object{"id": nil}}, "voicemail: {'number': ['Missing data for required field.']"},
			"a key of no type":   {object{"voicemail": object{"id": "1"}}, "voicemail: {'id': ['Not a valid integer.']}"},
			"no number":          {object{"incalls": []any{object{"extensions": []any{object{"id": 987654}}}}}, "Extension was not found"},
			"a number in use":    {object{"incalls": []any{object{"extensions": []any{object{"id": outside["id"]}}}}}, "Incall is associated with a Extension"},
			"a line twice":       {object{"lines": []any{object{"id": line["id"]}, object{"id": line["id"]}}}, "same line more than once"},
			"a device":           {object{"device_id": "abc"}, "Input Error - field 'device_id': Device was not found ('device_id': 'abc')"},
			"a device of a line": {object{"lines": []any{object{"context": c.in, "endpoint_sip": object{}, "device_id": "abc"}}}, "Device was not found ('device_id': 'abc')"},
		} {
			body := object{"firstname": "Bo"}
			maps.Copy(body, bad.body)
			if got := c.Do(http.MethodPost, "/users", body).Want(http.StatusBadRequest); !strings.Contains(got.Body, bad.says) {
				t.Errorf("%s: %s", name, got.Body)
			}
			if now := counts(t, db); now["confd_user"] != after["confd_user"] || now["confd_line"] != after["confd_line"] {
				t.Fatalf("%s left something", name)
			}
		}
		nameless := c.Create("/users", object{
			"firstname": "Cy", "lastname": "Two", "device_id": nil, "voicemail": object{"number": "1002", "context": c.in},
			"lines": []any{object{"context": c.in, "endpoint_sip": object{}, "device_id": ""}},
		})
		if at(nameless, "voicemail.name") != "Cy Two" {
			t.Errorf("the voicemail is %v", nameless["voicemail"])
		}
	})
}

// A change links what it names by its key too, and takes away what it does not name.
func TestNestedUserChangeLinksWhatIsThere(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c, other := newCompany(w.as(t, "a")), newCompany(w.as(t, "b"))
		made := c.Create("/users", object{"firstname": "Al", "lines": []any{object{"context": c.in, "endpoint_sip": object{}, "extensions": []any{object{"exten": "1001"}}}}})
		path := "/users/" + made.Text("uuid") + "?recursive=true"
		box := c.Create("/voicemails", object{"name": "Box", "number": "1001", "context": c.in})
		line := c.Create("/lines", object{"context": c.in, "endpoint_custom": object{"interface": "Local/1@x"}})
		incall := c.Create("/incalls", object{"destination": object{"type": "none"}})
		number := c.Create("/extensions", object{"exten": "1002", "context": c.in})
		foreign := other.Create("/voicemails", object{"name": "Box", "number": "1001", "context": other.in})
		before := counts(t, db)
		c.Do(http.MethodPut, path, object{
			"voicemail": object{"id": box["id"], "name": "Other"}, "incalls": []any{object{"id": incall["id"]}},
			"lines": []any{object{"id": line["id"]}, object{"id": at(made, "lines.0.id"), "extensions": []any{object{"id": number["id"]}}}},
		}).Want(http.StatusNoContent)
		got := c.Get("/users/" + made.Text("uuid")).Object()
		for name, want := range map[string]any{
			"voicemail.id": box["id"], "voicemail.name": "Box", "lines.0.id": line["id"], "lines.1.id": at(made, "lines.0.id"),
			"lines.1.extensions.0.id": number["id"], "incalls.0.id": incall["id"],
		} {
			if at(got, name) != want {
				t.Errorf("%s is %v, want %v: %v", name, at(got, name), want, got)
			}
		}
		if after := counts(t, db); after["confd_extension"] != before["confd_extension"]-1 || after["confd_line"] != before["confd_line"] || after["confd_incall"] != before["confd_incall"] {
			t.Errorf("%v, before %v", after, before)
		}
		c.Do(http.MethodPut, path, object{"voicemail": object{"id": foreign["id"]}}).Want(http.StatusBadRequest).Says("Voicemail was not found")
		holds := []string{"confd.users.#", "confd.lines.#", "confd.voicemails.#"}
		bo := "/users/" + c.Create("/users", object{"firstname": "Bo"}).Text("uuid") + "?recursive=true"
		d := newDoorkeeper(t, w.svc)
		d.holding(t, w.tenants["a"], "", holds...).Do(http.MethodPut, bo, object{"incalls": []any{object{"id": incall["id"]}}}).Want(http.StatusForbidden)
		d.holding(t, w.tenants["a"], "", append(holds, "!confd.users.*.voicemails."+box.Text("id")+".update")...).
			Do(http.MethodPut, bo, object{"voicemail": object{"id": box["id"]}}).Want(http.StatusForbidden)
		d.holding(t, w.tenants["a"], "", holds...).Do(http.MethodPut, bo, object{"voicemail": object{"id": box["id"]}}).Want(http.StatusNoContent)
	})
}

// Who is denied to link something is denied to name it in a user.
func TestNestedLinksAreDenied(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := newCompany(w.as(t, "a"))
		box := c.Create("/voicemails", object{"name": "Box", "number": "1001", "context": c.in})
		incall := c.Create("/incalls", object{"destination": object{"type": "none"}})
		d := newDoorkeeper(t, w.svc)
		for denied, body := range map[string]object{
			"!confd.users.*.voicemails." + box.Text("id") + ".update": {"voicemail": object{"id": box["id"]}},
			"!confd.incalls." + incall.Text("id") + ".update":         {"incalls": []any{object{"id": incall["id"]}}},
		} {
			body["firstname"] = "Al"
			d.holding(t, w.tenants["a"], "", "confd.#", denied).Do(http.MethodPost, "/users", body).Want(http.StatusForbidden)
		}
	})
}

// A refusal of a link says in which of the nested objects the value is.
func TestRefusedNestedLinkIsFound(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newCompany(newWorld(t, db).as(t, "a"))
		line := func(exten string) object {
			return object{"context": c.in, "endpoint_custom": object{"interface": "Local/" + exten}, "extensions": []any{object{"exten": exten}}}
		}
		problem := []resttest.Edit{resttest.Header("Accept", ""), resttest.Header("Accept", "application/json, application/problem+json")}
		body := object{"firstname": "Al", "lines": []any{line("1001"), line("9002")}}
		if got := c.Do(http.MethodPost, "/users", body, problem...).Want(http.StatusBadRequest).Body; !strings.Contains(got, `"pointer":"#/lines/1/extensions/0/exten"`) {
			t.Error(got)
		}
	})
}
