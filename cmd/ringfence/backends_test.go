package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc/backend/ldap/ldaptest"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// withBackends starts a gateway whose Caddyfile configures these backends, with more variables.
func withBackends(t *testing.T, database, backends string, env ...string) *gatewaytest.Process {
	t.Helper()
	text, err := os.ReadFile(caddyfile())
	if err != nil {
		t.Fatal(err)
	}
	const own = "\t\ttokens local\n"
	changed := strings.Replace(string(text), own, own+backends, 1)
	config := filepath.Join(t.TempDir(), "Caddyfile")
	if err := os.WriteFile(config, []byte(changed), 0o600); err != nil || changed == string(text) {
		t.Fatalf("the Caddyfile has no place for backends, or %v", err)
	}
	return gatewaytest.Start(t, gatewaytest.Settings{Config: config, Database: database, Env: env}).Ready(t)
}

// A tenant's directory, over TLS with a certificate of the operator's authority.
func TestDirectory(t *testing.T) {
	d := ldaptest.Start(t)
	for name, address := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := withBackends(t, address(t), "\t\tbackends database\n\t\tbackend ldap {\n\t\t\tca "+d.CAFile+"\n\t\t}\n\t\tdirectories {\n\t\t\tallow 127.0.0.1\n\t\t}\n")
			admin := p.Login(t, "admin", gatewaytest.Password)
			alice := p.Do(t, "POST", authBase+"/users", admin, `{"email_address": "alice@example.test"}`).Want(200).Text("uuid")
			config := fmt.Sprintf(`{"host":%q,"port":%d,"protocol_security":"ldaps","bind_dn":%q,"bind_password":%q,"user_base_dn":%q,"user_login_attribute":"uid","user_email_attribute":"mail"}`,
				ldaptest.Host, d.TLSPort, ldaptest.ServiceDN, ldaptest.ServicePassword, ldaptest.PeopleDN)
			p.Do(t, "PUT", authBase+"/backends/ldap", admin, config).Want(200)
			p.Do(t, "PUT", authBase+"/idp/ldap/users/"+alice, admin, "").Want(204)
			if a := p.Do(t, "GET", authBase+"/backends", "", "").Want(200); a.Body != `{"data":["database","ldap"]}` {
				t.Errorf("backends: %s", a.Body)
			}

			login := func(body, password string) resttest.Answer {
				t.Helper()
				return p.Do(t, "POST", authBase+"/token", "", body, resttest.Basic("alice", password))
			}
			a := login(`{"tenant_id":"master"}`, ldaptest.Password("alice")).Want(http.StatusOK)
			if a.Text("data.auth_id") != alice {
				t.Errorf("the token is %s's", a.Text("data.auth_id"))
			}
			login(`{"tenant_id":"master"}`, "wrong").Want(http.StatusUnauthorized)
			login(`{}`, ldaptest.Password("alice")).Want(http.StatusUnauthorized)
			p.Do(t, "DELETE", authBase+"/backends/ldap", admin, "").Want(http.StatusNoContent)
			login(`{"tenant_id":"master"}`, ldaptest.Password("alice")).Want(http.StatusUnauthorized)
			for _, secret := range []string{ldaptest.ServicePassword, ldaptest.Password("alice")} {
				if strings.Contains(p.Output(), secret) {
					t.Error("a password is in the log")
				}
			}
		})
	}
}
