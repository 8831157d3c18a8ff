package authsvc

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// holdings returns a query, in parentheses, of which policies some users hold (user_uuid, policy_uuid), and through which group
// (group_uuid, null for a user's own policy). users is an operand of IN: a placeholder, a column of an enclosing query, or a
// query.
//
// The users are bound within each arm: SQLite would read a view of all holdings, joined to the users, completely first.
func holdings(users string) string {
	return fmt.Sprintf(`(
		SELECT gu.user_uuid, gp.policy_uuid, gu.group_uuid
		FROM auth_group_user gu JOIN auth_group_policy gp ON gp.group_uuid = gu.group_uuid
		WHERE gu.user_uuid IN (%[1]s)
		UNION ALL
		SELECT up.user_uuid, up.policy_uuid, NULL
		FROM auth_user_policy up
		WHERE up.user_uuid IN (%[1]s))`, users)
}

// holders returns a query of the users (user_uuid) who hold some policies, their own or through a group; a user may appear more
// than once. policies is an operand of IN.
func holders(policies string) string {
	return strings.NewReplacer("{", "", "}", "").Replace(holdersVisible(policies))
}

// holdersVisible is holders for lists, which name the tables in braces.
func holdersVisible(policies string) string {
	return fmt.Sprintf(`
		SELECT gu.user_uuid
		FROM {auth_group_policy} gp JOIN {auth_group_user} gu ON gu.group_uuid = gp.group_uuid
		WHERE gp.policy_uuid IN (%[1]s)
		UNION ALL
		SELECT up.user_uuid
		FROM {auth_user_policy} up
		WHERE up.policy_uuid IN (%[1]s)`, policies)
}

// users are the users whom a change concerns: a query of their user_uuid, and its arguments.
type users struct {
	sql  string
	args []any
	one  string // the user, if there is one at most
}

// but returns the users without one, whom a token of another auth server may identify by something other than a UUID.
func (u users) but(uuid string) users {
	u.sql = fmt.Sprintf("SELECT b.user_uuid FROM (%s) b WHERE CAST(b.user_uuid AS text) <> $%d", u.sql, len(u.args)+1)
	u.args = append(slices.Clip(u.args), uuid)
	return u
}

func oneUser(uuid string) users {
	return users{"SELECT uuid AS user_uuid FROM auth_user WHERE uuid = $1", []any{uuid}, uuid}
}

func holdersOf(policyUUID string) users {
	return users{sql: holders("$1"), args: []any{policyUUID}}
}

func membersOf(groupUUID string) users {
	return users{sql: "SELECT user_uuid FROM auth_group_user WHERE group_uuid = $1", args: []any{groupUUID}}
}

// usersWhere are the users u of the tenant t who satisfy the condition.
func usersWhere(tenantUUID, condition string) users {
	return users{sql: `SELECT u.uuid AS user_uuid FROM auth_user u JOIN auth_tenant t ON t.uuid = u.tenant_uuid
		WHERE u.tenant_uuid = $1 AND ` + condition, args: []any{tenantUUID}}
}

func usersOf(tenantUUID string) users {
	return users{sql: "SELECT uuid AS user_uuid FROM auth_user WHERE tenant_uuid = $1", args: []any{tenantUUID}}
}

// accessesOf returns what the users hold now, together.
func accessesOf(ctx context.Context, c store.Conn, of users) ([]string, error) {
	return store.Select[string](ctx, c, `
		SELECT DISTINCT a.access FROM `+holdings(of.sql)+` h
		JOIN auth_policy_access a ON a.policy_uuid = h.policy_uuid
		ORDER BY a.access`, of.args...)
}

// holding is what one user holds, separated by spaces: each access as often as there is something that gives it.
type holding struct {
	UserUUID string `db:"user_uuid"`
	Accesses string `db:"accesses"`
}

func (h holding) accesses() []string { return strings.Fields(h.Accesses) }

func holdingsOf(ctx context.Context, c store.Conn, of users) ([]holding, error) {
	return store.Select[holding](ctx, c, `
		SELECT u.user_uuid, coalesce((SELECT string_agg(a.access, ' ') FROM `+holdings("u.user_uuid")+` h
			JOIN auth_policy_access a ON a.policy_uuid = h.policy_uuid), '') AS accesses
		FROM (SELECT DISTINCT t.user_uuid FROM (`+of.sql+`) t) u ORDER BY u.user_uuid`, of.args...)
}

// accessesByPeople returns what the users hold together beside what the operator's configuration gives to everybody.
func accessesByPeople(ctx context.Context, c store.Conn, of users) ([]string, error) {
	return store.Select[string](ctx, c, `
		SELECT DISTINCT a.access FROM `+holdings(of.sql)+` h
		JOIN auth_policy_access a ON a.policy_uuid = h.policy_uuid
		WHERE NOT EXISTS (SELECT 1 FROM auth_group g JOIN auth_group_policy gp ON gp.group_uuid = g.uuid
			WHERE g.uuid = h.group_uuid AND g.system_managed AND gp.policy_uuid = h.policy_uuid AND gp.config_managed)
		ORDER BY a.access`, of.args...)
}

// declareUserPolicies declares that users have policies of their own. A caller gives policies that the caller covers, and takes
// them from users who hold no more than the caller.
func (s *Service) declareUserPolicies(e *crud.Engine) {
	crud.Link[User, Policy]{
		Table: "auth_user_policy", Only: []string{"put", "delete", "list"}, GivesRights: true,
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
			return s.announceLinked(ctx, c, oneUser(p.Left.UUID))
		}),
	}.On(e)
}

// fromAbove refuses to give a policy to a tenant that is not its own or below it: the editors of the policy there could change
// what users above them may do.
func fromAbove(ctx context.Context, c store.Conn, policy *Policy, tenantUUID string) error {
	ok, err := tenant.Within(ctx, c, tenantUUID, policy.TenantUUID)
	if err == nil && !ok {
		err = apierr.New(apierr.Invalid, "A policy can be given in its own tenant and in those below it alone").Of("policies")
	}
	return err
}
