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
)

// withBackends starts a gateway whose Caddyfile says which backends there are.
func withBackends(t *testing.T, database, backends string) *gatewaytest.Process {
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
	return gatewaytest.Start(t, gatewaytest.Settings{Config: config, Database: database}).Ready(t)
}

// A tenant's directory, over TLS by the operator's authority, and the routes around it with the right access and a wrong one.
func TestDirectory(t *testing.T) {
	d := ldaptest.Start(t)
	for name, address := range databases {
		t.Run(name, func(t *testing.T) {
			p := withBackends(t, address(t), "\t\tbackends database\n\t\tbackend ldap {\n\t\t\tca "+d.CAFile+"\n\t\t}\n")
			const base = "/api/auth/0.1"
			admin := p.Login(t, "admin", gatewaytest.Password)
			alice := p.Do(t, "POST", base+"/users", admin, `{"email_address": "alice@example.test"}`).Want(t, 200).Text(t, "uuid")
			config := fmt.Sprintf(`{"host":%q,"port":%d,"protocol_security":"ldaps","bind_dn":%q,"bind_password":%q,"user_base_dn":%q,"user_login_attribute":"uid","user_email_attribute":"mail"}`,
				ldaptest.Host, d.TLSPort, ldaptest.ServiceDN, ldaptest.ServicePassword, ldaptest.PeopleDN)
			const patch = `[{"op":"replace","path":"/debug","value":true}]`
			for i, c := range []struct {
				method, path, body, access string
				status                     int
			}{
				{"PUT", "/backends/ldap", config, "auth.backends.ldap.update", 200},
				{"GET", "/backends/ldap", "", "auth.backends.ldap.read", 200},
				{"GET", "/idp", "", "auth.idp.read", 200},
				{"PUT", "/idp/ldap/users", `{"users":[{"uuid":"` + alice + `"}]}`, "auth.idp.ldap.users.update", 204},
				{"DELETE", "/idp/ldap/users/" + alice, "", "auth.idp.ldap.users." + alice + ".delete", 204},
				{"PUT", "/idp/ldap/users/" + alice, "", "auth.idp.ldap.users." + alice + ".create", 204},
				{"GET", "/config", "", "auth.config.read", 200},
				{"PATCH", "/config", patch, "auth.config.update", 200},
				{"GET", "/backends/saml", "", "auth.backends.saml.read", 501},
				{"POST", "/backends/saml", "", "auth.backends.saml.create", 501},
				{"PUT", "/backends/saml", "", "auth.backends.saml.update", 501},
				{"DELETE", "/backends/saml", "", "auth.backends.saml.delete", 501},
				{"GET", "/backends/saml/acs_url_template", "", "auth.backends.saml.read", 501},
				{"GET", "/backends/saml/metadata", "", "auth.backends.saml.read", 501},
			} {
				_, _, right := p.Account(t, admin, fmt.Sprintf("right%d", i), c.access)
				_, _, wrong := p.Account(t, admin, fmt.Sprintf("wrong%d", i), "#", "!"+c.access)
				if a := p.Do(t, c.method, base+c.path, wrong, c.body).Want(t, 403); a.Text(t, "details.required_access") != c.access {
					t.Errorf("%s %s: %s", c.method, c.path, a.Body)
				}
				p.Do(t, c.method, base+c.path, "", c.body).Want(t, 401)
				p.Do(t, c.method, base+c.path, right, c.body).Want(t, c.status)
			}
			for path, method := range map[string]string{"/saml/sso": "POST", "/saml/acs": "POST", "/saml/logout": "GET", "/saml/sls": "GET"} {
				p.Do(t, method, base+path, "", "").Want(t, 501)
			}
			if a := p.Do(t, "GET", base+"/backends", "", "").Want(t, 200); a.Body != `{"data":["database","ldap"]}` {
				t.Errorf("backends: %s", a.Body)
			}

			login := func(body, password string) gatewaytest.Answer {
				t.Helper()
				return p.Do(t, "POST", base+"/token", "", body, gatewaytest.Basic("alice", password))
			}
			a := login(`{"tenant_id":"master"}`, ldaptest.Password("alice")).Want(t, http.StatusOK)
			if a.Text(t, "data.auth_id") != alice {
				t.Errorf("the token is %s's", a.Text(t, "data.auth_id"))
			}
			login(`{"tenant_id":"master"}`, "wrong").Want(t, http.StatusUnauthorized)
			login(`{}`, ldaptest.Password("alice")).Want(t, http.StatusUnauthorized)
			_, _, reader := p.Account(t, admin, "remover", "auth.backends.ldap.delete", "auth.#")
			p.Do(t, "DELETE", base+"/backends/ldap", reader, "").Want(t, http.StatusNoContent)
			login(`{"tenant_id":"master"}`, ldaptest.Password("alice")).Want(t, http.StatusUnauthorized)
			for _, secret := range []string{ldaptest.ServicePassword, ldaptest.Password("alice")} {
				if strings.Contains(p.Output(), secret) {
					t.Error("a password is in the log")
				}
			}
		})
	}
}
