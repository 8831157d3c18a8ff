package caddymodule

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/ringfence/ringfence/helpers"
)

func init() {
	caddy.RegisterModule(new(Local))
	httpcaddyfile.RegisterHandlerDirective("ringfence_local", parseBare(func() caddyhttp.MiddlewareHandler { return new(Local) }))
	httpcaddyfile.RegisterDirectiveOrder("ringfence_local", httpcaddyfile.Before, "header") // and so before all that answers
}

// Local keeps web pages away from a plain port: it passes on what tools of this machine ask for, and responds to everybody else with 403. Web
// pages in a browser on this machine are told by their Host, Origin, Referer and Sec-Fetch-Site.
type Local struct{}

// CaddyModule returns the Caddy module information.
func (*Local) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.ringfence_local", New: func() caddy.Module { return new(Local) }}
}

func (*Local) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) (err error) {
	helpers.Local(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { err = next.ServeHTTP(w, r) })).ServeHTTP(w, r)
	return err
}

var _ caddyhttp.MiddlewareHandler = (*Local)(nil)
