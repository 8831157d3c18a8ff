package authsvc_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/backend/ldap/ldaptest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A user whom the directory's administrator has locked gets no more tokens, by password or by refresh token. A live token stays
// valid until it expires, or until the user is disabled here.
func TestRefreshTokensOfADirectory(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		d := ldaptest.Start(t)
		s := newLDAPServer(t, db, d)
		s.settle(authsvc.Settings{Limits: lenient})
		admin := s.admin()
		s.do("PUT", "/backends/ldap", admin, directory(d, "")).Want(200)
		alice := s.do("POST", "/users", admin, `{"email_address":"alice@example.test","authentication_method":"ldap"}`).Want(200).Text("uuid")
		const online, offline = `{"tenant_id":"master"}`, `{"tenant_id":"master","access_type":"offline","client_id":"phone"}`
		in := resttest.Basic("alice", ldaptest.Password("alice"))
		first := s.do("POST", "/token", "", offline, in).Want(200)
		live, byRefresh := first.Text("data.token"), `{"client_id":"phone","refresh_token":"`+first.Text("data.refresh_token")+`"}`
		s.do("POST", "/token", "", byRefresh).Want(200)

		d.Change("alice", "pwdAccountLockedTime", "000001010000Z")
		s.do("POST", "/token", "", byRefresh).Refused(401, "unauthorized")
		s.do("POST", "/token", "", online, in).Want(401)
		s.do("HEAD", "/token/"+live, "", "").Want(204)
		d.Change("alice", "pwdAccountLockedTime")
		s.do("POST", "/token", "", byRefresh).Want(200)

		// A directory that cannot be asked decides nothing.
		d.Stop()
		if a := s.do("POST", "/token", "", byRefresh).Refused(503, "backend-unavailable"); a.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		d.Restart()
		s.do("POST", "/token", "", byRefresh).Want(200)

		// Without a service account the directory cannot be asked, so no refresh token is issued or accepted.
		alone := strings.Replace(strings.Replace(directory(d, ""), `"bind_dn":"`+ldaptest.ServiceDN+`"`, `"bind_dn":null`, 1), `"bind_password":"`+ldaptest.ServicePassword+`"`, `"bind_password":null`, 1)
		s.do("PUT", "/backends/ldap", admin, alone).Want(200)
		s.do("POST", "/token", "", online, in).Want(200)
		if a := s.do("POST", "/token", "", offline, in).Want(501); !strings.Contains(a.Body, "bind_dn") {
			t.Errorf("the refusal is %s", a.Body)
		}
		s.do("POST", "/token", "", byRefresh).Want(401)
		s.do("PUT", "/backends/ldap", admin, directory(d, "")).Want(200)
		s.do("POST", "/token", "", byRefresh).Want(200)

		d.Remove("alice")
		s.do("POST", "/token", "", byRefresh).Want(401)
		s.do("POST", "/token", "", online, in).Want(401)
		s.do("HEAD", "/token/"+live, "", "").Want(204)
		s.do("PUT", "/users/"+alice, admin, `{"enabled":false}`).Want(200)
		s.do("HEAD", "/token/"+live, "", "").Want(404)

		s.svc.UseBackends([]authsvc.Backend{s.svc.DatabaseBackend()})
		s.do("PUT", "/users/"+alice, admin, `{"enabled":true}`).Want(200)
		s.do("POST", "/token", "", byRefresh).Want(401) // no backend for her method
	})
}

// register is a third-party backend that authenticates one entry, and knows whether it still exists.
type register struct {
	gone  bool
	asked int // by Recheck
}

func (*register) Name() string { return "register" }

func (*register) Authenticate(_ context.Context, a authsvc.Attempt) (authsvc.Identity, error) {
	if a.Login != "eve" || a.Password != "of the register" {
		return authsvc.Identity{}, authsvc.ErrRefused
	}
	return authsvc.Identity{ID: "7", Logins: []string{"eve"}}, nil
}

func (r *register) Recheck(_ context.Context, id authsvc.Identity) error {
	r.asked++
	if r.gone || id.ID != "7" {
		return authsvc.ErrRefused
	}
	return nil
}

// A backend is asked only about users whom it has authenticated.
func TestRefreshTokensOfAnotherBackend(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		r := new(register)
		s.svc.UseBackends([]authsvc.Backend{s.svc.DatabaseBackend(), r})
		admin := s.admin()
		s.do("POST", "/users", admin, `{"username":"eve"}`).Want(200)
		s.account(admin, "ada", "auth.users.me.#")
		refresh := func(user, password string) string {
			t.Helper()
			a := s.do("POST", "/token", "", `{"access_type":"offline","client_id":"c"}`, resttest.Basic(user, password)).Want(200)
			return `{"client_id":"c","refresh_token":"` + a.Text("data.refresh_token") + `"}`
		}
		eve, ada := refresh("eve", "of the register"), refresh("ada", "secret of ada")
		s.do("POST", "/token", "", eve).Want(200)
		r.gone, r.asked = true, 0
		s.do("POST", "/token", "", eve).Want(401)
		s.do("POST", "/token", "", `{"access_type":"offline","client_id":"c"}`, resttest.Basic("eve", "of the register")).Want(401)
		if r.asked != 2 {
			t.Errorf("the backend was asked %d times for two logins", r.asked)
		}
		s.do("POST", "/token", "", ada).Want(200)
	})
}

var _ authsvc.BackendRechecker = (*register)(nil)
