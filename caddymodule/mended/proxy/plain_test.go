package proxy

import (
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// Whoever asks for more than one plain daemon gets Caddy's own handler.
func TestPlain(t *testing.T) {
	for options, want := range map[string]bool{
		"":                             true,
		"transport ringfence":          true,
		"stream_close_delay 5m":        true,
		"to 127.0.0.1:9501":            false,
		"lb_policy first":              false,
		"lb_try_duration 5s":           false,
		"health_uri /health":           false,
		"fail_duration 30s":            false,
		"header_up X-A b":              false,
		"header_down X-A b":            false,
		"rewrite /a":                   false,
		"method GET":                   false,
		"flush_interval -1":            false,
		"request_buffers 1MiB":         false,
		"response_buffers 1MiB":        false,
		"trusted_proxies 192.0.2.0/24": false,
		"verbose_logs":                 false,
		"unhealthy_request_count 5":    false,
		"dynamic a example.org":        false,
	} {
		p := new(Proxy)
		if err := p.UnmarshalCaddyfile(caddyfile.NewTestDispenser("ringfence_proxy 127.0.0.1:9500 {\n" + options + "\n}")); err != nil {
			t.Errorf("%s: %v", options, err)
		}
		if got := p.plain(); got != want {
			t.Errorf("%q: plain %t", options, got)
		}
	}
}
