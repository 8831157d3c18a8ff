package caddymodule_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/goleak"

	"github.com/ringfence/ringfence/caddymodule"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// metric returns the value of a series on /metrics.
func (g *gateway) metric(t *testing.T, series string) float64 {
	t.Helper()
	text := g.Do(t, "GET", "/metrics", "", "").Want(200).Body
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no %s in:\n%s", series, text)
	}
	value, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

const lookups = "ringfence_token_cache_lookups_total"

// cached returns a new, cached token of the administrator: for half a minute it is not looked up again.
func (g *gateway) cached(t *testing.T) string {
	t.Helper()
	token := g.Admin(t)
	gatewaytest.Eventually(t, time.Minute, func() error { // a cache may drop the first writes
		const hits = "ringfence_token_cache_hits_total"
		before := g.metric(t, hits)
		g.Do(t, "GET", "/api/confd/1.1/users", token, "").Want(200)
		if g.metric(t, hits) == before {
			return errors.New("the token is not in the cache")
		}
		return nil
	})
	return token
}

// A reload keeps the database, the token cache, the certificate and the counters.
func TestReloadKeepsWhatIsShared(t *testing.T) {
	g := newGateway(t)
	g.Load(t)
	const (
		allowed = `ringfence_gate_requests_total{outcome="allowed",service="confd"}`
		denied  = `ringfence_gate_denials_total{reason="token_missing",service="confd"}`
	)
	g.Do(t, "GET", "/api/confd/1.1/users", "", "").Want(401)
	shared := shares()
	for i := range 3 {
		token := g.cached(t)
		counted := map[string]float64{}
		for _, series := range []string{allowed, denied, lookups} {
			if counted[series] = g.metric(t, series); counted[series] < 1 {
				t.Errorf("%s is %v", series, counted[series])
			}
		}
		g.Routes = fmt.Sprintf("respond %d", 200+i)
		if err := g.Reload(t); err != nil {
			t.Fatal(err)
		}
		sharesBecome(t, shared)
		for series, before := range counted {
			if after := g.metric(t, series); after != before {
				t.Errorf("after reload %d %s is %v, was %v", i, series, after, before)
			}
		}
		g.Do(t, "GET", "/api/confd/1.1/users", token, "").Want(200)
		if after := g.metric(t, lookups); after != counted[lookups] {
			t.Errorf("after reload %d the token was looked up again: %v look-ups, were %v", i, after, counted[lookups])
		}
		if after := g.metric(t, allowed); after != counted[allowed]+1 {
			t.Errorf("after reload %d %v requests are counted, were %v", i, after, counted[allowed])
		}
	}
}

// The services are described and mounted once for each database, and not again by a reload.
func TestReloadMountsNothing(t *testing.T) {
	g := newGateway(t)
	g.Load(t)
	before := caddymodule.Mounted()
	g.Routes = "respond 200"
	if err := g.Reload(t); err != nil {
		t.Fatal(err)
	}
	if after := caddymodule.Mounted(); len(before) != 3 || !slices.Equal(before, after) {
		t.Errorf("the services were %v, are %v", before, after)
	}
}

// shares counts what configurations share, by pool.
func shares() map[string]int {
	counted := map[string]int{}
	for name, pool := range caddymodule.Pools() {
		for _, n := range gatewaytest.References(pool) {
			counted[name] += n
		}
	}
	return counted
}

// sharesBecome waits until exactly these shares are taken: a configuration that Caddy has replaced or refused releases its shares
// after a while.
func sharesBecome(t *testing.T, want map[string]int) {
	t.Helper()
	gatewaytest.Eventually(t, time.Minute, func() error {
		if got := shares(); !maps.Equal(got, want) {
			return fmt.Errorf("the shares are %v, want %v", got, want)
		}
		return nil
	})
}

// When the last configuration ends, nothing of it is left.
func TestStopGivesEverythingBack(t *testing.T) {
	http.DefaultClient.CloseIdleConnections()
	before := goleak.IgnoreCurrent()
	for name, address := range engines {
		t.Run(name, func(t *testing.T) {
			g := newGateway(t)
			if database := address(t); database != "" {
				g.App = "database " + database
			}
			g.Load(t)
			g.Do(t, "GET", "/api/confd/1.1/users", g.Admin(t), "").Want(200)
			g.Routes = "respond hello"
			if err := g.Reload(t); err != nil {
				t.Fatal(err)
			}
			gatewaytest.Stop(t)
			sharesBecome(t, nil)
			g.CloseIdleConnections()
		})
	}
	options := []goleak.Option{before}
	for _, function := range []string{ // Caddy's own, which live as long as the process
		"github.com/caddyserver/caddy/v2.replaceLocalAdminServer.func2",
		"github.com/caddyserver/certmagic.keepLockfileFresh",
		"github.com/DeRuina/timberjack.(*Logger).millRun",
	} {
		options = append(options, goleak.IgnoreAnyFunction(function))
	}
	gatewaytest.Eventually(t, time.Minute, func() error {
		runtime.GC() // a token cache ends with the collection after its last use
		return goleak.Find(options...)
	})
}

// No request on a connection that the old configuration accepted is lost, however late it was sent, and the reload does not wait
// longer than needed.
func TestReloadWaitsForConnections(t *testing.T) {
	g := newGateway(t)
	g.Handover = "1h"
	g.Routes = "header X-Configuration old\n" + echoGate + "respond hello"
	g.Load(t)
	w := echoWorld(t, g)
	g.CloseIdleConnections()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}}
	early, err := dialer.DialContext(t.Context(), "tcp", "127.0.0.1:"+g.HTTPSPort)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = early.Close() })

	g.Routes = "header X-Configuration new\n" + echoGate + "respond hello"
	reloaded := make(chan error, 1)
	go func() { reloaded <- g.Reload(t) }()
	gatewaytest.Eventually(t, time.Minute, func() error {
		defer g.CloseIdleConnections()
		a, err := g.Try(t.Context(), "GET", echoPrefix+"/pub/x", w.Token, "")
		if err == nil && a.Header.Get("X-Configuration") != "new" {
			err = errors.New("the new configuration does not accept yet")
		}
		return err
	})
	_ = early.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(early, "GET "+echoPrefix+"/pub/x HTTP/1.1\r\nHost: gw\r\nX-Auth-Token: "+w.Token+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(early), nil)
	if err != nil {
		t.Fatalf("the early connection: %v", err)
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != 200 || !res.Close || res.Header.Get("X-Configuration") != "old" {
		t.Errorf("the early connection: status %d, close %t, %v, %v", res.StatusCode, res.Close, res.Header, err)
	}
	select {
	case err := <-reloaded:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the reload goes on, though no connection is open")
	}
}

// No request is lost, on new connections and on kept ones, whatever its version and method.
func TestNoRequestIsLostInAReload(t *testing.T) {
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select { // some are in flight at any moment
		case <-time.After(5 * time.Millisecond):
		case <-r.Context().Done():
		}
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(slow.Close)
	g := newGateway(t)
	g.Handover = "1m" // much longer than a request takes, even on a slow machine
	routes := echoGate + "ringfence_proxy " + slow.Listener.Addr().String()
	g.Routes = routes
	g.Load(t)
	w := echoWorld(t, g)
	g.CloseIdleConnections()

	const each, reloads = 250, 5
	var sent atomic.Int64
	var wg sync.WaitGroup
	for version := 1; version <= 2; version++ {
		for _, kept := range []bool{false, true} {
			wg.Go(func() {
				client := (&site{port: g.HTTPSPort}).client(t, version, "localhost")
				for n := range each {
					last := !kept || n == each-1 // on its connection
					if err := post(t.Context(), client, g.URL+echoPrefix+"/pub/x", w.Token, last); err != nil {
						t.Errorf("HTTP/%d, kept %v: %v", version, kept, err)
					}
					sent.Add(1)
				}
			})
		}
	}
	for i := range reloads {
		gatewaytest.Eventually(t, time.Minute, func() error {
			if n := sent.Load(); n < int64((i+1)*4*each/(reloads+1)) {
				return fmt.Errorf("%d requests were sent", n)
			}
			return nil
		})
		g.Routes = fmt.Sprintf("header X-Reload %d\n", i) + routes
		if err := g.Reload(t); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if n := sent.Load(); n != 4*each {
		t.Errorf("%d requests were sent", n)
	}
}

// post sends a request that cannot be sent twice, and closes its connection after the last one.
func post(ctx context.Context, client *http.Client, url, token string, last bool) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, io.NopCloser(strings.NewReader("hello")))
	if err != nil {
		return err
	}
	r.Close = last
	r.Header.Set("X-Auth-Token", token)
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err == nil && (res.StatusCode != 200 || string(text) != "hello") {
		err = fmt.Errorf("status %d: %s", res.StatusCode, text)
	}
	return err
}

// A configuration that cannot be used changes nothing.
func TestRefusedReloadChangesNothing(t *testing.T) {
	g := newGateway(t)
	g.Load(t)
	shared := shares()
	bad := filepath.Join(g.Dir, "bad.yml")
	if err := os.WriteFile(bad, []byte("openapi: [3"), 0o600); err != nil {
		t.Fatal(err)
	}
	busy := gatewaytest.FreePort(t)
	listener := httptest.NewUnstartedServer(nil) // it has a port, and does not share it
	t.Cleanup(func() { _ = listener.Listener.Close() })
	_, taken, _ := strings.Cut(listener.Listener.Addr().String(), ":")
	tests := []struct{ name, app, routes, want string }{
		{"PostgreSQL that is away", "database postgres://nobody@127.0.0.1:" + busy + "/x", "", "opening the database"},
		{"another engine", "database mysql://localhost/x", "", "a database address is"},
		{"database that is no database", "database sqlite://" + bad, "", "opening the database"},
		{"definition that is no definition", "", "ringfence_gate calld {\nprefix /x\ndefinition " + bad + "\n}", bad},
		{"handler that is none", "", "reverse_proxy ftp://x", "ftp"},
		{"port that is taken", "", "respond hello\n}\n}\nhttp://127.0.0.1:" + taken + " {\nbind ringfence_tcp/127.0.0.1\nhandle {\nrespond hello", "address already in use"},
	}
	original := *g
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			*g = original
			token := g.cached(t)
			before := g.metric(t, lookups)
			g.App, g.Routes = tt.app, tt.routes
			err := caddyLoad(g)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			sharesBecome(t, shared)
			g.Do(t, "GET", "/readyz", "", "").Want(200)
			g.Do(t, "GET", "/api/confd/1.1/users", token, "").Want(200)
			if after := g.metric(t, lookups); after != before {
				t.Errorf("%v look-ups, were %v", after, before)
			}
		})
	}
	*g = original
	g.Routes = "respond hello"
	if err := g.Reload(t); err != nil {
		t.Errorf("a good configuration is refused afterwards: %v", err)
	}
	g.Do(t, "GET", "/", "", "").Want(200)
}

// Another address is another database, and the old address leads back to the first.
func TestReloadOntoAnotherDatabase(t *testing.T) {
	g := newGateway(t)
	g.Load(t)
	token := g.Admin(t)
	g.App = "database " + storetest.PostgresDSN(t)
	if err := g.Reload(t); err != nil {
		t.Fatal(err)
	}
	g.Do(t, "GET", "/api/confd/1.1/users", token, "").Want(401)
	other := g.Admin(t)
	g.Do(t, "GET", "/api/confd/1.1/users", other, "").Want(200)
	g.App = ""
	if err := g.Reload(t); err != nil {
		t.Fatal(err)
	}
	g.Do(t, "GET", "/api/confd/1.1/users", other, "").Want(401)
	g.Do(t, "GET", "/api/confd/1.1/users", token, "").Want(200)
}

// While the gateway waits for a database, the configuration may change, even to another database.
func TestReloadWhileTheDatabaseIsUnreachable(t *testing.T) {
	g := newGateway(t)
	away := "database postgres://nobody@127.0.0.1:" + gatewaytest.FreePort(t) + "/x"
	g.App = away
	g.Load(t)
	g.Do(t, "GET", "/readyz", "", "").Want(503)
	g.Routes = "respond hello"
	if err := g.Reload(t); err != nil {
		t.Fatal(err)
	}
	g.Do(t, "GET", "/", "", "").Want(200)
	g.Do(t, "GET", "/readyz", "", "").Want(503)
	g.App = ""
	if err := g.Reload(t); err != nil {
		t.Fatal(err)
	}
	g.Do(t, "GET", "/readyz", "", "").Want(200)
	g.Admin(t)
}

// Requests in flight when the gateway stops are completed.
func TestStopFinishesRequests(t *testing.T) {
	arrived, release := make(chan struct{}, 2), make(chan struct{})
	g := newGateway(t)
	g.Routes = echoGate + "test_handler"
	handle(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		_, _ = io.WriteString(w, "hello")
	})
	g.Load(t)
	w := echoWorld(t, g)
	results := make(chan error, 2)
	for version := 1; version <= 2; version++ {
		client := (&site{port: g.HTTPSPort}).client(t, version, "localhost")
		go func() { results <- post(t.Context(), client, g.URL+echoPrefix+"/pub/x", w.Token, false) }()
		<-arrived
	}
	stopped := make(chan error, 1)
	go func() { stopped <- caddy.Stop() }()
	gatewaytest.Eventually(t, time.Minute, func() error { // no new client is let in
		if _, err := g.Try(t.Context(), "GET", "/healthz", "", ""); err == nil {
			g.CloseIdleConnections()
			return errors.New("it still takes connections")
		}
		return nil
	})
	close(release)
	for range 2 {
		if err := <-results; err != nil {
			t.Errorf("a request that was under way: %v", err)
		}
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func caddyLoad(g *gateway) error {
	config, err := gatewaytest.Adapt(g.Caddyfile())
	if err != nil {
		return err
	}
	return caddy.Load(config, true)
}
