package confdsvc_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	samples["registrars"] = crudtest.Resource{
		Minimal: func(*crudtest.Client, int) object {
			return object{"main_host": "1.2.3.4", "proxy_main_host": "1.2.3.4"}
		},
		Values: func(int) object { return object{"backup_host": "::1", "main_host": "::1"} },
		Except: []string{"id", "deletable"}, // set only on create; the API cannot undo it
	}
}

func TestRegistrars(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		a, master := w.as(t, "a"), w.as(t, "master")
		first := master.Get("/registrars/default").Want(http.StatusOK).Object()
		if first["deletable"] != false || first.Text("id") != "default" {
			t.Errorf("at the beginning: %v", first)
		}
		master.Do(http.MethodDelete, "/registrars/default", nil).Want(http.StatusBadRequest).Says("Operation not permitted.")
		made := master.Do(http.MethodPost, "/registrars", object{"main_host": "1.2.3.4", "proxy_main_host": "sip.example.org"}).Want(http.StatusCreated)
		o := made.Object()
		one := "/registrars/" + o.Text("id")
		if len(o.Text("id")) != 32 || o["deletable"] != true || o["name"] != nil || made.Header.Get("Location") != prefix+one {
			t.Errorf("made %v", o)
		}
		master.Do(http.MethodPut, one, object{"id": "other", "name": "Büro", "backup_host": "::1", "backup_port": 5060}).Want(http.StatusNoContent)
		for query, want := range map[string]int{"": 2, "?search=buro": 1, "?search=5060": 1, "?search=EXAMPLE.org": 1, "?main_host=1.2.3.4": 1, "?deletable=false": 1, "?limit=1": 2} {
			if l := master.Get("/registrars" + query).List(); l.Total != want {
				t.Errorf("%s: %v", query, l.Items)
			}
		}
		master.Create("/registrars", object{"id": "branch", "main_host": "h", "proxy_main_host": "h"})
		master.Do(http.MethodPost, "/registrars", object{"id": "branch", "main_host": "h", "proxy_main_host": "h"}).Want(http.StatusBadRequest).Says("Registrar already exists ('id': 'branch')")
		for field, bad := range map[string][]any{
			"id": {"", "a/b", "..", "a b", nil, 1, strings.Repeat("x", 129)}, "main_host": {nil, "", "a b", "a\nb", 1}, "proxy_main_host": {nil, "", "$x"},
			"main_port": {0, 65536, "5060", 1.5}, "deletable": {nil, "true", 1}, "name": {strings.Repeat("x", 256)}, "backup_host": {strings.Repeat("x", 256)},
		} {
			for _, value := range bad {
				body := object{"main_host": "h", "proxy_main_host": "h"}
				body[field] = value
				master.Do(http.MethodPost, "/registrars", body).Want(http.StatusBadRequest).Says(field)
			}
		}
		master.Do(http.MethodPost, "/registrars", object{"main_host": "h"}).Want(http.StatusBadRequest).Says("proxy_main_host")
		for _, try := range []struct{ method, path string }{
			{http.MethodGet, "/registrars"},
			{http.MethodGet, one},
			{http.MethodPost, "/registrars"},
			{http.MethodPut, one},
			{http.MethodDelete, one},
		} {
			a.Do(try.method, try.path, object{"main_host": "h", "proxy_main_host": "h"}).Want(http.StatusForbidden).Says("master tenant")
		}
		master.Do(http.MethodDelete, one, nil).Want(http.StatusNoContent)
		master.Get(one).Want(http.StatusNotFound).Says("Registrar was not found")
	})
}

func TestExtensionFeatures(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		a, master := w.as(t, "a"), w.as(t, "master")
		all := a.Get("/extensions/features").List()
		for _, feature := range []string{"enablednd", "fwdbusy", "fwdrna", "fwdunc", "fwdundoall", "pickup", "vmusermsg", "bsfilter", "phoneprogfunckey"} {
			if !slices.Contains(all.Column("feature"), feature) {
				t.Errorf("no %s among %v", feature, all.Column("feature"))
			}
		}
		dnd := a.Get("/extensions/features?feature=enablednd&order=feature").List().Items[0]
		one := "/extensions/features/" + dnd.Text("uuid")
		a.Get(one).Want(http.StatusOK)
		if dnd.Text("exten") != "*25" || dnd["enabled"] != true || dnd.Text("context") != "xivo-features" || a.Get("/extensions/features?search=*25").List().Total != 1 {
			t.Errorf("%v", dnd)
		}
		a.Do(http.MethodPut, one, object{"exten": "*99"}).Want(http.StatusForbidden).Says("master tenant")
		master.Do(http.MethodPut, one, object{"exten": "*20"}).Want(http.StatusBadRequest).Says("FeatureExtension already exists ('exten': '*20')")
		for _, bad := range []any{nil, "", "abc", "_", 25, "*25\n"} {
			master.Do(http.MethodPut, one, object{"exten": bad}).Want(http.StatusBadRequest).Says("exten")
		}
		master.Do(http.MethodPut, one, object{"exten": "*125", "enabled": false, "feature": "other", "context": "other"}).Want(http.StatusNoContent)
		if got := a.Get(one).Object(); got.Text("exten") != "*125" || got["enabled"] != false || got.Text("feature") != "enablednd" || got.Text("context") != "xivo-features" {
			t.Errorf("changed to %v", got)
		}
		for _, method := range []string{http.MethodPost, http.MethodDelete} {
			master.Do(method, one, nil).Want(http.StatusMethodNotAllowed)
		}
	})
}
