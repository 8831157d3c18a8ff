package ami_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/ami/amitest"
)

// soon are options whose waits are short, for tests in which a wait must end.
func soon(s *amitest.Server) ami.Options {
	o := s.Options()
	o.RetryMin, o.RetryMax = time.Millisecond, 5*time.Millisecond
	return o
}

func dial(t *testing.T, o ami.Options) *ami.Conn {
	t.Helper()
	c, err := ami.Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A wrong secret is refused, and appears nowhere.
func TestLogin(t *testing.T) {
	s := amitest.New(t)
	o := s.Options()
	o.Secret = "a-wrong-secret"
	s.Handle("Login", func(c *amitest.Session, a ami.Message) {
		c.Respond(a, "Error", "Message", "Authentication failed: "+a.Get("Secret"))
	})
	_, err := ami.Dial(t.Context(), o)
	if !errors.Is(err, ami.ErrLogin) || strings.Contains(err.Error(), o.Secret) {
		t.Errorf("Dial: %v", err)
	}
}

// What does not speak the protocol is refused in bounded time and space.
func TestGarbage(t *testing.T) {
	const login = "Response: Success\r\nActionID: login\r\n\r\n"
	for name, says := range map[string]string{
		"another protocol":         "SSH-2.0-OpenSSH_9.2\r\n",
		"an endless line":          strings.Repeat("x", 1<<20),
		"a message of neither":     "Asterisk Call Manager/9.0.0\r\n" + login + "Hello: World\r\n\r\n",
		"an endless message":       "Asterisk Call Manager/9.0.0\r\n" + login + strings.Repeat("Output: "+strings.Repeat("y", 60000)+"\r\n", 200),
		"an endless line, later":   "Asterisk Call Manager/9.0.0\r\n" + login + "Event: " + strings.Repeat("z", 1<<20),
		"an end in the middle":     "Asterisk Call Manager/9.0.0\r\n" + login + "Event: Half",
		"an end before the answer": "Asterisk Call Manager/9.0.0\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			go func() {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				go func() { _, _ = io.Copy(io.Discard, conn) }()
				_, _ = io.WriteString(conn, says)
				_ = conn.(*net.TCPConn).CloseWrite()
			}()
			c, err := ami.Dial(t.Context(), ami.Options{Address: listener.Addr().String(), Username: "u", Secret: "s"})
			if err == nil {
				<-c.Done()
				err = c.Err()
			}
			if err == nil || len(err.Error()) > 1000 {
				t.Errorf("error: %.2000v", err)
			}
			if endless := strings.Contains(name, "endless") || strings.Contains(name, "protocol"); endless && !errors.Is(err, ami.ErrProtocol) {
				t.Errorf("error %v is not ErrProtocol", err)
			}
		})
	}
}

// A silent server does not hold anybody up.
func TestSilence(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, err = ami.Dial(t.Context(), ami.Options{Address: listener.Addr().String(), Timeout: time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
		t.Errorf("Dial: %v", err)
	}
	s := amitest.New(t)
	o := s.Options()
	s.Handle("CoreStatus", func(*amitest.Session, ami.Message) {})
	c := dial(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := c.Do(ctx, ami.Action{Name: "CoreStatus"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Do: %v", err)
	}
	if _, err := c.Do(t.Context(), ami.Action{Name: "Ping"}); err != nil {
		t.Errorf("the connection is lost: %v", err)
	}
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// A list up to the limit is whole; a longer one is an error that names the limit, and never a part of the list. The connection goes on.
func TestLongLists(t *testing.T) {
	s := amitest.New(t)
	o := s.Options()
	o.Timeout = time.Hour // whatever the machine is busy with
	c := dial(t, o)
	for entries, whole := range map[int]bool{ami.MaxListed: true, ami.MaxListed + 1: false} {
		s.Handle("DBGetTree", func(c *amitest.Session, a ami.Message) {
			var all strings.Builder
			id := a.Get("ActionID")
			for i := range entries {
				fmt.Fprintf(&all, "Event: DBGetTreeResponse\r\nActionID: %s\r\nKey: /f/%d\r\nVal: 1\r\n\r\n", id, i)
			}
			c.Respond(a, "Success", "EventList", "start", "Message", "Result will follow")
			c.Raw(all.String())
			c.Event("DBGetTreeComplete", "ActionID", id, "EventList", "Complete")
		})
		values, err := ami.Tree(t.Context(), c, "f")
		if whole && (err != nil || len(values) != entries) || !whole && (!errors.Is(err, ami.ErrTooLong) || !strings.Contains(err.Error(), fmt.Sprint(ami.MaxListed)) || values != nil) {
			t.Errorf("%d entries: %d values, %v", entries, len(values), err)
		}
		if _, err := c.Do(t.Context(), ami.Action{Name: "Ping"}); err != nil {
			t.Errorf("after %d entries: %v", entries, err)
		}
	}
}

// No value can begin a header or an action of its own.
func TestInjection(t *testing.T) {
	s := amitest.New(t)
	c := dial(t, s.Options())
	const evil = "x\r\n\r\nAction: Command\r\nCommand: core stop now"
	for _, a := range []ami.Action{
		{Name: evil},
		{Name: "Ping\nAction: Originate"},
		{Name: "Ping", Headers: []ami.Header{{Name: "A", Value: evil}}},
		{Name: "Ping", Headers: []ami.Header{{Name: "A", Value: "x\n"}}},
		{Name: "Ping", Headers: []ami.Header{{Name: "A", Value: "x\r"}}},
		{Name: "Ping", Headers: []ami.Header{{Name: "A", Value: "x\x00"}}},
		{Name: "Ping", Headers: []ami.Header{{Name: evil, Value: "x"}}},
		{Name: "Ping", Headers: []ami.Header{{Name: "A: b", Value: "x"}}},
		{Name: "Ping", Headers: []ami.Header{{Name: "", Value: "x"}}},
		{Name: "Ping", Headers: []ami.Header{{Name: "A", Value: strings.Repeat("x", 1025)}}},
		{Name: "Ping", Headers: make([]ami.Header, 200)},
	} {
		if _, err := c.Do(t.Context(), a); err == nil {
			t.Errorf("%q was sent", a)
		}
	}
	if err := ami.Put(t.Context(), c, "family", "key", evil); err == nil || strings.Contains(err.Error(), "core stop") {
		t.Errorf("Put: %v", err)
	}
	if _, err := ami.Dial(t.Context(), ami.Options{Address: s.Address, Username: "u", Secret: evil}); err == nil || strings.Contains(err.Error(), "core stop") {
		t.Errorf("Dial: %v", err)
	}
	if sent := s.Actions(); len(sent) != 0 {
		t.Errorf("sent: %v", sent)
	}
}

// Values of Asterisk's own database, lists and commands.
func TestActions(t *testing.T) {
	s := amitest.New(t)
	c := dial(t, s.Options())
	ctx := t.Context()
	if _, found, err := ami.Value(ctx, c, "dnd", "1"); found || err != nil {
		t.Errorf("Value before Put: %v, %v", found, err)
	}
	if err := ami.Put(ctx, c, "dnd", "1", "a: b; c"); err != nil {
		t.Fatal(err)
	}
	if v, found, err := ami.Value(ctx, c, "dnd", "1"); v != "a: b; c" || !found || err != nil {
		t.Errorf("Value: %q, %v, %v", v, found, err)
	}
	for range 2 {
		if err := ami.Delete(ctx, c, "dnd", "1"); err != nil {
			t.Errorf("Delete: %v", err)
		}
	}
	if _, found := s.Value("dnd", "1"); found {
		t.Error("the value is still there")
	}
	s.Handle("PJSIPShowEndpoints", func(c *amitest.Session, a ami.Message) {
		c.Event("EndpointList", "ActionID", "of somebody else", "ObjectName", "ghost")
		c.List(a, "EndpointList", "ObjectName", "alice", "bob")
	})
	if names, err := ami.Endpoints(ctx, c); err != nil || !reflect.DeepEqual(names, map[string]bool{"alice": true, "bob": true}) {
		t.Errorf("Endpoints: %v, %v", names, err)
	}
	s.Handle("PJSIPShowEndpoints", func(c *amitest.Session, a ami.Message) {
		c.Respond(a, "Error", "Message", "No endpoints found")
	})
	if names, err := ami.Endpoints(ctx, c); err != nil || len(names) != 0 {
		t.Errorf("Endpoints without any: %v, %v", names, err)
	}
	s.Handle("ShowDialPlan", func(c *amitest.Session, a ami.Message) {
		if a.Get("Context") != "internal" {
			c.Respond(a, "Error", "Message", "Did not find context "+a.Get("Context"))
			return
		}
		c.List(a, "ListDialplan", "Extension", "101")
	})
	for name, want := range map[string]bool{"internal": true, "missing": false} {
		if got, err := ami.Extensions(ctx, c, name); len(got) > 0 != want || want && got[0] != "101" || err != nil {
			t.Errorf("Extensions(%s): %v, %v", name, got, err)
		}
	}
	s.Handle("Command", func(c *amitest.Session, a ami.Message) {
		c.Raw("Response: Success\r\nActionID: " + a.Get("ActionID") + "\r\nMessage: Command output follows\r\nOutput: one: 1\r\nOutput: \r\nOutput:  two\r\n\r\n")
	})
	if lines, err := ami.Command(ctx, c, "core show version"); err != nil || !reflect.DeepEqual(lines, []string{"one: 1", "", " two"}) {
		t.Errorf("Command: %q, %v", lines, err)
	}
	refused, ok := errors.AsType[*ami.ResponseError](func() error { _, err := c.Do(ctx, ami.Action{Name: "Nonsense"}); return err }())
	if !ok || refused.Action != "Nonsense" {
		t.Errorf("an unknown action: %v", refused)
	}
}

// Responses find their actions, in whatever order they come.
func TestOrder(t *testing.T) {
	s := amitest.New(t)
	var mu sync.Mutex
	var held []ami.Message
	const n = 20
	s.Handle("Echo", func(c *amitest.Session, a ami.Message) {
		mu.Lock()
		defer mu.Unlock()
		if held = append(held, a); len(held) < n {
			return
		}
		for i := range held {
			c.Respond(held[n-1-i], "Success", "Said", held[n-1-i].Get("Say"))
			c.Respond(held[n-1-i], "Success", "Said", "twice")
		}
	})
	c := dial(t, s.Options())
	var work sync.WaitGroup
	for i := range n {
		word := strings.Repeat("x", i+1)
		work.Go(func() {
			m, err := c.Do(t.Context(), ami.Action{Name: "Echo", Headers: []ami.Header{{Name: "Say", Value: word}}})
			if err != nil || m.Get("Said") != word {
				t.Errorf("said %q, heard %q, %v", word, m.Get("Said"), err)
			}
		})
	}
	work.Wait()
}
