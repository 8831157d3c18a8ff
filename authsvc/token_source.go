package authsvc

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

// Shape reports whether text has the form of one of our tokens, checksum included.
func (s *Service) Shape(token string) bool { return tokens.WellFormed(token) }

// liveToken is a live token, with its user's properties and accesses.
type liveToken struct {
	SessionUUID string    `db:"session_uuid"`
	UserUUID    string    `db:"user_uuid"`
	TenantUUID  string    `db:"tenant_uuid"`
	Purpose     string    `db:"purpose"`
	ExpiresAt   time.Time `db:"expires_at"`
	Now         time.Time `db:"now"`
	// Accesses are separated by spaces, which no access contains. Some may appear twice.
	Accesses *string `db:"accesses"`
	// Vouched are those who vouch for the password that the session began with; see vouched.
	Vouched *string `db:"vouched"`
	// Backend is the one that checked the password; empty if Vouched suffices, or nobody vouches for the way in.
	Backend string `db:"backend"`
}

// liveTokenBy returns the query of a live token by its digest, with more of its columns. All accesses come as one text: reading a
// row for each costs more than everything else.
func liveTokenBy(more string) string {
	return `
	SELECT t.session_uuid, t.user_uuid, u.tenant_uuid, u.purpose, t.expires_at, now_utc() AS now` + more + `,
		CASE WHEN t.backend = 'database' OR t.backend <> 'ldap' AND NOT EXISTS (SELECT 1 FROM auth_voucher v WHERE v.user_uuid = t.user_uuid)
			THEN '' ELSE t.backend END AS backend,
		(` + vouched + `) AS vouched,
		(SELECT string_agg(a.access, ' ') FROM auth_policy_access a
		 WHERE a.policy_uuid IN (SELECT h.policy_uuid FROM ` + holdings("u.uuid") + ` h)) AS accesses
	FROM auth_token t JOIN auth_user u ON u.uuid = t.user_uuid
	WHERE t.digest = $1 AND t.expires_at > now_utc() AND u.enabled`
}

var selectLiveToken = liveTokenBy("")

// Load returns the principal of a token, as things are now: policies, the user and the tenant may have changed since the token
// was issued. It makes one query, of one row, and some more if a directory or another backend let the user in. The database's
// clock, which all nodes share, decides about expiry.
func (s *Service) Load(ctx context.Context, _ string, d tokens.Digest) (*principal.Principal, error) {
	t, err := store.Get[liveToken](ctx, s.db, selectLiveToken, d[:])
	if errors.Is(err, store.ErrNotFound) {
		return nil, tokens.ErrUnknown
	}
	if err != nil {
		return nil, err
	}
	if ok, err := s.tokenStands(ctx, &t); err != nil || !ok {
		return nil, firstError(err, tokens.ErrUnknown)
	}
	set, err := s.acls.Compile(t.accesses())
	if err != nil {
		return nil, err
	}
	return &principal.Principal{
		TokenID:     tokens.ID(d),
		UserUUID:    t.UserUUID,
		SessionUUID: t.SessionUUID,
		Affiliation: &principal.Affiliation{TenantUUID: t.TenantUUID, Purpose: t.Purpose},
		ACL:         set,
		ExpiresAt:   principal.At(time.Now().Add(t.ExpiresAt.Sub(t.Now))),
	}, nil
}

func (t *liveToken) accesses() []string {
	if t.Accesses == nil {
		return nil
	}
	return strings.Split(*t.Accesses, " ")
}
