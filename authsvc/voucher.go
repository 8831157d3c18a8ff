package authsvc

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// A way to log in as a user is valid as long as all who vouch for it hold everything that its user holds, and the user is denied what they
// are denied. This is checked on each use (docs/adr/0010-who-set-up-a-login-is-asked-at-each-use.md): a password, an address or a directory
// that was set up before the user was given more does not let its maker in afterwards.
//
// Who vouches for what is set up is decided by vouchersBy alone: the caller, and all on whom the caller's session stands. Whoever
// logs in by a password that they have planted, and sets something up there, keeps the answer for it.
//
//	a password              who set it; set by a mail, who vouches for the address; changed by its user, see changedBy
//	an address              who added it, and who confirmed it in the place of the mail; a mail that was read proves no more than
//	                        that somebody reads it
//	a username, a method    who chose it: directories find users by names
//	a directory             who saved it last; the same for a tenant's default method
//	an identity             who vouches for the name or address by which a backend's entry was found, and, at each login by that
//	                        backend, for the method and the directory; until the entry is forgotten, and its sessions with it
//	an external link        who began it, as long as it is not completed (external/authorize.go)
//	a session               all of these, as they are now, that its login stood on; the same for a refresh token
//
// Nobody vouches for what users set up themselves, in a session that stands on nobody else, nor for what the operator of this
// machine sets up. A deleted user keeps vouching with what they held then. What was set up is valid again once somebody who holds
// enough sets it up again. To the client a refusal looks like a wrong password; the log says what to do.

// voucher is a user who vouches.
type voucher struct {
	ByUUID string `db:"by_uuid"`
	// Fresh vouchers created the user, who then may hold over their own things what the creator does not (see mayCreate).
	Fresh bool `db:"fresh"`
}

// The subjects that others vouch for, beside addresses and identities.
const (
	vouchPassword = "password"
	vouchUsername = "username"
	vouchMethod   = "method"
)

// The subjects that others vouch for, of a tenant: its directory, and its default method.
const (
	vouchDirectory     = "directory"
	vouchDefaultMethod = "method"
)

func vouchEmail(uuid string) string { return "email " + uuid }

func vouchIdentity(backend string) string { return "identity " + backend }

// knownBy returns the voucher's UUID as it is stored. A token of another auth server may identify its user by something other
// than a UUID: nobody here knows what that user holds, so the nil UUID stands for them, and what they set up lets nobody in.
func knownBy(user string) string {
	if id, err := uuid.Parse(user); err == nil {
		return id.String()
	}
	return uuid.Nil.String()
}

// vouch makes these the only vouchers for something of a user's.
func vouch(ctx context.Context, tx store.Conn, user, subject string, by []voucher) error {
	if _, err := tx.Exec(ctx, `DELETE FROM auth_voucher WHERE user_uuid = $1 AND subject = $2`, user, subject); err != nil {
		return err
	}
	return alsoVouch(ctx, tx, user, subject, by)
}

// alsoVouch adds vouchers for something of a user's.
func alsoVouch(ctx context.Context, tx store.Conn, user, subject string, by []voucher) error {
	for _, v := range by {
		if v.ByUUID == user {
			continue // nobody vouches for themselves
		}
		if _, err := tx.Exec(ctx, `INSERT INTO auth_voucher (user_uuid, subject, by_uuid, fresh) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
			user, subject, knownBy(v.ByUUID), v.Fresh); err != nil {
			return fmt.Errorf("storing vouchers: %w", err)
		}
	}
	return nil
}

func vouchersOf(ctx context.Context, c store.Conn, user string, subjects ...string) ([]voucher, error) {
	var out []voucher
	for _, subject := range subjects {
		found, err := store.Select[voucher](ctx, c, `SELECT by_uuid, fresh FROM auth_voucher WHERE user_uuid = $1 AND subject = $2 ORDER BY by_uuid`, user, subject)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// vouchForTenant makes these the only vouchers for something of a tenant's.
func vouchForTenant(ctx context.Context, tx store.Conn, tenantUUID, subject string, by []voucher) error {
	if _, err := tx.Exec(ctx, `DELETE FROM auth_tenant_voucher WHERE tenant_uuid = $1 AND subject = $2`, tenantUUID, subject); err != nil {
		return err
	}
	for _, v := range by {
		if _, err := tx.Exec(ctx, `INSERT INTO auth_tenant_voucher (tenant_uuid, subject, by_uuid) VALUES ($1, $2, $3)`,
			tenantUUID, subject, knownBy(v.ByUUID)); err != nil {
			return fmt.Errorf("storing vouchers: %w", err)
		}
	}
	return nil
}

func vouchersOfTenant(ctx context.Context, c store.Conn, tenantUUID, subject string) ([]voucher, error) {
	return store.Select[voucher](ctx, c, `SELECT by_uuid, false AS fresh FROM auth_tenant_voucher
		WHERE tenant_uuid = $1 AND subject = $2 ORDER BY by_uuid`, tenantUUID, subject)
}

// maxVouchers is how many users a session may stand on for its user to set anything up: each costs time at each login.
const maxVouchers = 32

// vouchersBy returns the vouchers for what a caller sets up for a user (or, with "", for a tenant): the caller, and those on whom
// the caller's session stands, but never the user. It refuses a caller whose session has ended since the request was let in.
func vouchersBy(ctx context.Context, c store.Conn, p *principal.Principal, user string) ([]voucher, error) {
	switch {
	case p == nil: // the reader of a mail
		return nil, nil
	case p.Affiliation != nil && p.Remote: // may have the UUID of a user here; see knownBy
		return []voucher{{ByUUID: uuid.Nil.String()}}, nil
	case p.SessionUUID == "" && p.UserUUID == uuid.Nil.String(): // the operator of this machine, or this program: local.Caller
		return nil, nil
	}
	by, err := standsOn(ctx, c, p)
	if err != nil {
		return nil, err
	}
	if p.UserUUID != user {
		by = append(by, voucher{ByUUID: p.UserUUID})
		for i := range by {
			by[i].Fresh = false // they have created the caller, and not the user
		}
	}
	by = slices.DeleteFunc(by, func(v voucher) bool { return v.ByUUID == user })
	slices.SortFunc(by, func(a, b voucher) int { return strings.Compare(a.ByUUID, b.ByUUID) })
	by = slices.CompactFunc(by, func(a, b voucher) bool { return a.ByUUID == b.ByUUID })
	if len(by) > maxVouchers {
		return nil, apierr.New(apierr.Forbidden, "Your login depends on too many others, of whom each has set up the next one's; "+
			"have somebody set your password who depends on fewer").Named("depends-on-too-many")
	}
	return by, nil
}

// standsOn returns those on whom a caller's session stands.
func standsOn(ctx context.Context, c store.Conn, p *principal.Principal) ([]voucher, error) {
	if p.SessionUUID == "" { // no token has one like that
		return nil, nil
	}
	backends, err := store.Select[string](ctx, c, `SELECT backend FROM auth_token WHERE session_uuid = $1`, p.SessionUUID)
	if err != nil {
		return nil, err
	}
	if len(backends) == 0 {
		return nil, apierr.New(apierr.Unauthorized, "The session has ended")
	}
	return entryOf(ctx, c, p.UserUUID, backends[0])
}

// changedBy returns the vouchers for a password that a caller has changed, who knows the old one. Users who change their own
// vouch for it if the session or the old password proves who they are: if nobody else has set up either. Otherwise that may
// have been whoever has set up both, so these keep vouching.
func changedBy(ctx context.Context, c store.Conn, p *principal.Principal, user string) ([]voucher, error) {
	by, err := vouchersBy(ctx, c, p, user)
	if err != nil || p.UserUUID != user || len(by) == 0 {
		return by, err
	}
	planted, err := vouchersOf(ctx, c, user, vouchPassword)
	if err != nil || len(planted) == 0 {
		return nil, err
	}
	return append(by, planted...), nil
}

// entryOf returns the vouchers for a user's way in by a backend; "" means that of a session from before there were any.
func entryOf(ctx context.Context, c store.Conn, user, backend string) ([]voucher, error) {
	switch backend {
	case "":
		return nil, nil
	case databaseName:
		return vouchersOf(ctx, c, user, vouchPassword)
	}
	found, err := vouchersOf(ctx, c, user, vouchIdentity(backend))
	if err != nil {
		return nil, err
	}
	lets, err := lettingIn(ctx, c, user, backend)
	return append(found, lets...), err
}

// lettingIn returns those who vouch now for what makes a backend, which is not the database, let the user in: the user's method,
// or the default one of the tenant, and the tenant's directory.
func lettingIn(ctx context.Context, c store.Conn, user, backend string) ([]voucher, error) {
	out, err := vouchersOf(ctx, c, user, vouchMethod)
	if err != nil {
		return nil, err
	}
	counts := `v.subject = '` + vouchDefaultMethod + `' AND u.authentication_method = 'default' AND t.default_authentication_method <> '` + nativeMethod + `'`
	if backend == ldapName {
		counts += ` OR v.subject = '` + vouchDirectory + `'`
	}
	tenants, err := store.Select[voucher](ctx, c, `SELECT DISTINCT v.by_uuid, false AS fresh
		FROM auth_user u JOIN auth_tenant t ON t.uuid = u.tenant_uuid JOIN auth_tenant_voucher v ON v.tenant_uuid = t.uuid
		WHERE u.uuid = $1 AND (`+counts+`)`, user)
	return append(out, tenants...), err
}

// vouchForEntry adds to the vouchers for a user's identity at a backend all on whom a login by it stands: by, and those who let the
// user in, and returns them all. They stay until the entry is forgotten: the session that now begins outlives what they have set up.
func vouchForEntry(ctx context.Context, tx store.Conn, user, backend string, by []voucher) ([]voucher, error) {
	lets, err := lettingIn(ctx, tx, user, backend)
	if err != nil {
		return nil, err
	}
	known, err := vouchersOf(ctx, tx, user, vouchIdentity(backend))
	if err != nil {
		return nil, err
	}
	by = slices.Concat(by, lets)
	for _, v := range by {
		if slices.ContainsFunc(known, func(k voucher) bool { return k.ByUUID == v.ByUUID }) {
			continue // most logins write nothing
		}
		if err := alsoVouch(ctx, tx, user, vouchIdentity(backend), []voucher{v}); err != nil {
			return nil, err
		}
	}
	return by, nil
}

// forgetEntry forgets which entries of a backend some users are, and ends the sessions and refresh tokens that have begun by it. It
// returns how many rows it has deleted, for the caller to announce.
func forgetEntry(ctx context.Context, tx store.Conn, of users, backend string) (n int64, err error) {
	name := fmt.Sprintf("$%d", len(of.args)+1)
	for _, d := range []struct{ sql, value string }{
		{`auth_identity WHERE backend = ` + name, backend},
		{`auth_voucher WHERE subject = ` + name, vouchIdentity(backend)},
		{`auth_token WHERE backend = ` + name, backend},
		{`auth_refresh_token WHERE backend = ` + name, backend},
	} {
		deleted, err := tx.Exec(ctx, `DELETE FROM `+d.sql+` AND user_uuid IN (`+of.sql+`)`, append(slices.Clip(of.args), d.value)...)
		if err != nil {
			return n, fmt.Errorf("forgetting the entries of the backend %s: %w", backend, err)
		}
		n += deleted
	}
	return n, nil
}

// depart records what users hold who are about to be deleted, and where they are, if they vouch for anything: they keep vouching
// with exactly that, whoever deletes them. Nobody gets their UUIDs again.
func depart(ctx context.Context, tx store.Conn, of users) error {
	_, err := tx.Exec(ctx, `INSERT INTO auth_departed (user_uuid, access, tenant_uuid)
		SELECT DISTINCT h.user_uuid, a.access, u.tenant_uuid
		FROM `+holdings(of.sql)+` h JOIN auth_policy_access a ON a.policy_uuid = h.policy_uuid JOIN auth_user u ON u.uuid = h.user_uuid
		WHERE h.user_uuid IN (SELECT by_uuid FROM auth_voucher UNION SELECT by_uuid FROM auth_tenant_voucher)
		ON CONFLICT DO NOTHING`, of.args...)
	if err != nil {
		return fmt.Errorf("storing what a deleted voucher holds: %w", err)
	}
	return nil
}

// vouchForUser records who vouches for a new user's ways in, or for those that change.
func vouchForUser(ctx context.Context, tx store.Conn, old, u *User, by []voucher) error {
	if old == nil {
		if err := vouch(ctx, tx, u.UUID, vouchPassword, by); err != nil {
			return err
		}
	}
	if old == nil || different(old.Username, u.Username) {
		if err := vouch(ctx, tx, u.UUID, vouchUsername, by); err != nil {
			return err
		}
	}
	if old == nil || old.AuthenticationMethod != u.AuthenticationMethod {
		return vouchForMethod(ctx, tx, u.UUID, u.AuthenticationMethod, by)
	}
	return nil
}

// vouchForMethod records who vouches for a user's method, if it is not the password here.
func vouchForMethod(ctx context.Context, tx store.Conn, user, method string, by []voucher) error {
	if method == nativeMethod || method == "default" {
		by = nil
	}
	return vouch(ctx, tx, user, vouchMethod, by)
}

// entryStands reports whether a user's way in by a backend is valid.
func (s *Service) entryStands(ctx context.Context, c store.Conn, user, backend string) (bool, error) {
	by, err := entryOf(ctx, c, user, backend)
	if err != nil {
		return false, err
	}
	return s.stands(ctx, c, user, "the way in by the backend "+backend, by)
}

// emailStands reports whether a user's address is valid.
func (s *Service) emailStands(ctx context.Context, c store.Conn, user, email string) (bool, error) {
	by, err := vouchersOf(ctx, c, user, vouchEmail(email))
	if err != nil {
		return false, err
	}
	return s.stands(ctx, c, user, "the address "+email, by)
}

// stands reports whether all vouchers hold what the user holds. If one does not, it logs that.
func (s *Service) stands(ctx context.Context, c store.Conn, user, what string, by []voucher) (bool, error) {
	for _, v := range by {
		ok, err := s.covers(ctx, c, v, user)
		if err != nil {
			return false, err
		}
		if !ok {
			slog.WarnContext(ctx, "refused: a user's way to log in was set up by somebody who does not hold all that the user holds; "+
				"it is good again when somebody who does sets it up again: resets the password, sets the address, or has the user's entry "+
				"in the directory forgotten (DELETE /idp/ldap/users/{user_uuid}); `ringfence admin answer-for` lets all in for whom that somebody has set it up",
				"user_uuid", user, "refused", what, "set_by", v.ByUUID)
			return false, nil
		}
	}
	return true, nil
}

// placeOfVoucher is the tenant of a voucher v, who may be deleted: w is that user.
const placeOfVoucher = `coalesce(w.tenant_uuid, (SELECT d.tenant_uuid FROM auth_departed d WHERE d.user_uuid = v.by_uuid LIMIT 1))`

// vouched is the query of the vouchers for the password of the user u of a token t, if its session began with it: a line for each,
// with its UUID, whether it created the user, whether it is in the user's tenant or the master tenant, and its accesses. No access
// contains a space or a line end.
var vouched = `
	SELECT string_agg(CAST(v.by_uuid AS text) || CASE WHEN v.fresh THEN ' fresh ' ELSE ' - ' END ||
		CASE WHEN ` + placeOfVoucher + ` = u.tenant_uuid OR EXISTS (
			SELECT 1 FROM auth_tenant m WHERE m.uuid = ` + placeOfVoucher + ` AND m.parent_uuid = m.uuid) THEN 'above ' ELSE '- ' END ||
		coalesce((SELECT string_agg(a.access, ' ') FROM auth_policy_access a
			WHERE a.policy_uuid IN (SELECT h.policy_uuid FROM ` + holdings("v.by_uuid") + ` h)), '') || ' ' ||
		coalesce((SELECT string_agg(d.access, ' ') FROM auth_departed d WHERE d.user_uuid = v.by_uuid), ''), '` + "\n" + `')
	FROM auth_voucher v LEFT JOIN auth_user w ON w.uuid = v.by_uuid
	WHERE v.user_uuid = t.user_uuid AND v.subject = '` + vouchPassword + `' AND t.backend = '` + databaseName + `'`

// tokenStands reports whether the session of a token is valid. If it began with a password here, the token's own query is enough
// as a rule.
func (s *Service) tokenStands(ctx context.Context, t *liveToken) (bool, error) {
	if t.Vouched == nil {
		return s.entryStands(ctx, s.db, t.UserUUID, t.Backend)
	}
	for line := range strings.SplitSeq(*t.Vouched, "\n") {
		words := strings.Fields(line)
		v := voucher{ByUUID: words[0], Fresh: words[1] == "fresh"}
		if v.ByUUID == t.UserUUID {
			continue
		}
		if words[2] == "above" {
			ok, err := s.holdsAll(ctx, s.db, v, words[3:], t.UserUUID, t.accesses())
			if err != nil {
				return false, err
			}
			if ok {
				continue
			}
		}
		// The token does not tell what is the operator's gift, nor all tenants above.
		if ok, err := s.stands(ctx, s.db, t.UserUUID, "the way in by the backend "+databaseName, []voucher{v}); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// covers reports whether a voucher, who may be deleted, now holds everything that a user now holds, over all that the user
// reaches. What the operator's configuration gives to everybody does not count: no voucher has given it.
func (s *Service) covers(ctx context.Context, c store.Conn, v voucher, user string) (bool, error) {
	if v.ByUUID == user {
		return true, nil
	}
	by := knownBy(v.ByUUID)
	if above, err := isAbove(ctx, c, by, user); err != nil || !above {
		return false, err
	}
	has, err := store.Select[string](ctx, c, fmt.Sprintf(`
		SELECT a.access FROM %s h JOIN auth_policy_access a ON a.policy_uuid = h.policy_uuid
		UNION SELECT access FROM auth_departed WHERE user_uuid = $1`, holdings("$1")), by)
	if err != nil {
		return false, err
	}
	held, err := accessesByPeople(ctx, c, oneUser(user))
	if by == uuid.Nil.String() {
		held, err = accessesOf(ctx, c, oneUser(user)) // of another auth server: lets nobody in
	}
	if err != nil {
		return false, err
	}
	return s.holdsAll(ctx, c, v, has, user, held)
}

// isAbove reports whether a voucher is in the user's tenant or above it: tenants move, and what a voucher holds concerns only the
// tenants below the voucher's own. Of a voucher whom nobody knows, it says nothing.
func isAbove(ctx context.Context, c store.Conn, by, user string) (bool, error) {
	type places struct {
		By string `db:"by_tenant"`
		Of string `db:"of_tenant"`
	}
	found, err := store.Select[places](ctx, c, `
		SELECT CAST(w.tenant_uuid AS text) AS by_tenant, CAST(u.tenant_uuid AS text) AS of_tenant
		FROM auth_user u JOIN auth_user w ON w.uuid = $1 WHERE u.uuid = $2
		UNION SELECT CAST(d.tenant_uuid AS text), CAST(u.tenant_uuid AS text)
		FROM auth_user u JOIN auth_departed d ON d.user_uuid = $1 WHERE u.uuid = $2 AND d.tenant_uuid IS NOT NULL`, by, user)
	if err != nil {
		return false, err
	}
	for _, p := range found {
		if p.By == p.Of {
			continue
		}
		if within, err := tenant.Within(ctx, c, p.Of, p.By); err != nil || !within {
			return false, err
		}
	}
	return true, nil
}

// holdsAll reports whether a voucher with these accesses holds what a user with those holds.
func (s *Service) holdsAll(ctx context.Context, c store.Conn, v voucher, has []string, user string, held []string) (bool, error) {
	set, err := s.acls.Compile(has)
	if err != nil {
		return false, err
	}
	held = slices.DeleteFunc(held, func(pattern string) bool { return v.Fresh && ownAlone(pattern) })
	by, err := s.completed(ctx, c, &principal.Principal{UserUUID: v.ByUUID, ACL: set})
	if err != nil {
		return false, err
	}
	err = s.callerOf(by).compare(ctx, c, holding{user, strings.Join(held, " ")}, comparison{over: true, gains: true})
	if e := apierr.As(err); e != nil && e.Kind == apierr.Forbidden {
		return false, nil
	}
	return err == nil, err
}
