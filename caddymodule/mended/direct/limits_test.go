package direct

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

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
