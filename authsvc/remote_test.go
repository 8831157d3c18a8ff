package authsvc_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

// A token of another auth server may identify its user by something other than a UUID. What it changes is in the audit, by nobody
// who is known here.
func TestARemoteUserWhoHasNoUUIDMayWrite(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		set, err := acl.Compile([]string{"#"})
		if err != nil {
			t.Fatal(err)
		}
		c := resttest.To(t, s.svc.REST(), "/api/auth/0.1", &principal.Principal{
			UserUUID: "wazo-auth", SessionUUID: "none", ACL: set, Affiliation: &principal.Affiliation{TenantUUID: uuid.NewString(), Remote: true},
		})
		policy := c.Do(http.MethodPost, "/policies", `{"name":"theirs"}`).Want(200).Text("uuid")
		n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM audit WHERE object = $1 AND actor_uuid IS NULL AND session_uuid IS NULL`, policy)
		if err != nil || n != 1 {
			t.Errorf("the audit has %d rows, %v", n, err)
		}
		c.Do(http.MethodGet, "/users/me/tokens", "").Want(404)
		c.Do(http.MethodDelete, "/users/me/tokens/phone", "").Want(404)
	})
}

// What is for users of the master tenant is for those of the tenant of another auth server that the operator has named, too; and not
// for a program of that server that has no tenant.
func TestTheNamedMasterTenantIsTheMaster(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		set, err := acl.Compile([]string{"#"})
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			tenant string
			master bool
			status int
		}{
			"the named one": {uuid.NewString(), true, 200}, "another": {uuid.NewString(), false, 403}, "none": {"", false, 403}, "no UUID": {"master", false, 403},
		} {
			caller := resttest.To(t, s.svc.REST(), "/api/auth/0.1", &principal.Principal{
				UserUUID: uuid.NewString(), SessionUUID: "none", ACL: set, Affiliation: &principal.Affiliation{TenantUUID: c.tenant, Remote: true, Master: c.master},
			})
			for _, asked := range []struct{ method, path, body string }{
				{"GET", "/config", ""}, {"PATCH", "/config", `[{"op":"replace","path":"/debug","value":false}]`},
			} {
				if a := caller.Do(asked.method, asked.path, asked.body); a.Status != c.status {
					t.Errorf("%s: %s %s: %d %s", name, asked.method, asked.path, a.Status, a.Body)
				}
			}
		}
	})
}
