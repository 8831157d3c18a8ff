package caddymodule_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// gateway is a whole gateway in this process.
type gateway struct{ *gatewaytest.Inside }

const adminPassword = gatewaytest.Password

func newGateway(t *testing.T) *gateway {
	t.Helper()
	return &gateway{gatewaytest.NewInside(t)}
}

func loadDefault(t *testing.T, database string) *gateway {
	t.Helper()
	return &gateway{gatewaytest.LoadDefault(t, database)}
}

func loadEdited(t *testing.T, database string, edit func(caddyfile string) string) *gateway {
	t.Helper()
	return &gateway{gatewaytest.LoadEdited(t, database, edit)}
}

// testHandler is a Caddy handler that a test can look into: `test_handler` calls behind.
type testHandler struct{}

var behind atomic.Pointer[http.HandlerFunc]

func init() {
	caddy.RegisterModule(testHandler{})
	httpcaddyfile.RegisterHandlerDirective("test_handler", func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		h.Next()
		return testHandler{}, nil
	})
	httpcaddyfile.RegisterDirectiveOrder("test_handler", httpcaddyfile.Before, "respond")
}

func (testHandler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.test_handler", New: func() caddy.Module { return new(testHandler) }}
}

func (testHandler) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	(*behind.Load())(w, r)
	return nil
}

// handle makes the test_handler of all configurations call h.
func handle(h http.HandlerFunc) { behind.Store(&h) }
