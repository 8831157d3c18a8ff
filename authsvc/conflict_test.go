package authsvc_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

// together runs f n times concurrently and returns how often each status came.
func together(n int, f func(i int) resttest.Answer) map[int]int {
	var mu sync.Mutex
	statuses := map[int]int{}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			a := f(i)
			mu.Lock()
			defer mu.Unlock()
			statuses[a.Status]++
		})
	}
	all.Wait()
	return statuses
}

// Conflicting changes wait for each other or run again; none is lost, and none is made in part.
func TestConflictingChanges(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		const n = 8
		s := newServer(t, db)
		admin := s.admin()
		policy := s.do("POST", "/policies", admin, `{"name":"p"}`).Text("uuid")
		user := s.do("POST", "/users", admin, `{"username":"ann","password":"x"}`).Text("uuid")

		// Each adds an access: in the end all are there.
		if got := together(n, func(i int) resttest.Answer {
			return s.do("PUT", fmt.Sprintf("/policies/%s/acl/confd.a%d.read", policy, i), admin, "")
		}); got[204] != n {
			t.Errorf("statuses %v", got)
		}
		if got := accesses(s.do("GET", "/policies/"+policy, admin, "")); len(got) != n {
			t.Errorf("accesses %q", got)
		}
		// Each sets a different field: in the end all are set.
		fields := []string{`"firstname":"F"`, `"lastname":"L"`, `"purpose":"external_api"`, `"username":"anna"`}
		if got := together(len(fields), func(i int) resttest.Answer { return s.do("PUT", "/users/"+user, admin, "{"+fields[i]+"}") }); got[200] != len(fields) {
			t.Errorf("statuses %v", got)
		}
		u := s.do("GET", "/users/"+user, admin, "")
		if u.Text("firstname") != "F" || u.Text("lastname") != "L" || u.Text("purpose") != "external_api" || u.Text("username") != "anna" {
			t.Errorf("%s", u.Body)
		}
		s.login("anna", "x")
		// A name belongs to one user and one policy; an If-Match matches once.
		if got := together(n, func(int) resttest.Answer { return s.do("POST", "/users", admin, `{"username":"same","password":"x"}`) }); got[200] != 1 || got[409] != n-1 {
			t.Errorf("users: %v", got)
		}
		s.login("same", "x")
		if got := together(n, func(int) resttest.Answer { return s.do("POST", "/policies", admin, `{"name":"same"}`) }); got[200] != 1 || got[409] != n-1 {
			t.Errorf("policies: %v", got)
		}
		tag := u.Header.Get("ETag")
		if got := together(n, func(i int) resttest.Answer {
			return s.do("PUT", "/users/"+user, admin, fmt.Sprintf(`{"firstname":"%d"}`, i), resttest.IfMatch(tag))
		}); got[200] != 1 || got[412] != n-1 {
			t.Errorf("If-Match: %v", got)
		}
		// Giving, taking and deleting at once.
		got := together(n, func(i int) resttest.Answer {
			switch i % 4 {
			case 0:
				return s.do("PUT", "/users/"+user+"/policies/"+policy, admin, "")
			case 1:
				return s.do("DELETE", "/users/"+user+"/policies/"+policy, admin, "")
			case 2:
				return s.do("PUT", "/policies/"+policy, admin, fmt.Sprintf(`{"acl":["confd.b%d.read"]}`, i))
			default:
				return s.do("DELETE", "/policies/"+policy, admin, "")
			}
		})
		if got[200]+got[204]+got[404] != n {
			t.Errorf("statuses %v", got)
		}
		s.do("GET", "/policies/"+policy, admin, "").Want(404)
		if l := s.do("GET", "/users/"+user+"/policies", admin, "").List(); l.Total != 0 {
			t.Errorf("%+v", l)
		}
	})
}

// A user is disabled during concurrent logins: afterwards none of their tokens is valid.
func TestLoginsWhileDisabled(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user := s.do("POST", "/users", admin, `{"username":"ann","password":"x"}`).Text("uuid")
		var mu sync.Mutex
		var issued []string
		together(8, func(i int) resttest.Answer {
			if i == 4 {
				return s.do("PUT", "/users/"+user, admin, `{"enabled":false}`)
			}
			a := s.do("POST", "/token", "", "{}", resttest.Basic("ann", "x"))
			if a.Status == 200 {
				mu.Lock()
				defer mu.Unlock()
				issued = append(issued, a.Text("data.token"))
			} else if a.Status != 401 {
				t.Errorf("%d: %s", a.Status, a.Body)
			}
			return a
		})
		s.do("PUT", "/users/"+user, admin, `{"enabled":true}`).Want(200)
		for _, token := range issued {
			s.do("HEAD", "/token/"+token, "", "").Want(404)
		}
	})
}

// Two administrators who delete each other concurrently do not both succeed.
func TestLastAdministrators(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		for round := range 5 {
			admin := s.admin()
			first := s.do("GET", "/users?username=admin", admin, "").List().Column("uuid")[0]
			second := s.do("POST", "/users", admin, fmt.Sprintf(`{"username":"second%d","password":%q}`, round, adminPassword)).Text("uuid")
			s.do("PUT", "/users/"+second+"/policies/ringfence_administrator", admin, "").Want(204)
			token := s.login(fmt.Sprintf("second%d", round), adminPassword)
			got := together(2, func(i int) resttest.Answer {
				if i == 0 {
					return s.do("PUT", "/users/"+second, admin, `{"enabled":false}`)
				}
				return s.do("PUT", "/users/"+first, token, `{"enabled":false}`)
			})
			if got[200] != 1 {
				t.Fatalf("statuses %v", got)
			}
			if a := s.do("POST", "/token", "", "{}", resttest.Basic("admin", adminPassword)); a.Status != 200 { // the second one is left
				s.do("PUT", "/users/"+first, token, `{"enabled":true}`).Want(200)
				admin = s.admin()
			}
			s.do("DELETE", "/users/"+second, admin, "").Want(204)
		}
		admin := s.admin()
		first := s.do("GET", "/users?username=admin", admin, "").List().Column("uuid")[0]
		for _, a := range []resttest.Answer{
			s.do("PUT", "/users/"+first, admin, `{"enabled":false}`),
			s.do("PUT", "/users/"+first, admin, `{"authentication_method":"ldap"}`),
			s.do("PUT", "/users/"+first, admin, `{"username":null}`),
			s.do("DELETE", "/users/"+first, admin, ""),
			s.do("DELETE", "/users/"+first+"/policies/ringfence_administrator", admin, ""),
		} {
			a.Refused(409, "last-administrator")
		}
		// A confirmed address is a login like a username; an unconfirmed one is not.
		emails := func(confirmed string) string {
			return `{"emails":[{"address":"first@example.com","main":true,"confirmed":` + confirmed + `}]}`
		}
		s.do("PUT", "/admin/users/"+first+"/emails", admin, emails("false")).Want(200)
		s.do("PUT", "/users/"+first, admin, `{"username":null}`).Refused(409, "last-administrator")
		s.do("PUT", "/admin/users/"+first+"/emails", admin, emails("true")).Want(200)
		s.do("PUT", "/users/"+first, admin, `{"username":null}`).Want(200)
		s.do("PUT", "/admin/users/"+first+"/emails", admin, emails("false")).Refused(409, "last-administrator")
		s.do("PUT", "/users/"+first+"/emails", admin, `{"emails":[]}`).Refused(409, "last-administrator")
		s.do("PUT", "/users/"+first, admin, `{"username":"admin"}`).Want(200)
		// All accesses of a tenant below are not all accesses.
		below := s.tenant(admin, "below")
		lower := s.do("POST", "/users", admin, `{"username":"lower","password":"x"}`, resttest.In(below)).Text("uuid")
		s.do("PUT", "/users/"+lower+"/policies/ringfence_administrator", admin, "").Want(204)
		s.do("DELETE", "/users/"+first, admin, "").Refused(409, "last-administrator")
	})
}

// The database tells which columns are taken; the refusal names the attributes that they are made of, with what was sent.
func TestARefusalNamesWhatIsTaken(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		const gone = "0f3c1d52-58b3-4a52-8d5c-7a1d4a5f6b7c"
		s.do("POST", "/users", admin, `{"uuid":"`+gone+`"}`).Want(200)
		s.do("DELETE", "/users/"+gone, admin, "").Want(204)
		const tenant = "1f3c1d52-58b3-4a52-8d5c-7a1d4a5f6b7c"
		s.do("POST", "/tenants", admin, `{"uuid":"`+tenant+`","slug":"taken"}`).Want(200)
		const neverTwice = "This UUID is, or was before it was deleted, that of a tenant or a user. None is used twice: " +
			"leave uuid out for a new one, or choose another"
		s.do("POST", "/groups", admin, `{"name":"Taken","slug":"Taken"}`).Want(200)
		other := s.do("POST", "/groups", admin, `{"name":"other"}`).Want(200).Text("uuid")
		for _, c := range []struct{ method, path, body, field, message string }{
			{"POST", "/groups", `{"name":"TAKEN"}`, "name", "Group already exists ('name': 'TAKEN')"},
			{"POST", "/groups", `{"name":"another","slug":"taken"}`, "slug", "Group already exists ('slug': 'taken')"},
			{"PUT", "/groups/" + other, `{"name":" taken "}`, "name", "Group already exists ('name': 'taken')"},
			{"POST", "/tenants", `{"slug":"taken"}`, "slug", "Tenant already exists ('slug': 'taken')"},
			{"POST", "/tenants", `{"uuid":"` + tenant + `"}`, "uuid", neverTwice},
			{"POST", "/tenants", `{"uuid":"` + gone + `"}`, "uuid", neverTwice},
			{"POST", "/users", `{"uuid":"` + gone + `"}`, "uuid", neverTwice},
		} {
			refusal := s.do(c.method, c.path, admin, c.body).Refused(409, "conflict")
			if refusal.Text("message") != c.message {
				t.Errorf("%s %s: %s", c.path, c.body, refusal.Body)
			}
			if details := refusal.JSON("details").(map[string]any); len(details) != 1 || details[c.field] == nil {
				t.Errorf("%s %s: details %v", c.path, c.body, details)
			}
		}
	})
}

// What changes one object honours If-Match, also by a path below it; what cannot refuses it. Nothing is changed then.
func TestIfMatchIsNeverIgnored(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user, policy, token := s.account(admin, "bob", "auth.users.me.#")
		acme, other := s.tenant(admin, "acme"), s.tenant(admin, "other")
		tag := func(of string) string { return s.do("GET", of, admin, "").Want(200).Header.Get("ETag") }
		for _, c := range []struct{ of, method, path, body string }{
			{"/policies/" + policy, "PUT", "/acl/confd.read", ""},
			{"/policies/" + policy, "DELETE", "/acl/confd.read", ""},
			{"/users/" + user, "PUT", "/password", change("secret of bob", "another of bob")},
			{"/tenants/" + acme, "PUT", "/parent/" + other, ""},
			{"/users/" + user, "PUT", "/idp/ldap/users/" + user, ""},
			{"/users/" + user, "DELETE", "/idp/ldap/users/" + user, ""},
		} {
			path := c.of + c.path
			if strings.HasPrefix(c.path, "/idp/") {
				path = c.path
			}
			before := tag(c.of)
			s.do(c.method, path, admin, c.body, resttest.IfMatch(`"stale"`)).Refused(412, "precondition-failed")
			if tag(c.of) != before {
				t.Errorf("%s %s has changed something", c.method, path)
			}
			s.do(c.method, path, admin, c.body, resttest.IfMatch(before)).Want(204)
		}
		s.login("bob", "another of bob")
		session := s.do("GET", "/users/"+user+"/sessions", admin, "").Want(200)
		for _, c := range []struct{ method, path, body string }{
			{"PUT", "/idp/native/users", `{"users":[{"uuid":"` + user + `"}]}`},
			{"POST", "/users", `{"username":"ann"}`},
			{"DELETE", "/token/" + token, ""},
		} {
			for _, sent := range []string{"*", `"x"`} {
				s.do(c.method, c.path, admin, c.body, resttest.IfMatch(sent)).Refused(400, "invalid-data")
			}
		}
		if now := s.do("GET", "/users/"+user+"/sessions", admin, "").Want(200); now.Body != session.Body {
			t.Errorf("the sessions are %s, and were %s", now.Body, session.Body)
		}
	})
}
