package direct

import (
	"sync"
	"time"
)

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

// empty closes all connections.
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
