package authsvc_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

// A caller who may read an object by any of its keys sees its entries; nobody else sees or counts them.
func TestAuditIsForWhoMayReadTheObject(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		ann, bob := s.do("POST", "/users", admin, `{"username":"ann"}`).Text("uuid"), s.do("POST", "/users", admin, `{"username":"bob"}`).Text("uuid")
		policy := s.do("POST", "/policies", admin, `{"name":"p","slug":"Slug_1"}`).Text("uuid")
		group := s.do("POST", "/groups", admin, `{"name":"g"}`).Text("uuid")
		s.do("PUT", "/users/"+ann+"/policies/Slug_1", admin, "").Want(204)
		s.do("PUT", "/users/"+bob+"/emails", admin, `{"emails":[{"address":"b@example.com","main":true}]}`).Want(200)
		s.do("PUT", "/backends/ldap", admin, `{"host":"h.example.com","port":636,"protocol_security":"ldaps","user_base_dn":"dc=x","user_login_attribute":"uid","user_email_attribute":"mail"}`).Want(200)
		s.do("DELETE", "/users/"+bob, admin, "").Want(204)
		all := []string{"backends ldap", "groups " + group, "policies " + policy, "users " + ann, "users " + bob, "users/emails " + bob, "users/policies " + ann + "/" + policy}
		type entries = []string
		for i, c := range []struct {
			holds []string
			shown entries
		}{
			{[]string{}, entries{}},
			{[]string{"auth.audit.#", "auth.users.read", "confd.#", "auth.users.me.#"}, entries{}},
			{[]string{"auth.users." + ann + ".read"}, entries{all[3]}},
			{[]string{"auth.users.*.read"}, entries{all[3], all[4], all[5]}},
			{[]string{"auth.users.*.read", "!auth.users." + bob + ".#"}, entries{all[3]}},
			{[]string{"auth.users.*.read", "auth.policies." + policy + ".read"}, entries{all[2], all[3], all[4], all[5], all[6]}},
			{[]string{"auth.users.*.read", "auth.policies.Slug_1.read"}, entries{all[2], all[3], all[4], all[5], all[6]}},
			{[]string{"auth.users.*.read", "auth.policies.slug_1.read"}, entries{all[3], all[4], all[5]}},
			{[]string{"auth.users.*.read", "auth.policies.Slug%1.read", "auth.policies.SlugX1.read"}, entries{all[3], all[4], all[5]}},
			{[]string{"auth.policies.*.read", "!auth.policies.Slug_1.read", "auth.users.#"}, entries{all[3], all[4], all[5]}},
			{[]string{"auth.policies." + policy + ".read", "!auth.policies.Slug_1.read"}, entries{}},
			{[]string{"auth.policies." + ann + ".read", "auth.groups." + policy + ".read"}, entries{}}, // the key of another kind of object does not count
			{[]string{"auth.policies.*.read"}, entries{all[2]}},
			{[]string{"*.groups.*.read"}, entries{all[1]}},
			{[]string{"auth.#"}, all},
			{[]string{"auth.#", "!auth.tenants.x"}, slices.Clone(all[1:])}, // an entry that no operation reads needs all of the service
			{[]string{"#"}, all},

			{[]string{"#", "!confd.users.17.read"}, all},
			{[]string{"!auth.users.read"}, entries{}},
		} {
			_, _, token := s.account(admin, "reader"+string(rune('a'+i)), c.holds...)
			about := func(query string) (got []string, l resttest.List) {
				l = s.do("GET", "/audit"+query, token, "").List()
				for _, item := range l.Items {
					if key := item["resource"].(string) + " " + item["object"].(string); slices.Contains(all, key) {
						got = append(got, key)
					}
				}
				slices.Sort(got)
				return slices.Compact(got), l
			}
			slices.Sort(c.shown)
			got, everything := about("")
			if !slices.Equal(got, c.shown) {
				t.Errorf("%q: %q are shown, want %q", c.holds, got, c.shown)
			}
			for _, key := range all {
				for _, query := range []string{"?service=auth&object=", "?search=", "?limit=1&object="} {
					_, object, _ := strings.Cut(key, " ")
					if got, l := about(query + object); len(got) > len(c.shown) || l.Total != everything.Total || len(c.shown) == 0 && l.Filtered > 0 {
						t.Errorf("%q: %s: %q of %d", c.holds, query+object, got, l.Total)
					}
				}
			}
		}
	})
}

// A search of the audit finds what was done by the words in which people read it, and by the names that programs know.
func TestAuditIsSearchedInWords(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user, policy := s.do("POST", "/users", admin, `{"username":"ann"}`).Text("uuid"), s.do("POST", "/policies", admin, `{"name":"p"}`).Text("uuid")
		s.do("PUT", "/users/"+user+"/policies/"+policy, admin, "").Want(204)
		s.do("PUT", "/users/"+user, admin, `{"firstname":"Ann"}`).Want(200)
		for search, want := range map[string][]string{
			"update a user":       {"update_user"},
			"UPDATE  USER":        {"update_user"},
			"user update":         nil, // not in this order
			"associate with a po": {"associate_user_policy"},
			"associate_user":      {"associate_user_policy"},
			"create a policy":     {"create_policy"},
			"update a us%":        nil,
		} {
			l := s.do("GET", "/audit?search="+url.QueryEscape(search), admin, "").List()
			var got []string
			for _, item := range l.Items {
				got = append(got, item["action"].(string))
			}
			if !slices.Equal(got, want) || l.Filtered != len(want) {
				t.Errorf("%q finds %q, %d in all, want %q", search, got, l.Filtered, want)
			}
		}
	})
}

// An object's history moves with its tenant. The history of a deleted tenant is visible only in the master tenant.
func TestAuditFollowsTheTenant(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		a, b := s.tenant(admin, "a"), s.tenant(admin, "b")
		a1 := s.tenant(admin, "a1", resttest.In(a))
		lordA, lordB := s.lord(admin, a, "lord-a"), s.lord(admin, b, "lord-b")
		user := s.do("POST", "/users", admin, `{"username":"ann"}`, resttest.In(a1)).Text("uuid")
		s.do("PUT", "/users/"+user, lordA, `{"firstname":"Ann"}`).Want(200)  // acting in a
		s.do("PUT", "/users/"+user, admin, `{"firstname":"Anna"}`).Want(200) // and in the master tenant
		seen := func(token, object string) int {
			t.Helper()
			return s.do("GET", "/audit?object="+object, token, "").List().Filtered
		}
		check := func(object string, ofA, ofB, ofAdmin int) {
			t.Helper()
			if x, y, z := seen(lordA, object), seen(lordB, object), seen(admin, object); x != ofA || y != ofB || z != ofAdmin {
				t.Errorf("%d, %d and %d entries, want %d, %d and %d", x, y, z, ofA, ofB, ofAdmin)
			}
		}
		check(user, 3, 0, 3)
		check(a1, 1, 0, 1)
		s.do("PUT", move(a1, b), admin, "").Want(204)
		check(user, 0, 3, 3)
		check(a1, 0, 2, 2)
		s.do("DELETE", "/tenants/"+a1, lordB, "").Want(204)
		check(user, 0, 0, 3)
		check(a1, 0, 0, 3)
		s.do("POST", "/tenants", lordB, `{"uuid":"`+a1+`"}`).Want(409)
		check(a1, 0, 0, 3)
	})
}
