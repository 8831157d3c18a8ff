package ami_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/ami/amitest"
)

func run(t *testing.T, client *ami.Client) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { client.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		work.Wait()
	})
}

// A client connects again, tells its owner, and receives events on the new connection too.
func TestClientReconnects(t *testing.T) {
	s := amitest.New(t)
	events := make(chan string, 100)
	reports := make(chan error, 100)
	logins := make(chan bool, 100)
	o := soon(s)
	o.Events = func(m ami.Message) {
		if m.Event() == "UserEvent" {
			events <- m.Get("UserEvent")
		}
	}
	client := ami.NewClient(o, ami.Watch{
		Connected: func(ctx context.Context, c *ami.Conn) error {
			logins <- true
			_, err := c.Do(ctx, ami.Action{Name: "Ping"})
			return err
		},
		Report: func(err error) { reports <- err },
	})
	run(t, client)
	for _, word := range []string{"first", "second"} {
		<-logins
		if _, err := client.Conn(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Event("UserEvent", "UserEvent", word)
		if got := <-events; got != word {
			t.Errorf("event %q, want %q", got, word)
		}
		if word == "first" {
			s.Disconnect()
			if err := <-reports; !errors.Is(err, ami.ErrDisconnected) {
				t.Errorf("report: %v", err)
			}
		}
	}
	if err := <-reports; err != nil {
		t.Errorf("report: %v", err)
	}
}

// Without a server an action fails after its time, and says why.
func TestClientWithoutServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	reports := make(chan error, 1000)
	client := ami.NewClient(ami.Options{Address: listener.Addr().String(), Secret: "hidden", Timeout: 100 * time.Millisecond}, ami.Watch{Report: func(err error) { reports <- err }})
	run(t, client)
	if err := <-reports; err == nil {
		t.Error("the client reports a connection")
	}
	_, err = client.Do(t.Context(), ami.Action{Name: "Ping"})
	if err == nil || strings.Contains(err.Error(), "hidden") || !strings.Contains(err.Error(), "connecting") {
		t.Errorf("Do: %v", err)
	}
}

// While nobody listens, the client tries soon again and again; while connections fail or logins are refused, it lets more and more time pass.
func TestWaits(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	_, away := ami.Dial(t.Context(), ami.Options{Address: listener.Addr().String()})
	_, nowhere := ami.Dial(t.Context(), ami.Options{Address: "no.such.host.invalid:5038"})
	if away == nil || nowhere == nil {
		t.Fatalf("%v, %v", away, nowhere)
	}
	const ms = time.Millisecond
	w := ami.NewWaits(250*ms, 1000*ms, 3000*ms)
	for i, step := range []struct {
		lasted time.Duration
		err    error
		want   time.Duration
	}{
		{0, away, 250 * ms},
		{0, away, 250 * ms},
		{0, away, 250 * ms},
		{0, io.EOF, 250 * ms},
		{10 * ms, io.EOF, 500 * ms},
		{0, nowhere, 1000 * ms},
		{0, io.EOF, 1000 * ms},
		{0, away, 250 * ms},
		{0, ami.ErrLogin, 1000 * ms},
		{0, ami.ErrLogin, 2000 * ms},
		{0, away, 250 * ms},
		{0, ami.ErrLogin, 3000 * ms},
		{time.Hour, io.EOF, 250 * ms},
		{0, ami.ErrLogin, 1000 * ms},
	} {
		if got := w(step.lasted, step.err); got != step.want {
			t.Errorf("%d: after %v that lasted %s: %s, want %s", i, step.err, step.lasted, got, step.want)
		}
	}
}

// The same fault is told once, although each connection has another port.
func TestReportsOnce(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tries := make(chan bool)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "Asterisk Call Manager/9.0.0\r\n")
			_, _ = conn.Read(make([]byte, 1))
			_ = conn.(*net.TCPConn).SetLinger(0) // the other side reads a reset, not an end
			_ = conn.Close()
			select {
			case tries <- true:
			case <-t.Context().Done():
			}
		}
	})
	t.Cleanup(serving.Wait)
	t.Cleanup(func() { _ = listener.Close() })
	reports := make(chan error, 100)
	run(t, ami.NewClient(ami.Options{Address: listener.Addr().String(), RetryMin: time.Millisecond, RetryMax: time.Millisecond}, ami.Watch{Report: func(err error) { reports <- err }}))
	for range 20 {
		<-tries
	}
	first := <-reports
	if first == nil || !strings.Contains(first.Error(), "reset") {
		t.Errorf("report: %v", first)
	}
	if len(reports) > 0 {
		t.Errorf("%v, and then %v", first, <-reports)
	}
}

// After a refused login the client waits for a time of its own.
func TestClientAfterARefusedLogin(t *testing.T) {
	s := amitest.New(t)
	tries := make(chan bool, 100)
	s.Handle("Login", func(c *amitest.Session, a ami.Message) {
		tries <- true
		c.Respond(a, "Error", "Message", "Authentication failed")
	})
	o := s.Options()
	o.RetryMin, o.RetryMax, o.RetryLogin = time.Hour, time.Hour, time.Millisecond
	run(t, ami.NewClient(o, ami.Watch{}))
	for range 3 {
		<-tries
	}
}
