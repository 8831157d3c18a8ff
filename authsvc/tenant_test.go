package authsvc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

const nobody = "00000000-0000-4000-8000-000000000000"

// master returns the UUID of the master tenant.
func (s *server) master(admin string) string {
	s.t.Helper()
	return s.do("GET", "/tenants?name=master", admin, "").List().Column("uuid")[0]
}

// lord creates an administrator of a tenant, and returns a token.
func (s *server) lord(admin, tenant, name string) string {
	s.t.Helper()
	user := s.do("POST", "/users", admin, `{"username":"`+name+`","password":"x"}`, resttest.In(tenant)).Want(200).Text("uuid")
	s.do("PUT", "/users/"+user+"/policies/ringfence_administrator", admin, "").Want(204)
	return s.login(name, "x")
}

func TestTenants(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		made := s.do("POST", "/tenants", admin, `{"name":"The Sandbox","phone":"+1 555","domain_names":["B.example.com","a.example.com"],"address":{"city":"Paris","zip_code":"75001"}}`).Want(200)
		uuid := made.Text("uuid")
		want := `{"uuid":"` + uuid + `","parent_uuid":"` + s.master(admin) + `","name":"The Sandbox","slug":"TheSandbox","phone":"+1 555","contact":null,` +
			`"default_authentication_method":"native","domain_names":["a.example.com","b.example.com"],` +
			`"address":{"line_1":null,"line_2":null,"city":"Paris","state":null,"country":null,"zip_code":"75001"}}`
		one := s.do("GET", "/tenants/"+uuid, admin, "").Want(200)
		if made.Body != want || one.Body != want {
			t.Errorf("made %s\nread %s\nwant %s", made.Body, one.Body, want)
		}
		contact := s.do("POST", "/users", admin, `{}`, resttest.In(uuid)).Text("uuid")
		changed := s.do("PUT", "/tenants/"+uuid, admin, `{"uuid":"`+nobody+`","parent_uuid":"`+nobody+`","slug":"other","contact":"`+contact+
			`","domain_names":["a.example.com","c.example.com"],"address":{"city":"Lyon"}}`, resttest.IfMatch(one.Header.Get("ETag"))).Want(200)
		for path, want := range map[string]any{"uuid": uuid, "slug": "TheSandbox", "name": "The Sandbox", "phone": "+1 555", "contact": contact, "address.city": "Lyon"} {
			if got := changed.JSON(path); got != want {
				t.Errorf("%s is %v, want %v", path, got, want)
			}
		}
		s.do("PUT", "/tenants/"+uuid, admin, `{"phone":null}`, resttest.IfMatch(one.Header.Get("ETag"))).Want(412)
		// The first contact is one of the tenant above, and what was read can be sent back.
		above := s.do("POST", "/users", admin, `{}`).Text("uuid")
		led := s.do("POST", "/tenants", admin, `{"name":"Led","contact":"`+above+`"}`).Want(200)
		if kept := s.do("PUT", "/tenants/"+led.Text("uuid"), admin, led.Body).Want(200); kept.Text("contact") != above {
			t.Errorf("the contact is %s", kept.Body)
		}
		domains := s.do("GET", "/tenants/"+uuid+"/domains", admin, "").List()
		if domains.Total != 2 || !slices.Equal(domains.Column("name"), []string{"a.example.com", "c.example.com"}) {
			t.Errorf("domains: %+v", domains)
		}
		// A slug that was given up is free, and so is one that nobody has asked for.
		second := s.do("POST", "/tenants", admin, `{"uuid":"`+strings.ToUpper("abcdef00-0000-4000-8000-000000000001")+`","name":"The Sandbox","domain_names":["b.example.com"]}`).Want(200)
		if second.Text("uuid") != "abcdef00-0000-4000-8000-000000000001" || second.Text("slug") == "TheSandbox" || len(second.Text("slug")) != 10 {
			t.Errorf("%s", second.Body)
		}
		empty := s.do("POST", "/tenants", admin, `{}`, resttest.In(uuid)).Want(200)
		if empty.Text("parent_uuid") != uuid || empty.JSON("name") != nil {
			t.Errorf("%s", empty.Body)
		}
		if g := s.do("GET", "/groups", admin, "", resttest.In(uuid)).List(); g.Total != 1 || g.Items[0]["system_managed"] != true {
			t.Errorf("groups of a new tenant: %+v", g)
		}
	})
}

func TestTenantsAreRefused(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		a := s.do("POST", "/tenants", admin, `{"name":"a","slug":"a","domain_names":["a.example.com"]}`).Text("uuid")
		b := s.tenant(admin, "b")
		theirs := s.do("POST", "/users", admin, `{}`, resttest.In(b)).Text("uuid")
		lord := s.lord(admin, a, "lord")
		for name, c := range map[string]struct {
			method, path, body string
			status             int
			field              string
		}{
			"a slug that is taken":         {"POST", "", `{"slug":"a"}`, 409, "slug"},
			"a UUID that is taken":         {"POST", "", `{"uuid":"` + a + `"}`, 409, "uuid"},
			"a domain that is taken":       {"POST", "", `{"domain_names":["x.example.com","A.example.COM"]}`, 409, "domain_names"},
			"to take another's domain":     {"PUT", "/" + b, `{"domain_names":["a.example.com"]}`, 409, "domain_names"},
			"a domain twice":               {"POST", "", `{"domain_names":["x.example.com","X.example.com"]}`, 400, "domain_names"},
			"a domain with a space":        {"POST", "", `{"domain_names":["x example.com"]}`, 400, "domain_names"},
			"a domain of one word":         {"PUT", "/" + b, `{"domain_names":["localhost"]}`, 400, "domain_names"},
			"a domain with an empty word":  {"PUT", "/" + b, `{"domain_names":["a..example.com"]}`, 400, "domain_names"},
			"domains that are no list":     {"PUT", "/" + b, `{"domain_names":"a.example.com"}`, 400, "domain_names"},
			"a slug with a dash":           {"POST", "", `{"slug":"a-b"}`, 400, "slug"},
			"a slug of eleven":             {"POST", "", `{"slug":"abcdefghijk"}`, 400, "slug"},
			"an empty name":                {"PUT", "/" + b, `{"name":""}`, 400, "name"},
			"a UUID that is none":          {"POST", "", `{"uuid":"a"}`, 400, "uuid"},
			"a contact who is not":         {"POST", "", `{"contact":"` + nobody + `"}`, 400, "contact"},
			"another tenant's contact":     {"PUT", "/" + a, `{"contact":"` + theirs + `"}`, 400, "contact"},
			"another's, by another's UUID": {"PUT", "/" + a, `{"uuid":"` + b + `","contact":"` + theirs + `"}`, 400, "contact"},
			"an unknown method":            {"PUT", "/" + b, `{"default_authentication_method":"default"}`, 400, "default_authentication_method"},
			"an address that is a text":    {"PUT", "/" + b, `{"address":"Paris"}`, 400, "address"},
			"a line of an address":         {"PUT", "/" + b, `{"address":{"zip_code":"12345678901234567"}}`, 400, "address.zip_code"},
		} {
			t.Run(name, func(t *testing.T) {
				s := s.in(t)
				id := map[int]string{400: "invalid-data", 409: "conflict"}[c.status]
				refused := s.do(c.method, "/tenants"+c.path, admin, c.body).Refused(c.status, id)
				if details, _ := refused.JSON("details").(map[string]any); details[c.field] == nil {
					t.Errorf("%s is not named: %s", c.field, refused.Body)
				}
				if strings.Contains(refused.Body, b) {
					t.Errorf("another tenant is named: %s", refused.Body)
				}
			})
		}
		for path, status := range map[string]int{"/tenants/" + b: 404, "/tenants/" + nobody: 404, "/tenants/junk": 404, "/tenants/" + b + "/domains": 404} {
			s.do("GET", path, lord, "").Refused(status, "unknown-tenant")
		}
		s.do("PUT", "/tenants/"+b, lord, `{"name":"x"}`).Refused(404, "unknown-tenant")
		s.do("DELETE", "/tenants/"+b, lord, "").Refused(404, "unknown-tenant")
		if l := s.do("GET", "/tenants", lord, "").List(); l.Total != 1 || l.Column("uuid")[0] != a {
			t.Errorf("%+v", l)
		}
	})
}

// A caller who sets how the users of a tenant log in acts on those users, whatever UUID the body names.
func TestDefaultMethodIsGuarded(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		a, b := s.tenant(admin, "a"), s.tenant(admin, "b")
		user := s.do("POST", "/users", admin, `{"username":"strong"}`, resttest.In(a)).Text("uuid")
		policy := s.do("POST", "/policies", admin, `{"name":"strong","acl":["confd.#"]}`, resttest.In(a)).Text("uuid")
		s.do("PUT", "/users/"+user+"/policies/"+policy, admin, "").Want(204)
		_, _, weak := s.account(admin, "weak", "auth.tenants.#")
		for _, body := range []string{`{"default_authentication_method":"ldap"}`, `{"uuid":"` + b + `","default_authentication_method":"ldap"}`} {
			s.do("PUT", "/tenants/"+a, weak, body).Lacks("confd.#")
		}
		s.do("PUT", "/tenants/"+b, weak, `{"default_authentication_method":"ldap"}`).Want(200)
		s.do("PUT", "/tenants/"+a, weak, `{"name":"renamed"}`).Want(200)
	})
}

func TestDeleteTenant(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		a := s.tenant(admin, "a")
		a1 := s.do("POST", "/tenants", admin, `{"name":"a1","domain_names":["a1.example.com"]}`, resttest.In(a)).Text("uuid")
		lord, token := s.lord(admin, a, "lord"), s.lord(admin, a1, "gone")
		policy := s.do("POST", "/policies", admin, `{"name":"p"}`, resttest.In(a1)).Text("uuid")
		s.do("PUT", "/backends/ldap", admin, `{"host":"h.example.com","port":636,"protocol_security":"ldaps","user_base_dn":"dc=x","user_login_attribute":"uid","user_email_attribute":"mail"}`, resttest.In(a1)).Want(200)

		s.do("DELETE", "/tenants/"+a, lord, "").Refused(403, "deleting-own-tenant-forbidden")
		s.do("DELETE", "/tenants/"+a1, lord, "", resttest.In(a1)).Refused(403, "deleting-own-tenant-forbidden")
		s.do("DELETE", "/tenants/"+s.master(admin), admin, "").Refused(403, "deleting-own-tenant-forbidden")
		s.do("DELETE", "/tenants/"+a, admin, "").Refused(400, "tenant-has-children")
		s.do("GET", "/users", token, "").Want(200)
		_, _, clerk := s.account(admin, "clerk", "auth.tenants.#")
		s.do("DELETE", "/tenants/"+a1, clerk, "").Lacks("#") // its users hold more than the clerk

		s.do("DELETE", "/tenants/"+a1, lord, "").Want(204)
		s.do("GET", "/users", token, "").Want(401)
		s.do("GET", "/policies/"+policy, admin, "").Want(404)
		s.do("POST", "/token", "", "{}", resttest.Basic("gone", "x")).Want(401)
		s.do("DELETE", "/tenants/"+a1, lord, "").Refused(404, "unknown-tenant")
		s.do("POST", "/users", admin, `{"username":"gone"}`).Want(200) // the name is free
		s.do("POST", "/tenants", admin, `{"uuid":"`+a1+`"}`).Refused(409, "conflict").JSON("details.uuid")
		s.do("POST", "/tenants", admin, `{"domain_names":["a1.example.com"]}`).Want(200)
	})
}

// Each committed change of a tenant is told; a refused one is not.
func TestTenantChanged(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		want := func(times int64, change func()) {
			t.Helper()
			before := s.tenantChanges.Load()
			change()
			if got := s.tenantChanges.Load() - before; got != times {
				t.Errorf("told %d times, want %d", got, times)
			}
		}
		var a string
		want(1, func() { a = s.do("POST", "/tenants", admin, `{"name":"a","slug":"a"}`).Want(200).Text("uuid") })
		want(0, func() { s.do("POST", "/tenants", admin, `{"name":"b","slug":"a"}`).Refused(409, "conflict") })
		want(1, func() { s.do("PUT", "/tenants/"+a, admin, `{"name":"other"}`).Want(200) })
		b := s.tenant(admin, "b")
		want(1, func() { s.do("PUT", move(a, b), admin, "").Want(204) })
		want(0, func() { s.do("PUT", move(a, b), admin, "").Want(204) }) // it is there
		want(0, func() { s.do("PUT", move(b, a), admin, "").Want(409) })
		want(1, func() { s.do("DELETE", "/tenants/"+a, admin, "").Want(204) })
		want(0, func() { s.do("DELETE", "/tenants/"+a, admin, "").Want(404) })
	})
}

func move(tenant, parent string) string {
	return fmt.Sprintf("/tenants/%s/parent/%s", tenant, parent)
}

// A tenant is moved below another, with all tenants below it, and each token's next request sees that.
func TestMoveTenant(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		master := s.master(admin)
		a, b := s.tenant(admin, "a"), s.tenant(admin, "b")
		a1 := s.tenant(admin, "a1", resttest.In(a))
		a11 := s.tenant(admin, "a11", resttest.In(a1))
		lordA, lordB, lordA1 := s.lord(admin, a, "lord-a"), s.lord(admin, b, "lord-b"), s.lord(admin, a1, "lord-a1")
		user := s.do("POST", "/users", admin, `{"username":"ann"}`, resttest.In(a11)).Text("uuid")

		sees := func(name, token string, want bool) {
			t.Helper()
			status := map[bool]int{true: 200, false: 404}[want]
			listed := slices.Contains(s.do("GET", "/users?recurse=true", token, "").List().Column("uuid"), user)
			inTree := slices.Contains(s.do("GET", "/tenants", token, "").List().Column("uuid"), a11)
			if got := s.do("GET", "/users/"+user, token, "").Status; got != status || listed != want || inTree != want {
				t.Errorf("%s: %d, listed %t, the tenant %t; want %t", name, got, listed, inTree, want)
			}
			status = map[bool]int{true: 200, false: 401}[want]
			s.do("GET", "/users", token, "", resttest.In(a11)).Want(status)
			check := map[bool]int{true: 204, false: 403}[want]
			s.do("HEAD", "/token/"+token+"?tenant="+a11, "", "").Want(check)
		}
		sees("above, before", lordA, true)
		sees("beside, before", lordB, false)
		sees("within, before", lordA1, true)

		for _, c := range []struct {
			name, token, tenant, parent string
			status                      int
			id                          string
		}{
			{"below itself", admin, a, a, 409, "conflict"},
			{"below its child", admin, a, a1, 409, "conflict"},
			{"below its child's child", admin, a, a11, 409, "conflict"},
			{"the master", admin, master, a, 409, "conflict"},
			{"the master, below itself", admin, master, master, 409, "conflict"},
			{"one's own, below one's own", lordA, a, a1, 409, "conflict"},
			{"nothing", admin, nobody, a, 404, "unknown-tenant"},
			{"below nothing", admin, a, nobody, 404, "unknown-tenant"},
			{"out of reach", lordA, a1, b, 404, "unknown-tenant"},
			{"up and out of reach", lordA, a1, master, 404, "unknown-tenant"},
			{"one's own, out of reach", lordA, a, b, 404, "unknown-tenant"},
			{"into reach", lordA, b, a, 404, "unknown-tenant"},
			{"what is above", lordA1, a, a11, 404, "unknown-tenant"},
		} {
			t.Run(c.name, func(t *testing.T) { s.do("PUT", move(c.tenant, c.parent), c.token, "").For(t).Refused(c.status, c.id) })
		}
		s.do("PUT", move("junk", a), admin, "").Want(404)
		s.do("PUT", move(a, "junk"), admin, "").Want(404)
		s.do("PUT", move(a, b), admin, "", resttest.In(a1)).Refused(404, "unknown-tenant") // in a1's place, even the administrator

		s.do("PUT", move(a1, b), admin, "").Want(204)
		if got := s.do("GET", "/tenants/"+a1, admin, "").Text("parent_uuid"); got != b {
			t.Errorf("the parent is %s, want %s", got, b)
		}
		sees("above no more", lordA, false)
		sees("above now", lordB, true)
		sees("within still", lordA1, true)
		moves := s.do("GET", "/audit?action=move_tenant", admin, "").List()
		if moves.Total == 0 || moves.Filtered != 1 || moves.Items[0]["object"] != a1 ||
			fmt.Sprint(moves.Items[0]["before"], moves.Items[0]["after"]) != fmt.Sprintf("map[parent_uuid:%s uuid:%s] map[parent_uuid:%s uuid:%s]", a, a1, b, a1) {
			t.Errorf("the audit: %+v", moves.Items)
		}

		s.do("PUT", move(a1, b), admin, "").Want(204) // again, which changes nothing
		s.do("PUT", move(a11, b), lordB, "").Want(204)
		sees("above still", lordB, true)
		sees("beside now", lordA1, false)
		s.do("PUT", move(a1, a11), lordB, "").Want(204) // upside down, by way of b
		s.do("PUT", move(a11, a1), lordB, "").Refused(409, "conflict")
	})
}

// A move breaks no rule about what can be given to whom.
func TestMovesThatWouldTear(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		a, b := s.tenant(admin, "a"), s.tenant(admin, "b")
		low := s.tenant(admin, "low", resttest.In(a))
		lowest := s.tenant(admin, "lowest", resttest.In(low))
		create := func(collection, body, tenant string) string {
			return s.do("POST", "/"+collection, admin, body, resttest.In(tenant)).Want(200).Text("uuid")
		}
		user, group := create("users", `{}`, lowest), create("groups", `{"name":"g"}`, lowest)
		own := create("policies", `{"name":"own"}`, low)
		above, groupAbove := create("policies", `{"name":"above"}`, a), create("groups", `{"name":"above"}`, a)
		root := create("policies", `{"name":"root"}`, s.master(admin))
		for _, path := range []string{"/users/" + user + "/policies/" + own, "/users/" + user + "/policies/" + root, "/groups/" + group + "/policies/" + own} {
			s.do("PUT", path, admin, "").Want(204) // these move along, or stay above
		}
		for _, path := range []string{"/users/" + user + "/policies/" + above, "/groups/" + group + "/policies/" + above, "/groups/" + groupAbove + "/users/" + user} {
			s.do("PUT", path, admin, "").Want(204)
			s.do("PUT", move(low, b), admin, "").Refused(409, "conflict")
			s.do("PUT", move(lowest, low), admin, "").Want(204)              // stays below all that
			s.do("PUT", move(lowest, a), admin, "").Refused(409, "conflict") // what low has given it
			s.do("DELETE", path, admin, "").Want(204)
		}
		shared := create("policies", `{"name":"shared","slug":"OWN","shared":true}`, b)
		s.do("PUT", move(low, b), admin, "").Refused(409, "conflict")
		s.do("DELETE", "/policies/"+shared, admin, "").Want(204)
		s.do("PUT", move(low, b), admin, "").Want(204)
	})
}

// Two moves that together would make a circle: one of them succeeds.
func TestMovesAtOnce(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		a, b := s.tenant(admin, "a"), s.tenant(admin, "b")
		ways := []string{move(a, b), move(b, a)}
		if got := together(2, func(i int) resttest.Answer { return s.do("PUT", ways[i], admin, "") }); got[204] != 1 || got[409] != 1 {
			t.Errorf("statuses %v", got)
		}
		if l := s.do("GET", "/tenants", admin, "").List(); l.Total != 3 {
			t.Errorf("tenants: %+v", l)
		}
	})
}
