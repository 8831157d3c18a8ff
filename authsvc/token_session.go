package authsvc

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
	"github.com/ringfence/ringfence/internal/tokens"
)

// Session is a live token as callers who may end it see it. It lives as long as its token.
type Session struct {
	UUID       string  `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	TenantUUID string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	UserUUID   string  `db:"user_uuid" json:"user_uuid" format:"uuid" readOnly:"true"`
	Username   *string `db:"username" json:"username" readOnly:"true" doc:"The user's name; null if they log in by address only."`
	Mobile     bool    `db:"mobile" json:"mobile" readOnly:"true" doc:"Whether a telephone application logged in."`
	Created    string  `json:"created_at" format:"date-time" readOnly:"true" doc:"When its token was made."`
	Expires    string  `json:"expires_at" format:"date-time" readOnly:"true" doc:"When its token expires, and the session with it."`
	RemoteAddr string  `db:"remote_addr" json:"remote_addr" readOnly:"true" doc:"The address that logged in."`
	UserAgent  string  `db:"user_agent" json:"user_agent" readOnly:"true" doc:"What the program that logged in called itself; empty if it did not."`
	Current    bool    `json:"current" readOnly:"true" doc:"Whether it is the session of the token that asks."`

	CreatedAt time.Time `db:"created_at" json:"-"`
	ExpiresAt time.Time `db:"expires_at" json:"-"`
}

// liveSessions is the table of the sessions that have not expired.
const liveSessions = `(SELECT t.session_uuid AS uuid, u.tenant_uuid, t.user_uuid, u.username, t.mobile, t.issued_at AS created_at, t.expires_at,
	t.remote_addr, t.user_agent FROM auth_token t JOIN auth_user u ON u.uuid = t.user_uuid WHERE t.expires_at > now_utc()) sessions`

func (s *Service) declareSessions(e *crud.Engine) {
	crud.Collect(e, crud.Resource[Session]{
		Path: "sessions", Singular: "session", Param: "session_uuid", Table: liveSessions, Keys: []string{"uuid"},
		About: "Logins that have not ended, one for each live token.",
		Lists: []string{"username", "created_at", "expires_at", "remote_addr", "user_agent", "current"},
		Order: []string{"uuid", "mobile", "created_at"}, Filters: []string{"user_uuid"}, Only: []string{"list"},
		Search: []string{"username", "remote_addr", "user_agent"},
		Load:   loadSessions,
	})
	crud.Children[User, Session]{Column: "user_uuid"}.On(e)
	end := rest.Operation{
		Method: http.MethodDelete, Path: "/sessions/{session_uuid}", Access: "auth.sessions.{session_uuid}.delete",
		ID: "delete_session", Tag: "sessions", Summary: "End a session, and its token with it",
		Success: http.StatusNoContent, Tenanted: true, Handle: s.endSession,
	}
	endOfUser := end
	endOfUser.Path, endOfUser.Access = "/users/{user_uuid}/sessions/{session_uuid}", "auth.users.{user_uuid}.sessions.{session_uuid}.delete"
	endOfUser.ID, endOfUser.Tag, endOfUser.Summary = "delete_user_session", "users", "End a session of a user"
	e.Add(end)
	e.Add(endOfUser)
}

// loadSessions fills in what depends on the caller, and writes the times as those of refresh tokens are.
func loadSessions(ctx context.Context, _ store.Conn, sessions []*Session) error {
	caller := principal.FromContext(ctx)
	for _, s := range sessions {
		s.Created, s.Expires = s.CreatedAt.UTC().Format(zoned), s.ExpiresAt.UTC().Format(zoned)
		s.Current = caller != nil && s.UUID == caller.SessionUUID
	}
	return nil
}

// endSession returns the same whether the session existed or not. It is for callers who may log its user out; anybody who has the
// token itself may revoke it (revokeToken).
func (s *Service) endSession(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	session, err := r.UUIDParam("session_uuid")
	if err != nil {
		return rest.Reply{}, err
	}
	where, args := "", []any{session, ""}
	if user := r.Param("user_uuid"); user != "" {
		if user, err = r.UUIDParam("user_uuid"); err != nil {
			return rest.Reply{}, err
		}
		where, args = " AND t.user_uuid = $3", append(args, user)
	}
	return rest.Reply{}, s.engine.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if args[1], err = tenant.Of(ctx, tx, r); err != nil {
			return err
		}
		type found struct {
			TenantUUID string `db:"tenant_uuid"`
			UserUUID   string `db:"user_uuid"`
		}
		of, err := store.Get[found](ctx, tx, `SELECT u.tenant_uuid, t.user_uuid FROM auth_token t JOIN auth_user u ON u.uuid = t.user_uuid
			WHERE t.session_uuid = $1 AND `+tenant.Below("u.tenant_uuid", "$2")+where, args...)
		if err != nil {
			return missing(err, nil)
		}
		p := r.Principal()
		if err := firstError(notDenied(p, "auth.sessions."+session+".delete"), // by either of its paths
			notDeniedOf(p, of.UserUUID, "sessions."+session+".delete"), s.mayDemote(ctx, tx, p, oneUser(of.UserUUID))); err != nil {
			return err
		}
		if _, err := s.endTokens(ctx, tx, "session_uuid = $1", session); err != nil {
			return err
		}
		return audit.Write(ctx, tx, r, audit.Change{
			Tenant: of.TenantUUID, Resource: "users/sessions", Object: of.UserUUID, Before: map[string]any{"uuid": session},
		})
	})
}

// endTokens deletes the few tokens that a condition finds, makes every node forget them, and returns how many there were.
func (s *Service) endTokens(ctx context.Context, tx store.Conn, condition string, args ...any) (int, error) {
	digests, err := store.Select[[]byte](ctx, tx, `DELETE FROM auth_token WHERE `+condition+` RETURNING digest`, args...)
	if err != nil {
		return 0, err
	}
	gone := make([]forget, len(digests))
	for i, d := range digests {
		gone[i] = forgetToken(tokens.Digest(d))
	}
	return len(digests), s.announce(ctx, tx, gone...)
}

// sweepBatch is how many expired rows one statement deletes.
const sweepBatch = 5000

// Sweep does what is due each minute. It deletes expired tokens, tokens of mails and counts of attempts, in batches, and returns how many:
// nobody could use them any more, so no node needs to forget them. It checks the file of the first administrator's credentials, and looks
// which kinds of password hash are stored.
func (s *Service) Sweep(ctx context.Context) (total int64, err error) {
	now, err := store.Get[time.Time](ctx, s.db, `SELECT now_utc()`)
	if err != nil {
		return 0, err
	}
	for _, sweep := range []struct {
		sql string
		now any
	}{
		{`DELETE FROM auth_token WHERE digest IN (SELECT digest FROM auth_token WHERE expires_at <= $1 LIMIT $2)`, now},
		{`DELETE FROM auth_single_use WHERE digest IN (SELECT digest FROM auth_single_use WHERE expires_at <= $1 LIMIT $2)`, now},
		{`DELETE FROM auth_limit WHERE (subject, place) IN (SELECT subject, place FROM auth_limit WHERE expires_at <= $1 LIMIT $2)`, now.UnixMicro()},
	} {
		for n := int64(sweepBatch); n == sweepBatch; total += n {
			if n, err = s.db.Exec(ctx, sweep.sql, sweep.now, sweepBatch); err != nil {
				return total, err
			}
		}
	}
	return total, errors.Join(s.dropStaleCredentials(ctx), s.expectHashes(ctx))
}
