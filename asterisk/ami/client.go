package ami

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Client keeps a connection while Run runs. Its actions wait for one. It is safe for concurrent use.
type Client struct {
	options Options
	watch   Watch

	mu      sync.Mutex
	current *Conn
	err     error
	ended   bool          // Run has ended: there will be no connection
	changed chan struct{} // closed, and replaced, when one of these changes
}

// Watch says what a Client tells its owner. Each function may be nil.
type Watch struct {
	// Connected runs after each login, before anybody else gets the connection. If it fails, the connection is given up.
	Connected func(ctx context.Context, c *Conn) error
	// Booted runs once on each connection, when Asterisk says that it has booted, if it ever does. It must not block.
	Booted func()
	// Report receives why there is no connection, when that begins or changes, and nil when there is one again.
	Report func(err error)
}

// NewClient returns a client, which connects when Run runs.
func NewClient(o Options, w Watch) *Client {
	return &Client{options: o.withDefaults(), watch: w, changed: make(chan struct{})}
}

// Run keeps a connection until ctx ends.
func (c *Client) Run(ctx context.Context) {
	next := c.options.waits()
	for ctx.Err() == nil {
		lasted, err := c.once(ctx)
		if ctx.Err() != nil {
			break
		}
		wait := next.after(lasted, err, c.options)
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + rand.N(wait/2+1)): //nolint:gosec // spreads the tries of several nodes
		}
	}
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.set(nil, context.Cause(ctx))
}

// waits are those before the next try, after a connection that failed or has ended, and after a login that was refused.
type waits struct{ failed, login time.Duration }

// waits returns the first ones.
func (o Options) waits() waits { return waits{o.RetryMin, min(o.RetryMax, o.RetryLogin)} }

// after returns how long to wait after an error of a connection that lasted so long, and lets the waits grow.
func (w *waits) after(lasted time.Duration, err error, o Options) (wait time.Duration) {
	if lasted > o.RetryMax {
		*w = o.waits()
	}
	switch {
	case isUnreachable(err):
		return o.RetryMin
	case errors.Is(err, ErrLogin): // an Asterisk that has just opened its port may not know its accounts yet
		wait, w.login = w.login, min(2*w.login, o.RetryLogin)
	default:
		wait, w.failed = w.failed, min(2*w.failed, o.RetryMax)
	}
	return wait
}

func isUnreachable(err error) bool {
	_, is := errors.AsType[unreachableError](err)
	return is
}

// same reports whether two errors are the same news. Whether an Asterisk that is away refuses connections or does not answer is none.
func same(a, b error) bool {
	if a == nil || b == nil {
		return (a == nil) == (b == nil)
	}
	return a.Error() == b.Error() || isUnreachable(a) && isUnreachable(b)
}

// once connects and stays connected. It returns why it is not any more, and how long it was.
func (c *Client) once(ctx context.Context) (lasted time.Duration, err error) {
	conn, err := Dial(ctx, c.options)
	if err == nil {
		defer func() { _ = conn.Close() }()
		if c.watch.Connected != nil {
			err = c.watch.Connected(ctx, conn)
		}
	}
	if err != nil {
		c.set(nil, err)
		return 0, err
	}
	since := time.Now()
	c.set(conn, nil)
	if c.watch.Booted != nil && conn.Booted(ctx) == nil {
		c.watch.Booted()
	}
	select {
	case <-conn.Done():
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	c.set(nil, conn.Err())
	return time.Since(since), conn.Err()
}

func (c *Client) set(conn *Conn, err error) {
	c.mu.Lock()
	news := !c.ended && !same(err, c.err)
	c.current, c.err = conn, err
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
	if news && c.watch.Report != nil {
		c.watch.Report(err)
	}
}

// Conn waits for the connection. The error of a ctx that ends first says why there was none.
func (c *Client) Conn(ctx context.Context) (*Conn, error) {
	for {
		c.mu.Lock()
		conn, err, ended, changed := c.current, c.err, c.ended, c.changed
		c.mu.Unlock()
		if ended {
			return nil, fmt.Errorf("%w: %w", ErrDisconnected, err)
		}
		if conn != nil && conn.Err() == nil {
			return conn, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		}
	}
}

// Ready reports whether there is a connection, to an Asterisk that has booted.
func (c *Client) Ready() bool {
	c.mu.Lock()
	conn := c.current
	c.mu.Unlock()
	if conn == nil || conn.Err() != nil {
		return false
	}
	select {
	case <-conn.booted:
		return true
	default:
		return false
	}
}

// Do sends an action on the connection, as [Conn.Do], within Timeout also of the wait for one.
func (c *Client) Do(ctx context.Context, a Action) (Message, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	conn, err := c.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return conn.Do(ctx, a)
}

// List sends an action on the connection, as [Conn.List], within Timeout also of the wait for one.
func (c *Client) List(ctx context.Context, a Action) ([]Message, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	conn, err := c.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return conn.List(ctx, a)
}

// Reload reloads a module on the connection, as [Conn.Reload], and waits for one as long as Asterisk may answer nothing.
func (c *Client) Reload(ctx context.Context, module string) error {
	reached, cancel := context.WithTimeout(ctx, c.options.Stalled)
	defer cancel()
	conn, err := c.Conn(reached)
	if err != nil {
		return err
	}
	return conn.Reload(ctx, module)
}
