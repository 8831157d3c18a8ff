package authsvc_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

// neighbours are two sibling tenants: an administrator of one, and the objects of the other.
type neighbours struct {
	*server
	admin, token string
	// a is the administrator's own tenant; theirs holds b's objects by name: user, email, group, policy, session, client, audit,
	// tenant.
	a, mine string
	theirs  map[string]string
}

func newNeighbours(t *testing.T, db store.DB) *neighbours {
	t.Helper()
	n := &neighbours{server: newServer(t, db), theirs: map[string]string{"client": "their-phone"}}
	n.admin = n.server.admin()
	b := n.tenant(n.admin, "b")
	n.a = n.tenant(n.admin, "a")
	n.theirs["tenant"] = b
	n.token = n.lord(n.admin, n.a, "lord-a")
	n.mine = n.do("GET", "/users", n.token, "").List().Column("uuid")[0]
	user := n.do("POST", "/users", n.admin, `{"username":"bob","password":"x","purpose":"internal","email_address":"bob@example.com"}`, resttest.In(b)).Want(200)
	n.theirs["user"] = user.Text("uuid")
	n.theirs["email"] = user.JSON("emails").([]any)[0].(map[string]any)["uuid"].(string)
	n.theirs["group"] = n.do("POST", "/groups", n.admin, `{"name":"secret"}`, resttest.In(b)).Want(200).Text("uuid")
	n.theirs["policy"] = n.do("POST", "/policies", n.admin, `{"name":"secret","slug":"secret"}`, resttest.In(b)).Want(200).Text("uuid")
	for _, path := range []string{"/users/{user}/policies/ringfence_administrator", "/groups/{group}/policies/ringfence_administrator", "/groups/{group}/users/{user}", "/users/{user}/policies/{policy}"} {
		n.do("PUT", filled(path, n.theirs), n.admin, "").Want(204)
	}
	n.theirs["session"] = n.do("POST", "/token", "", `{"access_type":"offline","client_id":"their-phone"}`, resttest.Basic("bob", "x")).Want(200).Text("data.session_uuid")
	return n
}

// In every operation, an object of another tenant gets the same response, byte for byte, as one that does not exist.
func TestOtherTenantsAreNotThere(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		n := newNeighbours(t, db)
		const emails = `{"emails":[{"address":"mine@example.com","main":true}]}`
		for _, c := range []struct{ method, path, body string }{
			{"PUT", "/users/{user}/password", `{"old_password":"x","new_password":"y"}`},
			{"PUT", "/users/{user}/emails", emails},
			{"PUT", "/admin/users/{user}/emails", emails},
			{"GET", "/users/{user}/emails/{email}/confirm", ""},
			{"GET", "/users/{mine}/emails/{email}/confirm", ""},
			{"PUT", "/emails/{email}/confirm", ""},
			{"GET", "/users/{user}/sessions", ""},
			{"DELETE", "/users/{user}/sessions/{session}", ""},
			{"DELETE", "/users/{mine}/sessions/{session}", ""},
			{"DELETE", "/sessions/{session}", ""},
			{"GET", "/users/{user}/tokens", ""},
			{"DELETE", "/users/{user}/tokens/{client}", ""},
			{"PUT", "/idp/native/users/{user}", ""},
			{"DELETE", "/idp/native/users/{user}", ""},
			{"PUT", "/idp/native/users", `{"users":[{"uuid":"{mine}"},{"uuid":"{user}"}]}`},
			{"GET", "/tenants/{tenant}", ""},
			{"PUT", "/tenants/{tenant}", `{}`},
			{"DELETE", "/tenants/{tenant}", ""},
			{"GET", "/tenants/{tenant}/domains", ""},
			{"PUT", "/tenants/{tenant}/parent/{own}", ""},
			{"PUT", "/tenants/{own}/parent/{tenant}", ""},
			{"PUT", "/tenants/{own}", `{"contact":"{user}"}`},
			{"GET", "/explain?method=GET&path=/api/auth/0.1/users&user_uuid={user}", ""},
			{"GET", "/audit/1", ""},
		} {
			t.Run(c.method+" "+c.path, func(t *testing.T) {
				ask := func(names map[string]string) resttest.Answer {
					names["mine"], names["own"] = n.mine, n.a
					return n.do(c.method, strings.Replace(filled(c.path, names), "/audit/0", "/audit/999999", 1), n.token, filled(c.body, names),
						func(r *http.Request) { r.Header.Set("X-Auth-Token", n.token) })
				}
				nothing := map[string]string{"client": "their-phone"}
				for name := range n.theirs {
					if name != "client" {
						nothing[name] = nobody
					}
				}
				got, want := ask(maps.Clone(n.theirs)), ask(nothing)
				same := stamped(got.Body)
				for name, value := range n.theirs {
					if name != "client" {
						same = strings.ReplaceAll(same, value, nobody)
					}
				}
				if got.Status != want.Status || same != stamped(want.Body) {
					t.Errorf("%d %s\nof what does not exist: %d %s", got.Status, got.Body, want.Status, want.Body)
				}
				if c.method != "DELETE" && got.Status < 400 {
					t.Errorf("done: %d %s", got.Status, got.Body)
				}
			})
		}
		// Nothing was done.
		if l := n.do("GET", "/users/"+n.theirs["user"]+"/sessions", n.admin, "").List(); l.Total != 1 {
			t.Errorf("sessions: %+v", l)
		}
		if l := n.do("GET", "/users/"+n.theirs["user"]+"/tokens", n.admin, "").List(); l.Total != 1 {
			t.Errorf("refresh tokens: %+v", l)
		}
		n.login("bob", "x")
	})
}

// No list, count, filter or order reveals anything about another tenant.
func TestListsTellNothingOfOtherTenants(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		n := newNeighbours(t, db)
		for _, path := range []string{
			"/users", "/groups", "/policies", "/tenants", "/sessions", "/tokens", "/audit", "/access/holders?access=confd.users.read&x=1",
			"/users?group_uuid={group}", "/users?policy_uuid={policy}", "/users?has_policy_uuid={policy}", "/users?has_policy_slug=secret", "/users?email_address=bob@example.com",
			"/groups?user_uuid={user}", "/groups?policy_uuid={policy}", "/groups?policy_slug=secret",
			"/policies?user_uuid={user}", "/policies?group_uuid={group}", "/policies?tenant_uuid={tenant}", "/policies?uuid={policy}",
			"/tenants?uuids={tenant}", "/tenants?domain_name=b.example.com", "/audit?object={user}", "/audit?actor_uuid={user}",
		} {
			text := strings.ReplaceAll(filled(path, n.theirs), "?", "?recurse=true&")
			if !strings.Contains(text, "?") {
				text += "?recurse=true"
			}
			a := n.do("GET", text, n.token, "")
			l := a.List()
			for name, value := range n.theirs {
				if strings.Contains(a.Body, value) {
					t.Errorf("%s tells of the %s: %s", path, name, a.Body)
				}
			}
			if strings.Contains(path, "{") && (len(l.Items) != 0 || l.Filtered != 0) {
				t.Errorf("%s: %+v", path, l)
			}
			if strings.Contains(path, "?") || path == "/policies" || path == "/audit" {
				continue
			}
			if l.Total != 1 && path != "/groups" && path != "/tokens" || l.Total != len(l.Items) {
				t.Errorf("%s counts %d: %s", path, l.Total, a.Body)
			}
		}
	})
}

// A value that must be unique in the whole installation is refused without saying whose it is; every other value may exist in
// every tenant.
func TestUniqueKeysOfOtherTenants(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		n := newNeighbours(t, db)
		for _, c := range [][2]string{{"groups", `{"name":"secret","slug":"secret"}`}, {"policies", `{"name":"secret","slug":"secret"}`}} {
			if made := n.do("POST", "/"+c[0], n.token, c[1]).Want(200); made.Text("slug") != "secret" {
				t.Errorf("%s", made.Body)
			}
		}
		n.do("POST", "/users", n.token, `{"username":"own","email_address":"own@example.com"}`).Want(200)
		n.do("POST", "/tenants", n.token, `{"slug":"own","domain_names":["own.example.com"]}`).Want(200)
		n.do("PUT", "/tenants/"+n.theirs["tenant"], n.admin, `{"domain_names":["bob.example.com"]}`).Want(200)
		for _, c := range [][2]string{
			{"/users", `{"username":"WHO"}`},
			{"/users", `{"email_address":"WHO@example.com"}`},
			{"/users", `{"username":"WHO@example.com"}`},
			{"/tenants", `{"domain_names":["WHO.example.com"]}`},
		} {
			theirs := n.do("POST", c[0], n.token, strings.ReplaceAll(c[1], "WHO", "bob")).Refused(409, "conflict")
			own := n.do("POST", c[0], n.token, strings.ReplaceAll(c[1], "WHO", "own")).Refused(409, "conflict")
			if strings.ReplaceAll(stamped(theirs.Body), "bob", "own") != stamped(own.Body) {
				t.Errorf("%s: theirs %s, own %s", c[1], theirs.Body, own.Body)
			}
			if slices.ContainsFunc([]string{"tenant", "user", "email"}, func(name string) bool { return strings.Contains(theirs.Body, n.theirs[name]) }) {
				t.Errorf("told whose it is: %s", theirs.Body)
			}
		}
	})
}
