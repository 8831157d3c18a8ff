package listener

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// Network is TCP on sockets that outlive a reload:
//
//	bind ringfence_tcp/
//	bind ringfence_tcp/127.0.0.1 ringfence_tcp/[::1]
//
// All configurations accept from one socket, through descriptors of their own, and one at a time: the old one accepts until the
// new one has started. The new one then takes over (see HandOver), which waits for the old one's connections to end before the
// old one is stopped. A port that another process has is an error.
const Network = "ringfence_tcp"

func init() {
	caddy.RegisterNetwork(Network, listenKept)
	caddyhttp.RegisterNetworkHTTP3(Network, "udp")
}

// Sockets holds the open sockets by their address: each configuration has a share.
var Sockets = caddy.NewUsagePool()

// keptSocket is a socket that nobody accepts from: the listeners have copies of its descriptor.
type keptSocket struct {
	*net.TCPListener

	mu        sync.Mutex
	changed   *sync.Cond
	listeners []*keptListener // in the order in which they were opened
	accepting *keptListener
}

// Destruct closes the socket, when no configuration uses it any more.
func (s *keptSocket) Destruct() error { return s.Close() }

func listenKept(ctx context.Context, _, host, portRange string, portOffset uint, config net.ListenConfig) (any, error) {
	first, _, _ := strings.Cut(portRange, "-")
	port, err := strconv.ParseUint(first, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port %q: %w", portRange, err)
	}
	address := net.JoinHostPort(host, strconv.FormatUint(port+uint64(portOffset), 10))
	shared, _, err := Sockets.LoadOrNew(address, func() (caddy.Destructor, error) {
		listener, err := config.Listen(ctx, "tcp", address)
		if err != nil {
			return nil, explain(err)
		}
		s := &keptSocket{TCPListener: listener.(*net.TCPListener)}
		s.changed = sync.NewCond(&s.mu)
		return s, nil
	})
	if err != nil {
		return nil, err
	}
	listener, err := shared.(*keptSocket).open(address, config.KeepAliveConfig)
	if err != nil {
		_, _ = Sockets.Delete(address)
		return nil, fmt.Errorf("sharing the socket of %s: %w", address, err)
	}
	return listener, nil
}

// explain says what to do about a port that cannot be had.
func explain(err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w: end the program that has this port, or choose another one (RINGFENCE_HTTPS_PORT, RINGFENCE_HELPERS_PORT)", err)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%w: choose a port above 1023, or give the program the capability CAP_NET_BIND_SERVICE", err)
	default:
		return err
	}
}

// open opens one configuration's listener. It accepts at once if it is the only one.
func (s *keptSocket) open(address string, alive net.KeepAliveConfig) (*keptListener, error) {
	file, err := s.File()
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, err
	}
	l := &keptListener{TCPListener: listener.(*net.TCPListener), socket: s, address: address, alive: alive}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, l)
	if s.accepting == nil {
		s.accepting = l
	}
	return l, nil
}

// HandOver makes the newest listener of each socket accept from now on, and no other. It returns once the connections that the
// others have accepted are closed, and after patience at the latest.
func HandOver(patience time.Duration) {
	var passed []*keptSocket
	Sockets.Range(func(_, value any) bool {
		if s, ok := value.(*keptSocket); ok {
			s.mu.Lock()
			if s.pass() {
				passed = append(passed, s)
			}
			s.mu.Unlock()
		}
		return true
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, s := range passed {
		s.wait(ctx)
	}
}

// wait returns when the listeners that no longer accept have no connections, or when ctx ends.
func (s *keptSocket) wait(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	busy := func(l *keptListener) bool { return l != s.accepting && (l.taking || l.open > 0) }
	for ctx.Err() == nil && slices.ContainsFunc(s.listeners, busy) {
		s.changed.Wait()
	}
}

// pass makes the newest listener the accepting one, and reports whether that changed. The caller holds mu.
func (s *keptSocket) pass() bool {
	var newest *keptListener
	if len(s.listeners) > 0 {
		newest = s.listeners[len(s.listeners)-1]
	}
	if s.accepting == newest {
		return false
	}
	if s.accepting != nil {
		_ = s.accepting.SetDeadline(time.Unix(0, 0)) // ends its Accept, which then waits
	}
	s.accepting = newest
	s.changed.Broadcast()
	return true
}

// keptListener is one configuration's share of a socket.
type keptListener struct {
	*net.TCPListener
	socket  *keptSocket
	address string
	alive   net.KeepAliveConfig

	// Guarded by the socket's mu.
	closed bool
	taking bool // a connection may be arriving that open does not count yet
	open   int  // connections
}

// Accept waits until it is this listener's turn.
func (l *keptListener) Accept() (net.Conn, error) {
	for {
		if err := l.turn(); err != nil {
			return nil, err
		}
		conn, err := l.AcceptTCP()
		l.took(err == nil)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if l.alive.Enable { // as the socket's net.ListenConfig would
			_ = conn.SetKeepAliveConfig(l.alive) // fails if the connection is gone already
		}
		holdLittle(conn)
		return &keptConn{TCPConn: conn, listener: l}, nil
	}
}

func (l *keptListener) turn() error {
	s := l.socket
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.accepting != l && !l.closed {
		s.changed.Wait()
	}
	if l.closed {
		return net.ErrClosed
	}
	if err := l.SetDeadline(time.Time{}); err != nil {
		return err
	}
	l.taking = true
	return nil
}

// took ends what turn began.
func (l *keptListener) took(one bool) {
	s := l.socket
	s.mu.Lock()
	defer s.mu.Unlock()
	l.taking = false
	if one {
		l.open++
	}
	s.changed.Broadcast()
}

// keptConn is a connection that its listener counts while it is open.
type keptConn struct {
	*net.TCPConn
	listener *keptListener
	closed   atomic.Bool
}

// Close implements net.Conn. It may be called again.
func (c *keptConn) Close() error {
	err := c.TCPConn.Close()
	if !c.closed.Swap(true) {
		s := c.listener.socket
		s.mu.Lock()
		defer s.mu.Unlock()
		c.listener.open--
		s.changed.Broadcast()
	}
	return err
}

// Close releases the share. If this listener was the accepting one, the newest other one takes its place: this configuration
// could not start, or nobody called HandOver.
func (l *keptListener) Close() error {
	s := l.socket
	s.mu.Lock()
	if l.closed {
		s.mu.Unlock()
		return net.ErrClosed
	}
	l.closed = true
	s.listeners = slices.DeleteFunc(s.listeners, func(other *keptListener) bool { return other == l })
	if s.accepting == l {
		s.pass()
	}
	s.changed.Broadcast()
	s.mu.Unlock()
	err := l.TCPListener.Close()
	_, released := Sockets.Delete(l.address)
	return errors.Join(err, released)
}
