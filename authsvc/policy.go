package authsvc

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

func init() {
	rest.RegisterFormats(rest.Format{
		Name: "slug", Pattern: "^[a-zA-Z0-9_-]+$", Example: "night-shift",
		Doc: "A short name of letters, digits, `_` and `-`.",
	})
}

// Policy is a named list of accesses that users are given.
type Policy struct {
	UUID        string   `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	TenantUUID  string   `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name        string   `db:"name" json:"name" required:"true" minLength:"1" maxLength:"80"`
	Slug        *string  `db:"slug" json:"slug" minLength:"1" maxLength:"80" format:"slug" fixed:"true" doc:"Made from the name when it is not sent."`
	Description *string  `db:"description" json:"description" multiline:"true" maxLength:"4096" doc:"What it is for, in words."`
	ACL         []string `json:"acl" default:"[]" maxItems:"1000" items.maxLength:"257" items.example:"confd.users.read" doc:"Patterns of accesses, in order."`
	ReadOnly    bool     `json:"read_only" readOnly:"true"`
	Shared      bool     `db:"shared" json:"shared" default:"false" fixed:"true" doc:"Visible, read-only, in the tenants below."`

	NameKey       string `db:"name_key" json:"-" of:"name"`
	SlugKey       string `db:"slug_key" json:"-" of:"slug" fixed:"true"`
	ConfigManaged bool   `db:"config_managed" json:"-"`
}

func (s *Service) declarePolicies(e *crud.Engine) {
	s.policies = crud.Collect(e, crud.Resource[Policy]{
		Path: "policies", Singular: "policy", Param: "policy_uuid", Table: "auth_policy", Keys: []string{"uuid"}, Names: []string{"slug"},
		About:   "Lists of patterns that say what the users who hold them may do.",
		Lists:   []string{"name", "acl", "description", "read_only"},
		Order:   []string{"name", "slug", "description", "uuid", "read_only"},
		Search:  []string{"name", "description"},
		Filters: []string{"uuid", "name", "slug", "user_uuid", "group_uuid", "tenant_uuid", "read_only"},
		Aliases: map[string]string{"read_only": "config_managed"},
		Matches: map[string]crud.Match{
			"user_uuid":  {Condition: "uuid IN (SELECT m.policy_uuid FROM {auth_user_policy} m WHERE m.user_uuid = %s)", Type: "uuid", Of: "auth_user"},
			"group_uuid": {Condition: "uuid IN (SELECT m.policy_uuid FROM {auth_group_policy} m WHERE m.group_uuid = %s)", Type: "uuid", Of: "auth_group"},
		},
		Shown: map[string]string{"read_only": fromOutside, "tenant_uuid": "CASE WHEN " + fromOutside + " THEN %[1]s ELSE tenant_uuid END"},
		// Everybody may read a policy that the configuration makes, and the tenants below may read a shared one. That of the administrators
		// is the master tenant's alone, since they are.
		Shared:  "(config_managed AND slug_key <> '" + AdministratorPolicy + "' OR shared AND tenant_uuid IN (" + tenant.Above("%s") + "))",
		Prepare: preparePolicy, Validate: s.validatePolicy, Save: savePolicy, Guard: s.guardPolicy,
		Load: loadAccesses, Present: presentPolicies, Changed: s.announcePolicy,
	})
}

// fromOutside matches the policies that presentPolicies shows as read-only, and as the reader's own.
var fromOutside = "(config_managed OR shared AND tenant_uuid <> %[1]s AND tenant_uuid IN (" + tenant.Above("%[1]s") + "))"

// preparePolicy tidies the name, keeps each access once, and fills in what the server decides of a new policy.
func preparePolicy(ctx context.Context, c store.Conn, change *crud.Change[Policy]) (err error) {
	p := change.New
	p.ACL = unique(p.ACL)
	if p.Name, p.NameKey, err = checkName("name", p.Name); err != nil || change.Old != nil {
		return err
	}
	p.Slug, p.SlugKey, err = newSlug(p.Slug, p.Name, func(key string) (bool, error) {
		found, err := policyCalled(ctx, c, p, "", key)
		return found != nil, err
	})
	return err
}

// policyCalled returns a policy that has the name or slug of p in the sight of p's tenant: one of the same tenant, one that is
// shared with it, or, if p is to be shared, one of a tenant below. It returns nil if there is none.
func policyCalled(ctx context.Context, c store.Conn, p *Policy, nameKey, slugKey string) (*Policy, error) {
	found, err := store.Select[*Policy](ctx, c, `
		SELECT uuid, tenant_uuid, name, slug, description, shared, name_key, slug_key, config_managed FROM auth_policy
		WHERE (name_key = $1 OR slug_key = $2) AND uuid <> $3
		  AND (tenant_uuid = $4 OR (shared OR config_managed) AND tenant_uuid IN (`+tenant.Above("$4")+`)
		       OR $5 AND `+tenant.Below("tenant_uuid", "$4")+`) LIMIT 1`,
		nameKey, slugKey, p.UUID, p.TenantUUID, p.Shared)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// validatePolicy checks that the name is free, that the accesses are valid, and that the caller may give what is added and take what is
// removed.
func (s *Service) validatePolicy(ctx context.Context, c store.Conn, change *crud.Change[Policy]) error {
	p, caller := change.New, change.Request.Principal()
	if err := checkPatterns(p.ACL); err != nil {
		return err
	}
	if change.Old != nil {
		if err := writable(change.Old); err != nil {
			return err
		}
	}
	if err := checkPolicyName(ctx, c, p); err != nil {
		return err
	}
	holders := holdersOf(p.UUID) // nobody, if it is new
	if change.Old == nil {
		return s.mayGive(ctx, c, caller, p.ACL, holders)
	}
	added, removed := difference(p.ACL, change.Old.ACL), difference(change.Old.ACL, p.ACL)
	return firstError(s.mayChange(ctx, c, caller, added, removed, holders), s.mayDemote(ctx, c, caller, holders))
}

// checkPolicyName refuses a name or slug of another policy that the tenant sees.
func checkPolicyName(ctx context.Context, c store.Conn, p *Policy) error {
	other, err := policyCalled(ctx, c, p, p.NameKey, p.SlugKey)
	if err != nil || other == nil {
		return err
	}
	field, value := "name", p.Name
	if other.NameKey != p.NameKey {
		field, value = "slug", *p.Slug
	}
	return apierr.New(apierr.Conflict, "Policy already exists ('%s': '%s')", field, value).
		Of("policies").With(field, map[string]any{"constraint_id": "unique", "constraint": "unique", "message": "Is already used"})
}

func writable(p *Policy) error {
	if !p.ReadOnly {
		return nil
	}
	return apierr.New(apierr.Forbidden, "This policy is read-only").Named("forbidden-policy").Of("policies")
}

func difference(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(x string) bool { return slices.Contains(b, x) })
}

func (s *Service) guardPolicy(ctx context.Context, c store.Conn, change *crud.Change[Policy]) error {
	if err := writable(change.Old); err != nil {
		return err
	}
	if err := s.mayTake(ctx, c, change.Request.Principal(), change.Old.ACL, holdersOf(change.Old.UUID)); err != nil {
		return err
	}
	gone, err := forgetUsers(ctx, c, holdersOf(change.Old.UUID))
	change.Carry = gone
	return err
}

func savePolicy(ctx context.Context, c store.Conn, change *crud.Change[Policy]) error {
	var before []string
	if change.Old != nil {
		before = change.Old.ACL
	}
	return writeAccesses(ctx, c, change.New.UUID, before, change.New.ACL)
}

// writeAccesses replaces a policy's accesses, in order: one statement deletes, another inserts.
func writeAccesses(ctx context.Context, c store.Conn, policy string, before, now []string) error {
	if slices.Equal(before, now) {
		return nil
	}
	if gone := difference(before, now); len(gone) > 0 {
		args := []any{policy}
		for _, access := range gone {
			args = append(args, access)
		}
		_, err := c.Exec(ctx, `DELETE FROM auth_policy_access WHERE policy_uuid = $1 AND access IN (`+crud.Placeholders(2, len(gone))+`)`, args...)
		if err != nil {
			return err
		}
	}
	if len(now) == 0 {
		return nil
	}
	rows, args := make([]string, len(now)), []any{policy}
	for i, access := range now {
		args = append(args, access)
		rows[i] = fmt.Sprintf("($1, $%d, %d)", len(args), i)
	}
	_, err := c.Exec(ctx, `INSERT INTO auth_policy_access (policy_uuid, access, place) VALUES `+strings.Join(rows, ", ")+`
		ON CONFLICT (policy_uuid, access) DO UPDATE SET place = excluded.place`, args...)
	return err
}

// loadAccesses reads the accesses of all the policies of a list with one query.
func loadAccesses(ctx context.Context, c store.Conn, policies []*Policy) error {
	type row struct {
		PolicyUUID string `db:"policy_uuid"`
		Access     string `db:"access"`
	}
	byUUID := make(map[string]*Policy, len(policies))
	for _, p := range policies {
		p.ACL = []string{}
		byUUID[p.UUID] = p
	}
	rows, err := selectOf[row](ctx, c, byUUID, `SELECT policy_uuid, access FROM auth_policy_access WHERE policy_uuid IN (%s) ORDER BY place, access`)
	for _, r := range rows {
		byUUID[r.PolicyUUID].ACL = append(byUUID[r.PolicyUUID].ACL, r.Access)
	}
	return err
}

// presentPolicies shows a policy from outside the reader's tenant as existing clients expect it: read-only, and as the reader's
// own.
func presentPolicies(ctx context.Context, c store.Conn, scope string, policies []*Policy) error {
	var above []string
	for _, p := range policies {
		fromOutside := p.ConfigManaged
		if p.Shared && p.TenantUUID != scope {
			if above == nil {
				var err error
				if above, err = store.Select[string](ctx, c, tenant.Above("$1"), scope); err != nil {
					return err
				}
			}
			fromOutside = fromOutside || slices.Contains(above, p.TenantUUID)
		}
		p.ReadOnly = fromOutside
		if fromOutside {
			p.TenantUUID, p.Shared = scope, false
		}
	}
	return nil
}

func (s *Service) announcePolicy(ctx context.Context, c store.Conn, change *crud.Change[Policy]) error {
	if change.Old == nil {
		return nil
	}
	holders := holdersOf(change.Old.UUID)
	if change.New != nil {
		return s.announceLinked(ctx, c, holders)
	}
	return s.announceHoldings(ctx, c, holders, change.Carry.([]forget)...) // Guard looked before the delete: now nobody holds it
}

func (s *Service) policyAccessOperations() []rest.Operation {
	edit := func(method, id, summary string, change func(p *Policy, access string) error) rest.Operation {
		return rest.Operation{
			Method: method, Path: "/policies/{policy_uuid}/acl/{access}", Access: "auth.policies.{policy_uuid}.update", Pattern: "access",
			ID: id, Tag: "policies", Summary: summary, Success: http.StatusNoContent, Statuses: []int{400, 404, 409, 412}, Tenanted: true,
			Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
				access := r.Param("access")
				if err := checkPatterns([]string{access}); err != nil {
					return rest.Reply{}, err
				}
				return rest.Reply{}, s.policies.Edit(ctx, r, nil, func(_ context.Context, _ store.Conn, p *Policy) error { return change(p, access) })
			},
		}
	}
	return []rest.Operation{
		edit(http.MethodPut, "add_policy_access", "Add an access to a policy", func(p *Policy, access string) error {
			if slices.Contains(p.ACL, access) {
				return apierr.New(apierr.Conflict, "Policy already associated to %s", access)
			}
			p.ACL = append(slices.Clone(p.ACL), access)
			return nil
		}),
		edit(http.MethodDelete, "remove_policy_access", "Take an access from a policy", func(p *Policy, access string) error {
			p.ACL = slices.DeleteFunc(slices.Clone(p.ACL), func(a string) bool { return a == access })
			return nil
		}),
	}
}
