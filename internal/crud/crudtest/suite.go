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
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/principal"
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
	Mount func(tb testing.TB, db store.DB) http.Handler
	// Access is all that the service has: "confd.#".
	Access string
	// Resources are those that are tried, by the paths of their collections. A collection that is missing here fails the test.
	Resources map[string]Resource
	// Documents are the same for documents, by their paths.
	Documents map[string]Document
}

// Resource is what the suite must know of a collection beyond what it declares.
type Resource struct {
	// Minimal is the smallest body of an object. Every n makes another object, in whatever tenant; what the object needs may
	// be made by c, in the tenant that c acts in.
	Minimal func(c *Client, n int) Object
	// Values are good values of fields whose examples are none, or that must be others for every n.
	Values func(n int) Object
	// Except are fields that cannot be set by themselves, or not at all, and read-only ones that a create refuses.
	Except []string
	// Follow are fields that change when another does: {"enabled": {"commented"}}.
	Follow map[string][]string
	// Defaults are the values of fields on create where they are not those of the schema.
	Defaults Object
	// Links is what is particular about links, by the path below the left object: the left collection's resource has it.
	Links map[string]Link
	// Preset says that a tenant has some of the objects from its beginning. They are deleted before a check.
	Preset bool
	// Parts are changes of parts, by their paths: {"forwards": {"busy": {"enabled": true, "destination": "1"}}}.
	Parts map[string]Object
}

// Link is what is particular about a link.
type Link struct {
	// Ready makes what else must be there before the two can be linked.
	Ready func(c *Client, left, right Object)
	// Kept says which sides cannot be deleted while they are linked though the link does not say so: their resource's Guard does.
	Kept []string // "left", "right"
	// Refused is an access of callers who may neither make nor end a strict link of two objects that Ready has prepared.
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
		w := &world{Suite: s, db: db, handler: s.Mount(t, db), made: map[string]Object{}}
		w.findMaster(t)
		for _, k := range s.Described.Collections {
			if r, ok := s.Resources[k.Path]; ok {
				t.Run(strings.ReplaceAll(k.Path, "/", "_"), func(t *testing.T) { w.try(t, k, r) })
			}
		}
		w.tryDocuments(t)
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
				path, body = "/"+k.Path, bodies[k.Path]
			case "update":
				body = Object{}
			}
			if !slices.Contains(k.Only, operation) || bodies[k.Path] == nil {
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

	db      store.DB
	handler http.Handler
	master  string
	made    map[string]Object
	n       int // of the last object, tenant or other thing that must be another
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
	return &Client{Client: resttest.To(tb, w.handler, w.Described.Prefix, p), Tenant: tenant, w: w}
}

// trial is one check of a collection. Of its tenants a and b are below top, and a1 is below a; but where the collection is no tenant's, a is
// the master tenant.
type trial struct {
	*testing.T
	*world

	k             crud.DescribedCollection
	r             Resource
	top, a, b, a1 *Client
}

func (w *world) try(t *testing.T, k crud.DescribedCollection, r Resource) {
	checks := map[string]struct {
		needs string // the operations, by their first letters
		check func(x *trial)
	}{
		"create and read": {"crl", (*trial).createAndRead}, "keys": {"cr", (*trial).keys}, "fields": {"cru", (*trial).fields},
		"update": {"cru", (*trial).update}, "delete": {"crld", (*trial).remove}, "pages": {"cl", (*trial).pages}, "order": {"cl", (*trial).order},
		"search": {"cl", (*trial).search}, "filters": {"cl", (*trial).filters}, "queries": {"cl", (*trial).badQueries},
		"other tenants": {"crlud", (*trial).otherTenants}, "tenants below": {"crlu", (*trial).tenantsBelow}, "tenant header": {"cl", (*trial).tenantHeader},
		"remote": {"crl", (*trial).remoteTenant}, "versions": {"crud", (*trial).versions}, "at once": {"cru", (*trial).atOnce},
		"owned by no tenant": {"crlud", (*trial).unowned}, "audit": {"crud", (*trial).audit}, "bodies": {"crlu", (*trial).badBodies},
		"values": {"cru", (*trial).badValues}, "negotiation": {"cl", (*trial).negotiation},
		"references": {"cru", (*trial).references}, "links": {"cr", (*trial).links}, "lists": {"cr", (*trial).lists}, "parts": {"cr", (*trial).parts},
	}
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		able := true
		for _, letter := range checks[name].needs {
			able = able && slices.ContainsFunc(k.Only, func(op string) bool { return rune(op[0]) == letter })
		}
		if k.Scope != crud.PerTenant {
			able = able && r.Minimal != nil && !slices.Contains(withTenants, name)
		} else {
			able = able && !k.Subtree && name != "owned by no tenant"
		}
		if able {
			t.Run(name, func(t *testing.T) { checks[name].check(w.trial(t, k, r)) })
		}
	}
}

// withTenants are the checks of what each tenant has its own of.
var withTenants = []string{"other tenants", "tenants below", "tenant header", "remote"}

func (w *world) trial(t *testing.T, k crud.DescribedCollection, r Resource) *trial {
	t.Helper()
	top, a, b, a1 := uuid.NewString(), uuid.NewString(), uuid.NewString(), uuid.NewString()
	for _, tenant := range [][2]string{{top, w.master}, {a, top}, {b, top}, {a1, a}} {
		w.addTenant(t, tenant[0], tenant[1])
	}
	if k.Scope != crud.PerTenant {
		if _, err := w.db.Exec(t.Context(), "DELETE FROM "+k.Table); err != nil { // what the checks before have made
			t.Fatal(err)
		}
		a = w.master
	}
	x := &trial{T: t, world: w, k: k, r: r, top: w.client(t, top), a: w.client(t, a), b: w.client(t, b), a1: w.client(t, a1)}
	for _, c := range []*Client{x.top, x.a, x.b, x.a1} {
		x.clear(c)
	}
	return x
}

// clear deletes what a tenant begins with.
func (x *trial) clear(c *Client) {
	x.Helper()
	if !x.r.Preset {
		return
	}
	begun := c.Get(x.all()).List()
	if len(begun.Items) == 0 {
		x.Errorf("a tenant begins without any %s", x.k.Path)
	}
	for _, o := range begun.Items {
		c.Do(http.MethodDelete, x.at(o), nil).Want(http.StatusNoContent)
	}
}

// minimal is the body of a new object, with more.
func (x *trial) minimal(c *Client, more Object) Object {
	body := maps.Clone(x.r.Minimal(c, x.next()))
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

// make makes an object of the collection.
func (x *trial) make(c *Client, more Object) Object {
	x.Helper()
	return c.Create(x.all(), x.minimal(c, more))
}

func (x *trial) all() string { return "/" + x.k.Path }

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
func (x *trial) audited() int {
	x.Helper()
	n, err := store.Get[int](x.Context(), x.db, `SELECT count(*) FROM audit`)
	if err != nil {
		x.Fatal(err)
	}
	return n
}

// audits runs a change, and fails the test when the audit gets another number of entries.
func (x *trial) audits(want int, what string, change func()) {
	x.Helper()
	before := x.audited()
	change()
	if got := x.audited() - before; got != want {
		x.Errorf("%s: %d entries in the audit, want %d", what, got, want)
	}
}

// moment is what of an error differs each time.
var moment = regexp.MustCompile(`"timestamp":[0-9.e+]+`)

// alike reports whether two errors say the same, the one of an object with a key, the other of one with another.
func alike(got, key, like, otherKey string) bool {
	return moment.ReplaceAllString(strings.ReplaceAll(got, key, otherKey), "") == moment.ReplaceAllString(like, "")
}
