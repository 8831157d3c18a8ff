package wazo

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/store"
)

// configuredPolicies returns the part of a Caddyfile that makes the platform's policies of its configuration go on: those that mean something else
// than this gateway's own, the groups that each tenant has, and what everybody holds. It is "" if there is nothing to say.
func configuredPolicies(ctx context.Context, tx store.Conn) (string, error) {
	rows, err := store.Select[struct {
		Slug   string `db:"slug"`
		Access string `db:"access"`
	}](ctx, tx, `SELECT p.slug, a.access FROM auth_policy p JOIN auth_policy_access a ON a.policy_uuid = p.uuid JOIN auth_tenant t ON t.uuid = p.tenant_uuid
		WHERE p.config_managed AND t.uuid = t.parent_uuid ORDER BY p.slug, a.place`)
	if err != nil {
		return "", err
	}
	accesses, slugs := map[string][]string{}, []string{}
	for _, r := range rows {
		if accesses[r.Slug] == nil {
			slugs = append(slugs, r.Slug)
		}
		accesses[r.Slug] = append(accesses[r.Slug], r.Access)
	}
	all, _, err := given(ctx, tx, "g.uuid = g.tenant_uuid", accesses)
	if err != nil {
		return "", err
	}
	groups, names, err := given(ctx, tx, "g.slug_key = 'wazo_default_admin_group'", accesses)
	if err != nil {
		return "", err
	}
	return policyBlock(slugs, accesses, all[""], names, groups), nil
}

// given returns the policies of the configuration that groups give, of those that have accesses, by the groups' names, and these in their order. The
// group of all users has none.
func given(ctx context.Context, tx store.Conn, condition string, accesses map[string][]string) (policies map[string][]string, names []string, err error) {
	rows, err := store.Select[struct {
		Name string `db:"name"`
		Slug string `db:"slug"`
	}](ctx, tx, `SELECT DISTINCT CASE WHEN g.uuid = g.tenant_uuid THEN '' ELSE g.slug END AS name, p.slug FROM auth_group g
		JOIN auth_group_policy l ON l.group_uuid = g.uuid JOIN auth_policy p ON p.uuid = l.policy_uuid WHERE p.config_managed AND `+condition+` ORDER BY 1, 2`)
	policies = map[string][]string{}
	for _, r := range rows {
		if accesses[r.Slug] == nil {
			continue
		}
		if policies[r.Name] == nil {
			names = append(names, r.Name)
		}
		policies[r.Name] = append(policies[r.Name], r.Slug)
	}
	return policies, names, err
}

// policyBlock writes the options of a Caddyfile.
func policyBlock(slugs []string, accesses map[string][]string, all, names []string, groups map[string][]string) string {
	needed := map[string]bool{}
	for _, list := range append(slices.Collect(maps.Values(groups)), all) {
		for _, slug := range list {
			needed[slug] = true
		}
	}
	block := &strings.Builder{}
	for _, slug := range slugs {
		if slug != authsvc.DefaultUserPolicy && !needed[slug] || slug == authsvc.DefaultUserPolicy && sameMeaning(accesses[slug], authsvc.OwnAccount()) {
			continue
		}
		for part := range slices.Chunk(accesses[slug], accessesPerLine) {
			fmt.Fprintf(block, "\t%s%s\n", slug, words(part))
		}
	}
	out := &strings.Builder{}
	if block.Len() > 0 {
		fmt.Fprintf(out, "default_policies {\n%s}\n", block)
	}
	if len(all) > 0 {
		fmt.Fprintf(out, "all_users_policies%s\n", words(all))
	}
	if len(names) > 0 {
		out.WriteString("tenant_default_groups {\n")
		for _, name := range names {
			fmt.Fprintf(out, "\t%s%s\n", name, words(groups[name]))
		}
		out.WriteString("}\n")
	}
	return out.String()
}

// accessesPerLine is how many accesses stand in a line of a Caddyfile.
const accessesPerLine = 6

// plainWord is what a Caddyfile takes without quotes.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_.*-]+$`)

func words(list []string) string {
	var out strings.Builder
	for _, w := range list {
		if !plainWord.MatchString(w) {
			w = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w) + `"`
		}
		out.WriteString(" " + w)
	}
	return out.String()
}

// sameMeaning reports whether two lists of patterns allow the same.
func sameMeaning(one, other []string) bool {
	covers := func(list, other []string) bool {
		set, err := acl.Compile(list)
		return err == nil && !slices.ContainsFunc(other, func(p string) bool { return strings.HasPrefix(p, "!") || !set.Covers(p, acl.Binding{}) })
	}
	return covers(one, other) && covers(other, one)
}
