package authsvc_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

// A UUID that a tenant or a user had is refused with the reason, whether the caller can see whose it was or not.
func TestAUsedUUIDSaysWhatItIs(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		gone, live := s.tenant(admin, "gone"), s.tenant(admin, "live")
		user := s.do("POST", "/users", admin, `{"username":"ada"}`).Want(200).Text("uuid")
		s.do("DELETE", "/tenants/"+gone, admin, "").Want(204)
		lord := s.lord(admin, live, "lord")
		var said []string
		for _, id := range []string{gone, strings.ToUpper(gone), live, user} {
			for _, path := range []string{"/tenants", "/users"} {
				for _, token := range []string{admin, lord} {
					a := s.do("POST", path, token, `{"uuid":"`+id+`"}`).Refused(409, "conflict")
					said = append(said, a.Text("message"))
				}
			}
		}
		if said = slices.Compact(said); len(said) != 1 || !strings.Contains(said[0], "was before it was deleted") {
			t.Errorf("refused with %q", said)
		}
		s.do("POST", "/tenants", admin, `{"uuid":"00000000-0000-4000-8000-00000000ABCD"}`).Want(200)
	})
}

// The administrators' policy is shown where the administrators are, and in no other tenant.
func TestTheAdministratorsPolicyIsTheMasterTenants(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		s.configure(gifts)
		admin := s.admin()
		acme := s.tenant(admin, "acme")
		lord := s.lord(admin, acme, "lord")
		policy := s.do("GET", "/policies/"+authsvc.AdministratorPolicy, admin, "").Want(200).Text("uuid")
		for name, list := range map[string][]string{
			"by header": s.do("GET", "/policies", admin, "", resttest.In(acme)).List().Column("slug"),
			"its own":   s.do("GET", "/policies?recurse=true", lord, "").List().Column("slug"),
		} {
			if slices.Contains(list, authsvc.AdministratorPolicy) || !slices.Contains(list, "helpdesk") {
				t.Errorf("%s: a tenant sees the policies %q", name, list)
			}
		}
		for _, named := range []string{policy, authsvc.AdministratorPolicy} {
			s.do("GET", "/policies/"+named, lord, "").Want(404)
		}
		if list := s.do("GET", "/policies", admin, "").List().Column("slug"); !slices.Contains(list, authsvc.AdministratorPolicy) {
			t.Errorf("the master tenant sees the policies %q", list)
		}
	})
}

// A tenant renames a configured group, and chooses its users and further policies. It neither deletes it nor takes away what is configured, and is
// told why. A tenant that is made later gets the group by its slug.
func TestConfiguredGroupsAreTheTenants(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		s.configure(gifts)
		admin := s.admin()
		helpdesk := s.do("GET", "/policies/helpdesk", admin, "").Want(200).Text("uuid")
		group := s.do("GET", "/groups?slug=helpers&read_only=false", admin, "").List().Column("uuid")[0]
		s.do("PUT", "/groups/"+group, admin, `{"name":"People who help"}`).Want(200)
		for path, says := range map[string]string{"": "tenant_default_groups", "/policies/" + helpdesk: "configuration"} {
			if a := s.do("DELETE", "/groups/"+group+path, admin, "").Refused(403, "forbidden-group"); !strings.Contains(a.Text("message"), says) {
				t.Errorf("refused with %s", a.Body)
			}
		}
		s.configure(gifts)
		later := s.do("GET", "/groups?slug=helpers", admin, "", resttest.In(s.tenant(admin, "later"))).List()
		if again := s.do("GET", "/groups/"+group, admin, "").Want(200); again.Text("name") != "People who help" || len(later.Items) != 1 || later.Items[0]["name"] != "helpers" {
			t.Errorf("the group is %s, a later tenant's %v", again.Body, later.Items)
		}
	})
}

// A client may send a user back with what it has made the user with; anything else is refused, and nothing is changed.
func TestPasswordAndAddressAreSentBack(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		const made = `"username":"ada","password":"secret of ada","email_address":"ada@example.com"`
		ada := s.do("POST", "/users", admin, "{"+made+"}").Want(200).Text("uuid")
		bare := s.do("POST", "/users", admin, `{"username":"bare"}`).Want(200).Text("uuid")
		_, _, clerk := s.account(admin, "clerk", "auth.users.*.read", "auth.users.*.update")
		lord := s.lord(admin, s.tenant(admin, "acme"), "lord")
		mighty := s.do("GET", "/users?username=admin", admin, "").List().Column("uuid")[0]
		token := s.login("ada", "secret of ada")

		a := s.do("PUT", "/users/"+ada, admin, `{"firstname":"Ada",`+made+`}`).Want(200)
		if a.Text("firstname") != "Ada" || strings.Contains(a.Body, "secret of ada") || strings.Contains(a.Body, "email_address") {
			t.Errorf("changed to %s", a.Body)
		}
		s.do("PUT", "/users/"+bare, admin, `{"password":null,"email_address":null}`).Want(200)
		if audit := s.do("GET", "/audit?object="+ada, admin, "").Want(200); strings.Contains(audit.Body, "secret of ada") {
			t.Errorf("the audit has the password: %s", audit.Body)
		}
		for body, says := range map[string]string{
			`{"password":"another"}`:                   "/users/{user_uuid}/password",
			`{"password":null}`:                        "/users/{user_uuid}/password",
			`{"email_address":"other@example.com"}`:    "/users/{user_uuid}/emails",
			`{"email_address":null}`:                   "/users/{user_uuid}/emails",
			`{"firstname":"Eve","password":"another"}`: "/users/{user_uuid}/password",
		} {
			if a := s.do("PUT", "/users/"+ada, admin, body).Refused(400, "invalid-data"); !strings.Contains(a.Body, says) {
				t.Errorf("%s: %s", body, a.Body)
			}
		}
		// Nobody tries passwords on who is mightier, or not there for them.
		for _, password := range []string{adminPassword, "another"} {
			s.do("PUT", "/users/"+mighty, clerk, `{"password":"`+password+`"}`).Want(403)
			s.do("PUT", "/users/"+ada, lord, `{"password":"`+password+`"}`).Want(404)
		}
		s.lives(token, true)
		if a := s.do("GET", "/users/"+ada, admin, ""); a.Text("firstname") != "Ada" {
			t.Errorf("the user is %s", a.Body)
		}
		// A wrong one counts as a guess.
		s.freeze()
		s.settle(authsvc.Settings{Passwords: cheapest.Passwords, Limits: authsvc.Limits{FreeGuesses: 2, NetworkGuesses: lenient.NetworkGuesses}})
		s.do("PUT", "/users/"+ada, admin, `{"password":"another"}`).Want(400)
		s.do("PUT", "/users/"+ada, admin, `{"password":"secret of ada"}`).Want(429)
	})
}

// A tenant's contact is of the tenant, of one below, or of one above it that the caller sees.
func TestContactOfATenantAbove(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		reseller := s.tenant(admin, "reseller")
		customer := s.tenant(admin, "customer", resttest.In(reseller))
		aside := s.tenant(admin, "aside")
		lord, under := s.lord(admin, reseller, "lord"), s.lord(admin, customer, "under")
		user := func(name, tenant string) string {
			return s.do("POST", "/users", admin, `{"username":"`+name+`"}`, resttest.In(tenant)).Want(200).Text("uuid")
		}
		boss := s.do("GET", "/users?username=admin", admin, "").List().Column("uuid")[0]
		above, own, other := user("above", reseller), user("own", customer), user("other", aside)
		for _, c := range []struct {
			name, token, contact, in string
			status                   int
		}{
			{"the master tenant's", admin, boss, "", 200},
			{"the master tenant's, by header", admin, boss, customer, 200},
			{"the reseller's", admin, above, "", 200},
			{"the reseller's, by the reseller", lord, above, customer, 200},
			{"one's own", under, own, "", 200},
			{"of a tenant aside", admin, other, "", 400},
			{"whom the reseller does not see", lord, boss, "", 400},
			{"whom the customer does not see", under, above, "", 400},
		} {
			var in []resttest.Edit
			if c.in != "" {
				in = append(in, resttest.In(c.in))
			}
			a := s.do("PUT", "/tenants/"+customer, c.token, `{"contact":"`+c.contact+`"}`, in...).Want(c.status)
			if c.status == 200 && a.Text("contact") != c.contact {
				t.Errorf("%s: %s", c.name, a.Body)
			}
		}
		s.do("POST", "/tenants", lord, `{"name":"new","contact":"`+above+`"}`).Want(200)
		s.do("POST", "/tenants", lord, `{"name":"newer","contact":"`+boss+`"}`).Want(400)
		s.do("POST", "/tenants", admin, `{"name":"newest","contact":"`+boss+`"}`, resttest.In(reseller)).Want(200)
	})
}

// A path that names nothing is refused before its body, whatever the operation is.
func TestPathsAreRefusedBeforeBodies(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		under := s.lord(admin, s.tenant(admin, "acme"), "lord")
		boss := s.do("GET", "/users?username=admin", admin, "").List().Column("uuid")[0]
		tried := 0
		for _, op := range s.svc.REST().Operations {
			if op.Body == nil || !strings.Contains(op.Path, "{") || strings.HasPrefix(op.Path, "/external/") { // a type that nobody knows is made
				continue
			}
			tried++
			for _, body := range []string{"{", "[]", `{"name":5,"emails":5,"users":5,"password":5}`} {
				s.do(op.Method, pathParameter.ReplaceAllString(op.Path, nobody), admin, body).Want(404)
				if strings.HasPrefix(op.Path, "/users/") || strings.HasPrefix(op.Path, "/admin/") {
					s.do(op.Method, pathParameter.ReplaceAllString(op.Path, boss), under, body).Want(404)
				}
			}
		}
		if tried < 8 {
			t.Errorf("%d operations", tried)
		}
		s.do("PATCH", "/config", under, "{").Want(403)
	})
}

// What takes a body says so when there is none, and a refresh token of an unknown user is an unknown user's.
func TestWithoutABodyOrAUser(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		s.do("POST", "/token", "", "", resttest.Basic("admin", adminPassword)).Refused(400, "invalid-data")
		ada := s.do("POST", "/users", admin, `{"username":"ada"}`).Want(200).Text("uuid")
		s.do("DELETE", "/users/"+nobody+"/tokens/phone", admin, "").Refused(404, "unknown-user")
		s.do("DELETE", "/users/"+ada+"/tokens/phone", admin, "").Refused(404, "cannot-find-refresh-token-matching-client-id")
	})
}
