package authsvc_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
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
		s.do("PUT", "/groups/"+group+"/users/"+ann, admin, "").Want(204)
		s.do("PUT", "/users/"+bob+"/emails", admin, `{"emails":[{"address":"b@example.com","main":true}]}`).Want(200)
		s.do("PUT", "/backends/ldap", admin, `{"host":"h.example.com","port":636,"protocol_security":"ldaps","user_base_dn":"dc=x","user_login_attribute":"uid","user_email_attribute":"mail"}`).Want(200)
		s.do("DELETE", "/users/"+bob, admin, "").Want(204)
		all := []string{"backends ldap", "groups " + group, "policies " + policy, "users " + ann, "users " + bob, "users/emails " + bob, "users/policies " + ann + "/" + policy, "groups/users " + group + "/" + ann}
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
			{[]string{"auth.users.*.read", "auth.policies.*.read", "!auth.users." + ann + ".policies.read"}, entries{all[2], all[3], all[4], all[5]}},
			{[]string{"auth.users.*.read", "auth.groups.*.read"}, entries{all[1], all[3], all[4], all[5], all[7]}},
			{[]string{"auth.users.*.read", "auth.groups.*.read", "!auth.groups." + group + ".users.read"}, entries{all[1], all[3], all[4], all[5]}},
			{[]string{"auth.users.*.read", "auth.groups.*.read", "!auth.users." + ann + ".groups.read"}, entries{all[1], all[3], all[4], all[5]}},
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
			policy:                {"create_policy"},
			policy[:35]:           nil,
			"users/poli":          {"associate_user_policy"},
			"ann":                 {"create_user", "associate_user_policy", "update_user"},
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
		check(strings.ToUpper(user), 3, 0, 3)
		if l := s.do("GET", "/audit?about=auth/users/"+strings.ToUpper(user), admin, "").List(); l.Filtered != 3 {
			t.Errorf("by a UUID in capitals: %+v", l)
		}
		check(a1, 1, 0, 1)
		s.do("PUT", move(a1, b), admin, "").Want(204)
		check(user, 0, 3, 3)
		check(a1, 0, 2, 2)
		s.do("DELETE", "/tenants/"+a1, lordB, "").Want(204)
		check(user, 0, 0, 4)
		check(a1, 0, 0, 4) // with the group of all users, which has the same UUID
		s.do("POST", "/tenants", lordB, `{"uuid":"`+a1+`"}`).Want(409)
		check(a1, 0, 0, 4)
	})
}

// An entry names its actor to who may know them, and to nobody else. People find entries by the names that they see, of actors and objects.
func TestAuditNamesWhoAndWhat(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		acme := s.tenant(admin, "acme")
		lord := s.lord(admin, acme, "lord")
		user := s.do("POST", "/users", admin, `{"username":"Änne","email_address":"ae@example.com"}`, resttest.In(acme)).Want(200).Text("uuid")
		policy := s.do("POST", "/policies", lord, `{"name":"Reading mail"}`).Want(200).Text("uuid")
		s.do("PUT", "/users/"+user+"/policies/"+policy, lord, "").Want(204)
		s.do("PUT", "/users/"+user, lord, `{"username":"Berta"}`).Want(200)
		nameless := s.do("POST", "/users", admin, `{"email_address":"name@example.com","password":"secret"}`, resttest.In(acme)).Want(200).Text("uuid")
		all := s.do("POST", "/policies", lord, `{"name":"all","acl":["auth.#"]}`).Want(200).Text("uuid")
		s.do("PUT", "/users/"+nameless+"/policies/"+all, lord, "").Want(204)
		s.do("POST", "/groups", s.login("name@example.com", "secret"), `{"name":"Hers"}`).Want(200)
		_, _, clerk := s.account(admin, "clerk", "auth.audit.#", "auth.groups.*.read")

		column := func(token, query, name string) (out []any) {
			t.Helper()
			for _, item := range s.do("GET", "/audit?order=id&direction=asc&"+query, token, "", resttest.In(acme)).List().Items {
				out = append(out, item[name])
			}
			return out
		}
		for _, c := range []struct {
			name, token, query, column string
			want                       []any
		}{
			{"the administrator knows both", admin, "object=" + user, "actor_name", []any{"admin", "lord"}},
			{"the lord does not know who is above", lord, "object=" + user, "actor_name", []any{nil, "lord"}},
			{"one without a name", lord, "action=create_group", "actor_name", []any{"name@example.com"}},
			{"whom the reader may not read", clerk, "action=create_group", "actor_name", []any{nil}},
			{"a name before and after", lord, "search=anne", "action", []any{"create_user", "associate_user_policy", "update_user"}},
			{"a name after", lord, "search=BERTA", "action", []any{"update_user"}},
			{"the other of two", lord, "search=reading+mail", "action", []any{"create_policy", "associate_user_policy"}},
			{"an actor", admin, "search=name@ex", "action", []any{"create_group"}},
			{"an actor who is above, but a policy's name", lord, "search=admin", "action", []any{"associate_user_policy"}},
			{"an actor whom the reader may not read", clerk, "search=name@ex", "action", nil},
		} {
			if got := column(c.token, c.query, c.column); !slices.Equal(got, c.want) {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	})
}

// What is about an object is found by any of its keys: its parts, its associations, and what its groups were given.
func TestAuditIsAboutAnObject(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user, other := s.do("POST", "/users", admin, `{"username":"ann"}`).Text("uuid"), s.do("POST", "/users", admin, `{"username":"bob"}`).Text("uuid")
		group := s.do("POST", "/groups", admin, `{"name":"g"}`).Want(200).Text("uuid")
		policy := s.do("POST", "/policies", admin, `{"name":"p","slug":"slug_1"}`).Want(200).Text("uuid")
		s.do("PUT", "/groups/"+group+"/users/"+user, admin, "").Want(204)
		s.do("PUT", "/groups/"+group+"/policies/"+policy, admin, "").Want(204)
		s.do("PUT", "/users/"+user+"/emails", admin, `{"emails":[{"address":"a@example.com","main":true}]}`).Want(200)
		for about, want := range map[string][]string{
			"auth/users/" + user:          {"create_user", "create_group", "associate_group_user", "associate_group_policy", "update_user_emails"},
			"auth/users/" + other:         {"create_user"},
			"auth/groups/" + group:        {"create_group", "associate_group_user", "associate_group_policy"},
			"auth/policies/" + policy:     {"create_policy", "associate_group_policy"},
			"auth/policies/slug_1":        {"create_policy", "associate_group_policy"},
			"auth/policies/slug%251":      nil,
			"auth/users/" + user[:20]:     nil,
			"confd/users/" + user:         nil,
			"auth/policies/slug_1'%20OR1": nil,
		} {
			var got []string
			for _, item := range s.do("GET", "/audit?order=id&direction=asc&about="+about, admin, "").List().Items {
				got = append(got, item["action"].(string))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", about, got, want)
			}
		}
	})
}

// However long the audit is, a list counts a bounded number of entries.
func TestAuditCountsNoFurther(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		if _, err := db.Exec(t.Context(), `INSERT INTO audit (at, tenant_uuid, request_id, service, action, resource, object, names, said, about)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10100)
			SELECT now_utc(), (SELECT uuid FROM auth_tenant), '', 'auth', 'create_user', 'users', 'x', '', CASE WHEN i % 10 = 0 THEN 'tenth' ELSE 'other' END, '' FROM n`); err != nil {
			t.Fatal(err)
		}
		for query, want := range map[string]int{"": 10_000, "?order=at&direction=desc&limit=25": 10_000, "?limit=25&search=tenth": 1010, "?limit=25&object=x": 10_000, "?limit=25&search=e": 10_000} {
			if l := s.do("GET", "/audit"+query+map[bool]string{true: "?limit=25"}[query == ""], admin, "").List(); l.Total != 10_000 || l.Filtered != want || len(l.Items) != 25 {
				t.Errorf("%s: %d of %d, and %d items; want %d", query, l.Filtered, l.Total, len(l.Items), want)
			}
		}
	})
}

// However long the audit is, SQLite finds entries from indexes, and reads no others. PostgreSQL's plans depend on what it knows of the rows.
func TestAuditIsFoundByIndexes(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	var plans []string
	s := newServer(t, storetest.Watch(db, func(sql string, args []any) {
		if !slices.ContainsFunc([]string{"audit_search MATCH ", "request_id = ", "actor_uuid = "}, func(by string) bool { return strings.Contains(sql, by) }) {
			return
		}
		plan, err := store.Select[struct {
			ID, Parent, Notused int
			Detail              string
		}](t.Context(), db, "EXPLAIN QUERY PLAN "+sql, args...)
		if err != nil {
			t.Error(err)
		}
		for _, step := range plan {
			plans = append(plans, step.Detail)
		}
	}))
	admin := s.admin()
	s.do("POST", "/groups", admin, `{"name":"Night shift"}`).Want(200)
	for _, query := range []string{"search=night", "search=admin", "search=night+sh", "search=create+a+group", "about=auth/users/x", "about=confd/users/17", "request_id=x", "actor_uuid=" + uuid.NewString()} {
		plans = nil
		s.do("GET", "/audit?limit=10&recurse=true&"+query, admin, "").Want(200)
		read := func(how string) (n int) {
			for _, step := range plans {
				if step == how {
					n++
				}
			}
			return n
		}
		if len(plans) == 0 || read("SCAN audit") > read("CO-ROUTINE audit") { // of which each is read once, and has the page
			t.Errorf("%s: it reads the whole table:\n%s", query, strings.Join(plans, "\n"))
		}
	}
}
