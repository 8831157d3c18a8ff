package authsvc

import (
	"context"
	"errors"
	"log/slog"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
)

// A refresh token stands for a password that was proved long ago. If a directory checked that password, it is asked on each use
// whether the user could still log in. Tokens issued earlier stay valid until they expire: anything sooner would take a question
// per request.

// mayRefresh returns nil if the backends would still let a refresh token's user log in.
func (s *Service) mayRefresh(ctx context.Context, user string) error {
	return refreshRefusal(ctx, user, s.recheck(ctx, user))
}

// mayGoOffline refuses a refresh token to a user who has just logged in, if the token would be useless.
func (s *Service) mayGoOffline(ctx context.Context, user string) error {
	err := s.recheck(ctx, user)
	if errors.Is(err, ErrNoRecheck) {
		e := apierr.New(apierr.NotImplemented, "Refresh tokens need a directory that can be asked without the password: set bind_dn and bind_password of the tenant's; or ask for access_type online")
		e.Err = err
		return e
	}
	return refreshRefusal(ctx, user, err)
}

// refreshRefusal returns what the client is told of the result of recheck.
func refreshRefusal(ctx context.Context, user string, err error) error {
	e := apierr.As(err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrRefused), errors.Is(err, ErrNoRecheck):
		slog.InfoContext(ctx, "a refresh token was refused", "user_uuid", user, "error", err)
		return errNoLogin()
	case e != nil, errors.Is(err, store.ErrUnavailable), ctx.Err() != nil:
		return err
	default:
		return &apierr.Error{
			Kind: apierr.Unavailable, ID: "backend-unavailable", RetryAfter: askAgain, Err: err,
			Message: "Whether the user may still log in cannot be checked now; try again shortly",
		}
	}
}

// recheck asks the backends of a user's method about the user.
func (s *Service) recheck(ctx context.Context, user string) error {
	type known struct {
		Method     string `db:"method"`
		TenantUUID string `db:"tenant_uuid"`
	}
	u, err := store.Get[known](ctx, s.db, `SELECT `+methodOf+` AS method, u.tenant_uuid
		FROM auth_user u JOIN auth_tenant t ON t.uuid = u.tenant_uuid WHERE u.uuid = $1 AND u.enabled`, user)
	if errors.Is(err, store.ErrNotFound) {
		return refusedFor("the user is disabled or gone")
	}
	if err != nil {
		return err
	}
	anybody := false
	for _, b := range *s.backends.Load() {
		if methodOfBackend(b) != u.Method {
			continue
		}
		anybody = true
		asked, ok := b.(BackendRechecker)
		if !ok {
			continue
		}
		id, err := s.identityOf(ctx, b.Name(), user)
		if err != nil {
			return err
		}
		if id.ID == "" && u.Method == nativeMethod {
			continue // of another backend, or of the database itself
		}
		if id.ID == "" {
			id.TenantUUID = u.TenantUUID
		}
		if _, err := ask(ctx, &s.places, b, u.TenantUUID, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, asked.Recheck(ctx, id)
		}); err != nil {
			return err
		}
	}
	if !anybody {
		return refusedFor("no backend is configured for the user's authentication_method")
	}
	return nil
}

// identityOf returns a user as a backend knows them: the entry that the user is bound to, if any, and the user's logins.
func (s *Service) identityOf(ctx context.Context, backend, user string) (Identity, error) {
	type bound struct {
		Realm string `db:"realm"`
		ID    string `db:"external_id"`
	}
	b, err := store.Get[bound](ctx, s.db, `SELECT realm, external_id FROM auth_identity WHERE backend = $1 AND user_uuid = $2`, backend, user)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return Identity{}, err
	}
	logins, err := store.Select[string](ctx, s.db, `SELECT l.login FROM auth_login l LEFT JOIN auth_email e ON e.uuid = l.email_uuid
		WHERE l.user_uuid = $1 AND (l.email_uuid IS NULL OR e.confirmed) ORDER BY l.login`, user)
	return Identity{UserUUID: user, TenantUUID: b.Realm, ID: b.ID, Logins: logins}, err
}
