package gatewaytest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/caddyserver/caddy/v2/modules/standard" // as cmd/ringfence has it

	"github.com/ringfence/ringfence/authsvc/password"
	"github.com/ringfence/ringfence/caddymodule"
)

// Passwords are hashed by all gateways of tests at hardly any cost, at which no configuration may: the tests hash hundreds, and count no cost.
func init() { password.DefaultParams = password.Params{Memory: 64, Time: 1, Threads: 1} }

// AsCommand is a variable that turns a test binary into the gateway's command line, if it is set.
const AsCommand = "RINGFENCE_TEST_AS_COMMAND"

// Main runs the tests of a package, or, in a process that [Start] or [Command] started, the gateway's own command line.
func Main(m *testing.M) {
	if os.Getenv(AsCommand) != "" {
		_ = os.Unsetenv(AsCommand)
		caddymodule.Main()
		return
	}
	os.Exit(m.Run())
}

// Repository returns the folder of the go.mod, above the folder in which the tests of a package run.
func Repository() string {
	folder, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		above := filepath.Dir(folder)
		if above == folder {
			panic("there is no go.mod above the working folder")
		}
		folder = above
	}
}

// Password is the first administrator's password of every gateway that [Start] starts, unless the settings say otherwise.
const Password = "the administrator's password"

// Settings say how to start a process.
type Settings struct {
	// Config is the Caddyfile, by default the repository's own.
	Config string
	// Folder is the working folder and holds the data; a temporary one by default.
	Folder string
	// Database is RINGFENCE_DATABASE; empty for the default.
	Database string
	// Env has more variables, as "NAME=value"; the last one counts.
	Env []string
}

// Command prepares one run of the gateway's program, as a newcomer's shell would run it: its environment has only env and the
// system's own variables.
func Command(tb testing.TB, folder string, env []string, args ...string) *exec.Cmd {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), self, args...) //nolint:gosec // this program
	cmd.Dir = folder
	cmd.Env = []string{"GORACE=atexit_sleep_ms=0"} // otherwise the race detector waits for a second at the end of each process
	for _, v := range os.Environ() {
		// GOGC may be set for the tests, and would replace what the program chooses.
		if !strings.HasPrefix(v, "RINGFENCE_") && !strings.HasPrefix(v, "CADDY_") && !strings.HasPrefix(v, "GOGC=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(cmd.Env, AsCommand+"=1"), env...)
	return cmd
}

// Process is a gateway that runs on its own.
type Process struct {
	*Gateway
	// Folder is its working folder, Data its data folder, HTTPSPort and HelpersPort its ports.
	Folder, Data, HTTPSPort, HelpersPort string
	// Env holds the variables that it was started with.
	Env []string

	config string
	cmd    *exec.Cmd
	output *buffer
	ended  chan struct{}
	err    error // how it ended
}

// Start starts a gateway; [Process.Ready] waits for it. It is ended with the test, by SIGTERM, and must then exit with status 0.
func Start(tb testing.TB, s Settings) *Process {
	tb.Helper()
	if s.Folder == "" {
		s.Folder = tb.TempDir()
	}
	if s.Config == "" {
		s.Config = filepath.Join(Repository(), "Caddyfile")
	}
	p := &Process{Folder: s.Folder, Data: filepath.Join(s.Folder, "data"), HTTPSPort: FreePort(tb), HelpersPort: FreePort(tb), config: s.Config}
	p.Env = append([]string{
		"RINGFENCE_HTTPS_PORT=" + p.HTTPSPort, "RINGFENCE_HELPERS_PORT=" + p.HelpersPort,
		"RINGFENCE_ADMIN_PASSWORD=" + Password, "RINGFENCE_DATABASE=" + s.Database,
	}, s.Env...)
	p.Gateway = New(tb, p.HTTPSPort, p.HelpersPort)
	p.Run(tb)
	tb.Cleanup(func() {
		p.Stop(tb)
		if tb.Failed() {
			tb.Logf("the gateway wrote:\n%s", p.Output())
		}
	})
	return p
}

// Run starts the process again after it has ended.
func (p *Process) Run(tb testing.TB) {
	tb.Helper()
	p.cmd, p.output, p.ended = Command(tb, p.Folder, p.Env, "run", "--config", p.config), new(buffer), make(chan struct{})
	p.cmd.Cancel = func() error { return nil } // the cleanup ends it more gently
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func(cmd *exec.Cmd, ended chan struct{}) {
		p.err = cmd.Wait()
		close(ended)
	}(p.cmd, p.ended)
}

// patience is how long a process may take to start or to end, with the race detector on a busy machine.
const patience = 3 * time.Minute

// Ready waits until the gateway and its database are ready.
func (p *Process) Ready(tb testing.TB) *Process {
	tb.Helper()
	p.Until(tb, p.Status(tb.Context(), "GET", "/readyz", "", 200))
	return p
}

// Until retries until try succeeds. It fails the test if the process ends before.
func (p *Process) Until(tb testing.TB, try func() error) {
	tb.Helper()
	Eventually(tb, patience, func() error {
		select {
		case <-p.ended:
			tb.Fatalf("the gateway ended: %v\n%s", p.err, p.Output())
		default:
		}
		return try()
	})
}

// Output returns what the process has written so far.
func (p *Process) Output() string { return p.output.String() }

// Ended waits for the process to end by itself, and returns its exit status.
func (p *Process) Ended(tb testing.TB) int {
	tb.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.Signal(tb, syscall.SIGQUIT) // Go dumps all goroutines, and exits
		select {
		case <-p.ended:
		case <-time.After(patience):
			p.Kill(tb)
		}
		tb.Fatalf("the gateway did not end:\n%s", p.Output())
	}
	return p.cmd.ProcessState.ExitCode()
}

// Kill ends the process by SIGKILL.
func (p *Process) Kill(tb testing.TB) {
	tb.Helper()
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		tb.Error(err)
	}
	<-p.ended
}

// Signal sends a signal to the process.
func (p *Process) Signal(tb testing.TB, s syscall.Signal) {
	tb.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		tb.Error(err)
	}
}

// Stop ends the process by SIGTERM, unless it has ended, and fails the test if its exit status is not 0.
func (p *Process) Stop(tb testing.TB) {
	tb.Helper()
	select {
	case <-p.ended:
		return
	default:
	}
	p.CloseIdleConnections() // a server waits a second for idle ones
	p.Signal(tb, syscall.SIGTERM)
	if status := p.Ended(tb); status != 0 {
		tb.Errorf("the gateway ended with %d:\n%s", status, p.Output())
	}
	if strings.Contains(p.Output(), "DATA RACE") {
		tb.Errorf("the gateway has a data race:\n%s", p.Output())
	}
}

// Reload runs `ringfence reload` in the process's folder and environment.
func (p *Process) Reload(tb testing.TB, args ...string) (string, error) {
	tb.Helper()
	out, err := Command(tb, p.Folder, p.Env, append([]string{"reload", "--config", p.config}, args...)...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("reloading: %w", err)
	}
	return string(out), err
}

// buffer is safe for a process that writes while a test reads.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
