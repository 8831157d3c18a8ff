package authsvc_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/password"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

func TestRecover(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		ada, _, session := s.account(admin, "ada", "confd.#")
		_, refresh := s.offline("ada", "secret of ada")
		s.do("PUT", "/users/"+ada, admin, `{"authentication_method":"ldap"}`).Want(200)
		s.do("PUT", "/users/"+ada, admin, `{"enabled":false}`).Want(200)
		s.settle(authsvc.Settings{Limits: authsvc.Limits{FreeGuesses: 1}})
		s.guess(home, "ada", "wrong").Want(401)

		// The command's own service has no cache and no key.
		shell, err := authsvc.New(authsvc.Options{DB: db, Settings: cheapest})
		if err != nil {
			t.Fatal(err)
		}
		got, err := shell.Recover(t.Context(), authsvc.Recovery{Username: " ADA ", Password: "new"})
		if err != nil || got.Username != "ada" || got.Denials != nil {
			t.Fatalf("%+v, %v", got, err)
		}
		s.guess(home, "ada", "new").Want(200)
		s.guess(home, "ada", "secret of ada").Want(401)
		s.lives(session, false)
		s.do("POST", "/token", "", `{"refresh_token":"`+refresh+`","client_id":"phone"}`).Want(401)
		if method := s.do("GET", "/users/"+ada, admin, "").Text("authentication_method"); method != "native" {
			t.Errorf("the method is %s", method)
		}
		if entries := s.do("GET", "/audit?action=admin_reset_password", admin, "").List(); entries.Filtered != 1 || entries.Items[0]["object"] != ada {
			t.Errorf("the audit has %v", entries.Items)
		}

		for name, c := range map[string]struct {
			recovery authsvc.Recovery
			want     error
		}{
			"nobody":   {authsvc.Recovery{Username: "nobody", Password: "x"}, authsvc.ErrNoSuchUser},
			"no name":  {authsvc.Recovery{Username: "", Password: "x"}, authsvc.ErrNoSuchUser},
			"too long": {authsvc.Recovery{Username: "ada", Password: strings.Repeat("x", 1025)}, nil},
		} {
			if _, err := shell.Recover(t.Context(), c.recovery); err == nil || (c.want != nil && !errors.Is(err, c.want)) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// In a gateway, the sessions that it has cached end at once, and the file with the first password goes.
func TestRecoverInAGateway(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		_, _, session := s.account(s.admin(), "ada", "confd.#")
		s.lives(session, true) // cached
		if _, err := s.svc.Recover(t.Context(), authsvc.Recovery{Username: "ada", Password: "new"}); err != nil {
			t.Fatal(err)
		}
		if s.passes(t.Context(), session) {
			t.Error("the cached session still passes")
		}
		s.settle(authsvc.Settings{Passwords: password.Settings{Params: cheap, Shortest: 100}}) // of those that people choose
		got, err := s.svc.Recover(t.Context(), authsvc.Recovery{Username: "ada"})
		if err != nil || len(got.Password) < 20 {
			t.Fatalf("%+v, %v", got, err)
		}
		s.login("ada", got.Password)
	})
}

// An administrator who has lost the policy, or whose policy has lost its access, gets both back.
func TestRecoverAdministrator(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		below := s.tenant(admin, "below")
		s.do("POST", "/users", admin, `{"username":"low","password":"x"}`, resttest.In(below)).Want(200)
		uuid := s.do("GET", "/token/"+admin, "", "").Text("data.auth_id")
		if _, err := s.svc.Recover(t.Context(), authsvc.Recovery{Username: "low", Password: "new", Administrator: true}); !errors.Is(err, authsvc.ErrNotMaster) {
			t.Errorf("an administrator of a tenant below: %v", err)
		}
		s.login("low", "x") // nothing was changed

		for name, sql := range map[string]string{
			"detached":  `DELETE FROM auth_user_policy`,
			"emptied":   `DELETE FROM auth_policy_access`,
			"gone":      `DELETE FROM auth_policy`,
			"all there": `UPDATE auth_user SET enabled = true`,
		} {
			t.Run(name, func(t *testing.T) {
				if _, err := db.Exec(t.Context(), sql); err != nil {
					t.Fatal(err)
				}
				got, err := s.svc.Recover(t.Context(), authsvc.Recovery{Username: "admin", Password: "of " + name, Administrator: true})
				if err != nil || got.Denials != nil {
					t.Fatalf("%+v, %v", got, err)
				}
				token := s.login("admin", "of "+name)
				s.cache.ForgetAll()
				if p, err := s.cache.Principal(t.Context(), token); err != nil || !p.Covers("#") {
					t.Errorf("the administrator is %+v, %v", p, err)
				}
			})
		}
		if _, err := s.svc.Recover(t.Context(), authsvc.Recovery{Username: "admin", Password: "plain"}); err != nil {
			t.Fatal(err)
		}
		token := s.login("admin", "plain")
		denial := s.do("POST", "/policies", token, `{"name":"denial","acl":["!confd.users.delete"]}`).Want(200).Text("uuid")
		if _, err := db.Exec(t.Context(), `INSERT INTO auth_user_policy (user_uuid, policy_uuid) VALUES ($1, $2)`, uuid, denial); err != nil {
			t.Fatal(err)
		}
		got, err := s.svc.Recover(t.Context(), authsvc.Recovery{Username: "admin", Password: "x", Administrator: true})
		if err != nil || !slices.Equal(got.Denials, []string{"!confd.users.delete"}) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
