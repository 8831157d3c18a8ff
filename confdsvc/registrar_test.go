package confdsvc_test

import (
	"net/http"
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
		line := a.Create("/lines", object{"context": "default", "registrar": o["id"]})
		if line["registrar"] != o["id"] {
			t.Errorf("the line has %v", line["registrar"])
		}
		unknown := object{"context": line["context"], "registrar": "nowhere"}
		for _, try := range [][2]string{{http.MethodPost, "/lines"}, {http.MethodPut, "/lines/" + line.Text("id")}} {
			a.Do(try[0], try[1], unknown).Want(http.StatusBadRequest).Says("Input Error - field 'registrar': Registrar was not found ('registrar': 'nowhere')")
		}
		master.Do(http.MethodDelete, one, nil).Want(http.StatusNoContent)
		a.Do(http.MethodPut, "/lines/"+line.Text("id"), a.Get("/lines/"+line.Text("id")).Object()).Want(http.StatusNoContent)
		master.Get(one).Want(http.StatusNotFound).Says("Registrar was not found")
	})
}
