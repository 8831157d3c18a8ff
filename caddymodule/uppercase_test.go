package caddymodule_test

import (
	"fmt"
	"strings"
	"testing"
)

// A denial for a UUID also holds in upper case, in mixed case, and percent-encoded, for our own services and for upstreams: all
// spellings name the same object.
func TestDenialInUpperCase(t *testing.T) {
	g := newGateway(t)
	g.Routes = "handle /api/calld/* {\nringfence_gate calld {\nprefix /api/calld/1.0\n}\n" + daemon(t) + "\n}"
	g.Load(t)
	admin := g.Admin(t)
	id, _, _ := g.Account(t, admin, "ann", "confd.#")
	other, _, _ := g.Account(t, admin, "bob", "confd.#")
	_, _, held := g.Account(t, admin, "helpdesk", "auth.users.#", "confd.#", "calld.#", "!auth.users."+id+".#", "!confd.users."+id+".#", "!calld.users."+id+".#")

	upper := strings.ToUpper(id)
	encoded := upper[:35] + fmt.Sprintf("%%%02x", upper[35])
	for _, prefix := range []string{"/api/auth/0.1", "/api/confd/1.1", "/api/calld/1.0"} {
		for _, spelt := range []string{id, upper, upper[:18] + id[18:], encoded} {
			for method, body := range map[string]string{"GET": "", "PUT": "{}", "DELETE": ""} {
				g.Do(t, method, prefix+"/users/"+spelt, held, body).Want(403)
			}
		}
	}
	g.Do(t, "GET", "/api/auth/0.1/users/"+strings.ToUpper(other), held, "").Want(200)
	g.Do(t, "GET", "/api/calld/1.0/users/"+strings.ToUpper(other), held, "").Want(200)
	g.Do(t, "GET", "/api/auth/0.1/users/"+id+"/policies", held, "").Want(403)
}
