package authsvc

import (
	"context"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

// tokenRow is a row of auth_token.
type tokenRow struct {
	Digest      tokens.Digest
	SessionUUID string
	UserUUID    string
	UserAgent   string
	RemoteAddr  string
	Mobile      bool
	Backend     string // that checked the password
	RefreshUUID string // empty: issued without one
}

// login is a token that is about to be issued.
type login struct {
	tokenRow
	lifetime time.Duration
	offline  *offline // nil: no refresh token is requested

	hash, rehashed string    // of the password; see Identity
	by             []voucher // for a way in that is not the password; see Identity
}

// issued is the result of a login beside the token.
type issued struct {
	refresh string // the refresh token, if one was requested
	revoked int    // sessions that the login ended
}

// issue stores a new token of an enabled user. The times are the database's, so that nodes with different clocks agree on when it
// expires.
func (s *Service) issue(ctx context.Context, l login) (done issued, err error) {
	var gone []forget
	err = s.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		done, gone = issued{}, nil
		now, err := store.Get[time.Time](ctx, tx, `SELECT now_utc()`)
		if err != nil {
			return err
		}
		if err := s.stillEnters(ctx, tx, l); err != nil {
			return err
		}
		if l.offline != nil {
			var ended []tokenOf
			if done.refresh, l.RefreshUUID, ended, err = s.obtain(ctx, tx, l, now); err != nil {
				return err
			}
			for _, t := range ended {
				gone = append(gone, forgetToken(tokens.Digest(t.Digest)))
			}
			done.revoked = len(ended)
		}
		if err := checkSessions(ctx, tx, l.UserUUID, s.settings.Load().Sessions.PerUser); err != nil {
			return err
		}
		if err := insertToken(ctx, tx, l, now); err != nil {
			return err
		}
		return s.announce(ctx, tx, gone...)
	})
	if store.IsConstraint(err, store.ForeignKey) { // the user or the refresh token was deleted in the meantime
		err = errNoLogin()
	}
	if err != nil {
		return issued{}, err
	}
	s.forgetHere(gone...)
	if c := s.cache.Load(); c != nil {
		c.Issued(l.Digest)
	}
	return done, nil
}

// stillEnters has those vouch again on whom a login by a backend stands, other than the database: the user's entry may have been
// forgotten since the login was checked, and what ended its sessions then could not end this one.
func (s *Service) stillEnters(ctx context.Context, tx store.Conn, l login) error {
	if len(l.by) == 0 {
		return nil
	}
	if _, err := vouchForEntry(ctx, tx, l.UserUUID, l.Backend, l.by); err != nil {
		return err
	}
	ok, err := s.entryStands(ctx, tx, l.UserUUID, l.Backend)
	if err == nil && !ok {
		err = errNoLogin()
	}
	return err
}

// insertToken writes the row, unless the user was deleted or disabled, or got another password, after the password was checked:
// what ended the user's sessions then could not end this one.
func insertToken(ctx context.Context, tx store.Conn, l login, now time.Time) error {
	var refresh *string
	if l.RefreshUUID != "" {
		refresh = &l.RefreshUUID
	}
	n, err := tx.Exec(ctx, `
		INSERT INTO auth_token (digest, session_uuid, user_uuid, issued_at, expires_at, mobile, user_agent, remote_addr, refresh_uuid, backend)
		SELECT $1, $2, uuid, $4, $5, $6, $7, $8, $9, $10 FROM auth_user
		WHERE uuid = $3 AND enabled AND ($11 = '' OR password_hash IN ($11, $12))`,
		l.Digest[:], l.SessionUUID, l.UserUUID, now, now.Add(l.lifetime), l.Mobile, l.UserAgent, l.RemoteAddr, refresh, l.Backend, l.hash, l.rehashed)
	if err == nil && n == 0 {
		return errNoLogin()
	}
	return err
}

// checkSessions refuses a login if a user already has the most live sessions. Internal users are not limited.
func checkSessions(ctx context.Context, tx store.Conn, user string, most int) error {
	n, err := store.Get[int](ctx, tx, `
		SELECT count(*) FROM auth_token t JOIN auth_user u ON u.uuid = t.user_uuid
		WHERE t.user_uuid = $1 AND t.expires_at > now_utc() AND u.purpose <> 'internal'`, user)
	if err != nil || n < most {
		return err
	}
	e := apierr.New(apierr.TooMany, "User %s has exceeded the maximum number of active sessions", user)
	e.RetryAfter = time.Minute
	return e
}
