package authsvc

import (
	"cmp"
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
//   - A caller who makes a change covers in full everything that it makes anybody hold, and who gets it is denied what the caller is
//     denied (mayGive). `me` is first bound to the user who gets it. Taking a denial away gives what it denied.
//   - A user who loses something by a change holds no more than its caller (mayDemote): nobody denies, strips, logs out or deletes
//     a mightier user. A new denial is a loss; so is a policy or a group that is removed or changed, and a new place for a tenant.
//   - A caller who can change how a user logs in holds all that the user holds, over the user's own things too, and the user is denied
//     what the caller is denied (mayActOn).
//   - A new user holds what the group of all the tenant's users gives. The caller who makes the user covers that (mayCreate).
//
// Everybody may take from themselves, and act on themselves.
//
// Denials travel with what is given because an access reaches more than it names: a list shows objects, and a change of one object ends
// links of others. How much it reaches depends on what its holder is denied, and on nothing else. So nobody reaches more by it than the giver
// if they are denied as much; reaches says which denials count.

// caller is who makes a change.
type caller struct {
	*principal.Principal
	people func(c store.Conn) principal.People
	denied []string // `me` is bound to the caller, and my_session to any session
}

func (s *Service) callerOf(p *principal.Principal) caller {
	by := caller{Principal: p, people: s.peopleIn}
	for _, pattern := range p.ACL.Denials() {
		by.denied = append(by.denied, bound(pattern, knownBy(p.UserUUID), "*"))
	}
	return by
}

// grants is Covers without the caller's denials.
func (by caller) grants(pattern string) bool { return by.ACL.Grants(pattern, by.Binding()) }

// sheds returns a denial of the caller's that is lost if who is denied this much has the pattern, or "". It must name a part of what the
// pattern stands for or, with all, be reached through it (see reaches). The pattern is bound to its holder.
func (by caller) sheds(pattern string, own, all bool, denied *acl.Set) string {
	for _, d := range by.denied {
		if (acl.Meet(pattern, d, acl.Binding{}) || all && reaches(pattern, own, d)) && !denied.Covers(d, acl.Binding{}) {
			return d
		}
	}
	return ""
}

// across are the accesses by which objects of other services are shown or deleted: the audit, a tenant with all that it has, the calls of
// telephone users, and the telephone system with its files.
var across = []string{"auth.audit.#", "auth.tenants.*.delete", "call-logd.#", "sysconfd.#"}

// reaches reports whether something may be reached through a pattern that is denied, though the pattern does not name it: something of the
// same service, or of any (across). Two things reach less: rights to read show only what may be read, and rights over one's own things
// (ownAlone) reach only what they can link, as confd.users.me.lines.*.update does lines.
func reaches(pattern string, own bool, denied string) bool {
	a, d := strings.Split(pattern, "."), strings.Split(denied, ".")
	reads := a[len(a)-1] == "read"
	further := !own && slices.ContainsFunc(across, func(access string) bool { return acl.Meet(pattern, access, acl.Binding{}) })
	switch {
	case !alike(a[0], d[0]) && !further, reads && !alike("read", d[len(d)-1]):
		return false
	case !own:
		return true
	case reads:
		return false
	case len(d) < 3 || isWild(d[1]):
		return true
	}
	return acl.Meet(pattern, a[0]+".*.*."+d[1]+".#", acl.Binding{})
}

func isWild(word string) bool { return word == "*" || word == "#" }

// alike reports whether two words of patterns can be one of an access.
func alike(a, b string) bool { return a == b || isWild(a) || isWild(b) }

// denials returns what is denied by patterns that a user holds; or, with "", by those that somebody will hold. It looks only if the caller is
// denied anything.
func (by caller) denials(ctx context.Context, c store.Conn, patterns []string, user string) (*acl.Set, error) {
	if len(by.denied) == 0 {
		return new(acl.Set), nil
	}
	var out []string
	for _, pattern := range patterns {
		// A session that a denial protects today is another one tomorrow.
		if isDenial(pattern) && !slices.Contains(strings.Split(pattern, "."), "my_session") {
			out = append(out, bound(positive(pattern), cmp.Or(user, "me"), ""))
		}
	}
	more, err := principal.Elsewhere(ctx, out, user, by.people(c))
	if err != nil {
		return nil, err
	}
	return acl.Compile(append(out, more...))
}

// mayGive refuses to give the patterns to the users if the caller does not cover what they grant, or if the users would lose by
// the denials among them and hold more than the caller.
func (s *Service) mayGive(ctx context.Context, c store.Conn, p *principal.Principal, patterns []string, to users) error {
	return s.mayChange(ctx, c, p, patterns, nil, to)
}

// mayTake refuses to take the patterns from the users, or to change their source, if the caller does not cover the patterns or
// the users hold more than the caller.
func (s *Service) mayTake(ctx context.Context, c store.Conn, p *principal.Principal, patterns []string, from users) error {
	return firstError(s.mayChange(ctx, c, p, nil, patterns, from), s.mayDemote(ctx, c, p, from))
}

// mayChange is mayGive for some patterns and mayTake for others, in one act.
func (s *Service) mayChange(ctx context.Context, c store.Conn, p *principal.Principal, added, removed []string, of users) error {
	by := s.callerOf(p)
	denied, err := by.denials(ctx, c, removed, "")
	if err != nil {
		return err
	}
	grants := slices.DeleteFunc(slices.Clone(added), isDenial)
	loses := len(removed) > 0 || len(grants) < len(added)
	for _, pattern := range removed {
		if isDenial(pattern) {
			grants = append(grants, positive(pattern))
		} else if d := by.sheds(pattern, false, false, denied); d != "" || !by.grants(pattern) {
			return notHeld(pattern, d)
		}
	}
	if err := by.mayGrant(ctx, c, grants, added, removed, of); err != nil || !loses {
		return err
	}
	return s.mayDemote(ctx, c, p, of)
}

// mayGrant refuses if the caller does not cover everything that one of the users would have by the grants, or is denied more than that
// user is when the change is made. If there are no users yet, `me` means any later receiver, and giving it to one is checked then.
func (by caller) mayGrant(ctx context.Context, c store.Conn, grants, added, removed []string, to users) error {
	given, err := by.denials(ctx, c, added, "")
	if err != nil {
		return err
	}
	var open []string // what depends on who gets it
	for _, grant := range grants {
		if anyone := bound(grant, "*", "*"); !by.grants(anyone) || by.sheds(anyone, ownAlone(grant), true, given) != "" {
			open = append(open, grant)
		}
	}
	if len(open) == 0 {
		return nil
	}
	receivers, err := holdingsOf(ctx, c, to)
	if err != nil {
		return err
	}
	// A denial that goes with what it was there for gives nothing.
	gained := func(user string, after []string) []string {
		return slices.DeleteFunc(slices.Clone(open), func(grant string) bool {
			return reachesAny(removed, grant, user) && !reachesAny(after, grant, user)
		})
	}
	for _, receiver := range receivers {
		after := append(less(receiver.accesses(), removed), added...)
		if err := by.mayGrantTo(ctx, c, receiver, gained(receiver.UserUUID, after), after); err != nil {
			return err
		}
	}
	if len(receivers) > 0 {
		return nil
	}
	for _, grant := range gained("*", added) {
		if d := by.sheds(grant, false, false, given); d != "" || !by.grants(grant) {
			return notHeld(grant, d)
		}
	}
	return nil
}

// less returns what somebody holds without what one of its sources gave: another may give the same, but a denial counts as gone.
func less(held, removed []string) []string {
	out := slices.Clone(held)
	for _, pattern := range removed {
		if i := slices.Index(out, pattern); i >= 0 {
			out = slices.Delete(out, i, i+1)
		}
	}
	return slices.DeleteFunc(out, func(pattern string) bool { return isDenial(pattern) && slices.Contains(removed, pattern) })
}

// reachesAny reports whether one of a user's patterns reaches what a denial denies: without one, nothing is gained when the denial goes.
func reachesAny(patterns []string, denied, user string) bool {
	denied = bound(denied, user, "*")
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		theirs := bound(pattern, user, "*")
		return !isDenial(pattern) && (acl.Meet(theirs, denied, acl.Binding{}) || reaches(theirs, ownAlone(pattern), denied))
	})
}

// mayGrantTo is mayGrant for one user, who holds this afterwards. Who has a grant already, from wherever, gains nothing by it.
func (by caller) mayGrantTo(ctx context.Context, c store.Conn, to holding, grants, after []string) error {
	denied, err := by.denials(ctx, c, after, to.UserUUID)
	if err != nil {
		return err
	}
	session := "*"
	if to.UserUUID == by.UserUUID {
		session = by.SessionUUID
	}
	for _, grant := range grants {
		asked := bound(grant, to.UserUUID, session)
		if d := by.sheds(asked, false, false, denied); d != "" || !by.grants(asked) {
			return notHeld(asked, d)
		}
		d := by.sheds(asked, ownAlone(grant), true, denied)
		if d == "" {
			continue
		}
		has, err := acl.Compile(to.accesses())
		if err != nil || !has.Grants(asked, acl.Binding{User: to.UserUUID}) {
			return firstError(err, notCarried(asked, d))
		}
	}
	return nil
}

// notHeld refuses to give what the caller does not hold in full: because of a denial, unless that is "".
func notHeld(pattern, denied string) error {
	e := apierr.New(apierr.Forbidden, "You do not hold %s in full, so you cannot hand it out or take it away", pattern)
	if denied != "" {
		e = apierr.New(apierr.Forbidden, "You do not hold %s in full, since you are denied %s: add !%[2]s to the policy, or give something else", pattern, denied)
	}
	return e.With("required_access", pattern)
}

// notCarried refuses to give what would reach, for its receiver, what the caller is denied.
func notCarried(pattern, denied string) error {
	return apierr.New(apierr.Forbidden, "You are denied %s, and who gets %s from you must be as well: add !%[1]s to the policy", denied, pattern).
		With("required_denial", "!"+denied)
}

func isDenial(pattern string) bool { return strings.HasPrefix(pattern, "!") }

// positive returns a pattern, or what a denial denies.
func positive(pattern string) string { return strings.TrimPrefix(pattern, "!") }

// mayDemote refuses if one of the users, other than the caller, holds more than the caller. What they hold over themselves is
// compared with what the caller holds over the caller: none of it changes hands.
func (s *Service) mayDemote(ctx context.Context, c store.Conn, p *principal.Principal, of users) error {
	return s.exceeds(ctx, c, p, of, comparison{})
}

// mayCreate refuses a new user who would hold, through the group of all users of the tenant, what the caller does not cover, or reach by it
// what the caller is denied. The UUID is fresh if this server has just generated it; p is nil if a stranger registers.
//
// What a fresh user holds over their own things concerns nothing that existed before, so it needs no rights: a caller who may
// only create users can create telephone users. A UUID that the caller has chosen may be known elsewhere, above all as a
// telephone user's. Everything that refers to it anywhere becomes the new user's, now or when they get rights over themselves. So
// the caller must hold all rights over users of that UUID. No earlier account had it: the database ensures that (auth_used_uuid).
func (s *Service) mayCreate(ctx context.Context, c store.Conn, p *principal.Principal, u *User, fresh bool) error {
	given, err := accessesOfGroup(ctx, c, u.TenantUUID, true) // the operator gives the rest
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
			return apierr.New(apierr.Forbidden, "The new user would hold %s, which you do not hold in full", pattern).With("required_access", pattern)
		}
	}
	if p == nil || !p.HasDenials() {
		return nil
	}
	if given, err = accessesOfGroup(ctx, c, u.TenantUUID, false); err != nil {
		return err
	}
	return s.callerOf(p).compare(ctx, c, holding{u.UUID, strings.Join(given, " ")}, comparison{gains: true, granted: true, beyond: fresh})
}

// notDeniedOf refuses a caller who is denied something of a user, by the user's own path, that an operation with another path does.
func notDeniedOf(p *principal.Principal, user, what string) error {
	return notDenied(p, "auth.users."+user+"."+what)
}

// notDenied refuses a caller who is denied an access that an operation with another path has.
func notDenied(p *principal.Principal, access string) error {
	if !p.Denies(access) {
		return nil
	}
	denial := p.Denial(access)
	return apierr.New(apierr.Forbidden, "Your token denies %s, which this contains", denial).With("required_access", denial)
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
func (s *Service) mayActOn(ctx context.Context, c store.Conn, p *principal.Principal, userUUID string) error {
	return s.mayActOnAll(ctx, c, p, oneUser(userUUID))
}

// mayActOnAll is mayActOn for several users.
func (s *Service) mayActOnAll(ctx context.Context, c store.Conn, p *principal.Principal, of users) error {
	return s.exceeds(ctx, c, p, of, comparison{over: true, gains: true})
}

// comparison says how what users hold is compared with what a caller holds.
type comparison struct {
	over    bool // what they hold over themselves changes hands: it is no more the caller's than what others hold over themselves
	gains   bool // somebody gains it, so what may be reached by it counts too
	beyond  bool // only what concerns more than themselves counts
	granted bool // the caller need not hold it, and still be denied no more
}

// exceeds refuses if one of the users, other than the caller, holds what the caller does not, or is not denied what the caller is. It ignores
// what users are denied that the caller holds, so it may refuse what is equal in the end, but never allows too much.
func (s *Service) exceeds(ctx context.Context, c store.Conn, p *principal.Principal, of users, how comparison) error {
	by, of := s.callerOf(p), of.but(p.UserUUID)
	if len(by.denied) == 0 { // it does not matter who holds what
		held, err := accessesOf(ctx, c, of)
		return firstError(err, by.compare(ctx, c, holding{cmp.Or(of.one, "*"), strings.Join(held, " ")}, how))
	}
	held, err := holdingsOf(ctx, c, of)
	for _, h := range held {
		err = firstError(err, by.compare(ctx, c, h, how))
	}
	return err
}

// compare is exceeds for one user.
func (by caller) compare(ctx context.Context, c store.Conn, user holding, how comparison) error {
	held := user.accesses()
	denied, err := by.denials(ctx, c, held, user.UserUUID)
	if err != nil {
		return err
	}
	for _, pattern := range held {
		own := ownAlone(pattern)
		if isDenial(pattern) || own && how.beyond {
			continue
		}
		theirs := bound(pattern, user.UserUUID, "*")
		if how.over {
			pattern = theirs
		}
		d := by.sheds(theirs, own, how.gains, denied)
		if d == "" && (how.granted || by.grants(pattern)) {
			continue
		}
		e := apierr.New(apierr.Forbidden, "This user holds %s, which you do not hold in full", pattern)
		if d != "" {
			e = apierr.New(apierr.Forbidden, "This user holds %s, and is not denied %s as you are", pattern, d)
		}
		return e.With("required_access", pattern)
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
	return apierr.New(apierr.Conflict, "This would give a user more than %d different accesses", acl.MaxPatterns).Named("too-many-accesses")
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

// keepAdministrator refuses a change that leaves no administrator who can log in: an enabled user of the master tenant who holds
// # and no denial, with a login and a password that was not set by a user who holds less. It runs after the change, in its
// transaction. Transactions are serializable, so two that each remove one of the last two administrators cannot both commit.
//
// The query finds the few users who hold # first: left to itself, PostgreSQL reads what every user holds.
func keepAdministrator(ctx context.Context, c store.Conn) error {
	found, err := store.Select[int](ctx, c, `
		WITH powerful AS MATERIALIZED (`+holders(`SELECT policy_uuid FROM auth_policy_access WHERE access = '#'`)+`)
		SELECT 1 FROM auth_user u JOIN auth_tenant t ON t.uuid = u.tenant_uuid
		WHERE u.uuid IN (SELECT user_uuid FROM powerful)
		  AND NOT EXISTS (SELECT 1 FROM `+holdings("u.uuid")+` h JOIN auth_policy_access a ON a.policy_uuid = h.policy_uuid WHERE a.access LIKE '!%')
		  AND EXISTS (SELECT 1 FROM auth_login l LEFT JOIN auth_email e ON e.uuid = l.email_uuid WHERE l.user_uuid = u.uuid AND (l.email_uuid IS NULL OR e.confirmed))
		  AND NOT EXISTS (SELECT 1 FROM auth_voucher v WHERE v.user_uuid = u.uuid AND v.subject = 'password' AND v.by_uuid NOT IN (
			SELECT user_uuid FROM powerful UNION SELECT user_uuid FROM auth_departed WHERE access = '#'))
		  AND t.uuid = t.parent_uuid AND u.enabled AND u.password_hash IS NOT NULL AND `+methodOf+` = 'native'
		LIMIT 1`)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return apierr.New(apierr.Conflict, "This would leave nobody who may do everything; make another administrator first").
			Named("last-administrator")
	}
	return nil
}
