package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Logins keeps the accounts with which users log in: the authentication service, on the same database. An account has its user's UUID. All
// but the schema and ReceiveLogin run in the user's transaction, and refuse a caller who may not do the same there.
type Logins interface {
	// LoginSchema is the schema of an account, which is the attribute `auth` of a user.
	LoginSchema() *rest.Schema
	// ReceiveLogin reads what was sent, before the transaction. A new account takes from usual what was not sent.
	ReceiveLogin(ctx context.Context, r *rest.Request, sent, usual map[string]any) (login any, err error)
	// WriteLogin makes or changes an account, and returns what a reply shows. fresh says that the user is made in this transaction.
	WriteLogin(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID, userUUID string, fresh bool, login any) (shown any, err error)
	// DeleteLogin deletes the account, if there is one.
	DeleteLogin(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID, userUUID string) error
}

// usualLogin is where a new account takes from the user what was not sent of it.
var usualLogin = map[string]string{
	"firstname": "firstname", "lastname": "lastname", "username": "username", "password": "password", "email_address": "email",
}

// nestLogins declares the accounts of users.
func nestLogins(e *crud.Engine, logins Logins) {
	schema := func() *rest.Schema {
		s := *logins.LoginSchema()
		s.Nullable, s.Doc = true, "The account with which the user logs in: what it lacks is taken from the user. null makes none, and changes none."
		return &s
	}
	crud.Nested[User]{
		Name: "auth", Body: schema, Partial: schema, Reply: schema,
		Receive: func(ctx context.Context, r *rest.Request, body rest.Object, value any) (any, error) {
			sent, there := value.(map[string]any)
			if !there {
				return nil, nil
			}
			usual := map[string]any{}
			for name, of := range usualLogin {
				usual[name] = body.Value(of)
			}
			return logins.ReceiveLogin(ctx, r, sent, usual)
		},
		Write: func(ctx context.Context, c store.Conn, change *crud.Change[User], login any) (any, error) {
			if login == nil {
				return nil, nil
			}
			shown, err := logins.WriteLogin(ctx, c, change.Request, change.New.TenantUUID, change.New.UUID, change.Old == nil, login)
			if e := apierr.As(err); e != nil && e.Kind == apierr.Conflict {
				taken := *e
				taken.Kind, taken.ID = apierr.Invalid, rest.ResourceError // as every other attribute that somebody else has
				err = &taken
			}
			return shown, err
		},
		Show: func(_ context.Context, _ store.Conn, _ string, shown []any) ([]any, error) { return shown, nil },
		Remove: func(ctx context.Context, c store.Conn, change *crud.Change[User]) error {
			return logins.DeleteLogin(ctx, c, change.Request, change.Old.TenantUUID, change.Old.UUID)
		},
	}.On(e)
}
