package direct

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The daemon closes a kept connection when it has read a request, and says nothing: only what may be repeated is.
func TestClosedWithoutAnAnswer(t *testing.T) {
	for _, tt := range []struct {
		name, method, body, header string
		heard                      int64
		fails                      bool
	}{
		{"GET", "GET", "", "", 2, false},
		{"HEAD", "HEAD", "", "", 2, false},
		{"POST", "POST", "x", "", 1, true},
		{"POST without a body", "POST", "", "", 1, true},
		{"POST with a key", "POST", "", "Idempotency-Key", 2, false},
		{"POST with a key and a body", "POST", "x", "Idempotency-Key", 1, true},
		{"DELETE", "DELETE", "", "", 1, true},
		{"PUT", "PUT", "x", "", 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			transports(t, func(t *testing.T, rt http.RoundTripper) {
				var heard atomic.Int64
				d := serve(t, func(d *daemon, n int64, c net.Conn, in *bufio.Reader) {
					for requests := 1; ; requests++ {
						r, ok := d.hears(in)
						if !ok {
							return
						}
						if r.URL.Path == "/told" {
							if heard.Add(1); n == 1 {
								return
							}
						}
						answer := fine
						if r.Method == "HEAD" {
							answer = strings.TrimSuffix(fine, "ok")
						}
						_, _ = io.WriteString(c, answer)
					}
				})
				if got := said(rt.RoundTrip(request(t, "GET", d.url, ""))); got != `200 "ok"` {
					t.Fatal(got)
				}
				r := request(t, tt.method, d.url+"/told", tt.body)
				if tt.header != "" {
					r.Header.Set(tt.header, "x")
				}
				got := said(rt.RoundTrip(r))
				if (got == "error") != tt.fails || heard.Load() != tt.heard {
					t.Errorf("got %s; the daemon got the request %d times, want %d", got, heard.Load(), tt.heard)
				}
			})
		})
	}
	// On a new connection nothing is repeated.
	transports(t, func(t *testing.T, rt http.RoundTripper) {
		d := serve(t, func(d *daemon, _ int64, _ net.Conn, in *bufio.Reader) { d.hears(in) })
		if got := said(rt.RoundTrip(request(t, "GET", d.url, ""))); got != "error" || d.conns.Load() != 1 {
			t.Errorf("got %s on %d connections", got, d.conns.Load())
		}
	})
}

// A connection on which something happened while nobody used it is not used again, whatever the request.
func TestChangedWhileIdle(t *testing.T) {
	for name, change := range map[string]func(c net.Conn){
		"closed":  func(c net.Conn) { _ = c.Close() },
		"spoke":   func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil") },
		"aborted": func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0); _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			rt := newDirect()
			defer rt.CloseIdleConnections()
			released := make(chan struct{})
			d := serve(t, func(d *daemon, n int64, c net.Conn, in *bufio.Reader) {
				if _, ok := d.hears(in); !ok {
					return
				}
				_, _ = io.WriteString(c, fine)
				if n == 1 {
					<-released
					change(c)
				}
				d.hears(in)
			})
			if got := said(rt.RoundTrip(request(t, "GET", d.url, ""))); got != `200 "ok"` {
				t.Fatal(got)
			}
			close(released)
			kept := rt.idle.take(place{"tcp", strings.TrimPrefix(d.url, "http://")})
			for kept.alive() { // until the kernel knows
				time.Sleep(time.Millisecond)
			}
			rt.idle.put(kept)
			if got := said(rt.RoundTrip(request(t, "POST", d.url, "x"))); got != `200 "ok"` || d.conns.Load() != 2 {
				t.Errorf("got %s on %d connections", got, d.conns.Load())
			}
		})
	}
}

// What the client ends is ended at the daemon too.
func TestCancellation(t *testing.T) {
	for name, answer := range map[string]string{
		"before the answer":  "",
		"in the header":      "HTTP/1.1 200 OK\r\n",
		"after early hints":  "HTTP/1.1 103 Early Hints\r\n\r\n",
		"in the body":        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
		"before a body came": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			transports(t, func(t *testing.T, rt http.RoundTripper) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				d := serve(t, func(d *daemon, _ int64, c net.Conn, in *bufio.Reader) {
					if _, ok := d.hears(in); !ok {
						return
					}
					_, _ = io.WriteString(c, answer)
					if !strings.HasSuffix(name, "body") && !strings.HasSuffix(name, "came") {
						cancel()
					}
					d.hears(in)
				})
				response, err := rt.RoundTrip(request(t, "GET", d.url, "").WithContext(ctx))
				if err == nil {
					cancel()
					_, err = io.ReadAll(response.Body)
					_ = response.Body.Close()
				}
				if err == nil {
					t.Error("it ended well")
				}
				<-d.ended
			})
		})
	}
	t.Run("while connecting", func(t *testing.T) {
		rt := newDirect()
		ctx, cancel := context.WithCancel(t.Context())
		rt.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			cancel()
			<-ctx.Done()
			return nil, errors.New("as Caddy wraps it: nobody can tell why")
		}
		if _, err := rt.RoundTrip(request(t, "GET", "http://127.0.0.1:1", "").WithContext(ctx)); !errors.Is(err, context.Canceled) { //nolint:bodyclose // there is none
			t.Error(err)
		}
	})
}

// A body that is not read to its end costs its connection, and the daemon learns of it.
func TestAbandonedBody(t *testing.T) {
	transports(t, func(t *testing.T, rt http.RoundTripper) {
		d := serve(t, always("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nok"))
		response, err := rt.RoundTrip(request(t, "GET", d.url, ""))
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
		<-d.ended
		if n, err := response.Body.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Error("a closed body can be read")
		}
	})
}

// A daemon that closes connections whenever it likes, between requests and after reading one: no GET is lost, and no POST arrives twice.
func TestRestlessDaemon(t *testing.T) {
	transports(t, func(t *testing.T, rt http.RoundTripper) {
		var mu sync.Mutex
		heard := map[string]int{}
		d := serve(t, func(d *daemon, n int64, c net.Conn, in *bufio.Reader) {
			for i := int64(0); ; i++ {
				r, ok := d.hears(in)
				if !ok {
					return
				}
				mu.Lock()
				heard[r.Method+r.URL.Path]++
				mu.Unlock()
				if i > 0 && (n+i)%7 == 0 {
					return // without an answer
				}
				_, _ = io.WriteString(c, fine)
				if (n+i)%5 == 0 {
					return // after it
				}
			}
		})
		var clients sync.WaitGroup
		for client := range 8 {
			clients.Go(func() {
				for i := range 300 {
					method, body := "GET", ""
					if i%3 == 0 {
						method, body = "POST", "x"
					}
					if got := said(rt.RoundTrip(request(t, method, fmt.Sprintf("%s/%d-%d", d.url, client, i), body))); method == "GET" && got != `200 "ok"` {
						t.Errorf("a GET got %s", got)
					}
				}
			})
		}
		clients.Wait()
		for what, n := range heard {
			if n > 1 && strings.HasPrefix(what, "POST") {
				t.Errorf("%s arrived %d times", what, n)
			}
		}
	})
}
