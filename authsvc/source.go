package authsvc

import (
	"context"
	"time"

	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

// Shape reports whether text is formed as one of our tokens, checksum included.
func (s *Service) Shape(token string) bool { return tokens.WellFormed(token) }

// liveAccess is one row for each access that a live token has now; a token without any has one row.
type liveAccess struct {
	SessionUUID string    `db:"session_uuid"`
	UserUUID    string    `db:"user_uuid"`
	TenantUUID  string    `db:"tenant_uuid"`
	Purpose     string    `db:"purpose"`
	ExpiresAt   time.Time `db:"expires_at"`
	Now         time.Time `db:"now"`
	Access      *string   `db:"access"`
}

var selectHoldings = `
	SELECT DISTINCT t.session_uuid, t.user_uuid, u.tenant_uuid, u.purpose, t.expires_at, now_utc() AS now, a.access
	FROM auth_token t
	JOIN auth_user u ON u.uuid = t.user_uuid
	LEFT JOIN ` + holdings(`SELECT user_uuid FROM auth_token WHERE digest = $1`) + ` h ON h.user_uuid = u.uuid
	LEFT JOIN auth_policy_access a ON a.policy_uuid = h.policy_uuid
	WHERE t.digest = $1 AND t.expires_at > now_utc() AND u.enabled`

// Load answers who a token speaks for, as things are now: policies, the user and the tenant may have
// changed while the token lives (DESIGN section 3). One query. Expiry is by the database's clock, which all nodes share.
func (s *Service) Load(ctx context.Context, _ string, d tokens.Digest) (*principal.Principal, error) {
	rows, err := store.Select[liveAccess](ctx, s.db, selectHoldings, d[:])
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, tokens.ErrUnknown
	}
	var accesses []string
	for _, r := range rows {
		if r.Access != nil {
			accesses = append(accesses, *r.Access)
		}
	}
	set, err := s.acls.Compile(accesses)
	if err != nil {
		return nil, err
	}
	first := rows[0]
	return &principal.Principal{
		TokenID:     tokens.ID(d),
		UserUUID:    first.UserUUID,
		SessionUUID: first.SessionUUID,
		Affiliation: &principal.Affiliation{TenantUUID: first.TenantUUID, Purpose: first.Purpose},
		ACL:         set,
		ExpiresAt:   principal.At(time.Now().Add(first.ExpiresAt.Sub(first.Now))),
	}, nil
}
