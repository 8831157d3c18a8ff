package direct

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// daemon is a server of which a test writes every byte. serve gets each connection, counted from 1.
type daemon struct {
	url   string
	conns atomic.Int64
	ended chan struct{} // a connection that the client closed first
}

func serve(t *testing.T, serve func(d *daemon, n int64, c net.Conn, in *bufio.Reader)) *daemon {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{url: "http://" + l.Addr().String(), ended: make(chan struct{}, 10_000)}
	var open sync.WaitGroup
	ctx, end := context.WithCancel(context.Background())
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n := d.conns.Add(1)
			open.Go(func() {
				defer c.Close()
				defer context.AfterFunc(ctx, func() { _ = c.Close() })()
				serve(d, n, c, bufio.NewReader(c))
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		end()
		open.Wait()
	})
	return d
}

// hears reads a request with its body, and reports whether there is one.
func (d *daemon) hears(in *bufio.Reader) (*http.Request, bool) {
	r, err := http.ReadRequest(in)
	if err != nil {
		d.ended <- struct{}{}
		return nil, false
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r, true
}

// always answers every request with the same bytes.
func always(answer string) func(d *daemon, n int64, c net.Conn, in *bufio.Reader) {
	return func(d *daemon, _ int64, c net.Conn, in *bufio.Reader) {
		for {
			if _, ok := d.hears(in); !ok {
				return
			}
			_, _ = io.WriteString(c, answer)
		}
	}
}

const fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// transports are the one that is tested, and that of net/http, which says what is right.
func transports(t *testing.T, test func(t *testing.T, rt http.RoundTripper)) {
	t.Run("direct", func(t *testing.T) {
		d := newDirect()
		t.Cleanup(d.CloseIdleConnections)
		test(t, d)
	})
	t.Run("net/http", func(t *testing.T) {
		h := &http.Transport{DisableCompression: true, ResponseHeaderTimeout: headerTimeout}
		t.Cleanup(h.CloseIdleConnections)
		test(t, h)
	})
}

// headerTimeout is long enough for everything but a daemon that does not answer at all.
const headerTimeout = 20 * time.Second

func newDirect() *Transport {
	return &Transport{
		Address: func(r *http.Request) (string, string) { return "tcp", r.URL.Host }, Dial: new(net.Dialer).DialContext, Else: refuses{},
		HeaderTimeout: headerTimeout,
	}
}

type refuses struct{}

var errElse = errors.New("not of the common case")

func (refuses) RoundTrip(*http.Request) (*http.Response, error) { return nil, errElse }

func request(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	var from io.Reader
	if body != "" {
		from = struct{ io.Reader }{strings.NewReader(body)} // as a proxy has it: nobody can read it twice
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, from)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = int64(len(body))
	return r
}

// said is what a client reads of an answer.
func said(response *http.Response, err error) string {
	if err != nil {
		return "error"
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	text := fmt.Sprintf("%d %q", response.StatusCode, body)
	if len(response.Trailer) > 0 {
		text += fmt.Sprint(" ", response.Trailer)
	}
	if err != nil {
		text += " broken"
	}
	return text
}

func TestAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		method, answer, want string
		conns                int64 // of two requests
	}{
		"length":            {"GET", fine, `200 "ok"`, 1},
		"chunks":            {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", `200 "ok"`, 1},
		"trailers":          {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n", `200 "ok" map[X:[y]]`, 1},
		"empty":             {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", `200 ""`, 1},
		"HEAD":              {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", `200 ""`, 1},
		"204":               {"GET", "HTTP/1.1 204 No Content\r\n\r\n", `204 ""`, 1},
		"304":               {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n", `304 ""`, 1},
		"close":             {"GET", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", `200 "ok"`, 2},
		"HTTP/1.0":          {"GET", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", `200 "ok"`, 2},
		"HTTP/1.0 kept":     {"GET", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", `200 "ok"`, 1},
		"early hints":       {"GET", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + fine, `200 "ok"`, 1},
		"folded":            {"GET", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok", `200 "ok"`, 1},
		"one length twice":  {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", `200 "ok"`, 1},
		"chunks and length": {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n2\r\nok\r\n0\r\n\r\n", `200 "ok"`, 1},

		"two lengths":      {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", "error", 2},
		"negative length":  {"GET", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nok", "error", 2},
		"length with sign": {"GET", "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok", "error", 2},
		"no version":       {"GET", "200 OK\r\nContent-Length: 2\r\n\r\nok", "error", 2},
		"no status":        {"GET", "HTTP/1.1 \r\nContent-Length: 2\r\n\r\nok", "error", 2},
		"long status":      {"GET", "HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nok", "error", 2},
		"no colon":         {"GET", "HTTP/1.1 200 OK\r\nContent-Length 2\r\n\r\nok", "error", 2},
		"unknown coding":   {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "error", 2},
		"bad chunk":        {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nok\r\n0\r\n\r\n", `200 "" broken`, 2},
		"not HTTP":         {"GET", "SSH-2.0-OpenSSH_9.2\r\n", "error", 2},
	} {
		t.Run(name, func(t *testing.T) {
			transports(t, func(t *testing.T, rt http.RoundTripper) {
				d := serve(t, always(tt.answer))
				for range 2 {
					if got := said(rt.RoundTrip(request(t, tt.method, d.url, ""))); got != tt.want {
						t.Fatalf("got %s, want %s", got, tt.want)
					}
				}
				if n := d.conns.Load(); n != tt.conns {
					t.Errorf("%d connections, want %d", n, tt.conns)
				}
			})
		})
	}
}

// What follows an answer is never taken for the next one. (With net/http it depends on which of its goroutines is faster.)
func TestLeftovers(t *testing.T) {
	for name, tt := range map[string]struct{ method, answer, want string }{
		"longer":           {"GET", fine + "more", `200 "ok"`},
		"another answer":   {"GET", fine + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", `200 "ok"`},
		"204 with a body":  {"GET", "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", `204 ""`},
		"HEAD with a body": {"HEAD", fine, `200 ""`},
	} {
		t.Run(name, func(t *testing.T) {
			rt := newDirect()
			d := serve(t, always(tt.answer))
			for range 3 {
				if got := said(rt.RoundTrip(request(t, tt.method, d.url, ""))); got != tt.want {
					t.Fatalf("got %s, want %s", got, tt.want)
				}
			}
			if n := d.conns.Load(); n != 3 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// An answer that ends too early is broken, and not a short one.
func TestShortAnswers(t *testing.T) {
	for name, tt := range map[string]struct{ answer, want string }{
		"in the header": {"HTTP/1.1 200 OK\r\nContent-", "error"},
		"in the body":   {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", `200 "ok" broken`},
		"in a chunk":    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nok", `200 "ok" broken`},
		"before the 0":  {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", `200 "ok" broken`},
		"no length":     {"HTTP/1.1 200 OK\r\n\r\nok", `200 "ok"`},
		"a blank name":  {"HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\nok", `200 "ok"`},
	} {
		t.Run(name, func(t *testing.T) {
			transports(t, func(t *testing.T, rt http.RoundTripper) {
				var heard atomic.Int64
				d := serve(t, func(d *daemon, n int64, c net.Conn, in *bufio.Reader) {
					if n == 1 { // a connection to keep
						if _, ok := d.hears(in); ok {
							_, _ = io.WriteString(c, fine)
						}
					}
					if _, ok := d.hears(in); ok {
						heard.Add(1)
						_, _ = io.WriteString(c, tt.answer)
					}
				})
				if got := said(rt.RoundTrip(request(t, "GET", d.url, ""))); got != `200 "ok"` {
					t.Fatal(got)
				}
				if got := said(rt.RoundTrip(request(t, "GET", d.url, ""))); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
				if n := heard.Load(); n != 1 {
					t.Errorf("the daemon got the request %d times", n)
				}
			})
		})
	}
}

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
			return nil, ctx.Err()
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

func (p *pool) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

func TestLimits(t *testing.T) {
	t.Run("no answer", func(t *testing.T) {
		rt := newDirect()
		rt.HeaderTimeout = 20 * time.Millisecond
		var heard atomic.Int64
		d := serve(t, func(d *daemon, _ int64, c net.Conn, in *bufio.Reader) {
			for {
				r, ok := d.hears(in)
				if !ok {
					return
				}
				if r.URL.Path == "/slow" {
					heard.Add(1)
					continue
				}
				_, _ = io.WriteString(c, fine)
			}
		})
		for range 50 { // on a busy machine the first may take longer
			if said(rt.RoundTrip(request(t, "GET", d.url, ""))) == `200 "ok"` {
				break
			}
		}
		_, err := rt.RoundTrip(request(t, "GET", d.url+"/slow", "")) //nolint:bodyclose // there is none
		if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
			t.Errorf("it is %v", err)
		}
		if n := heard.Load(); n > 1 {
			t.Errorf("a slow daemon got the request %d times", n)
		}
	})
	t.Run("long header", func(t *testing.T) {
		rt := newDirect()
		rt.MaxHeader = 1000
		d := serve(t, always("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1000)+"\r\nContent-Length: 2\r\n\r\nok"))
		if got := said(rt.RoundTrip(request(t, "GET", d.url, ""))); got != "error" {
			t.Error(got)
		}
		long := strings.Repeat("ok", 5000)
		d = serve(t, always("HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n"+long))
		for range 2 {
			if got := said(rt.RoundTrip(request(t, "GET", d.url, ""))); got != fmt.Sprintf("200 %q", long) {
				t.Errorf("%.100s", got)
			}
		}
	})
	t.Run("1xx without end", func(t *testing.T) {
		rt := newDirect()
		d := serve(t, always(strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", mostInformed+1)+fine))
		if got := said(rt.RoundTrip(request(t, "GET", d.url, ""))); got != "error" {
			t.Error(got)
		}
	})
	t.Run("101", func(t *testing.T) {
		rt := newDirect()
		d := serve(t, always("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"))
		if got := said(rt.RoundTrip(request(t, "GET", d.url, ""))); got != "error" {
			t.Error(got)
		}
	})
	t.Run("idle connections", func(t *testing.T) {
		rt := newDirect()
		rt.MaxIdlePerAddress, rt.IdleTimeout = 2, 50*time.Millisecond
		var all sync.WaitGroup
		arrived := make(chan struct{}, 5)
		d := serve(t, func(d *daemon, _ int64, c net.Conn, in *bufio.Reader) {
			if _, ok := d.hears(in); ok {
				arrived <- struct{}{}
				for len(arrived) < cap(arrived) {
					time.Sleep(time.Millisecond)
				}
				_, _ = io.WriteString(c, fine)
			}
			d.hears(in)
		})
		for range cap(arrived) {
			all.Go(func() {
				if got := said(rt.RoundTrip(request(t, "GET", d.url, ""))); got != `200 "ok"` {
					t.Error(got)
				}
			})
		}
		all.Wait()
		if n := rt.idle.count(); n > 2 {
			t.Errorf("%d connections are kept", n)
		}
		for range cap(arrived) {
			<-d.ended // the rest at once, the kept ones when they are too old
		}
		if n := rt.idle.count(); n != 0 {
			t.Errorf("%d connections are counted", n)
		}
	})
}

// Early hints reach who asked for them, before the answer.
func TestInformedInTime(t *testing.T) {
	transports(t, func(t *testing.T, rt http.RoundTripper) {
		heard := make(chan struct{})
		d := serve(t, func(d *daemon, _ int64, c net.Conn, in *bufio.Reader) {
			if _, ok := d.hears(in); ok {
				_, _ = io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
				<-heard
				_, _ = io.WriteString(c, fine)
			}
		})
		var hints []string
		r := request(t, "GET", d.url, "")
		r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
			Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
				hints = append(hints, fmt.Sprint(code, header))
				close(heard)
				return nil
			},
		}))
		if got := said(rt.RoundTrip(r)); got != `200 "ok"` || fmt.Sprint(hints) != "[103 map[Link:[</a>]]]" {
			t.Errorf("got %s after %v", got, hints)
		}
	})
}

// A daemon may refuse a body that it does not read.
func TestAnswerBeforeTheBody(t *testing.T) {
	const refusal = "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno"
	rt := newDirect()
	d := serve(t, func(_ *daemon, _ int64, c net.Conn, in *bufio.Reader) {
		if _, err := http.ReadRequest(in); err == nil {
			_, _ = io.WriteString(c, refusal)
		}
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, in)
	})
	if got := said(rt.RoundTrip(request(t, "POST", d.url, strings.Repeat("x", mostBody)))); got != `413 "no"` {
		t.Error(got)
	}
}

// Both transports send the same bytes.
func TestSameBytes(t *testing.T) {
	for name, tt := range map[string]struct{ method, path, body string }{
		"GET": {"GET", "/a%2Fb?x=1&y=%20", ""}, "POST": {"POST", "/", "body"}, "empty POST": {"POST", "/x", ""}, "DELETE": {"DELETE", "/x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]bool{}
			transports(t, func(t *testing.T, rt http.RoundTripper) {
				sent := make(chan string, 1)
				d := serve(t, func(d *daemon, _ int64, c net.Conn, in *bufio.Reader) {
					var all strings.Builder
					if _, ok := d.hears(bufio.NewReader(io.TeeReader(in, &all))); ok {
						sent <- all.String()
						_, _ = io.WriteString(c, fine)
					}
				})
				r := request(t, tt.method, d.url+tt.path, tt.body)
				r.Host = "pbx.example.com"
				r.Header = http.Header{"X-B": {"2", "3"}, "X-A": {"1\r\nEvil: yes"}, "User-Agent": {""}, "Te": {"trailers"}, "bad name": {"x"}}
				if _, isDirect := rt.(*Transport); !isDirect { // which net/http refuses to send
					r.Header = http.Header{"X-B": {"2", "3"}, "X-A": {"1  Evil: yes"}, "User-Agent": {""}, "Te": {"trailers"}}
				}
				if answer := said(rt.RoundTrip(r)); answer != `200 "ok"` {
					t.Fatal(answer)
				}
				got[<-sent] = true
			})
			if len(got) != 1 {
				for text := range maps.Keys(got) {
					t.Errorf("%q", text)
				}
			}
		})
	}
}

// What is not of the common case goes to the other transport, untouched.
func TestElse(t *testing.T) {
	rt := newDirect()
	rt.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("it dials") }
	for name, change := range map[string]func(r *http.Request){
		"upgrade":        func(r *http.Request) { r.Header.Set("Upgrade", "websocket") },
		"expectation":    func(r *http.Request) { r.Header.Set("Expect", "100-continue") },
		"TLS":            func(r *http.Request) { r.URL.Scheme = "https" },
		"CONNECT":        func(r *http.Request) { r.Method = "CONNECT" },
		"unknown length": func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader("x")), -1 },
		"large body":     func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader("x")), mostBody+1 },
		"chunks":         func(r *http.Request) { r.TransferEncoding = []string{"chunked"} },
		"trailers":       func(r *http.Request) { r.Trailer = http.Header{"X": nil} },
		"close":          func(r *http.Request) { r.Close = true },
	} {
		r := request(t, "GET", "http://127.0.0.1:1", "")
		change(r)
		if _, err := rt.RoundTrip(r); !errors.Is(err, errElse) { //nolint:bodyclose // there is none
			t.Errorf("%s: %v", name, err)
		}
	}
	// A client that goes away in the middle of its body: nothing of it is sent.
	r := request(t, "POST", "http://127.0.0.1:1", "")
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader("half")), 8
	if _, err := rt.RoundTrip(r); !errors.Is(err, io.ErrUnexpectedEOF) { //nolint:bodyclose // there is none
		t.Error(err)
	}
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

func BenchmarkRoundTrip(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	for name, rt := range map[string]http.RoundTripper{"direct": newDirect(), "net/http": &http.Transport{DisableCompression: true}} {
		b.Run(name, func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			for b.Loop() {
				r, _ := http.NewRequestWithContext(ctx, "GET", "http://"+l.Addr().String(), nil)
				response, err := rt.RoundTrip(r)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		})
	}
}
