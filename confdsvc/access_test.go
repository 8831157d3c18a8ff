package confdsvc_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
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
	"github.com/ringfence/ringfence/internal/tokens"
)

// accesses are what existing clients' tokens hold for each operation, as the existing platform documents and checks them: method,
// path and access, with {} for each parameter. It has operations that are not served yet, too.
//
//go:embed testdata/accesses.tsv
var accesses string

// ours are the operations that the existing platform does not have.
var ours = map[string]string{
	"POST /bulk":        "confd.bulk.create",
	"GET /users/import": "confd.users.import.read",
}

// public need no token.
var public = []string{"GET /api/api.yml", "GET /api/openapi.json", "GET /wizard", "POST /wizard", "GET /wizard/discover"}

// documented returns the access of each operation of the existing platform.
func documented() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(accesses) {
		field := strings.Split(strings.TrimSpace(line), "\t")
		all[field[0]+" "+field[1]] = field[2]
	}
	maps.Copy(all, ours)
	return all
}

// doorkeeper is the gate in front of the service, for callers whose tokens the test makes up.
type doorkeeper struct {
	*gate.Gate
	svc     *rest.Service
	callers map[string]*principal.Principal
}

func newDoorkeeper(t *testing.T, svc *rest.Service) *doorkeeper {
	t.Helper()
	d := &doorkeeper{svc: svc, callers: map[string]*principal.Principal{}}
	var err error
	if d.Gate, err = gate.New(gate.Config{Routers: gate.Services([]*rest.Service{svc}), Tokens: d}); err != nil {
		t.Fatal(err)
	}
	return d
}

// guardedCompany returns a company of the tenant "a", and the doorkeeper of its service.
func guardedCompany(t *testing.T, db store.DB) (*world, company, *doorkeeper) {
	t.Helper()
	w := newWorld(t, db)
	return w, newCompany(w.as(t, "a")), newDoorkeeper(t, w.svc)
}

func (*doorkeeper) Shape(string) bool { return true }

func (d *doorkeeper) Principal(_ context.Context, token string) (*principal.Principal, error) {
	if p := d.callers[token]; p != nil {
		return p, nil
	}
	return nil, tokens.ErrUnknown
}

func (d *doorkeeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a, ok := d.Admit(w, r); ok {
		d.svc.ServeHTTP(a.Writer, a.Request)
	}
}

// holding returns a client of a user with these accesses alone.
func (d *doorkeeper) holding(t *testing.T, tenant, user string, patterns ...string) *resttest.Client {
	t.Helper()
	set, err := acl.Compile(patterns)
	if err != nil {
		t.Fatal(err)
	}
	token := tokens.New()
	d.callers[token] = &principal.Principal{UserUUID: user, ACL: set, Affiliation: &principal.Affiliation{TenantUUID: tenant, Purpose: "user"}}
	return resttest.To(t, d, prefix, nil).With(resttest.Header("X-Auth-Token", token))
}

var parameters = regexp.MustCompile(`\{\w+\}`)

// Every operation is let through with the access that existing clients hold for it, and with no other.
func TestEveryOperationNeedsItsAccess(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		master := w.as(t, "master")
		params := everyKind(master)
		d := newDoorkeeper(t, w.svc)
		fill := func(text string) string {
			return parameters.ReplaceAllStringFunc(text, func(in string) string {
				if value, ok := params[in[1:len(in)-1]]; ok {
					return value
				}
				return "1"
			})
		}
		want := documented()
		var definition struct {
			Paths map[string]map[string]json.RawMessage `json:"paths"`
		}
		resttest.Decode(t, resttest.To(t, d, prefix, nil).Get("/api/openapi.json").Want(200).Body, &definition)
		type operation struct {
			method, path, access string
			missing              bool // it answers only that it is not there
		}
		var operations []operation
		for path, methods := range definition.Paths {
			for method, said := range methods {
				if method == "parameters" {
					continue
				}
				name := strings.ToUpper(method) + " " + parameters.ReplaceAllString(path, "{}")
				access, ok := want[name]
				switch {
				case slices.Contains(public, name):
				case !ok:
					t.Errorf("%s is in no table: which access do existing clients hold for it?", name)
				default:
					for _, parameter := range parameters.FindAllString(path, strings.Count(access, "{}")) {
						access = strings.Replace(access, "{}", parameter, 1)
					}
					operations = append(operations, operation{strings.ToUpper(method), fill(path), fill(access), strings.Contains(string(said), `"x-unimplemented":`)})
				}
			}
		}
		order := []string{"GET", "HEAD", "POST", "PUT", "DELETE"} // what is deleted can no longer be read
		slices.SortFunc(operations, func(a, b operation) int {
			return 10*(slices.Index(order, a.method)-slices.Index(order, b.method)) + strings.Compare(a.path, b.path)
		})
		if len(operations) < 100 {
			t.Errorf("only %d operations", len(operations))
		}
		tenant := w.tenants["master"]
		for _, op := range operations {
			body := ""
			if op.method == "POST" || op.method == "PUT" {
				body = "{}"
			}
			resttest.To(t, d, prefix, nil).Do(op.method, op.path, body).Want(http.StatusUnauthorized)
			resttest.To(t, d, prefix, nil).Do(op.method, op.path, body, resttest.Header("X-Auth-Token", tokens.New())).Want(http.StatusUnauthorized)
			for what, patterns := range map[string][]string{
				"none": {}, "all but it": {"#", "!" + op.access}, "of another action": otherActions(op.access), "of another service": {"auth.#"},
				"of its parent and its children": {op.access[:strings.LastIndexByte(op.access, '.')], op.access + ".#"},
			} {
				if got := d.holding(t, tenant, uuid.NewString(), patterns...).Do(op.method, op.path, body); got.Status != http.StatusForbidden {
					t.Errorf("%s %s with the accesses %s, %q: %d %s", op.method, op.path, what, patterns, got.Status, got.Body)
				}
			}
			got := d.holding(t, tenant, uuid.NewString(), op.access).Do(op.method, op.path, body)
			if got.Status == http.StatusUnauthorized || got.Status == http.StatusForbidden || (got.Status >= 500) != op.missing || op.missing && got.Status != http.StatusNotImplemented {
				t.Errorf("%s %s with %s: %d %s", op.method, op.path, op.access, got.Status, got.Body)
			}
		}
	})
}

// otherActions returns the accesses of what else could be done in the same place.
func otherActions(access string) []string {
	at := strings.LastIndexByte(access, '.')
	var out []string
	for _, action := range []string{"read", "create", "update", "delete", "get"} {
		if action != access[at+1:] {
			out = append(out, access[:at+1]+action)
		}
	}
	return out
}

// A telephone user's token, whose accesses say `me`, reaches that user alone: by no path of another user, by no other key of the
// same one, and not by the word itself in place of a key.
func TestMeIsTheTokensOwnUser(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		al, bo := c.Create("/users", object{"firstname": "Al"}), c.Create("/users", object{"firstname": "Bo"})
		d := newDoorkeeper(t, w.svc)
		me := d.holding(t, w.tenants["a"], al.Text("uuid"), "confd.users.me.#")
		nobody := d.holding(t, w.tenants["a"], uuid.NewString(), "confd.users.me.#")
		elsewhere := d.holding(t, w.tenants["b"], al.Text("uuid"), "confd.users.me.#")
		body := `{"busy":{"enabled":true,"destination":"1"}}`
		for _, part := range []string{"", "/forwards", "/services", "/funckeys", "/fallbacks", "/voicemails", "/callerids/outgoing", "/cti"} {
			me.Get("/users/" + al.Text("uuid") + part).Want(http.StatusOK)
			me.Get("/users/" + strings.ToUpper(al.Text("uuid")) + part).Want(http.StatusOK) // the same one
			elsewhere.Get("/users/" + al.Text("uuid") + part).Want(http.StatusNotFound)
			for _, path := range []string{
				"/users/" + bo.Text("uuid") + part, "/users/" + bo.Text("id") + part, "/users/" + al.Text("id") + part,
			} {
				if got := me.Get(path); got.Status != http.StatusForbidden && got.Status != http.StatusNotFound {
					t.Errorf("GET %s: %d %s", path, got.Status, got.Body)
				}
				if got := me.Do(http.MethodPut, path, body); got.Status < 400 {
					t.Errorf("PUT %s: %d %s", path, got.Status, got.Body)
				}
			}
			for _, path := range []string{"/users/" + al.Text("uuid") + part, "/users/" + bo.Text("uuid") + part} {
				nobody.Get(path).Want(http.StatusForbidden)
			}
			if got := me.Get("/users/me" + part); got.Status < 400 {
				t.Errorf("GET /users/me%s: %d %s", part, got.Status, got.Body)
			}
		}
		me.Do(http.MethodPut, "/users/"+al.Text("uuid")+"/forwards", body).Want(http.StatusNoContent)
		if got := c.Get("/users/" + bo.Text("uuid") + "/forwards"); strings.Contains(got.Body, "true") {
			t.Errorf("another user's forwards were changed: %s", got.Body)
		}
		me.Get("/users").Want(http.StatusForbidden)
	})
}
