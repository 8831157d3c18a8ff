package authsvc_test

import (
	"encoding/csv"
	"net/http"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

func TestIDP(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		if a := s.do("GET", "/idp", admin, "").Want(200); a.Body != `{"total":4,"filtered":4,"items":["default","ldap","native","saml"]}` {
			t.Errorf("methods: %s", a.Body)
		}
		user, _, token := s.account(admin, "user", "confd.#")
		method := func(want string) {
			t.Helper()
			if got := s.do("GET", "/users/"+user, admin, "").Want(200).Text("authentication_method"); got != want {
				t.Errorf("the method is %s, want %s", got, want)
			}
		}
		s.do("PUT", "/idp/ldap/users/"+user, admin, "").Want(204)
		method("ldap")
		s.fails("{}", "user", "secret of user")
		s.do("DELETE", "/idp/saml/users/"+user, admin, "").Want(204)
		method("ldap")
		s.do("DELETE", "/idp/ldap/users/"+user, admin, "").Want(204)
		method("default")
		s.login("user", "secret of user")
		s.do("DELETE", "/idp/default/users/"+user, admin, "").Want(204)
		method("default")
		s.do("PUT", "/idp/native/users", admin, `{"users":[{"uuid":"`+strings.ToUpper(user)+`"},{"uuid":"`+user+`"}]}`).Want(204)
		method("native")
		s.do("GET", "/token/"+token, "", "").Want(200)

		const nobody = "7d7e0f5e-2c5a-4b0e-8f0a-000000000000"
		s.do("PUT", "/idp/ldap/users", admin, `{"users":[{"uuid":"`+user+`"},{"uuid":"`+nobody+`"}]}`).Refused(404, "unknown-user")
		method("native") // all or none
		for _, m := range []string{"PUT", "DELETE"} {
			s.do(m, "/idp/ldap/users/"+nobody, admin, "").Refused(404, "unknown-user")
			s.do(m, "/idp/ldap/users/17", admin, "").Refused(404, "unknown-user")
			s.do(m, "/idp/radius/users/"+user, admin, "").Refused(404, "unknown-idp-type")
		}
		s.do("PUT", "/idp/radius/users", admin, `{"users":[]}`).Refused(404, "unknown-idp-type")
		s.do("PUT", "/idp/ldap/users", admin, `{"users":[]}`).Want(204)
		s.do("PUT", "/idp/ldap/users", admin, `{}`).Refused(400, "invalid-data").JSON("details.users")
		s.do("PUT", "/idp/ldap/users", admin, `{"users":[{"uuid":"17"}]}`).Refused(400, "invalid-data")

		// Another tenant's users do not exist.
		below := s.tenant(admin, "below")
		s.do("PUT", "/idp/ldap/users/"+user, admin, "", resttest.In(below)).Refused(404, "unknown-user")
		there := s.do("POST", "/users", admin, `{}`, resttest.In(below)).Want(200).Text("uuid")
		s.do("PUT", "/idp/ldap/users/"+there, admin, "").Want(204)

		changes := s.do("GET", "/audit?action=create_idp_user&object="+user, admin, "").List()
		if len(changes.Items) != 1 {
			t.Fatalf("audit: %v", changes)
		}
		before, _ := changes.Items[0]["before"].(map[string]any)
		after, _ := changes.Items[0]["after"].(map[string]any)
		if before["authentication_method"] != "native" || after["authentication_method"] != "ldap" {
			t.Errorf("audit: %v", changes.Items)
		}
	})
}

// Every administrator must be able to log in.
func TestLastAdministratorsMethod(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		me := s.do("GET", "/token/"+admin, "", "").Want(200).Text("data.auth_id")
		master := s.do("GET", "/tenants?name=master", admin, "").List().Items[0]["uuid"].(string)
		s.do("PUT", "/idp/ldap/users/"+me, admin, "").Refused(409, "last-administrator")
		s.do("PUT", "/idp/ldap/users", admin, `{"users":[{"uuid":"`+me+`"}]}`).Refused(409, "last-administrator")
		s.do("PUT", "/tenants/"+master, admin, `{"default_authentication_method":"ldap"}`).Want(200) // the administrator's own is native
		s.do("DELETE", "/idp/native/users/"+me, admin, "").Refused(409, "last-administrator")
		s.do("PUT", "/tenants/"+master, admin, `{"default_authentication_method":"native"}`).Want(200)
		s.do("DELETE", "/idp/native/users/"+me, admin, "").Want(204)
		s.admin()
		s.do("PUT", "/tenants/"+master, admin, `{"default_authentication_method":"ldap"}`).Refused(409, "last-administrator")
	})
}

func TestConfig(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		a := s.do("GET", "/config", admin, "").Want(200)
		if a.JSON("debug") != false || a.JSON("profiling_enabled") != false || a.JSON("default_token_lifetime") != 7200.0 {
			t.Errorf("config: %s", a.Body)
		}
		a = s.do("PATCH", "/config", admin, `[{"op":"replace","path":"/debug","value":true},{"op":"replace","path":"/profiling_enabled","value":true}]`).Want(200)
		if a.JSON("debug") != true || a.JSON("profiling_enabled") != true || s.do("GET", "/config", admin, "").Want(200).Body != a.Body {
			t.Errorf("config: %s", a.Body)
		}
		for name, body := range map[string]string{
			"object": `{}`, "nothing": ` `, "operation": `[{"op":"add","path":"/debug","value":true}]`,
			"path": `[{"op":"replace","path":"/token","value":true}]`, "value": `[{"op":"replace","path":"/debug","value":1}]`,
			"no value": `[{"op":"replace","path":"/debug"}]`, "step": `[1]`, "null": `[null]`,
			"second step": `[{"op":"replace","path":"/debug","value":false},{"op":"replace","path":"/x","value":true}]`,
		} {
			t.Run(name, func(t *testing.T) { s.do("PATCH", "/config", admin, body).For(t).Refused(400, "invalid-data") })
		}
		if s.do("GET", "/config", admin, "").JSON("debug") != true {
			t.Error("a refused patch was done in part")
		}
		s.do("PATCH", "/config", admin, `[{"op":"replace","path":"/debug","value":false},{"op":"replace","path":"/profiling_enabled","value":false}]`).Want(200)

		// Users of other tenants get nothing, whatever they may do and whichever tenant they name.
		below := s.tenant(admin, "below")
		s.do("POST", "/users", admin, `{"username":"lord","password":"of below"}`, resttest.In(below)).Want(200)
		lord := s.login("lord", "of below")
		for _, m := range []string{"GET", "PATCH"} {
			s.do(m, "/config", lord, map[string]string{"PATCH": `[]`}[m]).Refused(403, "unauthorized-tenant")
			if got := s.do(m, "/config", lord, map[string]string{"PATCH": `[]`}[m]).Text("details.tenant_uuid"); got != below {
				t.Errorf("the refusal names the tenant %s", got)
			}
		}
	})
}

func TestSAML(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		for _, c := range [][2]string{
			{"GET", "/backends/saml"},
			{"POST", "/backends/saml"},
			{"PUT", "/backends/saml"},
			{"DELETE", "/backends/saml"},
			{"GET", "/backends/saml/acs_url_template"},
			{"GET", "/backends/saml/metadata"},
			{"POST", "/saml/sso"},
			{"POST", "/saml/acs"},
			{"GET", "/saml/logout"},
			{"GET", "/saml/sls"},
		} {
			a := s.do(c[0], c[1], admin, "").Refused(501, "saml-not-implemented")
			if !strings.Contains(a.Text("message"), "does not speak SAML") {
				t.Errorf("%s %s: %s", c[0], c[1], a.Body)
			}
		}
		s.do("POST", "/token", "", `{"saml_session_id":"x"}`).Want(401)
	})
}

// Clients' policies rely on the accesses of these operations.
const backendAccesses = `
GET /backends -
HEAD /status -
GET /backends/ldap auth.backends.ldap.read
PUT /backends/ldap auth.backends.ldap.update
DELETE /backends/ldap auth.backends.ldap.delete
DELETE /backends/saml auth.backends.saml.delete
GET /backends/saml auth.backends.saml.read
POST /backends/saml auth.backends.saml.create
PUT /backends/saml auth.backends.saml.update
GET /backends/saml/acs_url_template auth.backends.saml.read
GET /backends/saml/metadata auth.backends.saml.read
GET /config auth.config.read
PATCH /config auth.config.update
GET /idp auth.idp.read
PUT /idp/{idp_type}/users auth.idp.{idp_type}.users.update
PUT /idp/{idp_type}/users/{user_uuid} auth.idp.{idp_type}.users.{user_uuid}.create
DELETE /idp/{idp_type}/users/{user_uuid} auth.idp.{idp_type}.users.{user_uuid}.delete
POST /saml/acs -
GET /saml/logout -
GET /saml/sls -
POST /saml/sso -
`

func TestBackendAccesses(t *testing.T) {
	reader := csv.NewReader(strings.NewReader(strings.TrimSpace(backendAccesses)))
	reader.Comma = ' '
	rows, err := reader.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		for _, row := range rows {
			found := false
			for _, op := range s.svc.REST().Operations {
				if op.Method != row[0] || op.Path != row[1] {
					continue
				}
				found = true
				if got := s.svc.REST().RequiredAccess(&op); (got == "" && row[2] != "-") || (got != "" && got != row[2]) {
					t.Errorf("%s %s requires %q, want %s", row[0], row[1], got, row[2])
				}
			}
			if !found {
				t.Errorf("there is no %s %s", row[0], row[1])
			}
		}
		if a := s.do(http.MethodGet, "/backends", "", ""); a.Body != `{"data":["database","ldap"]}` {
			t.Errorf("backends: %s", a.Body)
		}
	})
}
