package authsvc_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// given is what the policies give that are linked: more than those have who only manage users, or groups.
var given = []any{"auth.tenants.read"}

// giveAccess has a policy give something.
func giveAccess(c *crudtest.Client, _, policy crudtest.Object) {
	c.Do(http.MethodPut, "/policies/"+policy.Text("uuid"), crudtest.Object{"acl": given}).Want(http.StatusOK)
}

// logIn makes a user of c's tenant, and logs them in.
func logIn(c *crudtest.Client, n int, request crudtest.Object) (user string) {
	name := fmt.Sprintf("login%d", n)
	user = c.Create("/users", crudtest.Object{"username": name, "password": adminPassword}).Text("uuid")
	c.Do(http.MethodPost, "/token", request, resttest.Basic(name, adminPassword)).Want(http.StatusOK)
	return user
}

// TestResources tests every resource by its declaration.
func TestResources(t *testing.T) {
	var service *authsvc.Service
	mount := func(tb testing.TB, db store.DB) *rest.Service {
		tb.Helper()
		box := sealed.New(sealed.Options{File: filepath.Join(tb.TempDir(), "sealing-key")})
		svc, err := authsvc.New(authsvc.Options{DB: db, Sealer: box, Settings: authsvc.Settings{Passwords: cheapest.Passwords, Limits: lenient}})
		if err != nil {
			tb.Fatal(err)
		}
		service = svc
		if err := box.Prepare(tb.Context(), db); err != nil {
			tb.Fatal(err)
		}
		if _, err := svc.Bootstrap(tb.Context(), authsvc.Admin{Username: "admin", Password: adminPassword, File: filepath.Join(tb.TempDir(), "admin-credentials")}); err != nil {
			tb.Fatal(err)
		}
		// A policy that comes with the program appears in every list, and would be counted.
		if _, err := db.Exec(tb.Context(), `UPDATE auth_policy SET config_managed = false`); err != nil {
			tb.Fatal(err)
		}
		return svc.REST()
	}
	mount(t, storetest.SQLite(t))
	crudtest.Suite{
		Described: service.Described(), Access: "auth.#", Mount: mount,
		Resources: map[string]crudtest.Resource{
			"groups": {
				Minimal: func(_ *crudtest.Client, n int) crudtest.Object {
					return crudtest.Object{"name": fmt.Sprintf("Group%d", n)}
				},
				Values: func(n int) crudtest.Object { return crudtest.Object{"name": fmt.Sprintf("Other%d", n)} },
				Except: []string{"slug"},
				Links: map[string]crudtest.Link{
					"users": {
						Ready: func(c *crudtest.Client, group, _ crudtest.Object) {
							policy := c.Create("/policies", crudtest.Object{"name": "Of " + group.Text("name"), "acl": given})
							c.Do(http.MethodPut, "/groups/"+group.Text("uuid")+"/policies/"+policy.Text("uuid"), nil).Want(http.StatusNoContent)
						},
						Refused: "auth.groups.#",
					},
					"policies": {Ready: giveAccess, Refused: "auth.groups.#"},
				},
			},
			"policies": {
				Minimal: func(_ *crudtest.Client, n int) crudtest.Object {
					return crudtest.Object{"name": fmt.Sprintf("Policy%d", n)}
				},
				Values: func(n int) crudtest.Object {
					return crudtest.Object{"name": fmt.Sprintf("Other%d", n), "acl": []any{"auth.users.read"}}
				},
				Except: []string{"slug", "shared"},
			},
			"tenants": {
				Minimal: func(_ *crudtest.Client, n int) crudtest.Object {
					return crudtest.Object{"name": fmt.Sprintf("Tenant%d", n)}
				},
				Values: func(n int) crudtest.Object {
					return crudtest.Object{
						"name": fmt.Sprintf("Other%d", n), "domain_names": []any{fmt.Sprintf("d%d.example", n)},
						"address": crudtest.Object{"line_1": nil, "line_2": nil, "city": fmt.Sprintf("City %d", n), "state": nil, "country": nil, "zip_code": nil},
					}
				},
				Except: []string{"slug", "contact"},
			},
			"audit": {
				Make: func(c *crudtest.Client, n int) crudtest.Object {
					policy := c.Create("/policies", crudtest.Object{"name": fmt.Sprintf("Audited%d", n)})
					return c.Get("/audit?object=" + policy.Text("uuid")).List().Items[0]
				},
			},
			"sessions": {
				Make: func(c *crudtest.Client, n int) crudtest.Object {
					return c.Get("/sessions?user_uuid=" + logIn(c, n, crudtest.Object{})).List().Items[0]
				},
			},
			"tokens": {
				Make: func(c *crudtest.Client, n int) crudtest.Object {
					client := fmt.Sprintf("client%d", n)
					logIn(c, n, crudtest.Object{"access_type": "offline", "client_id": client})
					return c.Get("/tokens?client_id=" + client).List().Items[0]
				},
			},
			"users": {
				Minimal: func(_ *crudtest.Client, n int) crudtest.Object {
					return crudtest.Object{"username": fmt.Sprintf("user%d", n)}
				},
				Values: func(n int) crudtest.Object { return crudtest.Object{"username": fmt.Sprintf("other%d", n)} },
				Except: []string{"uuid", "password", "email_address"}, // chosen on create alone
				Links:  map[string]crudtest.Link{"policies": {Ready: giveAccess, Refused: "auth.users.#"}},
			},
		},
		Documents: map[string]crudtest.Document{
			"backends/ldap": {
				Resource: crudtest.Resource{
					Minimal: func(_ *crudtest.Client, n int) crudtest.Object {
						return crudtest.Object{
							"host": fmt.Sprintf("ldap%d.example", n), "port": 389, "user_base_dn": "dc=example", "user_login_attribute": "uid",
							"user_email_attribute": "mail",
						}
					},
					Values: func(n int) crudtest.Object {
						return crudtest.Object{
							"protocol_version": 2, "protocol_security": "ldaps", "bind_dn": fmt.Sprintf("cn=u%d,dc=example", n),
							"search_filters": "(uid={username})", "user_base_dn": fmt.Sprintf("ou=o%d,dc=example", n),
						}
					},
				},
				Secrets: []string{"bind_password"},
			},
			"external/{auth_type}/config": {
				Resource: crudtest.Resource{
					Minimal: func(_ *crudtest.Client, n int) crudtest.Object {
						return crudtest.Object{"client_id": fmt.Sprintf("client %d", n), "other": crudtest.Object{"large": 12345678901234567890.0}}
					},
				},
				Parameters: []string{"Any_type-1"},
				Secrets:    []string{"client_secret", "fcm_api_key", "ios_apn_certificate", "ios_apn_private", "fcm_service_account_info"},
			},
		},
	}.Run(t)
}
