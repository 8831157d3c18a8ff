package main_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/internal/store/storetest/pgserver"
)

var program string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "withpostgres-")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(folder, "withpostgres")
	out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	if err != nil {
		panic(string(out))
	}
	status := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(status)
}

// withEnv prepares the program, with or without the variable.
func withEnv(t *testing.T, dsn string, arguments ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, arguments...)
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, storetest.Variable+"=") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	if dsn != "" {
		cmd.Env = append(cmd.Env, storetest.Variable+"="+dsn)
	}
	return cmd
}

func status(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return 0
}

func TestGivenServer(t *testing.T) {
	out, err := withEnv(t, "postgres://given", "--", "sh", "-c", "echo $"+storetest.Variable+"; exit 7").CombinedOutput()
	if status(err) != 7 || string(out) != "postgres://given\n" {
		t.Errorf("status %d: %s", status(err), out)
	}
}

func TestUsage(t *testing.T) {
	for _, arguments := range [][]string{nil, {"--"}} {
		if out, err := withEnv(t, "", arguments...).CombinedOutput(); status(err) != 2 || !strings.Contains(string(out), "usage") {
			t.Errorf("status %d: %s", status(err), out)
		}
	}
	if out, err := withEnv(t, "", "--", "no-such-command").CombinedOutput(); status(err) != 1 || !strings.Contains(string(out), "no-such-command") {
		t.Errorf("status %d: %s", status(err), out)
	}
}

func TestPrivateServer(t *testing.T) {
	if _, err := pgserver.Programs(); err != nil {
		t.Skip(err)
	}
	temporary := t.TempDir()
	if err := os.Chmod(temporary, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(temporary), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := withEnv(t, "", "--", "sh", "-c", "trap 'exit 5' TERM; echo $"+storetest.Variable+"; while :; do sleep 0.1; done")
	cmd.Env = append(cmd.Env, "TMPDIR="+temporary)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 200)
	n, err := out.Read(line)
	if err != nil || !strings.HasPrefix(string(line[:n]), "postgres://postgres:") {
		t.Errorf("the command has %q, %v: %s", line[:n], err, said.String())
	}
	if clusters, _ := filepath.Glob(filepath.Join(temporary, "*")); len(clusters) != 1 {
		t.Errorf("while it runs there are %v", clusters)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); status(err) != 5 {
		t.Errorf("it ended with %v: %s", err, said.String())
	}
	if left, _ := filepath.Glob(filepath.Join(temporary, "*")); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
}
