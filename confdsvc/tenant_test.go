package confdsvc_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	samples["tenants"] = crudtest.Resource{
		Make: func(c *crudtest.Client, _ int) object { return c.Get("/tenants").List().Items[0] },
	}
	ours["PUT /tenants/{}"] = "confd.tenants.{}.update"
}

// The first telephone of a new tenant needs no preparation.
func TestTenantBegins(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		of := c.Get("/tenants/" + w.tenants["a"]).Want(http.StatusOK).Object()
		labels := map[string]object{}
		for _, template := range c.Get("/endpoints/sip/templates?order=label").List().Items {
			labels[template.Text("label")] = template
		}
		for label, column := range map[string]string{
			"global": "global_sip_template_uuid", "webrtc": "webrtc_sip_template_uuid", "registration_trunk": "registration_trunk_sip_template_uuid",
			"meeting_guest": "meeting_guest_sip_template_uuid", "twilio_trunk": "",
		} {
			template := labels[label]
			if template == nil || column != "" && of[column] != template["uuid"] {
				t.Fatalf("%s: the tenant %v, the templates %v", label, of, labels)
			}
			c.Do(http.MethodPut, "/endpoints/sip/templates/"+template.Text("uuid"), template).Want(http.StatusNoContent) // clients could have created it
		}
		if of["sip_templates_generated"] != true || len(labels) != 5 || !labels["webrtc"].Same("templates", []any{object{"uuid": labels["global"]["uuid"], "label": "global"}}) {
			t.Errorf("the tenant %v, the templates %v", of, labels)
		}
		e := c.Create("/endpoints/sip", object{"templates": uses(labels["webrtc"]), "auth_section_options": pairs("username=u password=p")})
		merged := c.Get("/endpoints/sip/" + e.Text("uuid") + "?view=merged").Object()
		if transport, _ := merged["transport"].(map[string]any); transport["name"] != "transport-wss" || !merged.Same("aor_section_options",
			pairs("max_contacts=10 remove_existing=no qualify_frequency=60 minimum_expiration=60 default_expiration=120 maximum_expiration=3600")) {
			t.Errorf("merged: %v", merged)
		}
		l := c.Create("/lines", object{"context": "default"})
		c.Do(http.MethodPut, "/lines/"+l.Text("id")+"/endpoints/sip/"+e.Text("uuid"), nil).Want(http.StatusNoContent)
		if got := c.Get("/lines/" + l.Text("id")).Object(); got["is_webrtc"] != true || got.Text("registrar") != "default" {
			t.Errorf("the line: %v", got)
		}
		// Deleted objects do not come back with the next caller.
		c.Do(http.MethodDelete, "/endpoints/sip/templates/"+labels["meeting_guest"].Text("uuid"), nil).Want(http.StatusNoContent)
		again := newService(t, db)
		c = resttest.To(t, again, prefix, c.Principal)
		of = c.Get("/tenants/" + w.tenants["a"]).Object()
		if total := c.Get("/endpoints/sip/templates").List().Total; total != 4 || of["meeting_guest_sip_template_uuid"] != nil || of["sip_templates_generated"] != true {
			t.Errorf("%d templates are left, the tenant is %v", total, of)
		}
	})
}

func newService(t *testing.T, db store.DB) http.Handler {
	t.Helper()
	svc, err := confdsvc.New(confdsvc.Options{DB: db})
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

func TestTenantsAreShown(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		a, master := w.as(t, "a"), w.as(t, "master")
		shown := func(c *resttest.Client, path string, want ...string) {
			t.Helper()
			l := c.Get(path).List()
			if l.Total != len(want) || len(l.Items) != len(want) {
				t.Errorf("%s: %v", path, l.Items)
			}
			for _, tenant := range want {
				if !slices.Contains(l.Column("uuid"), w.tenants[tenant]) {
					t.Errorf("%s: %v, and not %s", path, l.Items, tenant)
				}
			}
			for _, o := range l.Items {
				if o["global_sip_template_uuid"] == nil {
					t.Errorf("%s: %v", path, o)
				}
			}
		}
		shown(a, "/tenants", "a")
		shown(a, "/tenants?recurse=true", "a", "a1") // nobody has acted in a1
		shown(master, "/tenants?recurse=true&order=uuid&search="+w.tenants["b"], "b")
		master.Get("/tenants/" + w.tenants["b"]).Want(http.StatusOK)
		for _, path := range []string{"/tenants/" + w.tenants["b"], "/tenants/" + w.tenants["master"], "/tenants/" + uuid.NewString(), "/tenants/x"} {
			a.Get(path).Want(http.StatusNotFound)
		}
		a.Do(http.MethodPost, "/tenants", object{}).Want(http.StatusMethodNotAllowed)
		a.Do(http.MethodDelete, "/tenants/"+w.tenants["a"], nil).Want(http.StatusMethodNotAllowed)
	})
}

// A tenant's first objects do not keep it from being deleted: they go with it.
func TestTenantThatHasBegunCanBeDeleted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		w.as(t, "b").Get("/users").Want(http.StatusOK)
		for _, sql := range []string{`DELETE FROM confd_context WHERE tenant_uuid = $1`, `DELETE FROM auth_tenant WHERE uuid = $1`} {
			if _, err := db.Exec(t.Context(), sql, w.tenants["b"]); err != nil {
				t.Fatal(err)
			}
		}
		left, err := store.Get[int](t.Context(), db, `SELECT (SELECT count(*) FROM confd_endpoint_sip_template) + (SELECT count(*) FROM confd_tenant)
			+ (SELECT count(*) FROM confd_sip_name WHERE template_uuid IS NOT NULL)`)
		if err != nil || left != 0 {
			t.Errorf("%d rows are left, %v", left, err)
		}
	})
}

// Of many calls at once, on two nodes, one gives the tenant its first objects.
func TestTenantBeginsOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		nodes := []http.Handler{newService(t, db), newService(t, db)}
		remote := w.as(t, "a").Principal
		for range 3 {
			affiliation := *remote.Affiliation
			affiliation.TenantUUID, affiliation.Remote = uuid.NewString(), true
			p := *remote
			p.Affiliation = &affiliation
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					c := resttest.To(t, nodes[i%2], prefix, &p)
					if i < 4 {
						if got := c.Do(http.MethodPost, "/users", object{"firstname": "Al"}); got.Status != http.StatusCreated {
							t.Errorf("%d %s", got.Status, got.Body)
						}
					}
					if got := c.Get("/tenants"); got.Status != http.StatusOK {
						t.Errorf("%d %s", got.Status, got.Body)
					}
				})
			}
			all.Wait()
			if l := resttest.To(t, nodes[0], prefix, &p).Get("/endpoints/sip/templates").List(); l.Total != 5 {
				t.Errorf("%v", l.Column("label"))
			}
		}
	})
}
