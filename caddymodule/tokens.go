package caddymodule

import (
	"encoding/json"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/ringfence/ringfence/internal/tokens"
	"github.com/ringfence/ringfence/internal/tokens/remote"
)

func init() {
	caddy.RegisterModule(new(LocalTokens))
	caddy.RegisterModule(new(RemoteTokens))
}

// TokenSource is a guest module in the namespace ringfence.tokens: a source of tokens.
type TokenSource interface {
	// Tokens returns the cache in front of the source. It is called once, while the app is provisioned.
	Tokens(a *App) (*tokens.Cache, error)
}

// LocalTokens are the tokens that the authentication service on this database issues. It is the default.
type LocalTokens struct{}

// CaddyModule returns the Caddy module information.
func (*LocalTokens) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "ringfence.tokens.local", New: func() caddy.Module { return new(LocalTokens) }}
}

// Tokens returns the engine's own cache.
func (*LocalTokens) Tokens(a *App) (*tokens.Cache, error) {
	a.needsDatabase = true
	return a.engine.cache, nil
}

// UnmarshalCaddyfile takes nothing:
//
//	tokens local
func (*LocalTokens) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	if d.NextArg() {
		return d.ArgErr()
	}
	return nil
}

// RemoteTokens are the tokens of an existing auth server that offers GET /0.1/token/{token}. Its responses are cached and matched
// here, so a revocation there takes effect here after at most Staleness. So does a tenant's move: that server says which tenants a
// token may act in.
type RemoteTokens struct {
	// URL is the server's address, without /0.1: https://pbx.example.com/api/auth
	URL string `json:"url"`
	// Staleness is how long a response is trusted, at most 30s. Default: 10s.
	Staleness caddy.Duration `json:"staleness,omitempty"`
	// Timeout bounds one request. Default: 3s.
	Timeout caddy.Duration `json:"timeout,omitempty"`
	// CA is a PEM file with the authorities to trust, for a server with a private one. Default: the system's.
	CA string `json:"ca,omitempty"`
	// PlainHTTP allows http:// to another machine: everybody on the network can then read the tokens.
	PlainHTTP bool `json:"plain_http,omitempty"`
	// MasterTenant is the UUID of that server's own master tenant: who acts in it has the rights of the master tenant here. Default:
	// none, and nobody of that server has them.
	MasterTenant string `json:"master_tenant,omitempty"`

	key string
}

// CaddyModule returns the Caddy module information.
func (*RemoteTokens) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "ringfence.tokens.remote", New: func() caddy.Module { return new(RemoteTokens) }}
}

// remotes keeps one cache for each remote source, across reloads.
var remotes = caddy.NewUsagePool()

type remoteCache struct{ *tokens.Cache }

func (c remoteCache) Destruct() error {
	c.Close()
	return nil
}

// Tokens returns the cache of this server's tokens, shared between configurations with the same settings.
func (t *RemoteTokens) Tokens(a *App) (*tokens.Cache, error) {
	key, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	key = append(key, a.engine.key...) // its database knows the people
	value, _, err := remotes.LoadOrNew(string(key), func() (caddy.Destructor, error) {
		source, err := remote.New(remote.Config{
			URL: t.URL, Timeout: time.Duration(t.Timeout), Staleness: time.Duration(t.Staleness), CAFile: t.CA, PlainHTTP: t.PlainHTTP,
			MasterTenant: t.MasterTenant,
		})
		if err != nil {
			return nil, err
		}
		cache, err := tokens.NewCache(source, tokens.Options{From: from, Complete: a.engine.auth.Complete})
		if err != nil {
			return nil, err
		}
		return remoteCache{cache}, nil
	})
	if err != nil {
		return nil, err
	}
	t.key = string(key)
	cache := value.(remoteCache).Cache
	a.log.Info("tokens come from another auth server", "staleness", cache.Staleness().String())
	return cache, nil
}

// Cleanup releases the share of the cache, if there is one.
func (t *RemoteTokens) Cleanup() error {
	if t.key == "" {
		return nil
	}
	_, err := remotes.Delete(t.key)
	return err
}

// UnmarshalCaddyfile parses
//
//	tokens remote <url> {
//	    staleness <duration>
//	    timeout   <duration>
//	    ca        <file>
//	    plain_http
//	    master_tenant <uuid>
//	}
func (t *RemoteTokens) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	if !d.AllArgs(&t.URL) {
		return d.ArgErr()
	}
	return block(d, "tokens remote", map[string]value{
		"staleness": duration(&t.Staleness), "timeout": duration(&t.Timeout), "ca": text(&t.CA), "plain_http": flag(&t.PlainHTTP), "master_tenant": text(&t.MasterTenant),
	})
}

var _ interface {
	caddy.CleanerUpper
	TokenSource
} = (*RemoteTokens)(nil)
