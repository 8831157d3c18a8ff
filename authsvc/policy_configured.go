package authsvc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// Configured are the policies and groups that the operator's configuration creates. The API shows them and does not change them.
// The operator gives what they give: a caller need not hold it to create the users who get it.
type Configured struct {
	// Policies are created in the master tenant, and visible to every tenant.
	Policies []ConfiguredPolicy
	// AllUsers are the slugs of the policies that every user holds, through the group of all users of each tenant.
	AllUsers []string
	// Groups are created in every tenant, which may rename them, by slug. A caller who covers what they give may add users to them.
	Groups []ConfiguredGroup
}

// ConfiguredPolicy is a policy by its slug, which is also its name.
type ConfiguredPolicy struct {
	Slug, Description string
	ACL               []string
}

// ConfiguredGroup is a group by its slug, which is also its name, with the slugs of its policies.
type ConfiguredGroup struct {
	Slug     string
	Policies []string
}

// DefaultUserPolicy is the policy that every user holds unless the operator chooses otherwise.
const DefaultUserPolicy = "wazo_default_user_policy"

// OwnAccount returns the accesses of DefaultUserPolicy: what a telephone user needs for their own account. None of them gives
// anything to anybody else.
func OwnAccount() []string {
	return []string{
		"auth.users.me.read",
		"auth.users.me.password.update",
		"auth.users.me.second_factor.read", "auth.users.me.second_factor.create", "auth.users.me.second_factor.update",
		"auth.users.me.sessions.read", "auth.users.me.sessions.*.delete",
		"auth.users.me.tokens.read", "auth.users.me.tokens.*.delete",
		"auth.users.me.external.read", "auth.users.me.external.*.*", "auth.users.me.external.mobile.sender_id.read",
		"confd.users.me.read", "confd.users.me.#.read",
		"confd.users.me.funckeys.*.*",
		"confd.users.me.forwards.update", "confd.users.me.forwards.*.update",
		"confd.users.me.services.update", "confd.users.me.services.*.update",
	}
}

// Check refuses what UseConfigured could never create.
func (c Configured) Check() error {
	known := map[string]bool{}
	for _, p := range c.Policies {
		if err := checkConfigured("policy", p.Slug, known); err != nil {
			return err
		}
		if strings.EqualFold(p.Slug, AdministratorPolicy) {
			return fmt.Errorf("the policy %s is the first administrator's", p.Slug)
		}
		if err := checkPatterns(p.ACL); err != nil {
			return fmt.Errorf("the policy %s: %w", p.Slug, err)
		}
	}
	groups := map[string]bool{}
	for _, g := range append([]ConfiguredGroup{{Slug: "all users", Policies: c.AllUsers}}, c.Groups...) {
		if g.Slug != "all users" {
			if err := checkConfigured("group", g.Slug, groups); err != nil {
				return err
			}
		}
		for _, slug := range g.Policies {
			if !known[strings.ToLower(slug)] {
				return fmt.Errorf("the policy %s of the group %s is not in default_policies", slug, g.Slug)
			}
		}
	}
	return nil
}

func checkConfigured(what, slug string, seen map[string]bool) error {
	key := strings.ToLower(slug)
	switch {
	case slug == "" || len(slug) > maxSlug || notSlug.MatchString(slug) || key == "me" || key == "my_session":
		return fmt.Errorf("%q names no %s: a name has 1 to %d letters, digits, _ and -, and is neither me nor my_session", slug, what, maxSlug)
	case seen[key]:
		return fmt.Errorf("the %s %s is configured twice", what, slug)
	}
	seen[key] = true
	return nil
}

// UseConfigured makes the database hold what the configuration gives, and no more: it removes what an earlier configuration gave
// and this one does not. A policy that is no longer configured, but that somebody was given by hand, stays until nobody has it;
// such a group with users stays, as an ordinary group of its tenant. Everything is one transaction, so any number of nodes may
// start at once; of nodes with different configurations, the last to start wins. Live tokens change at once, on every node.
func (s *Service) UseConfigured(ctx context.Context, c Configured) error {
	if err := c.Check(); err != nil {
		return err
	}
	if err := s.engine.InTx(ctx, func(ctx context.Context, tx store.Conn) error { return s.configure(ctx, tx, c) }); err != nil {
		return fmt.Errorf("making the configured policies and groups: %w", err)
	}
	return nil
}

func (s *Service) configure(ctx context.Context, tx store.Conn, c Configured) error {
	before := keepAdministrator(ctx, tx)
	if before != nil && apierr.As(before) == nil {
		return before
	}
	// Nodes that start at once wait here for each other.
	if _, err := tx.Exec(ctx, `UPDATE auth_server SET uuid = uuid WHERE id = 1`); err != nil {
		return err
	}
	master, err := store.Get[string](ctx, tx, `SELECT uuid FROM auth_tenant WHERE uuid = parent_uuid`)
	if err != nil {
		return err
	}
	d := &configuring{tx: tx, master: master, policies: map[string]string{}}
	for _, step := range []func(context.Context, Configured) error{d.makePolicies, d.makeGroups, d.givePolicies, d.removePolicies} {
		if err := step(ctx, c); err != nil {
			return err
		}
	}
	if !d.changed {
		return nil
	}
	if err := checkTotals(ctx, tx, users{sql: "SELECT uuid AS user_uuid FROM auth_user"}); err != nil {
		return err
	}
	if before == nil { // if nobody could administer before, that must not prevent the start
		if err := keepAdministrator(ctx, tx); err != nil {
			return err
		}
	}
	return s.announce(ctx, tx, forgetAll())
}

// configuring is one run of UseConfigured.
type configuring struct {
	tx       store.Conn
	master   string
	policies map[string]string // the UUID of each configured policy, by its slug in lower case
	changed  bool
}

// exec records whether anything was changed.
func (d *configuring) exec(ctx context.Context, sql string, args ...any) error {
	n, err := d.tx.Exec(ctx, sql, args...)
	d.changed = d.changed || n > 0
	return err
}

func (d *configuring) makePolicies(ctx context.Context, c Configured) error {
	type row struct {
		UUID          string `db:"uuid"`
		Slug          string `db:"slug"`
		ConfigManaged bool   `db:"config_managed"`
	}
	for _, p := range c.Policies {
		key := strings.ToLower(p.Slug)
		found, err := store.Select[row](ctx, d.tx, `SELECT uuid, slug, config_managed FROM auth_policy
			WHERE tenant_uuid = $1 AND (slug_key = $2 OR name_key = $2)`, d.master, key)
		if err != nil {
			return err
		}
		if len(found) > 1 || len(found) == 1 && !found[0].ConfigManaged {
			return fmt.Errorf("the master tenant has a policy of its own that is called %s; delete it, or rename the configured one", p.Slug)
		}
		id := uuid.NewString()
		if len(found) == 1 {
			id = found[0].UUID
		} else if err := d.exec(ctx, `INSERT INTO auth_policy (uuid, tenant_uuid, name, name_key, slug, slug_key, description, shared, config_managed)
			VALUES ($1, $2, $3, $4, $3, $4, $5, false, true)`, id, d.master, p.Slug, key, p.Description); err != nil {
			return err
		}
		d.policies[key] = id
		if err := d.exec(ctx, `UPDATE auth_policy SET name = $2, slug = $2, description = $3
			WHERE uuid = $1 AND (slug <> $2 OR name <> $2 OR description IS DISTINCT FROM $3)`, id, p.Slug, p.Description); err != nil {
			return err
		}
		if err := d.setAccesses(ctx, id, p.ACL); err != nil {
			return err
		}
	}
	return nil
}

func (d *configuring) setAccesses(ctx context.Context, policy string, acl []string) error {
	policies := []*Policy{{UUID: policy}}
	if err := loadAccesses(ctx, d.tx, policies); err != nil {
		return err
	}
	acl = unique(acl)
	if slices.Equal(acl, policies[0].ACL) {
		return nil
	}
	d.changed = true
	return writeAccesses(ctx, d.tx, policy, policies[0].ACL, acl)
}

// makeGroups creates the groups in every tenant that has none of their names, and releases those that are no longer configured.
func (d *configuring) makeGroups(ctx context.Context, c Configured) error {
	type lacking struct {
		Tenant string `db:"uuid"`
		Taken  bool   `db:"taken"`
	}
	var keys []any
	for _, g := range c.Groups {
		key := strings.ToLower(g.Slug)
		keys = append(keys, key)
		tenants, err := store.Select[lacking](ctx, d.tx, `
			SELECT t.uuid, EXISTS (SELECT 1 FROM auth_group o WHERE o.tenant_uuid = t.uuid AND (o.slug_key = $1 OR o.name_key = $1)) AS taken
			FROM auth_tenant t WHERE NOT EXISTS (SELECT 1 FROM auth_group g WHERE g.tenant_uuid = t.uuid AND g.slug_key = $1 AND g.config_managed)`, key)
		if err != nil {
			return err
		}
		for _, t := range tenants {
			if t.Taken { // its users were not added for what the operator gives
				slog.WarnContext(ctx, "a tenant has a group of its own with the name of a configured one, and goes without that", "tenant_uuid", t.Tenant, "group", g.Slug)
				continue
			}
			if err := d.exec(ctx, insertConfiguredGroup, uuid.NewString(), t.Tenant, g.Slug, key); err != nil {
				return err
			}
		}
	}
	gone := `config_managed AND slug_key NOT IN (` + crud.Placeholders(1, len(keys)) + `)`
	if len(keys) == 0 {
		gone = `config_managed`
	}
	for _, sql := range []string{
		`DELETE FROM auth_group_policy WHERE config_managed AND group_uuid IN (SELECT uuid FROM auth_group WHERE ` + gone + `)`,
		`DELETE FROM auth_group WHERE ` + gone + ` AND uuid NOT IN (SELECT group_uuid FROM auth_group_user UNION SELECT group_uuid FROM auth_group_policy)`,
		`UPDATE auth_group SET config_managed = false WHERE ` + gone,
	} {
		if err := d.exec(ctx, sql, keys...); err != nil {
			return err
		}
	}
	return nil
}

const insertConfiguredGroup = `INSERT INTO auth_group (uuid, tenant_uuid, name, name_key, slug, slug_key, system_managed, config_managed)
	VALUES ($1, $2, $3, $4, $3, $4, false, true)`

// givePolicies makes the groups give their configured policies, and of other policies only those that were added by hand.
func (d *configuring) givePolicies(ctx context.Context, c Configured) error {
	if err := d.give(ctx, `system_managed`, nil, c.AllUsers); err != nil {
		return err
	}
	for _, g := range c.Groups {
		if err := d.give(ctx, `config_managed AND slug_key = $1`, []any{strings.ToLower(g.Slug)}, g.Policies); err != nil {
			return err
		}
	}
	return nil
}

func (d *configuring) give(ctx context.Context, groups string, args []any, slugs []string) error {
	from := len(args) + 1
	for _, slug := range unique(slugs) {
		args = append(args, d.policies[strings.ToLower(slug)])
	}
	wanted := crud.Placeholders(from, len(args)-from+1)
	without := ""
	if len(args) >= from {
		without = ` AND policy_uuid NOT IN (` + wanted + `)`
	}
	given := `config_managed AND group_uuid IN (SELECT uuid FROM auth_group WHERE ` + groups + `)` + without
	if err := d.exec(ctx, `DELETE FROM auth_group_policy WHERE `+given, args...); err != nil {
		return err
	}
	if len(args) < from {
		return nil
	}
	return d.exec(ctx, `INSERT INTO auth_group_policy (group_uuid, policy_uuid, config_managed)
		SELECT g.uuid, p.uuid, true FROM (SELECT uuid FROM auth_group WHERE `+groups+`) g CROSS JOIN auth_policy p WHERE p.uuid IN (`+wanted+`)
		ON CONFLICT (group_uuid, policy_uuid) DO UPDATE SET config_managed = true WHERE NOT auth_group_policy.config_managed`, args...)
}

// removePolicies deletes the policies that are no longer configured, unless somebody was given them by hand.
func (d *configuring) removePolicies(ctx context.Context, _ Configured) error {
	args := []any{d.master, AdministratorPolicy}
	for key := range d.policies {
		args = append(args, key)
	}
	gone := `tenant_uuid = $1 AND config_managed AND slug_key NOT IN (` + crud.Placeholders(2, len(args)-1) + `)`
	if err := d.exec(ctx, `DELETE FROM auth_policy WHERE `+gone+`
		AND uuid NOT IN (SELECT policy_uuid FROM auth_user_policy) AND uuid NOT IN (SELECT policy_uuid FROM auth_group_policy)`, args...); err != nil {
		return err
	}
	left, err := store.Select[string](ctx, d.tx, `SELECT slug FROM auth_policy WHERE `+gone+` ORDER BY slug`, args...)
	if len(left) > 0 {
		slog.WarnContext(ctx, "policies that are configured no more stay, for somebody was given them", "policies", strings.Join(left, ", "))
	}
	return err
}

// createConfigured gives a new tenant what the configuration gives the master tenant.
func createConfigured(ctx context.Context, tx store.Conn, tenantUUID string) error {
	const copied = `INSERT INTO auth_group_policy (group_uuid, policy_uuid, config_managed)
		SELECT $1, policy_uuid, true FROM auth_group_policy WHERE group_uuid = $2 AND config_managed`
	master, err := store.Get[string](ctx, tx, `SELECT uuid FROM auth_tenant WHERE uuid = parent_uuid`)
	if errors.Is(err, store.ErrNotFound) { // nothing was ever configured
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, copied, tenantUUID, master); err != nil {
		return err
	}
	groups, err := store.Select[Group](ctx, tx, `SELECT uuid, slug, slug_key FROM auth_group WHERE tenant_uuid = $1 AND config_managed`, master)
	if err != nil {
		return err
	}
	for _, g := range groups {
		id := uuid.NewString()
		if _, err := tx.Exec(ctx, insertConfiguredGroup, id, tenantUUID, g.Slug, g.SlugKey); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, copied, id, g.UUID); err != nil {
			return err
		}
	}
	return nil
}

func unique(list []string) []string {
	out := make([]string, 0, len(list))
	seen := make(map[string]bool, len(list))
	for _, item := range list {
		if !seen[item] {
			seen[item] = true
			out = append(out, item)
		}
	}
	return out
}
