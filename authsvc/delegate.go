package authsvc

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/store"
)

// These functions decide who may change what others hold. Each operation that does calls them, in its transaction. The rules:
//
//   - A caller who makes a change covers in full everything that it makes anybody hold (mayGive). `me` is first bound to the
//     user who gets it. Taking a denial away gives what it denied.
//   - A user who loses something by a change holds no more than its caller (mayDemote): nobody denies, strips, logs out or deletes
//     a mightier user. A new denial is a loss; so is a policy or a group that is removed or changed, and a new place for a tenant.
//   - A caller who can change how a user logs in holds all that the user holds, over the user's own things too (mayActOn).
//   - A new user holds what the group of all the tenant's users gives. The caller who makes the user covers that (mayCreate).
//
// Everybody may take from themselves, and act on themselves.

// mayGive refuses to give the patterns to the users if the caller does not cover what they grant, or if the users would lose by
// the denials among them and hold more than the caller.
func mayGive(ctx context.Context, c store.Conn, p *principal.Principal, patterns []string, to users) error {
	var grants []string
	denies := false
	for _, pattern := range patterns {
		if isDenial(pattern) {
			denies = true
		} else {
			grants = append(grants, pattern)
		}
	}
	if err := mayGrant(ctx, c, p, grants, to); err != nil || !denies {
		return err
	}
	return mayDemote(ctx, c, p, to)
}

// mayTake refuses to take the patterns from the users, or to change their source, if the caller does not cover the patterns or
// the users hold more than the caller.
func mayTake(ctx context.Context, c store.Conn, p *principal.Principal, patterns []string, from users) error {
	var back []string
	for _, pattern := range patterns {
		if isDenial(pattern) {
			back = append(back, positive(pattern))
		} else if !p.Covers(pattern) {
			return notHeld(pattern)
		}
	}
	if err := mayGrant(ctx, c, p, back, from); err != nil {
		return err
	}
	return mayDemote(ctx, c, p, from)
}

// mayGrant refuses if the caller does not cover everything that one of the users would have by the grants. If there are no users
// yet, `me` means any later receiver, and giving it to one is checked then.
func mayGrant(ctx context.Context, c store.Conn, p *principal.Principal, grants []string, to users) error {
	var personal []string
	for _, grant := range grants {
		switch {
		case p.Covers(bound(grant, "*", "*")): // for any receiver
		case bound(grant, "*", "*") == grant:
			return notHeld(grant)
		default:
			personal = append(personal, grant)
		}
	}
	if len(personal) == 0 {
		return nil
	}
	uuids, err := store.Select[string](ctx, c, "SELECT DISTINCT u.user_uuid FROM ("+to.sql+") u", to.args...)
	if err != nil {
		return err
	}
	for _, grant := range personal {
		if len(uuids) == 0 && !p.Covers(grant) {
			return notHeld(grant)
		}
		for _, user := range uuids {
			session := "*"
			if user == p.UserUUID {
				session = p.SessionUUID
			}
			if asked := bound(grant, user, session); !p.Covers(asked) {
				return notHeld(asked)
			}
		}
	}
	return nil
}

func notHeld(pattern string) error {
	e := apierr.New(apierr.Forbidden, "You do not hold %s in full, so you cannot hand it out or take it away", pattern)
	e.Details = map[string]any{"required_access": pattern}
	return e
}

func isDenial(pattern string) bool { return strings.HasPrefix(pattern, "!") }

// positive returns a pattern, or what a denial denies.
func positive(pattern string) string { return strings.TrimPrefix(pattern, "!") }

// mayDemote refuses if one of the users, other than the caller, holds more than the caller. What they hold over themselves is
// compared with what the caller holds over the caller: none of it changes hands.
func mayDemote(ctx context.Context, c store.Conn, p *principal.Principal, of users) error {
	held, err := accessesOf(ctx, c, of.but(p.UserUUID))
	if err != nil {
		return err
	}
	return exceeds(p, held)
}

// mayCreate refuses a new user who would hold, through the group of all users of the tenant, what the caller does not cover. The
// UUID is fresh if this server has just generated it; p is nil if a stranger registers.
//
// What a fresh user holds over their own things concerns nothing that existed before, so it needs no rights: a caller who may
// only create users can create telephone users. A UUID that the caller has chosen may be known elsewhere, above all as a
// telephone user's. Everything that refers to it anywhere becomes the new user's, now or when they get rights over themselves. So
// the caller must hold all rights over users of that UUID. No earlier account had it: the database ensures that (auth_used_uuid).
func mayCreate(ctx context.Context, c store.Conn, p *principal.Principal, u *User, fresh bool) error {
	given, err := accessesByHand(ctx, c, u.TenantUUID) // the operator gives the rest
	if err != nil {
		return err
	}
	if !fresh {
		given = append([]string{"auth.users.me.#", "confd.users.me.#"}, given...)
	}
	for _, pattern := range given {
		if isDenial(pattern) || fresh && ownAlone(pattern) {
			continue
		}
		if p == nil {
			slog.ErrorContext(ctx, "nobody can register: the group of all users gives rights over more than one's own", "pattern", pattern)
			return registrationClosed()
		}
		if pattern = bound(pattern, u.UUID, "*"); !p.Covers(pattern) {
			e := apierr.New(apierr.Forbidden, "The new user would hold %s, which you do not hold in full", pattern)
			e.Details = map[string]any{"required_access": pattern}
			return e
		}
	}
	return nil
}

// ownAlone reports whether every access that the pattern stands for concerns only its holder: the first object that it names,
// after the service and the collection, is the user or one of the user's sessions. This holds for confd.users.me.#, and not for
// #.me, auth.groups.*.users.me.create or confd.*.me.read.
func ownAlone(pattern string) bool {
	words := strings.Split(pattern, ".")
	return len(words) > 2 && (words[2] == "me" || words[2] == "my_session") && !slices.ContainsFunc(words[:2], func(word string) bool {
		return slices.Contains([]string{"*", "#", "me", "my_session"}, word)
	})
}

// mayActOn refuses if the user's permissions, as that user holds them, exceed the caller's: a caller who can change a user's
// credentials gets the user's permissions, over the user's own things too. Everybody may act on themselves.
func mayActOn(ctx context.Context, c store.Conn, p *principal.Principal, userUUID string) error {
	if userUUID == p.UserUUID {
		return nil
	}
	held, err := accessesOf(ctx, c, oneUser(userUUID))
	if err != nil {
		return err
	}
	for i := range held {
		held[i] = bound(held[i], userUUID, "*")
	}
	return exceeds(p, held)
}

// mayActOnAll is mayActOn for several users.
func mayActOnAll(ctx context.Context, c store.Conn, p *principal.Principal, of users) error {
	held, err := accessesOf(ctx, c, of.but(p.UserUUID))
	if err != nil {
		return err
	}
	for i := range held {
		held[i] = bound(held[i], "*", "*")
	}
	return exceeds(p, held)
}

// exceeds compares what the patterns allow together with what the caller holds. It ignores the users' own denials, so it may
// refuse what is equal in the end, but never allows too much.
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

// bound returns a pattern as one user holds it: `me` becomes that user, and `my_session` that session, or any with "*". Unbound,
// `me` would be compared with the caller's own `me`, which is another user.
func bound(pattern, user, session string) string {
	words := strings.Split(pattern, ".")
	for i, word := range words {
		switch word {
		case "me":
			words[i] = user
		case "my_session":
			words[i] = session
		}
	}
	return strings.Join(words, ".")
}

// checkTotals refuses a change after which one of the users would hold more patterns than a token can have. It runs after the
// change, in its transaction, so that no login ever fails for that reason.
func checkTotals(ctx context.Context, c store.Conn, of users) error {
	// Only a user with more policies than this can have too many patterns.
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

// checkPatterns refuses invalid patterns, and names their places in the list.
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
