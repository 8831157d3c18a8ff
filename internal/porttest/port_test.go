package porttest_test

import (
	"errors"
	"net"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/ringfence/ringfence/internal/porttest"
)

// A server that is told the port can listen on it, on any address, and again afterwards.
func TestReservedPortIsTheCallers(t *testing.T) {
	port, release, err := porttest.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	there := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if c, err := new(net.Dialer).DialContext(t.Context(), "tcp", there); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("before anybody listens: %v, %v", c, err)
	}
	for _, host := range []string{"127.0.0.1", "", "127.0.0.1"} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			t.Fatalf("listening on %q: %v", host, err)
		}
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", there)
		if err != nil {
			t.Errorf("connecting on %q: %v", host, err)
		} else if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The kernel hands out none of the reserved ports, though nobody listens there.
func TestReservedPortIsNobodyElses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ports can be reserved on Linux only")
	}
	reserved := map[int]bool{}
	for range 200 {
		port, release, err := porttest.Reserve()
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		if reserved[port] {
			t.Fatalf("port %d is reserved twice", port)
		}
		reserved[port] = true
	}
	for range 200 {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		if port := l.Addr().(*net.TCPAddr).Port; reserved[port] {
			t.Errorf("port %d was reserved, and is given to somebody", port)
		}
	}
}

func TestReleaseTwice(t *testing.T) {
	_, release, err := porttest.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	release()
	release()
}
