package ami

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options say where Asterisk is, and as whom to log in.
type Options struct {
	// Address is host:port, or tls://host:port. Without TLS the secret crosses the network as it is: the host is this machine.
	Address  string
	Username string
	Secret   string
	// Timeout bounds the login and each action, except reloads. Default: 10 s.
	Timeout time.Duration
	// Stalled is how long Asterisk may answer nothing, on another connection either, before a reload is given up. As long as it answers,
	// a reload may take half an hour, with all tries while another is in progress. Default: 60 s.
	Stalled time.Duration
	// RetryMin is how long a Client waits before it connects again, as long as nobody listens: that costs nobody anything, and Asterisk is
	// back at any moment. The wait grows up to RetryMax while connections are made, and fail, and up to RetryLogin while logins are
	// refused: each is a line in Asterisk's security log. Default: 250 ms, 500 ms, 30 s.
	RetryMin, RetryMax, RetryLogin time.Duration
	// Events receives every event, from one goroutine. It must not block. Nil: events are dropped.
	Events func(Message)
}

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.Stalled = cmp.Or(o.Stalled, time.Minute)
	o.RetryMin = cmp.Or(o.RetryMin, 250*time.Millisecond)
	o.RetryMax = cmp.Or(o.RetryMax, 500*time.Millisecond)
	o.RetryLogin = cmp.Or(o.RetryLogin, 30*time.Second)
	return o
}

var (
	// ErrLogin says that Asterisk refused the username or the secret.
	ErrLogin = errors.New("the manager interface refuses the username or the secret")
	// ErrDisconnected says that the connection ended, also while an action was under way, whose outcome is then unknown.
	ErrDisconnected = errors.New("the connection to the manager interface ended")
)

// ResponseError is a response that is an error.
type ResponseError struct {
	Action string
	// Message is what Asterisk said.
	Message string
}

func (e *ResponseError) Error() string {
	return fmt.Sprintf("action %s: Asterisk says %s", e.Action, shown(e.Message))
}

// Conn is one connection, logged in. It is safe for concurrent use.
type Conn struct {
	conn    net.Conn
	options Options
	booted  chan struct{} // closed when Asterisk says that it has booted
	done    chan struct{} // closed when the connection has ended

	writing sync.Mutex

	mu       sync.Mutex
	err      error // why the connection ended
	next     uint64
	pending  map[string]*pending
	watchers map[*watcher]bool
}

// maxConnect bounds a try to connect, within Timeout: an Asterisk on another machine that is being started again does not answer at all,
// and is there long before the system would have asked it again.
const maxConnect = 2 * time.Second

// unreachableError says that there is no connection, because nobody listens or answers.
type unreachableError struct{ error }

func (e unreachableError) Unwrap() error { return e.error }

// pending is an action whose response is awaited.
type pending struct {
	list     bool // events with its ActionID follow the response
	response Message
	events   []Message
	err      error
	done     chan struct{}
}

// maxListed is how many events a list may have. A longer one is an error, and nothing of it is used: what is missing would be taken for
// what Asterisk does not have.
const maxListed = 200_000

// ErrTooLong says that a list is longer than the limit.
var ErrTooLong = fmt.Errorf("the list is longer than %d entries, which is the limit", maxListed)

// watcher waits for the first event that it matches.
type watcher struct {
	match func(Message) bool
	event Message // once found is closed
	found chan struct{}
}

// Dial connects and logs in, within Timeout.
func Dial(ctx context.Context, o Options) (*Conn, error) {
	o = o.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	conn, err := dial(ctx, o.Address)
	if err != nil {
		return nil, fmt.Errorf("connecting to the manager interface: %w", withoutPort(err))
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	c, err := login(conn, o)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("logging in to the manager interface: %w", withoutPort(err))
	}
	return c, nil
}

func dial(ctx context.Context, address string) (net.Conn, error) {
	address, encrypted := strings.CutPrefix(address, "tls://")
	conn, err := (&net.Dialer{Timeout: maxConnect}).DialContext(ctx, "tcp", address)
	if _, unknown := errors.AsType[*net.DNSError](err); err != nil && !unknown {
		err = unreachableError{err}
	}
	if err != nil {
		return nil, err
	}
	if !encrypted {
		return conn, nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	secure := tls.Client(conn, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12})
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

// withoutPort takes this side's port out of an error: it is another one each time, and makes the same error look like a new one.
func withoutPort(err error) error {
	if at, ok := errors.AsType[*net.OpError](err); ok {
		at.Source = nil
	}
	return err
}

// login reads the banner, logs in, and starts to read.
func login(conn net.Conn, o Options) (*Conn, error) {
	r := newReader(conn)
	banner, err := readLine(r)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(banner, "Asterisk Call Manager/") {
		return nil, fmt.Errorf("the other side greets with %s: %w", shown(banner), ErrProtocol)
	}
	const id = "login"
	text, err := Action{"Login", []Header{{"Username", o.Username}, {"Secret", o.Secret}}}.text(id)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write([]byte(text)); err != nil {
		return nil, err
	}
	c := &Conn{
		conn: conn, options: o, booted: make(chan struct{}), done: make(chan struct{}),
		pending: map[string]*pending{}, watchers: map[*watcher]bool{},
	}
	for {
		m, err := readMessage(r)
		if err != nil {
			return nil, err
		}
		switch {
		case m.Event() != "":
			c.event(m)
		case m.Get("ActionID") == id && m.Get("Response") == "Success":
			go c.read(r)
			return c, nil
		default:
			return nil, ErrLogin // the other side's words are not shown: they might repeat the secret
		}
	}
}

// Close ends the connection.
func (c *Conn) Close() error {
	c.end(net.ErrClosed)
	return nil
}

// Done is closed when the connection has ended; Err then says why.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns why the connection ended, or nil while it has not.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *Conn) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = fmt.Errorf("%w: %w", ErrDisconnected, why)
	close(c.done)
	_ = c.conn.Close()
}

// read delivers messages until the connection ends.
func (c *Conn) read(r *bufio.Reader) {
	for {
		m, err := readMessage(r)
		if err != nil {
			c.end(err)
			return
		}
		if m.Event() != "" {
			c.event(m)
		} else {
			c.response(m)
		}
	}
}

func (c *Conn) response(m Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := m.Get("ActionID")
	p := c.pending[id]
	if p == nil || p.response != nil {
		return // of an action that nobody waits for any more
	}
	p.response = m
	said := m.Get("Message") // about voicemail users, in place of an empty list
	none := strings.HasPrefix(said, "There are no ") || strings.HasPrefix(said, "There is no ")
	if !p.list || none || m.Get("Response") == "Error" {
		c.settle(id, p)
	}
}

// settle ends the wait for an action. The caller holds mu.
func (c *Conn) settle(id string, p *pending) {
	delete(c.pending, id)
	close(p.done)
}

func (c *Conn) event(m Message) {
	if m.Event() == "FullyBooted" {
		select {
		case <-c.booted:
		default:
			close(c.booted)
		}
	}
	c.mu.Lock()
	if id := m.Get("ActionID"); id != "" {
		if p := c.pending[id]; p != nil && p.list {
			switch {
			case m.Get("EventList") == "Complete":
				c.settle(id, p)
			case len(p.events) == maxListed:
				p.err = ErrTooLong
				c.settle(id, p)
			default:
				p.events = append(p.events, m)
			}
		}
	}
	for w := range c.watchers {
		if w.match(m) {
			delete(c.watchers, w)
			w.event = m
			close(w.found)
		}
	}
	c.mu.Unlock()
	if c.options.Events != nil {
		c.options.Events(m)
	}
}

// watch begins to wait for the first event that matches. stop ends the watch.
func (c *Conn) watch(match func(Message) bool) (w *watcher, stop func()) {
	w = &watcher{match: match, found: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchers[w] = true
	return w, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watchers, w)
	}
}

// Do sends an action and returns its response. A response that is an error becomes a [ResponseError].
func (c *Conn) Do(ctx context.Context, a Action) (Message, error) {
	m, _, err := c.bounded(ctx, a, false)
	return m, err
}

// List sends an action whose response is a list of events, and returns these.
func (c *Conn) List(ctx context.Context, a Action) ([]Message, error) {
	_, events, err := c.bounded(ctx, a, true)
	return events, err
}

func (c *Conn) bounded(ctx context.Context, a Action, list bool) (Message, []Message, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	return c.do(ctx, a, list)
}

func (c *Conn) do(ctx context.Context, a Action, list bool) (Message, []Message, error) {
	p := &pending{list: list, done: make(chan struct{})}
	c.mu.Lock()
	c.next++
	id := strconv.FormatUint(c.next, 10)
	c.pending[id] = p
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pending, id)
	}()
	text, err := a.text(id)
	if err != nil {
		return nil, nil, err
	}
	if err := c.write(ctx, text); err != nil {
		return nil, nil, fmt.Errorf("action %s: %w", a.Name, err)
	}
	if err := c.await(ctx, p.done); err != nil {
		return nil, nil, fmt.Errorf("action %s: waiting for the response: %w", a.Name, err)
	}
	if p.err != nil {
		return nil, nil, fmt.Errorf("action %s: %w", a.Name, p.err)
	}
	switch p.response.Get("Response") {
	case "Success", "Follows", "Goodbye":
		return p.response, p.events, nil
	default:
		return nil, nil, &ResponseError{a.Name, p.response.Get("Message")}
	}
}

// await waits for done, which counts even if the connection or ctx ended at the same time.
func (c *Conn) await(ctx context.Context, done <-chan struct{}) error {
	var err error
	select {
	case <-done:
		return nil
	case <-c.done:
		err = c.Err()
	case <-ctx.Done():
		err = ctx.Err()
	}
	select {
	case <-done:
		return nil
	default:
		return err
	}
}

// write sends one action as a whole. If that fails in between, the connection ends: the rest of the action would be read as
// something else.
func (c *Conn) write(ctx context.Context, text string) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	deadline, _ := ctx.Deadline()
	if err := c.conn.SetWriteDeadline(deadline); err != nil {
		c.end(err)
		return c.Err()
	}
	if _, err := c.conn.Write([]byte(text)); err != nil {
		c.end(err)
		return c.Err()
	}
	return nil
}
