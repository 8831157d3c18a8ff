package caddymodule

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/backend/ldap"
	"github.com/ringfence/ringfence/authsvc/external"
	"github.com/ringfence/ringfence/authsvc/external/google"
	"github.com/ringfence/ringfence/authsvc/external/microsoft"
	"github.com/ringfence/ringfence/authsvc/external/mobile"
	"github.com/ringfence/ringfence/authsvc/external/oauth2"
	"github.com/ringfence/ringfence/internal/tokens"
	"github.com/ringfence/ringfence/internal/tokens/remote"
)

func init() {
	caddy.RegisterModule(new(LocalTokens))
	caddy.RegisterModule(new(RemoteTokens))
	caddy.RegisterModule(new(DatabaseBackend))
	caddy.RegisterModule(new(LDAPBackend))
	caddy.RegisterModule(new(OAuth2))
	caddy.RegisterModule(new(Google))
	caddy.RegisterModule(new(Microsoft))
	caddy.RegisterModule(new(Mobile))
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
func (*LocalTokens) UnmarshalCaddyfile(d *caddyfile.Dispenser) error { return nothing(d) }

// RemoteTokens are the tokens of an existing auth server that offers GET /0.1/token/{token}. Its responses are cached and matched
// here, so a revocation there takes effect here after at most Staleness. So does a tenant's move: that server says which tenants a
// token may act in.
type RemoteTokens struct {
	// URL is the server's address, without /0.1: https://pbx.example.com/api/auth
	URL string `json:"url" caddyfile:"argument"`
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
	if d.CountRemainingArgs() == 0 {
		return d.ArgErr()
	}
	return block(d, "tokens remote", t)
}

var _ interface {
	caddy.CleanerUpper
	TokenSource
} = (*RemoteTokens)(nil)

// backendSpace is the namespace of the backends: guest modules that implement authsvc.Backend. A third-party backend is one Go
// file that registers itself (examples/backend-plugin).
const backendSpace = "ringfence.auth.backends"

// ownBackend is a backend that the authentication service implements itself.
type ownBackend interface {
	use(s *authsvc.Service)
}

func (a *App) loadBackends(ctx caddy.Context) error {
	if a.BackendsRaw == nil {
		a.backends = a.engine.auth.DefaultBackends()
		return nil
	}
	guests, err := ctx.LoadModule(a, "BackendsRaw")
	if err != nil {
		return fmt.Errorf("loading the authentication backends: %w", err)
	}
	for _, guest := range guests.([]any) {
		if own, ok := guest.(ownBackend); ok {
			own.use(a.engine.auth)
		}
		b, ok := guest.(authsvc.Backend)
		if !ok {
			return fmt.Errorf("loading the authentication backends: %T is not a backend: it has no Authenticate", guest)
		}
		if slices.ContainsFunc(a.backends, func(other authsvc.Backend) bool { return other.Name() == b.Name() }) {
			return fmt.Errorf("the authentication backend %s is configured twice", b.Name())
		}
		a.backends = append(a.backends, b)
	}
	return nil
}

// parseBackends reads the names of backends that need no options.
func (a *App) parseBackends(d *caddyfile.Dispenser) error {
	names := d.RemainingArgs()
	if len(names) == 0 {
		return d.ArgErr()
	}
	for _, name := range names {
		info, err := caddy.GetModule(backendSpace + "." + name)
		if err != nil {
			return d.Errf("there is no authentication backend %q", name)
		}
		a.BackendsRaw = append(a.BackendsRaw, caddyconfig.JSONModuleObject(info.New(), "backend", name, nil))
	}
	return nil
}

// DatabaseBackend checks the passwords in ringfence's own database, for users whose authentication_method is native.
type DatabaseBackend struct {
	authsvc.Backend `json:"-"`
}

// CaddyModule returns the Caddy module information.
func (*DatabaseBackend) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: backendSpace + ".database", New: func() caddy.Module { return new(DatabaseBackend) }}
}

func (b *DatabaseBackend) use(s *authsvc.Service) { b.Backend = s.DatabaseBackend() }

// UnmarshalCaddyfile takes nothing:
//
//	backend database
func (*DatabaseBackend) UnmarshalCaddyfile(d *caddyfile.Dispenser) error { return nothing(d) }

// LDAPBackend asks the directory that the login's tenant has configured (PUT /backends/ldap), for users whose
// authentication_method is ldap.
type LDAPBackend struct {
	authsvc.Backend `json:"-"`
	// CA is a PEM file with the authorities that may sign directories' certificates. Default: the system's.
	CA string `json:"ca,omitempty"`

	roots *x509.CertPool
}

// CaddyModule returns the Caddy module information.
func (*LDAPBackend) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: backendSpace + ".ldap", New: func() caddy.Module { return new(LDAPBackend) }}
}

// Provision reads the authorities.
func (b *LDAPBackend) Provision(caddy.Context) (err error) {
	if file := caddy.NewReplacer().ReplaceAll(b.CA, ""); file != "" {
		b.roots, err = ldap.RootCAs(file)
	}
	return err
}

// Method returns the authentication_method of the backend's users.
func (*LDAPBackend) Method() string { return "ldap" }

// Recheck asks, without a password, whether a user may still log in.
func (b *LDAPBackend) Recheck(ctx context.Context, id authsvc.Identity) error {
	return b.Backend.(authsvc.BackendRechecker).Recheck(ctx, id)
}

func (b *LDAPBackend) use(s *authsvc.Service) { b.Backend = s.LDAPBackend(b.roots) }

// UnmarshalCaddyfile parses
//
//	backend ldap {
//	    ca <file>
//	}
func (b *LDAPBackend) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	return block(d, "backend ldap", b)
}

var _ interface {
	caddy.Provisioner
	authsvc.Backend
	authsvc.BackendMethod
	authsvc.BackendRechecker
} = (*LDAPBackend)(nil)

// loadExternal loads the plugins that link users to external services, and adds their operations to the authentication service.
func (a *App) loadExternal(ctx caddy.Context) error {
	var plugins []external.Plugin
	if len(a.PluginsRaw) > 0 {
		guests, err := ctx.LoadModule(a, "PluginsRaw")
		if err != nil {
			return fmt.Errorf("loading the external authentication plugins: %w", err)
		}
		for _, guest := range guests.([]any) {
			plugin, ok := guest.(external.Plugin)
			if !ok {
				return fmt.Errorf("the module %T is not an external authentication plugin", guest)
			}
			if _, sends := guest.(external.Authorizer); sends && a.PublicURL == "" {
				return needsPublicURL("external " + plugin.Type())
			}
			plugins = append(plugins, plugin)
		}
	}
	auth, err := a.engine.auth.WithExternal(plugins, a.PublicURL, a.Contact)
	if err != nil {
		return fmt.Errorf("describing external authentication: %w", err)
	}
	a.auth = auth
	return nil
}

// needsPublicURL returns the error of an option that sends people to this gateway while it has no public URL.
func needsPublicURL(what string) error {
	return fmt.Errorf("%s needs public_url (RINGFENCE_PUBLIC_URL), the address at which browsers reach this gateway: https://host[:port]", what)
}

// OAuth2 links users to any service that speaks OAuth 2.0, with PKCE. Each tenant has its own client_id
// and client_secret, in POST /external/{type}/config. Several may be configured, under different types.
type OAuth2 struct {
	// AuthType is the name in paths and accesses. Default: oauth2.
	AuthType string `json:"type,omitempty" caddyfile:"argument"`
	// AuthURL is where users consent; TokenURL is where codes and refresh tokens are exchanged.
	AuthURL  string `json:"auth_url"`
	TokenURL string `json:"token_url"`
	// Scopes are requested if a client names none.
	Scopes []string `json:"scopes,omitempty"`
	// Parameters are added to the authorization URL.
	Parameters map[string]string `json:"parameters,omitempty"`
	// ClientAuthentication says where to send the client's credentials: in the body, or, with header, by HTTP Basic
	// authentication. Default: body.
	ClientAuthentication string `json:"client_authentication,omitempty"`

	oauth2.Generic `json:"-"`
}

// CaddyModule returns the Caddy module information.
func (*OAuth2) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "ringfence.auth.external.oauth2", New: func() caddy.Module { return new(OAuth2) }}
}

// Provision makes the plugin.
func (o *OAuth2) Provision(caddy.Context) (err error) {
	repl := caddy.NewReplacer()
	c := oauth2.Config{
		Type:    repl.ReplaceAll(o.AuthType, ""),
		AuthURL: repl.ReplaceAll(o.AuthURL, ""), TokenURL: repl.ReplaceAll(o.TokenURL, ""),
		Scopes: o.Scopes, Parameters: o.Parameters,
	}
	switch o.ClientAuthentication {
	case "", "body":
	case "header":
		c.BasicAuth = true
	default:
		return fmt.Errorf("client_authentication is %q, and must be body or header", o.ClientAuthentication)
	}
	o.Generic, err = oauth2.NewGeneric(c)
	return err
}

// UnmarshalCaddyfile parses
//
//	external oauth2 [<type>] {
//	    auth_url  <url>
//	    token_url <url>
//	    scopes    <scope...>
//	    parameter <name> <value>
//	    client_authentication body|header
//	}
func (o *OAuth2) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	return block(d, "external oauth2", o)
}

// options has a line for each of the parameters.
func (o *OAuth2) options(known map[string]value) { known["parameter"] = o.addParameter }

func (o *OAuth2) addParameter(args []string) error {
	if len(args) != 2 {
		return errors.New("it takes a name and a value")
	}
	if o.Parameters == nil {
		o.Parameters = map[string]string{}
	}
	o.Parameters[args[0]] = args[1]
	return nil
}

// Google links users to their Google accounts.
type Google struct {
	// Scopes are requested if a client names none. Default: the profile and the contacts.
	Scopes []string `json:"scopes,omitempty"`

	*oauth2.Plugin `json:"-"`
}

// CaddyModule returns the Caddy module information.
func (*Google) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "ringfence.auth.external.google", New: func() caddy.Module { return new(Google) }}
}

// Provision makes the plugin.
func (g *Google) Provision(caddy.Context) (err error) {
	g.Plugin, err = google.New(google.Config{Scopes: g.Scopes})
	return err
}

// UnmarshalCaddyfile parses
//
//	external google {
//	    scopes <scope...>
//	}
func (g *Google) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	return block(d, "external google", g)
}

// Microsoft links users to their Microsoft accounts.
type Microsoft struct {
	// Directory says whose accounts may be linked: common, organizations, consumers, or a directory's id or domain. Default:
	// common.
	Directory string `json:"directory,omitempty"`
	// Scopes are requested if a client names none. Default: offline_access and Contacts.Read.
	Scopes []string `json:"scopes,omitempty"`

	*oauth2.Plugin `json:"-"`
}

// CaddyModule returns the Caddy module information.
func (*Microsoft) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "ringfence.auth.external.microsoft", New: func() caddy.Module { return new(Microsoft) }}
}

// Provision makes the plugin.
func (m *Microsoft) Provision(caddy.Context) (err error) {
	m.Plugin, err = microsoft.New(microsoft.Config{Directory: caddy.NewReplacer().ReplaceAll(m.Directory, ""), Scopes: m.Scopes})
	return err
}

// UnmarshalCaddyfile parses
//
//	external microsoft {
//	    directory <directory>
//	    scopes    <scope...>
//	}
func (m *Microsoft) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	return block(d, "external microsoft", m)
}

// Mobile keeps the push notification tokens of users' mobile applications.
type Mobile struct{ mobile.Plugin }

// CaddyModule returns the Caddy module information.
func (*Mobile) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "ringfence.auth.external.mobile", New: func() caddy.Module { return new(Mobile) }}
}

// UnmarshalCaddyfile takes nothing:
//
//	external mobile
func (*Mobile) UnmarshalCaddyfile(d *caddyfile.Dispenser) error { return nothing(d) }

var (
	_ external.Plugin       = (*OAuth2)(nil)
	_ external.SafeViewer   = (*OAuth2)(nil)
	_ external.Authorizer   = (*OAuth2)(nil)
	_ external.Authorizer   = (*Google)(nil)
	_ external.Authorizer   = (*Microsoft)(nil)
	_ external.Updater      = (*Mobile)(nil)
	_ caddy.Provisioner     = (*OAuth2)(nil)
	_ caddy.Provisioner     = (*Google)(nil)
	_ caddy.Provisioner     = (*Microsoft)(nil)
	_ caddyfile.Unmarshaler = (*OAuth2)(nil)
	_ caddyfile.Unmarshaler = (*Google)(nil)
	_ caddyfile.Unmarshaler = (*Microsoft)(nil)
	_ caddyfile.Unmarshaler = (*Mobile)(nil)
)
