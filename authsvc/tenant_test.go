package authsvc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
)

const nobody = "00000000-0000-4000-8000-000000000000"

// master returns the UUID of the master tenant.
func (s *server) master(admin string) string {
	s.t.Helper()
	return s.do("GET", "/tenants?name=master", admin, "").list(s.t).column("uuid")[0]
}

// lord creates an administrator of a tenant, and returns a token.
func (s *server) lord(admin, tenant, name string) string {
	s.t.Helper()
	user := s.do("POST", "/users", admin, `{"username":"`+name+`","password":"x"}`, in(tenant)).want(s.t, 200).text(s.t, "uuid")
	s.do("PUT", "/users/"+user+"/policies/ringfence_administrator", admin, "").want(s.t, 204)
	return s.login(name, "x")
}

func TestTenants(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		made := s.do("POST", "/tenants", admin, `{"name":"The Sandbox","phone":"+1 555","domain_names":["B.example.com","a.example.com"],"address":{"city":"Paris","zip_code":"75001"}}`).want(t, 200)
		uuid := made.text(t, "uuid")
		want := `{"uuid":"` + uuid + `","parent_uuid":"` + s.master(admin) + `","name":"The Sandbox","slug":"TheSandbox","phone":"+1 555","contact":null,` +
			`"default_authentication_method":"native","domain_names":["a.example.com","b.example.com"],` +
			`"address":{"line_1":null,"line_2":null,"city":"Paris","state":null,"country":null,"zip_code":"75001"}}`
		one := s.do("GET", "/tenants/"+uuid, admin, "").want(t, 200)
		if made.body != want || one.body != want {
			t.Errorf("made %s\nread %s\nwant %s", made.body, one.body, want)
		}
		contact := s.do("POST", "/users", admin, `{}`, in(uuid)).text(t, "uuid")
		changed := s.do("PUT", "/tenants/"+uuid, admin, `{"uuid":"`+nobody+`","parent_uuid":"`+nobody+`","slug":"other","contact":"`+contact+
			`","domain_names":["a.example.com","c.example.com"],"address":{"city":"Lyon"}}`, ifMatch(one.header.Get("ETag"))).want(t, 200)
		for path, want := range map[string]any{"uuid": uuid, "slug": "TheSandbox", "name": "The Sandbox", "phone": "+1 555", "contact": contact, "address.city": "Lyon"} {
			if got := changed.json(t, path); got != want {
				t.Errorf("%s is %v, want %v", path, got, want)
			}
		}
		s.do("PUT", "/tenants/"+uuid, admin, `{"phone":null}`, ifMatch(one.header.Get("ETag"))).want(t, 412)
		domains := s.do("GET", "/tenants/"+uuid+"/domains", admin, "").list(t)
		if domains.Total != 2 || !slices.Equal(domains.column("name"), []string{"a.example.com", "c.example.com"}) {
			t.Errorf("domains: %+v", domains)
		}
		// A slug that was given up is free, and so is one that nobody has asked for.
		second := s.do("POST", "/tenants", admin, `{"uuid":"`+strings.ToUpper("abcdef00-0000-4000-8000-000000000001")+`","name":"The Sandbox","domain_names":["b.example.com"]}`).want(t, 200)
		if second.text(t, "uuid") != "abcdef00-0000-4000-8000-000000000001" || second.text(t, "slug") == "TheSandbox" || len(second.text(t, "slug")) != 10 {
			t.Errorf("%s", second.body)
		}
		empty := s.do("POST", "/tenants", admin, `{}`, in(uuid)).want(t, 200)
		if empty.text(t, "parent_uuid") != uuid || empty.json(t, "name") != nil {
			t.Errorf("%s", empty.body)
		}
		if g := s.do("GET", "/groups", admin, "", in(uuid)).list(t); g.Total != 1 || g.Items[0]["system_managed"] != true {
			t.Errorf("groups of a new tenant: %+v", g)
		}
	})
}

func TestTenantsAreRefused(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		a := s.do("POST", "/tenants", admin, `{"name":"a","slug":"a","domain_names":["a.example.com"]}`).text(t, "uuid")
		b := s.tenant(admin, "b")
		theirs := s.do("POST", "/users", admin, `{}`, in(b)).text(t, "uuid")
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
				id := map[int]string{400: "invalid-data", 409: "conflict"}[c.status]
				refused := s.do(c.method, "/tenants"+c.path, admin, c.body).refused(t, c.status, id)
				if details, _ := refused.json(t, "details").(map[string]any); details[c.field] == nil {
					t.Errorf("%s is not named: %s", c.field, refused.body)
				}
				if strings.Contains(refused.body, b) {
					t.Errorf("another tenant is named: %s", refused.body)
				}
			})
		}
		for path, status := range map[string]int{"/tenants/" + b: 404, "/tenants/" + nobody: 404, "/tenants/junk": 404, "/tenants/" + b + "/domains": 404} {
			s.do("GET", path, lord, "").refused(t, status, "unknown-tenant")
		}
		s.do("PUT", "/tenants/"+b, lord, `{"name":"x"}`).refused(t, 404, "unknown-tenant")
		s.do("DELETE", "/tenants/"+b, lord, "").refused(t, 404, "unknown-tenant")
		if l := s.do("GET", "/tenants", lord, "").list(t); l.Total != 1 || l.column("uuid")[0] != a {
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
		user := s.do("POST", "/users", admin, `{"username":"strong"}`, in(a)).text(t, "uuid")
		policy := s.do("POST", "/policies", admin, `{"name":"strong","acl":["confd.#"]}`, in(a)).text(t, "uuid")
		s.do("PUT", "/users/"+user+"/policies/"+policy, admin, "").want(t, 204)
		_, _, weak := s.account(admin, "weak", "auth.tenants.#")
		for _, body := range []string{`{"default_authentication_method":"ldap"}`, `{"uuid":"` + b + `","default_authentication_method":"ldap"}`} {
			s.do("PUT", "/tenants/"+a, weak, body).lacks(t, "confd.#")
		}
		s.do("PUT", "/tenants/"+b, weak, `{"default_authentication_method":"ldap"}`).want(t, 200)
		s.do("PUT", "/tenants/"+a, weak, `{"name":"renamed"}`).want(t, 200)
	})
}

func TestDeleteTenant(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		a := s.tenant(admin, "a")
		a1 := s.do("POST", "/tenants", admin, `{"name":"a1","domain_names":["a1.example.com"]}`, in(a)).text(t, "uuid")
		lord, token := s.lord(admin, a, "lord"), s.lord(admin, a1, "gone")
		policy := s.do("POST", "/policies", admin, `{"name":"p"}`, in(a1)).text(t, "uuid")
		s.do("PUT", "/backends/ldap", admin, `{"host":"h.example.com","port":636,"protocol_security":"ldaps","user_base_dn":"dc=x","user_login_attribute":"uid","user_email_attribute":"mail"}`, in(a1)).want(t, 200)

		s.do("DELETE", "/tenants/"+a, lord, "").refused(t, 403, "deleting-own-tenant-forbidden")
		s.do("DELETE", "/tenants/"+a1, lord, "", in(a1)).refused(t, 403, "deleting-own-tenant-forbidden")
		s.do("DELETE", "/tenants/"+s.master(admin), admin, "").refused(t, 403, "deleting-own-tenant-forbidden")
		s.do("DELETE", "/tenants/"+a, admin, "").refused(t, 400, "tenant-has-children")
		s.do("GET", "/users", token, "").want(t, 200)
		_, _, clerk := s.account(admin, "clerk", "auth.tenants.#")
		s.do("DELETE", "/tenants/"+a1, clerk, "").lacks(t, "#") // its users hold more than the clerk

		s.do("DELETE", "/tenants/"+a1, lord, "").want(t, 204)
		s.do("GET", "/users", token, "").want(t, 401)
		s.do("GET", "/policies/"+policy, admin, "").want(t, 404)
		s.do("POST", "/token", "", "{}", basic("gone", "x")).want(t, 401)
		s.do("DELETE", "/tenants/"+a1, lord, "").refused(t, 404, "unknown-tenant")
		s.do("POST", "/users", admin, `{"username":"gone"}`).want(t, 200) // the name is free
		s.do("POST", "/tenants", admin, `{"uuid":"`+a1+`"}`).refused(t, 409, "conflict").json(t, "details.uuid")
		s.do("POST", "/tenants", admin, `{"domain_names":["a1.example.com"]}`).want(t, 200)
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
		a1 := s.tenant(admin, "a1", in(a))
		a11 := s.tenant(admin, "a11", in(a1))
		lordA, lordB, lordA1 := s.lord(admin, a, "lord-a"), s.lord(admin, b, "lord-b"), s.lord(admin, a1, "lord-a1")
		user := s.do("POST", "/users", admin, `{"username":"ann"}`, in(a11)).text(t, "uuid")

		sees := func(name, token string, want bool) {
			t.Helper()
			status := map[bool]int{true: 200, false: 404}[want]
			listed := slices.Contains(s.do("GET", "/users?recurse=true", token, "").list(t).column("uuid"), user)
			inTree := slices.Contains(s.do("GET", "/tenants", token, "").list(t).column("uuid"), a11)
			if got := s.do("GET", "/users/"+user, token, "").status; got != status || listed != want || inTree != want {
				t.Errorf("%s: %d, listed %t, the tenant %t; want %t", name, got, listed, inTree, want)
			}
			status = map[bool]int{true: 200, false: 401}[want]
			s.do("GET", "/users", token, "", in(a11)).want(t, status)
			check := map[bool]int{true: 204, false: 403}[want]
			s.do("HEAD", "/token/"+token+"?tenant="+a11, "", "").want(t, check)
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
			t.Run(c.name, func(t *testing.T) { s.do("PUT", move(c.tenant, c.parent), c.token, "").refused(t, c.status, c.id) })
		}
		s.do("PUT", move("junk", a), admin, "").want(t, 404)
		s.do("PUT", move(a, "junk"), admin, "").want(t, 404)
		s.do("PUT", move(a, b), admin, "", in(a1)).refused(t, 404, "unknown-tenant") // in a1's place, even the administrator

		s.do("PUT", move(a1, b), admin, "").want(t, 204)
		if got := s.do("GET", "/tenants/"+a1, admin, "").text(t, "parent_uuid"); got != b {
			t.Errorf("the parent is %s, want %s", got, b)
		}
		sees("above no more", lordA, false)
		sees("above now", lordB, true)
		sees("within still", lordA1, true)
		moves := s.do("GET", "/audit?action=move_tenant", admin, "").list(t)
		if moves.Total == 0 || moves.Filtered != 1 || moves.Items[0]["object"] != a1 ||
			fmt.Sprint(moves.Items[0]["before"], moves.Items[0]["after"]) != fmt.Sprintf("map[parent_uuid:%s uuid:%s] map[parent_uuid:%s uuid:%s]", a, a1, b, a1) {
			t.Errorf("the audit: %+v", moves.Items)
		}

		s.do("PUT", move(a1, b), admin, "").want(t, 204) // again, which changes nothing
		s.do("PUT", move(a11, b), lordB, "").want(t, 204)
		sees("above still", lordB, true)
		sees("beside now", lordA1, false)
		s.do("PUT", move(a1, a11), lordB, "").want(t, 204) // upside down, by way of b
		s.do("PUT", move(a11, a1), lordB, "").refused(t, 409, "conflict")
	})
}

// A move breaks no rule about what can be given to whom.
func TestMovesThatWouldTear(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		a, b := s.tenant(admin, "a"), s.tenant(admin, "b")
		low := s.tenant(admin, "low", in(a))
		lowest := s.tenant(admin, "lowest", in(low))
		create := func(collection, body, tenant string) string {
			return s.do("POST", "/"+collection, admin, body, in(tenant)).want(t, 200).text(t, "uuid")
		}
		user, group := create("users", `{}`, lowest), create("groups", `{"name":"g"}`, lowest)
		own := create("policies", `{"name":"own"}`, low)
		above, groupAbove := create("policies", `{"name":"above"}`, a), create("groups", `{"name":"above"}`, a)
		root := create("policies", `{"name":"root"}`, s.master(admin))
		for _, path := range []string{"/users/" + user + "/policies/" + own, "/users/" + user + "/policies/" + root, "/groups/" + group + "/policies/" + own} {
			s.do("PUT", path, admin, "").want(t, 204) // these move along, or stay above
		}
		for _, path := range []string{"/users/" + user + "/policies/" + above, "/groups/" + group + "/policies/" + above, "/groups/" + groupAbove + "/users/" + user} {
			s.do("PUT", path, admin, "").want(t, 204)
			s.do("PUT", move(low, b), admin, "").refused(t, 409, "conflict")
			s.do("PUT", move(lowest, low), admin, "").want(t, 204)              // stays below all that
			s.do("PUT", move(lowest, a), admin, "").refused(t, 409, "conflict") // what low has given it
			s.do("DELETE", path, admin, "").want(t, 204)
		}
		shared := create("policies", `{"name":"shared","slug":"OWN","shared":true}`, b)
		s.do("PUT", move(low, b), admin, "").refused(t, 409, "conflict")
		s.do("DELETE", "/policies/"+shared, admin, "").want(t, 204)
		s.do("PUT", move(low, b), admin, "").want(t, 204)
	})
}

// Two moves that together would make a circle: one of them succeeds.
func TestMovesAtOnce(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		a, b := s.tenant(admin, "a"), s.tenant(admin, "b")
		ways := []string{move(a, b), move(b, a)}
		if got := together(2, func(i int) answer { return s.do("PUT", ways[i], admin, "") }); got[204] != 1 || got[409] != 1 {
			t.Errorf("statuses %v", got)
		}
		if l := s.do("GET", "/tenants", admin, "").list(t); l.Total != 3 {
			t.Errorf("tenants: %+v", l)
		}
	})
}
