package authsvc_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc/external/oauth2/oauth2test"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// externalOfAll is all that an operator needs to call the operations on external credentials.
var externalOfAll = []string{"auth.users.*.external.#", "auth.*.external.#"}

// The accesses of external authentication do not open the credentials of a user who holds more, by any operation of any plugin.
func TestNobodyTouchesTheExternalCredentialsOfTheMorePrivileged(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		n := g.node
		chief, _, own := n.account(g.admin, "chief", "confd.#", "auth.users.me.#")
		lesser, _, _ := n.account(g.admin, "lesser", "auth.users.me.external.mobile.read")
		_, _, clerk := n.account(g.admin, "clerk", externalOfAll...)
		for _, user := range []string{chief, lesser} {
			n.do("POST", "/users/"+user+"/external/mobile", g.admin, `{"token":"of `+user+`"}`).Want(201)
			g.link(user)
		}
		n.do("POST", "/external/mobile/config", g.admin, `{"fcm_sender_id":"sender"}`).Want(201)

		operations := []struct{ method, path, body string }{
			{"GET", "/external/mobile", ""},
			{"HEAD", "/external/mobile", ""},
			{"GET", "/external/mobile/sender_id", ""},
			{"PUT", "/external/mobile", `{"token":"the clerk's"}`},
			{"POST", "/external/mobile", `{"token":"the clerk's"}`},
			{"GET", "/external/google", ""},
			{"POST", "/external/google", `{}`},
			{"POST", "/external/oauth2", `{}`},
			{"GET", "/external", ""},
			{"GET", "/external?type=mobile", ""},
			{"DELETE", "/external/google", ""},
			{"DELETE", "/external/mobile", ""},
		}
		stored := rawRows(t, db, "auth_external")
		for _, o := range operations {
			a := n.do(o.method, "/users/"+chief+o.path, clerk, o.body).Want(403)
			if o.method != "HEAD" && strings.Contains(a.Body, "of "+chief) {
				t.Errorf("%s %s says %s", o.method, o.path, a.Body)
			}
		}
		if rawRows(t, db, "auth_external") != stored {
			t.Error("what is stored has changed")
		}
		if begun, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM auth_external_pending`); err != nil || begun != 0 {
			t.Errorf("%d links were begun, %v", begun, err)
		}
		for _, o := range operations {
			if a := n.do(o.method, "/users/"+lesser+o.path, clerk, o.body); a.Status == http.StatusForbidden {
				t.Errorf("%s %s of a user who holds less: %s", o.method, o.path, a.Body)
			}
			if a := n.do(o.method, "/users/"+chief+o.path, own, o.body); a.Status == http.StatusForbidden {
				t.Errorf("%s %s of one's own: %s", o.method, o.path, a.Body)
			}
		}
	})
}

// Everybody's later credentials pass through a tenant's client, so only a caller who may act on each of them can set it.
func TestNobodyConfiguresAnExternalServiceForTheMorePrivileged(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		n := g.node
		acme := n.tenant(g.admin, "acme")
		n.do("POST", "/external/google/config", g.admin, `{"client_id":"theirs"}`, resttest.In(acme)).Want(201)
		chief := g.newUser(n, g.admin, "chief", resttest.In(acme))
		rights := n.do("POST", "/policies", g.admin, `{"name":"rights","acl":["confd.#","confd.users.me.#"]}`).Want(200).Text("uuid")
		n.do("PUT", "/users/"+chief+"/policies/"+rights, g.admin, "").Want(204)
		_, _, clerk := n.account(g.admin, "clerk", externalOfAll...)

		for _, o := range []struct{ method, path, body string }{
			{"POST", "/external/oauth2/config", `{"client_id":"the clerk's"}`},
			{"PUT", "/external/google/config", `{"client_id":"the clerk's"}`},
			{"PUT", "/external/google/config", `{}`},
			{"DELETE", "/external/google/config", ""},
		} {
			n.do(o.method, o.path, clerk, o.body, resttest.In(acme)).Want(403)
		}
		if id := n.do("GET", "/external/google/config", g.admin, "", resttest.In(acme)).Text("client_id"); id != "theirs" {
			t.Errorf("the client is %s", id)
		}
		n.do("DELETE", "/users/"+chief+"/policies/"+rights, g.admin, "").Want(204)
		n.do("PUT", "/external/google/config", clerk, `{"client_id":"the clerk's"}`, resttest.In(acme)).Want(204)
	})
}

// What somebody has stored at a user's external service stays when the user gets more rights, as decided: it gives nothing here. Whoever has
// stored it reaches it no more, the audit names them, and the user reads and removes it.
func TestAStoredLinkGivesItsMakerNothingLater(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		n := g.node
		user, _, own := n.account(g.admin, "user", "auth.users.me.#")
		clerk, _, token := n.account(g.admin, "clerk", externalOfAll...)
		path := "/users/" + user + "/external/mobile"
		n.do("POST", path, token, `{"token":"the clerk's"}`).Want(201)
		n.do("PUT", "/users/"+user+"/policies/"+n.mighty(g.admin), g.admin, "").Want(204)
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			n.do(method, path, token, map[string]string{"PUT": "{}"}[method]).Want(403)
		}
		if a := n.do("GET", path, own, "").Want(200); a.Text("token") != "the clerk's" {
			t.Errorf("the user reads %s", a.Body)
		}
		if entries := n.do("GET", "/audit?resource=users/external&actor_uuid="+clerk, g.admin, "").List(); len(entries.Items) != 1 {
			t.Errorf("the audit has %v", entries.Items)
		}
		n.do("DELETE", path, own, "").Want(204)
	})
}

// Neither the configuration of an external service nor a link with it lets anybody in: nothing by which users log in depends on them, so
// nobody vouches for them.
func TestALinkLetsNobodyIn(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		g := newGateways(t, db, oauth2test.Options{})
		g.node.do("PUT", "/users/"+g.user+"/emails", g.admin, `{"emails":[{"address":"someone@example.com","main":true}]}`).Want(200)
		ways := func() (out []string) {
			t.Helper()
			for _, of := range []string{
				"uuid AS text) || coalesce(password_hash, '') || authentication_method || coalesce(username, '') FROM auth_user", "login AS text) FROM auth_login",
				"address AS text) || CASE WHEN confirmed THEN '!' ELSE '' END FROM auth_email", "user_uuid AS text) FROM auth_identity",
				"session_uuid AS text) FROM auth_token", "user_uuid AS text) FROM auth_refresh_token", "user_uuid AS text) || subject FROM auth_voucher",
			} {
				rows, err := store.Select[string](t.Context(), db, "SELECT CAST("+of+" ORDER BY 1")
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, rows...)
			}
			return out
		}
		before := ways()
		g.node.do("PUT", "/external/google/config", g.admin, clientConfig).Want(204)
		g.link(g.user)
		g.node.do("POST", "/users/"+g.user+"/external/mobile", g.admin, `{"token":"the administrator's"}`).Want(201)
		if after := ways(); !slices.Equal(before, after) || len(before) < 6 {
			t.Errorf("users log in by %q, and did by %q", after, before)
		}
	})
}
