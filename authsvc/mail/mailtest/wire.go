package mailtest

import (
	"bytes"
	"net"
	"sync"
)

// listener records its connections.
type listener struct {
	net.Listener
	mu    sync.Mutex
	conns map[*recorded]bool
	read  []byte
	over  bool
}

// recorded is a connection whose incoming bytes are kept.
type recorded struct {
	net.Conn
	listener *listener
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &recorded{Conn: conn, listener: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	if l.conns == nil {
		l.conns = make(map[*recorded]bool)
	}
	l.conns[c] = true
	return c, nil
}

func (c *recorded) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.listener.read = append(c.listener.read, b[:n]...)
	return n, err
}

func (c *recorded) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

func (l *listener) stop() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	_ = l.Close()
	l.drop()
}

func (l *listener) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.Conn.Close()
	}
}

func (l *listener) wire() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.read)
}
