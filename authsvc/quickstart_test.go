package authsvc_test

import (
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// The README's quickstart, up to the gate.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		user, policy, token := s.account(admin, "client", "confd.#", "auth.#")

		p, err := s.cache.Principal(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		if !p.Allows("confd.users.read") || p.UserUUID != user || p.Purpose != "external_api" {
			t.Fatalf("the token speaks for %+v", p)
		}

		s.do("PUT", "/policies/"+policy, admin, `{"name":"client","acl":["confd.voicemails.read"]}`).Want(200)
		if p, err = s.cache.Principal(t.Context(), token); err != nil || p.Allows("confd.users.read") || !p.Allows("confd.voicemails.read") {
			t.Fatalf("after the policy was restricted the token speaks for %+v, %v", p, err)
		}

		s.do("DELETE", "/users/"+user, admin, "").Want(204)
		if _, err := s.cache.Principal(t.Context(), token); err == nil {
			t.Fatal("the deleted user's token still speaks for somebody")
		}
		s.do("GET", "/token/"+token, "", "").Want(404)
	})
}
