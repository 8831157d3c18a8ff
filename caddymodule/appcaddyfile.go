package caddymodule

import (
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"

	"github.com/ringfence/ringfence/internal/gate"
)

// parseApp sets up the app from the global option:
//
//	ringfence {
//	    data     <folder>
//	    database <address>
//	    admin    <username> [<password>]
//	    sealing_keys <keys>
//	    tokens   <source> [...] { ... }
//	    backends <backend...>
//	    backend  <backend> [...] { ... }
//	    origins  <origin...>
//	    public_url <url>
//	    contact  <name or address>
//	    mail     <server> { ... }
//	    external <plugin> [...] { ... }
//	    self_registration
//	    passwords { ... }
//	    sessions  { ... }
//	    limits    { ... }
//	    directories { ... }
//	    helpers { ... }
//	    asterisk { ... }
//	    default_policies      { <slug> <access...> }
//	    all_users_policies    <slug...>
//	    tenant_default_groups { <slug> <policy...> }
//	    default_user_policy   <slug>|none
//	    handover_delay <duration>
//	}
func parseApp(d *caddyfile.Dispenser, existing any) (any, error) {
	if existing != nil {
		return nil, d.Err("the ringfence option may appear once")
	}
	app := new(App)
	d.Next() // the option's name
	if d.NextArg() {
		return nil, d.ArgErr()
	}
	for d.NextBlock(0) {
		if err := app.parseOption(d); err != nil {
			return nil, err
		}
	}
	return httpcaddyfile.App{Name: "ringfence", Value: caddyconfig.JSON(app, nil)}, nil
}

func (a *App) parseOption(d *caddyfile.Dispenser) error {
	switch option := d.Val(); option {
	case "data":
		return oneArgument(d, &a.Data)
	case "database":
		return oneArgument(d, &a.Database)
	case "admin":
		args := d.RemainingArgs()
		if len(args) < 1 || len(args) > 2 {
			return d.ArgErr()
		}
		a.AdminUsername = args[0]
		if len(args) == 2 {
			a.AdminPassword = args[1]
		}
	case "sealing_keys":
		return oneArgument(d, &a.SealingKeys)
	case "tokens":
		if !d.NextArg() {
			return d.ArgErr()
		}
		source := d.Val()
		guest, err := caddyfile.UnmarshalModule(d, "ringfence.tokens."+source)
		if err != nil {
			return err
		}
		a.TokensRaw = caddyconfig.JSONModuleObject(guest, "source", source, nil)
	case "backends":
		return a.parseBackends(d)
	case "backend":
		return a.parseBackend(d)
	case "external":
		return a.parsePlugin(d)
	case "public_url":
		return oneArgument(d, &a.PublicURL)
	case "contact":
		a.Contact = strings.Join(d.RemainingArgs(), " ")
		return nil
	case "origins":
		a.Origins = append(a.Origins, d.RemainingArgs()...)
		if len(a.Origins) == 0 {
			return d.ArgErr()
		}
		if err := gate.CheckOrigins(a.Origins); err != nil {
			return d.WrapErr(err)
		}
	case "mail":
		return a.parseMail(d)
	case "self_registration":
		a.SelfRegistration = true
		if d.NextArg() {
			return d.ArgErr()
		}
	case "passwords":
		return a.parsePasswords(d)
	case "sessions":
		return a.parseSessions(d)
	case "limits":
		return a.parseLimits(d)
	case "directories":
		return a.parseDirectories(d)
	case "helpers":
		return a.parseHelperFiles(d)
	case "asterisk":
		return a.parseAsterisk(d)
	case "default_policies":
		return a.parseDefaultPolicies(d)
	case "all_users_policies":
		a.AllUsersPolicies = append(a.AllUsersPolicies, d.RemainingArgs()...)
	case "tenant_default_groups":
		return a.parseTenantDefaultGroups(d)
	case "default_user_policy":
		return oneArgument(d, &a.DefaultUserPolicy)
	case "handover_delay":
		var value string
		if !d.AllArgs(&value) {
			return d.ArgErr()
		}
		delay, err := caddy.ParseDuration(value)
		if err != nil {
			return d.Errf("handover_delay: %v", err)
		}
		if delay < 0 {
			return d.Err("handover_delay cannot be negative")
		}
		a.HandoverDelay = caddy.Duration(delay)
	default:
		return d.Errf("unknown option %q: it is one of data, database, admin, sealing_keys, tokens, backends, backend, origins, public_url, contact, mail, external, self_registration, passwords, sessions, limits, directories, helpers, asterisk, default_policies, all_users_policies, tenant_default_groups, default_user_policy, handover_delay", option)
	}
	return nil
}

// oneArgument reads the rest of the line, which must be one value. An empty one, as an unset environment variable leaves it,
// means the default.
func oneArgument(d *caddyfile.Dispenser, into *string) error {
	args := d.RemainingArgs()
	switch len(args) {
	case 0:
		return nil
	case 1:
		*into = args[0]
		return nil
	default:
		return d.ArgErr()
	}
}
