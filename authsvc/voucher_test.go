package authsvc_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc/backend/ldap/ldaptest"
	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

var helpdesk = []string{"auth.users.#", "auth.admin.#", "auth.emails.#", "auth.idp.#", "auth.backends.#"}

// mighty creates a policy that allows everything.
func (s *server) mighty(admin string) string {
	s.t.Helper()
	return s.do("POST", "/policies", admin, `{"name":"mighty","acl":["#"]}`).Want(200).Text("uuid")
}

// confirmed returns an address as main and confirmed.
func confirmed(address string) string {
	return `{"emails":[{"address":"` + address + `","main":true,"confirmed":true}]}`
}

// An address that was planted before the user was given more resets no password: neither by a new mail, nor by one that was sent
// before.
func TestAPlantedAddressLetsNobodyIn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		admin := p.admin()
		_, _, clerk := p.account(admin, "clerk", helpdesk...)
		victim, mighty := p.user("victim", ""), p.mighty(admin)
		p.do("PUT", "/admin/users/"+victim+"/emails", clerk, `{"emails":[{"address":"evil@example.net","main":true,"confirmed":true},{"address":"victim@example.com","confirmed":true},{"address":"later@example.net"}]}`).Want(200)
		_, before := p.reset("email=evil@example.net")
		later, err := store.Get[string](t.Context(), db, `SELECT uuid FROM auth_email WHERE address = 'later@example.net'`)
		if err != nil {
			t.Fatal(err)
		}
		p.do("GET", "/users/"+victim+"/emails/"+later+"/confirm", clerk, "").Want(204)
		link, err := url.Parse(p.mails.Next(t).Link(t))
		if err != nil {
			t.Fatal(err)
		}
		p.do("PUT", "/users/"+victim+"/policies/"+mighty, admin, "").Want(204)

		set := func(token string, status int) {
			t.Helper()
			p.do("POST", "/users/password/reset?user_uuid="+victim+"&token="+token, "", `{"password":"the clerk's"}`).Want(status)
		}
		set(before, 401)
		p.do("PUT", "/emails/"+later+"/confirm", "", "", func(r *http.Request) { r.Header.Set("X-Auth-Token", link.Query().Get("token")) }).Want(401)
		// The mail goes to the address that a mightier user has set, whichever was asked for.
		p.do("GET", "/users/password/reset?email=evil@example.net", "", "").Want(204)
		p.do("GET", "/users/password/reset?username=victim", "", "").Want(204)
		if to := p.mails.Next(t).To; len(to) != 1 || !strings.Contains(to[0], "victim@example.com") {
			t.Errorf("the mail went to %v", to)
		}
		p.do("POST", "/token", "", "{}", resttest.Basic("victim", "secret of victim")).Want(200)

		p.do("PUT", "/admin/users/"+victim+"/emails", admin, confirmed("evil@example.net")).Want(200)
		_, again := p.reset("email=evil@example.net")
		set(again, 204)
		p.do("POST", "/token", "", "{}", resttest.Basic("victim", "the clerk's")).Want(200)
	})
}

// A password, and the sessions and refresh tokens that depend on it, are valid as long as the user who set it holds what its user
// holds.
func TestAPlantedPasswordLetsNobodyIn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		clerkUUID, policy, clerk := s.account(admin, "clerk", helpdesk...)
		mighty := s.mighty(admin)
		account := func(name string) (user, token, refresh string) {
			user = s.do("POST", "/users", clerk, `{"username":"`+name+`","password":"planted"}`).Want(200).Text("uuid")
			a := s.do("POST", "/token", "", `{"access_type":"offline","client_id":"c"}`, resttest.Basic(name, "planted")).Want(200)
			return user, a.Text("data.token"), a.Text("data.refresh_token")
		}
		in := func(name, token, refresh string, status int) {
			t.Helper()
			s.do("POST", "/token", "", "{}", resttest.Basic(name, "planted")).Want(status)
			s.do("POST", "/token", "", `{"client_id":"c","refresh_token":"`+refresh+`"}`).Want(status)
			if a := s.do("HEAD", "/token/"+token, "", ""); (a.Status == 204) != (status == 200) {
				t.Errorf("the session answers %d", a.Status)
			}
		}
		user, token, refresh := account("someone")
		in("someone", token, refresh, 200)
		s.do("PUT", "/users/"+user+"/policies/"+mighty, admin, "").Want(204)
		in("someone", token, refresh, 401)
		wrong := s.do("POST", "/token", "", "{}", resttest.Basic("someone", "wrong")).Want(401)
		right := s.do("POST", "/token", "", "{}", resttest.Basic("someone", "planted")).Want(401)
		if wrong.Text("message") != right.Text("message") || wrong.Text("error_id") != right.Text("error_id") {
			t.Errorf("a refusal looks like %s, a wrong password like %s", right.Body, wrong.Body)
		}
		s.do("DELETE", "/users/"+user+"/policies/"+mighty, admin, "").Want(204)
		in("someone", token, refresh, 200)
		s.do("PUT", "/users/"+user+"/policies/"+mighty, admin, "").Want(204)
		s.do("POST", "/users/password/reset?user_uuid="+user, "", `{"password":"set again"}`, func(r *http.Request) { r.Header.Set("X-Auth-Token", admin) }).Want(204)
		s.do("POST", "/token", "", "{}", resttest.Basic("someone", "set again")).Want(200)

		// A deleted voucher vouches with what they held then, whoever deleted them; one who holds less now vouches with what they
		// hold now.
		left, token, refresh := account("left")
		s.do("PUT", "/policies/"+policy, admin, `{"acl":["auth.users.#","confd.#"]}`).Want(200)
		read := s.do("POST", "/policies", admin, `{"name":"read","acl":["confd.users.read"]}`).Want(200).Text("uuid")
		s.do("PUT", "/users/"+left+"/policies/"+read, admin, "").Want(204)
		in("left", token, refresh, 200)
		s.do("DELETE", "/users/"+clerkUUID, admin, "").Want(204)
		in("left", token, refresh, 200)
		s.do("PUT", "/users/"+left+"/policies/"+mighty, admin, "").Want(204)
		in("left", token, refresh, 401)
	})
}

// What a disabled user has set up stays good: they held enough, and hold it still. It ends when their policies are taken from them, and
// gives nothing that they did not hold.
func TestADisabledVoucherStillAnswers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		clerkUUID, policy, clerk := s.account(admin, "clerk", append([]string{"confd.#"}, helpdesk...)...)
		read := s.do("POST", "/policies", admin, `{"name":"read","acl":["confd.users.read"]}`).Want(200).Text("uuid")
		mighty := s.mighty(admin)
		user := s.do("POST", "/users", clerk, `{"username":"someone","password":"planted"}`).Want(200).Text("uuid")
		s.do("PUT", "/users/"+user+"/policies/"+read, admin, "").Want(204)
		session := s.login("someone", "planted")
		in := func(status int) {
			t.Helper()
			s.do("POST", "/token", "", "{}", resttest.Basic("someone", "planted")).Want(status)
			s.lives(session, status == 200)
		}
		s.do("PUT", "/users/"+clerkUUID, admin, `{"enabled":false}`).Want(200)
		s.do("POST", "/token", "", "{}", resttest.Basic("clerk", "secret of clerk")).Want(401)
		s.lives(clerk, false)
		in(200)
		s.do("PUT", "/users/"+user+"/policies/"+mighty, admin, "").Want(204)
		in(401)
		s.do("DELETE", "/users/"+user+"/policies/"+mighty, admin, "").Want(204)
		in(200)
		s.do("DELETE", "/users/"+clerkUUID+"/policies/"+policy, admin, "").Want(204)
		in(401)
	})
}

// A directory lets nobody in as a user who holds more than the user who configured it; neither does an entry that was bound to
// the user before.
func TestAPlantedDirectoryLetsNobodyIn(t *testing.T) {
	d := ldaptest.Start(t)
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newLDAPServer(t, db, d)
		admin := s.admin()
		_, _, clerk := s.account(admin, "clerk", helpdesk...)
		mighty := s.mighty(admin)
		acme := s.do("POST", "/tenants", admin, `{"name":"acme","slug":"acme"}`).Want(200).Text("uuid")
		alice := s.do("POST", "/users", admin, `{"username":"al","email_address":"alice@example.test","authentication_method":"ldap"}`, resttest.In(acme)).Want(200).Text("uuid")
		s.do("PUT", "/backends/ldap", clerk, directory(d, ""), resttest.In(acme)).Want(200)
		var token, refresh string
		enters := func(status int) {
			t.Helper()
			a := s.do("POST", "/token", "", `{"tenant_id":"acme","access_type":"offline","client_id":"c"}`, resttest.Basic("alice", ldaptest.Password("alice"))).Want(status)
			if status == 200 {
				token, refresh = a.Text("data.token"), a.Text("data.refresh_token")
			}
			s.do("POST", "/token", "", `{"client_id":"c","refresh_token":"`+refresh+`"}`).Want(status)
			s.do("HEAD", "/token/"+token, "", "").Want(map[int]int{200: 204, 401: 404}[status])
		}
		enters(200)
		s.do("PUT", "/users/"+alice+"/policies/"+mighty, admin, "").Want(204)
		enters(401)
		s.do("PUT", "/backends/ldap", admin, directory(d, ""), resttest.In(acme)).Want(200)
		enters(401) // her entry was bound before
		s.do("DELETE", "/idp/ldap/users/"+alice, admin, "").Want(204)
		s.do("PUT", "/idp/ldap/users/"+alice, admin, "").Want(204)
		enters(200)

		// The address that finds the entry counts as well, and so does the entry bound by it.
		bob := s.do("POST", "/users", admin, `{"username":"b","authentication_method":"ldap"}`, resttest.In(acme)).Want(200).Text("uuid")
		s.do("PUT", "/admin/users/"+bob+"/emails", clerk, confirmed("bob@example.test")).Want(200)
		asBob := func(status int) {
			t.Helper()
			s.do("POST", "/token", "", `{"tenant_id":"acme"}`, resttest.Basic("bob", ldaptest.Password("bob"))).Want(status)
		}
		s.do("PUT", "/users/"+bob+"/policies/"+mighty, admin, "").Want(204)
		asBob(401)
		s.do("DELETE", "/users/"+bob+"/policies/"+mighty, admin, "").Want(204)
		asBob(200)
		s.do("PUT", "/users/"+bob+"/policies/"+mighty, admin, "").Want(204)
		asBob(401)
		s.do("DELETE", "/idp/ldap/users/"+bob, admin, "").Want(204)
		s.do("PUT", "/idp/ldap/users/"+bob, admin, "").Want(204)
		s.do("PUT", "/admin/users/"+bob+"/emails", admin, confirmed("bob@example.test")).Want(200)
		asBob(200)
	})
}

// An access may contain any character except spaces: the query must keep vouchers and their accesses apart.
func TestVouchingWithStrangeAccesses(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		_, _, maker := s.account(admin, "maker", "auth.#", "a|b.read", "|", "c||d", "'.-", "e,f")
		policy := s.do("POST", "/policies", maker, `{"name":"given","acl":["auth.users.read","a|b.read","c||d"]}`).Want(200).Text("uuid")
		user := s.do("POST", "/users", maker, `{"username":"made","password":"secret of made"}`).Want(200).Text("uuid")
		s.do("PUT", "/users/"+user+"/policies/"+policy, maker, "").Want(204)
		token := s.do("POST", "/token", "", "{}", resttest.Basic("made", "secret of made")).Want(200).Text("data.token")
		s.do("GET", "/users", token, "").Want(200)
	})
}

// The nil UUID stands for unknown vouchers, so no user may have it: that user would vouch for all of them.
func TestNobodyHasTheNilUUID(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		s.do("POST", "/users", s.admin(), `{"username":"nobody","uuid":"00000000-0000-0000-0000-000000000000"}`).Want(400)
	})
}

// A username by which a directory's entry finds a user lets nobody in who holds more than the user who chose it; neither does the
// entry bound by it.
func TestAPlantedUsernameLetsNobodyIn(t *testing.T) {
	d := ldaptest.Start(t)
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s, admin, clerk, mighty, acme := newClerk(t, db, d)
		victim := s.do("POST", "/users", admin, `{"username":"victim","authentication_method":"ldap"}`, resttest.In(acme)).Want(200).Text("uuid")
		rename := func(token, username string) {
			t.Helper()
			s.do("PUT", "/users/"+victim, token, `{"username":"`+username+`","authentication_method":"ldap"}`).Want(200)
		}
		asBob := func(status int) resttest.Answer {
			t.Helper()
			return s.do("POST", "/token", "", `{"tenant_id":"acme","access_type":"offline","client_id":"c"}`, resttest.Basic("bob", ldaptest.Password("bob"))).Want(status)
		}
		promote := func() { s.do("PUT", "/users/"+victim+"/policies/"+mighty, admin, "").Want(204) }
		demote := func() { s.do("DELETE", "/users/"+victim+"/policies/"+mighty, admin, "").Want(204) }
		asBob(401)
		rename(clerk, "bob@example.test")
		promote()
		asBob(401)
		demote()
		entered := asBob(200) // and is bound
		promote()
		asBob(401)
		s.do("HEAD", "/token/"+entered.Text("data.token"), "", "").Want(404)
		s.do("POST", "/token", "", `{"client_id":"c","refresh_token":"`+entered.Text("data.refresh_token")+`"}`).Want(401)
		demote()
		rename(clerk, "victim") // the entry stays bound, and still depends on its vouchers
		asBob(200)
		promote()
		asBob(401)

		s.do("DELETE", "/idp/ldap/users/"+victim, admin, "").Want(204)
		rename(admin, "bob@example.test")
		s.do("PUT", "/idp/ldap/users/"+victim, admin, "").Want(204)
		asBob(200)
	})
}

// A tenant's default method, by which users log in through a directory, lets nobody in who holds more than the user who chose it.
func TestAPlantedMethodLetsNobodyIn(t *testing.T) {
	d := ldaptest.Start(t)
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newLDAPServer(t, db, d)
		admin := s.admin()
		_, _, clerk := s.account(admin, "clerk", "auth.tenants.#", "auth.users.#", "auth.idp.#")
		mighty := s.mighty(admin)
		acme := s.acmeTenant(admin, d)
		method := func(token, method string) {
			t.Helper()
			s.do("PUT", "/tenants/"+acme, token, `{"name":"acme","default_authentication_method":"`+method+`"}`).Want(200)
		}
		var token, refresh string
		enters := func(uid string, status int) {
			t.Helper()
			a := s.do("POST", "/token", "", `{"tenant_id":"acme","access_type":"offline","client_id":"c"}`, resttest.Basic(uid, ldaptest.Password(uid))).Want(status)
			if status == 200 {
				token, refresh = a.Text("data.token"), a.Text("data.refresh_token")
			}
			if token != "" {
				s.do("POST", "/token", "", `{"client_id":"c","refresh_token":"`+refresh+`"}`).Want(status)
				s.do("HEAD", "/token/"+token, "", "").Want(map[int]int{200: 204, 401: 404}[status])
			}
		}
		alice := s.do("POST", "/users", admin, `{"username":"alice@example.test","authentication_method":"default"}`, resttest.In(acme)).Want(200).Text("uuid")
		enters("alice", 401)
		method(clerk, "ldap")
		enters("alice", 200)
		s.do("PUT", "/users/"+alice+"/policies/"+mighty, admin, "").Want(204)
		enters("alice", 401)
		method(admin, "native")
		method(admin, "ldap")
		enters("alice", 401) // her entry was bound before
		s.do("DELETE", "/idp/ldap/users/"+alice, admin, "").Want(204)
		enters("alice", 200)

		// One user's own method is the same.
		token, refresh = "", ""
		bob := s.do("POST", "/users", admin, `{"username":"bob@example.test","authentication_method":"native"}`, resttest.In(acme)).Want(200).Text("uuid")
		s.do("PUT", "/idp/ldap/users/"+bob, clerk, "").Want(204)
		enters("bob", 200)
		s.do("PUT", "/users/"+bob+"/policies/"+mighty, admin, "").Want(204)
		enters("bob", 401)
		s.do("DELETE", "/idp/ldap/users/"+bob, admin, "").Want(204)
		s.do("PUT", "/idp/ldap/users/"+bob, admin, "").Want(204)
		enters("bob", 200)
	})
}

// A caller whose session ends after the gate's decision sets up nothing: nobody knows any more on whom the session stood.
func TestAnEndedSessionVouchesForNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		user, _, token := s.account(s.admin(), "bob", "auth.users.#", "auth.admin.#")
		s.lives(token, true) // and is in the cache from here on
		if _, err := db.Exec(t.Context(), `DELETE FROM auth_token WHERE user_uuid = $1`, user); err != nil {
			t.Fatal(err)
		}
		s.do("PUT", "/users/"+user, token, `{"username":"robert"}`).Refused(401, "unauthorized")
		s.do("POST", "/users", token, `{"username":"robert"}`).Refused(401, "unauthorized")
		s.do("PUT", "/admin/users/"+user+"/emails", token, confirmed("bob@example.net")).Refused(401, "unauthorized")
		s.login("bob", "secret of bob")
	})
}
