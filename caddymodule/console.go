package caddymodule

import (
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/ringfence/ringfence/console"
	"github.com/ringfence/ringfence/internal/gate"
)

func init() {
	caddy.RegisterModule(new(Console))
	httpcaddyfile.RegisterHandlerDirective("ringfence_console", parseBare(func() caddyhttp.MiddlewareHandler { return new(Console) }))
	httpcaddyfile.RegisterDirectiveOrder("ringfence_console", httpcaddyfile.Before, "respond")
}

// Console serves the console below /console/, to everybody: it holds nothing secret, and requests made in it go through the
// gate.
type Console struct {
	// handler is made at the first request: all gates of the configuration are known then, with the definitions that they were given.
	handler func() (http.Handler, error)
}

// CaddyModule returns the Caddy module information.
func (*Console) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.ringfence_console", New: func() caddy.Module { return new(Console) }}
}

// Provision looks for the services.
func (c *Console) Provision(ctx caddy.Context) error {
	app, err := loadApp(ctx)
	if err != nil {
		return err
	}
	c.handler = sync.OnceValues(func() (http.Handler, error) { return app.console() })
	return nil
}

// console returns the console of all services that this configuration's gates guard and that have a definition.
func (a *App) console() (http.Handler, error) {
	var entries []console.Entry
	for _, s := range a.services() {
		entries = append(entries, console.Entry{
			Name: s.Name, Title: s.Title, Prefix: s.Prefix, Definition: s.Prefix + "/api/openapi.json",
			Mails: s.Name == "auth" && a.Mail != nil,
		})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, router := range a.routers {
		d, ok := router.(*gate.Definition)
		if !ok || slices.ContainsFunc(entries, func(e console.Entry) bool { return e.Name == d.Name() }) {
			continue
		}
		document, err := d.Shown()
		if err != nil {
			return nil, fmt.Errorf("showing the definition of %s: %w", d.Name(), err)
		}
		entries = append(entries, console.Entry{Name: d.Name(), Title: d.Name(), Prefix: d.Prefix(), Document: document})
	}
	return console.New(entries)
}

func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	handler, err := c.handler()
	if err != nil {
		return err
	}
	handler.ServeHTTP(w, r)
	return nil
}

var (
	_ caddyhttp.MiddlewareHandler = (*Console)(nil)
	_ caddy.Provisioner           = (*Console)(nil)
)
