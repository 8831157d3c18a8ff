package authsvc_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A dry run of a delete says what goes with a tenant and who is logged in there, and deletes nothing. The delete itself has each object in the
// audit.
func TestDeletingATenantTellsWhatGoes(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		acme := s.tenant(admin, "acme")
		in := resttest.In(acme)
		var users []string
		for i := range 3 {
			users = append(users, s.do("POST", "/users", admin, fmt.Sprintf(`{"username":"user%d","password":"secret"}`, i), in).Want(200).Text("uuid"))
		}
		group := s.do("POST", "/groups", admin, `{"name":"g"}`, in).Want(200).Text("uuid")
		policy := s.do("POST", "/policies", admin, `{"name":"p","acl":["confd.users.read"]}`, in).Want(200).Text("uuid")
		s.do("PUT", "/users/"+users[0]+"/policies/"+policy, admin, "").Want(204)
		live := s.login("user1", "secret")
		s.do("POST", "/token", "", `{"access_type":"offline","client_id":"phone"}`, resttest.Basic("user1", "secret")).Want(200)
		s.do("PUT", "/backends/ldap", admin, `{"host":"h.example.com","port":389,"user_base_dn":"dc=x","user_login_attribute":"uid","user_email_attribute":"mail"}`, in).Want(200)
		_, _, clerk := s.account(admin, "clerk", "auth.tenants.#")

		path := "/tenants/" + acme
		a := s.do("DELETE", path+"?dry_run=True", admin, "").Want(200)
		var got []string
		for _, kind := range a.JSON("objects").([]any) {
			k := kind.(map[string]any)
			got = append(got, fmt.Sprint(k["service"], " ", k["resource"], " ", k["count"]))
		}
		if want := []string{"auth users 3", "auth groups 1", "auth policies 1", "auth tokens 1", "auth backends/ldap 1"}; !slices.Equal(got, want) || a.Text("name") != "acme" || a.JSON("sessions") != 2.0 {
			t.Errorf("%s\nwant %q", a.Body, want)
		}
		if who := fmt.Sprint(a.JSON("logged_in")); who != fmt.Sprintf("[map[sessions:2 user_uuid:%s username:user1]]", users[1]) {
			t.Errorf("logged in is %s", who)
		}
		// It is refused as the delete is, also to whom a denial names something in the tenant, by any of its keys.
		for i, denied := range []string{"users." + users[1], "users.*", "groups." + group, "policies." + policy, "policies.p", "backends.ldap", "#"} {
			_, _, but := s.account(admin, fmt.Sprint("but", i), "#", "!auth."+denied+".delete")
			s.do("DELETE", path+"?dry_run=true", but, "").Want(403)
			s.do("DELETE", path, but, "").Want(403)
		}
		s.do("DELETE", path+"?dry_run=true", clerk, "").Want(403)
		s.do("DELETE", path+"?dry_run=perhaps", admin, "").Want(400)
		s.do("DELETE", path+"?dry_run=true", admin, "", func(r *http.Request) { r.Header.Set("If-Match", `"other"`) }).Want(412)
		below := s.tenant(admin, "below", in)
		s.do("DELETE", path+"?dry_run=true", admin, "").Refused(400, "tenant-has-children")
		s.do("DELETE", "/tenants/"+below+"?dry_run=false", admin, "").Want(204)
		s.lives(live, true)
		s.do("GET", path, admin, "").Want(200)

		s.do("DELETE", path, admin, "").Want(204)
		s.lives(live, false)
		for resource, want := range map[string][]string{"users": users, "groups": {group}, "policies": {policy}, "tenants": {acme}, "backends": {"ldap"}} {
			var gone []string
			for _, item := range s.do("GET", "/audit?action=delete_tenant&resource="+resource, admin, "").List().Items {
				if item["before"] != nil && item["after"] == nil && item["tenant_uuid"] == acme {
					gone = append(gone, item["object"].(string))
				}
			}
			for _, object := range want {
				if !slices.Contains(gone, object) {
					t.Errorf("the audit does not have that %s %s was deleted: %q", resource, object, gone)
				}
			}
		}
	})
}

// A tenant that has much goes in several transactions, between which others write. If that is interrupted, the tenant is there with what is
// left, and the next DELETE goes on. Who may not delete it deletes nothing of it.
func TestLargeTenantGoesInPieces(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newServer(t, storetest.Watch(db, func(sql string, _ []any) {
			if strings.HasPrefix(sql, "DELETE FROM auth_tenant WHERE") {
				cancel()
			}
		}))
		admin := s.admin()
		acme := s.tenant(admin, "acme")
		const n = 2*crud.ErasedAtOnce + 1
		for i := range n {
			s.do("POST", "/users", admin, fmt.Sprintf(`{"username":"user%d"}`, i), resttest.In(acme)).Want(200)
		}
		policy := s.do("POST", "/policies", admin, `{"name":"p","acl":["confd.users.read"]}`, resttest.In(acme)).Want(200).Text("uuid")
		s.do("PUT", "/users/"+s.do("GET", "/users?username=user0", admin, "", resttest.In(acme)).List().Column("uuid")[0]+"/policies/"+policy, admin, "").Want(204)
		s.do("POST", "/groups", admin, `{"name":"g"}`, resttest.In(acme)).Want(200)
		_, _, clerk := s.account(admin, "clerk", "auth.tenants.#")
		objects := func() string {
			return fmt.Sprint(s.do("DELETE", "/tenants/"+acme+"?dry_run=true", admin, "").Want(200).JSON("objects"))
		}
		all := objects()
		s.do("DELETE", "/tenants/"+acme, clerk, "").Want(403)
		s.do("DELETE", "/tenants/"+acme, admin, "", func(r *http.Request) { r.Header.Set("If-Match", `"other"`) }).Want(412)
		if left := objects(); left != all {
			t.Errorf("a refused delete leaves %s of %s", left, all)
		}
		if a := s.do("DELETE", "/tenants/"+acme, admin, "", func(r *http.Request) { *r = *r.WithContext(ctx) }); a.Status < 400 {
			t.Errorf("an interrupted delete: %d %s", a.Status, a.Body)
		}
		if left := objects(); left != "[]" {
			t.Errorf("interrupted before the last piece, it leaves %s", left)
		}
		s.do("DELETE", "/tenants/"+acme, admin, "").Want(204)
		s.do("GET", "/tenants/"+acme, admin, "").Want(404)
		for resource, want := range map[string]int{"users": n, "policies": 1, "groups": 2} { // one is the group of all users
			if gone := s.do("GET", "/audit?limit=1&action=delete_tenant&resource="+resource, admin, "").List().Filtered; gone != want {
				t.Errorf("the audit has %d of %d %s", gone, want, resource)
			}
		}
	})
}
