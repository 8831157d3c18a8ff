package main_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/postgres"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/internal/store/storetest/pgserver"
)

func TestMain(m *testing.M) { gatewaytest.Main(m) }

// patience is the time limit for what takes well under a second on an idle machine.
const patience = 3 * time.Minute

// run runs a command to its end and returns its output and exit status.
func run(t *testing.T, folder string, env []string, args ...string) (string, int) {
	t.Helper()
	cmd := gatewaytest.Command(t, folder, env, args...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func caddyfile() string { return filepath.Join(gatewaytest.Repository(), "Caddyfile") }

// freePorts returns variables that give a gateway free ports.
func freePorts(t *testing.T) []string {
	t.Helper()
	return []string{"RINGFENCE_HTTPS_PORT=" + gatewaytest.FreePort(t), "RINGFENCE_HELPERS_PORT=" + gatewaytest.FreePort(t)}
}

// private starts a PostgreSQL server of this test's own, to be stopped and killed.
func private(t *testing.T) *pgserver.Server {
	t.Helper()
	if _, err := pgserver.Programs(); err != nil {
		t.Skip(err)
	}
	s, err := pgserver.Start(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// databases maps each engine to a function that returns the address (RINGFENCE_DATABASE) of a fresh database.
var databases = map[string]func(t *testing.T) string{
	"sqlite":   func(*testing.T) string { return "" },
	"postgres": func(t *testing.T) string { t.Helper(); return storetest.PostgresDSN(t) },
}

// emptyDatabase returns the address of an empty PostgreSQL database, and a connection to it.
func emptyDatabase(t *testing.T) (string, store.DB) {
	t.Helper()
	address := storetest.NewDatabase(t, storetest.Server(t), false)
	db, err := postgres.Open(t.Context(), address, postgres.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return address, db
}
