// Package amitest is a scripted server of the Asterisk Manager Interface, for tests: it answers as Asterisk does, and a test
// changes single answers.
package amitest

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/asterisk/ami"
)

// Username and Secret are the account of the server.
const (
	Username = "ringfence"
	Secret   = "only-for-tests"
)

// Handler answers an action.
type Handler func(s *Session, action ami.Message)

// Server is a manager interface on a loopback port. It answers what nobody has scripted as a healthy Asterisk does.
type Server struct {
	Address string

	mu       sync.Mutex
	handlers map[string]Handler
	values   map[string]string // of Asterisk's own database, by family/key
	actions  []ami.Message
	sessions map[*Session]bool
	booted   bool
}

// Session is one connection.
type Session struct {
	server *Server
	conn   net.Conn
	done   chan struct{}
	mu     sync.Mutex
}

// New starts a server, which ends with the test.
func New(t *testing.T) *Server {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Address: listener.Addr().String(), handlers: map[string]Handler{}, values: map[string]string{}, sessions: map[*Session]bool{}, booted: true}
	s.Handle("Login", s.login)
	s.Handle("Reload", func(c *Session, a ami.Message) {
		c.Event("Reload", "Module", a.Get("Module"), "Status", "0")
		c.Respond(a, "Success", "Message", "Module Reloaded")
	})
	s.Handle("Ping", func(c *Session, a ami.Message) { c.Respond(a, "Success", "Ping", "Pong") })
	s.Handle("Setvar", func(c *Session, a ami.Message) { c.Respond(a, "Success", "Message", "Variable Set") })
	s.Handle("DBPut", s.put)
	s.Handle("DBDel", s.del)
	s.Handle("DBGet", s.get)
	s.Handle("DBGetTree", s.tree)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		s.Disconnect()
		work.Wait()
	})
	return s
}

// Options are those of a client of this server.
func (s *Server) Options() ami.Options {
	return ami.Options{Address: s.Address, Username: Username, Secret: Secret}
}

// Handle scripts the answer to an action, from now on.
func (s *Server) Handle(action string, h Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[action] = h
}

// BootLater makes the server one that has not booted yet, until Boot.
func (s *Server) BootLater() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.booted = false
}

// Boot ends the boot.
func (s *Server) Boot() {
	s.mu.Lock()
	s.booted = true
	s.mu.Unlock()
	s.Event("FullyBooted", "Status", "Fully Booted")
}

// Event sends an event to all sessions. The rest are names and values.
func (s *Server) Event(name string, headers ...string) {
	for _, c := range s.open() {
		c.Event(name, headers...)
	}
}

// Disconnect ends all sessions. It returns when the other sides have ended theirs: no client has an action on them any more.
func (s *Server) Disconnect() {
	all := s.open()
	for _, c := range all {
		_ = c.conn.(*net.TCPConn).CloseWrite()
	}
	for _, c := range all {
		<-c.done
	}
}

func (s *Server) open() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*Session
	for c := range s.sessions {
		all = append(all, c)
	}
	return all
}

// Actions returns the actions so far, without logins.
func (s *Server) Actions() []ami.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]ami.Message(nil), s.actions...)
}

// Reloads returns the modules of the reloads so far.
func (s *Server) Reloads() []string {
	var modules []string
	for _, a := range s.Actions() {
		if a.Get("Action") == "Reload" {
			modules = append(modules, a.Get("Module"))
		}
	}
	return modules
}

// Value returns a value of Asterisk's own database.
func (s *Server) Value(family, key string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.values[family+"/"+key]
	return v, ok
}

func (s *Server) serve(conn net.Conn) {
	c := &Session{server: s, conn: conn, done: make(chan struct{})}
	defer close(c.done)
	s.mu.Lock()
	s.sessions[c] = true
	s.mu.Unlock()
	defer func() {
		c.Close()
		s.mu.Lock()
		delete(s.sessions, c)
		s.mu.Unlock()
	}()
	c.Raw("Asterisk Call Manager/9.0.0\r\n")
	lines := bufio.NewScanner(conn)
	var action ami.Message
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok {
			action = append(action, ami.Header{Name: name, Value: strings.TrimSpace(value)})
			continue
		}
		if len(action) == 0 {
			continue
		}
		s.mu.Lock()
		if action.Get("Action") != "Login" {
			s.actions = append(s.actions, action)
		}
		h := s.handlers[action.Get("Action")]
		s.mu.Unlock()
		if h == nil {
			c.Respond(action, "Error", "Message", "Invalid/unknown command")
		} else {
			h(c, action)
		}
		action = nil
	}
}

// Raw sends bytes as they are.
func (c *Session) Raw(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.conn.Write([]byte(text))
}

// Close ends the session.
func (c *Session) Close() { _ = c.conn.Close() }

// Respond answers an action. The rest are names and values.
func (c *Session) Respond(action ami.Message, response string, headers ...string) {
	c.send(append([]string{"Response", response, "ActionID", action.Get("ActionID")}, headers...))
}

// Event sends an event. The rest are names and values.
func (c *Session) Event(name string, headers ...string) {
	c.send(append([]string{"Event", name}, headers...))
}

func (c *Session) send(headers []string) {
	var b strings.Builder
	for i := 0; i < len(headers); i += 2 {
		fmt.Fprintf(&b, "%s: %s\r\n", headers[i], headers[i+1])
	}
	c.Raw(b.String() + "\r\n")
}

// List answers an action with a list of events of that name, one for each value of a header.
func (c *Session) List(action ami.Message, event, header string, values ...string) {
	id := action.Get("ActionID")
	c.Respond(action, "Success", "EventList", "start", "Message", "A listing will follow")
	for _, v := range values {
		c.Event(event, "ActionID", id, header, v)
	}
	c.Event(event+"Complete", "ActionID", id, "EventList", "Complete", "ListItems", fmt.Sprint(len(values)))
}

func (s *Server) login(c *Session, a ami.Message) {
	if a.Get("Username") != Username || a.Get("Secret") != Secret {
		c.Respond(a, "Error", "Message", "Authentication failed")
		c.Close()
		return
	}
	c.Respond(a, "Success", "Message", "Authentication accepted")
	s.mu.Lock()
	booted := s.booted
	s.mu.Unlock()
	if booted {
		c.Event("FullyBooted", "Status", "Fully Booted")
	}
}

func (s *Server) put(c *Session, a ami.Message) {
	s.mu.Lock()
	s.values[a.Get("Family")+"/"+a.Get("Key")] = a.Get("Val")
	s.mu.Unlock()
	c.Respond(a, "Success", "Message", "Updated database successfully")
}

func (s *Server) del(c *Session, a ami.Message) {
	at := a.Get("Family") + "/" + a.Get("Key")
	s.mu.Lock()
	_, found := s.values[at]
	delete(s.values, at)
	s.mu.Unlock()
	if !found {
		c.Respond(a, "Error", "Message", "Database entry not found")
		return
	}
	c.Respond(a, "Success", "Message", "Key deleted successfully")
}

func (s *Server) tree(c *Session, a ami.Message) {
	id, within := a.Get("ActionID"), a.Get("Family")+"/"
	s.mu.Lock()
	values := maps.Clone(s.values)
	s.mu.Unlock()
	c.Respond(a, "Success", "EventList", "start", "Message", "Result will follow")
	for _, at := range slices.Sorted(maps.Keys(values)) {
		if strings.HasPrefix(at, within) {
			c.Event("DBGetTreeResponse", "ActionID", id, "Key", "/"+at, "Val", values[at])
		}
	}
	c.Event("DBGetTreeComplete", "ActionID", id, "EventList", "Complete")
}

func (s *Server) get(c *Session, a ami.Message) {
	v, found := s.Value(a.Get("Family"), a.Get("Key"))
	if !found {
		c.Respond(a, "Error", "Message", "Database entry not found")
		return
	}
	c.List(a, "DBGetResponse", "Val", v)
}
