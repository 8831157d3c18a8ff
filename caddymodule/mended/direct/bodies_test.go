package direct

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// body is a request's body that says what happens to it. meanwhile, if any, is what happens before its first byte comes.
type body struct {
	io.Reader
	meanwhile     func()
	reads, closed int
}

func (b *body) Read(p []byte) (int, error) {
	if b.reads++; b.reads == 1 && b.meanwhile != nil {
		b.meanwhile()
	}
	return b.Reader.Read(p)
}

func (b *body) Close() error {
	b.closed++
	return nil
}

func withBody(t *testing.T, url string, b *body) *http.Request {
	t.Helper()
	r := request(t, "POST", url, "body")
	b.Reader = strings.NewReader("body")
	r.Body = b
	return r
}

// A daemon that cannot be reached leaves the body unread, so that it can be sent to another one.
func TestUnreachedKeepsTheBody(t *testing.T) {
	errDial := errors.New("no way there")
	dialer := &net.Dialer{ControlContext: func(context.Context, string, string, syscall.RawConn) error { return errDial }}
	transports(t, func(t *testing.T, rt http.RoundTripper) {
		switch rt := rt.(type) {
		case *Transport:
			rt.Dial = dialer.DialContext
		case *http.Transport:
			rt.DialContext = dialer.DialContext
		}
		b := new(body)
		if _, err := rt.RoundTrip(withBody(t, "http://127.0.0.1:1", b)); !errors.Is(err, errDial) { //nolint:bodyclose // there is none
			t.Errorf("it is %v", err)
		}
		if b.reads != 0 || b.closed != 1 {
			t.Errorf("the body was read %d times and closed %d times", b.reads, b.closed)
		}
	})
}

// A client that goes away in the middle of its body: nothing of it is sent, and the connection is closed.
func TestHalfABody(t *testing.T) {
	rt := newDirect()
	d := serve(t, func(d *daemon, _ int64, _ net.Conn, in *bufio.Reader) {
		if r, ok := d.hears(in); ok {
			t.Errorf("the daemon got %s", r.Method)
		}
	})
	r := request(t, "POST", d.url, "")
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader("half")), 8
	if _, err := rt.RoundTrip(r); !errors.Is(err, io.ErrUnexpectedEOF) { //nolint:bodyclose // there is none
		t.Error(err)
	}
	<-d.ended
}

// A connection that ends while the body is awaited, kept or new, was no use: there is another one. If there is none, the error is not that
// of Dial, after which the request would be sent elsewhere without its body.
func TestConnectionEndsBeforeTheBody(t *testing.T) {
	for _, kept := range []bool{false, true} {
		for _, gone := range []bool{false, true} {
			t.Run(map[bool]string{false: "new", true: "kept"}[kept]+map[bool]string{false: ", restarted", true: ", gone"}[gone], func(t *testing.T) {
				rt := newDirect()
				defer rt.CloseIdleConnections()
				errDial, dials := errors.New("no way there"), 0
				var first net.Conn
				rt.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					if dials++; dials > 1 && gone {
						return nil, errDial
					}
					c, err := new(net.Dialer).DialContext(ctx, network, address)
					if dials == 1 {
						first = c
					}
					return c, err
				}
				end, heard := make(chan struct{}), make(chan string, 2)
				d := serve(t, func(d *daemon, n int64, c net.Conn, in *bufio.Reader) {
					if kept && n == 1 {
						if _, ok := d.hears(in); ok {
							_, _ = io.WriteString(c, fine)
						}
					}
					if n == 1 {
						<-end
						return
					}
					if r, ok := d.hears(in); ok {
						sent, _ := io.ReadAll(r.Body)
						heard <- string(sent)
						_, _ = io.WriteString(c, fine)
					}
				})
				endFirst := sync.OnceFunc(func() { close(end) })
				t.Cleanup(endFirst)
				if kept {
					if got := said(rt.RoundTrip(request(t, "GET", d.url, ""))); got != `200 "ok"` {
						t.Fatal(got)
					}
				}
				b := &body{meanwhile: func() {
					endFirst()
					if n, err := first.Read(make([]byte, 1)); n > 0 || err == nil { // until the kernel knows
						t.Error("the daemon spoke")
					}
				}}
				response, err := rt.RoundTrip(withBody(t, d.url, b))
				if dials != 2 || b.closed != 1 {
					t.Errorf("there were %d connections, and the body was closed %d times", dials, b.closed)
				}
				if gone {
					if err == nil || errors.Is(err, errDial) || !strings.Contains(err.Error(), errDial.Error()) {
						t.Errorf("it is %v", err)
					}
					return
				}
				if got := said(response, err); got != `200 "ok"` {
					t.Fatal(got)
				}
				if got := <-heard; got != "body" {
					t.Errorf("the daemon got %q", got)
				}
			})
		}
	}
}

// The end of a request's context closes its connection while the body is awaited, too.
func TestCancellationBeforeTheBody(t *testing.T) {
	rt := newDirect()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := serve(t, func(d *daemon, _ int64, _ net.Conn, in *bufio.Reader) { d.hears(in) })
	b := &body{meanwhile: func() {
		cancel()
		<-d.ended
	}}
	if _, err := rt.RoundTrip(withBody(t, d.url, b).WithContext(ctx)); !errors.Is(err, context.Canceled) { //nolint:bodyclose // there is none
		t.Error(err)
	}
}

// A transport that is closed keeps no connection, of an earlier answer or of a later one.
func TestClose(t *testing.T) {
	rt := newDirect()
	d := serve(t, always(fine))
	response, err := rt.RoundTrip(request(t, "GET", d.url, ""))
	if err != nil {
		t.Fatal(err)
	}
	rt.Close()
	if got := said(response, nil); got != `200 "ok"` {
		t.Error(got)
	}
	<-d.ended
	if got := said(rt.RoundTrip(request(t, "POST", d.url, "x"))); got != `200 "ok"` {
		t.Error(got)
	}
	<-d.ended
	if n := rt.idle.count(); n > 0 {
		t.Errorf("%d connections are kept", n)
	}
}
