package caddymodule_test

import (
	"bufio"
	"bytes"
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// A refusal that needs no body does not wait for one: the test's server would wait for ever.
func TestRefusalsDoNotWaitForBodies(t *testing.T) {
	g := newGateway(t)
	g.routes = "ringfence_gate echo {\nprefix " + echoPrefix + "\n}\n" + daemon(t)
	g.load(t)
	w := echoWorld(t, g)
	const js = "Accept: application/json\r\nContent-Type: application/json\r\n"
	for _, tt := range []struct {
		name, request, headers string
		status                 int
	}{
		{"no token", "POST " + echoPrefix + "/pub/x", "", 401},
		{"unknown token", "POST " + echoPrefix + "/pub/x", "X-Auth-Token: " + w.Unknown + "\r\n", 401},
		{"not held", "POST " + echoPrefix + "/admin", "X-Auth-Token: " + w.Token + "\r\n", 403},
		{"no service", "POST /nowhere", "", 404},
		{"method", "BREW " + echoPrefix + "/pub/x", "", 405},
		{"malformed target", "POST //x", "", 400},
		{"no Accept", "POST /api/auth/0.1/token", "Content-Type: application/json\r\n", 406},
		{"no Content-Type", "POST /api/auth/0.1/token", "Accept: application/json\r\n", 415},
		{"no password", "POST /api/auth/0.1/token", js + "Authorization: Basic x\r\n", 401},
		{"service of ours, no token", "PUT /api/auth/0.1/users/x", js, 401},
	} {
		for framing, length := range map[string]string{
			"length": "Content-Length: 100\r\n", "chunks": "Transfer-Encoding: chunked\r\n", "some of it": "Content-Length: 100\r\n\r\n{", "a chunk": "Transfer-Encoding: chunked\r\n\r\n1\r\n{",
			"expecting": "Expect: 100-continue\r\nContent-Length: 100\r\n",
		} {
			if tt.name == "no password" && framing != "expecting" {
				continue // the response depends on the body
			}
			head, begun, _ := strings.Cut(length, "\r\n\r\n")
			text := tt.request + " HTTP/1.1\r\nHost: gw\r\n" + tt.headers + strings.TrimSuffix(head, "\r\n") + "\r\n\r\n" + begun
			status, err := firstStatus(t, g, text)
			if err != nil || (status != tt.status && tt.name != "no password") {
				t.Errorf("%s, %s: status %d, want %d: %v", tt.name, framing, status, tt.status, err)
			}
		}
	}
}

// firstStatus sends the beginning of a request, and returns the status of the response while our side stays open.
func firstStatus(t *testing.T, g *gateway, text string) (int, error) {
	t.Helper()
	conn := sendBytes(t, g, text)
	defer func() { _ = conn.Close() }()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

// curl, which many clients use, sees each refusal as a response over HTTP/2 too, whatever it is still sending.
func TestCurlSeesRefusals(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	g := newGateway(t)
	g.routes = "respond 404"
	g.load(t)
	for _, size := range []int{10, 60 << 10, 200 << 10, 5 << 20} {
		for _, tt := range []struct {
			path    string
			headers []string
			status  string
		}{
			{"/api/confd/1.1/users", []string{"Accept: application/json", "Content-Type: application/json"}, "401"},
			{"/api/auth/0.1/token", []string{"Accept: text/html", "Content-Type: application/json"}, "406"},
			{"/api/auth/0.1/token", []string{"Accept: application/json", "Content-Type: text/plain"}, "415"},
		} {
			for round := range 5 {
				args := []string{"-sSk", "--http2", "-m", "60", "-o", "/dev/null", "-w", "%{http_version} %{http_code}", "--data-binary", "@-", "-H", "Expect:"}
				for _, h := range tt.headers {
					args = append(args, "-H", h)
				}
				cmd := exec.CommandContext(t.Context(), curl, append(args, g.URL+tt.path)...)
				cmd.Stdin = bytes.NewReader(bytes.Repeat([]byte("x"), size))
				out, err := cmd.CombinedOutput()
				if want := "2 " + tt.status; err != nil || string(out) != want {
					t.Fatalf("%d bytes to %s, round %d: %q, want %q: %v", size, tt.path, round, out, want, err)
				}
			}
		}
	}
}
