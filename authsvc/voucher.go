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
)

// A way to log in as a user is valid as long as the user who set it up holds everything that its user holds. This is checked on
// each use: a password, an address or a directory that was set up before the user was given more does not let its maker in
// afterwards.
//
//	a password              who set it, unless it was the user; set by a mail, who vouches for the address
//	an address              who added it, and who confirmed it in the place of the mail; a mail that was read proves no more than
//	                        that somebody reads it
//	a username, a method    who chose it: directories find users by names
//	an identity             who vouches for the name or address by which a backend's entry was found
//	a directory             who saved it last; the same for a tenant's default method
//	a session               all of these, as they are now, that its login stood on; the same for a refresh token
//
// Nobody vouches for what users set up themselves, in a session that depends on nobody else, nor for what the operator set up. A
// deleted user keeps vouching with what they held then. What was set up is valid again once somebody who holds enough sets it up
// again. To the client a refusal looks like a wrong password; the log says what to do.

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
		if _, err := tx.Exec(ctx, `INSERT INTO auth_voucher (user_uuid, subject, by_uuid, fresh) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
			user, subject, knownBy(v.ByUUID), v.Fresh); err != nil {
			return fmt.Errorf("storing vouchers: %w", err)
		}
	}
	return nil
}

// vouchersOf returns the vouchers for something of a user's.
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

// vouchersBy returns the vouchers for what the caller sets up for a user: the caller or, for the caller's own user, those on whom
// the caller's session depends. It refuses a caller whose session has ended since the request was let in.
func (s *Service) vouchersBy(ctx context.Context, c store.Conn, p *principal.Principal, user string) ([]voucher, error) {
	switch {
	case p == nil:
		return nil, nil
	case p.UserUUID != user:
		return []voucher{{ByUUID: p.UserUUID}}, nil
	case p.Affiliation != nil && p.Remote: // has the UUID of a user here; see knownBy
		return []voucher{{ByUUID: uuid.Nil.String()}}, nil
	}
	backends, err := store.Select[string](ctx, c, `SELECT backend FROM auth_token WHERE session_uuid = $1`, p.SessionUUID)
	if err != nil {
		return nil, err
	}
	if len(backends) == 0 {
		return nil, apierr.New(apierr.Unauthorized, "The session has ended")
	}
	return s.entryOf(ctx, c, user, backends[0])
}

// entryOf returns the vouchers for a user's way in by a backend; "" means that of a session from before there were any.
func (s *Service) entryOf(ctx context.Context, c store.Conn, user, backend string) ([]voucher, error) {
	switch backend {
	case "":
		return nil, nil
	case databaseName:
		return vouchersOf(ctx, c, user, vouchPassword)
	}
	out, err := vouchersOf(ctx, c, user, vouchIdentity(backend), vouchMethod)
	if err != nil || backend != ldapName {
		return out, err
	}
	tenants, err := store.Select[voucher](ctx, c, `
		SELECT l.set_by AS by_uuid, false AS fresh FROM auth_user u JOIN auth_ldap_config l ON l.tenant_uuid = u.tenant_uuid
		WHERE u.uuid = $1 AND l.set_by IS NOT NULL
		UNION SELECT t.method_set_by, false FROM auth_user u JOIN auth_tenant t ON t.uuid = u.tenant_uuid
		WHERE u.uuid = $1 AND u.authentication_method = 'default' AND t.method_set_by IS NOT NULL`, user)
	return append(out, tenants...), err
}

// entryStands reports whether a user's way in by a backend is valid.
func (s *Service) entryStands(ctx context.Context, c store.Conn, user, backend string) (bool, error) {
	by, err := s.entryOf(ctx, c, user, backend)
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
			refusedEntry(ctx, user, what, v)
			return false, nil
		}
	}
	return true, nil
}

// vouched is the query of the vouchers for the password of the user of a token t, if its session began with it: a line for each,
// with its UUID, whether it created the user, and its accesses. No access contains a space or a line end.
var vouched = `
	SELECT string_agg(CAST(v.by_uuid AS text) || CASE WHEN v.fresh THEN ' fresh ' ELSE ' - ' END ||
		coalesce((SELECT string_agg(a.access, ' ') FROM auth_policy_access a WHERE a.policy_uuid IN (SELECT h.policy_uuid FROM ` + holdings("v.by_uuid") + ` h)), '') || ' ' ||
		coalesce((SELECT string_agg(d.access, ' ') FROM auth_departed d WHERE d.user_uuid = v.by_uuid), ''), '` + "\n" + `')
	FROM auth_voucher v WHERE v.user_uuid = t.user_uuid AND v.subject = '` + vouchPassword + `' AND t.backend = '` + databaseName + `'`

// tokenStands reports whether the session of a token is valid. If it began with a password here, the token's own query is enough.
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
		ok, err := s.holdsAll(v, words[2:], t.UserUUID, t.accesses())
		if err != nil || !ok {
			if err == nil {
				refusedEntry(ctx, t.UserUUID, "the way in by the backend "+databaseName, v)
			}
			return false, err
		}
	}
	return true, nil
}

// refusedEntry tells the operator which user can no longer log in, and what to do.
func refusedEntry(ctx context.Context, user, what string, v voucher) {
	slog.WarnContext(ctx, "refused: a user's way to log in was set up by somebody who does not hold all that the user holds; "+
		"it is good again when the user's own administrator, or anybody who holds as much as the user, sets it again",
		"user_uuid", user, "refused", what, "set_by", v.ByUUID)
}

// covers reports whether a voucher, who may be deleted, now holds everything that a user now holds.
func (s *Service) covers(ctx context.Context, c store.Conn, v voucher, user string) (bool, error) {
	if v.ByUUID == user {
		return true, nil
	}
	has, err := store.Select[string](ctx, c, fmt.Sprintf(`
		SELECT a.access FROM %s h JOIN auth_policy_access a ON a.policy_uuid = h.policy_uuid
		UNION SELECT access FROM auth_departed WHERE user_uuid = $1`, holdings("$1")), knownBy(v.ByUUID))
	if err != nil {
		return false, err
	}
	held, err := accessesOf(ctx, c, oneUser(user))
	if err != nil {
		return false, err
	}
	return s.holdsAll(v, has, user, held)
}

// holdsAll reports whether a voucher with these accesses holds what a user with those holds.
func (s *Service) holdsAll(v voucher, has []string, user string, held []string) (bool, error) {
	set, err := s.acls.Compile(has)
	if err != nil {
		return false, err
	}
	held = slices.DeleteFunc(held, func(pattern string) bool { return v.Fresh && ownAlone(pattern) })
	for i := range held {
		held[i] = bound(held[i], user, "*")
	}
	return exceeds(&principal.Principal{UserUUID: v.ByUUID, ACL: set}, held) == nil, nil
}

// depart records what users hold who are about to be deleted, if they vouch for anything: they keep vouching with exactly that,
// whoever deletes them. Nobody gets their UUIDs again.
func depart(ctx context.Context, tx store.Conn, of users) error {
	_, err := tx.Exec(ctx, `INSERT INTO auth_departed (user_uuid, access)
		SELECT DISTINCT h.user_uuid, a.access FROM `+holdings(of.sql)+` h JOIN auth_policy_access a ON a.policy_uuid = h.policy_uuid
		WHERE h.user_uuid IN (
			SELECT by_uuid FROM auth_voucher UNION SELECT set_by FROM auth_ldap_config WHERE set_by IS NOT NULL
			UNION SELECT method_set_by FROM auth_tenant WHERE method_set_by IS NOT NULL)
		ON CONFLICT DO NOTHING`, of.args...)
	if err != nil {
		return fmt.Errorf("storing what a deleted voucher holds: %w", err)
	}
	return nil
}

// vouchForUser records who vouches for a new user's ways in, or for those that change.
func (s *Service) vouchForUser(ctx context.Context, tx store.Conn, old, u *User, p *principal.Principal) error {
	by, err := s.vouchersBy(ctx, tx, p, u.UUID)
	if err != nil {
		return err
	}
	if old == nil {
		for i := range by {
			by[i].Fresh = true
		}
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
