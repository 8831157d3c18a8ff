package confdsvc_test

import (
	"cmp"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A path that names nothing is refused before its body, whatever the operation is.
func TestPathsAreRefusedBeforeBodies(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		master := w.as(t, "master")
		tried := 0
		for _, op := range w.svc.Operations {
			if op.Body == nil || !strings.Contains(op.Path, "{") {
				continue
			}
			tried++
			status, says := http.StatusNotFound, "Resource Not Found - "
			if op.Method == http.MethodPost && strings.Index(op.Path, "{") == strings.LastIndex(op.Path, "/")+1 {
				status, says = http.StatusBadRequest, "" // its path names what it makes
			}
			path := parameters.ReplaceAllStringFunc(op.Path, func(name string) string {
				if strings.HasSuffix(name, "uuid}") {
					return uuid.NewString()
				}
				return "987654"
			})
			for _, body := range []any{"{", "[]", object{"label": 5, "enabled": "x", "users": 5}} {
				master.Do(op.Method, path, body, func(r *http.Request) { r.Header.Set("Content-Type", cmp.Or(op.Consumes, "application/json")) }).
					Want(status).Says(says)
			}
		}
		if tried < 30 {
			t.Errorf("%d operations", tried)
		}
		user, template := "/users/"+master.Create("/users", object{"firstname": "Al"}).Text("id"), "/funckeys/templates/"+master.Create("/funckeys/templates", object{}).Text("id")
		for _, path := range []string{user + "/forwards/nothing", user + "/services/nothing", user + "/funckeys/x", user + "/funckeys/-1", template + "/x", template + "/01"} {
			for _, body := range []any{"{", "[]", object{"enabled": "x"}} {
				master.Do(http.MethodPut, path, body).Want(http.StatusNotFound).Says("Resource Not Found - ")
			}
		}
		master.Do(http.MethodPut, template+"/0", "{").Want(http.StatusBadRequest).Says("Must be 1 or more")
		master.Do(http.MethodPost, "/bulk", object{"operations": []any{
			object{"method": "PUT", "path": "/users/987654", "body": object{"firstname": 5}}, object{"method": "PUT", "path": "/lines/987654", "body": object{"position": "x"}},
		}}).Want(http.StatusNotFound).Says("operations[1]: Resource Not Found - Line was not found")
	})
}

// What a tenant may not do is refused before its body, and after a path that names nothing.
func TestTenantsAreRefusedBeforeBodies(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		a := w.as(t, "a")
		transport := "/sip/transports/" + w.as(t, "master").Create("/sip/transports", object{"name": "tr"}).Text("uuid")
		registrar := "/registrars/" + w.as(t, "master").Create("/registrars", object{"main_host": "1.2.3.4", "proxy_main_host": "1.2.3.4"}).Text("id")
		for _, body := range []any{"{", "[]", object{"name": 5, "main_host": 5, "options": 5, "enabled": "x", "items": 5}} {
			for path, method := range map[string]string{
				"/sip/transports": http.MethodPost, transport: http.MethodPut, "/registrars": http.MethodPost, registrar: http.MethodPut,
				"/asterisk/voicemail/general": http.MethodPut, "/asterisk/voicemail/zonemessages": http.MethodPut, "/configuration/live_reload": http.MethodPut,
			} {
				a.Do(method, path, body).Want(http.StatusForbidden).Says("Only the master tenant may do this")
			}
			a.Do(http.MethodPut, "/sip/transports/"+uuid.NewString(), body).Want(http.StatusNotFound)
		}
		a.Do(http.MethodPut, "/sip/transports/"+uuid.NewString(), object{"name": "x"}).Want(http.StatusNotFound)
	})
}
