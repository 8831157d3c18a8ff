package authsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
)

// keepAdministrator refuses a change that leaves nobody who can log in and do everything: an enabled user with a
// password, who holds # and no denial (THREATS 4.13). It runs after the change, in its transaction: transactions
// are serializable, so two that each remove one of the last two cannot both commit.
func keepAdministrator(ctx context.Context, c store.Conn) error {
	n, err := store.Get[int](ctx, c, `
		SELECT count(*) FROM auth_user u
		WHERE u.enabled AND u.password_hash IS NOT NULL AND u.authentication_method IN ('native', 'default')
		  AND EXISTS (SELECT 1 FROM auth_holding h JOIN auth_policy_access a ON a.policy_uuid = h.policy_uuid
		              WHERE h.user_uuid = u.uuid AND a.access = '#')
		  AND NOT EXISTS (SELECT 1 FROM auth_holding h JOIN auth_policy_access a ON a.policy_uuid = h.policy_uuid
		                  WHERE h.user_uuid = u.uuid AND a.access LIKE '!%')`)
	if err != nil {
		return err
	}
	if n == 0 {
		e := apierr.New(apierr.Conflict, "This would leave nobody who may do everything; make another administrator first")
		e.ID = "last-administrator"
		return e
	}
	return nil
}
