package caddymodule

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/ringfence/ringfence/console"
)

func init() {
	caddy.RegisterModule(new(Console))
	httpcaddyfile.RegisterHandlerDirective("ringfence_console", parseBare(func() caddyhttp.MiddlewareHandler { return new(Console) }))
	httpcaddyfile.RegisterDirectiveOrder("ringfence_console", httpcaddyfile.Before, "respond")
}

// Console serves the API console below /console/, to everybody: it holds nothing secret, and requests made in it go through the
// gate.
type Console struct{ handler http.Handler }

// CaddyModule returns the Caddy module information.
func (*Console) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.ringfence_console", New: func() caddy.Module { return new(Console) }}
}

// Provision lists the services.
func (c *Console) Provision(ctx caddy.Context) error {
	app, err := loadApp(ctx)
	if err != nil {
		return err
	}
	var entries []console.Entry
	for _, s := range app.services() {
		entries = append(entries, console.Entry{
			Name: s.Name, Title: s.Title, Prefix: s.Prefix, Definition: s.Prefix + "/api/openapi.json",
			Mails: s.Name == "auth" && app.Mail != nil,
		})
	}
	c.handler, err = console.New(entries)
	return err
}

func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	c.handler.ServeHTTP(w, r)
	return nil
}

var (
	_ caddyhttp.MiddlewareHandler = (*Console)(nil)
	_ caddy.Provisioner           = (*Console)(nil)
)
