package authsvc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/backend/ldap"
	"github.com/ringfence/ringfence/authsvc/backend/ldap/ldaptest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// directory returns the body of PUT /backends/ldap for a server, with more settings.
func directory(d *ldaptest.Server, more string) string {
	return fmt.Sprintf(`{"host":%q,"port":%d,"bind_dn":%q,"bind_password":%q,"user_base_dn":%q,"user_login_attribute":"uid","user_email_attribute":"mail"%s}`,
		ldaptest.Host, d.Port, ldaptest.ServiceDN, ldaptest.ServicePassword, ldaptest.PeopleDN, more)
}

// newLDAPServer is newServer, on which users log in with the database's passwords or with those of the directories.
func newLDAPServer(t *testing.T, db store.DB, d *ldaptest.Server) *server {
	t.Helper()
	s := newServer(t, db)
	s.svc.UseBackends([]authsvc.Backend{s.svc.DatabaseBackend(), s.svc.LDAPBackend(d.RootCAs)})
	return s
}

// acmeTenant makes the tenant acme, whose users log in with the directory, and returns its UUID.
func (s *server) acmeTenant(admin string, d *ldaptest.Server) string {
	s.t.Helper()
	acme := s.do("POST", "/tenants", admin, `{"name":"acme","slug":"acme"}`).Want(200).Text("uuid")
	s.do("PUT", "/backends/ldap", admin, directory(d, ""), resttest.In(acme)).Want(200)
	return acme
}

func TestLDAPLogin(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		d := ldaptest.Start(t)
		s := newLDAPServer(t, db, d)
		admin := s.admin()
		acme := s.do("POST", "/tenants", admin, `{"name":"acme","slug":"acme","domain_names":["Acme.example"]}`).Want(200).Text("uuid")
		other := s.do("POST", "/tenants", admin, `{"name":"other","slug":"other","domain_names":["other.example"]}`).Want(200).Text("uuid")
		user := func(tenant, body string) string {
			t.Helper()
			return s.do("POST", "/users", admin, body, resttest.In(tenant)).Want(200).Text("uuid")
		}
		alice := user(acme, `{"username":"al","email_address":"alice@example.test","authentication_method":"ldap"}`)
		bob := user(acme, `{"username":"bob@example.test"}`)
		user(acme, `{"username":"zoe@example.test","authentication_method":"native","password":"her own"}`)
		user(other, `{"username":"smith@example.test","authentication_method":"ldap"}`)
		user(acme, `{"username":"star@example.test","authentication_method":"ldap","enabled":false}`)
		user(acme, `{"username":"locked@example.test","authentication_method":"ldap"}`)

		const byDomain = `{"domain_name":"acme.EXAMPLE"}`
		s.fails(byDomain, "alice", ldaptest.Password("alice")) // no directory yet
		s.do("PUT", "/backends/ldap", admin, directory(d, ""), resttest.In(acme)).Want(200)

		logsIn := func(body, login, password, want string) string {
			t.Helper()
			a := s.do("POST", "/token", "", body, resttest.Basic(login, password)).Want(200)
			if got := a.Text("data.auth_id"); got != want {
				t.Fatalf("%s gets %s's token, want %s", login, got, want)
			}
			return a.Text("data.token")
		}
		for _, body := range []string{byDomain, `{"tenant_id":"` + acme + `"}`, `{"tenant_id":"` + strings.ToUpper(acme) + `"}`, `{"tenant_id":"acme"}`} {
			logsIn(body, "alice", ldaptest.Password("alice"), alice)
		}
		for name, c := range map[string][3]string{
			"wrong password":           {byDomain, "alice", "wrong"},
			"unknown login":            {byDomain, "nobody", ldaptest.Password("alice")},
			"no tenant":                {`{}`, "alice", ldaptest.Password("alice")},
			"unknown domain":           {`{"domain_name":"nowhere.example"}`, "alice", ldaptest.Password("alice")},
			"unknown tenant":           {`{"tenant_id":"nowhere"}`, "alice", ldaptest.Password("alice")},
			"tenant without directory": {`{"domain_name":"other.example"}`, "alice", ldaptest.Password("alice")},
			"user of another tenant":   {byDomain, "smith, j+r", ldaptest.Password("smith, j+r")},
			"native user":              {byDomain, "zoë", ldaptest.Password("zoë")},
			"default is native":        {byDomain, "bob", ldaptest.Password("bob")},
			"disabled here":            {byDomain, "*", ldaptest.Password("*")},
			"locked there":             {byDomain, "locked", ldaptest.Password("locked")},
			"no address":               {byDomain, "carol", ldaptest.Password("carol")},
			"several entries":          {byDomain, "twin", ldaptest.Password("twin1")},
			"ldap user's name here":    {byDomain, "al", ldaptest.Password("alice")},
			"filter as a login":        {byDomain, "alice)(uid=*", ldaptest.Password("alice")},
			"NUL":                      {byDomain, "alice", "a\x00b"},
		} {
			t.Run(name, func(t *testing.T) { s.in(t).fails(c[0], c[1], c[2]) })
		}
		// Her own password works with or without a tenant's name, which reveals nothing about her.
		s.do("POST", "/token", "", byDomain, resttest.Basic("zoe@example.test", "her own")).Want(200)

		// bob has the tenant's default method, and two addresses, one of them his.
		s.do("PUT", "/tenants/"+acme, admin, `{"default_authentication_method":"ldap"}`).Want(200)
		token := logsIn(byDomain, "bob", ldaptest.Password("bob"), bob)

		// Alice's entry stays hers when somebody else gets the address, and when she gets another.
		s.do("DELETE", "/users/"+bob, admin, "").Want(204)
		s.do("GET", "/token/"+token, "", "").Want(404)
		bob = user(acme, `{"username":"bob@example.test"}`)
		logsIn(byDomain, "bob", ldaptest.Password("bob"), bob)

		d.Stop()
		s.svc.UseDirectoryTimeout(time.Millisecond)
		s.undecided(byDomain, "alice", ldaptest.Password("alice"))
		s.undecided(byDomain, "nobody", "wrong") // which reveals nothing about known users
		s.undecided(byDomain, "zoe@example.test", "wrong")
		s.svc.UseDirectoryTimeout(ldap.Timeout)
		s.do("POST", "/token", "", byDomain, resttest.Basic("zoe@example.test", "her own")).Want(200)
		d.Restart()
		logsIn(byDomain, "alice", ldaptest.Password("alice"), alice)

		// StartTLS and ldaps, with the operator's authority; without it, no fallback to plain text.
		s.do("PUT", "/backends/ldap", admin, directory(d, `,"protocol_security":"tls"`), resttest.In(acme)).Want(200)
		logsIn(byDomain, "alice", ldaptest.Password("alice"), alice)
		s.svc.UseBackends(s.svc.DefaultBackends())
		s.undecided(byDomain, "alice", ldaptest.Password("alice"))
	})
}

func TestLDAPConfig(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		acme := s.tenant(admin, "acme")
		const base = `"host":"ldap.example","port":389,"user_base_dn":"ou=people,dc=example","user_login_attribute":"uid","user_email_attribute":"mail"`
		none := s.do("GET", "/backends/ldap", admin, "").Want(200)
		if strings.Count(none.Body, ":null") != 9 || none.Text("tenant_uuid") != s.master(admin) {
			t.Errorf("no directory is %s", none.Body)
		}
		s.do("DELETE", "/backends/ldap", admin, "").Want(204)
		s.do("DELETE", "/backends/ldap", admin, "", resttest.IfMatch(none.Header.Get("ETag"))).Want(204)
		s.do("DELETE", "/backends/ldap", admin, "", resttest.IfMatch(`"other"`)).Refused(412, "precondition-failed")
		s.do("PUT", "/backends/ldap", admin, `{`+base+`}`, resttest.IfMatch(`"other"`)).Refused(412, "precondition-failed")

		a := s.do("PUT", "/backends/ldap", admin, `{`+base+`}`, resttest.In(acme)).Want(200)
		want := `{"tenant_uuid":"` + acme + `","host":"ldap.example","port":389,"protocol_version":3,"protocol_security":null,"bind_dn":null,` +
			`"user_base_dn":"ou=people,dc=example","user_login_attribute":"uid","user_email_attribute":"mail","search_filters":null}`
		if a.Body != want {
			t.Errorf("got  %s\nwant %s", a.Body, want)
		}
		read := s.do("GET", "/backends/ldap", admin, "", resttest.In(acme)).Want(200)
		if read.Body != want || read.Header.Get("ETag") == "" {
			t.Errorf("read %s", read.Body)
		}
		if a := s.do("GET", "/backends/ldap", admin, "").Want(200); a.JSON("host") != nil {
			t.Errorf("another tenant reads %s", a.Body)
		}

		const secret = "hunter2"
		a = s.do("PUT", "/backends/ldap", admin, `{`+base+`,"protocol_security":"tls","bind_dn":"cn=x,dc=example","bind_password":"`+secret+`","search_filters":"(uid={username})"}`, resttest.In(acme)).Want(200)
		if strings.Contains(a.Body, secret) || strings.Contains(a.Body, "bind_password") {
			t.Errorf("the password is shown: %s", a.Body)
		}
		s.do("PUT", "/backends/ldap", admin, `{`+base+`}`, resttest.In(acme), resttest.IfMatch(read.Header.Get("ETag"))).Want(412)
		// Fields that are not sent stay, but the password is not sent to another server.
		kept := s.do("PUT", "/backends/ldap", admin, `{`+base+`,"protocol_version":3}`, resttest.In(acme)).Want(200)
		if kept.Body != a.Body {
			t.Errorf("kept %s\nof   %s", kept.Body, a.Body)
		}
		for name, body := range map[string]string{
			"host":     strings.Replace(base, "ldap.example", "evil.example", 1),
			"port":     strings.Replace(base, "389", "390", 1),
			"bind_dn":  base + `,"bind_dn":"cn=y,dc=example"`,
			"security": base + `,"protocol_security":""`,
		} {
			t.Run(name, func(t *testing.T) {
				s := s.in(t)
				s.do("PUT", "/backends/ldap", admin, `{`+body+`}`, resttest.In(acme)).Refused(400, "invalid-data").Text("details.bind_password.message")
				s.do("PUT", "/backends/ldap", admin, `{`+body+`,"bind_password":"again"}`, resttest.In(acme)).Want(200)
				s.do("PUT", "/backends/ldap", admin, `{`+base+`,"protocol_security":"tls","bind_dn":"cn=x,dc=example","bind_password":"`+secret+`"}`, resttest.In(acme)).Want(200)
			})
		}
		rows, err := store.Select[[]byte](t.Context(), s.db, `SELECT bind_password FROM auth_ldap_config`)
		if err != nil || len(rows) != 1 || strings.Contains(string(rows[0]), secret) {
			t.Errorf("stored: %q, %v", rows, err)
		}
		audit := s.do("GET", "/audit?resource=backends&recurse=true", admin, "").List()
		if audit.Total < 3 || strings.Contains(fmt.Sprint(audit), secret) {
			t.Errorf("audit: %v", audit)
		}
		s.do("DELETE", "/backends/ldap", admin, "", resttest.In(acme)).Want(204)
		if a := s.do("GET", "/backends/ldap", admin, "", resttest.In(acme)).Want(200); a.JSON("host") != nil {
			t.Errorf("a deleted directory: %s", a.Body)
		}

		for _, c := range []struct{ name, body, field string }{
			{"no host", `{"port":389,"user_base_dn":"dc=x","user_login_attribute":"uid","user_email_attribute":"mail"}`, "host"},
			{"URL as host", strings.Replace(`{`+base+`}`, "ldap.example", "ldap://x", 1), "host"},
			{"port", strings.Replace(`{`+base+`}`, "389", "0", 1), "port"},
			{"port as text", strings.Replace(`{`+base+`}`, "389", `"389"`, 1), "port"},
			{"version", `{` + base + `,"protocol_version":4}`, "protocol_version"},
			{"security", `{` + base + `,"protocol_security":"ssl"}`, "protocol_security"},
			{"version without StartTLS", `{` + base + `,"protocol_version":2,"protocol_security":"tls"}`, "protocol_version"},
			{"no DN", strings.Replace(`{`+base+`}`, "ou=people,dc=example", "people", 1), "user_base_dn"},
			{"attribute", strings.Replace(`{`+base+`}`, `"uid"`, `"u)(id"`, 1), "user_login_attribute"},
			{"filter", `{` + base + `,"search_filters":"(uid={username}"}`, "search_filters"},
			{"long bind_dn", `{` + base + `,"bind_dn":"` + strings.Repeat("x", 257) + `"}`, "bind_dn"},
			{"NUL in the password", `{` + base + `,"bind_password":"a\u0000"}`, "bind_password"},
		} {
			t.Run(c.name, func(t *testing.T) {
				s := s.in(t)
				s.do("PUT", "/backends/ldap", admin, c.body).Refused(400, "invalid-data").Text("details." + c.field + ".message")
			})
		}
	})
}

// A caller who chooses the directory chooses the passwords of its users, so they must hold no more.
func TestLDAPConfigActsOnItsUsers(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		const config = `{"host":"ldap.example","port":389,"user_base_dn":"dc=example","user_login_attribute":"uid","user_email_attribute":"mail"}`
		chief, _, _ := s.account(admin, "chief", "confd.#", "auth.users.me.read")
		_, _, clerk := s.account(admin, "clerk", "auth.backends.#", "auth.tenants.#", "auth.users.#")
		s.do("PUT", "/backends/ldap", clerk, config).Want(200)
		s.do("PUT", "/idp/ldap/users/"+chief, clerk, "").Lacks("confd.#")
		s.do("PUT", "/idp/ldap/users/"+chief, admin, "").Want(204)
		s.do("PUT", "/backends/ldap", clerk, config).Lacks("confd.#")
		s.do("DELETE", "/backends/ldap", clerk, "").Lacks("confd.#")
		s.do("PUT", "/backends/ldap", clerk, config, resttest.IfMatch(`"other"`)).Lacks("confd.#") // before anything is said of what there is
		s.do("PUT", "/idp/default/users/"+chief, admin, "").Want(204)
		s.do("PUT", "/backends/ldap", clerk, config).Want(200)
		master := s.do("GET", "/tenants?name=master", admin, "").List().Items[0]["uuid"].(string)
		s.do("PUT", "/tenants/"+master, clerk, `{"default_authentication_method":"ldap"}`).Lacks("confd.#")
		s.do("PUT", "/tenants/"+master, clerk, `{"name":"master"}`).Want(200)
		s.do("PUT", "/tenants/"+master, admin, `{"default_authentication_method":"ldap"}`).Want(200)
		s.do("PUT", "/backends/ldap", clerk, config).Lacks("confd.#")
		s.do("DELETE", "/backends/ldap", admin, "").Want(204)
		s.do("DELETE", "/backends/ldap", clerk, "").Want(204) // which changes nothing
		s.do("PUT", "/backends/ldap", clerk, config).Lacks("confd.#")
	})
}

// A directory at an address that the operator lets nobody reach is refused when it is set, and not only at every login.
func TestLDAPOutOfReachIsRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		put := func(host string) resttest.Answer {
			return s.do("PUT", "/backends/ldap", admin, fmt.Sprintf(`{"host":%q,"port":389,"user_base_dn":"dc=x","user_login_attribute":"uid","user_email_attribute":"mail"}`, host))
		}
		for _, host := range []string{"169.254.169.254", "0.0.0.0", "::", "fe80::1", "::ffff:169.254.169.254"} {
			if a := put(host).Want(400); !strings.Contains(a.Text("details.host.message"), "directories { allow }") {
				t.Errorf("%s: %s", host, a.Body)
			}
		}
		put("10.1.2.3").Want(200)
		put("ldap.example.com").Want(200)
	})
}
