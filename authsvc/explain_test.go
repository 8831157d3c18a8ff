package authsvc_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// requirements replaces the gate's routers, which Caddy's modules put together.
func requirements(method, path string) (authsvc.Requirement, error) {
	action := map[string]string{"GET": "read", "DELETE": "delete"}[method]
	words := strings.ReplaceAll(strings.TrimPrefix(path, "/api/confd/1.1/"), "/", ".")
	return authsvc.Requirement{Service: "confd", Access: "confd." + words + "." + action}, nil
}

// What refuses beside the patterns is explained too: rules of the master tenant, and disabled users.
func TestExplainTellsTheRulesOfTheMasterTenant(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		acme := s.tenant(admin, "acme")
		lord := s.lord(admin, acme, "lord")
		user := s.do("GET", "/users", lord, "").List().Column("uuid")[0]
		boss := s.do("GET", "/users?username=admin", admin, "").List().Column("uuid")[0]
		for _, c := range []struct {
			name    string
			master  rest.Master
			token   string
			query   string
			in      string
			allowed bool
		}{
			{"nothing is asked", 0, lord, "", "", true},
			{"in the master tenant", rest.InMaster, admin, "", "", true},
			{"in another by header", rest.InMaster, admin, "", acme, false},
			{"from the master tenant, by header", rest.FromMaster, admin, "", acme, true},
			{"from another", rest.FromMaster, lord, "", "", false},
			{"in another", rest.InMaster, lord, "", "", false},
			{"of another user, in the master tenant", rest.InMaster, admin, "&user_uuid=" + user, "", false},
			{"of another user, from the master tenant", rest.FromMaster, admin, "&user_uuid=" + user, acme, false},
			{"of oneself by UUID", rest.FromMaster, admin, "&user_uuid=" + boss, "", true},
			{"of oneself by UUID in capitals", rest.FromMaster, admin, "&user_uuid=" + strings.ToUpper(boss), "", true},
			{"of another user in capitals", rest.InMaster, admin, "&user_uuid=" + strings.ToUpper(user), "", false},
		} {
			for _, access := range []string{"confd.x.read", "confd.#"} {
				s.svc.UseRequirements(func(string, string) (authsvc.Requirement, error) {
					return authsvc.Requirement{Service: "confd", Access: access, Master: c.master}, nil
				})
				var in []resttest.Edit
				if c.in != "" {
					in = append(in, resttest.In(c.in))
				}
				a := s.do("GET", "/explain?method=GET&path=/x"+c.query, c.token, "", in...).Want(200)
				if said, _ := a.JSON("refusal").(string); a.JSON("allowed") != c.allowed || strings.Contains(said, "master tenant") == c.allowed {
					t.Errorf("%s: %s", c.name, a.Body)
				}
			}
		}
		s.do("PUT", "/users/"+user, admin, `{"enabled":false}`).Want(200)
		s.svc.UseRequirements(requirements)
		if a := s.do("GET", "/explain?method=GET&path=/api/confd/1.1/users&user_uuid="+user, admin, "").Want(200); a.JSON("allowed") != false || !strings.Contains(a.Text("refusal"), "disabled") {
			t.Errorf("a disabled user: %s", a.Body)
		}
	})
}

// Users of tenants above, who may act in the tenant, are counted, and not named.
func TestHoldersAboveAreCounted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		reseller := s.tenant(admin, "reseller")
		customer := s.tenant(admin, "customer", resttest.In(reseller))
		s.lord(admin, s.tenant(admin, "aside"), "aside")
		s.lord(admin, reseller, "above")
		lord := s.lord(admin, customer, "lord")
		disabled := s.lord(admin, reseller, "disabled")
		s.do("PUT", "/users/"+s.do("GET", "/users?username=disabled", disabled, "").List().Column("uuid")[0], admin, `{"enabled":false}`).Want(200)
		a := s.do("GET", "/access/holders?access=confd.x.read", lord, "").Want(200)
		if a.JSON("total") != 1.0 || a.JSON("above") != 2.0 || strings.Contains(a.Body, `"username":"admin"`) {
			t.Errorf("answered %s", a.Body)
		}
		if a := s.do("GET", "/access/holders?access=confd.x.read&recurse=true", admin, "").Want(200); a.JSON("above") != 0.0 {
			t.Errorf("above the master tenant: %s", a.Body)
		}
	})
}

func TestExplain(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		s.svc.UseRequirements(requirements)
		admin := s.admin()
		user, _, token := s.account(admin, "operator", "confd.voicemails.#", "!confd.voicemails.5.delete")
		group := s.do("POST", "/groups", admin, `{"name":"Night shift"}`).Want(200).Text("uuid")
		given := s.do("POST", "/policies", admin, `{"name":"readers","acl":["confd.users.*.read"]}`).Want(200).Text("uuid")
		s.do("PUT", "/groups/"+group+"/policies/"+given, admin, "").Want(204)
		s.do("PUT", "/groups/"+group+"/users/"+user, admin, "").Want(204)

		for _, c := range []struct {
			name, method, path, pattern string
			allowed                     bool
		}{
			{"own policy", "GET", "/api/confd/1.1/voicemails/5", "confd.voicemails.#", true},
			{"denial wins", "DELETE", "/api/confd/1.1/voicemails/5", "!confd.voicemails.5.delete", false},
			{"through a group", "GET", "/api/confd/1.1/users/17", "confd.users.*.read", true},
			{"nothing matches", "GET", "/api/confd/1.1/lines", "", false},
		} {
			t.Run(c.name, func(t *testing.T) {
				s := s.in(t)
				a := s.do("GET", "/explain?method="+c.method+"&path="+c.path, token, "").Want(200)
				if a.JSON("allowed") != c.allowed {
					t.Errorf("allowed: %s", a.Body)
				}
				if c.pattern != "" && a.Text("pattern") != c.pattern {
					t.Errorf("pattern: %s", a.Body)
				}
				if other := s.do("GET", "/explain?method="+c.method+"&path="+c.path+"&user_uuid="+user, admin, "").Want(200); other.JSON("allowed") != c.allowed {
					t.Errorf("for the administrator: %s", other.Body)
				}
			})
		}
		through := s.do("GET", "/explain?method=GET&path=/api/confd/1.1/users/17", token, "").Want(200)
		if !strings.Contains(through.Body, `"group_name":"Night shift"`) || !strings.Contains(through.Body, given) {
			t.Errorf("the group is not named: %s", through.Body)
		}

		adminUUID := s.do("GET", "/token/"+admin, "", "").Want(200).Text("data.auth_id")
		s.do("GET", "/explain?method=GET&path=/api/confd/1.1/users/1&user_uuid="+adminUUID, token, "").Want(403)
		s.do("GET", "/explain?method=GET", token, "").Want(400)
		s.do("GET", "/explain?method=FETCH&path=/api/confd/1.1/users/17", token, "").Want(400).Says("Must be one of GET")

		holders := s.do("GET", "/access/holders?access=confd.users.17.read", admin, "").Want(200)
		if holders.JSON("total") != 2.0 || !strings.Contains(holders.Body, user) {
			t.Errorf("holders: %s", holders.Body)
		}
		if none := s.do("GET", "/access/holders?access=confd.voicemails.5.delete", admin, "").Want(200); strings.Contains(none.Body, user) {
			t.Errorf("a denied user is a holder: %s", none.Body)
		}
		s.do("GET", "/access/holders?access=confd.%23", admin, "").Want(400)
	})
}

func TestAudit(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		id := func(r *http.Request) { r.Header.Set("X-Request-Id", "request-1") }
		user := s.do("POST", "/users", admin, `{"username":"a","password":"not for the audit"}`, id).Want(200).Text("uuid")
		s.do("PUT", "/users/"+user, admin, `{"firstname":"Ada"}`).Want(200)
		s.do("DELETE", "/users/"+user, admin, "").Want(204)

		list := s.do("GET", "/audit?resource=users&object="+user, admin, "").Want(200)
		if list.JSON("filtered") != 3.0 {
			t.Fatalf("audit: %s", list.Body)
		}
		for _, want := range []string{`"action":"create_user"`, `"action":"update_user"`, `"action":"delete_user"`, `"firstname":"Ada"`, `"request_id":"request-1"`} {
			if !strings.Contains(list.Body, want) {
				t.Errorf("no %s in %s", want, list.Body)
			}
		}
		if strings.Contains(list.Body, "not for the audit") || strings.Contains(list.Body, "argon2id") {
			t.Errorf("a secret is in the audit: %s", list.Body)
		}
		if none := s.do("GET", "/audit?until=2000-01-01T00:00:00Z", admin, "").Want(200); none.JSON("filtered") != 0.0 {
			t.Errorf("audit before 2000: %s", none.Body)
		}
		// A refused change leaves no entry.
		before := s.do("GET", "/audit", admin, "").Want(200).JSON("total")
		s.do("POST", "/users", admin, `{"username":"admin"}`).Want(409)
		if after := s.do("GET", "/audit", admin, "").Want(200).JSON("total"); after != before {
			t.Errorf("a refused change has a row: %v, then %v", before, after)
		}
		if _, err := db.Exec(t.Context(), `DELETE FROM audit`); err == nil {
			t.Error("the audit lets its rows be deleted")
		}
	})
}

// The holders of an access come a page at a time, in a stable order, and need no more memory for more users.
func TestHoldersArePaged(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		watch := new(arguments)
		s := newServer(t, storetest.Watch(db, watch.see))
		admin := s.admin()
		crowded := s.tenant(admin, "crowded")
		addCrowd(t, db, crowded) // each may calld.calls.read
		const path = "/access/holders?access=calld.calls.read"
		ask := func(query string) resttest.List {
			t.Helper()
			return s.do("GET", path+query, admin, "", resttest.In(crowded)).List()
		}
		first := ask("")
		if first.Total != crowd || len(first.Items) != 100 {
			t.Fatalf("%d of %d holders", len(first.Items), first.Total)
		}
		var all []string
		for len(all) < crowd {
			l := ask(fmt.Sprintf("&limit=700&offset=%d", len(all)))
			if l.Total != crowd || len(l.Items) != min(700, crowd-len(all)) {
				t.Fatalf("%d of %d holders after %d", len(l.Items), l.Total, len(all))
			}
			all = append(all, l.Column("user_uuid")...)
		}
		if !slices.IsSorted(all) || len(slices.Compact(all)) != crowd {
			t.Error("the pages are not the users in the order of their UUIDs")
		}
		if l := ask("&limit=100000"); len(l.Items) != 1000 {
			t.Errorf("a page has %d users", len(l.Items))
		}
		if l := ask(fmt.Sprintf("&offset=%d", crowd)); len(l.Items) != 0 || l.Total != crowd {
			t.Errorf("past the end: %d of %d", len(l.Items), l.Total)
		}
		if l := s.do("GET", path+"&recurse=true&limit=1", admin, "").List(); l.Total != crowd+1 || len(l.Items) != 1 {
			t.Errorf("with the tenants below: %d of %d", len(l.Items), l.Total)
		}
		for _, bad := range []string{"&limit=0", "&limit=-1", "&limit=x", "&offset=-1", "&limit=1&limit=2", "&offset=1e3"} {
			s.do("GET", path+bad, admin, "").Want(400)
		}
		if n := watch.most(); n > 100 {
			t.Errorf("a query names %d users", n)
		}
	})
}

// arguments keeps the largest number of arguments that a query has had.
type arguments struct {
	mu sync.Mutex
	n  int
}

func (a *arguments) see(_ string, args []any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n = max(a.n, len(args))
}

func (a *arguments) most() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n
}

// Whom and what a caller is denied to read is in no answer about others: neither sessions and refresh tokens of a user, nor who holds an access,
// through which policy and which group.
func TestDeniedHoldersAndSessions(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		ann, policy, _ := s.account(admin, "ann", "confd.lines.read")
		group := s.do("POST", "/groups", admin, `{"name":"crowd"}`).Want(200).Text("uuid")
		s.do("PUT", "/groups/"+group+"/policies/"+policy, admin, "").Want(204)
		s.do("PUT", "/groups/"+group+"/users/"+ann, admin, "").Want(204)
		for i, test := range []struct {
			denied, path, marker string
		}{
			{"auth.users." + ann + ".read", "/sessions", ann},
			{"auth.users." + ann + ".sessions.read", "/sessions", ann},
			{"auth.users." + ann + ".read", "/access/holders?access=confd.lines.read", ann},
			{"auth.policies." + policy + ".read", "/access/holders?access=confd.lines.read", policy},
			{"auth.groups." + group + ".read", "/access/holders?access=confd.lines.read", group},
			{"auth.groups." + group + ".read", "/access/holders?access=confd.lines.read", "crowd"},
			{"auth.users." + ann + ".read", "/audit?resource=users&search=ann", ann},
		} {
			if all := s.do("GET", test.path, admin, "").Want(200); !strings.Contains(all.Body, test.marker) {
				t.Errorf("%s shows everybody no %s: %s", test.path, test.marker, all.Body)
			}
			_, _, caller := s.account(admin, fmt.Sprint("reader", i), "#", "!"+test.denied)
			if got := s.do("GET", test.path, caller, "").Want(200); strings.Contains(got.Body, test.marker) {
				t.Errorf("%s without %s: %s", test.path, test.denied, got.Body)
			}
		}
	})
}
