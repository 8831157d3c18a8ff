package authsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
)

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
		e := apierr.New(apierr.Conflict, "This would leave nobody who may do everything; make another administrator first")
		e.ID = "last-administrator"
		return e
	}
	return nil
}
