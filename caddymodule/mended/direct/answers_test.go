package direct

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync/atomic"
	"testing"
)

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
