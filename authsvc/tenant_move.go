package authsvc

import (
	"context"
	"errors"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// position is what the audit shows of a moved tenant.
type position struct {
	UUID       string `json:"uuid"`
	ParentUUID string `json:"parent_uuid"`
}

// moveTenant moves a tenant, with all tenants below it, below another one. Both are the request's tenant or below it, so nothing
// leaves the caller's reach or enters it.
func (s *Service) moveTenant(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	moved, err := r.UUIDParam("tenant_uuid")
	if err != nil {
		return rest.Reply{}, err
	}
	parent, err := r.UUIDParam("parent_tenant_uuid")
	if err != nil {
		return rest.Reply{}, unknownTenant(nil)
	}
	err = s.changeTenants(ctx, func(ctx context.Context, tx store.Conn) error {
		scope, err := tenant.Of(ctx, tx, r)
		if err != nil {
			return err
		}
		for _, t := range []string{moved, parent} {
			if ok, err := tenant.Within(ctx, tx, t, scope); err != nil || !ok {
				return firstError(err, unknownTenant(t))
			}
		}
		if err := s.tenants.Unchanged(ctx, tx, r, scope, moved); err != nil {
			return err
		}
		// A tenant that is moved below itself would leave the tree.
		if loop, err := tenant.Within(ctx, tx, parent, moved); err != nil || loop {
			return firstError(err, stays("The new parent is the tenant itself or below it"))
		}
		before, err := store.Get[string](ctx, tx, `SELECT parent_uuid FROM auth_tenant WHERE uuid = $1`, moved)
		if err != nil || before == parent {
			return firstError(err, errThere)
		}
		// Whoever gains the tenant reaches more by all that they hold.
		if err := s.exceeds(ctx, tx, r.Principal(), touchedByMove(moved, before, parent), comparison{gains: true}); err != nil {
			return err
		}
		if err := mayMove(ctx, tx, moved, parent); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE auth_tenant SET parent_uuid = $2 WHERE uuid = $1`, moved, parent); err != nil {
			return err
		}
		return audit.Write(ctx, tx, r, audit.Change{
			Tenant: moved, Resource: "tenants", Object: moved, Before: position{moved, before}, After: position{moved, parent},
		})
	}, forgetAll())
	if errors.Is(err, errThere) {
		err = nil
	}
	return rest.Reply{}, err
}

// errThere ends the transaction of a move that moves nothing.
var errThere = errors.New("the tenant is there already")

// touchedByMove returns the users of the moved tenant and of all tenants below it, those of the tenants above it that lose it,
// and those of the tenants above it that gain it. The latter may then do there what they may do now: the caller must hold as much
// as they do over both tenants.
func touchedByMove(moved, before, after string) users {
	was, will := "("+tenant.Above("$2")+")", "("+tenant.Above("$3")+")"
	return users{sql: `SELECT uuid AS user_uuid FROM auth_user WHERE ` + tenant.Below("tenant_uuid", "$1") + `
		OR tenant_uuid IN ` + was + ` AND tenant_uuid NOT IN ` + will + `
		OR tenant_uuid IN ` + will + ` AND tenant_uuid NOT IN ` + was, args: []any{moved, before, after}}
}

// mayMove refuses a move whose result nobody could have created: a policy or group given to a tenant that is not its own or below
// it, where others could change what users of that tenant may do (see fromAbove); and two policies of one name in one tenant's
// sight.
func mayMove(ctx context.Context, c store.Conn, moved, parent string) error {
	below := func(column string) string { return tenant.Below(column, "$1") }
	strange := func(column string) string {
		return "NOT " + below(column) + " AND " + column + " NOT IN (" + tenant.Above("$2") + ")"
	}
	for _, rule := range []struct{ broken, message string }{
		{
			`auth_user_policy h JOIN auth_user u ON u.uuid = h.user_uuid JOIN auth_policy p ON p.uuid = h.policy_uuid
			WHERE ` + below("u.tenant_uuid") + ` AND ` + strange("p.tenant_uuid"),
			"Its users hold policies of a tenant that it would no longer be below",
		},
		{
			`auth_group_policy h JOIN auth_group g ON g.uuid = h.group_uuid JOIN auth_policy p ON p.uuid = h.policy_uuid
			WHERE ` + below("g.tenant_uuid") + ` AND ` + strange("p.tenant_uuid"),
			"Its groups hold policies of a tenant that it would no longer be below",
		},
		{
			`auth_group_user h JOIN auth_user u ON u.uuid = h.user_uuid JOIN auth_group g ON g.uuid = h.group_uuid
			WHERE ` + below("u.tenant_uuid") + ` AND ` + strange("g.tenant_uuid"),
			"Its users are in groups of a tenant that it would no longer be below",
		},
		{
			`auth_policy mine JOIN auth_policy shared ON shared.name_key = mine.name_key OR shared.slug_key = mine.slug_key
			WHERE ` + below("mine.tenant_uuid") + ` AND shared.shared AND shared.tenant_uuid IN (` + tenant.Above("$2") + `)`,
			"It has a policy with the name or slug of one that the new parent shares",
		},
	} {
		n, err := store.Get[int](ctx, c, `SELECT count(*) FROM `+rule.broken, moved, parent)
		if err != nil || n > 0 {
			return firstError(err, stays(rule.message))
		}
	}
	return nil
}

// stays returns the error that refuses to move a tenant.
func stays(message string) error {
	e := apierr.New(apierr.Conflict, "%s", message)
	e.Resource = "tenants"
	return e
}

func unknownTenant(uuid any) error {
	e := apierr.New(apierr.NotFound, "Tenant was not found")
	e.Details = map[string]any{"uuid": uuid}
	e.ID, e.Resource = "unknown-tenant", "tenants"
	return e
}
