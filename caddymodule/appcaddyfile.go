package caddymodule

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
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
//
// The blocks of its options have
//
//	mail <server> {
//	    from      <address>
//	    username  <name>
//	    password  <password>
//	    tls       starttls|tls|none
//	    ca        <file>
//	    templates <folder>
//	    timeout   <duration>
//	}
//	passwords {
//	    memory <number>MiB|<number>KiB
//	    passes <number>
//	    lanes  <number>
//	    shortest <number of characters>
//	}
//	sessions {
//	    lifetime     <duration>
//	    max_lifetime <duration>
//	    per_user     <number>
//	}
//	directories {
//	    allow <network or host...>
//	    only  <network or host...>
//	}
//	helpers {
//	    plain     on|off
//	    voicemail <folder>
//	    moh       <folder>
//	    sounds    <folder>
//	    autoprov  <file>
//	}
//	asterisk {
//	    name     <name>
//	    folder   <folder>
//	    manager  <address>
//	    username <name>
//	    secret   <secret>
//	    log      <file>
//	    interfaces "SCCP/* DAHDI/1"
//	    etc      <folder>
//	    records  <file>
//	    recordings <folder>
//	    longest_call <duration>
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
	return parse(d, []option{
		{"data", line(text(&a.Data))},
		{"database", line(text(&a.Database))},
		{"admin", a.parseAdmin},
		{"sealing_keys", line(text(&a.SealingKeys))},
		{"tokens", guest("ringfence.tokens", "source", func(raw json.RawMessage) { a.TokensRaw = raw })},
		{"backends", a.parseBackends},
		{"backend", guest(backendSpace, "backend", func(raw json.RawMessage) { a.BackendsRaw = append(a.BackendsRaw, raw) })},
		{"origins", a.parseOrigins},
		{"public_url", line(text(&a.PublicURL))},
		{"contact", line(func(args []string) error { a.Contact = strings.Join(args, " "); return nil })},
		{"mail", section(&a.Mail)},
		{"external", guest("ringfence.auth.external", "plugin", func(raw json.RawMessage) { a.PluginsRaw = append(a.PluginsRaw, raw) })},
		{"self_registration", line(flag(&a.SelfRegistration))},
		{"passwords", section(&a.Passwords)},
		{"sessions", section(&a.Sessions)},
		{"directories", section(&a.Directories)},
		{"helpers", section(&a.Helpers)},
		{"backups", line(text(&a.Backups))},
		{"asterisk", section(&a.Asterisk)},
		{"default_policies", named(&a.DefaultPolicies, func(p *ConfiguredPolicy) (*string, *[]string) { return &p.Slug, &p.ACL })},
		{"all_users_policies", line(func(args []string) error { a.AllUsersPolicies = append(a.AllUsersPolicies, args...); return nil })},
		{"tenant_default_groups", named(&a.TenantDefaultGroups, func(g *ConfiguredGroup) (*string, *[]string) { return &g.Slug, &g.Policies })},
		{"default_user_policy", line(text(&a.DefaultUserPolicy))},
		{"handover_delay", a.parseHandoverDelay},
	})
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
	if err := line(texts(&a.Origins))(d); err != nil {
		return err
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

// named reads a block whose lines begin with a name, of which one may begin several: "<slug> <access...>", or "<slug> <policy...>".
func named[T any](into *[]T, of func(one *T) (name *string, list *[]string)) func(d *caddyfile.Dispenser) error {
	return func(d *caddyfile.Dispenser) error {
		if d.NextArg() {
			return d.ArgErr()
		}
		for nesting := d.Nesting(); d.NextBlock(nesting); {
			i := slices.IndexFunc(*into, func(one T) bool { name, _ := of(&one); return *name == d.Val() })
			if i < 0 {
				i, *into = len(*into), append(*into, *new(T))
			}
			name, list := of(&(*into)[i])
			*name = d.Val()
			*list = append(*list, d.RemainingArgs()...)
		}
		return nil
	}
}

// value parses the arguments of an option.
type value func(args []string) error

// line reads an option that has no block.
func line(read value) func(d *caddyfile.Dispenser) error {
	return func(d *caddyfile.Dispenser) error {
		if read(d.RemainingArgs()) != nil {
			return d.ArgErr()
		}
		return nil
	}
}

// once is line for an option that may be given once.
func once(given bool, read value) func(d *caddyfile.Dispenser) error {
	return func(d *caddyfile.Dispenser) error {
		if given {
			return d.Errf("%s is given twice", d.Val())
		}
		return line(read)(d)
	}
}

// section reads the block of an option that may be given once: see block.
func section[T any](into **T) func(d *caddyfile.Dispenser) error {
	return func(d *caddyfile.Dispenser) error {
		name := d.Val()
		if *into != nil {
			return d.Errf("%s is given twice", name)
		}
		*into = new(T)
		return block(d, name, *into)
	}
}

// block parses the block of options of what name says, which sets the fields of a struct. An option is called as its field is in JSON. A field with
// the tag caddyfile:"argument" stands on the line before the block, where nothing else may be left.
func block(d *caddyfile.Dispenser, name string, into any) error {
	argument, known := optionsOf(into)
	if argument(d.RemainingArgs()) != nil {
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

// optionsOf returns what sets the fields of a struct: the argument, and the options by their names. The method options, if the struct has it, changes
// which there are.
func optionsOf(into any) (argument value, known map[string]value) {
	argument, known = flag(new(bool)), map[string]value{}
	at := reflect.ValueOf(into).Elem()
	for f := range at.Type().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		switch field := at.FieldByIndex(f.Index).Addr().Interface().(type) {
		case *string:
			known[name] = text(field)
		case *bool:
			known[name] = flag(field)
		case *[]string:
			known[name] = texts(field)
		case *int:
			known[name] = number(field)
		case *uint8:
			known[name] = number(field)
		case *uint32:
			known[name] = number(field)
		case *caddy.Duration:
			known[name] = duration(field)
		}
		if f.Tag.Get("caddyfile") == "argument" {
			argument = known[name]
			delete(known, name)
		}
	}
	if own, ok := into.(interface{ options(known map[string]value) }); ok {
		own.options(known)
	}
	return argument, known
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

// word takes one value.
func word(into *string) value {
	return func(args []string) error {
		if len(args) != 1 {
			return errors.New("it takes one value")
		}
		*into = args[0]
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

func duration(into *caddy.Duration) value {
	return func(args []string) error {
		if len(args) != 1 {
			return errors.New("it takes one duration")
		}
		parsed, err := caddy.ParseDuration(args[0])
		if err != nil || parsed <= 0 {
			return fmt.Errorf("%q is not a positive duration, such as 90s, 15m or 30d", args[0])
		}
		*into = caddy.Duration(parsed)
		return nil
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
