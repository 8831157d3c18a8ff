package caddymodule

import (
	"errors"
	"fmt"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/ringfence/ringfence/authsvc/external"
	"github.com/ringfence/ringfence/authsvc/external/google"
	"github.com/ringfence/ringfence/authsvc/external/microsoft"
	"github.com/ringfence/ringfence/authsvc/external/mobile"
	"github.com/ringfence/ringfence/authsvc/external/oauth2"
)

func init() {
	caddy.RegisterModule(new(OAuth2))
	caddy.RegisterModule(new(Google))
	caddy.RegisterModule(new(Microsoft))
	caddy.RegisterModule(new(Mobile))
}

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
	AuthType string `json:"type,omitempty"`
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
	if d.NextArg() {
		o.AuthType = d.Val()
	}
	return block(d, "external oauth2", map[string]value{
		"auth_url": text(&o.AuthURL), "token_url": text(&o.TokenURL), "scopes": texts(&o.Scopes),
		"parameter": o.addParameter, "client_authentication": text(&o.ClientAuthentication),
	})
}

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
	return block(d, "external google", map[string]value{"scopes": texts(&g.Scopes)})
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
	return block(d, "external microsoft", map[string]value{"directory": text(&m.Directory), "scopes": texts(&m.Scopes)})
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
