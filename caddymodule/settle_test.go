package caddymodule_test

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A refusal that needs no body does not wait for one: the test's server would wait for ever.
func TestRefusalsDoNotWaitForBodies(t *testing.T) {
	g := newGateway(t)
	g.Routes = "ringfence_gate echo {\nprefix " + echoPrefix + "\n}\n" + daemon(t)
	g.Load(t)
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

// Who sends a whole body before it reads, and curl over both protocols, see each refusal, whatever they are still sending.
func TestClientsSeeRefusals(t *testing.T) {
	g := newGateway(t)
	g.Routes = "respond 404"
	g.Load(t)
	const js, users, token = "application/json", "/api/confd/1.1/users", "/api/auth/0.1/token"
	cases := []struct{ path, accept, content, status string }{
		{token, js, js, "413"},
		{users, js, js, "401"},
		{token, "text/html", js, "406"},
		{token, js, "text/plain", "415"},
	}
	for _, size := range []int64{10, 60 << 10, 2 << 20, 20 << 20, 200 << 20} {
		file := filepath.Join(t.TempDir(), "body")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, size); err != nil { // zeros, which take no room
			t.Fatal(err)
		}
		for i, tt := range cases {
			if tt.status == "413" && size < 2<<20 || i > 0 && size > 20<<20 {
				continue
			}
			t.Run(fmt.Sprintf("%d bytes, %s", size, tt.status), func(t *testing.T) {
				for _, framing := range []string{fmt.Sprintf("Content-Length: %d", size), "Transfer-Encoding: chunked"} {
					if got, err := sentWhole(t, g, "POST "+tt.path+" HTTP/1.1\r\nHost: gw\r\nAccept: "+tt.accept+"\r\nContent-Type: "+tt.content+"\r\n"+framing+"\r\n\r\n", size); err != nil || strconv.Itoa(got) != tt.status {
						t.Errorf("%s: status %d, %v", framing, got, err)
					}
				}
				program(t, tt.status, "python3", "-c", `
import sys, warnings, requests
warnings.simplefilter("ignore")
url, accept, content, file = sys.argv[1:]
with open(file, "rb") as body:
    print(requests.post(url, data=body, verify=False, headers={"Accept": accept, "Content-Type": content}).status_code, end="")
`, g.URL+tt.path, tt.accept, tt.content, file)
				for _, expects := range []string{"Expect:", "Expect: 100-continue"} {
					if size > 20<<20 && expects != "Expect:" {
						continue
					}
					for version, option := range map[string]string{"1.1": "--http1.1", "2": "--http2"} {
						program(t, version+" "+tt.status, "curl", "-sSk", option, "-m", "60", "-o", "/dev/null", "-w", "%{http_version} %{http_code}", "-X", "POST",
							"-T", file, "-H", expects, "-H", "Accept: "+tt.accept, "-H", "Content-Type: "+tt.content, g.URL+tt.path)
					}
				}
			})
		}
	}
}

// program runs a client program, if it is installed, and compares what it prints.
func program(t *testing.T, want, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Logf("not tried: %v", err)
		return
	}
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	switch {
	case strings.Contains(string(out), "No module named 'requests'"):
		t.Logf("not tried: Python's requests is not installed")
	case err != nil || string(out) != want:
		t.Errorf("%s %q: %q, want %q: %v", name, args, out, want, err)
	}
}

// sentWhole sends a request over TLS with a body of zeros, of the size and in the framing that its head says, reads nothing before all is sent, and returns the status.
func sentWhole(t *testing.T, g *gateway, head string, size int64) (int, error) {
	t.Helper()
	conn := sendBytes(t, g, head)
	defer func() { _ = conn.Close() }()
	zeros := make([]byte, 16<<10)
	for rest := size; rest > 0; rest -= int64(len(zeros)) {
		zeros = zeros[:min(rest, int64(len(zeros)))]
		piece := zeros
		if strings.Contains(head, "chunked") {
			piece = fmt.Appendf(nil, "%x\r\n%s\r\n", len(zeros), zeros)
		}
		if _, err := conn.Write(piece); err != nil {
			return 0, fmt.Errorf("with %d bytes to send: %w", rest, err)
		}
	}
	if strings.Contains(head, "chunked") {
		if _, err := conn.Write([]byte("0\r\n\r\n")); err != nil {
			return 0, err
		}
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}
