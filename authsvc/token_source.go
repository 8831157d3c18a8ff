package authsvc

import (
	"context"
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

// live are the rows of live tokens of users who may use them. The database's clock, which all nodes share, decides about expiry.
const live = `
	FROM auth_token t JOIN auth_user u ON u.uuid = t.user_uuid
	WHERE t.expires_at > now_utc() AND u.enabled`

// entered are the columns about how a token's session began.
var entered = `
	CASE WHEN t.backend = 'database' OR t.backend <> 'ldap' AND NOT EXISTS (SELECT 1 FROM auth_voucher v WHERE v.user_uuid = t.user_uuid)
		THEN '' ELSE t.backend END AS backend,
	(` + vouched + `) AS vouched`

// liveTokenBy returns the query of one live token by its digest, with more of its columns. All accesses come as one text: reading a
// row for each costs more than everything else.
func liveTokenBy(more string) string {
	return `
	SELECT t.session_uuid, t.user_uuid, u.tenant_uuid, u.purpose, t.expires_at, now_utc() AS now` + more + `, ` + entered + `,
		(SELECT string_agg(a.access, ' ') FROM auth_policy_access a
		 WHERE a.policy_uuid IN (SELECT h.policy_uuid FROM ` + holdings("u.uuid") + ` h)) AS accesses` + live + ` AND t.digest = $1`
}

// Load returns the principal of a token, as things are now: policies, the user and the tenant may have changed since the token
// was issued. It makes one query, which look-ups of other tokens share, and some more if a directory or another backend let the
// user in.
func (s *Service) Load(ctx context.Context, _ string, d tokens.Digest) (*principal.Principal, error) {
	return s.load(ctx, d, true)
}

// LoadLater is Load, some milliseconds later if there are few others to share the query with.
func (s *Service) LoadLater(ctx context.Context, _ string, d tokens.Digest) (*principal.Principal, error) {
	return s.load(ctx, d, false)
}

func (s *Service) load(ctx context.Context, d tokens.Digest, urgent bool) (*principal.Principal, error) {
	t, err := s.live.Get(ctx, d, urgent)
	if err != nil {
		return nil, err
	}
	if ok, err := s.tokenStands(ctx, &t.liveToken); err != nil || !ok {
		return nil, firstError(err, tokens.ErrUnknown)
	}
	if t.rights.err != nil {
		return nil, t.rights.err
	}
	return &principal.Principal{
		TokenID:     tokens.ID(d),
		UserUUID:    t.UserUUID,
		SessionUUID: t.SessionUUID,
		Affiliation: &principal.Affiliation{TenantUUID: t.TenantUUID, Purpose: t.Purpose},
		ACL:         t.rights.set,
		ExpiresAt:   t.expires,
	}, nil
}

// Complete returns the principal with what is denied to them by other names; see principal.Elsewhere. Tokens of another auth server need it too.
func (s *Service) Complete(ctx context.Context, p *principal.Principal) (*principal.Principal, error) {
	return s.completed(ctx, s.db, p)
}

func (s *Service) completed(ctx context.Context, c store.Conn, p *principal.Principal) (*principal.Principal, error) {
	return p.Closed(ctx, s.peopleIn(c), s.acls.Denying)
}

func (s *Service) peopleIn(c store.Conn) principal.People {
	return func(ctx context.Context, names []string) ([]principal.Person, error) { return s.people(ctx, c, names) }
}

func (t *liveToken) accesses() []string {
	if t.Accesses == nil {
		return nil
	}
	return strings.Split(*t.Accesses, " ")
}
