package authsvc_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc/external/oauth2/oauth2test"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func TestMobile(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		n, admin, path := g.node, g.admin, "/users/"+g.user+"/external/mobile"
		if a := n.do("GET", path, admin, "").Want(404); a.Text("message") != `No such external auth: "mobile"` || a.Text("resource") != "mobile" {
			t.Errorf("GET of nothing: %s", a.Body)
		}
		const all = `{"token":"t","apns_token":null,"apns_voip_token":null,"apns_notification_token":null,"apns_call_topic":null,"apns_default_topic":null}`
		n.do("POST", path, admin, "").Want(400)
		if a := n.do("POST", path, admin, `{"token":"t","unknown":1}`).Want(201); a.Body != all {
			t.Errorf("POST answered %s", a.Body)
		}
		if a := n.do("POST", path, admin, `{"token":"u"}`).Want(409); a.Text("message") != `This external authentication method has already been set: "mobile"` {
			t.Errorf("a second POST: %s", a.Body)
		}
		read := n.do("GET", path, admin, "").Want(200)
		if read.Body != all {
			t.Errorf("GET answered %s", read.Body)
		}
		changed := strings.NewReplacer(`"t"`, `"v"`, `"apns_token":null`, `"apns_token":"a"`).Replace(all)
		n.do("PUT", path, admin, `{"token":"v"}`).Want(200)
		if a := n.do("PUT", path, admin, `{"apns_token":"a"}`).Want(200); a.Body != changed {
			t.Errorf("PUT answered %s", a.Body)
		}
		n.do("PUT", path, admin, `{}`, func(r *http.Request) { r.Header.Set("If-Match", read.Header.Get("ETag")) }).Want(412)
		n.do("DELETE", path, admin, "", func(r *http.Request) { r.Header.Set("If-Match", read.Header.Get("ETag")) }).Want(412)
		n.do("DELETE", path, admin, "").Want(204)
		n.do("DELETE", path, admin, "").Want(404)
		if a := n.do("PUT", path, admin, `{"token":"t"}`).Want(200); a.Body != all {
			t.Errorf("PUT of nothing answered %s", a.Body)
		}
		n.do("DELETE", "/users/"+g.user, admin, "").Want(204)
		if left, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM auth_external`); err != nil || left != 0 {
			t.Errorf("%d rows of a deleted user are left, %v", left, err)
		}
	})
}

func TestMobileSenderID(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		path := "/users/" + g.user + "/external/mobile/sender_id"
		if a := g.node.do("GET", path, g.admin, "").Want(404); a.Text("error_id") != "unknown-external-auth" ||
			a.Text("message") != `No config found for this external auth type: "mobile"` {
			t.Errorf("without a configuration: %s", a.Body)
		}
		g.node.do("POST", "/external/mobile/config", g.admin, `{"fcm_api_key":"k"}`).Want(201)
		if a := g.node.do("GET", path, g.admin, "").Want(200); a.Body != `{"sender_id":null}` {
			t.Errorf("without a sender: %s", a.Body)
		}
		g.node.do("PUT", "/external/mobile/config", g.admin, `{"fcm_sender_id":"4711"}`).Want(204)
		if a := g.node.do("GET", path, g.admin, "").Want(200); a.Body != `{"sender_id":"4711"}` {
			t.Errorf("GET answered %s", a.Body)
		}
	})
}

func TestTheListOfExternalAuthentications(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		g.link(g.user)
		const (
			googleInfo = `"plugin_info":{"required_acl":["https://www.googleapis.com/auth/userinfo.profile","https://www.googleapis.com/auth/contacts"]}}`
			google     = `{"type":"google","data":{},"enabled":false,` + googleInfo
			linked     = `{"type":"google","data":{},"enabled":true,` + googleInfo
			mobile     = `{"type":"mobile","data":{},"enabled":false,"plugin_info":{"required_acl":[]}}`
			generic    = `{"type":"oauth2","data":{},"enabled":false,"plugin_info":{"required_acl":["read"]}}`
		)
		of := "/users/" + g.user + "/external"
		for path, want := range map[string]string{
			of: `{"items":[` + linked + `,` + mobile + `,` + generic + `],"total":3,"filtered":3}`,
			"/users/00000000-0000-4000-8000-000000000000/external": `{"items":[` + google + `,` + mobile + `,` + generic + `],"total":3,"filtered":3}`,
			of + "?type=mobile":                     `{"items":[` + mobile + `],"total":3,"filtered":1}`,
			of + "?type=other":                      `{"items":[],"total":3,"filtered":0}`,
			of + "?search=OB":                       `{"items":[` + mobile + `],"total":3,"filtered":1}`,
			of + "?search=m%20b%20e":                `{"items":[` + mobile + `],"total":3,"filtered":1}`,
			of + "?search=e%20m":                    `{"items":[],"total":3,"filtered":0}`,
			of + "?limit=1&search=o":                `{"items":[` + linked + `],"total":3,"filtered":3}`,
			of + "?order=type&direction=desc":       `{"items":[` + generic + `,` + mobile + `,` + linked + `],"total":3,"filtered":3}`,
			of + "?offset=1&limit=1":                `{"items":[` + mobile + `],"total":3,"filtered":3}`,
			of + "?offset=9":                        `{"items":[],"total":3,"filtered":3}`,
			of + "?direction=desc&offset=2&limit=5": `{"items":[` + linked + `],"total":3,"filtered":3}`,
		} {
			if a := g.node.do("GET", path, g.admin, ""); a.Status != 200 || a.Body != want {
				t.Errorf("%s: %d\n got %s\nwant %s", path, a.Status, a.Body, want)
			}
		}
		for _, query := range []string{"?order=data", "?limit=0", "?limit=x", "?offset=-1", "?direction=up"} {
			if a := g.node.do("GET", of+query, g.admin, ""); a.Status != 400 || a.Text("error_id") != "invalid-list-param" {
				t.Errorf("%s: %d %s", query, a.Status, a.Body)
			}
		}
		g.node.do("GET", "/users/someone/external", g.admin, "").Want(404)
	})
}

func TestTheSafeViewShowsTheScopeAlone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		other := oauth2test.New(t, oauth2test.Options{RedirectURL: redirectURL("oauth2")})
		plugin := genericPlugin(t, other)
		n := g.newNode(plugin)
		n.do("POST", "/external/oauth2/config", g.admin, clientConfig).Want(201)
		begun := n.do("POST", "/users/"+g.user+"/external/oauth2", g.admin, "{}").Want(201) // without a scope the configured scopes apply
		g.visit(n, other.Browse(t.Context(), g.connect(n, begun.Text("authorization_url")))).Want(200)
		list := n.do("GET", "/users/"+g.user+"/external", g.admin, "").Want(200)
		if want := `{"items":[{"type":"oauth2","data":{"scope":["read"]},"enabled":true,"plugin_info":{"required_acl":["read"]}}],"total":1,"filtered":1}`; list.Body != want {
			t.Errorf("the list: %s", list.Body)
		}
		if other.BasicRequests() != 1 {
			t.Error("the client's credentials were not in the Authorization header")
		}
	})
}
