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
	// connected runs after each login, on the new connection, before anybody else gets it. If it fails, the connection is
	// given up.
	connected func(ctx context.Context, c *Conn) error
	booted    func()
	// report receives why there is no connection, each time that this changes, and nil when there is one again.
	report func(err error)

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
	return &Client{options: o.withDefaults(), connected: w.Connected, booted: w.Booted, report: w.Report, changed: make(chan struct{})}
}

// Run keeps a connection until ctx ends.
func (c *Client) Run(ctx context.Context) {
	wait := c.options.RetryMin
	for ctx.Err() == nil {
		since := time.Now()
		err := c.once(ctx)
		if ctx.Err() != nil {
			break
		}
		if time.Since(since) > c.options.RetryMax {
			wait = c.options.RetryMin
		}
		if errors.Is(err, ErrLogin) {
			wait = c.options.RetryLogin
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + rand.N(wait/2+1)): //nolint:gosec // spreads the tries of several nodes
			wait = min(2*wait, c.options.RetryMax)
		}
	}
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.set(nil, context.Cause(ctx))
}

// once connects and stays connected. It returns why it is not any more.
func (c *Client) once(ctx context.Context) error {
	conn, err := Dial(ctx, c.options)
	if err == nil {
		defer func() { _ = conn.Close() }()
		if c.connected != nil {
			err = c.connected(ctx, conn)
		}
	}
	if err != nil {
		c.set(nil, err)
		return err
	}
	c.set(conn, nil)
	if c.booted != nil && conn.Booted(ctx) == nil {
		c.booted()
	}
	select {
	case <-conn.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	c.set(nil, conn.Err())
	return conn.Err()
}

func (c *Client) set(conn *Conn, err error) {
	c.mu.Lock()
	news := !c.ended && ((err == nil) != (c.err == nil) || (err != nil && err.Error() != c.err.Error()))
	c.current, c.err = conn, err
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
	if news && c.report != nil {
		c.report(err)
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

// Reload reloads a module on the connection, as [Conn.Reload], within ReloadTimeout also of the wait for one.
func (c *Client) Reload(ctx context.Context, module string) error {
	ctx, cancel := context.WithTimeout(ctx, c.options.ReloadTimeout)
	defer cancel()
	conn, err := c.Conn(ctx)
	if err != nil {
		return err
	}
	return conn.Reload(ctx, module)
}
