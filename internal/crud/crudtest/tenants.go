package crudtest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

// unknownKey returns a key that no object has, of the same form as a value of the key column.
func (x *trial) unknownKey(key, value string) string {
	if _, err := uuid.Parse(value); err == nil && key != "id" {
		return uuid.NewString()
	}
	return "999999999"
}

// otherTenants: an object of another tenant seems not to exist, in reads, writes, lists, counts and refusals.
func (x *trial) otherTenants() {
	searched := x.searched()
	more := Object{}
	if searched != "" {
		more[searched] = "needle"
	}
	foreign, own := x.make(x.b, more), x.make(x.a, nil)
	if x.can("read") {
		x.foreign(foreign)
	}
	x.foreignListed(foreign, own, searched)
}

// foreign: each operation refuses another tenant's object like one that does not exist, and changes nothing.
func (x *trial) foreign(foreign Object) {
	before := x.b.Get(x.at(foreign)).Body
	for _, key := range x.k.Keys {
		unknown := x.unknownKey(key, foreign.Text(key))
		for _, method := range x.methods() {
			var body any
			if method == http.MethodPut {
				body = Object{}
			}
			got := x.a.Do(method, x.one(foreign, key), body).Want(http.StatusNotFound)
			like := x.a.Do(method, x.all()+"/"+unknown, body).Want(http.StatusNotFound)
			if !alike(got.Body, foreign.Text(key), like.Body, unknown) {
				x.Errorf("%s of another tenant's: %s; of nobody's: %s", method, got.Body, like.Body)
			}
			x.a.Do(method, x.one(foreign, key), body, resttest.IfMatch("*")).Want(http.StatusNotFound)
		}
	}
	if after := x.b.Get(x.at(foreign)).Want(http.StatusOK).Body; after != before {
		x.Errorf("another tenant changed it from %s to %s", before, after)
	}
}

// methods are those of the operations on one object.
func (x *trial) methods() []string {
	methods := []string{http.MethodGet, http.MethodHead}
	if x.can("update") {
		methods = append(methods, http.MethodPut)
	}
	if x.can("delete") {
		methods = append(methods, http.MethodDelete)
	}
	return methods
}

// foreignListed: a list neither shows nor counts another tenant's object.
func (x *trial) foreignListed(foreign, own Object, searched string) {
	for query, want := range map[string]int{"": 1, "?recurse=true": 1, "?search=needle": 0, "?search=needle&recurse=true": 0, "?" + searched + "=needle": 0} {
		if searched == "" && want == 0 {
			continue
		}
		if want == 0 && query[1:] == searched+"=needle" && !slices.Contains(x.k.List.Filters, searched) {
			continue
		}
		l := x.a.Get(x.all() + query).List()
		if want == 1 {
			x.holds(x.a, l, own)
		}
		if x.count(l) != len(l.Items) || len(l.Items) != 0 && want == 0 {
			x.Errorf("list%s: %d, %v", query, x.count(l), l.Column(x.k.Keys[0]))
		}
		for _, item := range l.Items {
			if x.name(item) == x.name(foreign) {
				x.Errorf("list%s shows %v", query, foreign)
			}
		}
	}
}

// unowned: only the master tenant writes objects that belong to no tenant; either it alone or all tenants read them.
func (x *trial) unowned() {
	o := x.make(x.a, nil)
	path, body := x.at(o), x.minimal(x.a, nil)
	x.audits(0, "refused changes", func() {
		x.b.Do(http.MethodPut, path, x.change(o)).Want(http.StatusForbidden)
		x.a.In(x.b.Tenant).Do(http.MethodPut, path, x.change(o)).Want(http.StatusForbidden)
		if x.can("create") {
			x.b.Do(http.MethodPost, x.fresh(), body).Want(http.StatusForbidden)
		}
		if x.can("delete") {
			x.b.Do(http.MethodDelete, path, nil).Want(http.StatusForbidden)
			x.a.In(x.b.Tenant).Do(http.MethodDelete, path, nil).Want(http.StatusForbidden)
		}
	})
	if x.k.Scope == crud.Master {
		for _, path := range []string{path, x.all(), x.all() + "?search=a"} {
			x.b.Get(path).Want(http.StatusForbidden)
			x.b.Do(http.MethodHead, path, nil).Want(http.StatusForbidden)
		}
	} else {
		x.same("for another tenant", x.b.Get(path).Want(http.StatusOK).Object(), o)
		x.holds(x.b, x.b.Get(x.all()).List(), o)
	}
	x.same("refused changes", x.a.Get(path).Want(http.StatusOK).Object(), o)
}

func (x *trial) tenantsBelow() {
	names := []string{"top", "a", "a1", "b"}
	clients := map[string]*Client{"top": x.top, "a": x.a, "a1": x.a1, "b": x.b}
	of, objects := map[string]string{}, map[string]Object{}
	for _, name := range names {
		o := x.make(clients[name], nil)
		of[x.name(o)], objects[name] = name, o
	}
	below := map[string]string{x.top.Tenant: "top a a1 b", x.a.Tenant: "a a1", x.b.Tenant: "b", x.a1.Tenant: "a1"}
	for _, test := range []struct{ as, header, query, want string }{
		{"top", "", "", "top"},
		{"top", "", "?recurse=true", "top a a1 b"},
		{"top", "a", "", "a"},
		{"top", "a", "?recurse=true", "a a1"},
		{"top", "a1", "?recurse=true", "a1"},
		{"a", "", "", "a"},
		{"a", "a", "", "a"},
		{"a", "", "?recurse=true", "a a1"},
		{"a", "a1", "", "a1"},
		{"a1", "", "?recurse=true", "a1"},
		{"b", "", "?recurse=True", "b"},
		{"b", "", "?recurse=False", "b"},
	} {
		c := clients[test.as]
		if test.header != "" {
			c = c.In(clients[test.header].Tenant)
		}
		l := c.Get(x.all() + test.query).List()
		want := test.want
		if x.k.Subtree {
			want = below[c.Tenant]
		}
		var got []string
		for _, name := range names {
			for _, item := range l.Items {
				if of[x.name(item)] == name {
					got = append(got, name)
				}
			}
		}
		for _, item := range l.Items {
			if of[x.name(item)] == "" && !slices.Contains(x.before[c.Tenant], x.name(item)) {
				x.Errorf("%+v: %v is there too", test, item)
			}
		}
		if strings.Join(got, " ") != want || l.Total != len(l.Items) {
			x.Errorf("%+v: %v, total %d of %d", test, got, l.Total, len(l.Items))
		}
	}
	if x.can("update") {
		x.fromAbove(clients, objects)
	}
}

// fromAbove: an object is found from its tenant and from above, and stays in its tenant when it is changed from above.
func (x *trial) fromAbove(clients map[string]*Client, objects map[string]Object) {
	if x.named() { // only their own tenant knows by this name what it names
		for name, o := range objects {
			for other, c := range clients {
				if got := c.Get(x.at(o)); (got.Status == http.StatusOK) != (other == name) {
					x.Errorf("an object of %s from %s: %d", name, other, got.Status)
				}
				if got := x.top.In(c.Tenant).Get(x.at(o)); (got.Status == http.StatusOK) != (other == name) {
					x.Errorf("an object of %s from above, narrowed to %s: %d", name, other, got.Status)
				}
			}
		}
		return
	}
	for name, o := range objects {
		x.put(x.top, x.at(o), Object{"tenant_uuid": x.b.Tenant})
		x.same("a change from above", clients[name].Get(x.at(o)).Want(http.StatusOK).Object(), o)
		narrowed := x.top.In(x.a.Tenant).Get(x.at(o))
		if visible := name == "a" || name == "a1"; visible != (narrowed.Status == http.StatusOK) {
			x.Errorf("an object of %s from above, narrowed to a: %d", name, narrowed.Status)
		}
		if below := x.a1.Get(x.at(o)); (below.Status == http.StatusOK) != (name == "a1") {
			x.Errorf("an object of %s from a1: %d", name, below.Status)
		}
	}
	within := x.top.In(x.a1.Tenant)
	o := x.make(within, Object{"tenant_uuid": x.b.Tenant})
	x.a1.Get(x.at(o)).Want(http.StatusOK)
	x.b.Get(x.at(o)).Want(http.StatusNotFound)
}

// tenantHeader: a header that names a forbidden tenant is refused in one way, and never ignored.
func (x *trial) tenantHeader() {
	refused := x.a.Get(x.all(), resttest.Header("Wazo-Tenant", uuid.NewString())).Want(http.StatusUnauthorized)
	own, body := x.a.Tenant, x.minimal(x.a, nil)
	for name, value := range map[string]string{
		"sibling": x.b.Tenant, "parent": x.top.Tenant, "malformed": "a", "braces": "{" + own + "}", "no dashes": strings.ReplaceAll(own, "-", ""),
		"two in one": own + ", " + own, "blank": " ", "trailing": own + "0",
	} {
		for method, body := range map[string]any{http.MethodGet: nil, http.MethodPost: body} {
			if method == http.MethodPost && !x.can("create") {
				continue
			}
			path := x.all()
			if method == http.MethodPost {
				path = x.fresh()
			}
			if got := x.a.Do(method, path, body, resttest.Header("Wazo-Tenant", value)).Want(http.StatusUnauthorized); !alike(got.Body, value, refused.Body, value) {
				x.Errorf("%s: %s", name, got.Body)
			}
		}
	}
	x.a.Get(x.all(), func(r *http.Request) { r.Header["Wazo-Tenant"] = []string{""} }).Want(http.StatusUnauthorized)
	x.a.Get(x.all(), resttest.Header("Wazo-Tenant", own), resttest.Header("Wazo-Tenant", own)).Want(http.StatusBadRequest)
	x.a.Get(x.all(), resttest.Header("Wazo-Tenant", strings.ToUpper(own))).Want(http.StatusOK)
	x.holds(x.a, x.a.Get(x.all()).List())
}

// remoteTenant: the tenant of a caller from another auth server is added below the master tenant when it is first seen.
func (x *trial) remoteTenant() {
	remote := x.client(x, uuid.NewString())
	remote.Principal.Remote = true
	x.enter(remote)
	x.holds(remote, remote.Get(x.all()).List())
	o := x.make(remote, nil)
	remote.Get(x.at(o)).Want(http.StatusOK)
	if !x.named() {
		x.client(x, x.master).Get(x.at(o)).Want(http.StatusOK)
	}
	x.client(x, x.master).In(remote.Tenant).Get(x.at(o)).Want(http.StatusOK)
	x.a.Get(x.at(o)).Want(http.StatusNotFound)
	parent, err := store.Get[string](x.Context(), x.db, `SELECT parent_uuid FROM auth_tenant WHERE uuid = $1`, remote.Tenant)
	if err != nil || parent != x.master {
		x.Errorf("below %s: %v", parent, err)
	}
}
