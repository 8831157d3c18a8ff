package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

const confd = "/api/confd/1.1"

// remoteCaddyfile writes the repository's Caddyfile with the tokens of another gateway.
func remoteCaddyfile(t *testing.T, other *gatewaytest.Process, staleness time.Duration) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(gatewaytest.Repository(), "Caddyfile"))
	if err != nil {
		t.Fatal(err)
	}
	remote := fmt.Sprintf("tokens remote %s/api/auth {\nstaleness %s\nca %q\n}", other.URL, staleness,
		filepath.Join(other.Data, "tls", "certificate.pem"))
	file := filepath.Join(t.TempDir(), "Caddyfile")
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "tokens local", remote, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The tenants of another auth server, which is another gateway here, are that server's: its tree says who may act where, and what
// is known here of the tree follows it.
func TestTenantsOfAnotherAuthServer(t *testing.T) {
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const staleness = time.Second
			there := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
			here := gatewaytest.Start(t, gatewaytest.Settings{Database: database(t), Config: remoteCaddyfile(t, there, staleness)}).Ready(t)
			admin := there.Login(t, "admin", gatewaytest.Password)
			const auth = "/api/auth/0.1"
			tenant := func(name, below string) string {
				return there.Do(t, "POST", auth+"/tenants", admin, `{"name": "`+name+`"}`, resttest.In(below)).Want(200).Text("uuid")
			}
			master := there.Do(t, "GET", auth+"/token/"+admin, "", "").Want(200).Text("data.metadata.tenant_uuid")
			a := tenant("a", master)
			a1, b := tenant("a1", a), tenant("b", master)
			user := func(name, in string) string {
				policy := there.Do(t, "POST", auth+"/policies", admin, `{"name": "confd", "acl": ["confd.#"]}`, resttest.In(in)).Want(200).Text("uuid")
				id := there.Do(t, "POST", auth+"/users", admin, `{"username": "`+name+`", "password": "a long password"}`, resttest.In(in)).Want(200).Text("uuid")
				there.Do(t, "PUT", auth+"/users/"+id+"/policies/"+policy, admin, "").Want(204)
				return there.Login(t, name, "a long password")
			}
			ofA, ofB := user("a", a), user("b", b)

			create := func(token, in string, status int) resttest.Answer {
				t.Helper()
				return here.Do(t, "POST", confd+"/users", token, `{"firstname": "Al"}`, resttest.In(in)).Want(status)
			}
			total := func(token, query string, want int, edits ...resttest.Edit) func() error {
				return func() error {
					answer, err := here.Try(t.Context(), "GET", confd+"/users"+query, token, "", edits...)
					if err == nil && (answer.Status != 200 || answer.For(t).List().Total != want) {
						err = fmt.Errorf("%d %.300s, want %d", answer.Status, answer.Body, want)
					}
					return err
				}
			}
			at := confd + "/users/" + create(ofA, a1, 201).Text("uuid")
			create(ofA, strings.ToUpper(a1), 201)
			for _, refused := range []string{b, master, strings.ReplaceAll(a1, "-", ""), "{" + a1 + "}", "nobody", "*", "a9f39a6c-5d0a-4c43-9a8f-3a3a2d0a0f11"} {
				create(ofA, refused, 401)
			}
			here.Do(t, "GET", confd+"/users", ofA, "", resttest.In(a1), func(r *http.Request) { r.Header.Add("Wazo-Tenant", a1) }).Want(400)

			// It began like every tenant, and lies below the token's own.
			if l := here.Do(t, "GET", confd+"/endpoints/sip/templates", ofA, "", resttest.In(a1)).List(); l.Total != 5 {
				t.Errorf("it begins with %v", l.Column("label"))
			}
			for _, check := range []func() error{
				total(ofA, "", 0), total(ofA, "?recurse=true", 2), total(ofA, "", 2, resttest.In(a1)), total(ofB, "?recurse=true", 0),
				total(admin, "", 2, resttest.In(a1)), total(admin, "?recurse=true", 2),
			} {
				if err := check(); err != nil {
					t.Error(err)
				}
			}
			here.Do(t, "GET", at, ofA, "").Want(200)
			here.Do(t, "GET", at, ofB, "").Want(404)

			// a1 moves below b: it is b's within the staleness, and no longer a's, whoever asks first.
			there.Do(t, "PUT", auth+"/tenants/"+a1+"/parent/"+b, admin, "").Want(204)
			gatewaytest.Eventually(t, time.Minute, total(ofA, "?recurse=true", 0))
			here.Do(t, "GET", at, ofA, "").Want(404)
			create(ofA, a1, 401)
			create(ofB, a1, 201)
			here.Do(t, "GET", at, ofB, "").Want(200)
			if err := total(ofB, "?recurse=true", 3)(); err != nil {
				t.Error(err)
			}

			// What was let in is let in no longer than the staleness once nobody can be asked; then everybody waits.
			there.Kill(t)
			gatewaytest.Eventually(t, time.Minute, here.Status(t.Context(), "GET", confd+"/users", ofB, 503))
			answer := here.Do(t, "GET", confd+"/users", ofB, "", resttest.In(a1)).Want(503)
			if answer.Header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			there.Run(t)
			there.Ready(t)
			gatewaytest.Eventually(t, time.Minute, total(ofB, "", 3, resttest.In(a1)))
			there.Do(t, "DELETE", auth+"/token/"+ofB, "", "").Want(200)
			gatewaytest.Eventually(t, time.Minute, func() error {
				answer, err := here.Try(t.Context(), "GET", confd+"/users", ofB, "", resttest.In(a1))
				if err == nil && answer.Status != 401 {
					err = fmt.Errorf("after the token was revoked: %d", answer.Status)
				}
				return err
			})
		})
	}
}
