package pgserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ringfence/ringfence/internal/porttest"
)

// How long a server may take to start, also if it recovers from a crash, and to stop.
const (
	startWait = 60 * time.Second
	stopWait  = 30 * time.Second
	poll      = 20 * time.Millisecond
)

// Server is one PostgreSQL cluster with its server process. Its methods are for one goroutine.
type Server struct {
	durable               bool
	bin, folder, password string
	port                  int
	release               func() // the port
	as                    *syscall.Credential

	process *exec.Cmd
	ended   chan struct{} // closed when the process and all its children have ended
}

// Start creates a cluster and starts it. What it commits outlives the end of its processes; what is durable outlives the end of
// the machine too, as an installation's does, and pays for it. The caller calls Remove at the end.
func Start(ctx context.Context, durable bool) (*Server, error) {
	bin, err := Programs()
	if err != nil {
		return nil, err
	}
	s := &Server{durable: durable, bin: bin, password: rand.Text()}
	if err := s.makeFolder(); err != nil {
		return nil, err
	}
	if err := s.initialize(ctx); err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	if err := s.Run(ctx); err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	return s, nil
}

// DSN returns the address of a database, for the superuser. The cluster has the database "postgres".
func (s *Server) DSN(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword("postgres", s.password),
		Host: s.Address(), Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Address returns host and port.
func (s *Server) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Password returns the superuser's password.
func (s *Server) Password() string { return s.password }

// Log returns the output of the server.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.path("log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (s *Server) path(name string) string { return filepath.Join(s.folder, name) }

// makeFolder creates the temporary folder, owned by the server's user. It is not below a folder of a test, because that user may
// not enter its parents.
func (s *Server) makeFolder() error {
	as, err := account()
	if err != nil {
		return err
	}
	s.as = as
	if s.folder, err = os.MkdirTemp("", "ringfence-postgres-"); err != nil {
		return fmt.Errorf("making the cluster's folder: %w", err)
	}
	if s.port, s.release, err = porttest.Reserve(); err != nil {
		return errors.Join(err, os.RemoveAll(s.folder))
	}
	if err := s.own(s.folder); err != nil {
		s.release()
		return errors.Join(err, os.RemoveAll(s.folder))
	}
	return nil
}

// own gives a file to the server's user.
func (s *Server) own(path string) error {
	if s.as == nil {
		return nil
	}
	return os.Chown(path, int(s.as.Uid), int(s.as.Gid))
}

func (s *Server) initialize(ctx context.Context) error {
	secret := s.path("password")
	if err := os.WriteFile(secret, []byte(s.password+"\n"), 0o600); err != nil {
		return err
	}
	if err := s.own(secret); err != nil {
		return err
	}
	// SCRAM costs each connection thousands of hashes, on both sides.
	arguments := []string{
		"-D", s.path("data"), "-U", "postgres", "--auth=md5", "--pwfile=" + secret,
		"--encoding=UTF8", "--no-sync", "--no-instructions",
	}
	// A locale that sorts by a language, as most installations have: sorting by bytes would hide differences from SQLite.
	err := s.run(ctx, "initdb", append(arguments, "--locale=C", "--locale-provider=icu", "--icu-locale=en-US")...)
	if err != nil { // an older server, or one without ICU
		if err := os.RemoveAll(s.path("data")); err != nil {
			return err
		}
		err = s.run(ctx, "initdb", append(arguments, "--no-locale")...)
	}
	return err
}

// run runs one of the server's programs and waits for it.
func (s *Server) run(ctx context.Context, program string, arguments ...string) error {
	cmd := s.command(ctx, program, arguments...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("running %s: %w: %s", program, err, strings.TrimSpace(out.String()))
	}
	return nil
}

// command prepares a program, in a process group of its own: Ctrl-C on the terminal is for the tests, which then stop the server
// themselves.
func (s *Server) command(ctx context.Context, program string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, program), arguments...) //nolint:gosec // PostgreSQL's own programs
	cmd.Dir = s.folder
	cmd.Env = append(os.Environ(), "PGPASSWORD="+s.password, "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Setpgid: true}
	return cmd
}

// Run starts the server process, also after Stop or Kill, on the same port, and returns when it accepts connections.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	log, err := os.OpenFile(s.path("log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	synced := "off"
	if s.durable {
		synced = "on"
	}
	// The process outlives ctx, which is only for starting it.
	cmd := s.command(context.WithoutCancel(ctx), "postgres", "-D", s.path("data"),
		"-c", "listen_addresses=127.0.0.1", "-c", "port="+strconv.Itoa(s.port),
		"-c", "unix_socket_directories="+s.folder,
		"-c", "fsync="+synced, "-c", "full_page_writes="+synced, "-c", "max_connections=200", "-c", "shared_buffers=64MB")
	cmd.Stdout, cmd.Stderr = log, log
	// The server's children inherit this end of the pipe: the pipe ends when the last of them has ended. Those of a killed server
	// live until they notice, and respond meanwhile.
	alive, held, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.ExtraFiles = []*os.File{held}
	err = cmd.Start()
	_ = held.Close()
	if err != nil {
		_ = alive.Close()
		return fmt.Errorf("starting postgres: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		_, _ = io.Copy(io.Discard, alive)
		_ = alive.Close()
		close(ended)
	}()
	s.process, s.ended = cmd, ended

	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if s.ready() {
				return nil
			}
		case <-ended:
			s.process = nil
			return fmt.Errorf("starting postgres: it ended: %s", s.Log())
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("starting postgres: %w: %s", ctx.Err(), s.Log()), s.Kill())
		}
	}
}

// ready reads the server's status: its own process, and in the eighth line that it accepts connections, or read-only ones.
func (s *Server) ready() bool {
	text, err := os.ReadFile(filepath.Join(s.path("data"), "postmaster.pid"))
	if err != nil {
		return false
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 8 || strings.TrimSpace(lines[0]) != strconv.Itoa(s.process.Process.Pid) {
		return false
	}
	state := strings.TrimSpace(lines[7])
	return state == "ready" || state == "standby"
}

// Stop shuts the server down and disconnects its clients. When it returns, nothing responds any more.
func (s *Server) Stop() error { return s.end(syscall.SIGINT) }

// Kill kills the server with SIGKILL, as a crash would, and waits for its children, as Stop does.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

func (s *Server) end(signal syscall.Signal) error {
	if s.process == nil {
		return nil
	}
	if err := s.process.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping postgres: %w", err)
	}
	defer func() { s.process = nil }()
	select {
	case <-s.ended:
		return nil
	case <-time.After(stopWait):
	}
	_ = s.process.Process.Kill()
	select {
	case <-s.ended:
		return nil
	case <-time.After(stopWait):
		return errors.New("stopping postgres: processes that it has started do not end")
	}
}

// Remove stops the server and removes its folder.
func (s *Server) Remove() error {
	defer s.release()
	return errors.Join(s.Stop(), os.RemoveAll(s.folder))
}

// Standby creates and starts a second server that follows this one.
func (s *Server) Standby(ctx context.Context) (*Server, error) {
	standby := &Server{durable: s.durable, bin: s.bin, password: s.password}
	if err := standby.makeFolder(); err != nil {
		return nil, err
	}
	err := standby.run(ctx, "pg_basebackup", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", "postgres",
		"-D", standby.path("data"), "-R", "-X", "stream", "-c", "fast", "--no-sync")
	if err == nil {
		err = standby.Run(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, standby.Remove())
	}
	return standby, nil
}

// Promote makes a standby accept writes.
func (s *Server) Promote(ctx context.Context) error {
	return s.run(ctx, "pg_ctl", "promote", "-w", "-D", s.path("data"))
}
