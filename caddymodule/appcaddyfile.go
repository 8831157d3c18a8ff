package caddymodule

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
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

// value parses the arguments of an option.
type value func(args []string) error

// block parses the block of options of what name says. Nothing may be left on the line before it.
func block(d *caddyfile.Dispenser, name string, known map[string]value) error {
	if d.NextArg() {
		return d.ArgErr()
	}
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		option := d.Val()
		read, ok := known[option]
		if !ok {
			return d.Errf("unknown option %q of %s: it is one of %s", option, name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if err := read(d.RemainingArgs()); err != nil {
			return d.Errf("%s of %s: %v", option, name, err)
		}
	}
	return nil
}

// nothing parses a module without options.
func nothing(d *caddyfile.Dispenser) error {
	d.Next()
	if d.NextArg() || d.NextBlock(0) {
		return d.ArgErr()
	}
	return nil
}

// text takes one value. No value, as an unset environment variable leaves it, means the default.
func text(into *string) value {
	return func(args []string) error {
		if len(args) > 1 {
			return errors.New("it takes one value")
		}
		if len(args) == 1 {
			*into = args[0]
		}
		return nil
	}
}

func flag(into *bool) value {
	return func(args []string) error {
		if len(args) != 0 {
			return errors.New("it takes no value")
		}
		*into = true
		return nil
	}
}

func number[T int | uint8 | uint32](into *T) value {
	return func(args []string) error {
		if len(args) != 1 {
			return errors.New("it takes one number")
		}
		n, err := strconv.ParseUint(args[0], 10, 31)
		if err != nil || n == 0 || uint64(T(n)) != n {
			return fmt.Errorf("%q is not a number from 1 on, or too large", args[0])
		}
		*into = T(n)
		return nil
	}
}

func duration(into ...*caddy.Duration) value {
	return func(args []string) error {
		if len(args) != len(into) && len(into) == 1 {
			return errors.New("it takes one duration")
		}
		if len(args) != len(into) {
			return fmt.Errorf("it takes %d durations", len(into))
		}
		for i, arg := range args {
			parsed, err := caddy.ParseDuration(arg)
			if err != nil || parsed <= 0 {
				return fmt.Errorf("%q is not a positive duration, such as 90s, 15m or 30d", arg)
			}
			*into[i] = caddy.Duration(parsed)
		}
		return nil
	}
}

func rate(into **Rate) value {
	return func(args []string) error {
		if len(args) != 2 {
			return errors.New("it takes two values: how many at once, and how often one more")
		}
		r := new(Rate)
		*into = r
		return errors.Join(number(&r.Burst)(args[:1]), duration(&r.Every)(args[1:]))
	}
}

func texts(into *[]string) value {
	return func(args []string) error {
		if len(args) == 0 {
			return errors.New("it takes at least one")
		}
		*into = append(*into, args...)
		return nil
	}
}

func memory(kib *uint32) value {
	return func(args []string) error {
		if len(args) != 1 {
			return errors.New("it takes one size")
		}
		for unit, size := range map[string]uint32{"KiB": 1, "MiB": 1024} {
			if text, ok := strings.CutSuffix(args[0], unit); ok {
				if err := number(kib)([]string{text}); err != nil || *kib > math.MaxUint32/size {
					break
				}
				*kib *= size
				return nil
			}
		}
		return fmt.Errorf("%q is not a size, such as 19MiB or 19456KiB", args[0])
	}
}
