package caddymodule_test

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/gate/gatetest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/tokens"
)

const echoPrefix = "/api/echo/1.0"

// echoWorld describes a gate in front of a service "echo", with a token of a real account of the gateway.
func echoWorld(t *testing.T, g *gateway) gatetest.World {
	t.Helper()
	user, _, _ := g.Account(t, g.Admin(t), "client", "echo.pub.#")
	issued := g.Do(t, "POST", "/api/auth/0.1/token", "", "{}", resttest.Basic("client", "secret of client")).Want(200)
	return gatetest.World{
		Service: "echo", Prefix: echoPrefix, Token: issued.Text("data.token"), Unknown: tokens.New(), User: user,
		Tenant: issued.Text("data.metadata.tenant_uuid"),
	}
}

// arrivals counts and checks the requests that come through the gate.
type arrivals struct {
	world *gatetest.World

	mu   sync.Mutex
	n    int
	errs []error
}

func (a *arrivals) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := a.world.Check(r)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n++
	if err != nil {
		a.errs = append(a.errs, err)
	}
	for _, name := range []string{"X-Auth-Token", "X-Ringfence-User", "X-Request-Id", "Server", "Access-Control-Allow-Origin"} {
		w.Header().Set(name, "theirs")
	}
}

// take returns what has arrived since the last call.
func (a *arrivals) take() (int, []error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, errs := a.n, a.errs
	a.n, a.errs = 0, nil
	return n, errs
}

// The raw corpus through the whole of Caddy, over TLS: the access of every request that arrives behind the gate, derived again,
// is one that the token holds.
func TestCorpus(t *testing.T) {
	seen := new(arrivals)
	daemon := httptest.NewServer(seen)
	t.Cleanup(daemon.Close)
	proxy := "reverse_proxy " + daemon.Listener.Addr().String()
	for _, tt := range []struct {
		name, next string
		change     func(config map[string]any)
	}{
		{"handler", "test_handler", nil},
		{"reverse_proxy", proxy, nil},
		{"reverse_proxy, transport ringfence", proxy + " {\ntransport ringfence\n}", nil},
		{"ringfence_proxy", "ringfence_proxy " + daemon.Listener.Addr().String(), nil},
		{"reverse_proxy and strange headers", proxy, expectStrangeHeaders},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGateway(t)
			g.Routes = `
	ringfence_gate echo {
		prefix ` + echoPrefix + `
		public GET ` + echoPrefix + `/status
	}
	` + tt.next
			g.Change = tt.change
			handle(seen.ServeHTTP)
			g.Load(t)
			world := echoWorld(t, g)
			seen.world = &world
			for _, c := range gatetest.Corpus(world) {
				t.Run(c.Name, func(t *testing.T) { sendCase(t, c, g, seen) })
			}
		})
	}
}

// expectStrangeHeaders makes Caddy pass the headers with underscores that it drops by default: an operator may configure that,
// and the gate must not rely on Caddy here.
func expectStrangeHeaders(config map[string]any) {
	servers := config["apps"].(map[string]any)["http"].(map[string]any)["servers"].(map[string]any)
	for _, server := range servers {
		server.(map[string]any)["expected_underscore_headers"] = []string{"X_ringfence_user", "X_http_method_override", "X-Ringfence_user"}
	}
}

func sendCase(t *testing.T, c gatetest.Case, g *gateway, seen *arrivals) {
	t.Helper()
	a, err := c.Send(t.Context(), "127.0.0.1:"+g.HTTPSPort)
	if err != nil {
		t.Fatal(err)
	}
	n, errs := seen.take()
	for _, err := range errs {
		t.Errorf("arrived: %v", err)
	}
	if len(c.Want) > 0 && !slices.Contains(c.Want, a.Status) {
		t.Errorf("status %d, want %v: %.200s", a.Status, c.Want, a.Body)
	}
	if (c.Arrives && n != 1) || (len(c.Want) > 0 && !c.Arrives && n != 0) {
		t.Errorf("%d requests arrived", n)
	}
	if c.Arrives && (len(a.Header["X-Request-Id"]) != 1 || strings.Contains(fmt.Sprint(a.Header), "theirs")) {
		t.Errorf("the upstream's own headers came through: %v", a.Header)
	}
}

// The gate decides about each request on a connection separately, in HTTP/1.0 as well.
func TestPipelinedRequests(t *testing.T) {
	seen := new(arrivals)
	g := newGateway(t)
	g.Routes = "ringfence_gate echo {\nprefix " + echoPrefix + "\n}\ntest_handler"
	handle(seen.ServeHTTP)
	g.Load(t)
	world := echoWorld(t, g)
	seen.world = &world
	request := func(protocol, path, token string) string {
		return "GET " + echoPrefix + path + " " + protocol + "\r\nHost: gw\r\nX-Auth-Token: " + token + "\r\nConnection: keep-alive\r\n\r\n"
	}
	for _, protocol := range []string{"HTTP/1.1", "HTTP/1.0"} {
		t.Run(protocol, func(t *testing.T) {
			text := request(protocol, "/pub/a", world.Token) + request(protocol, "/admin", world.Token) + request(protocol, "/pub/b", world.Token) +
				request(protocol, "/pub/c", world.Unknown) + request(protocol, "/pub/d", world.Token) +
				"GET " + echoPrefix + "/pub/e " + protocol + "\r\nHost: gw\r\nConnection: close\r\n\r\n"
			if got := statuses(t, g, text); !slices.Equal(got, []int{200, 403, 200, 401, 200, 401}) {
				t.Errorf("the answers are %v", got)
			}
			if n, errs := seen.take(); n != 3 || len(errs) > 0 {
				t.Errorf("%d requests arrived, %v", n, errs)
			}
		})
	}
}

// sendBytes sends bytes over TLS, and returns the connection, which stays open until the test ends.
func sendBytes(t *testing.T, g *gateway, text string) net.Conn {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}}
	conn, err := dialer.DialContext(t.Context(), "tcp", "127.0.0.1:"+g.HTTPSPort)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// statuses sends bytes over TLS and returns the statuses of all responses.
func statuses(t *testing.T, g *gateway, text string) (got []int) {
	t.Helper()
	conn := sendBytes(t, g, text)
	defer func() { _ = conn.Close() }()
	for r := bufio.NewReader(conn); ; {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			return got
		}
		got = append(got, res.StatusCode)
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
}

// The corpus again, in front of our own services: a response is 200 only if the token holds the access.
func TestCorpusInFrontOfOurOwn(t *testing.T) {
	g := newGateway(t)
	g.Routes, g.Change = "respond 404", expectStrangeHeaders
	g.Load(t)
	_, _, token := g.Account(t, g.Admin(t), "client", "confd.pub.#")
	world := gatetest.World{Service: "confd", Prefix: "/api/confd/1.1", Token: token, Unknown: tokens.New()}
	for _, c := range gatetest.Corpus(world) {
		a, err := c.Send(t.Context(), "127.0.0.1:"+g.HTTPSPort)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if a.Status < 400 && !strings.Contains(c.Name, "OPTIONS") {
			t.Errorf("%s: status %d: %.200s", c.Name, a.Status, a.Body)
		}
		if a.Status >= 500 && a.Status != 501 {
			t.Errorf("%s: status %d: %.200s", c.Name, a.Status, a.Body)
		}
		var errors []string
		if a.Status == 403 && (json.Unmarshal(a.Body, &errors) != nil || len(errors) != 1) && !strings.Contains(c.Name, "HEAD") {
			t.Errorf("%s: a refusal of confd's is no list: %.200s", c.Name, a.Body)
		}
	}
}
