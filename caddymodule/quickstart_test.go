package caddymodule_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// engines maps each engine to a function that returns the address (RINGFENCE_DATABASE) of a fresh database.
var engines = map[string]func(t *testing.T) string{
	"sqlite":   func(*testing.T) string { return "" },
	"postgres": func(t *testing.T) string { t.Helper(); return storetest.PostgresDSN(t) },
}

// The README's quickstart through the gate over HTTPS, with every status.
func TestQuickstart(t *testing.T) {
	for name, address := range engines {
		t.Run(name, func(t *testing.T) { quickstart(t, loadDefault(t, address(t))) })
	}
}

func quickstart(t *testing.T, g *gateway) {
	t.Helper()
	const auth, confd = "/api/auth/0.1", "/api/confd/1.1"
	admin := g.Admin(t)
	user := g.Do(t, "POST", auth+"/users", admin, `{"username": "my-client", "password": "s3cret of the client", "purpose": "external_api"}`).Want(200).Text("uuid")
	policy := g.Do(t, "POST", auth+"/policies", admin, `{"name": "my-client", "acl": ["confd.#", "auth.#"]}`).Want(200).Text("uuid")

	// Before the policy is attached the client gets a token, but may do nothing with it.
	login := func() string {
		return g.Do(t, "POST", auth+"/token", "", `{"expiration": 3600}`, resttest.Basic("my-client", "s3cret of the client")).Want(200).Text("data.token")
	}
	token := login()
	g.Do(t, "GET", confd+"/users", token, "").Want(403)
	g.Do(t, "PUT", auth+"/users/"+user+"/policies/"+policy, admin, "").Want(204)
	g.Do(t, "GET", confd+"/users", token, "").Want(200) // the same token: changes of accesses apply at once

	token = login()
	list := g.Do(t, "GET", confd+"/users", token, "").Want(200)
	if list.Header.Get("Content-Type") != "application/json" || list.Header.Get("X-Request-Id") == "" || !strings.Contains(list.Body, `"items"`) {
		t.Errorf("headers %v, body %s", list.Header, list.Body)
	}
	made := g.Do(t, "POST", confd+"/users", token, `{"firstname": "Alice"}`).Want(201)
	object := confd + "/users/" + made.Text("uuid")
	tag := g.Do(t, "GET", object, token, "").Want(200).Header.Get("ETag")
	ifMatch := func(r *http.Request) { r.Header.Set("If-Match", tag) }
	g.Do(t, "PUT", object, token, `{"lastname": "Liddell"}`, ifMatch).Want(204)
	g.Do(t, "PUT", object, token, `{"lastname": "Hargreaves"}`, ifMatch).Want(412)

	// What is long comes compressed to who takes that, and a change of it goes by its tag.
	keys := `{"name": "All", "keys": {"1": {"label": "` + strings.Repeat("x", 100) + `", "destination": {"type": "custom", "exten": "0"}}`
	for i := 2; i < 150; i++ {
		keys += fmt.Sprintf(`, "%[1]d": {"label": "%0100[1]d", "destination": {"type": "custom", "exten": "%[1]d"}}`, i)
	}
	long := fmt.Sprint(confd, "/funckeys/templates/", g.Do(t, "POST", confd+"/funckeys/templates", token, keys+"}}").Want(201).JSON("id"))
	if tag = g.Do(t, "GET", long, token, "").Want(200).Header.Get("ETag"); !strings.HasSuffix(tag, `-gzip"`) {
		t.Errorf("it is not compressed: its tag is %s", tag)
	}
	g.Do(t, "GET", long, token, "", resttest.Header("If-None-Match", tag)).Want(304)
	g.Do(t, "PUT", long, token, `{"name": "Some"}`, ifMatch).Want(204)
	g.Do(t, "PUT", long, token, `{"name": "Others"}`, ifMatch).Want(412)
	g.Do(t, "GET", confd+"/voicemails", token, "").Want(200)
	g.Do(t, "GET", confd+"/users?limit=0", token, "").Want(400)
	g.Do(t, "GET", confd+"/users/"+user+"0", token, "").Want(404)
	g.Do(t, "GET", confd+"/users", token, "", func(r *http.Request) { r.Header.Set("Accept", "text/html") }).Want(406)
	g.Do(t, "POST", confd+"/users", token, "{}", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }).Want(415)
	g.Do(t, "GET", confd+"/users", "", "").Want(401)
	g.Do(t, "GET", auth+"/token/"+token, "", "").Want(200)
	g.Do(t, "HEAD", auth+"/token/"+token+"?scope=confd.users.read", "", "").Want(204)
	g.Do(t, "HEAD", auth+"/token/"+token+"?scope=calld.calls.read", "", "").Want(403)
	if _, err := g.Try(t.Context(), "GET", "/api/sysconfd/status_check", token, ""); err != nil {
		t.Error(err)
	}
	g.Do(t, "GET", "/api/sysconfd/status_check", token, "").Want(403)
	g.Do(t, "GET", "/api/sysconfd/status_check", admin, "").Want(200)
	g.Do(t, "GET", g.Helpers+"/status_check", "", "").Want(200)

	// Once restricted, the same token is refused at once, and the response names the missing access.
	g.Do(t, "PUT", auth+"/policies/"+policy, admin, `{"name": "my-client", "acl": ["confd.voicemails.read"]}`).Want(200)
	if refused := g.Do(t, "GET", confd+"/users", token, "").Want(403); !strings.Contains(refused.Body, "confd.users.read") {
		t.Errorf("the refusal does not name the access: %s", refused.Body)
	}
	g.Do(t, "GET", confd+"/voicemails", token, "").Want(200)
	g.Do(t, "GET", auth+"/users", token, "").Want(403)

	// The token ends with its user, at once.
	g.Do(t, "DELETE", auth+"/users/"+user, admin, "").Want(204)
	g.Do(t, "GET", confd+"/voicemails", token, "").Want(401)
	g.Do(t, "GET", auth+"/token/"+token, "", "").Want(404)
	g.Do(t, "DELETE", auth+"/policies/"+policy, admin, "").Want(204)
	g.Do(t, "DELETE", auth+"/token/"+admin, "", "").Want(200)
	g.Do(t, "GET", confd+"/users", admin, "").Want(401)
}

// The default Caddyfile's sites beside the API.
func TestDefaultSites(t *testing.T) {
	g := loadDefault(t, "")
	for _, tt := range []struct {
		method, path string
		status       int
		holds        string
	}{
		{"GET", "/healthz", 200, `{"status":"alive"}`},
		{"GET", "/readyz", 200, `{"status":"ready"}`},
		{"POST", "/readyz", 405, ""},
		{"GET", "/", 302, ""},
		{"GET", "/console", 302, ""},
		{"GET", "/console/", 200, "<!doctype html>"},
		{"GET", "/console/services.json", 200, "/api/confd/1.1/api/openapi.json"},
		{"GET", "/api/auth/0.1/api/openapi.json", 200, `"openapi"`},
		{"GET", "/api/confd/1.1/api/api.yml", 200, "openapi"},
		{"GET", "/api/sysconfd/api/api.yml", 200, "openapi"},
		{"GET", "/?next=//elsewhere", 302, ""},
		{"GET", "/..", 400, "segment that is . or .."}, // what Caddy would clean to / is no path, and leads nowhere
		{"GET", "/healthz/..", 400, "segment that is . or .."},
		{"GET", "/api/auth/0.1/..", 400, "segment that is . or .."},
		{"GET", "/%2e%2e/console", 400, "segment that is . or .."},
		{"GET", "//", 400, "empty segment"},
		{"GET", "//console", 400, "empty segment"},
		{"GET", "/console/..", 400, "segment that is . or .."},
		{"GET", "/console//", 404, ""},
		{"GET", "/console/%ff", 404, ""},
		{"GET", "/nothing", 404, "No service is served at this path"},
		{"GET", "/nothing//at/all", 400, "empty segment"}, // the gate also sees paths that no service has
		{"GET", "/nothing%00", 400, "control character"},
		{"GET", "/metrics", 404, ""}, // on the loopback port only
		{"GET", "/status_check", 404, ""},
		{"GET", g.Helpers + "/", 200, "/readyz "},
		{"GET", g.Helpers + "/..", 400, "segment that is . or .."},
		{"GET", g.Helpers + "/status_check/..", 400, "segment that is . or .."},
		{"GET", g.Helpers + "//", 400, "empty segment"},
		{"GET", g.Helpers + "/healthz", 200, `{"status":"alive"}`},
		{"GET", g.Helpers + "/readyz", 200, `{"status":"ready"}`},
		{"GET", g.Helpers + "/metrics", 200, "ringfence_gate_requests_total"},
		{"GET", g.Helpers + "/status_check", 200, `"up"`},
		{"GET", g.Helpers + "/api/confd/1.1/users", 404, ""},
		{"GET", g.Helpers + "/console/services.json", 404, ""},
	} {
		a := g.Do(t, tt.method, tt.path, "", "")
		if a.Status != tt.status || !strings.Contains(a.Body, tt.holds) {
			t.Errorf("%s %s: status %d, want %d with %q: %.200s", tt.method, tt.path, a.Status, tt.status, tt.holds, a.Body)
		}
		if a.Header.Get("Location") != "" && a.Header.Get("Location") != "/console/" {
			t.Errorf("%s leads to %s", tt.path, a.Header.Get("Location"))
		}
	}
	// A page whose own name resolves to 127.0.0.1 gets nothing from the plain port.
	rebound := g.Do(t, "GET", g.Helpers+"/status_check", "", "", func(r *http.Request) { r.Host = "evil.example" })
	if strings.Contains(rebound.Body, "up") {
		t.Errorf("another host name is served: %s", rebound.Body)
	}
}
