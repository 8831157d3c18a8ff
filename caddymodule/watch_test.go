package caddymodule_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// waysToEnd are the ways in which an account's token can stop being valid for a request in progress.
var waysToEnd = []struct {
	name       string
	expiration int // of the token, in seconds
	do         func(t *testing.T, g *gateway, admin, user, policy, token string)
}{
	{"logout", 3600, func(t *testing.T, g *gateway, _, _, _, token string) {
		g.Do(t, "DELETE", "/api/auth/0.1/token/"+token, "", "").Want(200)
	}},
	{"expiry", 2, func(*testing.T, *gateway, string, string, string, string) {}},
	{"user deleted", 3600, func(t *testing.T, g *gateway, admin, user, _, _ string) {
		g.Do(t, "DELETE", "/api/auth/0.1/users/"+user, admin, "").Want(204)
	}},
	{"user disabled", 3600, func(t *testing.T, g *gateway, admin, user, _, _ string) {
		g.Do(t, "PUT", "/api/auth/0.1/users/"+user, admin, `{"username": "client", "enabled": false}`).Want(200)
	}},
	{"policy taken away", 3600, func(t *testing.T, g *gateway, admin, user, policy, _ string) {
		g.Do(t, "DELETE", "/api/auth/0.1/users/"+user+"/policies/"+policy, admin, "").Want(204)
	}},
	{"policy cut", 3600, func(t *testing.T, g *gateway, admin, _, policy, _ string) {
		g.Do(t, "PUT", "/api/auth/0.1/policies/"+policy, admin, `{"name": "client", "acl": ["echo.other.read"]}`).Want(200)
	}},
	{"denial", 3600, func(t *testing.T, g *gateway, admin, _, policy, _ string) {
		g.Do(t, "PUT", "/api/auth/0.1/policies/"+policy, admin, `{"name": "client", "acl": ["echo.pub.#", "!echo.pub.events.read"]}`).Want(200)
	}},
}

// account creates an account for a connection, and returns its token.
func account(t *testing.T, g *gateway, admin string, expiration int) (user, policy, token string) {
	t.Helper()
	user, policy, _ = g.Account(t, admin, "client", "echo.pub.#")
	token = g.Do(t, "POST", "/api/auth/0.1/token", "", fmt.Sprintf(`{"expiration": %d}`, expiration), resttest.Basic("client", "secret of client")).
		Want(200).Text("data.token")
	return user, policy, token
}

// A WebSocket ends when its token no longer allows it; others stay.
func TestWebSocketEndsWithItsToken(t *testing.T) {
	for _, way := range waysToEnd {
		t.Run(way.name, func(t *testing.T) {
			g := newGateway(t)
			g.Routes = echoGate + echoing(t)
			g.Load(t)
			admin := g.Admin(t)
			user, policy, token := account(t, g, admin, way.expiration)
			_, _, kept := g.Account(t, admin, "other", "echo.pub.#")
			conn, reader, status, _ := upgrade(t, g, echoPrefix+"/pub/events", token)
			other, otherReader, otherStatus, _ := upgrade(t, g, echoPrefix+"/pub/events", kept)
			if status != 101 || otherStatus != 101 {
				t.Fatalf("status %d and %d", status, otherStatus)
			}
			if _, err := io.WriteString(conn, "hello\n"); err != nil {
				t.Fatal(err)
			}
			if line, err := reader.ReadString('\n'); err != nil || line != user+" hello\n" {
				t.Fatalf("%q, %v", line, err)
			}
			way.do(t, g, admin, user, policy, token)
			began := time.Now()
			if _, err := reader.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("the connection is open: %v", err)
			}
			t.Logf("closed after %s", time.Since(began))
			if _, err := io.WriteString(other, "still here\n"); err != nil {
				t.Fatal(err)
			}
			if line, err := otherReader.ReadString('\n'); err != nil || !strings.HasSuffix(line, " still here\n") {
				t.Errorf("another user's connection: %q, %v", line, err)
			}
		})
	}
}

// So does an endless response, in both versions of HTTP, whether anything more is sent or not.
func TestStreamEndsWithItsToken(t *testing.T) {
	gone := make(chan struct{}, 10)
	streams := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { gone <- struct{}{} }()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: hello\n\n")
		_ = http.NewResponseController(w).Flush()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
			}
			if strings.HasSuffix(r.URL.Path, "/busy") {
				_, _ = io.WriteString(w, "data: again\n\n")
				_ = http.NewResponseController(w).Flush()
			}
		}
	}))
	t.Cleanup(streams.Close)
	for _, http2 := range []bool{false, true} {
		for path, proxy := range map[string]string{
			"/pub/silent": "reverse_proxy ", "/pub/busy": "reverse_proxy ", "/pub/short/silent": "ringfence_proxy ", "/pub/short/busy": "ringfence_proxy ",
		} {
			t.Run(fmt.Sprintf("HTTP/2 %t%s", http2, path), func(t *testing.T) {
				g := newGateway(t)
				g.Routes = echoGate + proxy + streams.Listener.Addr().String()
				g.Load(t)
				_, _, token := account(t, g, g.Admin(t), 3600)
				client := insecureClient(t, http2)
				r, err := http.NewRequestWithContext(t.Context(), "GET", g.URL+echoPrefix+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("X-Auth-Token", token)
				res, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = res.Body.Close() }()
				body := bufio.NewReader(res.Body)
				if line, err := body.ReadString('\n'); res.StatusCode != 200 || line != "data: hello\n" || (res.ProtoMajor == 2) != http2 {
					t.Fatalf("status %d, %s, %q, %v", res.StatusCode, res.Proto, line, err)
				}
				g.Do(t, "DELETE", "/api/auth/0.1/token/"+token, "", "").Want(200)
				if _, err := io.Copy(io.Discard, body); err == nil {
					t.Error("the answer looks whole")
				}
				<-gone // the daemon's handler has returned
			})
		}
	}
}

// So does a request that has no answer yet, whatever it waits for, and whatever its daemon does: its client is told why, and its daemon lets go
// of it. No daemon gets the whole of a body that was still coming.
func TestRequestEndsWithItsToken(t *testing.T) {
	var whole atomic.Int64
	var begun, gone sync.Map // a channel for each request
	over := make(chan struct{})
	waits := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Query().Get("of")
		defer close(of(&gone, name))
		switch path.Base(r.URL.Path) {
		case "slow":
			if n, err := io.Copy(io.Discard, r.Body); err == nil && n == 4 {
				whole.Add(1)
			}
			return
		case "reads":
			_, _ = io.Copy(io.Discard, r.Body)
		case "informs":
			w.Header().Set("Link", "</a>")
			w.WriteHeader(http.StatusEarlyHints)
		}
		close(of(&begun, name))
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(waits.Close)
	t.Cleanup(func() { close(over) })
	g := newGateway(t)
	at := waits.Listener.Addr().String()
	g.Routes = echoGate + "handle " + echoPrefix + "/pub/short/* {\nringfence_proxy " + at + "\n}\nhandle {\nreverse_proxy " + at + "\n}"
	g.Load(t)
	admin := g.Admin(t)
	account(t, g, admin, 3600)
	t.Run("all", func(t *testing.T) {
		for _, http2 := range []bool{false, true} {
			for _, way := range []string{"short", "long"} {
				for _, c := range []struct{ method, path, body string }{
					{"GET", "waits", ""},
					{"POST", "reads", "small"},
					{"POST", "waits", strings.Repeat("large ", 1<<20)},
					{"GET", "informs", ""},
					{"POST", "slow", "known"},
					{"POST", "slow", "unknown"},
				} {
					t.Run(fmt.Sprintf("%s %s %.7s %s HTTP2 %t", c.method, c.path, c.body, way, http2), func(t *testing.T) {
						t.Parallel()
						token := g.Do(t, "POST", "/api/auth/0.1/token", "", "{}", resttest.Basic("client", "secret of client")).Want(200).Text("data.token")
						r, err := http.NewRequestWithContext(t.Context(), c.method, g.URL+echoPrefix+"/pub/"+way+"/"+c.path, strings.NewReader(c.body))
						if err != nil {
							t.Fatal(err)
						}
						r.URL.RawQuery = url.Values{"of": {t.Name()}}.Encode()
						r.Header.Set("X-Auth-Token", token)
						revoked := make(chan error, 1)
						revoke := func() {
							a, err := g.Try(context.WithoutCancel(t.Context()), "DELETE", "/api/auth/0.1/token/"+token, "", "")
							if err == nil && a.Status != 200 {
								err = fmt.Errorf("revoking: status %d", a.Status)
							}
							revoked <- err
						}
						defer func() { // no request may be under way when the test ends
							if err := <-revoked; err != nil {
								t.Error(err)
							}
						}()
						if c.path == "slow" {
							r.Body, r.ContentLength = halfBody(revoke), 4
							if c.body == "unknown" {
								r.ContentLength = -1
							}
						} else {
							go func() {
								<-of(&begun, t.Name())
								revoke()
							}()
						}
						large := len(c.body) > 1<<20
						res, err := insecureClient(t, http2).Do(r)
						if err != nil && large && !http2 {
							return // it was sending when the connection ended
						}
						if err != nil {
							t.Fatal(err)
						}
						defer func() { _ = res.Body.Close() }()
						if text, err := io.ReadAll(res.Body); res.StatusCode != 401 || !strings.Contains(string(text), "echo.pub."+way) || err != nil {
							t.Errorf("status %d: %s, %v", res.StatusCode, text, err)
						}
						if c.path != "slow" && !large { // a server that does not read does not see its client leave
							<-of(&gone, t.Name())
						}
					})
				}
			}
		}
	})
	if n := whole.Load(); n > 0 {
		t.Errorf("%d daemons got a whole body after its token was revoked", n)
	}
}

// of returns the channel of a request.
func of(all *sync.Map, name string) chan struct{} {
	c, _ := all.LoadOrStore(name, make(chan struct{}))
	return c.(chan struct{})
}

// halfBody is a body of which the token is revoked when half has been read.
func halfBody(revoke func()) io.ReadCloser {
	body, sends := io.Pipe()
	go func() {
		_, _ = io.WriteString(sends, "ha")
		revoke()
		_, _ = io.WriteString(sends, "lf")
		_ = sends.Close()
	}()
	return body
}

func insecureClient(t *testing.T, http2 bool) *http.Client {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// An upgrade is a GET without a body, and a page of a foreign origin cannot begin it.
func TestUpgrade(t *testing.T) {
	g := newGateway(t)
	g.App = "origins https://pbx.example.com"
	g.Routes = "ringfence_gate echo {\nprefix " + echoPrefix + "\npublic GET " + echoPrefix + "/status\n}\n" + echoing(t)
	g.Load(t)
	w := echoWorld(t, g)
	for _, tt := range []struct {
		name    string
		headers []string
		status  int
	}{
		{"no browser", nil, 101},
		{"configured origin", []string{"Origin: https://pbx.example.com"}, 101},
		{"same origin", []string{"Origin: https://gw"}, 101},
		{"same origin with its port", []string{"Origin: https://gw:443"}, 101},
		{"same origin in upper case", []string{"Origin: https://GW"}, 101},
		{"another origin", []string{"Origin: https://evil.example"}, 403},
		{"another port", []string{"Origin: https://gw:8443"}, 403},
		{"another scheme", []string{"Origin: http://gw"}, 403},
		{"a name that begins alike", []string{"Origin: https://gw.evil.example"}, 403},
		{"a name with the host as its user", []string{"Origin: https://gw@evil.example"}, 403},
		{"a name that ends alike", []string{"Origin: https://pbx.example.com.evil.example"}, 403},
		{"no origin at all", []string{"Origin: null"}, 403},
		{"an empty origin", []string{"Origin: "}, 403},
		{"two origins", []string{"Origin: https://gw", "Origin: https://evil.example"}, 400},
		{"two origins in one", []string{"Origin: https://gw, https://evil.example"}, 403},
		{"length", []string{"Content-Length: 5"}, 400},
		{"chunks", []string{"Transfer-Encoding: chunked"}, 400},
		{"no length", []string{"Content-Length: 0"}, 101},
	} {
		for _, path := range []string{"/pub/events", "/status"} {
			if _, _, status, _ := upgrade(t, g, echoPrefix+path, w.Token, tt.headers...); status != tt.status {
				t.Errorf("%s, %s: status %d, want %d", tt.name, path, status, tt.status)
			}
		}
	}
}
