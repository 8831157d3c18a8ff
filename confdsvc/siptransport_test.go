package confdsvc_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	samples["sip/transports"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"name": fmt.Sprintf("transport%d", n)} },
		Values: func(n int) object {
			return object{"name": fmt.Sprintf("other%d", n), "options": pairs("protocol=udp")}
		},
	}
}

func TestSIPTransports(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		a, master := w.as(t, "a"), w.as(t, "master")
		made := master.Do(http.MethodPost, "/sip/transports", object{"name": "Tr-one", "options": pairs("bind=0.0.0.0 local_net=10.0.0.0/8 local_net=192.168.0.0/16")}).Want(http.StatusCreated)
		tr, other := made.Object(), master.Create("/sip/transports", object{"name": "other"})
		one := "/sip/transports/" + tr.Text("uuid")
		if made.Header.Get("Location") != prefix+one || tr["links"] != nil || !other.Same("options", []any{}) {
			t.Errorf("made %v", tr)
		}
		a.Get(one).Want(http.StatusOK)
		if l := a.Get("/sip/transports?search=tr-ONE&order=name").List(); len(l.Items) != 1 || l.Items[0].Text("name") != "Tr-one" {
			t.Errorf("listed %v", l.Items)
		}
		for _, try := range []struct{ method, path string }{
			{http.MethodPost, "/sip/transports"},
			{http.MethodPut, one},
			{http.MethodDelete, one},
			{http.MethodDelete, one + "?fallback=" + other.Text("uuid")},
		} {
			a.Do(try.method, try.path, object{"name": "x"}).Want(http.StatusForbidden).Says("master tenant")
		}
		master.Do(http.MethodPut, one, object{"options": pairs("nothing=1")}).Want(http.StatusBadRequest).Says("'options: invalid variable (nothing)' must be one of")
		master.Do(http.MethodPut, one, object{"options": pairs("bind=::")}).Want(http.StatusNoContent)
		endpoint := a.Create("/endpoints/sip", object{"transport": object{"uuid": tr["uuid"]}})
		template := a.Create("/endpoints/sip/templates", object{"transport": object{"uuid": tr["uuid"]}})
		master.Do(http.MethodDelete, one, nil).Want(http.StatusBadRequest).Says("Transport is associated with a EndpointSIP")
		for _, bad := range []string{"", "x", tr.Text("uuid"), strings.ToUpper(tr.Text("uuid")), "00000000-0000-4000-8000-000000000000", template.Text("uuid")} {
			master.Do(http.MethodDelete, one+"?fallback="+bad, nil).Want(http.StatusBadRequest).Says("fallback")
		}
		users := map[string]string{"endpoints/sip": endpoint.Text("uuid"), "endpoints/sip/templates": template.Text("uuid")}
		before := map[string]string{}
		for path, key := range users {
			before[path] = a.Get("/" + path + "/" + key).Header.Get("ETag")
		}
		master.Do(http.MethodDelete, one+"?fallback="+other.Text("uuid"), nil).Want(http.StatusNoContent)
		for path, key := range users {
			if got := a.Get("/" + path + "/" + key).Object(); !got.Same("transport", object{"uuid": other["uuid"], "name": "other"}) {
				t.Errorf("%s: %v", path, got["transport"])
			}
			a.Do(http.MethodPut, "/"+path+"/"+key, object{"label": "stale"}, resttest.IfMatch(before[path])).Want(http.StatusPreconditionFailed)
			// Whoever reads the audit of their tenant sees that it was changed, by whom, and from what.
			entries, err := store.Select[string](t.Context(), db, `SELECT before || ' ' || after FROM audit
				WHERE tenant_uuid = $1 AND resource = $2 AND object = $3 AND action = 'delete_sip_transport'`, endpoint["tenant_uuid"], path, key)
			if err != nil || len(entries) != 1 || !strings.Contains(entries[0], `"name":"Tr-one"`) || !strings.Contains(entries[0], `"name":"other"`) {
				t.Errorf("%s: in the audit are %q, %v", path, entries, err)
			}
		}
		a.Do(http.MethodPut, "/endpoints/sip/"+endpoint.Text("uuid"), object{"transport": nil}).Want(http.StatusNoContent)
		a.Do(http.MethodDelete, "/endpoints/sip/templates/"+template.Text("uuid"), nil).Want(http.StatusNoContent)
		master.Do(http.MethodDelete, "/sip/transports/"+other.Text("uuid"), nil).Want(http.StatusNoContent)
	})
}
