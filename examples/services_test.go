package examples_test

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc/backend/ldap/ldaptest"
	"github.com/ringfence/ringfence/authsvc/external/oauth2/oauth2test"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// begin starts a gateway with an example's Caddyfile, as its README has it, in a folder with bin/ringfence.
func begin(t *testing.T, name string, env ...string) *gatewaytest.Process {
	t.Helper()
	return gatewaytest.Start(t, gatewaytest.Settings{
		Config: example(name), Folder: program(t), Env: append([]string{"RINGFENCE_ADMIN_PASSWORD="}, env...),
	}).Ready(t)
}

// follow types the lines of an example's README into a shell, after those of the quickstart that they build on, and returns what
// was printed. The values of env stand for the reader's own.
func follow(t *testing.T, p *gatewaytest.Process, name string, env ...string) string {
	t.Helper()
	shell := bash(t)
	before, _, found := strings.Cut(quickstart(t), "\n# 1. ")
	_, lines, shown := strings.Cut(read(t, "examples/"+name+"/README.md"), "\n```sh\n")
	lines, _, ended := strings.Cut(lines, "\n```\n")
	if !found || !shown || !ended {
		t.Fatal("the README of the example, or the quickstart, has another form than this test expects")
	}
	before = strings.Replace(before, "https://localhost:8443", "https://localhost:"+p.HTTPSPort, 1)
	cmd := exec.CommandContext(t.Context(), shell, "-euo", "pipefail", "-c", before+"\n"+lines)
	cmd.Dir = p.Folder
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// printed fails the test unless the output has these texts in this order.
func printed(t *testing.T, out string, want ...string) {
	t.Helper()
	at := 0
	for _, w := range want {
		n := strings.Index(out[at:], w)
		if n < 0 {
			t.Fatalf("the output has no %q, or not in its place:\n%s", w, out)
		}
		at += n + len(w)
	}
}

// administrator logs in with the generated password.
func administrator(t *testing.T, p *gatewaytest.Process) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.Data, "admin-credentials"))
	if err != nil {
		t.Fatal(err)
	}
	password := regexp.MustCompile(`(?m)^password: (.*)$`).FindStringSubmatch(string(text))
	if password == nil {
		t.Fatal("the file has no password")
	}
	return p.Login(t, "admin", password[1])
}

func TestLDAP(t *testing.T) {
	d := ldaptest.Start(t)
	p := begin(t, "ldap", "DIRECTORY="+ldaptest.Host, "DIRECTORY_CA="+d.CAFile)
	out := follow(t, p, "ldap", "DIRECTORY="+ldaptest.Host, fmt.Sprintf("DIRECTORY_PORT=%d", d.TLSPort),
		"BIND_DN="+ldaptest.ServiceDN, "BIND_PASSWORD="+ldaptest.ServicePassword, "PEOPLE_DN="+ldaptest.PeopleDN,
		"ALICE_PASSWORD="+ldaptest.Password("alice"))
	printed(t, out, "204\n", `"auth_id"`)
	login := func(name, password string, status int) {
		t.Helper()
		p.Do(t, "POST", "/api/auth/0.1/token", "", `{"tenant_id": "master"}`, resttest.Basic(name, password)).Want(status)
	}
	login("alice", "wrong", 401)
	login("bob", ldaptest.Password("bob"), 401) // in the directory, and no user here
	admin := administrator(t, p)
	// A tenant cannot have the gateway connect to what the operator did not name.
	elsewhere := `{"host": "127.0.0.2", "port": 1, "user_base_dn": "dc=x", "user_login_attribute": "uid", "user_email_attribute": "mail"}`
	p.Do(t, "PUT", "/api/auth/0.1/backends/ldap", admin, elsewhere).Want(400)
}

func TestOAuth2(t *testing.T) {
	const public = "https://pbx.example.com:8443"
	service := oauth2test.New(t, oauth2test.Options{RedirectURL: public + "/api/auth/0.1/external/calendar/authorize"})
	p := begin(t, "oauth2", "RINGFENCE_PUBLIC_URL="+public, "CALENDAR_AUTH_URL="+service.AuthURL, "CALENDAR_TOKEN_URL="+service.TokenURL)
	out := follow(t, p, "oauth2", "CLIENT_ID="+oauth2test.ClientID, "CLIENT_SECRET="+oauth2test.ClientSecret)
	printed(t, out, "201\n", `"authorization_url"`)

	// The browser agrees on the gateway's page and on the service's, and comes back.
	begun := regexp.MustCompile(`"authorization_url": ?("[^"]*")`).FindStringSubmatch(out)
	var at string
	if err := json.Unmarshal([]byte(begun[1]), &at); err != nil {
		t.Fatal(err)
	}
	page, cookies := p.Connect(t, at)
	p.Do(t, "GET", service.Browse(t.Context(), page).RequestURI(), "", "", cookies, resttest.Header("Accept", "text/html")).Want(200)

	ada := p.Login(t, "ada", "the password of ada")
	link := "/api/auth/0.1/users/" + p.Do(t, "GET", "/api/auth/0.1/token/"+ada, "", "").Want(200).Text("data.auth_id") + "/external/calendar"
	linked := p.Do(t, "GET", link, ada, "").Want(200).Text("access_token")
	if !service.Alive(t.Context(), linked) {
		t.Error("the service does not know the access token")
	}
	p.Do(t, "DELETE", link, ada, "").Want(204)
	p.Do(t, "GET", link, ada, "").Want(404)
}

// standIn is a server in the place of Asterisk's HTTP interface, and says so. It checks the password, and answers a few requests.
func standIn(t *testing.T, login string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "a stand-in for Asterisk")
		switch name, password, _ := r.BasicAuth(); {
		case name+":"+password != login || r.URL.Query().Has("api_key"):
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/ari/events":
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			_ = rw.Flush()
			_, _ = io.Copy(io.Discard, rw) // until the gate ends it
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		default:
			_, _ = io.WriteString(w, `[{"id": "1700000000.1", "state": "Up"}]`)
		}
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestAsteriskHTTP(t *testing.T) {
	const login = "ringfence:the secret of ari.conf"
	p := begin(t, "asterisk-http", "ASTERISK="+standIn(t, login), "ASTERISK_LOGIN="+base64.StdEncoding.EncodeToString([]byte(login)))
	out := follow(t, p, "asterisk-http")
	printed(t, out, "1700000000.1", "200\n", "ari.channels.1700000000%2E1.delete", "403\n")

	admin, board := administrator(t, p), p.Login(t, "wallboard", "the password of the wallboard")
	for _, tt := range []struct {
		method, path, token string
		status              int
	}{
		{"DELETE", "/ari/channels/1700000000.1", admin, 204},
		{"GET", "/ari/channels/1700000000.1", board, 200},
		{"GET", "/ari/channels", "", 401},
		{"GET", "/ari/channels/1700000000.1/variable?variable=SHELL(id)", board, 403},
		{"GET", "/ari/asterisk/variable?variable=SHELL(id)", board, 403},
		{"POST", "/ari/channels/1700000000.1/answer", board, 403},
		{"GET", "/ari/channels?api_key=other:password", board, 400},
		{"GET", "/ari/channels?%61pi_key=other:password", board, 400},
		{"GET", "/ari/channels?x;api_key=other:password", board, 400},
		{"GET", "/httpstatus", admin, 404},
		{"GET", "/amxml?action=ping", admin, 404},
	} {
		if a := p.Do(t, tt.method, tt.path, tt.token, ""); a.Status != tt.status {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, a.Status, a.Body)
		}
	}
	// A client's own password does not reach Asterisk: the gateway's does.
	p.Do(t, "GET", "/ari/channels", board, "", resttest.Basic("other", "password")).Want(200)

	// The WebSocket of events ends with its token.
	conn, err := tls.Dial("tcp", "127.0.0.1:"+p.HTTPSPort, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprintf(conn, "GET /ari/events?app=wallboard HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", board)
	if err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 1000)
	if n, err := conn.Read(answer); err != nil || !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 101 ") {
		t.Fatalf("%v: %s", err, answer[:n])
	}
	p.Do(t, "DELETE", "/api/auth/0.1/token/"+board, "", "").Want(200)
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
		t.Error("the WebSocket lives on")
	}
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error) //nolint:errorlint // the connection's own error
	return ok && timeout.Timeout()
}

func TestSeveralNodes(t *testing.T) {
	address := storetest.NewDatabase(t, storetest.Server(t), false)
	config := filepath.Join(gatewaytest.Repository(), "examples", "several-nodes", "node.Caddyfile")
	start := func(env ...string) *gatewaytest.Process {
		t.Helper()
		return gatewaytest.Start(t, gatewaytest.Settings{Config: config, Database: address, Env: env}).Ready(t)
	}
	node1 := start()
	key, err := os.ReadFile(filepath.Join(node1.Data, "sealing-key"))
	if err != nil {
		t.Fatal(err)
	}
	node2 := start("RINGFENCE_SEALING_KEYS=" + string(key))
	certificate := func(p *gatewaytest.Process) string { return filepath.Join(p.Data, "tls", "certificate.pem") }
	balancer := gatewaytest.Start(t, gatewaytest.Settings{Config: example("several-nodes"), Env: []string{
		"NODE_1=127.0.0.1:" + node1.HTTPSPort, "NODE_1_CERTIFICATE=" + certificate(node1),
		"NODE_2=127.0.0.1:" + node2.HTTPSPort, "NODE_2_CERTIFICATE=" + certificate(node2),
	}}).Ready(t)

	const users = "/api/confd/1.1/users"
	token := balancer.Login(t, "admin", gatewaytest.Password)
	for _, p := range []*gatewaytest.Process{balancer, node1, node2} {
		p.Do(t, "GET", users, token, "").Want(200)
	}
	for _, p := range []*gatewaytest.Process{node1, node2} { // the alerts of deploy/ watch each node
		if metrics := p.Do(t, "GET", p.Helpers+"/metrics", "", "").Want(200).Body; !strings.Contains(metrics, "\nringfence_database_up 1\n") {
			t.Errorf("the metrics are\n%s", metrics)
		}
	}
	node1.Do(t, "DELETE", "/api/auth/0.1/token/"+token, "", "").Want(200)
	const heard = 15 * time.Second // sooner than node 2 would look again by itself
	gatewaytest.Eventually(t, heard, node2.Status(t.Context(), "GET", users, token, 401))
	for range 4 {
		balancer.Do(t, "GET", users, token, "").Want(401)
	}

	// The nodes know the client's address, and what a client claims is not believed.
	from := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext:     (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext,
	}}
	defer from.CloseIdleConnections()
	a := resttest.At(t, from, balancer.URL).Do("POST", "/api/auth/0.1/token", "{}",
		resttest.Basic("admin", gatewaytest.Password), resttest.Header("X-Forwarded-For", "203.0.113.9")).Want(200)
	if got := a.Text("data.remote_addr"); got != "127.0.0.2" {
		t.Errorf("the token was issued to %s", got)
	}

	// With one node away, every request that may be sent twice is answered. Another one can meet a connection that is not yet known to be dead.
	token = balancer.Login(t, "admin", gatewaytest.Password)
	node1.Kill(t)
	for range 6 {
		balancer.Do(t, "GET", users, token, "").Want(200)
	}
	node1.Run(t)
	node1.Ready(t)
	node1.Do(t, "GET", users, token, "").Want(200)
}
