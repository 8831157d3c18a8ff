package confdsvc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/gate"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// holding is a client of tenant a for a caller with these accesses alone.
func (w *world) holding(tb testing.TB, accesses ...string) *resttest.Client {
	tb.Helper()
	set, err := acl.Compile(accesses)
	if err != nil {
		tb.Fatal(err)
	}
	c := w.as(tb, "a")
	c.Principal = &principal.Principal{UserUUID: uuid.NewString(), ACL: set, Affiliation: c.Principal.Affiliation}
	return c
}

func bulk(operations ...object) object { return object{"operations": operations} }

func create(path string, body object) object {
	return object{"method": http.MethodPost, "path": path, "body": body}
}

// said are the messages of a refusal.
func said(t *testing.T, a answer) (messages []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Body), &messages); err != nil {
		t.Fatalf("%s: %v", a.Body, err)
	}
	return messages
}

func TestBulk(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		u := c.Create("/users", object{"firstname": "Al"})
		user, tag := "/users/"+u.Text("id"), c.Get("/users/"+u.Text("id")).Header.Get("ETag")
		l := c.Create("/lines", object{"context": "default"})
		e := c.Create("/endpoints/custom", object{"interface": "Local/1@x"})
		done := c.Do(http.MethodPost, "/bulk", bulk(
			create("/users", object{"firstname": "Bo", "email": "bo@example.org"}),
			object{"method": "PUT", "path": "/lines/" + l.Text("id") + "/endpoints/custom/" + e.Text("id")},
			object{"method": "PUT", "path": user + "/lines", "body": object{"lines": []any{object{"id": l["id"]}}}},
			object{"method": "PUT", "path": user + "/services/dnd", "body": object{"enabled": true}},
			object{"method": "PUT", "path": user + "/funckeys/1", "body": object{"destination": object{"type": "custom", "exten": "1"}}},
			create("/phone-numbers/ranges", object{"start_number": "5550", "end_number": "5552"}),
			create("/contexts", object{"label": "gone"}),
			object{"method": "DELETE", "path": "/lines/" + c.Create("/lines", object{"context": "default"}).Text("id")},
		)).Want(http.StatusOK).Object()
		results := done["results"].([]any)
		var statuses []string
		for _, result := range results {
			statuses = append(statuses, fmt.Sprint(result.(map[string]any)["status"]))
		}
		if got := strings.Join(statuses, " "); got != "201 204 204 204 204 201 201 204" || done["dry_run"] != false {
			t.Errorf("%s: %v", got, done)
		}
		first := results[0].(map[string]any)
		made := strings.TrimPrefix(first["location"].(string), prefix)
		if read := c.Get(made).Want(http.StatusOK); read.Header.Get("ETag") != first["etag"] || read.Object().Text("uuid") != object(first["body"].(map[string]any)).Text("uuid") {
			t.Errorf("%v, read %s", first, read.Body)
		}
		if o := c.Get(user).Object(); len(o["lines"].([]any)) != 1 || !o.Same("services", object{"dnd": object{"enabled": true}, "incallfilter": object{"enabled": false}}) {
			t.Errorf("%v", o)
		}
		if n := c.Get("/phone-numbers").List().Total; n != 3 {
			t.Errorf("%d numbers", n)
		}
		// An operation may be on what one before it has made.
		group := object(c.Do(http.MethodPost, "/bulk", bulk(
			create("/groups", object{"label": "Sales"}),
			object{"method": "PUT", "path": "{0}/members/users", "body": object{"users": []any{object{"uuid": u["uuid"]}}}},
			object{"method": "PUT", "path": "{0}?recursive=false", "body": object{"label": "Sales team"}},
			create("/agents", object{"number": "9001"}),
			object{"method": "PUT", "path": user + "/agents/{3}"},
		)).Want(http.StatusOK).Object()["results"].([]any)[0].(map[string]any)["body"].(map[string]any)).Text("uuid")
		if agent := c.Get(user).Object()["agent"]; !strings.Contains(fmt.Sprint(agent), "9001") {
			t.Errorf("the agent is %v", agent)
		}
		if o := c.Get("/groups/" + group).Object(); o["label"] != "Sales team" || !strings.Contains(fmt.Sprint(o["members"]), u.Text("uuid")) {
			t.Errorf("%v", o)
		}
		// Its body has attributes of what one before it has answered, wherever they are in it; other texts stay as they are.
		nested := c.Do(http.MethodPost, "/bulk", bulk(
			create("/contexts", object{"label": "From {0.name}", "type": "incall", "incall_ranges": []any{object{"start": "555", "end": "555"}}}),
			create("/incalls?recursive=true", object{"destination": object{"type": "none"}, "description": "{0.name} x", "extensions": []any{object{"exten": "555", "context": "{0.name}"}}}),
			create("/contexts", object{"label": "Around"}),
			object{"method": "PUT", "path": "{2}/contexts", "body": object{"contexts": []any{object{"id": "{0.id}"}}}},
		)).Want(http.StatusOK).Object()["results"].([]any)
		within := object(nested[0].(map[string]any)["body"].(map[string]any))
		if got := fmt.Sprint(nested[1]); within["label"] != "From {0.name}" || !strings.Contains(got, "context:"+within.Text("name")) || !strings.Contains(got, "description:{0.name} x") {
			t.Errorf("made is %v with %s", within, got)
		}
		if around := c.Get("/contexts?label=Around").List().Items[0]; !strings.Contains(fmt.Sprint(around["contexts"]), "label:From {0.name}") {
			t.Errorf("around it is %v", around)
		}
		for _, text := range []string{"{1.name}", "{2.name}", "{0.nothing}"} {
			refused := c.Do(http.MethodPost, "/bulk", bulk(create("/contexts", object{"label": "x"}), create("/extensions", object{"exten": "1", "context": text}))).Want(http.StatusBadRequest)
			refused.Says("operations[1]: Input Error - The body names " + text[3:len(text)-1] + " of what operations[" + text[1:2] + "] has answered, and it has answered no such before")
		}
		if messages := said(t, c.Do(http.MethodPost, "/bulk", bulk(create("/contexts", object{"label": 1}), create("/extensions", object{"exten": "1", "context": "{0.name}"}))).
			Want(http.StatusBadRequest)); len(messages) != 1 || !strings.HasPrefix(messages[0], "operations[0]: ") {
			t.Errorf("what names an attribute of an object that was refused says more than that: %q", messages)
		}
		for _, path := range []string{"{1}", "{2}/fallbacks", "{0}/fallbacks", user + "/agents/{1}"} {
			c.Do(http.MethodPost, "/bulk", bulk(object{"method": "PUT", "path": user, "body": object{}}, object{"method": "PUT", "path": path, "body": object{}})).
				Want(http.StatusBadRequest).Says("operations[1]: Input Error - The path names what operations[" + path[strings.Index(path, "{")+1:][:1] + "] has made, and it has made nothing before")
		}
		if messages := said(t, c.Do(http.MethodPost, "/bulk", bulk(create("/groups", object{"label": 1}), object{"method": "PUT", "path": "{0}", "body": object{}})).
			Want(http.StatusBadRequest)); len(messages) != 1 || !strings.HasPrefix(messages[0], "operations[0]: Input Error - label: ") {
			t.Errorf("what is on an object that was refused says more than that: %q", messages)
		}
		// If-Match is of each operation.
		c.Do(http.MethodPost, "/bulk", bulk(object{"method": "PUT", "path": user, "body": object{"firstname": "Ed"}, "if_match": tag})).
			Want(http.StatusPreconditionFailed).Says("operations[0]: The object has changed")
		fresh := c.Get(user).Header.Get("ETag")
		c.Do(http.MethodPost, "/bulk", bulk(object{"method": "PUT", "path": user, "body": object{"firstname": "Ed"}, "if_match": fresh}),
			resttest.IfMatch(`"x"`)).Want(http.StatusBadRequest)
		c.Do(http.MethodPost, "/bulk", bulk(object{"method": "PUT", "path": user, "body": object{"firstname": "Ed"}, "if_match": fresh})).Want(http.StatusOK)
		if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM audit WHERE object = $1 AND action = 'update_user'`, u.Text("id")); err != nil || n == 0 {
			t.Errorf("%d entries of the audit, %v", n, err)
		}
	})
}

func TestBulkIsAllOrNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		c.Create("/users", object{"firstname": "Al", "email": "al@example.org"})
		count := func() string {
			n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM audit`)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(c.Get("/users").List().Total, c.Get("/contexts").List().Total, n)
		}
		before := count()
		refused := c.Do(http.MethodPost, "/bulk", bulk(
			create("/users", object{"firstname": "Bo"}),
			create("/users", object{"firstname": "Cy", "email": "AL@example.org"}),
			create("/contexts", object{"label": "in"}),
			create("/users", object{"firstname": 1, "enabled": "x"}),
			object{"method": "DELETE", "path": "/users/" + uuid.NewString()},
			create("/users", nil),
		)).Want(http.StatusBadRequest)
		messages := said(t, refused)
		for i, begins := range []string{
			"operations[1]: Resource Error - User already exists", "operations[3]: Input Error - firstname: ", "operations[3]: Input Error - enabled: ",
			"operations[4]: Resource Not Found - User was not found", "operations[5]: ",
		} {
			if len(messages) != 5 || !strings.HasPrefix(messages[i], begins) {
				t.Fatalf("%q, want %q at %d", messages, begins, i)
			}
		}
		// As a problem it has the paths of the values in the request.
		problem := c.Do(http.MethodPost, "/bulk", bulk(create("/users", object{"firstname": 1, "email": "AL@example.org"}), create("/users", object{"firstname": "Cy", "email": "AL@example.org"})),
			resttest.Header("Accept", "application/json, application/problem+json")).Want(http.StatusBadRequest)
		for _, pointer := range []string{`"#/operations/0/body/firstname"`, `"#/operations/1/body/email"`} {
			if !strings.Contains(problem.Body, pointer) {
				t.Errorf("nothing is said of %s: %s", pointer, problem.Body)
			}
		}
		dry := bulk(create("/users", object{"firstname": "Bo"}), create("/users", object{"firstname": "Cy"}))
		for _, path := range []string{"/bulk?dry_run=true", "/bulk"} {
			if path == "/bulk" {
				dry["dry_run"] = true
			}
			if got := c.Do(http.MethodPost, path, dry).Want(http.StatusOK).Object(); got["dry_run"] != true || len(got["results"].([]any)) != 2 {
				t.Errorf("%v", got)
			}
		}
		c.Do(http.MethodPost, "/bulk?dry_run=true", bulk(create("/users", object{"firstname": "Cy", "email": "al@example.org"}))).
			Want(http.StatusBadRequest).Says("operations[0]: Resource Error")
		if after := count(); after != before {
			t.Errorf("%s, before %s", after, before)
		}
		// One operation sees what those before it have done.
		c.Do(http.MethodPost, "/bulk", bulk(create("/users", object{"firstname": "D", "email": "d@example.org"}), create("/users", object{"firstname": "D", "email": "d@example.org"}))).
			Want(http.StatusBadRequest).Says("operations[1]: Resource Error - User already exists")
		many := make([]object, 101)
		for i := range many {
			many[i] = create("/users", object{"firstname": "x"})
		}
		c.Do(http.MethodPost, "/bulk", bulk(many...)).Want(http.StatusBadRequest).Says("operations")
		c.Do(http.MethodPost, "/bulk", bulk()).Want(http.StatusBadRequest)
		c.Do(http.MethodPost, "/bulk", bulk(create("/voicemails", object{"name": "x", "description": strings.Repeat("x", 2<<20)}))).
			Want(http.StatusRequestEntityTooLarge).Says("operations[0]: ")
		c.Do(http.MethodPost, "/bulk", bulk(create("/users", object{"firstname": "x", "description": strings.Repeat("x", 5<<20)}))).
			Want(http.StatusRequestEntityTooLarge)
		if after := count(); after != before {
			t.Errorf("%s, before %s", after, before)
		}
	})
}

// An operation needs the access that it needs by itself, and reaches nothing else.
func TestBulkAccesses(t *testing.T) { storetest.Each(t, testBulkAccesses) }

func testBulkAccesses(t *testing.T, db store.DB) {
	w := newWorld(t, db)
	all := w.as(t, "a")
	u := all.Create("/users", object{"firstname": "Al"})
	byID, byUUID := "/users/"+u.Text("id"), "/users/"+u.Text("uuid")
	change := func(path string) object {
		return object{"method": "PUT", "path": path, "body": object{"firstname": "Bo"}}
	}
	for _, test := range []struct {
		accesses string
		sent     object
		status   int
		says     string
	}{
		{"confd.bulk.create", change(byID), 403, "Unauthorized for confd.users." + u.Text("id") + ".update"},
		{"confd.bulk.create confd.users.*.read", change(byID), 403, "Unauthorized"},
		{"confd.bulk.create confd.users.*.update", change(byID), 200, ""},
		{"confd.bulk.create confd.users.*.update", change("/users/" + strings.ToUpper(u.Text("uuid"))), 200, ""},
		{"confd.# !confd.users." + u.Text("uuid") + ".update", change(byUUID), 403, "Unauthorized"},
		{"confd.# !confd.users." + u.Text("uuid") + ".update", change(byID), 403, "Your token denies confd.users." + u.Text("uuid") + ".update"},
		{"confd.bulk.create confd.users.create", create("/lines", object{"context": "default"}), 403, "Unauthorized for confd.lines.create"},
		{"confd.bulk.create", create("/nothing", object{}), 403, "Unauthorized for confd.#"},
		{"confd.#", create("/nothing", object{}), 404, "operations[0]: "},
		{"confd.#", object{"method": "DELETE", "path": "/users"}, 405, "does not take this method"},
		{"confd.#", create("/bulk", bulk(create("/users", object{"firstname": "x"}))), 400, "cannot be one of several"},
		{"confd.#", create("/users/", object{"firstname": "x"}), 400, "operations[0]: "},
		{"confd.#", create("//users", object{"firstname": "x"}), 400, "operations[0]: "},
		{"confd.#", create("/../../auth/0.1/users", object{"username": "x"}), 400, "operations[0]: "},
		{"confd.#", create("/%2e%2e/users", object{}), 400, "operations[0]: "},
		{"confd.#", create("/users%2f1", object{}), 400, "operations[0]: "},
		{"confd.#", create("/users#x", object{"firstname": "x"}), 400, "operations[0]: "},
		{"confd.#", create("users", object{"firstname": "x"}), 404, "operations[0]: "},
		{"confd.#", create("0/users", object{"firstname": "x"}), 404, "operations[0]: "},
		{"confd.#", create("https://x/users", object{"firstname": "x"}), 400, "operations[0]: "},
		{"confd.#", create("/users?a=1&%zz", object{"firstname": "x"}), 400, "operations[0]: "},
		{"confd.#", object{"method": "GET", "path": byID}, 400, "method"},
		{"confd.#", object{"method": "put", "path": byID}, 400, "method"},
	} {
		got := w.holding(t, strings.Fields(test.accesses)...).Do(http.MethodPost, "/bulk", bulk(test.sent)).Want(test.status)
		if test.says != "" {
			got.Says(test.says)
		}
	}
	// Another tenant's objects do not exist, and the header chooses the tenant of all operations.
	w.as(t, "b").Do(http.MethodPost, "/bulk", bulk(change(byID))).Want(http.StatusNotFound).Says("User was not found")
	w.as(t, "a").Do(http.MethodPost, "/bulk", bulk(create("/users", object{"firstname": "below"})), resttest.In(w.tenants["a1"])).Want(http.StatusOK)
	if l := w.as(t, "a1").Get("/users").List(); l.Total != 1 || l.Items[0].Text("tenant_uuid") != w.tenants["a1"] {
		t.Errorf("%v", l)
	}
	w.as(t, "a1").Do(http.MethodPost, "/bulk", bulk(change(byID)), resttest.In(w.tenants["a"])).Want(http.StatusUnauthorized)
	if got := all.Get(byID).Object(); got.Text("firstname") != "Bo" {
		t.Errorf("%v", got)
	}
	if l := all.Get("/users").List(); l.Total != 1 {
		t.Errorf("%v", l)
	}
}

// callers are the principals of tokens.
type callers map[string]*principal.Principal

func (t callers) Principal(_ context.Context, token string) (*principal.Principal, error) {
	if p := t[token]; p != nil {
		return p, nil
	}
	return nil, errors.New("unknown")
}

func (callers) Shape(string) bool { return true }

// Through the gate, /bulk itself needs confd.bulk.create, and each operation what it needs by itself.
func TestBulkThroughTheGate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		held := callers{
			"users": w.holding(t, "confd.users.create").Principal, "bulk": w.holding(t, "confd.bulk.create").Principal,
			"both": w.holding(t, "confd.users.create", "confd.bulk.create").Principal,
		}
		g, err := gate.New(gate.Config{Routers: gate.Services([]*rest.Service{w.svc}), Tokens: held})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if admitted, ok := g.Admit(rw, r); ok {
				w.svc.ServeHTTP(admitted.Writer, admitted.Request)
			}
		}))
		defer server.Close()
		send := func(token string) answer {
			return resttest.At(t, server.Client(), server.URL+prefix).Do(http.MethodPost, "/bulk",
				bulk(create("/users", object{"firstname": "Al"}), create("/users", object{"firstname": "Bo"})), resttest.Header("X-Auth-Token", token))
		}
		send("users").Want(http.StatusForbidden).Says("confd.bulk.create")
		if messages := said(t, send("bulk").Want(http.StatusForbidden)); len(messages) != 2 || messages[1] != "operations[1]: Unauthorized for confd.users.create: the token does not hold this access" {
			t.Errorf("%q", messages)
		}
		if l := w.as(t, "a").Get("/users").List(); l.Total != 0 {
			t.Errorf("%v", l)
		}
		send("both").Want(http.StatusOK)
		if l := w.as(t, "a").Get("/users").List(); l.Total != 2 {
			t.Errorf("%v", l)
		}
	})
}

// All others wait for SQLite's only writer while a request makes objects: those of its operations, and those that are nested in one.
func TestARequestMakesFewObjects(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		in := withRanges(c, "internal", nil)
		made := 0
		lines := func(n int) (list []object) {
			for range n {
				made++
				list = append(list, object{"context": in, "endpoint_custom": object{"interface": fmt.Sprint("Local/", made)}})
			}
			return list
		}
		const refused = "A request makes at most 100 objects: send several"
		var many []object
		for range 34 { // three objects each
			many = append(many, create("/users", object{"firstname": "x", "lines": lines(1)}))
		}
		c.Do(http.MethodPost, "/bulk", bulk(many...)).Want(http.StatusBadRequest).Says("operations[33]: Input Error - " + refused)
		c.Do(http.MethodPost, "/users", object{"firstname": "x", "lines": lines(50)}).Want(http.StatusBadRequest).Says(refused)
		if n := c.Get("/users").List().Total; n != 0 {
			t.Errorf("%d users", n)
		}
		c.Do(http.MethodPost, "/bulk?dry_run=true", bulk(many[:33]...)).Want(http.StatusOK)
		user := "/users/" + c.Create("/users", object{"firstname": "x", "lines": lines(49)}).Text("uuid")
		sent := c.Get(user).Object()["lines"].([]any)
		for _, line := range lines(51) {
			sent = append(sent, line)
		}
		c.Do(http.MethodPut, user+"?recursive=true", object{"lines": sent}).Want(http.StatusBadRequest).Says(refused)
	})
}
