package authsvc

import (
	"context"
	"errors"
	"net/http"
	"unicode/utf8"

	"github.com/ringfence/ringfence/authsvc/throttle"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// passwordChange is the body of PUT /users/{user_uuid}/password.
type passwordChange struct {
	Old string `json:"old_password" required:"true" minLength:"1" maxLength:"1024"`
	New string `json:"new_password" required:"true" minLength:"1" maxLength:"1024" doc:"At least 8 characters, or as many as the installation asks for."`
}

// passwordOperations change and reset passwords.
func (s *Service) passwordOperations() []rest.Operation {
	return append([]rest.Operation{{
		Method: http.MethodPut, Path: "/users/{user_uuid}/password", Access: "auth.users.{user_uuid}.password.update",
		ID: "change_password", Tag: "users", Summary: "Change a user's password",
		Description: "Ends all of the user's sessions but the one that makes the change, and deletes the user's refresh tokens.",
		Body:        rest.SchemaOf[passwordChange](), MaxBody: maxAuthBody, Success: http.StatusNoContent, Tenanted: true,
		Statuses: []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusPreconditionFailed, http.StatusTooManyRequests},
		Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
			return rest.Reply{}, s.changePassword(ctx, r)
		},
	}}, s.passwordResetOperations()...)
}

// changePassword counts the old password as a guess: a person who has a session but not the password may guess only as slowly as
// everybody else.
func (s *Service) changePassword(ctx context.Context, r *rest.Request) error {
	body, err := rest.Decode[passwordChange](r)
	if err != nil {
		return err
	}
	if err := s.checkPassword("new_password", body.New); err != nil {
		return err
	}
	// Otherwise users whose session stands on nobody would vouch for the password that somebody else has planted.
	if body.New == body.Old {
		return apierr.InvalidField("new_password", "unchanged", "Must be another than old_password")
	}
	u, err := s.users.Named(ctx, r)
	if err != nil {
		return err
	}
	// This comes before the old password is verified, or a caller could try passwords on everybody.
	if err := s.mayActOn(ctx, s.db, r.Principal(), u.UUID); err != nil {
		return err
	}
	k, err := credentialOf(ctx, s.db, u.UUID)
	if err != nil {
		return err
	}
	if err := k.managedHere(); err != nil {
		return err
	}
	if err := s.guessPassword(ctx, r, k, body.Old); err != nil {
		return err
	}
	hash, err := s.hasher.Hash(ctx, body.New)
	if err != nil {
		return err
	}
	p := r.Principal()
	err = s.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if err := s.unchangedUser(ctx, tx, r, u.UUID); err != nil {
			return err
		}
		// The caller's session stays if it is the user's own.
		n, err := tx.Exec(ctx, `UPDATE auth_user SET password_hash = $3 WHERE uuid = $1 AND password_hash = $2`, u.UUID, k.hash(), hash)
		if err != nil || n == 0 {
			return firstError(err, errNoLogin()) // somebody else has changed it in the meantime
		}
		by, err := changedBy(ctx, tx, p, u.UUID)
		if err != nil {
			return err
		}
		if err := vouch(ctx, tx, u.UUID, vouchPassword, by); err != nil {
			return err
		}
		ended, err := s.endOldPassword(ctx, tx, u.UUID, p.SessionUUID)
		if err != nil {
			return err
		}
		return audit.Write(ctx, tx, r, passwordSet(u.TenantUUID, u.UUID, ended))
	})
	if err == nil {
		s.forgetHere(forgetUser(u.UUID))
	}
	return err
}

// guessPassword refuses a password that is not the user's, as errNoLogin does, or that comes too soon after wrong ones.
func (s *Service) guessPassword(ctx context.Context, r *rest.Request, k credential, password string) error {
	return s.guarded(ctx, throttle.KeyOf("password of", k.UserUUID), s.clientNetwork(r.HTTP), func() error {
		ok, err := s.hasher.Verify(ctx, k.UserUUID, k.hash(), password)
		if err == nil && !ok {
			err = errNoLogin()
		}
		return err
	})
}

// checkPassword refuses a new password that is too short to be safe, or too long to hash.
func (s *Service) checkPassword(field, password string) error {
	if shortest := s.settings.Load().Passwords.Shortest; utf8.RuneCountInString(password) < shortest {
		return apierr.InvalidField(field, "length", "Must have at least %d characters", shortest)
	}
	if len(password) > MaxPassword {
		return apierr.InvalidField(field, "length", "Must have at most %d bytes", MaxPassword)
	}
	return nil
}

// credential says how a user proves their identity.
type credential struct {
	UserUUID     string  `db:"uuid"`
	TenantUUID   string  `db:"tenant_uuid"`
	Method       string  `db:"method"` // native, ldap or saml: the tenant's if the user has the default
	PasswordHash *string `db:"password_hash"`
	Enabled      bool    `db:"enabled"`
}

func credentialOf(ctx context.Context, c store.Conn, user string) (credential, error) {
	k, err := store.Get[credential](ctx, c, `
		SELECT u.uuid, u.tenant_uuid, u.password_hash, u.enabled,
			CASE WHEN u.authentication_method = 'default' THEN t.default_authentication_method ELSE u.authentication_method END AS method
		FROM auth_user u JOIN auth_tenant t ON t.uuid = u.tenant_uuid WHERE u.uuid = $1`, user)
	if errors.Is(err, store.ErrNotFound) {
		err = unknownUser(user)
	}
	return k, err
}

func (k credential) hash() string {
	if k.PasswordHash == nil {
		return ""
	}
	return *k.PasswordHash
}

// managedHere refuses to set the password of a user whose password is kept elsewhere.
func (k credential) managedHere() error {
	if k.Method == "native" {
		return nil
	}
	e := apierr.New(apierr.MethodNotAllowed, "This user's password is managed elsewhere, by %s", k.Method)
	e.ID, e.Resource = "password-managed-externally", "users"
	return e
}

// endOldPassword ends what the old password gave: sessions, except the one to keep, refresh tokens, and links to reset it. It
// announces that, and returns how many sessions ended.
func (s *Service) endOldPassword(ctx context.Context, tx store.Conn, user, keep string) (int64, error) {
	var session *string
	if keep != "" {
		session = &keep
	}
	ended, err := tx.Exec(ctx, `DELETE FROM auth_token WHERE user_uuid = $1 AND session_uuid IS DISTINCT FROM $2`, user, session)
	if err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM auth_refresh_token WHERE user_uuid = $1`, user); err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM auth_single_use WHERE user_uuid = $1 AND kind = $2`, user, resetsPassword); err != nil {
		return 0, err
	}
	return ended, s.announce(ctx, tx, forgetUser(user))
}

// passwordSet returns the audit's entry for a password that was set.
func passwordSet(tenant, user string, ended int64) audit.Change {
	return audit.Change{Tenant: tenant, Resource: "users", Object: user, After: map[string]any{"uuid": user, "sessions_ended": ended}}
}
