package authsvc_test

import (
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

// A caller with the access of a reset, who holds all that the user holds, sets the password without a mail.
func TestSetPassword(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		ada, _, session := s.account(admin, "ada", "confd.users.me.read")
		set := func(user, token, password string) resttest.Answer {
			t.Helper()
			return s.do("POST", "/users/password/reset?user_uuid="+user, "", `{"password":`+password+`}`, sends(token))
		}
		access := "auth.users.password.reset." + ada + ".create"
		_, _, none := s.account(admin, "none", "auth.users.#", "!auth.users.password.#", "confd.#")
		_, _, weak := s.account(admin, "weak", access, "confd.users.me.read")
		helperUUID, _, helper := s.account(admin, "helper", "auth.users.password.reset.*.create", "confd.users.*.read")

		set(ada, none, `"planted password"`).Lacks(access)
		set(ada, weak, `"planted password"`).Lacks("confd.users." + ada + ".read")
		set(ada, session, `"planted password"`).Lacks(access) // not even the caller's own, without the old one
		set(ada, "", `"planted password"`).Refused(401, "unauthorized")
		set(ada, "rf_junk", `"planted password"`).Refused(401, "unauthorized")
		s.lives(session, true)
		s.login("ada", "secret of ada")

		s.do("POST", "/users/password/reset?user_uuid="+ada+"&token="+helper, "", `{"password":"planted password"}`).Refused(401, "unauthorized")
		set(ada, helper, `"chosen by the helper"`).Want(204)
		s.lives(session, false)
		s.do("POST", "/token", "", "{}", resttest.Basic("ada", "secret of ada")).Want(401)
		s.login("ada", "chosen by the helper")
		set(strings.ToUpper(ada), helper, `null`).Want(204)
		s.do("POST", "/token", "", "{}", resttest.Basic("ada", "chosen by the helper")).Want(401)
		entries := s.do("GET", "/audit?action=reset_password", admin, "").List()
		if entries.Filtered != 2 || entries.Items[0]["object"] != ada || entries.Items[0]["actor_uuid"] != helperUUID {
			t.Errorf("the audit has %v", entries.Items)
		}

		// A disabled user gets an initial password.
		s.do("PUT", "/users/"+ada, admin, `{"enabled":false}`).Want(200)
		set(ada, helper, `"for when she is back"`).Want(204)
		s.do("PUT", "/users/"+ada, admin, `{"enabled":true}`).Want(200)
		s.login("ada", "for when she is back")

		// The master administrator's password, another tenant's user, an unknown user, and one whose password is kept elsewhere.
		adminUUID := s.do("GET", "/users?username=admin", admin, "").List().Column("uuid")[0]
		set(adminUUID, helper, `"planted password"`).Lacks("#")
		acme := s.tenant(admin, "acme")
		theirs := s.do("POST", "/users", admin, `{"username":"theirs","password":"secret of theirs"}`, resttest.In(acme)).Want(200).Text("uuid")
		s.do("POST", "/policies", admin, `{"name":"all","acl":["auth.#","confd.#"]}`, resttest.In(acme)).Want(200)
		s.do("PUT", "/users/"+theirs+"/policies/"+s.do("GET", "/policies/all", admin, "", resttest.In(acme)).Text("uuid"), admin, "").Want(204)
		below := s.login("theirs", "secret of theirs")
		set(ada, below, `"planted password"`).Refused(404, "unknown-user")
		set("00000000-0000-4000-8000-000000000000", below, `"planted password"`).Refused(404, "unknown-user")
		set(theirs, admin, `"a password from above"`).Want(204)
		s.do("PUT", "/idp/ldap/users/"+ada, admin, "").Want(204)
		set(ada, helper, `"planted password"`).Refused(405, "password-managed-externally")
		// Nobody locks out the last administrator.
		set(adminUUID, admin, `null`).Refused(409, "last-administrator")
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
			s.do("PUT", "/users/"+ada, admin, body).Refused(400, "invalid-data")
		}
		if a := s.do("PUT", "/users/"+ada, admin, `{"password":"another password"}`); !strings.Contains(a.Text("message"), "it is set by PUT /users/{user_uuid}/password") {
			t.Errorf("it does not say where: %s", a.Body)
		}
		if a := s.do("GET", "/users/"+ada, admin, ""); a.JSON("firstname") != nil {
			t.Errorf("half of it was written: %s", a.Body)
		}
		s.lives(session, true)
		s.login("ada", "secret of ada")
		read := s.do("GET", "/users/"+ada, admin, "")
		s.do("PUT", "/users/"+ada, admin, read.Body).Want(200) // what was read can be written back
	})
}
