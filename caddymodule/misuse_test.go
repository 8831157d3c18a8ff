package caddymodule_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

const echoGate = "ringfence_gate echo {\nprefix " + echoPrefix + "\n}\n"

// A configuration in which another handler changes the request first serves nothing, and its log says why.
func TestRewrittenBeforeTheGate(t *testing.T) {
	const rewritten = "put ringfence_gate first, and use its strip_prefix"
	tests := []struct{ name, routes, path, log string }{
		{"handle_path", "handle_path /api/* {\nringfence_gate echo {\nprefix /echo/1.0\n}\ntest_handler\n}", echoPrefix + "/pub/x", rewritten},
		{"uri strip_prefix", "route {\nuri strip_prefix /api\nringfence_gate echo {\nprefix /echo/1.0\n}\ntest_handler\n}", echoPrefix + "/pub/x", rewritten},
		{"uri replace", "route {\nuri replace /admin /pub/x\n" + echoGate + "test_handler\n}", echoPrefix + "/admin", rewritten},
		{"rewrite", "route {\nrewrite * " + echoPrefix + "/pub/x\n" + echoGate + "test_handler\n}", echoPrefix + "/admin", rewritten},
		{"rewrite of the query", "route {\nrewrite * ?a=b\n" + echoGate + "test_handler\n}", echoPrefix + "/pub/x", rewritten},
		{"method", "route {\nmethod GET\n" + echoGate + "test_handler\n}", echoPrefix + "/pub/x", rewritten},
		{"an error's route", "route {\nerror 404\n}", echoPrefix + "/admin", ""},
		{"no gate", "ringfence_helpers", "/api/sysconfd/status_check", "put ringfence_gate into the same route"},
		{"the gate of a daemon", "ringfence_gate sysconfd {\nprefix /api/sysconfd\n}\nringfence_helpers", "/api/sysconfd/status_check", "put ringfence_gate into the same route"},
		{"a gate after it", "route {\nringfence_helpers\nringfence_gate\n}", "/api/sysconfd/status_check", "put ringfence_gate into the same route"},
		{"another service than the path's", "ringfence_gate\nringfence_confd", "/api/sysconfd/status_check", "put ringfence_gate into the same route"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGateway(t)
			g.Undeclared(t, "a configuration that is wrong on purpose answers 500")
			g.Routes = tt.routes
			if tt.log == "" {
				g.Routes += "\n}\nhandle_errors {\nroute {\nrewrite * " + echoPrefix + "/pub/x\n" + echoGate + "test_handler\n}"
			}
			var reached atomic.Int64
			handle(func(http.ResponseWriter, *http.Request) { reached.Add(1) })
			g.Load(t)
			admin := g.Admin(t)
			_, _, token := g.Account(t, admin, "client", "echo.pub.#", "sysconfd.#")
			for _, method := range []string{"GET", "POST"} {
				a := g.Do(t, method, tt.path, token, "")
				if reached.Load() > 0 && tt.name != "method" {
					t.Errorf("%s %s went through", method, tt.path)
				}
				if tt.name == "method" && method == "GET" {
					continue // nothing was changed
				}
				if (a.Status != 500 && tt.log != "") || a.Status < 400 || strings.Contains(a.Body, "ringfence_gate") {
					t.Errorf("%s %s: status %d: %s", method, tt.path, a.Status, a.Body)
				}
			}
			if !strings.Contains(g.Logged(t), tt.log) {
				t.Errorf("the log does not say %q", tt.log)
			}
		})
	}
}

// A change to the request after the gate has no effect on our own services: they do what was checked.
func TestRewrittenAfterTheGate(t *testing.T) {
	g := newGateway(t)
	g.Routes = `handle /checked/* {
		respond 404
	}
	route /api/sysconfd/* {
		ringfence_gate
		rewrite * /api/sysconfd/nothing
		method DELETE
		ringfence_helpers
	}`
	g.Load(t)
	_, _, token := g.Account(t, g.Admin(t), "client", "sysconfd.status_check.read")
	g.Do(t, "GET", "/api/sysconfd/status_check", token, "").Want(200)
	g.Do(t, "DELETE", "/api/sysconfd/status_check", token, "").Want(403)
}

// A configuration that cannot be right is refused, with an error that says what would be.
func TestRefusedConfigurations(t *testing.T) {
	tests := []struct{ name, app, routes, want string }{
		{"options without a service", "", "ringfence_gate {\nprefix /x\n}", "prefix, definition, public, strip_prefix, forward_token, forward_headers and identity are for a named upstream service"},
		{"service without a prefix", "", "ringfence_gate calld", "set the prefix below which it is served"},
		{"service of two words", "", "ringfence_gate call.d {\nprefix /x\n}", "a service's name is one word"},
		{"prefix that no request has", "", "ringfence_gate calld {\nprefix /x/../y\n}", "prefix"},
		{"prefix with a slash at its end", "", "ringfence_gate calld {\nprefix /x/\n}", "prefix"},
		{"public route elsewhere", "", "ringfence_gate calld {\nprefix /x\npublic GET /y\n}", "the path is not below /x"},
		{"public route with no method", "", "ringfence_gate calld {\nprefix /x\npublic BREW /x/y\n}", "no such method"},
		{"definition that is not there", "", "ringfence_gate calld {\ndefinition /nowhere/calld.yml\n}", "/nowhere/calld.yml"},
		{"origin that is none", "origins https://pbx.example.com/path", "", "is not of the form https://host[:port]"},
		{"remote tokens over plain HTTP", "tokens remote http://pbx.example.com/api/auth", "", "http:// is for this machine only, unless plain_http is given"},
		{"remote tokens that stay too long", "tokens remote https://pbx.example.com {\nstaleness 1h\n}", "", "staleness"},
		{"remote tokens with a master tenant that is none", "tokens remote https://pbx.example.com {\nmaster_tenant master\n}", "", "master_tenant"},
		{"remote tokens with a bad CA file", "tokens remote https://pbx.example.com {\nca /nowhere.pem\n}", "", "/nowhere.pem"},
		{"negative delay", "", "", "handover_delay cannot be negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGateway(t)
			g.App, g.Routes = tt.app, tt.routes
			text := g.Caddyfile()
			if tt.name == "negative delay" {
				text = strings.Replace(text, "handover_delay 50ms", "handover_delay -1s", 1)
			}
			t.Cleanup(func() { gatewaytest.Stop(t) })
			config, err := gatewaytest.Adapt(text)
			if err == nil {
				err = caddy.Load(config, true)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
