package direct

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// unlimited is how many more bytes a body may have.
const unlimited = math.MaxInt64

// conn is a connection to a daemon. One request at a time has it.
type conn struct {
	transport *Transport
	at        place
	raw       net.Conn
	in        *bufio.Reader
	out       *bufio.Writer
	kernel    syscall.RawConn // nil if nobody can ask about the connection: it is not kept
	since     time.Time       // when it became idle

	// What follows is of the current request.
	left     int64       // how many bytes may yet be read
	written  int64       // how many bytes were sent
	answered bool        // a byte has come back
	ends     bool        // it is not to be used again
	stop     func() bool // ends the watch over the request's context
	closed   atomic.Bool
}

func newConn(t *Transport, at place, raw net.Conn) *conn {
	c := &conn{transport: t, at: at, raw: raw}
	c.in, c.out = bufio.NewReaderSize(source{c}, cmp.Or(t.ReadBuffer, 4<<10)), bufio.NewWriterSize(sink{c}, cmp.Or(t.WriteBuffer, 4<<10))
	if s, ok := raw.(syscall.Conn); ok {
		c.kernel, _ = s.SyscallConn()
	}
	return c
}

// begin prepares for a request. Until release, the end of ctx closes the connection.
func (c *conn) begin(ctx context.Context) {
	c.left, c.written, c.answered, c.ends = unlimited, 0, false, false
	c.stop = context.AfterFunc(ctx, c.close)
}

func (c *conn) close() {
	if c.closed.CompareAndSwap(false, true) {
		_ = c.raw.Close()
	}
}

// abandon ends a request of which something is left.
func (c *conn) abandon() {
	c.stop()
	c.close()
}

// release ends a request whose answer was read to its end, and keeps the connection if it can be used again.
func (c *conn) release() {
	if !c.stop() || c.ends || c.in.Buffered() > 0 || c.kernel == nil || !c.transport.idle.put(c) {
		c.close()
	}
}

var errHeaderTooLong = errors.New("its header is too long")

// source reads from a connection, within the limit.
type source struct{ *conn }

func (s source) Read(p []byte) (int, error) {
	if s.left <= 0 {
		return 0, errHeaderTooLong
	}
	n, err := s.raw.Read(p[:min(int64(len(p)), s.left)])
	if s.left != unlimited {
		s.left -= int64(n)
	}
	return n, err
}

// sink counts what is written.
type sink struct{ *conn }

func (s sink) Write(p []byte) (int, error) {
	n, err := s.raw.Write(p)
	s.written += int64(n)
	return n, err
}

type answer struct {
	*conn
	from io.ReadCloser
	err  error // of the last Read, or of Close
}

// Read gives the connection back at the end of the body.
func (a *answer) Read(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.from.Read(p)
	if err == nil {
		return n, nil
	}
	a.err = err
	if errors.Is(err, io.EOF) {
		a.release()
		return n, err
	}
	a.abandon()
	return n, err
}

// Close closes the connection if something of the body was not read.
func (a *answer) Close() error {
	if a.err == nil {
		a.err = http.ErrBodyReadAfterClose
		a.abandon()
	}
	return nil
}

// place is where a connection leads.
type place struct{ network, address string }

// pool holds the connections that nobody uses. The zero value is an empty pool.
type pool struct {
	mu     sync.Mutex
	at     map[place][]*conn // the last one was used last
	n      int
	shut   bool        // nothing is kept any more
	sweeps *time.Timer // nil if nothing is kept, or nothing grows old
}

// take returns the connection that was used last, or nil.
func (p *pool) take(at place) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.at[at]
	if len(all) == 0 {
		return nil
	}
	c := all[len(all)-1]
	all[len(all)-1] = nil
	p.at[at] = all[:len(all)-1]
	p.n--
	return c
}

// put keeps a connection, unless there are enough or the pool is closed.
func (p *pool) put(c *conn) bool {
	t := c.transport
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shut || t.MaxIdlePerAddress > 0 && len(p.at[c.at]) >= t.MaxIdlePerAddress || t.MaxIdle > 0 && p.n >= t.MaxIdle {
		return false
	}
	if p.at == nil {
		p.at = map[place][]*conn{}
	}
	if t.IdleTimeout > 0 {
		c.since = time.Now()
		if p.sweeps == nil {
			p.sweeps = time.AfterFunc(t.IdleTimeout, func() { p.sweep(t.IdleTimeout) })
		}
	}
	p.at[c.at] = append(p.at[c.at], c)
	p.n++
	return true
}

// sweep closes the connections that were not used for so long, and comes again when the next one may be too old.
func (p *pool) sweep(age time.Duration) {
	var old []*conn
	p.mu.Lock()
	next, now := time.Duration(-1), time.Now()
	for at, all := range p.at {
		n := 0
		for n < len(all) && now.Sub(all[n].since) >= age {
			n++
		}
		old = append(old, all[:n]...)
		if p.n -= n; n == len(all) {
			delete(p.at, at)
			continue
		}
		p.at[at] = append([]*conn(nil), all[n:]...)
		if left := age - now.Sub(all[n].since); next < 0 || left < next {
			next = left
		}
	}
	if p.sweeps = nil; next >= 0 {
		p.sweeps = time.AfterFunc(next, func() { p.sweep(age) })
	}
	p.mu.Unlock()
	for _, c := range old {
		c.close()
	}
}

// close closes all connections, and those that come later are not kept.
func (p *pool) close() {
	p.mu.Lock()
	p.shut = true
	p.mu.Unlock()
	p.empty()
}

func (p *pool) empty() {
	p.mu.Lock()
	all := p.at
	p.at, p.n = nil, 0
	if p.sweeps != nil {
		p.sweeps.Stop()
		p.sweeps = nil
	}
	p.mu.Unlock()
	for _, some := range all {
		for _, c := range some {
			c.close()
		}
	}
}
