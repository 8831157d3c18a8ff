package caddymodule

import (
	"encoding/json"
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
//	    backups <folder>|off
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
	options := []option{
		{"data", one(&a.Data)},
		{"database", one(&a.Database)},
		{"admin", a.parseAdmin},
		{"sealing_keys", one(&a.SealingKeys)},
		{"tokens", guest("ringfence.tokens", "source", func(raw json.RawMessage) { a.TokensRaw = raw })},
		{"backends", a.parseBackends},
		{"backend", guest(backendSpace, "backend", func(raw json.RawMessage) { a.BackendsRaw = append(a.BackendsRaw, raw) })},
		{"origins", a.parseOrigins},
		{"public_url", one(&a.PublicURL)},
		{"contact", func(d *caddyfile.Dispenser) error { a.Contact = strings.Join(d.RemainingArgs(), " "); return nil }},
		{"mail", a.parseMail},
		{"external", guest("ringfence.auth.external", "plugin", func(raw json.RawMessage) { a.PluginsRaw = append(a.PluginsRaw, raw) })},
		{"self_registration", bare(&a.SelfRegistration)},
		{"passwords", a.parsePasswords},
		{"sessions", a.parseSessions},
		{"limits", a.parseLimits},
		{"directories", a.parseDirectories},
		{"helpers", a.parseHelperFiles},
		{"backups", one(&a.Backups)},
		{"asterisk", a.parseAsterisk},
		{"default_policies", a.parseDefaultPolicies},
		{"all_users_policies", func(d *caddyfile.Dispenser) error {
			a.AllUsersPolicies = append(a.AllUsersPolicies, d.RemainingArgs()...)
			return nil
		}},
		{"tenant_default_groups", a.parseTenantDefaultGroups},
		{"default_user_policy", one(&a.DefaultUserPolicy)},
		{"handover_delay", a.parseHandoverDelay},
	}
	return parse(d, options)
}

// option is an option of a directive, whose name has been read.
type option struct {
	name string
	read func(d *caddyfile.Dispenser) error
}

// parse reads the option whose name has been read.
func parse(d *caddyfile.Dispenser, options []option) error {
	names := make([]string, len(options))
	for i, o := range options {
		if names[i] = o.name; o.name == d.Val() {
			return o.read(d)
		}
	}
	if len(names) > 1 {
		names[0] = "one of " + names[0]
	}
	return d.Errf("unknown option %q: it is %s", d.Val(), strings.Join(names, ", "))
}

// guest reads a guest module with its options, after its name.
func guest(namespace, key string, take func(json.RawMessage)) func(d *caddyfile.Dispenser) error {
	return func(d *caddyfile.Dispenser) error {
		if !d.NextArg() {
			return d.ArgErr()
		}
		name := d.Val()
		module, err := caddyfile.UnmarshalModule(d, namespace+"."+name)
		if err == nil {
			take(caddyconfig.JSONModuleObject(module, key, name, nil))
		}
		return err
	}
}

func (a *App) parseAdmin(d *caddyfile.Dispenser) error {
	args := d.RemainingArgs()
	if len(args) < 1 || len(args) > 2 {
		return d.ArgErr()
	}
	a.AdminUsername = args[0]
	if len(args) == 2 {
		a.AdminPassword = args[1]
	}
	return nil
}

func (a *App) parseOrigins(d *caddyfile.Dispenser) error {
	a.Origins = append(a.Origins, d.RemainingArgs()...)
	if len(a.Origins) == 0 {
		return d.ArgErr()
	}
	if err := gate.CheckOrigins(a.Origins); err != nil {
		return d.WrapErr(err)
	}
	return nil
}

func (a *App) parseHandoverDelay(d *caddyfile.Dispenser) error {
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
	return nil
}

// one reads the rest of the line, which must be one value. An empty one, as an unset environment variable leaves it, means the default.
func one(into *string) func(d *caddyfile.Dispenser) error {
	return func(d *caddyfile.Dispenser) error {
		args := d.RemainingArgs()
		if len(args) > 1 {
			return d.ArgErr()
		}
		if len(args) == 1 {
			*into = args[0]
		}
		return nil
	}
}

// onlyOne reads one value, which may be given once.
func onlyOne(into *string) func(d *caddyfile.Dispenser) error {
	return func(d *caddyfile.Dispenser) error {
		if *into != "" {
			return d.Errf("%s is given twice", d.Val())
		}
		if !d.AllArgs(into) {
			return d.ArgErr()
		}
		return nil
	}
}

// several reads one value or more, which may be given once.
func several(into *[]string) func(d *caddyfile.Dispenser) error {
	return func(d *caddyfile.Dispenser) error {
		if len(*into) > 0 {
			return d.Errf("%s is given twice", d.Val())
		}
		if *into = d.RemainingArgs(); len(*into) == 0 {
			return d.ArgErr()
		}
		return nil
	}
}

// bare reads an option that takes nothing.
func bare(into *bool) func(d *caddyfile.Dispenser) error {
	return func(d *caddyfile.Dispenser) error {
		*into = true
		if d.NextArg() {
			return d.ArgErr()
		}
		return nil
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
