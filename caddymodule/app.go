package caddymodule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"

	"github.com/ringfence/ringfence/authsvc"
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
	// Data is the folder of the database, the certificate, and the first administrator's credentials.
	// Default: the environment's RINGFENCE_DATA, else ./data.
	Data string `json:"data,omitempty"`
	// Database is sqlite://<file> or postgres://... Default: the environment's
	// RINGFENCE_DATABASE, else ringfence.db in the data folder.
	Database string `json:"database,omitempty"`
	// AdminUsername is the first administrator's, used when the database is new.
	// Default: the environment's RINGFENCE_ADMIN_USERNAME, else admin.
	AdminUsername string `json:"admin_username,omitempty"`
	// AdminPassword is the first administrator's, used when the database is new. Default: the
	// environment's RINGFENCE_ADMIN_PASSWORD, else it is generated, shown once, and kept in <data>/admin-credentials.
	AdminPassword string `json:"admin_password,omitempty"`
	// TokensRaw is where tokens come from. Default: local, the authentication service on this database.
	TokensRaw json.RawMessage `json:"tokens,omitempty" caddy:"namespace=ringfence.tokens inline_key=source"`
	// Origins are the web origins ("https://pbx.example.com") whose pages may call the gated services. Default: none.
	Origins []string `json:"origins,omitempty"`

	ctx    caddy.Context
	log    *slog.Logger
	engine *engine
	cache  *tokens.Cache
}

// CaddyModule returns the Caddy module information.
func (*App) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "ringfence", New: func() caddy.Module { return new(App) }}
}

// Provision resolves the settings and takes a share of the database's engine. It opens nothing: see Start.
func (a *App) Provision(ctx caddy.Context) error {
	if err := protectLogs(ctx); err != nil {
		return err
	}
	a.ctx, a.log = ctx, ctx.Slogger()
	a.resolve(caddy.NewReplacer())
	key, err := open.Key(a.Database)
	if err != nil {
		return fmt.Errorf("reading the database's address: %w", err)
	}
	if a.engine, err = useEngine(key); err != nil {
		return err
	}
	if err := a.engine.metrics.register(ctx.GetMetricsRegistry()); err != nil {
		return err
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
	a.engine.metrics.watch(a.cache)
	return nil
}

// resolve fills in placeholders and defaults.
func (a *App) resolve(repl *caddy.Replacer) {
	setting := func(field *string, env, fallback string) {
		*field = repl.ReplaceAll(*field, "")
		if *field == "" {
			*field = os.Getenv(env)
		}
		if *field == "" {
			*field = fallback
		}
	}
	setting(&a.Data, "RINGFENCE_DATA", "data")
	setting(&a.Database, "RINGFENCE_DATABASE", "sqlite://"+filepath.Join(a.Data, "ringfence.db"))
	setting(&a.AdminUsername, "RINGFENCE_ADMIN_USERNAME", "admin")
	setting(&a.AdminPassword, "RINGFENCE_ADMIN_PASSWORD", "")
}

// Validate checks what needs no database.
func (a *App) Validate() error {
	if len(a.AdminPassword) > authsvc.MaxPassword {
		return fmt.Errorf("the administrator's password is longer than %d bytes", authsvc.MaxPassword)
	}
	for _, o := range a.Origins {
		if scheme, host, ok := strings.Cut(o, "://"); !ok || host == "" || strings.ContainsAny(host, "/?#*") || (scheme != "https" && scheme != "http") {
			return fmt.Errorf("origin %q is not of the form https://host[:port]", o)
		}
	}
	return nil
}

// running is true once a ringfence app has started in this process: from then on an app that starts
// belongs to a reload.
var running atomic.Bool

// Start opens the database. At the start of the process a database that cannot answer yet is waited for in the
// background, with 503 meanwhile; on a reload it fails, and the old configuration goes on.
func (a *App) Start() error {
	slog.SetDefault(a.log)
	admin := authsvc.Admin{
		Username: a.AdminUsername, Password: a.AdminPassword, File: filepath.Join(a.Data, "admin-credentials"),
	}
	reload := running.Load()
	first, err := a.engine.start(context.Background(), a.Database, admin)
	switch {
	case err == nil:
		a.welcome(first, !reload)
	case errors.Is(err, store.ErrUnavailable) && !reload:
		a.log.Warn("the database cannot be used yet; trying again, with 503 meanwhile", "error", err)
		a.engine.keepStarting(a.log, a.Database, admin, func(first authsvc.FirstStart) { a.welcome(first, true) })
	default:
		return err
	}
	running.Store(true)
	return nil
}

// Stop has nothing to stop: what runs belongs to the engine, which other configurations may share.
func (a *App) Stop() error { return nil }

// Cleanup gives back what Provision took, which may be a part of it.
func (a *App) Cleanup() error {
	if a.engine == nil {
		return nil
	}
	return a.engine.release()
}

// welcome tells the person at the terminal what to do next. The generated password is shown this once; it
// goes to the terminal and not through the log, which may be kept.
func (a *App) welcome(first authsvc.FirstStart, starting bool) {
	if first.Created && first.Password != "" {
		fmt.Fprintf(os.Stderr, "\n  The first administrator was created:\n\n      username  %s\n      password  %s\n\n  It is shown this once, and kept in %s\n",
			a.AdminUsername, first.Password, filepath.Join(a.Data, "admin-credentials"))
	}
	if !starting {
		return
	}
	where := a.Database
	if strings.HasPrefix(where, "postgres") {
		where = "PostgreSQL" // the address may hold a password
	}
	fmt.Fprintf(os.Stderr, "\n  Ringfence %s, data in %s, database %s\n", Version, a.Data, where)
	for _, u := range a.urls() {
		fmt.Fprintf(os.Stderr, "      %s\n", u)
	}
	for _, f := range certificateFingerprints() {
		fmt.Fprintf(os.Stderr, "  Certificate, SHA-256\n      %s\n", f)
	}
	fmt.Fprintln(os.Stderr)
}

var _ interface {
	caddy.App
	caddy.Provisioner
	caddy.Validator
	caddy.CleanerUpper
} = (*App)(nil)
