package authsvc

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/target"
	"github.com/ringfence/ringfence/internal/tenant"
	"github.com/ringfence/ringfence/internal/tokens"
)

// RefreshToken lets a client log in again without a password. Its value is never listed.
type RefreshToken struct {
	UUID       string   `db:"uuid" json:"uuid" format:"uuid" readOnly:"true" doc:"Names it where its client_id cannot be in a path; it is not the refresh token."`
	ClientID   string   `db:"client_id" json:"client_id" readOnly:"true"`
	Created    string   `json:"created_at" format:"date-time" readOnly:"true" doc:"When it was made."`
	Mobile     bool     `db:"mobile" json:"mobile" readOnly:"true" doc:"Whether a telephone application has made it."`
	UserUUID   string   `db:"user_uuid" json:"user_uuid" format:"uuid" readOnly:"true"`
	TenantUUID string   `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Username   *string  `db:"username" json:"username" readOnly:"true" doc:"The user's name; null if they log in by address only."`
	RemoteAddr string   `db:"remote_addr" json:"remote_addr" readOnly:"true" doc:"The address that asked for it."`
	UserAgent  string   `db:"user_agent" json:"user_agent" readOnly:"true" doc:"What the program that asked for it called itself; empty if it did not."`
	Metadata   struct{} `json:"metadata" readOnly:"true"`

	CreatedAt time.Time `db:"created_at" json:"-"`
}

// zoned is the form in which existing clients expect a time with a zone: always microseconds, and +00:00, not Z.
const zoned = "2006-01-02T15:04:05.000000-07:00"

const refreshTokens = `(SELECT r.uuid, r.client_id, r.created_at, r.mobile, r.user_uuid, u.tenant_uuid, u.username, r.remote_addr, r.user_agent
	FROM auth_refresh_token r JOIN auth_user u ON u.uuid = r.user_uuid) refresh_tokens`

// declareRefreshTokens declares that refresh tokens are listed and deleted. Where a path names a user, `me` is the caller.
func (s *Service) declareRefreshTokens(e *crud.Engine) {
	crud.Collect(e, crud.Resource[RefreshToken]{
		Path: "tokens", Singular: "refresh_token", Param: "client_id", Table: refreshTokens, Keys: []string{"uuid"},
		About: "Refresh tokens, with which programs log in again without a password.",
		Lists: []string{"username", "client_id", "created_at", "remote_addr", "user_agent", "mobile"},
		Order: []string{"created_at", "client_id", "mobile"}, Search: []string{"client_id"},
		Filters: []string{"created_at", "client_id", "mobile"}, Only: []string{"list"},
		Load: func(_ context.Context, _ store.Conn, refreshTokens []*RefreshToken) error {
			for _, r := range refreshTokens {
				r.Created = r.CreatedAt.UTC().Format(zoned)
			}
			return nil
		},
	})
	crud.Children[User, RefreshToken]{Column: "user_uuid", Me: true}.On(e)
	drop := rest.Operation{
		Method: http.MethodDelete, Path: "/users/{user_uuid}/tokens/{client_id}", Access: "auth.users.{user_uuid}.tokens.{client_id}.delete",
		ID: "delete_user_refresh_token", Tag: "users", Summary: "Delete a refresh token of a user",
		Description: "Tokens that were made with it live on. One whose client_id cannot be part of a path, such as `my app`, is named by its uuid.",
		Success:     http.StatusNoContent, Statuses: []int{404}, Tenanted: true, Handle: s.dropRefreshToken,
	}
	mine := drop
	mine.Path, mine.Access, mine.ID = "/users/me/tokens/{client_id}", "auth.users.me.tokens.{client_id}.delete", "delete_my_refresh_token"
	mine.Summary = "Delete a refresh token of one's own"
	e.Add(drop)
	e.Add(mine)
}

func (s *Service) dropRefreshToken(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	user := knownBy(r.Principal().UserUUID)
	if r.Param("user_uuid") != "" {
		var err error
		if user, err = r.UUIDParam("user_uuid"); err != nil {
			return rest.Reply{}, err
		}
	}
	return rest.Reply{}, s.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		scope, err := tenant.Of(ctx, tx, r)
		if err != nil {
			return err
		}
		of, err := store.Get[string](ctx, tx, `SELECT CAST(tenant_uuid AS text) FROM auth_user WHERE uuid = $1 AND `+tenant.Below("tenant_uuid", "$2"), user, scope)
		if err != nil {
			return missing(err, unknownUser(user))
		}
		// Only who may delete it learns whether there is one.
		if err := s.mayDemote(ctx, tx, r.Principal(), oneUser(user)); err != nil {
			return err
		}
		clientID, err := store.Get[string](ctx, tx, `SELECT client_id FROM auth_refresh_token WHERE client_id = $1 AND user_uuid = $2`, r.Param("client_id"), user)
		if errors.Is(err, store.ErrNotFound) {
			clientID, err = clientOf(ctx, tx, r.Param("client_id"), user)
		}
		if err != nil {
			return missing(err, unknownClient(r.Param("client_id"), user))
		}
		if _, err := tx.Exec(ctx, `DELETE FROM auth_refresh_token WHERE client_id = $1 AND user_uuid = $2`, clientID, user); err != nil {
			return err
		}
		return audit.Write(ctx, tx, r, audit.Change{
			Tenant: of, Resource: "users/tokens", Object: user, Before: map[string]any{"client_id": clientID},
		})
	})
}

// clientOf returns the client of a user's refresh token that a path names by its UUID, or store.ErrNotFound. Only a token that no path can name
// by its client is named so: a denial of one client holds.
func clientOf(ctx context.Context, tx store.Conn, text, user string) (string, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return "", store.ErrNotFound
	}
	clientID, err := store.Get[string](ctx, tx, `SELECT client_id FROM auth_refresh_token WHERE uuid = $1 AND user_uuid = $2`, id.String(), user)
	if err == nil && isSegment(clientID) {
		return "", store.ErrNotFound
	}
	return clientID, err
}

// isSegment reports whether a path can have the text as a segment.
func isSegment(text string) bool {
	t, err := target.Parse("/" + url.PathEscape(text))
	return err == nil && t.Len() == 1 && !t.HasWild() && t.Segment(0) == text
}

func unknownClient(clientID, user string) error {
	return apierr.New(apierr.NotFound, "There is no refresh token of this client").
		Named("cannot-find-refresh-token-matching-client-id").Of("tokens").With("client_id", clientID).With("user_uuid", user)
}

// offline is what a login that asks for a refresh token prepares: a new one, in case the client has none.
type offline struct {
	clientID string
	id       string
	value    string
	sealed   []byte
}

func (s *Service) prepareOffline(clientID string) (*offline, error) {
	o := &offline{clientID: clientID, id: uuid.NewString(), value: tokens.New()}
	var err error
	if o.sealed, err = s.sealer.Seal([]byte(o.value), refreshContext(o.id)); err != nil {
		return nil, noRefreshKey(err)
	}
	return o, nil
}

func noRefreshKey(err error) error {
	e := apierr.New(apierr.Unavailable, "This node has no key to keep refresh tokens with; ask for access_type online, or another node")
	e.Err = err
	return e
}

func refreshContext(id string) []byte { return []byte("auth_refresh_token." + id) }

type refreshRow struct {
	UUID   string `db:"uuid"`
	Sealed []byte `db:"sealed"`
}

// obtain returns the user's refresh token for the client: the existing one, or the new one. A mobile client replaces its own and
// all other mobile refresh tokens of the user, together with the sessions that were made with them, whose number
// obtain returns.
func (s *Service) obtain(ctx context.Context, tx store.Conn, l login, now time.Time) (value, id string, ended int, err error) {
	o := l.offline
	if l.Mobile {
		if ended, err = s.dropMobile(ctx, tx, l.UserUUID, o.clientID); err != nil {
			return "", "", 0, err
		}
	} else {
		old, err := store.Get[refreshRow](ctx, tx, `SELECT uuid, sealed FROM auth_refresh_token
			WHERE user_uuid = $1 AND client_id = $2 AND backend IN ('', $3)`, l.UserUUID, o.clientID, l.Backend)
		if err == nil {
			text, err := s.sealer.Open(old.Sealed, refreshContext(old.UUID))
			if errors.Is(err, sealed.ErrKey) {
				err = noRefreshKey(err)
			}
			return string(text), old.UUID, 0, err
		}
		if !errors.Is(err, store.ErrNotFound) {
			return "", "", 0, err
		}
		// A refresh token from another way to log in is valid as long as that way is, so it is not reused.
		if _, err := tx.Exec(ctx, `DELETE FROM auth_refresh_token WHERE user_uuid = $1 AND client_id = $2`, l.UserUUID, o.clientID); err != nil {
			return "", "", 0, err
		}
	}
	d := tokens.DigestOf(o.value)
	_, err = tx.Exec(ctx, `
		INSERT INTO auth_refresh_token (uuid, digest, sealed, client_id, user_uuid, mobile, user_agent, remote_addr, created_at, backend)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		o.id, d[:], o.sealed, o.clientID, l.UserUUID, l.Mobile, l.UserAgent, l.RemoteAddr, now, l.Backend)
	return o.value, o.id, ended, err
}

// dropMobile deletes a user's mobile refresh tokens, the client's own in any case, and the tokens made with them. It returns the number of these.
func (s *Service) dropMobile(ctx context.Context, tx store.Conn, user, clientID string) (ended int, err error) {
	const which = `auth_refresh_token WHERE user_uuid = $1 AND (mobile OR client_id = $2)`
	if ended, err = s.endTokens(ctx, tx, `refresh_uuid IN (SELECT uuid FROM `+which+`)`, user, clientID); err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, `DELETE FROM `+which, user, clientID)
	return ended, err
}

// refreshLogin finds the user whom the refresh token logs in. The refresh token must be that client's, its user must be enabled,
// and the way to log in that produced it must still be valid.
func (s *Service) refreshLogin(ctx context.Context, value, clientID string, l *login) error {
	type found struct {
		UUID     string `db:"uuid"`
		UserUUID string `db:"user_uuid"`
		Mobile   bool   `db:"mobile"`
		Backend  string `db:"backend"`
	}
	d := tokens.DigestOf(value)
	f, err := store.Get[found](ctx, s.db, `
		SELECT r.uuid, r.user_uuid, r.mobile, r.backend FROM auth_refresh_token r JOIN auth_user u ON u.uuid = r.user_uuid
		WHERE r.digest = $1 AND r.client_id = $2 AND u.enabled`, d[:], clientID)
	if err != nil {
		return missing(err, errNoLogin())
	}
	if ok, err := s.entryStands(ctx, s.db, f.UserUUID, f.Backend); err != nil || !ok {
		return firstError(err, errNoLogin())
	}
	l.UserUUID, l.RefreshUUID, l.Mobile, l.Backend, l.refreshed = f.UserUUID, f.UUID, f.Mobile, f.Backend, true
	return nil
}
