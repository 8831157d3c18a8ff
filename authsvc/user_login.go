package authsvc

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// A login is the account of a telephone user: it has that user's UUID. The configuration service keeps it together with the user, in the
// user's own transaction, by the functions of this file. They do all that the API's own operations do, and need their accesses: a token that
// may write telephone users may not therefore write accounts.

// NewLogin is the account of a telephone user as a client sent it.
type NewLogin struct {
	sent rest.Object
	user User
	hash string
	// fresh says that the telephone user is made in the same transaction: nothing has referred to its UUID before.
	fresh bool
}

// LoginSchema returns the schema of an account, which must not be changed. It says what its attributes are, since another service's
// definition shows it.
func (s *Service) LoginSchema() *rest.Schema { return loginSchema() }

var loginSchema = sync.OnceValue(func() *rest.Schema {
	out := explained(rest.SchemaOf[User]())
	out.Name = "UserAuth"
	out.Property("uuid").ReadOnly = true
	return out
})

// explained returns a schema with the descriptions of this service's definition.
func explained(s *rest.Schema) *rest.Schema {
	out := *s
	if s.Items != nil {
		out.Items = explained(s.Items)
	}
	out.Properties = slices.Clone(s.Properties)
	for i := range out.Properties {
		p := &out.Properties[i]
		p.Schema = explained(p.Schema)
		p.Schema.Doc = cmp.Or(p.Schema.Doc, docs[s.Name+"."+p.Name], docs[p.Name])
	}
	return &out
}

// ReceiveLogin reads an account, and hashes its password, before the transaction. What was not sent is in usual, for a new account.
func (s *Service) ReceiveLogin(ctx context.Context, r *rest.Request, sent, usual map[string]any) (any, error) {
	if p := r.Principal(); p != nil && p.Affiliation != nil && p.Remote {
		return nil, apierr.New(apierr.Invalid, "field 'auth': accounts are kept by the authentication server that issued your token").On("auth")
	}
	schema := s.LoginSchema()
	whole := map[string]any{}
	for _, values := range []map[string]any{usual, sent} {
		for name, value := range values {
			if value != nil || usual[name] == nil {
				whole[name] = value
			}
		}
	}
	if wrong := schema.Validate("", whole); len(wrong) > 0 {
		return nil, &apierr.Error{Kind: apierr.Invalid, Fields: wrong}
	}
	login := &NewLogin{sent: schema.Partial().Object(sent)}
	if err := schema.SetDefaults(&login.user); err != nil {
		return nil, err
	}
	if err := schema.Object(whole).Into(&login.user); err != nil {
		return nil, err
	}
	change := &crud.Change[User]{Request: r, Sent: login.sent, New: &login.user}
	if err := s.receiveUser(ctx, change); err != nil {
		return nil, err
	}
	login.hash, _ = change.Carry.(string)
	return login, nil
}

// WriteLogin makes the account of a telephone user, or changes it, in the transaction of the user, and returns it as its API shows it.
// fresh says that the telephone user is made in the same transaction.
func (s *Service) WriteLogin(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID, userUUID string, fresh bool, received any) (any, error) {
	login := *received.(*NewLogin)
	old, err := s.loginOf(ctx, c, tenantUUID, userUUID)
	if err != nil {
		return nil, err
	}
	if old == nil {
		if err := needs(r, "auth.users.create"); err != nil {
			return nil, err
		}
		user := login.user
		user.UUID, login.fresh = userUUID, fresh
		change := &crud.Change[User]{Request: r, Sent: login.sent, Tenant: tenantUUID, New: &user, Carry: &login}
		return &user, s.users.Insert(ctx, c, change)
	}
	if err := needs(r, fmt.Sprintf("auth.users.%s.update", userUUID)); err != nil {
		return nil, err
	}
	change := &crud.Change[User]{Request: r, Sent: login.sent, Tenant: tenantUUID, Old: old}
	if login.sent.Has("password") { // whether it is the stored one is not found out within the transaction: hashing takes long
		return nil, notThePassword()
	}
	if err := keepsAddress(old, login.sent); err != nil {
		return nil, err
	}
	err = s.users.Update(ctx, c, change, func(u *User) error {
		if err := login.sent.Without("email_address").Into(u); err != nil {
			return err
		}
		u.UUID = userUUID
		return nil
	})
	return change.New, err
}

// DeleteLogin deletes the account of a telephone user, if there is one in the user's tenant.
func (s *Service) DeleteLogin(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID, userUUID string) error {
	if p := r.Principal(); p != nil && p.Affiliation != nil && p.Remote {
		return nil // it is not kept here
	}
	old, err := s.loginOf(ctx, c, tenantUUID, userUUID)
	if err != nil || old == nil {
		return err
	}
	if err := needs(r, fmt.Sprintf("auth.users.%s.delete", userUUID)); err != nil {
		return err
	}
	return s.users.Delete(ctx, c, &crud.Change[User]{Request: r, Tenant: tenantUUID, Old: old})
}

// loginOf returns the account with a UUID in a tenant, or nil.
func (s *Service) loginOf(ctx context.Context, c store.Conn, tenantUUID, userUUID string) (*User, error) {
	found, err := s.users.Select(ctx, c, "uuid = $1 AND tenant_uuid = $2", userUUID, tenantUUID)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], loadEmails(ctx, c, found)
}

// needs refuses a caller who does not hold an access.
func needs(r *rest.Request, access string) error {
	if p := r.Principal(); p == nil || p.Allows(access) {
		return nil
	}
	e := apierr.New(apierr.Forbidden, "You also need %s, for the account", access)
	e.Details = map[string]any{"required_access": access}
	return e
}
