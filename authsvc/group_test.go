package authsvc_test

import (
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

func TestGroups(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		made := s.do("POST", "/groups", admin, `{"name":"Night shift"}`).Want(200)
		group := made.Text("uuid")
		want := `{"uuid":"` + group + `","tenant_uuid":"` + s.master(admin) + `","name":"Night shift","slug":"` + made.Text("slug") + `","read_only":false,"system_managed":false}`
		one := s.do("GET", "/groups/"+group, admin, "").Want(200)
		if made.Body != want || one.Body != want {
			t.Errorf("made %s\nread %s\nwant %s", made.Body, one.Body, want)
		}
		renamed := s.do("PUT", "/groups/"+group, admin, `{"name":"Day shift","slug":"other","system_managed":true,"read_only":true}`, resttest.IfMatch(one.Header.Get("ETag"))).Want(200)
		if renamed.Body != strings.Replace(want, "Night", "Day", 1) {
			t.Errorf("renamed: %s", renamed.Body)
		}
		s.do("PUT", "/groups/"+group, admin, `{"name":"x"}`, resttest.IfMatch(one.Header.Get("ETag"))).Want(412)
		for name, c := range map[string]struct {
			method, path, body string
			status             int
			id, field          string
		}{
			"no name":            {"POST", "/groups", `{}`, 400, "invalid-data", "name"},
			"an empty name":      {"PUT", "/groups/" + group, `{"name":""}`, 400, "invalid-data", "name"},
			"a long name":        {"POST", "/groups", `{"name":"` + strings.Repeat("x", 129) + `"}`, 400, "invalid-data", "name"},
			"a slug with spaces": {"POST", "/groups", `{"name":"a","slug":"a b"}`, 400, "invalid-data", "slug"},
			"a name twice":       {"POST", "/groups", `{"name":"DAY  shift"}`, 409, "conflict", "name"},
			"a slug twice":       {"POST", "/groups", `{"name":"a","slug":"` + strings.ToUpper(made.Text("slug")) + `"}`, 409, "conflict", "slug"},
		} {
			t.Run(name, func(t *testing.T) {
				s := s.in(t)
				if refused := s.do(c.method, c.path, admin, c.body).Refused(c.status, c.id); !strings.Contains(refused.Body, `"`+c.field+`":{`) {
					t.Errorf("%s is not named: %s", c.field, refused.Body)
				}
			})
		}
		s.do("DELETE", "/groups/"+group, admin, "").Want(204)
		s.do("GET", "/groups/"+group, admin, "").Refused(404, "unknown-group")
	})
}

// The group of all users belongs to the server, but may be given policies.
func TestGroupsOfTheServer(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		a := s.tenant(admin, "a")
		other := s.do("POST", "/users", admin, `{"username":"other"}`).Text("uuid")
		ann := s.do("POST", "/users", admin, `{"username":"ann","password":"x"}`, resttest.In(a)).Text("uuid")
		token := s.login("ann", "x")
		everybody := s.do("GET", "/groups?read_only=true", admin, "", resttest.In(a)).List().Column("uuid")[0]
		if l := s.do("GET", "/groups/"+everybody+"/users", admin, "").List(); l.Total != 1 || l.Column("uuid")[0] != ann {
			t.Errorf("users: %+v", l)
		}
		for _, c := range [][3]string{
			{"PUT", "/groups/" + everybody, `{"name":"mine"}`},
			{"DELETE", "/groups/" + everybody, ""},
			{"PUT", "/groups/" + everybody + "/users/" + other, ""},
			{"DELETE", "/groups/" + everybody + "/users/" + ann, ""},
		} {
			s.do(c[0], c[1], admin, c[2]).Refused(403, "forbidden-group")
		}
		policy := s.do("POST", "/policies", admin, `{"name":"p","acl":["auth.idp.read"]}`).Text("uuid")
		holds := func(status int) {
			t.Helper()
			s.do("HEAD", "/token/"+token+"?scope=auth.idp.read", "", "").Want(status)
		}
		holds(403)
		s.do("PUT", "/groups/"+everybody+"/policies/"+policy, admin, "").Want(204)
		holds(204)
		s.do("DELETE", "/groups/"+everybody+"/policies/"+policy, admin, "").Want(204)
		holds(403)
	})
}

// Adding a member twice, or removing one who is not a member, changes nothing; with a group or user that does not exist both
// fail.
func TestMembersTwice(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		group := s.do("POST", "/groups", admin, `{"name":"g"}`).Text("uuid")
		user := s.do("POST", "/users", admin, `{"username":"ann"}`).Text("uuid")
		policy := s.do("POST", "/policies", admin, `{"name":"p"}`).Text("uuid")
		for _, c := range []struct{ path, left, right, id string }{
			{"/groups/LEFT/users/RIGHT", group, user, "unknown-user"},
			{"/groups/LEFT/policies/RIGHT", group, policy, "unknown-policy"},
			{"/users/LEFT/policies/RIGHT", user, policy, "unknown-policy"},
		} {
			path := func(left, right string) string {
				return strings.NewReplacer("LEFT", left, "RIGHT", right).Replace(c.path)
			}
			list := path(c.left, "")
			for _, step := range []struct {
				method string
				total  int
			}{{"DELETE", 0}, {"PUT", 1}, {"PUT", 1}, {"DELETE", 0}, {"DELETE", 0}} {
				s.do(step.method, path(c.left, c.right), admin, "").Want(204)
				if l := s.do("GET", strings.TrimSuffix(list, "/"), admin, "").List(); l.Total != step.total {
					t.Errorf("%s %s: %+v", step.method, c.path, l)
				}
			}
			for _, method := range []string{"PUT", "DELETE"} {
				s.do(method, path(c.left, nobody), admin, "").Refused(404, c.id)
				s.do(method, path(nobody, c.right), admin, "").Want(404)
				s.do(method, path("junk", c.right), admin, "").Want(404)
			}
		}
	})
}

// Clients know the group of all users by its name, so no other group may have a name with that beginning, in any spelling.
func TestNamesOfAllUsersGroupsAreReserved(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		group := s.do("POST", "/groups", admin, `{"name":"crew"}`).Want(200).Text("uuid")
		for _, name := range []string{"wazo-all-users-tenant-x", "Wazo-All-Users-Tenant-", " wazo-all-users-tenant-1"} {
			s.do("POST", "/groups", admin, `{"name":"`+name+`"}`).Refused(400, "invalid-data").JSON("details.name")
			s.do("PUT", "/groups/"+group, admin, `{"name":"`+name+`"}`).Refused(400, "invalid-data").JSON("details.name")
		}
		s.do("POST", "/groups", admin, `{"name":"y","slug":"WAZO-all-users-tenant-y"}`).Refused(400, "invalid-data").JSON("details.slug")
		s.do("POST", "/groups", admin, `{"name":"not wazo-all-users-tenant-y"}`).Want(200)
	})
}

// If a name gives a slug that is taken, another slug is made, in each collection that makes slugs of names.
func TestSlugsOfNamesThatAreTaken(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		for _, collection := range []string{"policies", "groups", "tenants"} {
			seen := map[string]bool{}
			for _, name := range []string{"Night crew", "Nightcrew", "night crew", "NIGHT-CREW", "night.crew"} {
				a := s.do("POST", "/"+collection, admin, `{"name":"`+name+`"}`)
				if a.Status == 409 { // the name itself is taken
					continue
				}
				slug := a.Want(200).Text("slug")
				if slug == "" || seen[slug] {
					t.Errorf("%s %q has the slug %q, which is another's", collection, name, slug)
				}
				seen[slug] = true
			}
			if len(seen) < 3 {
				t.Errorf("%s: only %d were made", collection, len(seen))
			}
		}
	})
}
