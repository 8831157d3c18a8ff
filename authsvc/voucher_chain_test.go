package authsvc_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/backend/ldap/ldaptest"
	"github.com/ringfence/ringfence/authsvc/external/oauth2/oauth2test"
	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
	"github.com/ringfence/ringfence/internal/local"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// In these tests a clerk plants a password on a middle user, and sets something up in that user's session. Then the middle user
// and the victims are given everything: what the middle user alone had set up would be good.
type chain struct {
	*server
	admin, clerk, middle string // the UUID of the middle user
	session              string // of the middle user, by the planted password
	everything           string // a policy
}

func newChain(s *server) *chain {
	s.t.Helper()
	c := &chain{server: s, admin: s.admin()}
	_, _, c.clerk = s.account(c.admin, "clerk", append([]string{"auth.tenants.#"}, helpdesk...)...)
	c.everything = s.mighty(c.admin)
	same := s.do("POST", "/policies", c.admin, `{"name":"same","acl":`+jsonList(s.t, append([]string{"auth.tenants.#"}, helpdesk...)...)+`}`).Want(200).Text("uuid")
	c.middle = s.do("POST", "/users", c.admin, `{"username":"middle"}`).Want(200).Text("uuid")
	s.do("PUT", "/users/"+c.middle+"/policies/"+same, c.admin, "").Want(204)
	c.plant(c.clerk, c.middle, "planted")
	c.session = s.login("middle", "planted")
	return c
}

// plant sets a user's password as somebody.
func (c *chain) plant(as, user, password string) {
	c.t.Helper()
	c.do("POST", "/users/password/reset?user_uuid="+user, "", `{"password":"`+password+`"}`, resttest.Header("X-Auth-Token", as)).Want(204)
}

// promote gives users everything.
func (c *chain) promote(users ...string) {
	c.t.Helper()
	for _, user := range users {
		c.do("PUT", "/users/"+user+"/policies/"+c.everything, c.admin, "").Want(204)
	}
}

// What is set up by a password that somebody has planted depends on that somebody too.
func TestWhoIsLetInByAnotherShedsNoAnswer(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		c := newChain(p.server)
		user := func(name string) string {
			return p.do("POST", "/users", c.admin, `{"username":"`+name+`","password":"first"}`).Want(200).Text("uuid")
		}
		reset, changed, address, confirmedLater := user("reset"), user("changed"), user("address"), user("later")
		c.plant(c.session, reset, "planted")
		p.do("PUT", "/users/"+changed+"/password", c.session, change("first", "planted")).Want(204)
		made := p.do("POST", "/users", c.session, `{"username":"made","password":"planted","email_address":"made@example.net"}`).Want(200).Text("uuid")
		third := p.do("POST", "/users", p.login("made", "planted"), `{"username":"third","password":"planted"}`).Want(200).Text("uuid")
		p.do("PUT", "/admin/users/"+address+"/emails", c.session, confirmed("address@example.net")).Want(200)
		_, uuids := addresses(p.do("PUT", "/users/"+confirmedLater+"/emails", c.admin, `{"emails":[{"address":"later@example.net","main":true}]}`).Want(200))
		p.do("PUT", "/emails/"+uuids["later@example.net"]+"/confirm", "", "", resttest.Header("X-Auth-Token", c.session)).Want(204)
		links := map[string]string{}
		for user, email := range map[string]string{made: "made", address: "address", confirmedLater: "later"} {
			_, links[user] = p.reset("email=" + email + "@example.net")
		}
		enters := func(status int) {
			t.Helper()
			for _, name := range []string{"reset", "changed", "made", "third"} {
				p.do("POST", "/token", "", "{}", resttest.Basic(name, "planted")).Want(status)
			}
		}
		enters(200)
		c.promote(c.middle, reset, changed, made, address, confirmedLater, third)
		enters(401)
		for user, link := range links {
			p.choose(user, link, "the clerk's").Want(401)
		}
		c.plant(c.admin, c.middle, "the administrator's") // frees the middle user, and nobody else
		p.login("middle", "the administrator's")
		enters(401)
		c.plant(c.admin, reset, "the administrator's")
		p.login("reset", "the administrator's")
	})
}

// Nor does a row of password changes: whoever has set the first password answers for the last one, whoever has changed those between.
func TestARowOfPasswordsGainsNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newChain(newServer(t, db))
		c.do("PUT", "/users/"+c.middle+"/password", c.session, change("planted", "chosen")).Want(204)
		third := c.do("POST", "/users", c.admin, `{"username":"third"}`).Want(200).Text("uuid")
		c.plant(c.login("middle", "chosen"), third, "planted")
		session := c.login("third", "planted")
		c.do("PUT", "/users/"+third+"/password", session, change("planted", "chosen")).Want(204)
		c.lives(session, true)
		c.promote(third) // the middle user does not cover them any more either
		c.lives(session, false)
		c.promote(c.middle)
		for _, name := range []string{"middle", "third"} {
			c.do("POST", "/token", "", "{}", resttest.Basic(name, "chosen")).Want(401)
		}
		c.lives(session, false)
		c.plant(c.admin, third, "the administrator's")
		c.login("third", "the administrator's")
	})
}

// The same for what lets users in by a directory.
func TestWhoIsLetInByAnotherShedsNoDirectory(t *testing.T) {
	d := ldaptest.Start(t)
	for name, setUp := range map[string]func(c *chain, acme, user string){
		"directory": func(c *chain, acme, _ string) {
			c.do("PUT", "/backends/ldap", c.session, directory(d, ""), resttest.In(acme)).Want(200)
		},
		"default method": func(c *chain, acme, _ string) {
			for _, method := range []string{"native", "ldap"} {
				c.do("PUT", "/tenants/"+acme, c.session, `{"name":"acme","default_authentication_method":"`+method+`"}`).Want(200)
			}
		},
		"method": func(c *chain, _, user string) {
			c.do("PUT", "/idp/ldap/users/"+user, c.session, "").Want(204)
		},
		"username": func(c *chain, _, user string) {
			c.do("PUT", "/users/"+user, c.session, `{"username":"alice@example.test"}`).Want(200)
		},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, db store.DB) {
				c := newChain(newLDAPServer(t, db, d))
				acme := c.acmeTenant(c.admin, d)
				c.do("PUT", "/tenants/"+acme, c.admin, `{"name":"acme","default_authentication_method":"ldap"}`).Want(200)
				username := map[bool]string{true: "al", false: "alice@example.test"}[name == "username"]
				alice := c.do("POST", "/users", c.admin, `{"username":"`+username+`","authentication_method":"default"}`, resttest.In(acme)).Want(200).Text("uuid")
				setUp(c, acme, alice)
				enters := func(status int) {
					t.Helper()
					c.do("POST", "/token", "", `{"tenant_id":"acme"}`, resttest.Basic("alice", ldaptest.Password("alice"))).Want(status)
				}
				enters(200)
				c.promote(c.middle, alice)
				enters(401)
			})
		})
	}
}

// The same for the link to an external service.
func TestWhoIsLetInByAnotherShedsNoLink(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		c := newChain(g.node)
		begin := func(user string) *url.URL {
			return g.consent(c.do("POST", "/users/"+user+"/external/google", c.session, "{}").Want(201).Text("authorization_url"))
		}
		others, own := begin(g.user), begin(c.middle)
		c.promote(c.middle, g.user)
		g.visit(g.node, others).Want(400)
		g.visit(g.node, own).Want(400)
		g.link(g.user)
	})
}

// Users who change the password that somebody has planted keep working while that somebody covers them; that it is theirs alone
// needs a proof.
func TestAPlantedPasswordStaysPlanted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		admin := p.admin()
		_, _, clerk := p.account(admin, "clerk", helpdesk...)
		mighty := p.mighty(admin)
		planted := func(name string) string {
			t.Helper()
			user := p.user(name, "")
			p.do("POST", "/users/password/reset?user_uuid="+user, "", `{"password":"planted"}`, resttest.Header("X-Auth-Token", clerk)).Want(204)
			return user
		}
		change := func(user, session, old, next string) {
			t.Helper()
			p.do("PUT", "/users/"+user+"/password", session, change(old, next)).Want(204)
		}
		enters := func(user, name, password string, status int) {
			t.Helper()
			p.login(name, password)
			p.do("PUT", "/users/"+user+"/policies/"+mighty, admin, "").Want(204)
			p.do("POST", "/token", "", "{}", resttest.Basic(name, password)).Want(status)
		}

		// In a session by the planted password: at the first login, and there and back.
		first := planted("first")
		session := p.login("first", "planted")
		change(first, session, "planted", "chosen")
		p.lives(session, true)
		change(first, session, "chosen", "planted")
		change(first, session, "planted", "chosen")
		p.do("POST", "/users/password/reset?user_uuid="+first, "", `{"password":"by herself"}`, resttest.Header("X-Auth-Token", session)).Want(403) // lacks the access
		enters(first, "first", "chosen", 401)
		p.lives(session, false)

		// By a mail to an address that the clerk has not set.
		mailed := planted("mailed")
		_, link := p.reset("username=mailed")
		p.choose(mailed, link, "chosen").Want(204)
		enters(mailed, "mailed", "chosen", 200)

		// By a mail to an address that was set in a session by the planted password.
		circle := planted("circle")
		p.do("PUT", "/users/"+circle+"/emails", p.login("circle", "planted"), `{"emails":[{"address":"mine@example.net","main":true}]}`).Want(200)
		uuidOf, err := store.Get[string](t.Context(), db, `SELECT CAST(uuid AS text) FROM auth_email WHERE address = 'mine@example.net'`)
		if err != nil {
			t.Fatal(err)
		}
		p.do("GET", "/users/"+circle+"/emails/"+uuidOf+"/confirm", p.login("circle", "planted"), "").Want(204)
		p.do("GET", strings.TrimPrefix(p.mails.Next(t).Link(t), base+"/api/auth/0.1"), "", "").Want(200)
		_, link = p.reset("email=mine@example.net")
		p.choose(circle, link, "chosen").Want(204)
		enters(circle, "circle", "chosen", 401)

		// In a session that proves who the user is: of a backend that nobody has set up.
		proved := planted("proved")
		p.svc.UseBackends([]authsvc.Backend{&guest{name: "guest", method: "native", answer: says(authsvc.Identity{UserUUID: proved})}})
		session = p.login("proved", "of the guest")
		p.svc.UseBackends(p.svc.DefaultBackends())
		p.do("PUT", "/users/"+proved+"/password", session, `{"old_password":"planted","new_password":"planted"}`).Want(400)
		change(proved, session, "planted", "chosen")
		enters(proved, "proved", "chosen", 200)
	})
}

// Users who have set up each other's passwords depend on each other, and not on themselves; nobody can make a login depend on more
// and more users.
func TestVouchersInCirclesAndLongRows(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newChain(newServer(t, db))
		back := c.do("GET", "/token/"+c.clerk, "", "").Text("data.auth_id")
		for range 3 {
			c.plant(c.session, back, "planted")
			clerk := c.login("clerk", "planted")
			c.plant(clerk, c.middle, "planted")
			c.session = c.login("middle", "planted")
		}
		for _, user := range []string{back, c.middle} {
			if by, err := store.Select[string](t.Context(), db, `SELECT CAST(by_uuid AS text) FROM auth_voucher WHERE user_uuid = $1 AND subject = 'password'`, user); err != nil || len(by) != 2 || slices.Contains(by, user) { // the other one, and the administrator
				t.Errorf("%v vouch for %s, %v", by, user, err)
			}
		}

		same := c.do("GET", "/policies?search=same", c.admin, "").List().Column("uuid")[0]
		session, deep := c.session, 0
		for ; deep < 60; deep++ {
			name := fmt.Sprintf("deep%d", deep)
			a := c.do("POST", "/users", session, `{"username":"`+name+`","password":"planted"}`)
			if a.Status == http.StatusForbidden {
				a.Refused(403, "depends-on-too-many")
				break
			}
			c.do("PUT", "/users/"+a.Want(200).Text("uuid")+"/policies/"+same, c.admin, "").Want(204)
			session = c.login(name, "planted")
		}
		if deep < 20 || deep > 40 {
			t.Errorf("%d users in a row", deep)
		}
	})
}

// What the operator's configuration gives to everybody locks nobody out, whoever has set their passwords: somebody who was deleted,
// or has lost everything. What somebody else gives does.
func TestTheOperatorsGiftsLockNobodyOut(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		users, tokens := map[string]string{}, map[string]string{}
		for _, clerk := range []string{"deleted", "demoted"} {
			uuid, policy, token := s.account(admin, clerk, helpdesk...)
			for _, how := range []string{"created by ", "reset by "} {
				name := how + clerk
				maker := map[bool]string{true: token, false: admin}[how == "created by "]
				users[name] = s.do("POST", "/users", maker, `{"username":"`+name+`","password":"planted"}`).Want(200).Text("uuid")
				if how == "reset by " {
					s.do("POST", "/users/password/reset?user_uuid="+users[name], "", `{"password":"planted"}`, resttest.Header("X-Auth-Token", token)).Want(204)
				}
				tokens[name] = s.login(name, "planted")
			}
			if clerk == "deleted" {
				s.do("DELETE", "/users/"+uuid, admin, "").Want(204)
			} else {
				s.do("DELETE", "/users/"+uuid+"/policies/"+policy, admin, "").Want(204)
			}
		}
		s.configure(authsvc.Configured{
			Policies: []authsvc.ConfiguredPolicy{{Slug: "gift", ACL: []string{"dird.directories.read", "calld.users.me.#"}}},
			AllUsers: []string{"gift"},
		})
		for name, token := range tokens {
			s.lives(token, true)
			if got := s.holds(s.login(name, "planted")); got != "calld.users.me.# dird.directories.read" {
				t.Errorf("%s holds %q", name, got)
			}
		}
		given := s.do("POST", "/policies", admin, `{"name":"given","acl":["confd.users.read"]}`).Want(200).Text("uuid")
		for name, user := range users {
			s.do("PUT", "/users/"+user+"/policies/"+given, admin, "").Want(204)
			s.lives(tokens[name], false)
			s.do("POST", "/token", "", "{}", resttest.Basic(name, "planted")).Want(401)
		}
	})
}

// A voucher counts only for users in the voucher's own tenant and below it, wherever the tenants were when the password was set.
func TestVouchersStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		reseller, other := s.tenant(admin, "reseller"), s.tenant(admin, "other")
		customer := s.do("POST", "/tenants", admin, `{"name":"customer"}`, resttest.In(reseller)).Want(200).Text("uuid")
		policy := s.do("POST", "/policies", admin, `{"name":"helpdesk","acl":`+jsonList(t, helpdesk...)+`,"shared":true}`).Want(200).Text("uuid")
		clerk := func(name string) (user, token string) {
			user = s.do("POST", "/users", admin, `{"username":"`+name+`","password":"x"}`, resttest.In(reseller)).Want(200).Text("uuid")
			s.do("PUT", "/users/"+user+"/policies/"+policy, admin, "").Want(204)
			return user, s.login(name, "x")
		}
		leaver, left := clerk("leaver")
		_, stays := clerk("stays")
		s.do("POST", "/users", left, `{"username":"ann","password":"planted"}`, resttest.In(customer)).Want(200)
		s.do("POST", "/users", stays, `{"username":"ben","password":"planted"}`, resttest.In(customer)).Want(200)
		s.do("POST", "/users", admin, `{"username":"cid","password":"planted"}`, resttest.In(customer)).Want(200)
		s.do("DELETE", "/users/"+leaver, admin, "").Want(204)
		sessions := map[string]string{}
		for _, name := range []string{"ann", "ben", "cid"} {
			sessions[name] = s.login(name, "planted")
		}
		move := func(to string) { s.do("PUT", "/tenants/"+customer+"/parent/"+to, admin, "").Want(204) }
		for _, c := range []struct {
			to   string
			lets bool
		}{{other, false}, {reseller, true}} {
			move(c.to)
			for name, session := range sessions {
				lets := c.lets || name == "cid"
				s.lives(session, lets)
				s.do("POST", "/token", "", "{}", resttest.Basic(name, "planted")).Want(map[bool]int{true: 200, false: 401}[lets])
			}
		}
	})
}

// Nobody answers for what the operator of the machine sets up, and the operator may answer for what others have set up.
func TestTheOperatorAnswers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		mighty := s.mighty(admin)
		who, err := local.Caller(t.Context(), db, "#")
		if err != nil {
			t.Fatal(err)
		}
		operator := resttest.To(t, s.svc.REST(), "/api/auth/0.1", who)
		ops := operator.Do("POST", "/users", `{"username":"ops","password":"x","email_address":"ops@example.com"}`).Want(200).Text("uuid")
		operator.Do("PUT", "/users/"+ops+"/policies/"+mighty, "").Want(204)
		s.login("ops", "x")

		for _, deleted := range []bool{false, true} {
			name := fmt.Sprintf("clerk%t", deleted)
			clerk, policy, token := s.account(admin, name, helpdesk...)
			user := s.do("POST", "/users", token, `{"username":"of `+name+`","password":"planted"}`).Want(200).Text("uuid")
			s.do("PUT", "/users/"+user+"/policies/"+policy, admin, "").Want(204)
			session := s.login("of "+name, "planted")
			s.do("PUT", "/policies/"+policy+"/acl/confd.more", admin, "").Want(204)
			if s.lives(session, true); deleted {
				s.do("DELETE", "/users/"+clerk, admin, "").Want(204)
				s.do("PUT", "/users/"+user+"/policies/"+mighty, admin, "").Want(204)
				name = strings.ToUpper(clerk)
			} else {
				s.do("DELETE", "/users/"+clerk+"/policies/"+policy, admin, "").Want(204)
			}
			s.lives(session, false)
			if done, err := s.svc.AnswerFor(t.Context(), authsvc.Vouching{User: name}); err != nil || done.Ways != 2 { // the password and the username
				t.Errorf("%d ways to log in, %v", done.Ways, err)
			}
			s.lives(session, true)
			if entries := s.do("GET", "/audit?action=admin_answer_for&object="+clerk, admin, "").List(); entries.Filtered != 1 {
				t.Errorf("the audit has %v", entries.Items)
			}
		}
		if _, err := s.svc.AnswerFor(t.Context(), authsvc.Vouching{User: "nobody"}); err == nil || !strings.Contains(err.Error(), "no such user") {
			t.Errorf("for nobody: %v", err)
		}
	})
}

// A user of another auth server has set something up whose UUID is that of a user here: that user does not vouch for it.
func TestARemoteUserVouchesAsNobody(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		mine := s.do("GET", "/token/"+admin, "", "").Want(200)
		set, err := acl.Compile([]string{"#"})
		if err != nil {
			t.Fatal(err)
		}
		remote := resttest.To(t, s.svc.REST(), "/api/auth/0.1", &principal.Principal{
			UserUUID: mine.Text("data.auth_id"), SessionUUID: uuid.NewString(), ACL: set,
			Affiliation: &principal.Affiliation{TenantUUID: mine.Text("data.metadata.tenant_uuid"), Remote: true},
		})
		user, _, _ := s.account(admin, "bob", "confd.#")
		remote.Do("PUT", "/users/"+user+"/password", change("secret of bob", "planted")).Want(204)
		s.do("POST", "/token", "", "{}", resttest.Basic("bob", "planted")).Want(401)
	})
}

// Who makes a user need not hold what that user holds over their own things. This is so for those whom they have made alone, and not for those whose
// password these have set.
func TestTheMakersMakerIsNoMaker(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		_, policy, first := s.account(admin, "first", "auth.users.create", "auth.users.*.password.update")
		user := func(name, maker string) string {
			return s.do("POST", "/users", maker, `{"username":"`+name+`","password":"planted"}`).Want(200).Text("uuid")
		}
		given := func(name, user, access string) {
			p := s.do("POST", "/policies", admin, `{"name":"`+name+`","acl":["`+access+`"]}`).Want(200).Text("uuid")
			s.do("PUT", "/users/"+user+"/policies/"+p, admin, "").Want(204)
		}
		second, third := user("second", first), user("third", admin)
		s.do("PUT", "/users/"+second+"/policies/"+policy, admin, "").Want(204)
		s.do("PUT", "/users/"+third+"/password", s.login("second", "planted"), `{"old_password":"planted","new_password":"set"}`).Want(204)
		s.login("third", "set")
		given("all", second, "confd.users.#") // the second holds what the third will, and the first does not
		given("own", third, "confd.users.me.#")
		s.do("POST", "/token", "", "{}", resttest.Basic("third", "set")).Want(401)
	})
}
