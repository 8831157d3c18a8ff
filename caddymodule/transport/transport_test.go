package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/ringfence/ringfence/caddymodule/transport"
)

// asked are the requests that a proxy got, which the environment names. Only TestMain can set it: net/http reads it once.
var asked = make(chan string, 1)

func TestMain(m *testing.M) {
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.RequestURI }))
	defer proxy.Close()
	if err := os.Setenv("HTTP_PROXY", proxy.URL); err != nil {
		panic(err)
	}
	m.Run()
}

// Options that only Caddy's own transport has take its way; whatever the way, the daemon is reached.
func TestWays(t *testing.T) {
	daemon := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	daemon.Config.Protocols = new(http.Protocols)
	daemon.Config.Protocols.SetHTTP1(true)
	daemon.Config.Protocols.SetUnencryptedHTTP2(true)
	daemon.Start()
	t.Cleanup(daemon.Close)
	for options, want := range map[string]struct {
		direct bool
		proto  string
	}{
		"":                           {true, "HTTP/1.1"},
		"dial_timeout 3s":            {true, "HTTP/1.1"},
		"read_timeout 1m":            {true, "HTTP/1.1"},
		"response_header_timeout 1m": {true, "HTTP/1.1"},
		"keepalive 10s":              {true, "HTTP/1.1"},
		"versions 1.1":               {true, "HTTP/1.1"},
		"keepalive off":              {false, "HTTP/1.1"},
		"max_conns_per_host 2":       {false, "HTTP/1.1"},
		"versions h2c":               {false, "HTTP/2.0"},
	} {
		t.Run(options, func(t *testing.T) {
			rt := provision(t, options)
			if rt.Direct() != want.direct {
				t.Errorf("direct: %t", rt.Direct())
			}
			for range 2 {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, daemon.URL, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.URL.Scheme = "" // as reverse_proxy leaves it to the transport
				response, err := rt.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				body := make([]byte, 100)
				n, _ := response.Body.Read(body)
				_ = response.Body.Close()
				if got := string(body[:n]); got != want.proto {
					t.Errorf("the daemon got %s", got)
				}
			}
		})
	}
}

// A forward proxy in the environment gets what is not for this machine.
func TestProxyOfTheEnvironment(t *testing.T) {
	rt := provision(t, "")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://daemon.example.com:9500/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := rt.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if got := <-asked; got != "http://daemon.example.com:9500/x" {
		t.Errorf("the proxy was asked for %s", got)
	}
}

func provision(t *testing.T, options string) *transport.Transport {
	t.Helper()
	rt := new(transport.Transport)
	if err := rt.UnmarshalCaddyfile(caddyfile.NewTestDispenser("ringfence {\n" + options + "\n}")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	t.Cleanup(cancel)
	if err := rt.Provision(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Cleanup(); err != nil {
			t.Error(err)
		}
	})
	return rt
}
