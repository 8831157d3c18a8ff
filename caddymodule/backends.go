package caddymodule

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/backend/ldap"
)

func init() {
	caddy.RegisterModule(new(DatabaseBackend))
	caddy.RegisterModule(new(LDAPBackend))
}

// backendSpace is the namespace of the backends: guest modules that implement authsvc.Backend. A third-party backend is one Go
// file that registers itself (examples/backend-plugin).
const backendSpace = "ringfence.auth.backends"

// ownBackend is a backend that the authentication service implements itself.
type ownBackend interface {
	use(s *authsvc.Service)
}

// loadBackends provisions the configured backends.
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

// useBackends makes the service try this configuration's backends. The service belongs to the database and outlives reloads, so
// during a reload two configurations share it: the new one's backends take effect once all its apps have started.
func (a *App) useBackends() { a.engine.auth.UseBackends(a.backends) }

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
func (*DatabaseBackend) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	return nothing(d)
}

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
	return block(d, "backend ldap", map[string]value{"ca": text(&b.CA)})
}

var _ interface {
	caddy.Provisioner
	authsvc.Backend
	authsvc.BackendMethod
	authsvc.BackendRechecker
} = (*LDAPBackend)(nil)
