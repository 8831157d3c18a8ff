package authsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// userPolicyOperations give policies to users, take them away, and list them.
func (s *Service) userPolicyOperations(e *crud.Engine) []rest.Operation {
	user, policy := s.users().End(e, "user_uuid"), s.policies().End(e, "policy_uuid")
	a := crud.Association{
		Table: "auth_user_policy", Left: user, Right: policy, Action: "create", AcrossTenants: true,
		Allow: s.allowUserPolicy,
		Changed: func(ctx context.Context, c store.Conn, p *crud.Pairing) error {
			user := p.Left.Object.(*User).UUID
			return s.announceHoldings(ctx, c, oneUser(user), forgetUser(user))
		},
		Committed: func(p *crud.Pairing) { s.forgetHere(forgetUser(p.Left.Object.(*User).UUID)) },
	}
	return append(a.Operations(e), crud.Related(e, s.policies(), a, user, policy))
}

// allowUserPolicy lets a caller give what they cover, and take it from users who hold no more than they do.
func (s *Service) allowUserPolicy(ctx context.Context, c store.Conn, pair *crud.Pairing) error {
	caller, user, policy := pair.Request.Principal(), pair.Left.Object.(*User), pair.Right.Object.(*Policy)
	if pair.Ends {
		return mayTake(ctx, c, caller, policy.ACL, oneUser(user.UUID))
	}
	if err := mayGive(ctx, c, caller, policy.ACL, oneUser(user.UUID)); err != nil {
		return err
	}
	return fromAbove(ctx, c, policy, user.TenantUUID)
}

// fromAbove refuses to give a policy to a tenant that is not its own or below it: whoever edits
// the policy there would edit what somebody above them may do.
func fromAbove(ctx context.Context, c store.Conn, policy *Policy, tenantUUID string) error {
	ok, err := tenant.Within(ctx, c, tenantUUID, policy.TenantUUID)
	if err == nil && !ok {
		e := apierr.New(apierr.Invalid, "A policy can be given in its own tenant and in those below it alone")
		e.Resource = "policies"
		err = e
	}
	return err
}
