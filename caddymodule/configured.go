package caddymodule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/ringfence/ringfence/authsvc"
)

// ConfiguredPolicy is a policy that the configuration creates in the master tenant, for all tenants.
type ConfiguredPolicy struct {
	// Slug is also the name.
	Slug string `json:"slug"`
	// ACL lists its patterns.
	ACL []string `json:"acl"`
}

// ConfiguredGroup is a group that the configuration creates in every tenant.
type ConfiguredGroup struct {
	// Slug is also the name.
	Slug string `json:"slug"`
	// Policies are slugs of default_policies.
	Policies []string `json:"policies"`
}

// loadConfigured reads the policies and groups that the configuration puts into the database.
func (a *App) loadConfigured() error {
	var c authsvc.Configured
	for _, p := range a.DefaultPolicies {
		c.Policies = append(c.Policies, authsvc.ConfiguredPolicy{Slug: p.Slug, Description: "Made by the configuration.", ACL: p.ACL})
	}
	for _, g := range a.TenantDefaultGroups {
		c.Groups = append(c.Groups, authsvc.ConfiguredGroup{Slug: g.Slug, Policies: g.Policies})
	}
	c.AllUsers = slices.Clone(a.AllUsersPolicies)
	own := a.DefaultUserPolicy
	if own == "" {
		own = authsvc.DefaultUserPolicy
	}
	if own != "none" {
		c.AllUsers = append(c.AllUsers, own)
	}
	given := slices.ContainsFunc(c.Policies, func(p authsvc.ConfiguredPolicy) bool { return strings.EqualFold(p.Slug, authsvc.DefaultUserPolicy) })
	if own == authsvc.DefaultUserPolicy && !given {
		c.Policies = append(c.Policies, authsvc.ConfiguredPolicy{
			Slug: own, Description: "What users may do with their own account. Made by the configuration.", ACL: authsvc.OwnAccount(),
		})
	}
	if err := c.Check(); err != nil {
		return fmt.Errorf("reading default_policies, all_users_policies, tenant_default_groups and default_user_policy: %w", err)
	}
	a.configured = c
	return nil
}

// parseNamed reads a block whose lines begin with a name:
//
//	default_policies {
//	    <slug> <access...>
//	}
//	tenant_default_groups {
//	    <slug> <policy...>
//	}
//
// A name may begin several lines.
func parseNamed(d *caddyfile.Dispenser, add func(name string, list []string)) error {
	if d.NextArg() {
		return d.ArgErr()
	}
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		name := d.Val()
		add(name, d.RemainingArgs())
	}
	return nil
}

func (a *App) parseDefaultPolicies(d *caddyfile.Dispenser) error {
	return parseNamed(d, func(name string, list []string) {
		if i := slices.IndexFunc(a.DefaultPolicies, func(p ConfiguredPolicy) bool { return p.Slug == name }); i >= 0 {
			a.DefaultPolicies[i].ACL = append(a.DefaultPolicies[i].ACL, list...)
			return
		}
		a.DefaultPolicies = append(a.DefaultPolicies, ConfiguredPolicy{name, list})
	})
}

func (a *App) parseTenantDefaultGroups(d *caddyfile.Dispenser) error {
	return parseNamed(d, func(name string, list []string) {
		if i := slices.IndexFunc(a.TenantDefaultGroups, func(g ConfiguredGroup) bool { return g.Slug == name }); i >= 0 {
			a.TenantDefaultGroups[i].Policies = append(a.TenantDefaultGroups[i].Policies, list...)
			return
		}
		a.TenantDefaultGroups = append(a.TenantDefaultGroups, ConfiguredGroup{name, list})
	})
}
