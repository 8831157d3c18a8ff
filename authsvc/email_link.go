package authsvc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

// The tokens in mails let their holder do one thing, once, for a limited time. They are not sessions and allow nothing else. A
// token belongs to one user and one address. It ends when the address is removed, when it is used, when it expires, and, if it
// resets a password, when the password changes.

// Kinds of single-use tokens.
const (
	confirmsAddress = "confirm"
	resetsPassword  = "reset"
)

// newSingleUse stores a token and returns it.
func newSingleUse(ctx context.Context, c store.Conn, kind, user, email string, validity time.Duration) (string, error) {
	now, err := store.Get[time.Time](ctx, c, `SELECT now_utc()`)
	if err != nil {
		return "", err
	}
	token := tokens.New()
	d := tokens.DigestOf(token)
	if _, err := c.Exec(ctx, `INSERT INTO auth_single_use (digest, kind, user_uuid, email_uuid, expires_at) VALUES ($1, $2, $3, $4, $5)`,
		d[:], kind, user, email, now.Add(validity)); err != nil {
		return "", fmt.Errorf("storing a token for a mail: %w", err)
	}
	return token, nil
}

// singleUse says whose token it is, and where it was sent.
type singleUse struct {
	UserUUID  string `db:"user_uuid"`
	EmailUUID string `db:"email_uuid"`
}

// findSingleUse returns a valid token, or errBadLink. Service.presented limits the rate.
func findSingleUse(ctx context.Context, c store.Conn, kind, token string) (singleUse, error) {
	d := tokens.DigestOf(token)
	return orBadLink(store.Get[singleUse](ctx, c, `SELECT user_uuid, email_uuid FROM auth_single_use
		WHERE digest = $1 AND kind = $2 AND expires_at > now_utc()`, d[:], kind))
}

// takeSingleUse is findSingleUse, and ends the token when the transaction commits. Of two concurrent callers, one gets it.
// Neither gets it if those who vouch for the address now hold less than the user.
func (s *Service) takeSingleUse(ctx context.Context, tx store.Conn, kind, token string) (singleUse, error) {
	d := tokens.DigestOf(token)
	link, err := orBadLink(store.Get[singleUse](ctx, tx, `DELETE FROM auth_single_use
		WHERE digest = $1 AND kind = $2 AND expires_at > now_utc() RETURNING user_uuid, email_uuid`, d[:], kind))
	if err != nil {
		return link, err
	}
	ok, err := s.emailStands(ctx, tx, link.UserUUID, link.EmailUUID)
	if err == nil && !ok {
		err = errBadLink()
	}
	return link, err
}

// presented returns who makes a request: the reader of a mail who sends its token (nil), if meant, or the user of the token
// bearer, who must hold the access. It limits the rate of unknown tokens.
func (s *Service) presented(ctx context.Context, r *rest.Request, kind, token, bearer, access string, meant func(singleUse) bool) (by *principal.Principal, err error) {
	if !tokens.WellFormed(token) {
		return s.bearer(ctx, r, bearer, access)
	}
	err = s.lookUp(ctx, r.HTTP, token, func() error {
		link, err := findSingleUse(ctx, s.db, kind, token)
		e := apierr.As(err)
		switch {
		case err == nil && meant(link):
			return nil
		case err != nil && (e == nil || e.Kind != apierr.Unauthorized):
			return err
		}
		by, err = s.bearer(ctx, r, bearer, access)
		return err
	})
	return by, err
}

func orBadLink(found singleUse, err error) (singleUse, error) {
	if errors.Is(err, store.ErrNotFound) {
		err = errBadLink()
	}
	return found, err
}

// errBadLink is the one response to a token that is not, or no longer, valid, whatever the reason.
func errBadLink() error {
	return apierr.New(apierr.Unauthorized, "This link is not valid, or not any longer; ask for a new one")
}

// sentToken returns the token of a request that takes one as ?token=, as in a link, or as X-Auth-Token.
func sentToken(r *rest.Request) string {
	if token, ok := r.Query("token"); ok {
		return token
	}
	return r.HTTP.Header.Get("X-Auth-Token")
}

// tokenParameter is ?token=.
var tokenParameter = rest.Parameter{
	Name: "token", Description: "The token of the mail, unless X-Auth-Token has it.", Schema: &rest.Schema{Type: "string"},
}

// sweepMails deletes expired tokens of mails and expired counts of attempts, in batches.
func (s *Service) sweepMails(ctx context.Context) error {
	now, err := store.Get[time.Time](ctx, s.db, `SELECT now_utc()`)
	if err != nil {
		return err
	}
	for _, sweep := range []struct {
		sql string
		now any
	}{
		{`DELETE FROM auth_single_use WHERE digest IN (SELECT digest FROM auth_single_use WHERE expires_at <= $1 LIMIT $2)`, now},
		{`DELETE FROM auth_limit WHERE (subject, place) IN (SELECT subject, place FROM auth_limit WHERE expires_at <= $1 LIMIT $2)`, now.UnixMicro()},
	} {
		for n := int64(sweepBatch); n == sweepBatch; {
			if n, err = s.db.Exec(ctx, sweep.sql, sweep.now, sweepBatch); err != nil {
				return err
			}
		}
	}
	return nil
}
