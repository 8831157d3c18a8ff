package authsvc_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// offline logs in with a refresh token.
func (s *server) offline(user, password string) (token, refresh string) {
	s.t.Helper()
	a := s.do("POST", "/token", "", `{"access_type":"offline","client_id":"phone"}`, resttest.Basic(user, password)).Want(200)
	return a.Text("data.token"), a.Text("data.refresh_token")
}

// lives fails the test unless the token is valid (or not), for this node's cache and for the database.
func (s *server) lives(token string, want bool) {
	s.t.Helper()
	_, err := s.cache.Principal(s.t.Context(), token)
	status := s.do("HEAD", "/token/"+token, "", "").Status
	if (err == nil) != want || (status == 204) != want {
		s.t.Errorf("the token lives: %t, %d; want %t", err == nil, status, want)
	}
}

func change(old, next string) string {
	return fmt.Sprintf(`{"old_password":%q,"new_password":%q}`, old, next)
}

func TestChangePassword(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user, _, mine := s.account(admin, "bob", "auth.users.me.password.update")
		other, refresh := s.offline("bob", "secret of bob")
		s.lives(other, true)

		s.do("PUT", "/users/"+user+"/password", mine, change("secret of bob", "new")).Want(204)
		s.lives(mine, true)
		s.lives(other, false)
		s.do("POST", "/token", "", `{"refresh_token":"`+refresh+`","client_id":"phone"}`).Want(401)
		s.do("POST", "/token", "", "{}", resttest.Basic("bob", "secret of bob")).Want(401)
		s.login("bob", "new")

		// An administrator who knows the password ends all of the user's sessions, and none of their own.
		s.do("PUT", "/users/"+user+"/password", admin, change("new", "newer")).Want(204)
		s.lives(mine, false)
		s.lives(admin, true)
		entry := s.do("GET", "/audit?action=change_password&order=id&direction=desc", admin, "").List()
		if entry.Filtered != 2 || entry.Items[0]["object"] != user || strings.Contains(fmt.Sprint(entry.Items), "newer") {
			t.Errorf("the audit has %v", entry.Items)
		}
	})
}

func TestChangePasswordIsRefused(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		bob, _, mine := s.account(admin, "bob", "auth.users.#")
		below := s.tenant(admin, "below")
		s.do("PUT", "/tenants/"+below, admin, `{"default_authentication_method":"ldap"}`, resttest.In(below)).Want(200)
		account := func(body string, where string) string {
			t.Helper()
			return s.do("POST", "/users", admin, body, resttest.In(where)).Want(200).Text("uuid")
		}
		top := s.do("GET", "/users/"+bob, admin, "").Text("tenant_uuid")
		ldap := account(`{"username":"l","password":"x","authentication_method":"ldap"}`, top)
		saml := account(`{"username":"s","password":"x","authentication_method":"saml"}`, top)
		byTenant := account(`{"username":"d","password":"x"}`, below)
		passwordless := account(`{"username":"p"}`, top)
		adminUUID := s.do("GET", "/token/"+admin, "", "").Text("data.auth_id")
		stranger := s.login("bob", "secret of bob")
		for name, c := range map[string]struct {
			user, token, body string
			status            int
			id                string
		}{
			"wrong old password":    {bob, mine, change("wrong", "new"), 401, "unauthorized"},
			"old password too long": {bob, mine, change(strings.Repeat("é", 1000), "new"), 401, "unauthorized"},
			"no such user":          {"00000000-0000-4000-8000-000000000000", admin, change("a", "b"), 404, "unknown-user"},
			"no UUID":               {"bob", admin, change("a", "b"), 404, "unknown-user"},
			"ldap":                  {ldap, admin, change("x", "new"), 405, "password-managed-externally"},
			"saml":                  {saml, admin, change("x", "new"), 405, "password-managed-externally"},
			"the tenant's ldap":     {byTenant, admin, change("x", "new"), 405, "password-managed-externally"},
			"no password":           {passwordless, admin, change("x", "new"), 401, "unauthorized"},
			"who holds more":        {adminUUID, stranger, change(adminPassword, "new"), 403, "forbidden"},
			"no new password":       {bob, mine, `{"old_password":"secret of bob"}`, 400, "invalid-data"},
			"empty new password":    {bob, mine, change("secret of bob", ""), 400, "invalid-data"},
			"null":                  {bob, mine, `{"old_password":"secret of bob","new_password":null}`, 400, "invalid-data"},
			"the same":              {bob, mine, change("secret of bob", "secret of bob"), 400, "invalid-data"},
			"too long":              {bob, mine, change("secret of bob", strings.Repeat("x", 1025)), 400, "invalid-data"},
			"too many bytes":        {bob, mine, change("secret of bob", strings.Repeat("é", 1000)), 400, "invalid-data"},
		} {
			t.Run(name, func(t *testing.T) {
				s := s.in(t)
				a := s.do("PUT", "/users/"+c.user+"/password", c.token, c.body).Refused(c.status, c.id)
				if c.status == 401 && a.Text("message") != "Authentication Failed" {
					t.Errorf("message %s", a.Body)
				}
			})
		}
		s.lives(mine, true)
		s.login("bob", "secret of bob")
		s.login("admin", adminPassword)
	})
}

// A person who has a session but not the password may guess as slowly as everybody else, and does not lock the login.
func TestChangePasswordIsGuarded(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		user, _, mine := s.account(s.admin(), "bob", "auth.users.me.password.update")
		s.freeze()
		s.settle(authsvc.Settings{Limits: authsvc.Limits{FreeGuesses: 3}})
		path := "/users/" + user + "/password"
		for range 3 {
			s.do("PUT", path, mine, change("wrong", "new")).Want(401)
		}
		if a := s.do("PUT", path, mine, change("secret of bob", "new")).Refused(429, "too-many-attempts"); a.Header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
		}
		s.login("bob", "secret of bob")
	})
}

// Of two who change the same password, one succeeds.
func TestChangePasswordAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		user, _, first := s.account(s.admin(), "bob", "auth.users.me.password.update")
		second := s.login("bob", "secret of bob")
		answers := make([]resttest.Answer, 2)
		var both sync.WaitGroup
		for i, token := range []string{first, second} {
			both.Go(func() {
				answers[i] = s.do("PUT", "/users/"+user+"/password", token, change("secret of bob", fmt.Sprint("new ", i)))
			})
		}
		both.Wait()
		winner := 0
		if answers[1].Status == 204 {
			winner = 1
		}
		if answers[winner].Status != 204 || answers[1-winner].Status != 401 {
			t.Fatalf("%d %s, %d %s", answers[0].Status, answers[0].Body, answers[1].Status, answers[1].Body)
		}
		s.login("bob", fmt.Sprint("new ", winner))
		s.lives([]string{first, second}[winner], true)
		s.lives([]string{first, second}[1-winner], false)
	})
}

// Hashes of another platform, and hashes with other parameters, match their passwords, and a successful login replaces them.
func TestOldHashes(t *testing.T) {
	const (
		// RFC 7914's vectors are for SHA-256; these come from Python's hashlib.pbkdf2_hmac("sha512", ...), for "pässword".
		other  = "$pbkdf2-sha512$i=250000$000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f$d40347bc5e41cb01be537f67d50b9edec9b0dee2714047e1fc1417cac65c8619896cdfea4ada1d5ba340c8efa2c0409e3642bfe1f54b1fa771273a0d355859d7"
		argon2 = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4" // of "password", by the reference implementation
	)
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		user := s.do("POST", "/users", s.admin(), `{"username":"ann","password":"x"}`).Want(200).Text("uuid")
		hash := func() string {
			h, err := store.Get[string](t.Context(), db, `SELECT password_hash FROM auth_user WHERE uuid = $1`, user)
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		for name, c := range map[string]struct {
			stored, password string
			status           int
		}{
			"PBKDF2":                 {other, "pässword", 200},
			"PBKDF2, wrong password": {other, "password", 401},
			"other parameters":       {argon2, "password", 200},
			"a hash that is refused": {strings.Replace(other, "250000", "0", 1), "pässword", 401},
		} {
			t.Run(name, func(t *testing.T) {
				s := s.in(t)
				if _, err := db.Exec(t.Context(), `UPDATE auth_user SET password_hash = $2 WHERE uuid = $1`, user, c.stored); err != nil {
					t.Fatal(err)
				}
				s.do("POST", "/token", "", "{}", resttest.Basic("ann", c.password)).Want(c.status)
				now := hash()
				if c.status == 401 && now != c.stored {
					t.Errorf("a login that failed left %s", now)
				}
				if c.status != 200 {
					return
				}
				if !strings.HasPrefix(now, "$argon2id$v=19$"+cheap.String()+"$") {
					t.Fatalf("a login that succeeded left %s", now)
				}
				s.login("ann", c.password)
				if hash() != now {
					t.Error("a hash that is as new ones are was replaced")
				}
			})
		}
	})
}
