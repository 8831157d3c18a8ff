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
	before := x.b.Get(x.at(foreign)).Body
	for _, key := range x.k.Keys {
		unknown := x.unknownKey(key, foreign.Text(key))
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete} {
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
	for query, want := range map[string]int{"": 1, "?recurse=true": 1, "?search=needle": 0, "?search=needle&recurse=true": 0, "?" + searched + "=needle": 0} {
		if searched == "" && want == 0 {
			continue
		}
		if want == 0 && query[1:] == searched+"=needle" && !slices.Contains(x.k.Filters, searched) {
			continue
		}
		l := x.a.Get(x.all() + query).List()
		if x.count(l) != want || len(l.Items) != want || want == 1 && x.at(l.Items[0]) != x.at(own) {
			x.Errorf("list%s: %d, %v", query, x.count(l), l.Column(x.k.Keys[0]))
		}
	}
}

// unowned: only the master tenant writes objects that belong to no tenant; either it alone or all tenants read them.
func (x *trial) unowned() {
	o := x.make(x.a, nil)
	path, body := x.at(o), x.minimal(x.a, nil)
	x.audits(0, "refused changes", func() {
		x.b.Do(http.MethodPost, x.all(), body).Want(http.StatusForbidden)
		x.b.Do(http.MethodPut, path, x.change(o)).Want(http.StatusForbidden)
		x.b.Do(http.MethodDelete, path, nil).Want(http.StatusForbidden)
		x.a.In(x.b.Tenant).Do(http.MethodDelete, path, nil).Want(http.StatusForbidden)
	})
	if x.k.Scope == crud.Master {
		for _, path := range []string{path, x.all(), x.all() + "?search=a"} {
			x.b.Get(path).Want(http.StatusForbidden)
			x.b.Do(http.MethodHead, path, nil).Want(http.StatusForbidden)
		}
	} else {
		x.same("for another tenant", x.b.Get(path).Want(http.StatusOK).Object(), o)
		if l := x.b.Get(x.all()).List(); l.Total != 1 || x.at(l.Items[0]) != path {
			x.Errorf("another tenant lists %v", l.Items)
		}
	}
	x.same("refused changes", x.a.Get(path).Want(http.StatusOK).Object(), o)
}

func (x *trial) tenantsBelow() {
	names := []string{"top", "a", "a1", "b"}
	clients := map[string]*Client{"top": x.top, "a": x.a, "a1": x.a1, "b": x.b}
	of, objects := map[string]string{}, map[string]Object{}
	for _, name := range names {
		o := x.make(clients[name], nil)
		of[o.Text(x.k.Keys[0])], objects[name] = name, o
	}
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
		var got []string
		for _, name := range names {
			for _, key := range l.Column(x.k.Keys[0]) {
				if of[key] == name {
					got = append(got, name)
				}
			}
		}
		if strings.Join(got, " ") != test.want || l.Total != len(got) {
			x.Errorf("%+v: %v, total %d", test, got, l.Total)
		}
	}
	// An object is found from its tenant and from above, and stays in its tenant when it is changed from above.
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
	if o := x.make(within, Object{"tenant_uuid": x.b.Tenant}); o["tenant_uuid"] != x.a1.Tenant {
		x.Errorf("created in %v", o["tenant_uuid"])
	}
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
			if got := x.a.Do(method, x.all(), body, resttest.Header("Wazo-Tenant", value)).Want(http.StatusUnauthorized); !alike(got.Body, value, refused.Body, value) {
				x.Errorf("%s: %s", name, got.Body)
			}
		}
	}
	x.a.Get(x.all(), func(r *http.Request) { r.Header["Wazo-Tenant"] = []string{""} }).Want(http.StatusUnauthorized)
	x.a.Get(x.all(), resttest.Header("Wazo-Tenant", own), resttest.Header("Wazo-Tenant", own)).Want(http.StatusBadRequest)
	x.a.Get(x.all(), resttest.Header("Wazo-Tenant", strings.ToUpper(own))).Want(http.StatusOK)
	if l := x.a.Get(x.all()).List(); l.Total != 0 {
		x.Errorf("a refused create left %d objects", l.Total)
	}
}

// remoteTenant: the tenant of a caller from another auth server is added below the master tenant when it is first seen.
func (x *trial) remoteTenant() {
	remote := x.client(x, uuid.NewString())
	remote.Principal.Remote = true
	x.clear(remote)
	if l := remote.Get(x.all()).List(); l.Total != 0 {
		x.Errorf("total %d", l.Total)
	}
	o := x.make(remote, nil)
	remote.Get(x.at(o)).Want(http.StatusOK)
	x.client(x, x.master).Get(x.at(o)).Want(http.StatusOK)
	x.a.Get(x.at(o)).Want(http.StatusNotFound)
	parent, err := store.Get[string](x.Context(), x.db, `SELECT parent_uuid FROM auth_tenant WHERE uuid = $1`, remote.Tenant)
	if err != nil || parent != x.master {
		x.Errorf("below %s: %v", parent, err)
	}
}
