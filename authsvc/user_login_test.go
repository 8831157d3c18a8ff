package authsvc_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Another auth server keeps the accounts of those whose tokens it issues: here none is made for them, and the refusal says so.
func TestLoginOfAnotherServer(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		auth, err := authsvc.New(authsvc.Options{DB: db, Settings: cheapest})
		if err != nil {
			t.Fatal(err)
		}
		svc := &rest.Service{Name: "confd", Errors: rest.MessageList, Operations: []rest.Operation{{
			Method: http.MethodPost, Path: "/users", ID: "create_user", Access: "confd.users.create", Success: http.StatusNoContent,
			Body: auth.LoginSchema(),
			Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
				sent, err := r.Object()
				if err != nil {
					return rest.Reply{}, err
				}
				_, err = auth.ReceiveLogin(ctx, r, sent.Values(), nil)
				return rest.Reply{}, err
			},
		}}}
		if err := svc.Mount(); err != nil {
			t.Fatal(err)
		}
		set, err := acl.Compile([]string{"#"})
		if err != nil {
			t.Fatal(err)
		}
		for remote, want := range map[bool]int{true: http.StatusBadRequest, false: http.StatusNoContent} {
			c := resttest.To(t, svc, "", &principal.Principal{
				UserUUID: uuid.NewString(), ACL: set, Affiliation: &principal.Affiliation{TenantUUID: uuid.NewString(), Remote: remote},
			})
			got := c.Do(http.MethodPost, "/users", map[string]any{"username": "al"}).Want(want)
			const why = `["Input Error - field 'auth': accounts are kept by the authentication server that issued your token"]`
			if remote && got.Body != why {
				t.Errorf("%s, want %s", got.Body, why)
			}
		}
	})
}
