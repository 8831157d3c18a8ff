package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/postgres"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A gateway's backup is made while it runs, and another gateway runs on it with the other database, and a third with the first: with the
// same users, sessions and certificate.
func TestBackupMovesAnInstallation(t *testing.T) {
	p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	token := p.Login(t, "admin", gatewaytest.Password)
	p.Do(t, "POST", "/api/confd/1.1/users", token, `{"firstname": "Zoë"}`).Want(201)
	user := p.Do(t, "POST", "/api/auth/0.1/users", token, `{"username": "zoe", "password": "secret of zoe", "purpose": "external_api"}`).Want(200).Text("uuid")
	certificate, _ := run(t, p.Folder, p.Env, "certificate", "--pem")

	from, env := p.Folder, p.Env
	for _, address := range []string{storetest.NewDatabase(t, storetest.Server(t), false), ""} {
		file := filepath.Join(t.TempDir(), "ringfence.zip")
		out, status := run(t, from, env, "backup", "--output", file, "--json")
		var said struct{ Rows, Files, Tables int }
		if err := json.Unmarshal([]byte(out), &said); status != 0 || err != nil || said.Rows < 5 || said.Files != 3 || said.Tables < 50 {
			t.Fatalf("status %d, %v:\n%s", status, err, out)
		}
		if out, status := run(t, from, env, "backup", "--output", file); status == 0 || !strings.Contains(out, "is not replaced") {
			t.Errorf("a second time: status %d:\n%s", status, out)
		}
		if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
			t.Errorf("the file's mode is %v, %v", info.Mode(), err)
		}
		folder := t.TempDir()
		if out, status := run(t, folder, []string{"RINGFENCE_DATABASE=" + address}, "restore", file); status != 0 || !strings.Contains(out, " restored\n") {
			t.Fatalf("status %d:\n%s", status, out)
		}
		next := gatewaytest.Start(t, gatewaytest.Settings{Folder: folder, Database: address}).Ready(t)
		if out, status := run(t, folder, next.Env, "restore", file, "--replace"); status == 0 || !strings.Contains(out, "stop that one first") {
			t.Errorf("while the gateway runs: status %d:\n%s", status, out)
		}
		next.Do(t, "GET", "/api/auth/0.1/token/"+token, "", "").Want(200)
		if n := next.Do(t, "GET", "/api/confd/1.1/users?search=zoe", token, "").Want(200).JSON("total"); n != 1.0 {
			t.Errorf("a search finds %v", n)
		}
		next.Do(t, "POST", "/api/auth/0.1/token", "", "{}", resttest.Basic("zoe", "secret of zoe")).Want(200)
		next.Do(t, "GET", "/api/auth/0.1/users/"+user, token, "").Want(200)
		if got, _ := run(t, folder, next.Env, "certificate", "--pem"); got != certificate {
			t.Error("another certificate")
		}
		from, env = folder, next.Env
	}
}

// Ctrl-C leaves no half of a backup, which would have secrets.
func TestInterruptedBackupLeavesNothing(t *testing.T) {
	address := storetest.PostgresDSN(t)
	db, err := postgres.Open(t.Context(), address, postgres.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	folder := t.TempDir()
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // where it is ignored, as in the background of a script, the command ignores it too
	t.Cleanup(func() { signal.Reset(os.Interrupt) })
	var said bytes.Buffer
	err = db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
		if _, err := tx.Exec(ctx, "LOCK TABLE audit IN ACCESS EXCLUSIVE MODE"); err != nil { // the backup waits for it
			return err
		}
		cmd := gatewaytest.Command(t, folder, []string{"RINGFENCE_DATABASE=" + address + "&lock_timeout=0&statement_timeout=0"}, "backup", "--output", "b.zip") // it waits until it is interrupted
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			return err
		}
		gatewaytest.Eventually(t, patience, func() error {
			waiting, err := store.Get[int](ctx, tx, "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())")
			if err == nil && waiting == 0 {
				err = errors.New("it does not wait for the table")
			}
			return err
		})
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			return err
		}
		if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("it ended with %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "interrupted: there is no backup") {
		t.Errorf("it said %q", said.String())
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("it left %v, %v", entries, err)
	}
}

func TestBackupIsRefused(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "junk.zip"), []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"backup"}, "--output must name"},
		{[]string{"backup", "--output", "b.zip"}, "no such file"},
		{[]string{"backup", "--output", "b.zip", "--database", "mysql://x:hush@h"}, "a database address is"},
		{[]string{"backup", "--output", "b.zip", "--database", "postgres://x:hush@127.0.0.1:1/x"}, "connecting to"},
		{[]string{"backup", "b.zip"}, "unknown command"},
		{[]string{"restore"}, "accepts 1 arg"},
		{[]string{"restore", "missing.zip"}, "no such file"},
		{[]string{"restore", "junk.zip"}, "not a whole one"},
		{[]string{"restore", "."}, "not a file"},
		{[]string{"restore", "junk.zip", "--database", "postgres://x:hush@127.0.0.1:1/x"}, "connecting to"}, // before the file is read
	} {
		out, status := run(t, folder, nil, tt.args...)
		if status == 0 || !strings.Contains(out, tt.want) || strings.Contains(out, "hush") {
			t.Errorf("%v: status %d, want %q:\n%s", tt.args, status, tt.want, out)
		}
	}
	if left, err := filepath.Glob(filepath.Join(folder, "*")); err != nil || len(left) != 1 {
		t.Errorf("they left %v, %v", left, err)
	}
}
