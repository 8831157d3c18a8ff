// Package crudtest tries the resources of a service by what they declare to package crud: it makes, reads, changes, lists, links
// and deletes them, in several tenants, by good and by bad requests, on both databases. A resource says how to make one
// of its objects, and what is particular about it; its own tests have its own rules alone.
package crudtest

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Object is a JSON object.
type Object = resttest.Object

// Suite is a service with its resources.
type Suite struct {
	// Described is what the service declares.
	Described crud.Described
	// Mount starts the service on a database, in which it may make what must be there before all: an administrator. The master tenant
	// is made when it has not done so.
	Mount func(tb testing.TB, db store.DB) *rest.Service
	// Access is all that the service has: "confd.#".
	Access string
	// Resources are those that are tested, by the paths of their collections. A collection that is missing here fails the test, and so
	// does an operation of the declarations that has never succeeded, or never refused a request.
	Resources map[string]Resource
	// Documents are the same for documents, by their paths.
	Documents map[string]Document
}

// Rows returns a zero value of the row struct of each collection and each document of a service, by table.
func Rows(d crud.Described) map[string]any {
	out := map[string]any{}
	for _, k := range d.Collections {
		out[k.Table] = reflect.Zero(k.Of).Interface()
	}
	for _, k := range d.Documents {
		out[k.Table] = reflect.Zero(k.Of).Interface()
	}
	return out
}

// Resource is what the suite must know of a collection beyond what it declares.
type Resource struct {
	// Minimal is the smallest body of an object. Every n makes another object, in whatever tenant; what the object needs may
	// be made by c, in the tenant that c acts in.
	Minimal func(c *Client, n int) Object
	// Make makes an object of a collection that has no create, in c's tenant, and returns it as lists show it. If clients cannot make
	// one at all, it returns one that exists already.
	Make func(c *Client, n int) Object
	// Values are good values of fields whose examples are none, or that must be others for every n.
	Values func(n int) Object
	// Except are fields that cannot be set by themselves, or not at all, and read-only ones that a create refuses, or that are also a word
	// for another field.
	Except []string
	// Follow are fields that change when another does: {"enabled": {"commented"}}.
	Follow map[string][]string
	// Defaults are the values of fields on create where they are not those of the schema.
	Defaults Object
	// Links is what is particular about links, by the path below the left object: the left collection's resource has it.
	Links map[string]Link
	// Preset says that a tenant has some of the objects from its beginning. They are deleted before a check; Stays says that clients cannot.
	Preset, Stays bool
	// Parts are changes of parts, by their paths: {"forwards": {"busy": {"enabled": true, "destination": "1"}}}.
	Parts map[string]Object
}

// Link is what is particular about a link.
type Link struct {
	// Ready makes what else must be there before the two can be linked.
	Ready func(c *Client, left, right Object)
	// Kept says which sides cannot be deleted while they are linked though the link does not say so: their resource's Guard does.
	Kept []string // "left", "right"
	// Refused is an access of callers who may neither make nor end a link that gives rights, of two objects that Ready has prepared.
	Refused string
}

// Client is somebody who may do all that the service has, in one tenant.
type Client struct {
	*resttest.Client

	Tenant string
	w      *world
}

// Once makes something that a tenant has once, when it is first asked for: a context for all extensions of a test.
func (c *Client) Once(what string, create func() Object) Object {
	key := c.Tenant + what
	if c.w.made[key] == nil {
		c.w.made[key] = create()
	}
	return c.w.made[key]
}

// In is the same caller, who acts in another tenant.
func (c *Client) In(tenant string) *Client {
	return &Client{Client: c.With(resttest.Header("Wazo-Tenant", tenant)), Tenant: tenant, w: c.w}
}

// holding is somebody else of the same tenant, who has these accesses alone.
func (c *Client) holding(accesses ...string) *Client {
	c.T.Helper()
	return c.w.holder(c.T, c.Tenant, accesses...)
}

// Run runs the suite: a test for each database, within it one for each resource, and within that one for each check.
func (s Suite) Run(t *testing.T) {
	for _, k := range s.Described.Collections {
		if _, ok := s.Resources[k.Path]; !ok {
			t.Errorf("the suite does not try %s", k.Path)
		}
	}
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := &world{Suite: s, db: db, coverage: cover(s.Mount(t, db)), made: map[string]Object{}}
		w.findMaster(t)
		for _, k := range s.Described.Collections {
			if r, ok := s.Resources[k.Path]; ok {
				t.Run(strings.ReplaceAll(k.Path, "/", "_"), func(t *testing.T) { w.try(t, k, r) })
			}
		}
		w.tryDocuments(t)
		t.Run("every operation", w.everyOperation)
		t.Run("no database", w.withoutDatabase) // the last: it is closed
	})
}

// withoutDatabase: a database that cannot answer is 503 with Retry-After, and not a refusal.
func (w *world) withoutDatabase(t *testing.T) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // each of these is logged
	t.Cleanup(func() { slog.SetDefault(before) })
	c := w.client(t, w.master)
	bodies := map[string]Object{}
	for _, k := range w.Described.Collections {
		if r := w.Resources[k.Path]; r.Minimal != nil {
			bodies[k.Path] = r.Minimal(c, w.next())
		}
	}
	if err := w.db.Close(); err != nil {
		t.Fatal(err)
	}
	w.documentsWithoutDatabase(c)
	for _, k := range w.Described.Collections {
		for operation, method := range map[string]string{
			"list": http.MethodGet, "create": http.MethodPost, "read": http.MethodGet, "update": http.MethodPut, "delete": http.MethodDelete,
		} {
			path, body := "/"+k.Path+"/1", any(nil)
			switch operation {
			case "list":
				path = "/" + k.Path
			case "create":
				if body = bodies[k.Path]; k.MadeAs == "" {
					path = "/" + k.Path
				}
			case "update":
				body = Object{}
			}
			if !slices.Contains(k.Only, operation) {
				continue
			}
			got := c.Do(method, path, body).Want(http.StatusServiceUnavailable).Says("database cannot answer")
			if got.Header.Get("Retry-After") == "" {
				t.Errorf("%s %s: no Retry-After", method, path)
			}
		}
	}
}

// world is one database, which all resources share. Each check has tenants of its own.
type world struct {
	Suite

	db       store.DB
	coverage *coverage
	master   string
	made     map[string]Object
	n        int // of the last object, tenant or other thing that must be another
}

func (w *world) next() int {
	w.n++
	return w.n
}

// findMaster finds the master tenant, and makes it when the service has not.
func (w *world) findMaster(t *testing.T) {
	master, err := store.Get[string](t.Context(), w.db, `SELECT uuid FROM auth_tenant WHERE uuid = parent_uuid`)
	switch {
	case errors.Is(err, store.ErrNotFound):
		w.master = uuid.NewString()
		w.addTenant(t, w.master, w.master)
	case err != nil:
		t.Fatal(err)
	default:
		w.master = master
	}
}

func (w *world) addTenant(tb testing.TB, tenant, parent string) {
	tb.Helper()
	if _, err := w.db.Exec(tb.Context(), `INSERT INTO auth_tenant (uuid, parent_uuid, name, slug) VALUES ($1, $2, $3, $3)`,
		tenant, parent, fmt.Sprintf("t%d", w.next())); err != nil {
		tb.Fatal(err)
	}
}

func (w *world) client(tb testing.TB, tenant string) *Client {
	tb.Helper()
	return w.holder(tb, tenant, w.Access)
}

// holder is a caller of a tenant with these accesses.
func (w *world) holder(tb testing.TB, tenant string, accesses ...string) *Client {
	tb.Helper()
	set, err := acl.Compile(accesses)
	if err != nil {
		tb.Fatal(err)
	}
	p := &principal.Principal{UserUUID: uuid.NewString(), ACL: set, Affiliation: &principal.Affiliation{TenantUUID: tenant, Purpose: "external_api"}}
	return &Client{Client: resttest.To(tb, w.coverage, w.Described.Prefix, p), Tenant: tenant, w: w}
}

// trial is one check of a collection. Of its tenants a and b are below top, and a1 is below a; but where the collection is no tenant's, a is
// the master tenant.
type trial struct {
	*testing.T
	*world

	k             *declaration.Entity
	r             Resource
	top, a, b, a1 *Client
	// before are the objects of a tenant and those below it that are not the check's, by tenant and name. Tenants have no others,
	// unless lists show all below, or the collection has no create.
	before map[string][]string
}

func (w *world) try(t *testing.T, k *declaration.Entity, r Resource) {
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		able := k.Scope == crud.PerTenant || !slices.Contains(withTenants, name)
		for _, letter := range checks[name].needs {
			able = able && slices.ContainsFunc(k.Only, func(op string) bool { return rune(op[0]) == letter })
		}
		if able && (name != "owned by no tenant" || k.Scope != crud.PerTenant) {
			t.Run(name, func(t *testing.T) { checks[name].check(w.trial(t, k, r)) })
		}
	}
}

// checks are the checks of a collection, with the operations that each needs, by their first letters. The other operations are
// tested where the collection has them.
var checks = map[string]struct {
	needs string
	check func(x *trial)
}{
	"create and read": {"crl", (*trial).createAndRead}, "list and read": {"l", (*trial).listAndRead}, "keys": {"r", (*trial).keys},
	"fields": {"ru", (*trial).fields}, "update": {"ru", (*trial).update}, "delete": {"crld", (*trial).remove}, "pages": {"l", (*trial).pages},
	"order": {"l", (*trial).order}, "search": {"l", (*trial).search}, "filters": {"l", (*trial).filters}, "queries": {"l", (*trial).badQueries},
	"other tenants": {"l", (*trial).otherTenants}, "tenants below": {"l", (*trial).tenantsBelow}, "tenant header": {"l", (*trial).tenantHeader},
	"remote": {"crl", (*trial).remoteTenant}, "versions": {"ru", (*trial).versions}, "at once": {"ru", (*trial).atOnce},
	"owned by no tenant": {"rlu", (*trial).unowned}, "audit": {"crud", (*trial).audit}, "bodies": {"ru", (*trial).badBodies},
	"values": {"ru", (*trial).badValues}, "negotiation": {"l", (*trial).negotiation}, "references": {"cru", (*trial).references},
	"links": {"cr", (*trial).links}, "lists": {"cr", (*trial).lists}, "parts": {"cr", (*trial).parts}, "children": {"", (*trial).children},
	"chosen fields": {"crl", (*trial).chosen},
}

// withTenants are the checks of what each tenant has its own of.
var withTenants = []string{"other tenants", "tenants below", "tenant header", "remote"}

func (w *world) trial(t *testing.T, k *declaration.Entity, r Resource) *trial {
	t.Helper()
	top, a, b, a1 := uuid.NewString(), uuid.NewString(), uuid.NewString(), uuid.NewString()
	for _, tenant := range [][2]string{{top, w.master}, {a, top}, {b, top}, {a1, a}} {
		w.addTenant(t, tenant[0], tenant[1])
	}
	if k.MadeAs != "" {
		seen := *k
		seen.Keys, seen.Names, k = []string{k.MadeAs}, nil, &seen
	}
	x := &trial{T: t, world: w, k: k, r: r, before: map[string][]string{}}
	if k.Scope != crud.PerTenant {
		a = w.master
	}
	if k.Scope != crud.PerTenant && x.can("create") {
		if _, err := w.db.Exec(t.Context(), "DELETE FROM "+k.Table); err != nil { // what the checks before have made
			t.Fatal(err)
		}
	}
	x.top, x.a, x.b, x.a1 = w.client(t, top), w.client(t, a), w.client(t, b), w.client(t, a1)
	for _, c := range []*Client{x.top, x.a, x.b, x.a1} {
		x.enter(c)
	}
	return x
}

// can reports whether the collection has an operation.
func (x *trial) can(operation string) bool { return slices.Contains(x.k.Only, operation) }

// enter prepares a tenant: it deletes the objects that every tenant gets, and remembers those that cannot be deleted.
func (x *trial) enter(c *Client) {
	x.Helper()
	switch {
	case x.r.Preset:
		preset := c.Get(x.all()).List()
		if len(preset.Items) == 0 {
			x.Errorf("a new tenant has no %s", x.k.Path)
		}
		for _, o := range preset.Items {
			if !x.r.Stays {
				c.Do(http.MethodDelete, x.at(o), nil).Want(http.StatusNoContent)
				continue
			}
			c.Do(http.MethodDelete, x.at(o), nil).Want(http.StatusBadRequest)
			if _, err := x.db.Exec(x.Context(), "DELETE FROM "+x.k.Table+" WHERE tenant_uuid = $1", c.Tenant); err != nil {
				x.Fatal(err)
			}
		}
	case x.can("list") && (x.k.Subtree || !x.can("create")) && (x.k.Scope != crud.Master || c.Tenant == x.master):
		for _, o := range c.Get(x.all() + "?recurse=true").List().Items {
			x.before[c.Tenant] = append(x.before[c.Tenant], x.name(o))
		}
	}
}

// holds fails the test unless a list is what c's tenant has: these objects, and those that are not the check's.
func (x *trial) holds(c *Client, l resttest.List, want ...Object) {
	x.Helper()
	if l.Total != len(l.Items) {
		x.Errorf("the total is %d of %d", l.Total, len(l.Items))
	}
	for _, o := range want {
		if !slices.ContainsFunc(l.Items, func(item Object) bool { return reflect.DeepEqual(item, o) }) {
			x.Errorf("%v is not in the list %v", o, l.Items)
		}
	}
	for _, item := range l.Items {
		ours := slices.ContainsFunc(want, func(o Object) bool { return x.name(o) == x.name(item) })
		if !ours && !slices.Contains(x.before[c.Tenant], x.name(item)) {
			x.Errorf("%v is in the list of %v", item, want)
		}
	}
}

// minimal is the body of a new object, with more.
func (x *trial) minimal(c *Client, more Object) Object {
	body := Object{}
	if x.r.Minimal != nil {
		maps.Copy(body, x.r.Minimal(c, x.next()))
	}
	maps.Copy(body, more)
	return body
}

// values are good values of fields, never the same twice.
func (x *trial) values() Object {
	if x.r.Values == nil {
		return nil
	}
	return x.r.Values(x.next())
}

// make makes an object of the collection. If the collection has no create, more is not used.
func (x *trial) make(c *Client, more Object) Object {
	x.Helper()
	if x.can("create") {
		return c.Create(x.fresh(), x.minimal(c, more))
	}
	if x.r.Make == nil {
		x.Fatalf("%s has no create, and the suite no Make", x.k.Path)
	}
	return x.r.Make(c, x.next())
}

// name identifies an object: its first key, or the whole of it if it does not show the key.
func (x *trial) name(o Object) string {
	if _, ok := o[x.k.Keys[0]]; ok {
		return o.Text(x.k.Keys[0])
	}
	return fmt.Sprint(resttest.Normal(o))
}

func (x *trial) all() string { return "/" + x.k.Path }

// named says that clients see no key of an object: they name it, also when they make it, by what is unique in its tenant alone.
func (x *trial) named() bool { return x.k.MadeAs != "" }

// fresh is the path at which the next object is made.
func (x *trial) fresh() string {
	if x.named() {
		return fmt.Sprint(x.all(), "/new-", x.next())
	}
	return x.all()
}

func (x *trial) one(o Object, key string) string { return x.all() + "/" + o.Text(key) }

// at is the path by the first key.
func (x *trial) at(o Object) string { return x.one(o, x.k.Keys[0]) }

// put changes an object, and must succeed.
func (x *trial) put(c *Client, path string, body any, edits ...resttest.Edit) {
	x.Helper()
	got := c.Do(http.MethodPut, path, body, edits...)
	if x.Described.Style.UpdateReply && !strings.Contains(strings.TrimPrefix(path, x.all()+"/"), "/") {
		got.Want(http.StatusOK)
		return
	}
	got.Want(http.StatusNoContent).Empty()
}

// same fails the test when an attribute is another, but those that may.
func (x *trial) same(what string, got, before Object, but ...string) {
	x.Helper()
	for name := range before {
		if !slices.Contains(but, name) && !got.Same(name, before[name]) {
			x.Errorf("%s: %s became %v from %v", what, name, got[name], before[name])
		}
	}
}

// audited is how many changes the audit has.
func (x *trial) audited(where string) int {
	x.Helper()
	n, err := store.Get[int](x.Context(), x.db, "SELECT count(*) FROM audit WHERE "+where)
	if err != nil {
		x.Fatal(err)
	}
	return n
}

// audits runs a change, and fails the test when the audit gets another number of entries.
func (x *trial) audits(want int, what string, change func()) {
	x.Helper()
	before := x.audited("true")
	change()
	if got := x.audited("true") - before; got != want {
		x.Errorf("%s: %d entries in the audit, want %d", what, got, want)
	}
}

// moment is what of an error differs each time.
var moment = regexp.MustCompile(`"timestamp":[0-9.e+]+`)

// alike reports whether two errors say the same, the one of an object with a key, the other of one with another.
func alike(got, key, like, otherKey string) bool {
	return moment.ReplaceAllString(strings.ReplaceAll(got, key, otherKey), "") == moment.ReplaceAllString(like, "")
}
