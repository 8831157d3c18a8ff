package authsvc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

// A request acts in the caller's tenant or in one below it, and never silently in another.
func TestWazoTenant(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		a, b := s.tenant(admin, "a"), s.tenant(admin, "b")
		a1 := s.tenant(admin, "a1", resttest.In(a))
		gone := s.tenant(admin, "gone")
		s.do("DELETE", "/tenants/"+gone, admin, "").Want(204)
		master := s.do("GET", "/users?username=admin", admin, "").List().Column("tenant_uuid")[0]
		operator := s.do("POST", "/users", admin, `{"username":"operator","password":"x"}`, resttest.In(a)).Text("uuid")
		s.do("PUT", "/users/"+operator+"/policies/ringfence_administrator", admin, "").Want(204)
		token := s.login("operator", "x")

		for _, c := range []struct {
			name   string
			header []string
			status int
			tenant string // where a new user is
		}{
			{"none", nil, 200, a},
			{"own", []string{a}, 200, a},
			{"below", []string{a1}, 200, a1},
			{"below, in capitals", []string{strings.ToUpper(a1)}, 200, a1},
			{"beside", []string{b}, 401, ""},
			{"above", []string{master}, 401, ""},
			{"unknown", []string{"00000000-0000-4000-8000-000000000000"}, 401, ""},
			{"deleted", []string{gone}, 401, ""},
			{"junk", []string{"junk"}, 401, ""},
			{"empty", []string{""}, 401, ""},
			{"NUL", []string{a[:35] + "\x00"}, 401, ""},
			{"braces", []string{"{" + a + "}"}, 401, ""},
			{"two in one", []string{a + "," + a1}, 401, ""},
			{"twice", []string{a, a}, 400, ""},
		} {
			t.Run(c.name, func(t *testing.T) {
				s := s.in(t)
				header := func(r *http.Request) { r.Header["Wazo-Tenant"] = c.header }
				made := s.do("POST", "/users", token, "{}", header).Want(c.status)
				list := s.do("GET", "/users", token, "", header).Want(c.status)
				one := s.do("GET", "/users/"+operator, token, "", header)
				policies := s.do("PUT", "/users/"+operator+"/policies/ringfence_administrator", token, "", header)
				switch c.status {
				case 200:
					if made.Text("tenant_uuid") != c.tenant || !slices.Contains(list.List().Column("uuid"), made.Text("uuid")) {
						t.Errorf("made %s, listed %s", made.Body, list.Body)
					}
				case 401:
					for _, refused := range []resttest.Answer{made, list, one, policies} {
						refused.Refused(401, "unauthorized-tenant")
						if body := stamped(refused.Body); body != stamped(made.Body) {
							t.Errorf("told apart: %s", refused.Body)
						}
					}
				default:
					one.Want(c.status)
					policies.Want(c.status)
				}
			})
		}
		if l := s.do("GET", "/users?recurse=true", token, "").List(); slices.Contains(l.Column("tenant_uuid"), master) || slices.Contains(l.Column("tenant_uuid"), b) {
			t.Errorf("recurse leaves the own tree: %+v", l)
		}
	})
}

// stamped returns a refusal without its time.
func stamped(body string) string {
	var v map[string]any
	if json.Unmarshal([]byte(body), &v) != nil {
		return body
	}
	delete(v, "timestamp")
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// An object of another tenant does not exist: by UUID, in a list, in a count, in an association.
func TestOtherTenantsObjects(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		a, b := s.tenant(admin, "a"), s.tenant(admin, "b")
		operator := s.do("POST", "/users", admin, `{"username":"operator","password":"x"}`, resttest.In(a)).Text("uuid")
		s.do("PUT", "/users/"+operator+"/policies/ringfence_administrator", admin, "").Want(204)
		token := s.login("operator", "x")
		const nothing = "00000000-0000-4000-8000-000000000000"
		mine := map[string]string{"users": operator}
		theirs := map[string][]string{}
		for _, tenant := range []string{"", b} {
			edit := func(*http.Request) {}
			if tenant != "" {
				edit = resttest.In(tenant)
			}
			theirs["users"] = append(theirs["users"], s.do("POST", "/users", admin, `{"username":"bob`+tenant+`","email_address":"bob`+tenant+`@example.org"}`, edit).Text("uuid"))
			theirs["policies"] = append(theirs["policies"], s.do("POST", "/policies", admin, `{"name":"secret"}`, edit).Text("uuid"))
			theirs["groups"] = append(theirs["groups"], s.do("POST", "/groups", admin, `{"name":"secret"}`, edit).Text("uuid"))
		}
		mine["policies"] = s.do("POST", "/policies", token, `{"name":"secret","slug":"secret"}`).Want(200).Text("uuid")
		mine["groups"] = s.do("POST", "/groups", token, `{"name":"secret"}`).Want(200).Text("uuid")

		try := func(method, path, theirs string) {
			t.Helper()
			body := ""
			if method == "PUT" && strings.Count(path, "/") == 2 {
				body = "{}"
			}
			got := s.do(method, strings.ReplaceAll(path, "{}", theirs), token, body)
			unknown := s.do(method, strings.ReplaceAll(path, "{}", nothing), token, body)
			if want := stamped(unknown.Body); got.Status != 404 || unknown.Status != 404 || strings.ReplaceAll(stamped(got.Body), theirs, nothing) != want {
				t.Errorf("%s %s: %d %s; of what does not exist: %d %s", method, path, got.Status, got.Body, unknown.Status, unknown.Body)
			}
		}
		for kind, uuids := range theirs {
			for _, id := range uuids {
				for _, method := range []string{"GET", "PUT", "DELETE"} {
					try(method, "/"+kind+"/{}", id)
				}
			}
		}
		for i := range theirs["users"] {
			user, policy, group := theirs["users"][i], theirs["policies"][i], theirs["groups"][i]
			for _, method := range []string{"PUT", "DELETE"} {
				try(method, "/users/{}/policies/"+mine["policies"], user)
				try(method, "/users/"+mine["users"]+"/policies/{}", policy)
				try(method, "/groups/{}/users/"+mine["users"], group)
				try(method, "/groups/"+mine["groups"]+"/users/{}", user)
				try(method, "/groups/"+mine["groups"]+"/policies/{}", policy)
				try(method, "/policies/{}/acl/a.b", policy)
			}
			for _, path := range []string{"/users/{}/policies", "/users/{}/groups", "/users/{}/sessions", "/users/{}/tokens"} {
				try("GET", path, user)
			}
			try("GET", "/groups/{}/users", group)
			try("GET", "/groups/{}/policies", group)
		}
		for path, want := range map[string]int{
			"/users": 1, "/users?recurse=true": 1, "/users?search=bob": 0, "/users?username=bob": 0, "/users?limit=1&offset=1": 0,
			"/users?uuid=" + theirs["users"][0]: 0, "/policies?name=secret": 1, "/policies?recurse=true&search=secret": 1,
			"/groups?name=secret": 1, "/users?policy_uuid=" + theirs["policies"][0]: 0,
		} {
			l := s.do("GET", path, token, "").List()
			if len(l.Items) != want {
				t.Errorf("%s: %+v", path, l)
			}
			if strings.HasPrefix(path, "/users") && l.Total != 1 {
				t.Errorf("%s counts %d", path, l.Total)
			}
		}
		// Their objects are unchanged.
		for kind, uuids := range theirs {
			for _, id := range uuids {
				s.do("GET", "/"+kind+"/"+id, admin, "").Want(200)
			}
		}
	})
}

// A policy of a tenant below cannot be given to users above: its editors there would change what those may do.
func TestPoliciesAreGivenFromAbove(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		below := s.tenant(admin, "below")
		above := s.do("POST", "/policies", admin, `{"name":"above","acl":["confd.#"]}`).Text("uuid")
		lower := s.do("POST", "/policies", admin, `{"name":"lower","acl":["confd.#"]}`, resttest.In(below)).Text("uuid")
		up := s.do("POST", "/users", admin, `{"username":"up"}`).Text("uuid")
		down := s.do("POST", "/users", admin, `{"username":"down"}`, resttest.In(below)).Text("uuid")
		groupUp := s.do("POST", "/groups", admin, `{"name":"g"}`).Text("uuid")
		groupDown := s.do("POST", "/groups", admin, `{"name":"g"}`, resttest.In(below)).Text("uuid")
		for path, status := range map[string]int{
			"/users/" + up + "/policies/" + above:         204,
			"/users/" + down + "/policies/" + above:       204,
			"/users/" + down + "/policies/" + lower:       204,
			"/users/" + up + "/policies/" + lower:         400,
			"/groups/" + groupUp + "/policies/" + above:   204,
			"/groups/" + groupDown + "/policies/" + above: 204,
			"/groups/" + groupDown + "/policies/" + lower: 204,
			"/groups/" + groupUp + "/policies/" + lower:   400,
			"/groups/" + groupUp + "/users/" + up:         204,
			"/groups/" + groupUp + "/users/" + down:       204,
			"/groups/" + groupDown + "/users/" + down:     204,
			"/groups/" + groupDown + "/users/" + up:       400,
		} {
			if a := s.do("PUT", path, admin, ""); a.Status != status {
				t.Errorf("%s: %d, want %d: %s", path, a.Status, status, a.Body)
			}
		}
	})
}

// A caller who is denied an object, or its links, does not find others by it.
func TestDeniedObjectsFindNothing(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		policy := s.do("POST", "/policies", admin, `{"name":"secret"}`).Text("uuid")
		group := s.do("POST", "/groups", admin, `{"name":"team"}`).Text("uuid")
		ann := s.do("POST", "/users", admin, `{"username":"ann"}`).Text("uuid")
		bob := s.do("POST", "/users", admin, `{"username":"bob"}`).Text("uuid")
		s.do("PUT", "/groups/"+group+"/users/"+ann, admin, "").Want(204)
		s.do("PUT", "/groups/"+group+"/policies/"+policy, admin, "").Want(204)
		s.do("PUT", "/users/"+bob+"/policies/"+policy, admin, "").Want(204)
		for n, test := range []struct {
			denied, query string
			found, left   int
		}{
			{"policies." + policy, "/users?policy_uuid=" + policy, 1, 0},
			{"policies.secret", "/users?policy_slug=secret", 1, 0},
			{"users." + bob + ".policies", "/users?policy_slug=secret", 1, 0},
			{"policies." + policy, "/users?has_policy_uuid=" + policy, 2, 0},
			{"policies." + policy, "/users?has_policy_slug=secret", 2, 0},
			{"groups." + group, "/users?has_policy_slug=secret", 2, 1},
			{"groups." + group + ".policies", "/users?has_policy_uuid=" + policy, 2, 1},
			{"groups." + group, "/users?group_uuid=" + group, 1, 0},
			{"users.*.groups", "/users?group_uuid=" + group, 1, 0},
			{"groups." + group + ".users", "/users?group_uuid=" + group, 1, 0},
			{"users." + ann, "/groups?user_uuid=" + ann, 2, 0},
			{"policies." + policy, "/groups?policy_slug=secret&search=team", 1, 0},
			{"policies." + policy, "/groups?policy_uuid=" + policy, 1, 0},
			{"users." + bob, "/policies?user_uuid=" + bob, 1, 0},
			{"groups." + group, "/policies?group_uuid=" + group, 1, 0},
			{"groups." + uuid.NewString(), "/policies?group_uuid=" + group, 1, 1},
		} {
			if got := s.do("GET", test.query, admin, "").List().Filtered; got != test.found {
				t.Errorf("%s finds %d for everybody, want %d", test.query, got, test.found)
			}
			_, _, token := s.account(admin, fmt.Sprint("no", n), "auth.#", "!auth."+test.denied+".read")
			if got := s.do("GET", test.query, token, "").List().Filtered; got != test.left {
				t.Errorf("%s finds %d without %s, want %d", test.query, got, test.denied, test.left)
			}
		}
	})
}

// A caller who is denied an object by its UUID cannot reach it by its slug, or the other way round.
func TestDeniedByAnotherKey(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		secret := s.do("POST", "/policies", admin, `{"name":"secret"}`).Text("uuid")
		user := s.do("POST", "/users", admin, `{"username":"ann"}`).Text("uuid")
		// The gate refuses the denied spelling; the service is asked with the other one.
		for denied, key := range map[string]string{secret: "secret", "secret": secret} {
			_, _, token := s.account(admin, "no"+denied, "auth.#", "!auth.policies."+denied+".#", "!auth.users.*.policies."+denied+".create")
			for _, way := range [][3]string{
				{"GET", "/policies/" + key, ""},
				{"PUT", "/policies/" + key, "{}"},
				{"DELETE", "/policies/" + key, ""},
				{"PUT", "/policies/" + key + "/acl/auth.a.b", ""},
				{"PUT", "/users/" + user + "/policies/" + key, ""},
			} {
				a := s.do(way[0], way[1], token, way[2]).Refused(403, "forbidden")
				if !strings.Contains(a.Text("details.required_access"), "."+denied+".") {
					t.Errorf("%s %s: %s", way[0], way[1], a.Body)
				}
			}
		}
		s.do("GET", "/policies/secret", admin, "").Want(200)
	})
}
