package authsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// userPolicyOperations give policies to users, take them away, and list them.
func (s *Service) userPolicyOperations(e *crud.Engine) []rest.Operation {
	user, policy := s.users().End(e, "user_uuid"), s.policies().End(e, "policy_uuid")
	a := crud.Association{
		Table: "auth_user_policy", Left: user, Right: policy, Action: "create", AcrossTenants: true,
		Allow: s.allowUserPolicy,
		Changed: func(ctx context.Context, c store.Conn, p *crud.Pair) error {
			if err := keepAdministrator(ctx, c); err != nil {
				return err
			}
			return s.announce(ctx, c, forgetUser(p.Left.Object.(*User).UUID))
		},
		Committed: func(p *crud.Pair) { s.forgetHere(forgetUser(p.Left.Object.(*User).UUID)) },
	}
	return append(a.Operations(e), crud.Related(e, s.policies(), a, user, policy))
}

// allowUserPolicy lets a caller give what they hold in full, and take it from users who hold no more than they do. What
// `me` stands for in the policy is the user who gets it.
func (s *Service) allowUserPolicy(ctx context.Context, c store.Conn, pair *crud.Pair) error {
	caller, accesses := pair.Request.Principal(), pair.Right.Object.(*Policy).ACL
	if !pair.Ends {
		return mayGive(caller, accesses)
	}
	return mayTake(caller, accesses)
}
