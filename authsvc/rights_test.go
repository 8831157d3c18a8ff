package authsvc_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

// give gives a policy of these accesses to a group.
func (s *server) give(admin, group, name string, accesses ...string) {
	s.t.Helper()
	policy := s.do("POST", "/policies", admin, `{"name":"`+name+`","acl":`+jsonList(s.t, accesses...)+`}`).Want(200).Text("uuid")
	s.do("PUT", "/groups/"+group+"/policies/"+policy, admin, "").Want(204)
}

var someUUID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// A new user holds what the group of all the tenant's users gives. The caller who creates the user must cover it, except for what
// concerns only the new user.
func TestNobodyMakesAUserMightierThanThemselves(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		_, _, maker := s.account(admin, "maker", "auth.users.create", "confd.users.me.#", "calld.#")
		for i, c := range []struct{ gives, lacks string }{
			{"#", "#"},
			{"auth.#", "auth.#"},
			{"auth.users.*.policies.*.create", "auth.users.*.policies.*.create"},
			{"#.me", "#.ME"},
			{"*.users.me.read", "*.users.ME.read"},
			{"confd.*.me.read", "confd.*.ME.read"},
			{"confd.#.me.read", "confd.#.ME.read"},
			{"me.users.me.read", "ME.users.ME.read"},
			{"auth.groups.*.users.me.create", "auth.groups.*.users.ME.create"},
			{"auth.users." + nobody + ".me.read", "auth.users.ME.ME.read"},
			{"me", "ME"},
			{"confd.users.me.#", ""},
			{"auth.users.me.*", ""},
			{"auth.sessions.my_session.delete", ""},
			{"events.calls.me", ""},
			{"calld.calls.create", ""}, // held
			{"auth.users.create", ""},
			{"!auth.#", ""}, // the less
		} {
			t.Run(c.gives, func(t *testing.T) {
				s := s.in(t)
				tenant := s.tenant(admin, fmt.Sprint("t", i))
				s.give(admin, tenant, fmt.Sprint("all", i), c.gives)
				a := s.do("POST", "/users", maker, `{"username":"new`+fmt.Sprint(i)+`","password":"x"}`, resttest.In(tenant))
				if c.lacks == "" {
					a.Want(200)
					return
				}
				if got := someUUID.ReplaceAllString(a.Want(403).Text("details.required_access"), "ME"); got != c.lacks {
					t.Errorf("required_access %q, want %q", got, c.lacks)
				}
				if l := s.do("GET", "/users", admin, "", resttest.In(tenant)).List(); l.Total != 0 {
					t.Errorf("there is %+v", l.Items)
				}
			})
		}
		// A caller cannot shed their own denials with a second account.
		all := s.master(admin)
		s.give(admin, all, "everybody", "confd.#")
		_, _, denied := s.account(admin, "denied", "auth.users.create", "!confd.users.delete")
		s.do("POST", "/users", denied, `{"username":"second"}`).Lacks("confd.#")
		s.do("POST", "/users", maker, `{"username":"third"}`).Want(200) // the caller holds it like everybody else
	})
}

// A stranger who registers gets only rights over themselves, whatever a group would give.
func TestStrangersHoldNothingOfOthers(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		p := newPost(t, db, mailtest.Options{})
		admin := p.admin()
		policy := p.do("POST", "/policies", admin, `{"name":"wide","acl":["confd.users.me.#","auth.users.me.#"]}`).Want(200).Text("uuid")
		give := `INSERT INTO auth_group_policy (group_uuid, policy_uuid) SELECT NEW.uuid, uuid FROM auth_policy WHERE slug = 'wide';`
		statements := []string{`CREATE TRIGGER widen AFTER INSERT ON auth_group BEGIN ` + give + ` END`}
		if db.Engine() == "postgres" {
			statements = []string{
				`CREATE FUNCTION widen() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ` + give + ` RETURN NULL; END $$`,
				`CREATE TRIGGER widen AFTER INSERT ON auth_group FOR EACH ROW EXECUTE FUNCTION widen()`,
			}
		}
		for _, sql := range statements {
			if _, err := db.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		register := func(name string) resttest.Answer {
			return p.do("POST", "/users/register", "", `{"username":"`+name+`","password":"x","email_address":"`+name+`@example.com"}`)
		}
		register("ann").Want(200)
		for _, wide := range []string{"#", "auth.#", "confd.users.*.read", "#.me"} {
			p.do("PUT", "/policies/"+policy, admin, `{"acl":`+jsonList(t, "confd.users.me.#", wide)+`}`).Want(200)
			register("bob").Refused(404, "not-found")
		}
		if l := p.do("GET", "/tenants", admin, "").List(); l.Total != 2 {
			t.Errorf("tenants: %+v", l.Items)
		}
		p.do("PUT", "/policies/"+policy, admin, `{"acl":["!#","events.calls.me"]}`).Want(200)
		register("bob").Want(200)
	})
}

// A chosen UUID may be a telephone user's: the caller who creates its account must hold all rights over that user.
func TestAChosenUUIDNeedsRightsOverIt(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		for i, c := range []struct {
			holds []string
			lacks string
		}{
			{[]string{"auth.users.create", "confd.users.me.#"}, "auth.users.U.#"},
			{[]string{"auth.#", "confd.users.me.#"}, "confd.users.U.#"},
			{[]string{"auth.#", "confd.users.*.read"}, "confd.users.U.#"},
			{[]string{"auth.#", "confd.#", "!confd.users.*.delete"}, "confd.users.U.#"},
			{[]string{"auth.#", "confd.#", "!auth.users.U.delete"}, "auth.users.U.#"},
			{[]string{"auth.#", "confd.#"}, ""},
			{[]string{"auth.users.U.#", "confd.users.U.#"}, ""},
			{[]string{"auth.users.*.#", "confd.users.#"}, ""},
		} {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				s := s.in(t)
				chosen := uuid.NewString()
				for j := range c.holds {
					c.holds[j] = strings.ReplaceAll(c.holds[j], "U", chosen)
				}
				_, _, token := s.account(admin, fmt.Sprint("maker", i), c.holds...)
				for _, spelt := range []string{chosen, strings.ToUpper(chosen)} {
					a := s.do("POST", "/users", token, `{"uuid":"`+spelt+`"}`)
					if c.lacks != "" {
						a.Lacks(strings.ReplaceAll(c.lacks, "U", chosen))
						continue
					}
					if a.Want(200).Text("uuid") != chosen {
						t.Errorf("made %s", a.Body)
					}
					break
				}
			})
		}
		// What the group of all users gives over such a user is compared with that UUID in place of `me`.
		s.give(admin, s.master(admin), "own", "calld.users.me.#")
		_, _, token := s.account(admin, "maker", "auth.#", "confd.#")
		chosen := uuid.NewString()
		s.do("POST", "/users", token, `{"uuid":"`+chosen+`"}`).Lacks("calld.users." + chosen + ".#")
		s.do("POST", "/users", token, `{}`).Want(200)
	})
}

// Neither a user nor a tenant gets a UUID that an earlier one had, however that one was deleted.
func TestNoUUIDIsUsedTwice(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		taken := func(kind, uuid string) {
			t.Helper()
			for _, spelt := range []string{uuid, strings.ToUpper(uuid)} {
				s.do("POST", "/"+kind, admin, `{"uuid":"`+spelt+`"}`).Refused(409, "conflict").JSON("details.uuid")
			}
		}
		tenant := s.tenant(admin, "t")
		deleted := s.do("POST", "/users", admin, `{}`).Text("uuid")
		s.do("DELETE", "/users/"+deleted, admin, "").Want(204)
		with := s.do("POST", "/users", admin, `{}`, resttest.In(tenant)).Text("uuid")
		s.do("DELETE", "/tenants/"+tenant, admin, "").Want(204)
		for _, gone := range []string{deleted, with, tenant} {
			taken("users", gone)
			taken("tenants", gone)
		}
		if _, err := db.Exec(t.Context(), `INSERT INTO auth_user (uuid, tenant_uuid, purpose, enabled, authentication_method, created_at)
			SELECT $1, uuid, 'user', true, 'default', now_utc() FROM auth_tenant`, deleted); !store.IsConstraint(err, store.Unique) {
			t.Errorf("the database itself: %v", err)
		}
		// Created and deleted concurrently again and again, it was created once.
		for _, kind := range []string{"users", "tenants"} {
			contested := uuid.NewString()
			got := together(8, func(int) resttest.Answer {
				a := s.do("POST", "/"+kind, admin, `{"uuid":"`+contested+`"}`)
				if a.Status == 200 {
					s.do("DELETE", "/"+kind+"/"+contested, admin, "").Want(204)
				}
				return a
			})
			if got[200] != 1 || got[409] != 7 {
				t.Errorf("%s: %v", kind, got)
			}
		}
	})
}

// A mightier user loses nothing through a caller who does not cover them, by any operation.
func TestNobodyTakesFromTheMightier(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		_, _, operator := s.account(admin, "operator", "auth.#", "confd.users.read") // who even holds what would be denied
		own := s.do("POST", "/policies", admin, `{"name":"denial","acl":["!auth.#"]}`).Text("uuid")
		kind := s.do("POST", "/policies", admin, `{"name":"kind","acl":["confd.users.read"]}`).Text("uuid")
		nothing := s.do("POST", "/policies", admin, `{"name":"nothing"}`).Text("uuid")
		group := func(name string) string {
			return s.do("POST", "/groups", admin, `{"name":"`+name+`"}`).Want(200).Text("uuid")
		}
		for _, mighty := range []bool{true, false} {
			t.Run(fmt.Sprintf("mightier %t", mighty), func(t *testing.T) {
				s := s.in(t)
				holds, name := []string{"auth.users.read"}, fmt.Sprintf("u%t", mighty)
				if mighty {
					holds = append(holds, "calld.#")
				}
				user, policy, token := s.account(admin, name, holds...)
				offline := s.do("POST", "/token", "", `{"access_type":"offline","client_id":"phone"}`, resttest.Basic(name, "secret of "+name)).Want(200)
				session := s.do("GET", "/token/"+token, "", "").Text("data.session_uuid")
				other := offline.Text("data.session_uuid")
				denying, joined, empty, kindly, renamed := group(name+" denying"), group(name+" joined"), group(name+" empty"), group(name+" kindly"), group(name+" r")
				through := s.do("POST", "/policies", admin, `{"name":"`+name+` through"}`).Text("uuid")
				for _, path := range []string{
					"/groups/" + denying + "/policies/" + own, "/groups/" + joined + "/users/" + user, "/groups/" + empty + "/users/" + user,
					"/groups/" + joined + "/policies/" + through, "/groups/" + kindly + "/users/" + user, "/groups/" + kindly + "/policies/" + kind,
					"/groups/" + renamed + "/users/" + user, "/users/" + user + "/policies/" + nothing,
				} {
					s.do("PUT", path, admin, "").Want(204)
				}
				for _, way := range [][3]string{
					{"PUT", "/users/" + user + "/policies/" + own, ""},
					{"PUT", "/groups/" + denying + "/users/" + user, ""},
					{"PUT", "/groups/" + joined + "/policies/" + own, ""},
					{"PUT", "/policies/" + through + "/acl/" + url.PathEscape("!auth.#"), ""},
					{"PUT", "/policies/" + through, `{"acl":["!auth.#","!confd.users.read"]}`},
					{"PUT", "/policies/" + through, `{"description":"mine"}`},
					{"DELETE", "/policies/" + through + "/acl/" + url.PathEscape("!auth.#"), ""},
					{"PUT", "/groups/" + renamed, `{"name":"` + name + ` renamed"}`},
					{"DELETE", "/groups/" + joined + "/policies/" + own, ""},
					{"DELETE", "/policies/" + through, ""},
					{"DELETE", "/groups/" + kindly + "/policies/" + kind, ""},
					{"DELETE", "/groups/" + kindly + "/users/" + user, ""},
					{"DELETE", "/groups/" + empty, ""},
					{"DELETE", "/users/" + user + "/policies/" + nothing, ""},
					{"DELETE", "/users/" + user + "/tokens/phone", ""},
					{"DELETE", "/sessions/" + session, ""},
					{"DELETE", "/users/" + user + "/sessions/" + other, ""},
					{"PUT", "/users/" + user, `{"enabled":false}`},
					{"DELETE", "/users/" + user, ""},
				} {
					a := s.do(way[0], way[1], operator, way[2])
					switch {
					case mighty:
						a.Lacks("calld.#")
					case a.Status != 200 && a.Status != 204:
						t.Errorf("%s %s: %d %s", way[0], way[1], a.Status, a.Body)
					}
				}
				if !mighty {
					return
				}
				s.do("GET", "/users", token, "").Want(200)
				if got := s.do("GET", "/users/"+user+"/policies", admin, "").List().Column("uuid"); len(got) != 2 || s.do("GET", "/policies/"+policy, admin, "").Status != 200 {
					t.Errorf("the policies have changed: %v", got)
				}
				s.do("POST", "/token", "", `{"refresh_token":"`+offline.Text("data.refresh_token")+`","client_id":"phone"}`).Want(200)
				// Everybody with a token may end it, and every user may end their own.
				s.do("DELETE", "/users/"+user+"/tokens/phone", token, "").Want(204)
				s.do("DELETE", "/sessions/"+other, token, "").Want(204)
				s.do("DELETE", "/token/"+token, "", "").Want(200)
				s.do("GET", "/users", token, "").Want(401)
			})
		}
	})
}

// A caller who moves a tenant must cover the users who gain reach over it, those who lose it, and those within.
func TestNobodyMovesATenantOverMightierUsers(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		for _, where := range []string{"a", "b", "moved", "below", "nowhere"} {
			t.Run(where, func(t *testing.T) {
				s := s.in(t)
				tenants := map[string]string{"nowhere": s.master(admin)} // above both: their reach stays what it is
				for _, name := range []string{"a", "b"} {
					tenants[name] = s.tenant(admin, where+name)
				}
				tenants["moved"] = s.tenant(admin, where+"m", resttest.In(tenants["a"]))
				tenants["below"] = s.tenant(admin, where+"l", resttest.In(tenants["moved"]))
				user := s.do("POST", "/users", admin, `{"username":"mighty `+where+`"}`, resttest.In(tenants[where])).Want(200).Text("uuid")
				policy := s.do("POST", "/policies", admin, `{"name":"mighty `+where+`","acl":["confd.#"]}`).Text("uuid")
				s.do("PUT", "/users/"+user+"/policies/"+policy, admin, "").Want(204)
				_, _, mover := s.account(admin, "mover"+where, "auth.tenants.#")
				a := s.do("PUT", move(tenants["moved"], tenants["b"]), mover, "")
				if where == "nowhere" {
					a.Want(204)
					return
				}
				a.Lacks("confd.#")
				_, _, able := s.account(admin, "able"+where, "auth.tenants.#", "confd.#")
				s.do("PUT", move(tenants["moved"], tenants["b"]), able, "").Want(204)
			})
		}
	})
}
