package store

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
)

// Probe asks whether a database can run a query, on behalf of many: one question at a time, whose answer is kept for a second. However
// many ask, the database is asked once a second at most. It is safe for concurrent use.
type Probe struct {
	ping   func(context.Context) error
	asking singleflight.Group
	last   atomic.Pointer[probed]
}

// probed is what the database answered.
type probed struct {
	at  time.Time
	err error
}

const (
	// probeKept is how long an answer is good, and probeTime how long a question may take.
	probeKept = time.Second
	probeTime = 2 * time.Second
)

// NewProbe returns a probe that asks by ping, such as DB.Ping.
func NewProbe(ping func(context.Context) error) *Probe { return &Probe{ping: ping} }

// Ask returns nil if the database can run a query, or could within the last second. It waits for the answer until ctx ends.
func (p *Probe) Ask(ctx context.Context) error {
	if l := p.fresh(); l != nil {
		return l.err
	}
	answered := p.asking.DoChan("", func() (any, error) {
		if l := p.fresh(); l != nil { // answered since
			return nil, l.err
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTime) // whoever asked first may leave
		defer cancel()
		err := p.ping(ctx)
		p.last.Store(&probed{time.Now(), err})
		return nil, err
	})
	select {
	case a := <-answered:
		return a.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fresh returns the last answer if it is still good, or nil.
func (p *Probe) fresh() *probed {
	if l := p.last.Load(); l != nil && time.Since(l.at) < probeKept {
		return l
	}
	return nil
}
