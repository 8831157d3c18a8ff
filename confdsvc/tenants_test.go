package confdsvc_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func tenantHeader(w *world, tenant string) edit { return header("Wazo-Tenant", w.tenants[tenant]) }

// An object of another tenant is as if it did not exist: in reads, writes, lists, counts and errors.
func TestOtherTenantsDoNotExist(t *testing.T) {
	each(t, func(t *testing.T, w *world, k collection) {
		a, b := w.as(t, "a"), w.as(t, "b")
		foreign := b.create(k.path, k.with(1, object{k.text: "needle", k.nullable: "needle@example.org"}))
		own := a.create(k.path, k.minimal(2))

		for _, key := range k.keys {
			unknown := "999999"
			if key == "uuid" {
				unknown = uuid.NewString()
			}
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete} {
				var body any
				if method == http.MethodPut {
					body = object{k.text: "taken over"}
				}
				got := a.do(method, k.one(foreign, key), body).want(http.StatusNotFound)
				like := a.do(method, k.path+"/"+unknown, body).want(http.StatusNotFound)
				if strings.ReplaceAll(got.body, foreign.text(key), unknown) != like.body {
					t.Errorf("%s of another tenant's: %s; of nobody's: %s", method, got.body, like.body)
				}
				a.do(method, k.one(foreign, key), body, header("If-Match", "*")).want(http.StatusNotFound)
			}
		}
		if after := b.get(k.one(foreign, "id")).want(http.StatusOK).object(); after[k.text] != "needle" {
			t.Errorf("another tenant changed it: %v", after)
		}
		for _, query := range []string{"", "?recurse=true", "?search=needle", "?search=needle&recurse=true", "?" + k.text + "=needle"} {
			l := a.get(k.path + query).list()
			want := 0
			if !strings.Contains(query, "needle") {
				want = 1
			}
			if *l.Total != want || len(l.Items) != want || want == 1 && l.Items[0].text("id") != own.text("id") {
				t.Errorf("list%s: total %d, ids %v", query, *l.Total, l.column("id"))
			}
		}
	})
}

func TestTenantsBelow(t *testing.T) {
	each(t, func(t *testing.T, w *world, k collection) {
		ids := map[string]string{}
		for n, tenant := range []string{"master", "a", "a1", "b"} {
			o := w.as(t, tenant).create(k.path, k.minimal(n))
			if o["tenant_uuid"] != w.tenants[tenant] {
				t.Fatalf("tenant_uuid %v", o["tenant_uuid"])
			}
			ids[o.text("id")] = tenant
		}
		for _, test := range []struct {
			as, header, query string
			want              string
		}{
			{"master", "", "", "master"},
			{"master", "", "?recurse=true", "master a a1 b"},
			{"master", "a", "", "a"},
			{"master", "a", "?recurse=true", "a a1"},
			{"master", "a1", "?recurse=true", "a1"},
			{"a", "", "", "a"},
			{"a", "a", "", "a"},
			{"a", "", "?recurse=true", "a a1"},
			{"a", "a1", "", "a1"},
			{"a1", "", "?recurse=true", "a1"},
			{"b", "", "?recurse=True", "b"},
			{"b", "", "?recurse=False", "b"},
		} {
			c := w.as(t, test.as)
			var edits []edit
			if test.header != "" {
				edits = append(edits, tenantHeader(w, test.header))
			}
			l := c.get(k.path+test.query, edits...).list()
			var got []string
			for _, tenant := range []string{"master", "a", "a1", "b"} {
				for _, id := range l.column("id") {
					if ids[id] == tenant {
						got = append(got, tenant)
					}
				}
			}
			if strings.Join(got, " ") != test.want || *l.Total != len(got) {
				t.Errorf("%+v: %v, total %d", test, got, *l.Total)
			}
		}
		// One object is found in the scope's tenant and below it, and stays in its tenant when it is changed from above.
		for id, tenant := range ids {
			path := k.path + "/" + id
			w.as(t, "master").do(http.MethodPut, path, object{k.text: "x"}).want(http.StatusNoContent)
			if o := w.as(t, tenant).get(path).want(http.StatusOK).object(); o["tenant_uuid"] != w.tenants[tenant] {
				t.Errorf("it moved to %v", o["tenant_uuid"])
			}
			narrowed := w.as(t, "master").get(path, tenantHeader(w, "a"))
			if visible := tenant == "a" || tenant == "a1"; visible != (narrowed.status == http.StatusOK) {
				t.Errorf("an object of %s from above, narrowed to a: %d", tenant, narrowed.status)
			}
			fromBelow := w.as(t, "a1").get(path)
			if (fromBelow.status == http.StatusOK) != (tenant == "a1") {
				t.Errorf("an object of %s from a1: %d", tenant, fromBelow.status)
			}
		}
		if o := w.as(t, "master").create(k.path, k.with(9, object{"tenant_uuid": w.tenants["b"]}), tenantHeader(w, "a1")); o["tenant_uuid"] != w.tenants["a1"] {
			t.Errorf("created in %v", o["tenant_uuid"])
		}
	})
}

// A header that names a tenant that one may not act in is refused in one way, and never ignored.
func TestTenantHeader(t *testing.T) {
	each(t, func(t *testing.T, w *world, k collection) {
		c := w.as(t, "a")
		refused := c.get(k.path, header("Wazo-Tenant", uuid.NewString())).want(http.StatusUnauthorized)
		own := w.tenants["a"]
		for name, value := range map[string]string{
			"sibling": w.tenants["b"], "parent": w.tenants["master"], "malformed": "a", "braces": "{" + own + "}",
			"no dashes": strings.ReplaceAll(own, "-", ""), "two in one": own + ", " + own, "blank": " ", "trailing": own + "0",
		} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				var body any
				if method == http.MethodPost {
					body = k.minimal(1)
				}
				if got := c.do(method, k.path, body, header("Wazo-Tenant", value)).want(http.StatusUnauthorized); got.body != refused.body {
					t.Errorf("%s: %s", name, got.body)
				}
			}
		}
		c.get(k.path, func(r *http.Request) { r.Header["Wazo-Tenant"] = []string{""} }).want(http.StatusUnauthorized)
		c.get(k.path, header("Wazo-Tenant", own), header("Wazo-Tenant", own)).want(http.StatusBadRequest)
		c.get(k.path, header("Wazo-Tenant", strings.ToUpper(own))).want(http.StatusOK)
		if l := c.get(k.path).list(); *l.Total != 0 {
			t.Errorf("a refused create left %d objects", *l.Total)
		}
	})
}

// The tenant of a principal that another auth server vouches for is added below the master tenant when it is first seen.
func TestTenantOfAnotherAuthServer(t *testing.T) {
	each(t, func(t *testing.T, w *world, k collection) {
		remote := w.as(t, "a")
		remote.p.TenantUUID, remote.p.Remote = uuid.NewString(), true
		if l := remote.get(k.path).list(); *l.Total != 0 {
			t.Errorf("total %d", *l.Total)
		}
		o := remote.create(k.path, k.minimal(1))
		remote.get(k.one(o, "id")).want(http.StatusOK)
		w.as(t, "master").get(k.one(o, "id")).want(http.StatusOK)
		w.as(t, "a").get(k.one(o, "id")).want(http.StatusNotFound)
		parent, err := store.Get[string](t.Context(), w.db, `SELECT parent_uuid FROM auth_tenant WHERE uuid = $1`, remote.p.TenantUUID)
		if err != nil || parent != w.tenants["master"] {
			t.Errorf("below %s: %v", parent, err)
		}
	})
}

func TestNoMasterTenantYet(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		if _, err := db.Exec(t.Context(), `DELETE FROM auth_tenant`); err != nil {
			t.Fatal(err)
		}
		remote := w.as(t, "a")
		remote.p.Remote = true
		got := remote.get("/users").want(http.StatusServiceUnavailable)
		if got.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	})
}
