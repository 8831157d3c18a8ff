package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/caddymodule"
	"github.com/ringfence/ringfence/caddymodule/mended/garbage"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/tokens"
)

// gateway runs the release build with the guest module [benchTokens].
func gateway(arguments []string) {
	garbage.Tune()
	caddy.RegisterModule(new(benchTokens))
	os.Args = append([]string{os.Args[0], "run"}, arguments...)
	caddycmd.Main()
}

// benchTokens is a token source that knows the tokens of a file, and has them all in the cache before the server starts.
type benchTokens struct {
	File string `json:"file"`
}

// CaddyModule returns the Caddy module information.
func (*benchTokens) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "ringfence.tokens.bench", New: func() caddy.Module { return new(benchTokens) }}
}

// UnmarshalCaddyfile parses
//
//	tokens bench <file>
func (t *benchTokens) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	if !d.AllArgs(&t.File) {
		return d.ArgErr()
	}
	return nil
}

// Tokens returns the full cache.
func (t *benchTokens) Tokens(*caddymodule.App) (*tokens.Cache, error) {
	all, err := readTokens(t.File)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	return fullCache(all, tokens.Options{
		// Time passes, so that reading the clock costs its usual time, but slowly, so that nothing expires.
		Now: func() time.Time { return start.Add(time.Since(start) / 1000) },
	})
}

// fullCache returns a cache of the default size that holds all these tokens.
func fullCache(all []string, o tokens.Options) (*tokens.Cache, error) {
	set, err := acl.Compile(benchPolicy())
	if err != nil {
		return nil, err
	}
	cache, err := tokens.NewCache(crowd{set}, o)
	if err != nil {
		return nil, err
	}
	// ristretto may drop a write: missing tokens are looked up again.
	for range 100 {
		before := cache.Stats()
		for _, token := range all {
			if _, err := cache.Principal(context.Background(), token); err != nil {
				return nil, fmt.Errorf("filling the cache: %w", err)
			}
		}
		if cache.Stats().Misses == before.Misses {
			return cache, nil
		}
	}
	return nil, fmt.Errorf("the cache does not take %d tokens", len(all))
}

// crowd is a source in which every well-formed token belongs to another user. It makes new strings each time, as a database
// driver does.
type crowd struct{ set *acl.Set }

func (crowd) Shape(token string) bool { return tokens.WellFormed(token) }

func (c crowd) Load(_ context.Context, _ string, d tokens.Digest) (*principal.Principal, error) {
	user, session := owner(d)
	return &principal.Principal{
		TokenID: tokens.ID(d), UserUUID: user, SessionUUID: session, ACL: c.set,
		Affiliation: &principal.Affiliation{TenantUUID: benchTenant, Purpose: benchPurpose},
		ExpiresAt:   principal.At(time.Now().Add(24 * time.Hour)),
	}, nil
}
