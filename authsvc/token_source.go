package authsvc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ringfence/ringfence/acl"
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

// foundToken is a live token as the query of many finds it.
type foundToken struct {
	liveToken
	rights  *rights
	expires principal.Instant // by this node's clock
}

// rights are those of all tokens whose users hold the same policies.
type rights struct {
	accesses *string // as in liveToken
	set      *acl.Set
	err      error
}

// liveRow is a live token, whose policies are separated by spaces; or, without a digest, one policy and its accesses.
type liveRow struct {
	liveToken
	Digest   []byte  `db:"digest"`
	Policies *string `db:"policies"`
}

// selectLiveToken is the query of one token, the cheapest for it.
var selectLiveToken = liveTokenBy(", t.digest, NULL AS policies")

// batchSizes are the numbers of tokens that a query of several has places for: few, so that each stays prepared.
var batchSizes = []int{8, tokens.MaxBatch}

// liveTokens are the queries of several tokens, by their number of places. Many users hold the same policies, whose accesses are far
// more than everything else; so each policy comes once, in a row of its own. It is one statement, so that all is as of one moment.
var liveTokens = func() map[int]string {
	all := make(map[int]string)
	for _, n := range batchSizes {
		places := make([]string, n)
		for i := range places {
			places[i] = fmt.Sprintf("$%d", i+1)
		}
		all[n] = `
	WITH found AS MATERIALIZED (
		SELECT t.digest, t.session_uuid, t.user_uuid, u.tenant_uuid, u.purpose, t.expires_at, ` + entered + `,
			(SELECT string_agg(CAST(h.policy_uuid AS text), ' ') FROM ` + holdings("u.uuid") + ` h) AS policies` + live + `
			AND t.digest IN (` + strings.Join(places, ", ") + `))
	SELECT digest, CAST(session_uuid AS text) AS session_uuid, CAST(user_uuid AS text) AS user_uuid, CAST(tenant_uuid AS text) AS tenant_uuid,
		purpose, expires_at, now_utc() AS now, backend, vouched, policies, NULL AS accesses
	FROM found
	UNION ALL
	SELECT NULL, '', '', '', '', now_utc(), now_utc(), '', NULL, CAST(a.policy_uuid AS text), string_agg(a.access, ' ')
	FROM auth_policy_access a
	WHERE a.policy_uuid IN (SELECT h.policy_uuid FROM ` + holdings("SELECT user_uuid FROM found") + ` h)
	GROUP BY a.policy_uuid`
	}
	return all
}()

// findLive finds the live ones of some tokens, with their rights, in one query.
func (s *Service) findLive(ctx context.Context, some []tokens.Digest) (map[tokens.Digest]foundToken, error) {
	text, places := selectLiveToken, 1
	for _, n := range batchSizes {
		if places < len(some) {
			text, places = liveTokens[n], n
		}
	}
	args := make([]any, places)
	for i := range args {
		args[i] = some[min(i, len(some)-1)][:]
	}
	asked := time.Now()
	rows, err := store.Select[liveRow](ctx, s.db, text, args...)
	if err != nil {
		return nil, err
	}
	accesses, known := make(map[string]string), make(map[string]*rights)
	for _, r := range rows {
		if r.Digest == nil {
			accesses[*r.Policies] = *r.Accesses
		}
	}
	found := make(map[tokens.Digest]foundToken, len(some))
	for _, r := range rows {
		if len(r.Digest) != len(tokens.Digest{}) {
			continue
		}
		policies := ""
		if r.Policies != nil {
			policies = *r.Policies
		}
		switch {
		case places == 1:
			known[policies] = s.rightsOf(r.Accesses)
		case known[policies] == nil:
			known[policies] = s.rightsBy(policies, accesses)
		}
		t := foundToken{liveToken: r.liveToken, rights: known[policies], expires: principal.At(asked.Add(r.ExpiresAt.Sub(r.Now)))}
		t.Accesses = t.rights.accesses
		found[tokens.Digest(r.Digest)] = t
	}
	return found, nil
}

// rightsBy returns the rights of who holds the policies, separated by spaces.
func (s *Service) rightsBy(policies string, accesses map[string]string) *rights {
	var held []string
	for p := range strings.FieldsSeq(policies) {
		if a, ok := accesses[p]; ok { // a policy may have none
			held = append(held, a)
		}
	}
	if held == nil {
		return s.rightsOf(nil)
	}
	all := strings.Join(held, " ")
	return s.rightsOf(&all)
}

// rightsOf returns the rights that consist of these accesses.
func (s *Service) rightsOf(accesses *string) *rights {
	r := &rights{accesses: accesses}
	r.set, r.err = s.acls.Compile((&liveToken{Accesses: accesses}).accesses())
	return r
}
