package caddymodule_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

// A configuration in which a service can be reached without a gate is refused when it is loaded, and when it is validated.
func TestServiceWithoutAGateIsRefused(t *testing.T) {
	const own = "ringfence_gate\n"
	tests := []struct {
		name, routes string
		refused      bool
	}{
		{"auth", "ringfence_auth", true},
		{"confd", "ringfence_confd", true},
		{"helpers", "ringfence_helpers", true},
		{"behind a gate", own + "ringfence_confd", false},
		{"in a route", "route {\nringfence_confd\n}", true},
		{"behind a gate in a route", "route {\n" + own + "ringfence_confd\n}", false},
		{"before the gate", "route {\nringfence_confd\nringfence_gate\n}", true},
		{"behind the gate of a daemon", echoGate + "ringfence_auth", true},
		{"in nested blocks", "handle /a/* {\nhandle /a/b/* {\nroute {\nringfence_confd\n}\n}\n}", true},
		{"in nested blocks, the gate around them", "route {\n" + own + "handle /a/* {\nroute {\nringfence_confd\n}\n}\n}", false},
		{"beside a block with a gate", "handle /a/* {\nringfence_gate\nringfence_confd\n}\nhandle /b/* {\nringfence_confd\n}", true},
		{"in the second of two gated blocks", "handle /a/* {\nringfence_gate\nringfence_auth\n}\nhandle /b/* {\nringfence_gate\nringfence_confd\n}", false},
		{"behind a gate in a block of its own", "route {\nroute {\nringfence_gate\n}\nringfence_confd\n}", false},
		{"behind a gate for some paths", "route {\nringfence_gate /api/*\nringfence_confd\n}", true},
		{"behind a gate for all of its paths", "route {\nringfence_gate /api/*\nringfence_confd /api/confd/*\n}", false},
		{"behind a gate for other paths", "route {\nringfence_gate /api/auth/*\nringfence_confd /api/confd/*\n}", true},
		{"behind a gate for all paths of the block", "route /api/confd/* {\nringfence_gate /api/*\nringfence_confd\n}", false},
		{"beside a gated route", "route /a/* {\nringfence_gate\n}\nroute /b/* {\nringfence_confd\n}", true},
		{"for errors", "error 404\n}\nhandle_errors {\nringfence_confd", true},
		{"for errors, behind a gate", "error 404\n}\nhandle_errors {\nringfence_gate\nringfence_confd", false},
		{"open helpers for everybody", "ringfence_helpers open", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGateway(t)
			g.routes = tt.routes
			want(t, g.adapt(t, g.caddyfile()), tt.refused)
		})
	}
	named := []struct {
		name, route, site string
		refused           bool
	}{
		{"no gate", "ringfence_confd", "invoke svc", true},
		{"gate in the named route", "ringfence_gate\nringfence_confd", "invoke svc", false},
		{"gate in a block of the named route", "route {\nringfence_gate\nringfence_confd\n}", "invoke svc", false},
		{"gate before it is invoked", "ringfence_confd", "route {\nringfence_gate\ninvoke svc\n}", false},
		{"invoked twice, once without", "ringfence_confd", "route /a/* {\nringfence_gate\ninvoke svc\n}\nroute /b/* {\ninvoke svc\n}", true},
	}
	for _, tt := range named {
		t.Run("named route: "+tt.name, func(t *testing.T) {
			g := newGateway(t)
			g.routes = tt.site
			text := strings.Replace(g.caddyfile(), "\nhttps://", "\n&(svc) {\n"+tt.route+"\n}\nhttps://", 1)
			want(t, g.adapt(t, text), tt.refused)
		})
	}
	t.Run("JSON: a gate in another route of the group", func(t *testing.T) {
		g := newGateway(t)
		g.routes = "respond 404"
		g.change = func(config map[string]any) {
			server := config["apps"].(map[string]any)["http"].(map[string]any)["servers"].(map[string]any)["srv0"].(map[string]any)
			handle := func(name string) map[string]any {
				return map[string]any{"group": "one", "handle": []any{map[string]any{"handler": name}}}
			}
			server["routes"] = []any{handle("ringfence_gate"), handle("ringfence_confd")}
		}
		want(t, g.adapt(t, g.caddyfile()), true)
	})
}

// want fails the test unless the configuration is refused, or valid, as expected.
func want(t *testing.T, config []byte, refused bool) {
	t.Helper()
	for range 4 { // Caddy provisions the apps in random order
		parsed := new(caddy.Config)
		if err := json.Unmarshal(config, parsed); err != nil {
			t.Fatal(err)
		}
		err := caddy.Validate(parsed)
		if refused && (err == nil || !strings.Contains(err.Error(), "ringfence_gate")) {
			t.Errorf("it is valid: %v\n%s", err, config)
		}
		if !refused && err != nil {
			t.Errorf("it is refused: %v", err)
		}
	}
}

// The helper endpoints may be open on addresses of this machine only.
func TestOpenHelpersAreForThisMachine(t *testing.T) {
	for bind, refused := range map[string]bool{
		"127.0.0.1": false, "[::1]": false, "127.8.8.8": false, "localhost": false, "ringfence_tcp/127.0.0.1 ringfence_tcp/[::1]": false,
		"unix//tmp/ringfence-test.sock": false,
		"0.0.0.0":                       true, "[::]": true, "192.0.2.1": true, "ringfence_tcp/": true, "127.0.0.1 192.0.2.1": true, "[::ffff:192.0.2.1]": true,
	} {
		t.Run(bind, func(t *testing.T) {
			g := newGateway(t)
			g.routes = "respond 404"
			text := g.caddyfile() + "\nhttp://:" + g.helpers + " {\nbind " + bind + "\nringfence_helpers open\n}\n"
			want(t, g.adapt(t, text), refused)
		})
	}
}
