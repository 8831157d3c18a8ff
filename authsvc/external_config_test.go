package authsvc_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/external"
	"github.com/ringfence/ringfence/authsvc/external/oauth2/oauth2test"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func TestExternalConfig(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		n, admin, path := g.node, g.admin, "/external/microsoft/config"
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			body := ""
			if method == "PUT" {
				body = "{}"
			}
			if a := n.do(method, path, admin, body).Want(404); a.Text("error_id") != "unknown-external-auth" ||
				a.Text("message") != `No config found for this external auth type: "microsoft"` || a.Text("resource") != "microsoft" {
				t.Errorf("%s without a configuration: %s", method, a.Body)
			}
		}
		if made := n.do("POST", path, admin, `{"client_id":"ci","client_secret":"hush","other":{"anything":[12345678901234567890,null]}}`).Want(201); made.Body != `""` {
			t.Errorf("POST answered %q", made.Body)
		}
		if a := n.do("POST", path, admin, `{}`).Want(409); a.Text("error_id") != "conflict" {
			t.Errorf("a second POST: %s", a.Body)
		}
		if a := n.do("GET", path, admin, "").Want(200); a.Body != `{"client_id":"ci","client_secret":"hush","other":{"anything":[12345678901234567890,null]}}` ||
			a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("GET: %v %s", a.Header, a.Body)
		}
		if changed := n.do("PUT", path, admin, `{"client_id":"ci2"}`).Want(204); changed.Body != "" {
			t.Errorf("PUT answered %q", changed.Body)
		}
		read := n.do("GET", path, admin, "").Want(200)
		if read.Body != `{"client_id":"ci2","client_secret":"hush","other":{"anything":[12345678901234567890,null]}}` {
			t.Errorf("after PUT: %s", read.Body)
		}

		old := func(r *http.Request) { r.Header.Set("If-Match", `"old"`) }
		n.do("PUT", path, admin, `{"client_id":"x"}`, old).Want(412)
		n.do("DELETE", path, admin, "", old).Want(412)
		n.do("DELETE", path, admin, "", func(r *http.Request) { r.Header.Set("If-Match", read.Header.Get("ETag")) }).Want(204)
		n.do("GET", path, admin, "").Want(404)

		// A type without a plugin: other daemons store their settings here.
		n.do("POST", "/external/Other_1/config", admin, `{"k":"v"}`).Want(201)
		n.do("GET", "/external/Other_1/users", admin, "").Want(200)
		// A key has several lines; some clients send whether there is one.
		for _, key := range []string{`"-----BEGIN PRIVATE KEY-----\nx\n"`, "true", "false", "null"} {
			n.do("PUT", "/external/Other_1/config", admin, `{"ios_apn_private":`+key+`}`).Want(204)
			if a := n.do("GET", "/external/Other_1/config", admin, "").Want(200); !strings.Contains(a.Body, `"ios_apn_private":`+key) {
				t.Errorf("after the key %s: %s", key, a.Body)
			}
		}
		if a := n.do("GET", "/external/nothing/users", admin, "").Want(404); a.Text("error_id") != "unknown-external-auth-type" {
			t.Errorf("users of an unknown type: %s", a.Body)
		}
		n.do("POST", "/external/a.b/config", admin, `{}`).Want(404)

		if raw := rawRows(t, db, "auth_external_config"); raw == "" || strings.Contains(raw, oauth2test.ClientSecret) {
			t.Error("the configuration is in the database as it is")
		}
		history := n.do("GET", "/audit?resource=external/config", admin, "").Want(200)
		if strings.Contains(history.Body, "hush") || strings.Contains(history.Body, oauth2test.ClientSecret) || !strings.Contains(history.Body, `"client_id":"ci2"`) {
			t.Errorf("the audit: %s", history.Body)
		}
	})
}

func TestExternalBodiesAreChecked(t *testing.T) {
	t.Parallel()
	g := newGateways(t, storetest.SQLite(t), oauth2test.Options{})
	long := strings.Repeat("x", 513)
	for _, c := range []struct{ name, method, path, body, field string }{
		{"a wrong type", "POST", "/external/x/config", `{"client_id":1}`, "client_id"},
		{"a number for a key", "POST", "/external/mobile/config", `{"ios_apn_private":5}`, "ios_apn_private"},
		{"an empty list for a key", "PUT", "/external/google/config", `{"ios_apn_private":[]}`, "ios_apn_private"},
		{"a twin", "POST", "/external/x/config", `{"client_id":"a","Client_ID":"b"}`, "Client_ID"},
		{"a control character", "POST", "/external/x/config", `{"client_id":"a\u0000"}`, "client_id"},
		{"a control character in something unknown", "POST", "/external/x/config", `{"other":["a\u0000"]}`, "other[0]"},
		{"another spelling", "POST", "/external/x/config", `{"CLIENT_SECRET":"b"}`, "client_secret"},
		{"a list", "POST", "/external/x/config", `[]`, ""},
		{"nothing", "POST", "/external/x/config", ``, ""},
		{"trailing text", "PUT", "/external/google/config", `{} {}`, ""},
		{"a scope that is no list", "POST", "/users/USER/external/google", `{"scope":"a"}`, "scope"},
		{"an empty scope", "POST", "/users/USER/external/google", `{"scope":["a",""]}`, "scope[1]"},
		{"a long scope", "POST", "/users/USER/external/google", `{"scope":["` + long + `"]}`, "scope[0]"},
		{"null", "POST", "/users/USER/external/google", `{"scope":null}`, "scope"},
		{"two scopes in one", "POST", "/users/USER/external/google", `{"scope":["a b"]}`, ""},
		{"a list", "POST", "/users/USER/external/mobile", `[]`, ""},
		{"an empty token", "POST", "/users/USER/external/mobile", `{"token":""}`, "token"},
		{"a long token", "PUT", "/users/USER/external/mobile", `{"apns_token":"` + long + `"}`, "apns_token"},
	} {
		a := g.node.do(c.method, strings.Replace(c.path, "USER", g.user, 1), g.admin, c.body)
		if a.Status != 400 {
			t.Errorf("%s: %d %s", c.name, a.Status, a.Body)
			continue
		}
		details, _ := a.JSON("details").(map[string]any)
		if _, named := details[c.field]; c.field != "" && !named {
			t.Errorf("%s: %s is not named in %s", c.name, c.field, a.Body)
		}
	}
	large := `{"other":"` + strings.Repeat("x", 70<<10) + `"}`
	g.node.do("POST", "/external/x/config", g.admin, large).Want(413)
}

func TestEachTenantHasItsOwnConfigurationAndUsers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		n := g.node
		below := n.do("POST", "/tenants", g.admin, `{"name":"below"}`).Want(200).Text("uuid")
		in := func(r *http.Request) { r.Header.Set("Wazo-Tenant", below) }
		their := g.newUser(n, g.admin, "theirs", in)

		n.do("GET", "/external/google/config", g.admin, "", in).Want(404)
		refused := n.do("POST", "/users/"+their+"/external/google", g.admin, "{}").Want(404)
		if refused.Text("error_id") != "unknown-config" || refused.Text("message") != `Configuration for this external auth type "google" is not defined.` {
			t.Errorf("without the tenant's configuration: %s", refused.Body)
		}
		n.do("POST", "/external/google/config", g.admin, `{"client_id":"theirs"}`, in).Want(201)
		if address := g.connect(n, g.begin(n, their)); !strings.Contains(address, "client_id=theirs") {
			t.Errorf("the authorization URL: %s", address)
		}
		n.do("POST", "/users/"+their+"/external/mobile", g.admin, `{"token":"t"}`).Want(201)
		n.do("POST", "/users/"+g.user+"/external/mobile", g.admin, `{"token":"t"}`).Want(201)
		for query, want := range map[string]float64{"": 1, "?recurse=true": 2} {
			if got := n.do("GET", "/external/mobile/users"+query, g.admin, "").Want(200).JSON("total"); got != want {
				t.Errorf("users%s: %v, want %v", query, got, want)
			}
		}

		// Nobody sees a user whom they are denied to read, or what the user has linked.
		for i, what := range []string{".read", ".external.read", ".external.mobile.read"} {
			_, _, denied := g.node.account(g.admin, fmt.Sprint("denied", i), "auth.#", "!auth.users."+their+what)
			for query, want := range map[string]float64{"?recurse=true": 1, "?recurse=true&search=" + their: 0, "?recurse=true&search=" + g.user: 1} {
				if a := n.do("GET", "/external/mobile/users"+query, denied, "").Want(200); a.JSON("total") != 1.0 || a.JSON("filtered") != want || strings.Contains(a.Body, their) {
					t.Errorf("users%s without one: %s", query, a.Body)
				}
			}
		}

		// A tenant below sees nothing of those above.
		_, policy, _ := g.node.account(g.admin, "stranger", "auth.#")
		n.do("PUT", "/users/"+their+"/policies/"+policy, g.admin, "").Want(204)
		token := n.login("theirs", "secret of theirs")
		for _, c := range []struct{ method, path, body string }{
			{"GET", "/users/" + g.user + "/external/mobile", ""},
			{"POST", "/users/" + g.user + "/external/mobile", `{"token":"t"}`},
			{"PUT", "/users/" + g.user + "/external/mobile", `{"token":"t"}`},
			{"DELETE", "/users/" + g.user + "/external/mobile", ""},
			{"GET", "/users/" + g.user + "/external/mobile/sender_id", ""},
			{"POST", "/users/" + g.user + "/external/google", `{}`},
			{"DELETE", "/users/" + g.user + "/external/google", ""},
		} {
			a := n.do(c.method, c.path, token, c.body)
			if a.Status != 404 || a.Text("error_id") != "unknown-user" {
				t.Errorf("%s %s of a user above: %d %s", c.method, c.path, a.Status, a.Body)
			}
		}
		if list := n.do("GET", "/users/"+g.user+"/external", token, "").Want(200); strings.Contains(list.Body, `"enabled":true`) {
			t.Errorf("the list of a user above: %s", list.Body)
		}
		if users := n.do("GET", "/external/mobile/users?recurse=true", token, "").Want(200); strings.Contains(users.Body, g.user) || !strings.Contains(users.Body, their) {
			t.Errorf("linked users: %s", users.Body)
		}
		n.do("GET", "/external/google/config", token, "").Want(200)
		n.do("DELETE", "/external/google/config", token, "").Want(204)
		n.do("GET", "/external/google/config", g.admin, "").Want(200)
	})
}

func TestNobodyIsSentOutWithoutAPublicURL(t *testing.T) {
	t.Parallel()
	g := newGateways(t, storetest.SQLite(t), oauth2test.Options{})
	box := sealed.New(sealed.Options{File: g.keyFile})
	if err := box.Prepare(t.Context(), g.db); err != nil {
		t.Fatal(err)
	}
	n := g.start(authsvc.Options{DB: g.db, Settings: cheapest, Sealer: box, External: g.plugins})
	evil := func(r *http.Request) {
		r.Host = "evil.example"
		r.Header.Set("X-Forwarded-Host", "evil.example")
		r.Header.Set("X-Forwarded-Proto", "evil")
	}
	if a := n.do("POST", "/users/"+g.user+"/external/google", g.admin, "{}", evil).Want(503); !strings.Contains(a.Body, "public_url") {
		t.Errorf("without a public URL: %s", a.Body)
	}
	if a := g.node.do("POST", "/users/"+g.user+"/external/google", g.admin, "{}", evil).Want(201); strings.Contains(a.Body, "evil") {
		t.Errorf("the Host header is in the answer: %s", a.Body)
	}
	for address, good := range map[string]bool{
		"https://pbx.example.com": true, "https://pbx.example.com:8443/behind/a/proxy": true, "http://localhost:8080": true, "http://[::1]": true,
		"http://pbx.example.com": false, "//pbx.example.com": false, "pbx.example.com": false, "https://": false, "": false,
		"https://u:p@pbx.example.com": false, "https://pbx.example.com/?a": false, "https://pbx.example.com/#a": false,
		"javascript:alert(1)": false, "https://pbx.example.com\r\nSet-Cookie: a=b": false,
	} {
		if err := external.CheckPublicURL(address); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestANodeWithoutTheKeyRefusesExternalAuthentication(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		g.link(g.user)
		for name, sealer := range map[string]authsvc.Sealer{
			"no key at all": nil, "the other nodes' key is missing": sealed.New(sealed.Options{File: "/nowhere"}),
		} {
			node := g.start(authsvc.Options{DB: db, Settings: cheapest, Sealer: sealer, External: g.plugins, PublicURL: publicURL})
			for _, c := range []struct{ method, path, body string }{
				{"GET", "/users/" + g.user + "/external/google", ""},
				{"POST", "/users/" + g.user + "/external/google", "{}"},
				{"POST", "/users/" + g.user + "/external/mobile", "{}"},
				{"GET", "/external/google/config", ""},
				{"PUT", "/external/google/config", "{}"},
				{"POST", "/external/x/config", "{}"},
				{"PUT", "/backends/ldap", `{"host":"ldap.example.org","port":636,"user_base_dn":"dc=example,dc=org","user_login_attribute":"uid",
					"user_email_attribute":"mail","bind_dn":"cn=reader","bind_password":"secret of reader"}`},
			} {
				if a := node.do(c.method, c.path, g.admin, c.body); a.Status != 503 {
					t.Errorf("%s: %s %s: %d %s", name, c.method, c.path, a.Status, a.Body)
				}
			}
			node.do("GET", "/users/"+g.user+"/external", g.admin, "").Want(200)
		}
	})
}
