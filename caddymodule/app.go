package caddymodule

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/external"
	"github.com/ringfence/ringfence/caddymodule/mended/listener"
	"github.com/ringfence/ringfence/caddymodule/mended/logs"
	"github.com/ringfence/ringfence/internal/gate"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/open"
	"github.com/ringfence/ringfence/internal/tokens"
)

func init() {
	caddy.RegisterModule(new(App))
	httpcaddyfile.RegisterGlobalOption("ringfence", parseApp)
}

// App owns what all ringfence handlers share: the database, the services on it, and the token cache. Two
// configurations with the same database share one of each, so a reload loses nothing.
type App struct {
	// Data is the folder of the database, the certificate, and the first administrator's credentials. Default: RINGFENCE_DATA
	// from the environment, else ./data.
	Data string `json:"data,omitempty"`
	// Database is sqlite://<file> or postgres://... Default: RINGFENCE_DATABASE from the environment, else ringfence.db in the
	// data folder.
	Database string `json:"database,omitempty"`
	// AdminUsername is the first administrator's username, used when the database is new. Default: RINGFENCE_ADMIN_USERNAME from
	// the environment, else admin.
	AdminUsername string `json:"admin_username,omitempty"`
	// AdminPassword is the first administrator's password, used when the database is new. Default: RINGFENCE_ADMIN_PASSWORD from
	// the environment, else a generated one, which is shown once and kept in <data>/admin-credentials.
	AdminPassword string `json:"admin_password,omitempty"`
	// SealingKeys are the keys that seal secrets in the database, one per line, as `openssl rand -base64 32` prints them. A
	// reload cannot change them: it is refused, and a restart is needed. Default: RINGFENCE_SEALING_KEYS from the environment,
	// else the file sealing-key in the data folder.
	SealingKeys string `json:"sealing_keys,omitempty"`
	// TokensRaw is the source of tokens. Default: local, the authentication service on this database.
	TokensRaw json.RawMessage `json:"tokens,omitempty" caddy:"namespace=ringfence.tokens inline_key=source"`
	// BackendsRaw are the backends that check logins, in the order in which they are tried. Default: database, ldap.
	BackendsRaw []json.RawMessage `json:"backends,omitempty" caddy:"namespace=ringfence.auth.backends inline_key=backend"`
	// HandoverDelay is how long the configuration that a reload replaces keeps serving its open connections after the new one
	// accepts, unless all of them end earlier. Default: 500ms.
	HandoverDelay caddy.Duration `json:"handover_delay,omitempty"`
	// Origins are the web origins ("https://pbx.example.com") whose pages may call the gated services. Default: none.
	Origins []string `json:"origins,omitempty"`
	// PublicURL is the address at which browsers reach this gateway, such as "https://pbx.example.com:8443". Links in mails begin
	// with it, and external services send users back there. It must be https, or http on this machine alone, and is never taken
	// from a request. Default: RINGFENCE_PUBLIC_URL from the environment, else none; a configuration that needs one is then
	// refused.
	PublicURL string `json:"public_url,omitempty"`
	// Contact is whom people ask who may not do something: a name, an address or both, such as "helpdesk@example.com". The console and the
	// definitions show it to everybody. Default: none.
	Contact string `json:"contact,omitempty"`
	// Mail says how to send mails. Default: none are sent.
	Mail *Mail `json:"mail,omitempty"`
	// SelfRegistration lets strangers create accounts, each in a tenant of its own below the master tenant. Default: false.
	SelfRegistration bool `json:"self_registration,omitempty"`
	// Passwords and Sessions are further settings of the authentication service. Each has its own defaults.
	Passwords *Passwords `json:"passwords,omitempty"`
	Sessions  *Sessions  `json:"sessions,omitempty"`
	// Directories says where tenants' directories may be. Default: anywhere but this machine and its link-local network.
	Directories *Directories `json:"directories,omitempty"`
	// Helpers says where the files are that the helper endpoints change. Default: below the data folder.
	Helpers *HelperFiles `json:"helpers,omitempty"`
	// Backups is the folder in which the gateway keeps the backups that are made over the API, or "off" if none are made. Default:
	// RINGFENCE_BACKUPS from the environment, else a folder in the data folder.
	Backups string `json:"backups,omitempty"`
	// Asterisk is the telephone system that is configured. Default: none; its configuration is then only written to a folder.
	Asterisk *Asterisk `json:"asterisk,omitempty"`
	// DefaultPolicies are created in the master tenant and kept as configured; the API cannot change them.
	DefaultPolicies []ConfiguredPolicy `json:"default_policies,omitempty"`
	// AllUsersPolicies are the default policies that every user holds.
	AllUsersPolicies []string `json:"all_users_policies,omitempty"`
	// TenantDefaultGroups are created in every tenant.
	TenantDefaultGroups []ConfiguredGroup `json:"tenant_default_groups,omitempty"`
	// DefaultUserPolicy is one more policy that every user holds, or "none". Default: wazo_default_user_policy, which lets a
	// telephone user manage their own account. If default_policies has a policy of that name, that one is used.
	DefaultUserPolicy string `json:"default_user_policy,omitempty"`
	// PluginsRaw are the guest modules that link users to external services. Each implements external.Plugin. Default: none.
	PluginsRaw []json.RawMessage `json:"external,omitempty" caddy:"namespace=ringfence.auth.external inline_key=plugin"`

	ctx    caddy.Context
	log    *slog.Logger
	locked string // the path of the data folder, once it is locked
	engine *engine
	cache  *tokens.Cache
	auth   *rest.Service // with this configuration's plugins
	// backends are built from BackendsRaw.
	backends []authsvc.Backend
	// configured are the policies and groups that the configuration puts into the database.
	configured authsvc.Configured
	// settings are the other settings of the authentication service.
	settings authsvc.Settings
	// needsDatabase is set before Start by every module that needs the database. A gateway that takes its tokens from elsewhere
	// and protects only other daemons needs none.
	needsDatabase bool
	leaving       atomic.Bool // another configuration has taken over
	reload        bool

	mu      sync.Mutex
	routers []gate.Router // of all this configuration's gates
}

// CaddyModule returns the Caddy module information.
func (*App) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "ringfence", New: func() caddy.Module { return new(App) }}
}

// Provision resolves the settings and takes a share of the database's engine. It opens nothing: see Start.
func (a *App) Provision(ctx caddy.Context) error {
	if err := logs.Protect(ctx); err != nil {
		return err
	}
	a.ctx, a.log = ctx, ctx.Slogger()
	repl := caddy.NewReplacer()
	a.resolve(repl)
	if a.PublicURL != "" {
		if err := external.CheckPublicURL(a.PublicURL); err != nil {
			return fmt.Errorf("reading public_url (RINGFENCE_PUBLIC_URL): %w", err)
		}
	}
	key, err := open.Key(a.Database)
	if err != nil {
		return fmt.Errorf("reading the database's address (RINGFENCE_DATABASE): %w", err)
	}
	if a.engine, err = useEngine(key, a.Data, a.SealingKeys); err != nil {
		return err
	}
	if err := a.loadExternal(ctx); err != nil {
		return err
	}
	registry := ctx.GetMetricsRegistry()
	if err := a.engine.metrics.register(registry); err != nil {
		return err
	}
	if err := registry.Register(installationStats{a}); err != nil {
		return fmt.Errorf("registering the installation's metrics: %w", err)
	}
	source := TokenSource(new(LocalTokens))
	if a.TokensRaw != nil {
		guest, err := ctx.LoadModule(a, "TokensRaw")
		if err != nil {
			return fmt.Errorf("loading the token source: %w", err)
		}
		source = guest.(TokenSource)
	}
	if a.cache, err = source.Tokens(a); err != nil {
		return fmt.Errorf("preparing the token source: %w", err)
	}
	if err := registry.Register(cacheStats{a.cache}); err != nil {
		return fmt.Errorf("registering the token cache's metrics: %w", err)
	}
	if err := a.loadBackends(ctx); err != nil {
		return err
	}
	if err := a.loadSettings(repl); err != nil {
		return err
	}
	if err := a.loadConfigured(); err != nil {
		return err
	}
	events, err := ctx.App("events")
	if err != nil {
		return fmt.Errorf("loading events app: %w", err)
	}
	return events.(*caddyevents.App).On("started", started{a})
}

func (a *App) resolve(repl *caddy.Replacer) {
	setting := func(field *string, env, fallback string) {
		*field = cmp.Or(repl.ReplaceAll(*field, ""), repl.ReplaceAll("{env."+env+"}", ""), fallback)
	}
	setting(&a.Data, "RINGFENCE_DATA", "data")
	setting(&a.Database, "RINGFENCE_DATABASE", open.SQLiteScheme+filepath.Join(a.Data, "ringfence.db"))
	setting(&a.AdminUsername, "RINGFENCE_ADMIN_USERNAME", "admin")
	setting(&a.AdminPassword, "RINGFENCE_ADMIN_PASSWORD", "")
	setting(&a.PublicURL, "RINGFENCE_PUBLIC_URL", "")
	setting(&a.SealingKeys, "RINGFENCE_SEALING_KEYS", "")
	setting(&a.Backups, "RINGFENCE_BACKUPS", filepath.Join(a.Data, "backups"))
	a.resolveHelpers(setting)
	a.resolveAsterisk(setting)
	if a.HandoverDelay == 0 {
		a.HandoverDelay = caddy.Duration(500 * time.Millisecond)
	}
}

const maxUsername = 256

// Validate makes the checks that need no database.
func (a *App) Validate() error {
	// HTTP Basic (RFC 7617) sends the name and has no place for these.
	if len(a.AdminUsername) > maxUsername || strings.ContainsFunc(a.AdminUsername, func(r rune) bool { return r == ':' || unicode.IsControl(r) }) {
		return fmt.Errorf("the administrator's username (RINGFENCE_ADMIN_USERNAME) is longer than %d bytes, or has a colon or a control character", maxUsername)
	}
	if a.HandoverDelay < 0 {
		return errors.New("handover_delay cannot be negative")
	}
	if len(a.AdminPassword) > authsvc.MaxPassword {
		return fmt.Errorf("the administrator's password (RINGFENCE_ADMIN_PASSWORD) is longer than %d bytes", authsvc.MaxPassword)
	}
	if err := a.Helpers.validate(); err != nil {
		return err
	}
	if err := a.Asterisk.validate(); err != nil {
		return err
	}
	return gate.CheckOrigins(a.Origins)
}

// Start opens the database, if any module needs it. If the database is unreachable when the process starts, Start keeps trying in
// the background, with 503 meanwhile. On a reload it fails, and the old configuration keeps serving.
func (a *App) Start() error {
	if err := a.lockData(); err != nil { // a configuration without an admin endpoint does not hold the folder yet
		return err
	}
	admin := authsvc.Admin{
		Username: a.AdminUsername, Password: a.AdminPassword, File: filepath.Join(a.Data, "admin-credentials"),
	}
	// Until all apps have started, the active configuration is the old one, if there is one.
	a.reload = caddy.ActiveContext().Context != nil
	if !a.reload {
		a.use()
	}
	if !a.needsDatabase {
		return nil
	}
	if err := a.checkPorts(); err != nil { // before a password is generated and shown
		return err
	}
	first, err := a.engine.start(context.Background(), a.Database, admin, a.configured)
	switch {
	case err == nil:
		a.reportAdministrator(first)
	case errors.Is(err, errStarting):
		// The old configuration is waiting for the same database.
	case errors.Is(err, store.ErrUnavailable) && !a.reload:
		a.log.Warn("the database cannot be used yet; trying again, with 503 meanwhile", "error", err)
		a.engine.keepStarting(a.log, a.Database, admin, a.configured, a.reportAdministrator)
	default:
		return err
	}
	return nil
}

// checkPorts refuses a configuration whose TCP ports are taken. Caddy starts the apps of a configuration in random order, so the
// HTTP servers may or may not have their ports already. The result is the same: the port can be opened once more.
func (a *App) checkPorts() error {
	app, err := a.ctx.AppIfConfigured("http")
	if err != nil || a.engine.started.Load() {
		return nil //nolint:nilerr // no servers, no ports
	}
	for _, server := range app.(*caddyhttp.App).Servers {
		for _, listen := range server.Listen {
			at, err := caddy.ParseNetworkAddress(listen)
			if err != nil || (at.Network != listener.Network && !strings.HasPrefix(at.Network, "tcp")) {
				continue
			}
			for offset := range at.PortRangeSize() {
				probe, err := at.Listen(a.ctx, offset, net.ListenConfig{})
				if err != nil {
					return fmt.Errorf("listening on %s: %w", listen, err)
				}
				if err := probe.(io.Closer).Close(); err != nil {
					return fmt.Errorf("closing %s: %w", listen, err)
				}
			}
		}
	}
	return nil
}

// ready returns an error if no requests can be served now.
func (a *App) ready(ctx context.Context) error {
	if !a.needsDatabase {
		return nil
	}
	return a.engine.ready(ctx)
}

// Stop does nothing: the engine does the work, and other configurations may share it.
func (a *App) Stop() error { return nil }

// Cleanup releases what Provision took, which may be only a part.
func (a *App) Cleanup() error {
	var err error
	if a.engine != nil {
		err = a.engine.release()
	}
	return errors.Join(err, a.unlockData())
}

var _ interface {
	caddy.App
	caddy.Provisioner
	caddy.Validator
	caddy.CleanerUpper
} = (*App)(nil)
