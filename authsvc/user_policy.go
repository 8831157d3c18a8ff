package authsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// declareUserPolicies declares that users have policies of their own. A caller gives policies that the caller covers, and takes
// them from users who hold no more than the caller.
func (s *Service) declareUserPolicies(e *crud.Engine) {
	crud.Link[User, Policy]{
		Table: "auth_user_policy", Only: []string{"put", "delete", "list"}, Action: "create", Strict: true, AcrossTenants: true,
		Allow: crud.Each(func(ctx context.Context, c store.Conn, p *crud.Pair[User, Policy]) error {
			if err := s.mayGive(ctx, c, p.Request.Principal(), p.Right.ACL, oneUser(p.Left.UUID)); err != nil {
				return err
			}
			return fromAbove(ctx, c, p.Right, p.Left.TenantUUID)
		}),
		MayEnd: crud.Each(func(ctx context.Context, c store.Conn, p *crud.Pair[User, Policy]) error {
			return s.mayTake(ctx, c, p.Request.Principal(), p.Right.ACL, oneUser(p.Left.UUID))
		}),
		Changed: crud.Each(func(ctx context.Context, c store.Conn, p *crud.Pair[User, Policy]) error {
			return s.announceLinked(ctx, c, oneUser(p.Left.UUID), &p.Carry)
		}),
		Committed: func(p *crud.Pair[User, Policy]) { s.forgetCarried(p.Carry) },
	}.On(e)
}

// fromAbove refuses to give a policy to a tenant that is not its own or below it: the editors of the policy there could change
// what users above them may do.
func fromAbove(ctx context.Context, c store.Conn, policy *Policy, tenantUUID string) error {
	ok, err := tenant.Within(ctx, c, tenantUUID, policy.TenantUUID)
	if err == nil && !ok {
		e := apierr.New(apierr.Invalid, "A policy can be given in its own tenant and in those below it alone")
		e.Resource = "policies"
		err = e
	}
	return err
}
