package authsvc_test

import (
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
)

// A caller with the access of a reset, who holds all that the user holds, sets the password without a mail.
func TestSetPassword(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		ada, _, session := s.account(admin, "ada", "confd.users.me.read")
		set := func(user, token, password string) answer {
			t.Helper()
			return s.do("POST", "/users/password/reset?user_uuid="+user, "", `{"password":`+password+`}`, sends(token))
		}
		access := "auth.users.password.reset." + ada + ".create"
		_, _, none := s.account(admin, "none", "auth.users.#", "!auth.users.password.#", "confd.#")
		_, _, weak := s.account(admin, "weak", access, "confd.users.me.read")
		helperUUID, _, helper := s.account(admin, "helper", "auth.users.password.reset.*.create", "confd.users.*.read")

		set(ada, none, `"planted password"`).lacks(t, access)
		set(ada, weak, `"planted password"`).lacks(t, "confd.users."+ada+".read")
		set(ada, session, `"planted password"`).lacks(t, access) // not even the caller's own, without the old one
		set(ada, "", `"planted password"`).refused(t, 401, "unauthorized")
		set(ada, "rf_junk", `"planted password"`).refused(t, 401, "unauthorized")
		s.lives(session, true)
		s.login("ada", "secret of ada")

		s.do("POST", "/users/password/reset?user_uuid="+ada+"&token="+helper, "", `{"password":"planted password"}`).refused(t, 401, "unauthorized")
		set(ada, helper, `"chosen by the helper"`).want(t, 204)
		s.lives(session, false)
		s.do("POST", "/token", "", "{}", basic("ada", "secret of ada")).want(t, 401)
		s.login("ada", "chosen by the helper")
		set(strings.ToUpper(ada), helper, `null`).want(t, 204)
		s.do("POST", "/token", "", "{}", basic("ada", "chosen by the helper")).want(t, 401)
		entries := s.do("GET", "/audit?action=reset_password", admin, "").list(t)
		if entries.Filtered != 2 || entries.Items[0]["object"] != ada || entries.Items[0]["actor_uuid"] != helperUUID {
			t.Errorf("the audit has %v", entries.Items)
		}

		// A disabled user gets an initial password.
		s.do("PUT", "/users/"+ada, admin, `{"enabled":false}`).want(t, 200)
		set(ada, helper, `"for when she is back"`).want(t, 204)
		s.do("PUT", "/users/"+ada, admin, `{"enabled":true}`).want(t, 200)
		s.login("ada", "for when she is back")

		// The master administrator's password, another tenant's user, an unknown user, and one whose password is kept elsewhere.
		adminUUID := s.do("GET", "/users?username=admin", admin, "").list(t).column("uuid")[0]
		set(adminUUID, helper, `"planted password"`).lacks(t, "#")
		acme := s.tenant(admin, "acme")
		theirs := s.do("POST", "/users", admin, `{"username":"theirs","password":"secret of theirs"}`, in(acme)).want(t, 200).text(t, "uuid")
		s.do("POST", "/policies", admin, `{"name":"all","acl":["auth.#","confd.#"]}`, in(acme)).want(t, 200)
		s.do("PUT", "/users/"+theirs+"/policies/"+s.do("GET", "/policies/all", admin, "", in(acme)).text(t, "uuid"), admin, "").want(t, 204)
		below := s.login("theirs", "secret of theirs")
		set(ada, below, `"planted password"`).refused(t, 404, "unknown-user")
		set("00000000-0000-4000-8000-000000000000", below, `"planted password"`).refused(t, 404, "unknown-user")
		set(theirs, admin, `"a password from above"`).want(t, 204)
		s.do("PUT", "/idp/ldap/users/"+ada, admin, "").want(t, 204)
		set(ada, helper, `"planted password"`).refused(t, 405, "password-managed-externally")
		// Nobody locks out the last administrator.
		set(adminUUID, admin, `null`).refused(t, 409, "last-administrator")
	})
}

// Fields that only a new user takes are refused for an existing one, and nothing else is changed.
func TestUpdateRefusesWhatOnlyCreationTakes(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		ada, _, session := s.account(admin, "ada", "confd.users.me.read")
		for _, body := range []string{
			`{"password":"another password"}`, `{"Password":"another password"}`, `{"PASSWORD":null}`, `{"password":null}`, `{"password":7}`,
			`{"email_address":"ada@example.com"}`, `{"Email_Address":null}`, `{"firstname":"Ada","pa\u0073sword":"another password"}`,
		} {
			s.do("PUT", "/users/"+ada, admin, body).refused(t, 400, "invalid-data")
		}
		if a := s.do("PUT", "/users/"+ada, admin, `{"password":"another password"}`); !strings.Contains(a.text(t, "message"), "password: Is set by PUT") {
			t.Errorf("it does not say where: %s", a.body)
		}
		if a := s.do("GET", "/users/"+ada, admin, ""); a.json(t, "firstname") != nil {
			t.Errorf("half of it was written: %s", a.body)
		}
		s.lives(session, true)
		s.login("ada", "secret of ada")
		read := s.do("GET", "/users/"+ada, admin, "")
		s.do("PUT", "/users/"+ada, admin, read.body).want(t, 200) // what was read can be written back
	})
}
