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

// Who may hand out what (DESIGN section 2, Covers; THREATS 4.1 to 4.7). To give something to others, or to take it from
// them, a caller must hold it in full. What `me` stands for in a policy is the user who gets it.
//
//	giving a grant      the caller covers it                    (mayGive)
//	taking a grant      the caller covers it                    (mayTake)
//	taking a denial     the caller covers what it gives back    (mayTake)
//	giving a denial     the caller covers what it takes, or     (mayDeny)
//	                    those who get it hold no more than the caller
//	demoting a user     the caller covers all that they hold    (mayDemote)
//	changing an account the same, and of what the user holds    (mayActOn)
//	                    over themselves, that over this user

// mayGive refuses when the caller does not hold in full what the patterns grant. Denials among them are mayDeny's.
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
		if !p.Covers(positive(pattern)) {
			return notHeld(pattern)
		}
	}
	return nil
}

// mayDeny refuses when the denials among the patterns take from somebody of the group what the caller does not hold.
func mayDeny(ctx context.Context, c store.Conn, p *principal.Principal, patterns []string, from users) error {
	var refused error
	for _, pattern := range patterns {
		if isDenial(pattern) && !p.Covers(positive(pattern)) {
			refused = notHeld(pattern)
		}
	}
	if refused == nil {
		return nil
	}
	held, err := accessesOf(ctx, c, from)
	if err == nil && exceeds(p, held) != nil {
		err = refused
	}
	return err
}

func notHeld(pattern string) error {
	e := apierr.New(apierr.Forbidden, "You do not hold %s in full, so you cannot hand it out or take it away", positive(pattern))
	e.Details = map[string]any{"required_access": positive(pattern)}
	return e
}

func isDenial(pattern string) bool { return strings.HasPrefix(pattern, "!") }

// positive is a pattern, or what a denial denies.
func positive(pattern string) string { return strings.TrimPrefix(pattern, "!") }

// mayDemote refuses when the user's permissions exceed the caller's (THREATS 4.7). Everybody may demote themselves.
func mayDemote(ctx context.Context, c store.Conn, p *principal.Principal, userUUID string) error {
	if userUUID == p.UserUUID {
		return nil
	}
	held, err := accessesOf(ctx, c, oneUser(userUUID))
	if err != nil {
		return err
	}
	return exceeds(p, held)
}

// mayActOn refuses when the user's permissions, as that user holds them, exceed the caller's: who can change a user's
// credentials has the user's permissions, over the user's own things too. Everybody may act on themselves.
func mayActOn(ctx context.Context, c store.Conn, p *principal.Principal, userUUID string) error {
	if userUUID == p.UserUUID {
		return nil
	}
	held, err := accessesOf(ctx, c, oneUser(userUUID))
	if err != nil {
		return err
	}
	for i := range held {
		held[i] = bound(held[i], userUUID)
	}
	return exceeds(p, held)
}

// mayActOnAll is mayActOn for the users u, of the tenant t, of whom the condition holds.
func mayActOnAll(ctx context.Context, c store.Conn, p *principal.Principal, tenantUUID, condition string) error {
	held, err := accessesOf(ctx, c, users{`
		SELECT u.uuid AS user_uuid FROM auth_user u JOIN auth_tenant t ON t.uuid = u.tenant_uuid
		WHERE u.tenant_uuid = $1 AND CAST(u.uuid AS text) <> $2 AND ` + condition, []any{tenantUUID, p.UserUUID}})
	if err != nil {
		return err
	}
	for i := range held {
		held[i] = bound(held[i], "*")
	}
	return exceeds(p, held)
}

// exceeds compares what the patterns allow together with what the caller holds. A pattern that the users' own denials
// narrow is compared without them, so it may refuse what is equal in the end, and never the reverse.
func exceeds(p *principal.Principal, held []string) error {
	for _, pattern := range held {
		if isDenial(pattern) || p.Covers(pattern) {
			continue
		}
		e := apierr.New(apierr.Forbidden, "This user holds %s, which you do not hold in full", pattern)
		e.Details = map[string]any{"required_access": pattern}
		return e
	}
	return nil
}

// bound is a pattern as one user holds it: `me` is that user, and `my_session` any session. As it stands `me`
// would be compared with the caller's own `me`, who is somebody else.
func bound(pattern, user string) string {
	words := strings.Split(pattern, ".")
	for i, word := range words {
		switch word {
		case "me":
			words[i] = user
		case "my_session":
			words[i] = "*"
		}
	}
	return strings.Join(words, ".")
}

// checkTotals refuses a change after which one of the users would hold more patterns than a token can have. It
// runs after the change, in its transaction, so that no login ever fails for it.
func checkTotals(ctx context.Context, c store.Conn, of users) error {
	// Only who has more policies than this can have too many patterns.
	const few = acl.MaxPatterns / acl.MaxPolicyPatterns
	over, err := store.Select[int](ctx, c, fmt.Sprintf(`
		SELECT 1 FROM %s h JOIN auth_policy_access a ON a.policy_uuid = h.policy_uuid
		WHERE h.user_uuid IN (SELECT m.user_uuid FROM %[1]s m GROUP BY m.user_uuid HAVING count(*) > %d)
		GROUP BY h.user_uuid HAVING count(DISTINCT a.access) > %d LIMIT 1`, holdings(of.sql), few, acl.MaxPatterns), of.args...)
	if err != nil || len(over) == 0 {
		return err
	}
	e := apierr.New(apierr.Conflict, "This would give a user more than %d different accesses", acl.MaxPatterns)
	e.ID = "too-many-accesses"
	return e
}

// checkPatterns refuses what is not in the language, naming the place in the list.
func checkPatterns(patterns []string) error {
	var fields []apierr.Field
	if len(patterns) > acl.MaxPolicyPatterns {
		return apierr.InvalidField("acl", "length", "Must have at most %d items", acl.MaxPolicyPatterns)
	}
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
