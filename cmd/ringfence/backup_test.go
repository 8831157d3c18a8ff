package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
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
