package caddymodule_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// A request without an Accept header gets 406, unless the service is lenient. An Accept header is obeyed everywhere.
func TestAccept(t *testing.T) {
	g := newGateway(t)
	g.Routes = `handle /api/sysconfd/* {
		ringfence_gate
		ringfence_helpers {
			accept lenient
		}
	}`
	caddyfile := strings.Replace(g.Caddyfile(), "ringfence_confd", "ringfence_confd {\naccept lenient\n}", 1) + fmt.Sprintf(`
http://:%s {
	bind ringfence_tcp/127.0.0.1
	ringfence_helpers open {
		accept lenient
	}
}
`, g.HelpersPort)
	t.Cleanup(func() { gatewaytest.Stop(t) })
	if err := caddy.Load(g.Adapt(t, caddyfile), true); err != nil {
		t.Fatal(err)
	}
	admin := g.Admin(t)
	for _, tt := range []struct {
		name, path string
		accept     []string
		status     int
	}{
		{"strict", "/api/auth/0.1/users", nil, 406},
		{"strict, any", "/api/auth/0.1/users", []string{"*/*"}, 200},
		{"lenient", "/api/confd/1.1/users", nil, 200},
		{"lenient, empty", "/api/confd/1.1/users", []string{" , "}, 200},
		{"lenient, JSON", "/api/confd/1.1/users", []string{"application/json"}, 200},
		{"lenient, but not this", "/api/confd/1.1/users", []string{"text/html"}, 406},
		{"lenient, but not JSON", "/api/confd/1.1/users", []string{"*/*, application/json;q=0"}, 406},
		{"lenient, but malformed", "/api/confd/1.1/users", []string{"application"}, 406},
		{"lenient helpers behind the gate", "/api/sysconfd/status_check", nil, 200},
		{"lenient helpers without a gate", g.Helpers + "/status_check", nil, 200},
	} {
		a := g.Do(t, http.MethodGet, tt.path, admin, "", func(r *http.Request) {
			delete(r.Header, "Accept")
			if tt.accept != nil {
				r.Header["Accept"] = tt.accept
			}
		})
		if a.Status != tt.status || (tt.status == 406) != (a.Body == "") {
			t.Errorf("%s: status %d, body %.100q", tt.name, a.Status, a.Body)
		}
	}
}
