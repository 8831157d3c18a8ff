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
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

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
