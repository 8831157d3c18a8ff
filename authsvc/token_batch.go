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
