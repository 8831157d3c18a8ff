package authsvc_test

import (
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// No operation has a body, a header or a query that it cannot refuse. What is counted of refused logins is kept, and swept meanwhile.
func TestHostileRequests(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		p, err := s.cache.Principal(t.Context(), admin)
		if err != nil {
			t.Fatal(err)
		}
		s.svc.UseNode(func() authsvc.Node { return authsvc.Node{} })
		c := resttest.To(t, s.svc.REST(), "/api/auth/0.1", p)
		group, policy := c.Create("/groups", map[string]any{"name": "g"}), c.Create("/policies", map[string]any{"name": "p"})
		tenant := c.Create("/tenants", map[string]any{"name": "t"})
		user, _, token := s.account(admin, "client", "auth.#")
		emails := s.do("PUT", "/admin/users/"+user+"/emails", admin, `{"emails":[{"address":"al@example.org","main":true}]}`).Want(200)
		var sent []struct{ UUID string }
		resttest.Decode(t, emails.Body, &sent)
		resttest.Hostile{Client: c, State: storetest.Contents(t, db, "auth_limit"), Missing: []string{"mail-not-configured", "saml-not-implemented"}, Params: map[string]string{
			"user_uuid": user, "group_uuid": group.Text("uuid"), "policy_uuid": policy.Text("uuid"), "tenant_uuid": tenant.Text("uuid"),
			"parent_tenant_uuid": tenant.Text("uuid"), "email_uuid": sent[0].UUID, "token": token, "auth_type": "google", "idp_type": "ldap",
			"access": "auth.users.read", "client_id": "x",
		}}.Run(t)
	})
}
