package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// A Caddy of one's own, which imports the modules and nothing else of ours, serves the default Caddyfile without a variable but the ports.
func TestOwnBuild(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("go is not installed")
	}
	folder := t.TempDir()
	binary := filepath.Join(folder, "own-build")
	build := exec.CommandContext(t.Context(), goTool, "build", "-o", binary, "./examples/own-build")
	build.Dir = gatewaytest.Repository()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	https, helpers := gatewaytest.FreePort(t), gatewaytest.FreePort(t)
	own := func(args ...string) *exec.Cmd {
		cmd := gatewaytest.Command(t, folder, []string{"RINGFENCE_HTTPS_PORT=" + https, "RINGFENCE_HELPERS_PORT=" + helpers}, args...)
		cmd.Path = binary
		return cmd
	}

	version, err := own("version").CombinedOutput()
	if err != nil || !strings.Contains(string(version), "ringfence") || strings.Contains(string(version), "0.1.0-dev") {
		t.Errorf("version: %v, %s", err, version)
	}

	var output strings.Builder // read when the program has ended
	run := own("run", "--config", filepath.Join(gatewaytest.Repository(), "Caddyfile"))
	run.Stdout, run.Stderr = &output, &output
	run.Cancel = func() error { return run.Process.Signal(syscall.SIGTERM) }
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	g := gatewaytest.New(t, https, helpers)
	for late := time.After(3 * time.Minute); ; {
		if a, err := g.Try(t.Context(), "GET", "/readyz", "", ""); err == nil && a.Status == 200 {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v\n%s", err, output.String())
		case <-late:
			t.Fatal("it is not ready")
		case <-time.After(20 * time.Millisecond):
		}
	}
	g.Do(t, "GET", "/api/confd/1.1/users", "", "").Want(401)
	g.CloseIdleConnections()
	if err := run.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v\n%s", err, output.String())
	}
	for _, file := range []string{"ringfence.db", "admin-credentials"} {
		if _, err := os.Stat(filepath.Join(folder, "data", file)); err != nil {
			t.Error(err)
		}
	}
}
