package transport_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	_ "github.com/caddyserver/caddy/v2/modules/filestorage"

	"github.com/ringfence/ringfence/caddymodule/mended/transport"
	"github.com/ringfence/ringfence/internal/porttest"
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

// A dial that fails costs a request with a body nothing: reverse_proxy sends it to the next daemon, with any method.
func TestNextUpstream(t *testing.T) {
	port, release, err := porttest.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	t.Cleanup(daemon.Close)
	for _, protocol := range []string{"http", "ringfence"} {
		t.Run(protocol, func(t *testing.T) {
			address := serve(t, fmt.Sprintf(`{
				"handler": "reverse_proxy",
				"transport": {"protocol": %q},
				"upstreams": [{"dial": "127.0.0.1:%d"}, {"dial": %q}],
				"load_balancing": {"selection_policy": {"policy": "first"}, "try_duration": "1m"},
				"health_checks": {"passive": {"fail_duration": "10m"}}
			}`, protocol, port, daemon.Listener.Addr()))
			for range 2 {
				response, err := http.Post(address, "text/plain", strings.NewReader("the body"))
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if response.StatusCode != http.StatusOK || string(body) != "the body" {
					t.Errorf("it is %d %q", response.StatusCode, body)
				}
			}
		})
	}
}

// serve has a Caddy with this handler, and returns its URL.
func serve(t *testing.T, handler string) string {
	t.Helper()
	port, release, err := porttest.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	address := fmt.Sprintf("127.0.0.1:%d", port)
	config := fmt.Sprintf(`{
		"admin": {"disabled": true, "config": {"persist": false}},
		"storage": {"module": "file_system", "root": %q},
		"apps": {"http": {"servers": {"proxy": {"listen": [%q], "automatic_https": {"disable": true}, "routes": [{"handle": [%s]}]}}}}
	}`, t.TempDir(), address, handler)
	if err := caddy.Load([]byte(config), true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := caddy.Stop(); err != nil {
			t.Error(err)
		}
	})
	return "http://" + address
}

// A transport that was cleaned up closes the connection of an answer that was still being read.
func TestCleanup(t *testing.T) {
	closed := make(chan struct{}, 1)
	daemon := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }))
	daemon.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	daemon.Start()
	t.Cleanup(daemon.Close)
	rt := provision(t, "")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, daemon.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := rt.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := rt.Cleanup(); err != nil {
		t.Error(err)
	}
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "ok" {
		t.Errorf("%q %v", body, err)
	}
	_ = response.Body.Close()
	<-closed
}
