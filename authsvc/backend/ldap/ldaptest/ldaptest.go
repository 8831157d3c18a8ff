// Package ldaptest runs a real directory for tests: OpenLDAP's slapd on free ports of 127.0.0.1, in plain text, with StartTLS and
// with ldaps. It makes the server's certificate, and keeps everything in the test's own folder.
//
// It needs slapd (Debian: apt-get install slapd). If slapd is missing, a test is skipped, or fails if CI is true.
package ldaptest

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	goldap "github.com/go-ldap/ldap/v3"

	"github.com/ringfence/ringfence/authsvc/backend/ldap"
	"github.com/ringfence/ringfence/internal/porttest"
)

// Host is the address that the server listens on, and the only name in its certificate: 127.0.0.1, not localhost.
const Host = "127.0.0.1"

// wait is how long slapd may take to start and to stop.
const wait = time.Minute

// Server is a running slapd. Its methods are for one goroutine.
type Server struct {
	Port    int // plain text and StartTLS
	TLSPort int // ldaps; 0 with [WithoutTLS]

	CAFile  string         // the authority of its certificate, in PEM
	RootCAs *x509.CertPool // the same

	tb         testing.TB
	folder     string
	program    string
	withoutTLS bool
	ldif       []string
	directives []string

	process *exec.Cmd
	output  *output
	ended   chan struct{} // closed when process has ended
}

// Option changes the server that Start makes.
type Option func(*Server)

// WithLDIF adds entries, in LDIF, to those of [Entries].
func WithLDIF(entries string) Option {
	return func(s *Server) { s.ldif = append(s.ldif, entries) }
}

// WithDirective adds a line to the global part of slapd.conf, such as "require bind".
func WithDirective(line string) Option {
	return func(s *Server) { s.directives = append(s.directives, line) }
}

// WithoutTLS leaves the server without a certificate: it refuses StartTLS and has no ldaps port.
func WithoutTLS() Option {
	return func(s *Server) { s.withoutTLS = true }
}

// Start makes a directory and runs it until the test ends.
func Start(tb testing.TB, options ...Option) *Server {
	tb.Helper()
	s := &Server{tb: tb, folder: tb.TempDir(), ldif: []string{Entries}}
	for _, option := range options {
		option(s)
	}
	program, err := findProgram(s.folder)
	if err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatal(err)
		}
		tb.Skip(err)
	}
	s.program = program
	if err := s.prepare(); err != nil {
		tb.Fatalf("preparing slapd: %v", err)
	}
	s.Port = freePort(tb)
	if !s.withoutTLS {
		s.TLSPort = freePort(tb)
	}
	tb.Cleanup(s.Kill)
	if err := s.run(); err != nil {
		tb.Fatal(err)
	}
	return s
}

// Config returns the configuration that asks this server in plain text, through its service account.
func (s *Server) Config() ldap.Config {
	return ldap.Config{
		Host: Host, Port: s.Port, ProtocolVersion: 3,
		BindDN: ServiceDN, BindPassword: ServicePassword,
		UserBaseDN: PeopleDN, UserLoginAttribute: "uid", UserEmailAttribute: "mail",
		RootCAs: s.RootCAs, Reach: Reach,
	}
}

// Reach allows the directories of tests.
var Reach = func() *ldap.Reach {
	place, err := ldap.ParsePlace(Host)
	if err != nil {
		panic(err)
	}
	return &ldap.Reach{Allow: []ldap.Place{place}}
}()

// Stop ends the server cleanly; Restart may follow.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Kill ends the server at once, even a paused one; Restart may follow. The server may have ended already.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Pause leaves the server alive and silent: until Resume, connections succeed and get no response.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume ends a Pause.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

// Restart runs an ended server again, with its data and on its ports.
func (s *Server) Restart() {
	s.tb.Helper()
	if err := s.run(); err != nil {
		s.tb.Fatal(err)
	}
}

// run starts the process and returns when it listens.
func (s *Server) run() error {
	urls := fmt.Sprintf("ldap://%s:%d", Host, s.Port)
	if s.TLSPort != 0 {
		urls += fmt.Sprintf(" ldaps://%s:%d", Host, s.TLSPort)
	}
	s.output = newOutput("slapd starting")
	s.process = exec.Command(s.program, "-f", s.path("slapd.conf"), "-h", urls, "-d", "stats") //nolint:gosec,noctx // slapd itself, which end ends
	s.process.Stdout, s.process.Stderr = s.output, s.output
	if err := s.process.Start(); err != nil {
		return fmt.Errorf("starting slapd: %w", err)
	}
	ended := make(chan struct{})
	s.ended = ended
	go func(process *exec.Cmd) {
		_ = process.Wait() // how it ended is in its log
		close(ended)
	}(s.process)
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case <-s.output.seen: // the ports are its own, and it is about to listen
		if s.listens(late.C) {
			return nil
		}
	case <-s.ended:
	case <-late.C:
	}
	s.Kill()
	return fmt.Errorf("starting slapd: it does not listen:\n%s", s.output)
}

// listens waits until both ports accept connections.
func (s *Server) listens(late <-chan time.Time) bool {
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for _, port := range []int{s.Port, s.TLSPort} {
		for port != 0 {
			c, err := net.Dial("tcp", net.JoinHostPort(Host, strconv.Itoa(port))) //nolint:noctx // it answers at once
			if err == nil {
				_ = c.Close()
				break
			}
			select {
			case <-again.C:
			case <-s.ended:
				return false
			case <-late:
				return false
			}
		}
	}
	return true
}

func (s *Server) signal(sig syscall.Signal) {
	s.tb.Helper()
	if err := s.process.Process.Signal(sig); err != nil {
		s.tb.Fatalf("sending %v to slapd: %v", sig, err)
	}
}

func (s *Server) end(sig syscall.Signal) {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(sig) // it may have ended
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case <-s.ended:
	case <-late.C:
		s.tb.Errorf("slapd did not end on %v", sig)
		_ = s.process.Process.Kill()
		<-s.ended
	}
}

func (s *Server) path(name string) string { return filepath.Join(s.folder, name) }

func freePort(tb testing.TB) int {
	tb.Helper()
	port, release, err := porttest.Reserve()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(release)
	return port
}

// Change sets an attribute of the person uid to these values, as the directory's administrator. Without values it removes the
// attribute.
func (s *Server) Change(uid, attribute string, values ...string) {
	s.tb.Helper()
	s.administer(func(conn *goldap.Conn) error {
		request := goldap.NewModifyRequest("uid="+goldap.EscapeDN(uid)+","+PeopleDN, nil)
		request.Replace(attribute, values)
		return conn.Modify(request)
	})
}

// Remove removes the person uid.
func (s *Server) Remove(uid string) {
	s.tb.Helper()
	s.administer(func(conn *goldap.Conn) error {
		return conn.Del(goldap.NewDelRequest("uid="+goldap.EscapeDN(uid)+","+PeopleDN, nil))
	})
}

func (s *Server) administer(do func(*goldap.Conn) error) {
	s.tb.Helper()
	conn, err := goldap.DialURL(fmt.Sprintf("ldap://%s:%d", Host, s.Port))
	if err != nil {
		s.tb.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.Bind("cn=admin,"+BaseDN, AdminPassword); err != nil {
		s.tb.Fatal(err)
	}
	if err := do(conn); err != nil {
		s.tb.Fatal(err)
	}
}

// output keeps what a process writes, and signals when a phrase has appeared.
type output struct {
	phrase string
	seen   chan struct{} // closed with the phrase

	mu   sync.Mutex
	text bytes.Buffer
	done bool
}

func newOutput(phrase string) *output {
	return &output{phrase: phrase, seen: make(chan struct{})}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.text.Write(p)
	if !o.done && strings.Contains(o.text.String(), o.phrase) {
		o.done = true
		close(o.seen)
	}
	return n, err
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
