package caddymodule_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

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
			g.Routes = "respond 404"
			text := g.Caddyfile() + "\nhttp://:" + g.HelpersPort + " {\nbind " + bind + "\nringfence_helpers open\n}\n"
			want(t, g.Adapt(t, text), refused)
		})
	}
}
