package authsvc

import (
	"context"
	"fmt"
	"strings"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/store"
)

// mayGive refuses when the caller does not hold in full what the patterns would give to somebody
// else (DESIGN section 2, Covers). A denial gives nothing, so it may always be given.
func mayGive(p *principal.Principal, patterns []string) error {
	for _, pattern := range patterns {
		if !p.Covers(pattern) {
			return notHeld(pattern)
		}
	}
	return nil
}

// mayTake refuses when the caller does not hold in full what the patterns are about: for a denial that
// is what its removal gives back (THREATS 4.6).
func mayTake(p *principal.Principal, patterns []string) error {
	for _, pattern := range patterns {
		if !p.Covers(strings.TrimPrefix(pattern, "!")) {
			return notHeld(pattern)
		}
	}
	return nil
}

func notHeld(pattern string) error {
	e := apierr.New(apierr.Forbidden, "You do not hold %s in full, so you cannot hand it out or take it away", pattern)
	e.Details = map[string]any{"required_access": strings.TrimPrefix(pattern, "!")}
	return e
}

// mayActOn refuses when the user's permissions exceed the caller's: who can change a user's credentials has the
// user's permissions (THREATS 4.7). Everybody may act on themselves.
func mayActOn(ctx context.Context, c store.Conn, p *principal.Principal, userUUID string) error {
	if userUUID == p.UserUUID {
		return nil
	}
	held, err := accessesOf(ctx, c, userUUID)
	if err != nil {
		return err
	}
	return exceeds(p, held)
}

// exceeds compares what the user's patterns allow together with what the caller holds. A pattern that the user's own
// denials narrow is compared without them, so it may refuse what is equal in the end, and never the reverse.
func exceeds(p *principal.Principal, held []string) error {
	for _, pattern := range held {
		if strings.HasPrefix(pattern, "!") || p.Covers(pattern) {
			continue
		}
		e := apierr.New(apierr.Forbidden, "This user holds %s, which you do not hold in full", pattern)
		e.Details = map[string]any{"required_access": pattern}
		return e
	}
	return nil
}

// accessesOf is what a user holds now.
func accessesOf(ctx context.Context, c store.Conn, userUUID string) ([]string, error) {
	return store.Select[string](ctx, c, `
		SELECT DISTINCT a.access FROM auth_holding h
		JOIN auth_policy_access a ON a.policy_uuid = h.policy_uuid
		WHERE h.user_uuid = $1 ORDER BY a.access`, userUUID)
}

// accessesOfPolicy is what a policy gives, in the order in which it is shown.
func accessesOfPolicy(ctx context.Context, c store.Conn, policyUUID string) ([]string, error) {
	return store.Select[string](ctx, c, `SELECT access FROM auth_policy_access WHERE policy_uuid = $1 ORDER BY access`, policyUUID)
}

// maxAccesses is how many accesses one policy may have (THREATS 4.5).
const maxAccesses = 1000

// checkPatterns refuses what is not in the language, naming the place in the list.
func checkPatterns(patterns []string) error {
	var fields []apierr.Field
	for i, pattern := range patterns {
		if err := acl.ParsePattern(pattern); err != nil {
			fields = append(fields, apierr.Field{Name: fmt.Sprintf("acl[%d]", i), Constraint: "access", Message: err.Error()})
		}
	}
	if len(fields) > 0 {
		return &apierr.Error{Kind: apierr.Invalid, Resource: "policies", Fields: fields}
	}
	return nil
}

// maxForgets is how many users a change may touch before every token is forgotten at once instead of theirs alone.
const maxForgets = 100

// forgetHolders is what must be forgotten when a policy changes.
func forgetHolders(ctx context.Context, c store.Conn, policyUUID string) ([]forget, error) {
	return forgetUsers(ctx, c, `SELECT DISTINCT user_uuid FROM auth_holding WHERE policy_uuid = $1 LIMIT $2`, policyUUID)
}

// forgetUsers is what must be forgotten when a change touches the users of a query, whose second argument is a limit.
func forgetUsers(ctx context.Context, c store.Conn, sql, key string) ([]forget, error) {
	users, err := store.Select[string](ctx, c, sql, key, maxForgets+1)
	if err != nil {
		return nil, err
	}
	if len(users) > maxForgets {
		return []forget{forgetAll()}, nil
	}
	out := make([]forget, 0, len(users))
	for _, u := range users {
		out = append(out, forgetUser(u))
	}
	return out, nil
}
