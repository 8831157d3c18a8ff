package authsvc

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Whether vouchers are good: see voucher.go.

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
		coalesce((SELECT string_agg(a.access, ' ') FROM auth_policy_access a WHERE a.policy_uuid IN (SELECT h.policy_uuid FROM ` + holdings("v.by_uuid") + ` h)), '') || ' ' ||
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
			ok, err := s.holdsAll(v, words[3:], t.UserUUID, t.accesses())
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
	return s.holdsAll(v, has, user, held)
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
func (s *Service) holdsAll(v voucher, has []string, user string, held []string) (bool, error) {
	set, err := s.acls.Compile(has)
	if err != nil {
		return false, err
	}
	held = slices.DeleteFunc(held, func(pattern string) bool { return v.Fresh && ownAlone(pattern) })
	by := callerOf(&principal.Principal{UserUUID: v.ByUUID, ACL: set})
	return by.compare(holding{user, strings.Join(held, " ")}, comparison{over: true, gains: true}) == nil, nil
}
