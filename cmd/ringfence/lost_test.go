package main_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/store/sqlite"
)

// A gateway does not mistake a lost database for a new installation.
func TestLostDatabaseIsNoNewInstallation(t *testing.T) {
	p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	p.Stop(t)
	file := filepath.Join(p.Data, "ringfence.db")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, lose := range map[string]func() error{
		"missing":   func() error { return os.Remove(file) },
		"empty":     func() error { return os.WriteFile(file, nil, 0o600) },
		"no tables": func() error { return os.WriteFile(file, emptyDatabaseFile(t), 0o600) },
		"damaged": func() error {
			return os.WriteFile(file, append(bytes.Clone(whole[:4096]), make([]byte, len(whole)-4096)...), 0o600)
		},
		"no database": func() error { return os.WriteFile(file, bytes.Repeat([]byte("junk "), 5000), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := lose(); err != nil {
				t.Fatal(err)
			}
			out, status := run(t, p.Folder, p.Env, "run", "--config", caddyfile())
			if status == 0 || !strings.Contains(out, "ringfence.db") || !strings.Contains(out, "backup") || strings.Contains(out, "administrator was created") {
				t.Errorf("status %d:\n%s", status, out)
			}
			if err := os.WriteFile(file, whole, 0o600); err != nil { // the backup
				t.Fatal(err)
			}
			for _, beside := range []string{"-wal", "-shm"} {
				if err := os.Remove(file + beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
			}
		})
	}
	p.Run(t)
	p.Ready(t).Login(t, "admin", gatewaytest.Password)
	p.Stop(t)
	if err := os.RemoveAll(p.Data); err != nil { // remove the whole folder to begin anew
		t.Fatal(err)
	}
	p.Run(t)
	p.Ready(t).Login(t, "admin", gatewaytest.Password)
}

// emptyDatabaseFile returns a valid SQLite file without tables.
func emptyDatabaseFile(t *testing.T) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.db")
	db, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"CREATE TABLE a (b text)", "DROP TABLE a"} {
		if _, err := db.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
