package authsvc

import (
	"context"
	"fmt"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/store"
)

// covers reports whether one user, who may be gone, holds now all that another holds now, as mayActOn compares them.
func (s *Service) covers(ctx context.Context, c store.Conn, byUUID, userUUID string) (bool, error) {
	held, err := store.Select[string](ctx, c, fmt.Sprintf(`
		SELECT a.access FROM %s h JOIN auth_policy_access a ON a.policy_uuid = h.policy_uuid
		UNION SELECT access FROM auth_departed WHERE user_uuid = $1`, holdings("$1")), byUUID)
	if err != nil {
		return false, err
	}
	set, err := s.acls.Compile(held)
	if err != nil {
		return false, err
	}
	err = mayActOn(ctx, c, &principal.Principal{UserUUID: byUUID, ACL: set}, userUUID)
	if e := apierr.As(err); e != nil && e.Kind == apierr.Forbidden {
		return false, nil
	}
	return err == nil, err
}
