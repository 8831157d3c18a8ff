package direct

import (
	"bufio"
	"bytes"
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
