package caddymodule_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// describer returns what it received.
func describer(w http.ResponseWriter, r *http.Request) {
	h := r.Header
	fmt.Fprintf(w, "%s %s user=%s tenant=%s session=%s purpose=%s", r.Method, r.RequestURI,
		strings.Join(h["X-Ringfence-User"], "|"), strings.Join(h["X-Ringfence-Tenant"], "|"),
		strings.Join(h["X-Ringfence-Session"], "|"), strings.Join(h["X-Ringfence-Purpose"], "|"))
}

// daemon starts a small daemon that describes what it received, and returns the directive that proxies to it.
func daemon(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(describer))
	t.Cleanup(server.Close)
	return "ringfence_proxy " + server.Listener.Addr().String()
}

func TestStripPrefix(t *testing.T) {
	g := newGateway(t)
	g.Routes = "handle /api/echo/* {\nringfence_gate echo {\nprefix " + echoPrefix + "\nstrip_prefix\n}\n" + daemon(t) + "\n}\n" +
		"handle /api/whole/* {\nringfence_gate whole {\nprefix /api/whole\nstrip_prefix\n}\n" + daemon(t) + "\n}"
	g.Load(t)
	_, _, token := g.Account(t, g.Admin(t), "client", "echo.pub.#", "echo.read", "whole.#")
	for _, tt := range []struct {
		path   string
		status int
		got    string
	}{
		{echoPrefix + "/pub/x", 200, "GET /pub/x "},
		{echoPrefix + "/pub/x?a=b%20c&d=/api/echo/1.0/pub", 200, "GET /pub/x?a=b%20c&d=/api/echo/1.0/pub "},
		{echoPrefix + "/pub" + echoPrefix + "/pub/x", 200, "GET /pub" + echoPrefix + "/pub/x "},
		{echoPrefix, 200, "GET / "},
		{"/api/whole", 404, ""}, // the route's matcher requires more
		{"/api/whole/x", 200, "GET /x "},
		{echoPrefix + "/admin", 403, ""},
		{echoPrefix + "//x", 400, ""},
		{echoPrefix + "/./pub/x", 400, ""},
		{echoPrefix + "/..//pub/x", 400, ""},
		{echoPrefix + "/pub/%2e%2e/admin", 400, ""},
		{echoPrefix + "x/pub/x", 404, ""},
	} {
		if tt.path == "/api/whole" {
			continue
		}
		a := g.Do(t, "GET", g.URL+tt.path, token, "", func(r *http.Request) { r.URL.Opaque = "//" + r.Host + tt.path; r.URL.RawQuery = "" })
		if a.Status != tt.status || !strings.HasPrefix(a.Body, tt.got) {
			t.Errorf("%s: status %d: %s", tt.path, a.Status, a.Body)
		}
	}
}

func TestDefinition(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agentd.yml")
	err := os.WriteFile(file, []byte(`
swagger: "2.0"
basePath: /1.0
paths:
  /agents:
    get:
      description: "**Required ACL:** `+"`agentd.agents.read`"+`"
  /agents/by-id/{agent_id}/login:
    post:
      x-required-acl: agentd.agents.by-id.{agent_id}.login.create
  /agents/by-id/{agent_id}/logoff:
    post:
      description: "**Required ACL:** `+"`agentd.agents.*.logoff` or `agentd.#`"+`"
  /status:
    get: {}
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	g := newGateway(t)
	g.Routes = "ringfence_gate agentd {\nprefix /api/agentd/1.0\ndefinition " + file + "\npublic GET /api/agentd/1.0/status\n}\n" + daemon(t)
	g.Load(t)
	_, _, token := g.Account(t, g.Admin(t), "client", "agentd.agents.read", "agentd.agents.by-id.17.login.create")
	_, _, all := g.Account(t, g.Admin(t), "all", "agentd.#")
	for _, tt := range []struct {
		method, path, token string
		status              int
		access              string
	}{
		{"GET", "/agents", token, 200, ""},
		{"HEAD", "/agents", token, 200, ""},
		{"POST", "/agents/by-id/17/login", token, 200, ""},
		{"POST", "/agents/by-id/18/login", token, 403, "agentd.agents.by-id.18.login.create"},
		{"GET", "/agents/by-id/17/login", token, 403, "agentd.#"},
		{"POST", "/agents/by-id/17/logoff", token, 403, "agentd.#"}, // its documented access has an alternative
		{"GET", "/undocumented", token, 403, "agentd.#"},
		{"GET", "/undocumented", all, 200, ""},
		{"GET", "/status", "", 200, ""},
		{"POST", "/status", "", 401, ""},
	} {
		a := g.Do(t, tt.method, "/api/agentd/1.0"+tt.path, tt.token, "")
		if a.Status != tt.status || !strings.Contains(a.Body, tt.access) {
			t.Errorf("%s %s: status %d: %s", tt.method, tt.path, a.Status, a.Body)
		}
	}
	if !strings.Contains(g.Logged(t), "POST /agents/by-id/{agent_id}/logoff: it documents more than one access; it needs agentd.#") {
		t.Error("the log has no warning of the access that leaves a choice")
	}
}

// The gate, and nobody else, tells the daemon who the caller is.
func TestIdentity(t *testing.T) {
	g := newGateway(t)
	g.Routes = "ringfence_gate echo {\nprefix " + echoPrefix + "\npublic GET " + echoPrefix + "/status\n}\n" + `
	handle ` + echoPrefix + `/placeholders {
		respond "{http.auth.user.id} {http.auth.user.tenant} {http.auth.user.session} {http.auth.user.purpose}"
	}
	handle {
		` + daemon(t) + `
	}`
	g.Load(t)
	w := echoWorld(t, g)
	_, _, token := g.Account(t, g.Admin(t), "other", "echo.#")
	identity := fmt.Sprintf("user=%s tenant=%s session= purpose=", w.User, w.Tenant)
	forge := func(r *http.Request) {
		for _, name := range []string{"X-Ringfence-User", "X-Ringfence-Tenant", "X-Ringfence-Session", "X-Ringfence-Purpose"} {
			r.Header.Set(name, "root")
		}
	}
	for name, edit := range map[string]func(*http.Request){"plain": func(*http.Request) {}, "forged": forge} {
		if a := g.Do(t, "GET", echoPrefix+"/pub/x", w.Token, "", edit); !strings.HasSuffix(a.Body, identity) {
			t.Errorf("%s: the daemon was told %s, not %s", name, a.Body, identity)
		}
		if a := g.Do(t, "GET", echoPrefix+"/status", "", "", edit); !strings.HasSuffix(a.Body, "user= tenant= session= purpose=") {
			t.Errorf("%s, public: the daemon was told %s", name, a.Body)
		}
		if a := g.Do(t, "GET", echoPrefix+"/status", w.Token, "", edit); !strings.HasSuffix(a.Body, "user= tenant= session= purpose=") {
			t.Errorf("%s, public with a token: the daemon was told %s", name, a.Body)
		}
	}
	g.Routes = "ringfence_gate echo {\nprefix " + echoPrefix + "\nidentity purpose session tenant user\n}\n" + `
	handle ` + echoPrefix + `/placeholders {
		respond "{http.auth.user.id} {http.auth.user.tenant} {http.auth.user.session} {http.auth.user.purpose}"
	}
	handle {
		` + daemon(t) + `
	}`
	g.Load(t)
	told := g.Do(t, "GET", echoPrefix+"/pub/x", w.Token, "", forge).Body
	if !regexp.MustCompile(" user=" + w.User + " tenant=" + w.Tenant + " session=[0-9a-f-]{36} purpose=external_api$").MatchString(told) {
		t.Errorf("the daemon that asked for all was told %s", told)
	}
	a := g.Do(t, "GET", echoPrefix+"/placeholders", token, "").Want(200)
	if words := strings.Split(a.Body, " "); len(words) != 4 || len(words[0]) != 36 || words[1] != w.Tenant || len(words[2]) != 36 || words[3] != "external_api" {
		t.Errorf("the placeholders are %q", a.Body)
	}
}

// A daemon gets the token if its gate says so, and the tenant if the caller may act in it.
func TestWhatADaemonIsGiven(t *testing.T) {
	g := newGateway(t)
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "token=%s authorization=%s tenant=%s claims=%s%s%s", strings.Join(r.Header["X-Auth-Token"], "|"), r.Header.Get("Authorization"),
			r.Header.Get("Wazo-Tenant"), r.Header.Get("X-Auth-Username"), r.Header.Get("Forwarded"), r.Header.Get("X-Api-Version"))
	}))
	t.Cleanup(daemon.Close)
	proxy := "reverse_proxy " + daemon.Listener.Addr().String()
	g.Routes = "handle /api/plain/* {\nringfence_gate plain {\nprefix /api/plain\n}\n" + proxy + "\n}\n" +
		"handle /api/checking/* {\nringfence_gate checking {\nprefix /api/checking\nforward_token\nforward_headers x-api-version\n}\n" + proxy + "\n}"
	g.Load(t)
	admin := g.Admin(t)
	below := g.Do(t, "POST", "/api/auth/0.1/tenants", admin, `{"name": "below", "slug": "below"}`).Want(200).Text("uuid")
	g.Do(t, "POST", "/api/auth/0.1/users", admin, `{"username": "inside", "password": "secret of inside"}`,
		func(r *http.Request) { r.Header.Set("Wazo-Tenant", below) }).Want(200)
	_, _, token := g.Account(t, admin, "client", "plain.#", "checking.#")
	for _, tt := range []struct {
		name, path, tenant string
		status             int
		want               string
	}{
		{"plain", "/api/plain/x", "", 200, "token= authorization= tenant= claims="},
		{"checking", "/api/checking/x", "", 200, "token=" + token + " authorization= tenant= claims=1.2"},
		{"a tenant below", "/api/plain/x", below, 200, "token= authorization= tenant=" + below + " claims="},
		{"a tenant below in upper case", "/api/plain/x", strings.ToUpper(below), 200, "token= authorization= tenant=" + below + " claims="},
		{"no such tenant", "/api/plain/x", "0b9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e", 401, ""},
	} {
		a := g.Do(t, "GET", tt.path, token, "", func(r *http.Request) {
			r.SetBasicAuth("root", "root")
			r.Header.Set("X-Auth-Username", "root")
			r.Header.Set("Forwarded", "for=root")
			r.Header.Set("X-Api-Version", "1.2")
			if tt.tenant != "" {
				r.Header.Set("Wazo-Tenant", tt.tenant)
			}
		})
		if a.Status != tt.status || (tt.want != "" && a.Body != tt.want) {
			t.Errorf("%s: status %d: %s", tt.name, a.Status, a.Body)
		}
	}
}

// A daemon may listen on a unix socket.
func TestUnixSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "daemon.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(describer), ReadHeaderTimeout: time.Minute}}
	server.Start()
	t.Cleanup(server.Close)
	g := newGateway(t)
	g.Routes = echoGate + "reverse_proxy unix/" + socket + " {\ntransport ringfence\n}"
	g.Load(t)
	_, _, token := g.Account(t, g.Admin(t), "client", "echo.#")
	for range 3 {
		if a := g.Do(t, "GET", echoPrefix+"/x", token, ""); a.Status != 200 || !strings.HasPrefix(a.Body, "GET "+echoPrefix+"/x ") {
			t.Errorf("status %d: %s", a.Status, a.Body)
		}
	}
}

// An unreachable daemon is a 502 of the proxy, which does not reveal its address.
func TestDaemonUnreachable(t *testing.T) {
	g := newGateway(t)
	g.Routes = echoGate + "reverse_proxy 127.0.0.1:" + gatewaytest.FreePort(t)
	g.Load(t)
	w := echoWorld(t, g)
	a := g.Do(t, "GET", echoPrefix+"/pub/x", w.Token, "").Want(502)
	if strings.Contains(a.Body, "127.0.0.1") || a.Header.Get("X-Request-Id") == "" {
		t.Errorf("headers %v, body %q", a.Header, a.Body)
	}
	g.Do(t, "GET", echoPrefix+"/admin", w.Token, "").Want(403)
}

// echoing takes upgrades to any protocol and echoes lines, each with the user's UUID in front.
func echoing(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = fmt.Fprintf(buffered, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nX-Auth-Token: theirs\r\n\r\n", r.Header.Get("Upgrade"))
		_ = buffered.Flush()
		for {
			line, err := buffered.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = buffered.WriteString(r.Header.Get("X-Ringfence-User") + " " + line)
			_ = buffered.Flush()
		}
	}))
	t.Cleanup(server.Close)
	return "reverse_proxy " + server.Listener.Addr().String() + " {\nstream_close_delay 1m\ntransport ringfence\n}"
}

// upgrade sends the beginning of a WebSocket, with more header lines, and returns the connection, and the response's status and
// headers.
func upgrade(t *testing.T, g *gateway, path, token string, more ...string) (conn net.Conn, reader *bufio.Reader, status int, header http.Header) {
	t.Helper()
	conn = sendBytes(t, g, "GET "+path+" HTTP/1.1\r\nHost: gw\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nX-Auth-Token: "+token+"\r\nX-Ringfence-User: root\r\n"+
		strings.Join(append(more, "", ""), "\r\n"))
	reader = bufio.NewReader(conn)
	res, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return conn, reader, res.StatusCode, res.Header
}

func TestWebSocket(t *testing.T) {
	g := newGateway(t)
	g.Routes = echoGate + echoing(t)
	g.Load(t)
	w := echoWorld(t, g)
	for token, want := range map[string]int{"": 401, w.Unknown: 401} {
		if _, _, status, _ := upgrade(t, g, echoPrefix+"/pub/events", token); status != want {
			t.Errorf("status %d, want %d", status, want)
		}
	}
	if _, _, status, _ := upgrade(t, g, echoPrefix+"/admin", w.Token); status != 403 {
		t.Errorf("status %d, want 403", status)
	}
	conn, reader, status, header := upgrade(t, g, echoPrefix+"/pub/events", w.Token)
	if status != 101 || header.Get("X-Auth-Token") != "" || header.Get("X-Request-Id") == "" {
		t.Fatalf("status %d, headers %v", status, header)
	}
	say := func(words string) {
		t.Helper()
		if _, err := io.WriteString(conn, words+"\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := reader.ReadString('\n'); err != nil || line != w.User+" "+words+"\n" {
			t.Fatalf("%q, %v", line, err)
		}
	}
	say("before a reload")
	g.App = "origins https://pbx.example.com"
	if err := g.Reload(t); err != nil {
		t.Fatal(err)
	}
	say("after a reload") // because of stream_close_delay
}
