package authsvc_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

var gifts = authsvc.Configured{
	Policies: []authsvc.ConfiguredPolicy{
		{Slug: "own", ACL: []string{"auth.users.me.read", "confd.users.me.read"}},
		{Slug: "helpdesk", ACL: []string{"auth.users.#"}},
	},
	AllUsers: []string{"own"},
	Groups:   []authsvc.ConfiguredGroup{{Slug: "helpers", Policies: []string{"helpdesk"}}},
}

func (s *server) configure(c authsvc.Configured) {
	s.t.Helper()
	for range 2 { // the second changes nothing
		if err := s.svc.UseConfigured(s.t.Context(), c); err != nil {
			s.t.Fatal(err)
		}
	}
}

// holds returns what a token's user holds now, sorted.
func (s *server) holds(token string) string {
	s.t.Helper()
	list, _ := s.do("GET", "/token/"+token, "", "").Want(200).JSON("data.acl").([]any)
	var out []string
	for _, access := range list {
		out = append(out, fmt.Sprint(access))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// The configuration's policies apply to existing and new users, in every tenant, and end with it.
func TestConfigured(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		before := s.tenant(admin, "before")
		s.do("POST", "/users", admin, `{"username":"old","password":"secret of old"}`, resttest.In(before)).Want(200)
		live := s.login("old", "secret of old")
		s.configure(gifts)
		after := s.tenant(admin, "after")
		// A caller who may only create users creates them, whatever the operator gives those users.
		_, _, maker := s.account(admin, "maker", "auth.users.create")
		s.do("POST", "/users", maker, `{"username":"new","password":"secret of new"}`).Want(200)
		member := s.do("POST", "/users", admin, `{"username":"member","password":"secret of member"}`, resttest.In(after)).Want(200).Text("uuid")
		tokens := []string{live, s.login("new", "secret of new"), s.login("member", "secret of member")}
		all := func(want string) {
			t.Helper()
			for _, token := range tokens {
				if got := s.holds(token); got != want {
					t.Errorf("a user holds %q, want %q", got, want)
				}
			}
		}
		all("auth.users.me.read confd.users.me.read")
		if got := s.do("GET", "/groups", admin, "", resttest.In(after)).List().Column("name"); !slices.Contains(got, "wazo-all-users-tenant-"+after) || !slices.Contains(got, "helpers") {
			t.Errorf("a new tenant has %q", got)
		}

		// The API changes who is in a group, by the rule for all groups, and nothing else.
		helpers := s.do("GET", "/groups?name=helpers", admin, "", resttest.In(after)).List()
		group := helpers.Column("uuid")[0]
		if helpers.Items[0]["read_only"] != false || helpers.Items[0]["system_managed"] != false {
			t.Errorf("the group is %v", helpers.Items[0])
		}
		own := s.do("GET", "/policies/own", admin, "").Want(200)
		helpdesk := s.do("GET", "/policies/helpdesk", admin, "").Want(200).Text("uuid")
		for _, c := range []struct{ method, path, body string }{
			{"DELETE", "/groups/" + group, ""},
			{"DELETE", "/groups/" + group + "/policies/" + helpdesk, ""},
			{"DELETE", "/groups/" + after + "/policies/" + own.Text("uuid"), ""},
			{"PUT", "/policies/own", `{"acl":["#"]}`},
			{"DELETE", "/policies/own", ""},
			{"PUT", "/policies/own/acl/confd.x", ""},
			{"DELETE", "/policies/own/acl/confd.users.me.read", ""},
		} {
			s.do(c.method, c.path, admin, c.body).Want(403)
		}
		s.do("PUT", "/groups/"+group+"/users/"+member, maker, "").Lacks("auth.users.#")
		s.do("PUT", "/groups/"+group+"/users/"+member, admin, "").Want(204)
		if got := s.holds(tokens[2]); got != "auth.users.# auth.users.me.read confd.users.me.read" {
			t.Errorf("the member holds %q", got)
		}
		s.do("DELETE", "/groups/"+group+"/users/"+member, admin, "").Want(204)

		// A new configuration applies to live tokens; policies that it no longer has are removed, unless somebody was given them
		// by hand.
		s.do("PUT", "/users/"+member+"/policies/"+helpdesk, admin, "").Want(204)
		s.do("PUT", "/groups/"+group+"/users/"+member, admin, "").Want(204)
		s.configure(authsvc.Configured{Policies: []authsvc.ConfiguredPolicy{{Slug: "own", ACL: []string{"confd.z", "confd.a"}}}, AllUsers: []string{"own"}})
		if got := s.holds(tokens[2]); got != "auth.users.# confd.a confd.z" {
			t.Errorf("the member holds %q", got)
		}
		if got := fmt.Sprint(s.do("GET", "/policies/own", admin, "").JSON("acl")); got != "[confd.z confd.a]" {
			t.Errorf("the policy has %s", got)
		}
		s.do("DELETE", "/users/"+member+"/policies/"+helpdesk, admin, "").Want(204)
		if left := s.do("GET", "/groups/"+group+"/policies", admin, "").List(); left.Total != 0 {
			t.Errorf("the group still gives %v", left.Items)
		}
		s.do("PUT", "/groups/"+group, admin, `{"name":"the tenant's own"}`).Want(200)
		s.configure(authsvc.Configured{})
		all("")
		if left := s.do("GET", "/policies", admin, "").List().Column("slug"); slices.Contains(left, "own") || slices.Contains(left, "helpdesk") || len(left) != 2 {
			t.Errorf("these policies are left: %q", left)
		}
		if left := s.do("GET", "/groups?recurse=true", admin, "").List(); left.Total != 4 {
			t.Errorf("these groups are left: %v", left.Items)
		}
	})
}

// A tenant's own group or policy never gets what the operator gives to a configured one of the same name.
func TestConfiguredNamesThatAreTaken(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		acme := s.tenant(admin, "acme")
		user := s.do("POST", "/users", admin, `{"username":"planted","password":"secret of planted"}`, resttest.In(acme)).Want(200).Text("uuid")
		group := s.do("POST", "/groups", admin, `{"name":"HELPERS"}`, resttest.In(acme)).Want(200).Text("uuid")
		s.do("PUT", "/groups/"+group+"/users/"+user, admin, "").Want(204)
		s.do("POST", "/policies", admin, `{"name":"own","acl":["confd.planted"]}`, resttest.In(acme)).Want(200)
		s.configure(gifts)
		if got := s.holds(s.login("planted", "secret of planted")); got != "auth.users.me.read confd.users.me.read" {
			t.Errorf("the member of a planted group holds %q", got)
		}
		// In the master tenant the operator must decide.
		s.do("POST", "/policies", admin, `{"name":"Taken","acl":["confd.x"]}`).Want(200)
		taken := gifts
		taken.Policies = append(slices.Clone(gifts.Policies), authsvc.ConfiguredPolicy{Slug: "taken", ACL: []string{"#"}})
		if err := s.svc.UseConfigured(t.Context(), taken); err == nil || !strings.Contains(err.Error(), "a policy of its own that is called taken") {
			t.Errorf("%v", err)
		}
		// The configuration must leave an administrator, too.
		denial := authsvc.Configured{Policies: []authsvc.ConfiguredPolicy{{Slug: "no", ACL: []string{"!confd.x"}}}, AllUsers: []string{"no"}}
		if err := s.svc.UseConfigured(t.Context(), denial); err == nil || !strings.Contains(err.Error(), "nobody who may do everything") {
			t.Errorf("%v", err)
		}
		if got := s.holds(admin); got != "# auth.users.me.read confd.users.me.read" {
			t.Errorf("a refused configuration has changed what the administrator holds: %q", got)
		}
	})
}

// Any number of nodes may start at once.
func TestConfiguredByManyNodes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		s.tenant(s.admin(), "acme")
		errs := make([]error, 6)
		var all sync.WaitGroup
		for i := range errs {
			node := newNode(t, db, nil)
			all.Go(func() { errs[i] = node.svc.UseConfigured(t.Context(), gifts) })
		}
		all.Wait()
		for _, err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
		for sql, want := range map[string]int{
			`SELECT count(*) FROM auth_policy`: 3, `SELECT count(*) FROM auth_group`: 4, `SELECT count(*) FROM auth_group_policy WHERE config_managed`: 4,
		} {
			if n, err := store.Get[int](t.Context(), db, sql); err != nil || n != want {
				t.Errorf("%s: %d, want %d, %v", sql, n, want, err)
			}
		}
	})
}

// The default policy gives no rights over others, and no way to give any.
func TestOwnAccount(t *testing.T) {
	for _, access := range authsvc.OwnAccount() {
		if words := strings.Split(access, "."); len(words) < 4 || words[1] != "users" || words[2] != "me" || slices.Contains([]string{"update", "policies", "groups", "emails"}, words[3]) {
			t.Errorf("%s is not about one's own account", access)
		}
	}
	for _, bad := range []authsvc.Configured{
		{Policies: []authsvc.ConfiguredPolicy{{Slug: "a b"}}},
		{Policies: []authsvc.ConfiguredPolicy{{Slug: "Me"}}},
		{Policies: []authsvc.ConfiguredPolicy{{Slug: "a"}, {Slug: "A"}}},
		{Policies: []authsvc.ConfiguredPolicy{{Slug: "a", ACL: []string{"confd.x#"}}}},
		{Policies: []authsvc.ConfiguredPolicy{{Slug: "Ringfence_Administrator"}}},
		{AllUsers: []string{"a"}},
		{Groups: []authsvc.ConfiguredGroup{{Slug: "a", Policies: []string{"b"}}}},
	} {
		if bad.Check() == nil {
			t.Errorf("taken: %+v", bad)
		}
	}
}
