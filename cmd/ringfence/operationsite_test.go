package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// operationsSite is a gateway that can send mails and link users to external services, and a caller whose accesses change.
type operationsSite struct {
	*gatewaytest.Process
	mails      *mailtest.Server
	definition *openapi3.T
	admin      string
	// caller is the user whose token calls the operations; policy holds the caller's accesses.
	caller, policy, token string
	made                  int
}

func newOperationsSite(t *testing.T, address string) *operationsSite {
	t.Helper()
	s := &operationsSite{mails: mailtest.Start(t, mailtest.Options{})}
	s.Process = withBackends(t, address, fmt.Sprintf(`
		backends database ldap
		mail %s {
			from pbx@example.com
			ca %s
		}
		self_registration
		public_url https://pbx.example.com
		external google
		external microsoft
		external mobile
		default_user_policy none
`, s.mails.Addr, s.mails.CAFile))
	s.admin = s.Login(t, "admin", gatewaytest.Password)
	s.caller, s.policy, s.token = s.Account(t, s.admin, "caller", "confd.users.read")
	definition := s.Do(t, "GET", authBase+"/api/openapi.json", "", "").Want(200)
	var err error
	if s.definition, err = openapi3.NewLoader().LoadFromData([]byte(definition.Body)); err != nil {
		t.Fatal(err)
	}
	return s
}

// hold gives the caller these accesses and no others.
func (s *operationsSite) hold(t *testing.T, accesses ...string) {
	t.Helper()
	list, err := json.Marshal(append([]string{}, accesses...))
	if err != nil {
		t.Fatal(err)
	}
	s.Do(t, "PUT", authBase+"/policies/"+s.policy, s.admin, `{"acl":`+string(list)+`}`).Want(200)
}

// values maps the names of a path's parameters to their values; pairs alternates both.
func values(pairs ...string) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

// create creates an object as the administrator and returns its UUID.
func (s *operationsSite) create(t *testing.T, collection, format string, args ...any) string {
	t.Helper()
	return s.Do(t, "POST", authBase+"/"+collection, s.admin, fmt.Sprintf(format, args...)).Want(200).Text("uuid")
}

// put sends a PUT as the administrator.
func (s *operationsSite) put(t *testing.T, path, body string) {
	t.Helper()
	if a := s.Do(t, "PUT", authBase+path, s.admin, body); a.Status/100 != 2 {
		t.Fatalf("PUT %s: %d %s", path, a.Status, a.Body)
	}
}

// name returns an unused name.
func (s *operationsSite) name() string {
	s.made++
	return fmt.Sprintf("n%d", s.made)
}

func (s *operationsSite) user(t *testing.T) string { t.Helper(); return s.create(t, "users", `{}`) }

func (s *operationsSite) group(t *testing.T) string {
	t.Helper()
	return s.create(t, "groups", `{"name":%q}`, s.name())
}

// aPolicy makes a policy that gives nothing, so that everybody may give it.
func (s *operationsSite) aPolicy(t *testing.T) string {
	t.Helper()
	return s.create(t, "policies", `{"name":%q}`, s.name())
}

func (s *operationsSite) tenant(t *testing.T) string {
	t.Helper()
	return s.create(t, "tenants", `{"name":%q}`, s.name())
}

// in makes a request act in a tenant.
func in(tenant string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Wazo-Tenant", tenant) }
}

const password = "the password of everybody here"

// login makes a token of the user with this name.
func (s *operationsSite) login(t *testing.T, name, password, body string) resttest.Answer {
	t.Helper()
	return s.Do(t, "POST", authBase+"/token", "", body, resttest.Basic(name, password)).Want(200)
}

// person makes a user who can log in.
func (s *operationsSite) person(t *testing.T) (uuid, name string) {
	t.Helper()
	name = s.name()
	return s.create(t, "users", `{"username":%q,"password":%q,"email_address":%q}`, name, password, name+"@example.com"), name
}

// address makes a user with an unconfirmed address.
func (s *operationsSite) address(t *testing.T) (user, email string) {
	t.Helper()
	user = s.user(t)
	a := s.Do(t, "PUT", authBase+"/users/"+user+"/emails", s.admin, fmt.Sprintf(`{"emails":[{"address":"%s@example.org","main":true}]}`, s.name())).Want(200)
	var emails []struct{ UUID string }
	if err := json.Unmarshal([]byte(a.Body), &emails); err != nil || len(emails) != 1 {
		t.Fatalf("%v: %s", err, a.Body)
	}
	return user, emails[0].UUID
}

// mailed returns the token in the next mail.
func (s *operationsSite) mailed(t *testing.T) string {
	t.Helper()
	link := s.mails.Next(t).Link(t)
	_, token, found := strings.Cut(link, "token=")
	if !found {
		t.Fatalf("no token in %s", link)
	}
	return token
}

const (
	directory = `{"host":"ldap.example.com","port":636,"protocol_security":"ldaps","user_base_dn":"ou=people,dc=example,dc=com","user_login_attribute":"uid","user_email_attribute":"mail"}`
	addresses = `{"emails":[{"address":"%s@example.net","main":true}]}`
)

// configured gives an external service a configuration and returns its type.
func (s *operationsSite) configured(t *testing.T, authType string, edit ...func(*http.Request)) string {
	t.Helper()
	a := s.Do(t, "POST", authBase+"/external/"+authType+"/config", s.admin, `{"client_id":"i","client_secret":"s","fcm_sender_id":"42"}`, edit...)
	if a.Status != 201 && a.Status != 409 {
		t.Fatalf("configuring %s: %d %s", authType, a.Status, a.Body)
	}
	return authType
}

// linked makes a user with mobile data.
func (s *operationsSite) linked(t *testing.T) string {
	t.Helper()
	user := s.user(t)
	s.put(t, "/users/"+user+"/external/mobile", `{"token":"t"}`)
	return user
}

// slug returns the slug of a policy that gives nothing.
func (s *operationsSite) slug(t *testing.T) string {
	t.Helper()
	name := s.name()
	s.create(t, "policies", `{"name":%q,"slug":%q}`, name, name)
	return name
}

// refresh makes a user with a refresh token.
func (s *operationsSite) refresh(t *testing.T) (user, client string) {
	t.Helper()
	user, name := s.person(t)
	client = s.name()
	s.login(t, name, password, fmt.Sprintf(`{"access_type":"offline","client_id":%q}`, client))
	return user, client
}

// ownRefresh makes a refresh token of the caller. Its client's name contains a dot, which separates no words there.
func (s *operationsSite) ownRefresh(t *testing.T) string {
	t.Helper()
	client := s.name() + ".example"
	s.login(t, "caller", "secret of caller", fmt.Sprintf(`{"access_type":"offline","client_id":%q}`, client))
	return client
}
