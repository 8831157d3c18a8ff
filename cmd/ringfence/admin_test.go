package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

var printed = regexp.MustCompile(`\Ausername: admin\npassword: (\S{20,})\n`)

// With the embedded database, an operator stops the gateway, resets the password, and starts the gateway again.
func TestResetPasswordOfTheAdministrator(t *testing.T) {
	p := gatewaytest.Start(t, gatewaytest.Settings{Env: []string{"RINGFENCE_ADMIN_PASSWORD="}}).Ready(t)
	credentials := filepath.Join(p.Data, "admin-credentials")
	first, err := os.ReadFile(credentials)
	if err != nil {
		t.Fatal(err)
	}
	old := printed.FindStringSubmatch(string(first))
	if old == nil {
		t.Fatalf("the file has %q", first)
	}
	token := p.Login(t, "admin", old[1])
	out, status := run(t, p.Folder, p.Env, "admin", "reset-password", "admin")
	if status == 0 || !strings.Contains(out, "the database file is in use") || !strings.Contains(out, "stop that one first") {
		t.Errorf("while the gateway runs: status %d:\n%s", status, out)
	}
	p.Do(t, "GET", "/api/auth/0.1/users", token, "").Want(200)
	p.Stop(t)

	out, status = run(t, p.Folder, p.Env, "admin", "reset-password", "Admin", "--administrator")
	got := printed.FindStringSubmatch(out)
	if status != 0 || got == nil || got[1] == old[1] || !strings.Contains(out, "admin-credentials, which had the old password, was removed.") {
		t.Fatalf("status %d:\n%s", status, out)
	}
	if _, err := os.Stat(credentials); !os.IsNotExist(err) {
		t.Errorf("the file with the old password: %v", err)
	}
	p.Run(t)
	p.Ready(t)
	p.Do(t, "POST", "/api/auth/0.1/token", "", "{}", resttest.Basic("admin", old[1])).Want(401)
	p.Do(t, "GET", "/api/auth/0.1/users", token, "").Want(401)
	p.Do(t, "GET", "/api/auth/0.1/users", p.Login(t, "admin", got[1]), "").Want(200)
}

// On PostgreSQL the gateways keep running, and forget the user's sessions.
func TestResetPasswordBesideRunningGateways(t *testing.T) {
	address, _ := emptyDatabase(t)
	p := gatewaytest.Start(t, gatewaytest.Settings{Database: address}).Ready(t)
	token := p.Login(t, "admin", gatewaytest.Password)
	for range 20 { // certainly cached
		p.Do(t, "GET", "/api/confd/1.1/users", token, "").Want(200)
	}
	cmd := gatewaytest.Command(t, t.TempDir(), []string{"RINGFENCE_DATABASE=" + address}, "admin", "reset-password", "admin", "--stdin")
	cmd.Stdin = strings.NewReader("chosen by hand\nand not this\n")
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "The password of admin is set.\n" {
		t.Fatalf("%v\n%s", err, out)
	}
	gatewaytest.Eventually(t, heard, p.Status(t.Context(), "GET", "/api/confd/1.1/users", token, 401))
	p.Do(t, "POST", "/api/auth/0.1/token", "", "{}", resttest.Basic("admin", gatewaytest.Password)).Want(401)
	p.Login(t, "admin", "chosen by hand")
}

// Changing the password through the API removes the file with the first start's password, before the response.
func TestCredentialsGoWithTheirPassword(t *testing.T) {
	for name, address := range databases {
		t.Run(name, func(t *testing.T) {
			p := gatewaytest.Start(t, gatewaytest.Settings{Database: address(t), Env: []string{"RINGFENCE_ADMIN_PASSWORD="}}).Ready(t)
			file := filepath.Join(p.Data, "admin-credentials")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			password := printed.FindStringSubmatch(string(text))[1]
			token := p.Login(t, "admin", password)
			user := p.Do(t, "GET", "/api/auth/0.1/token/"+token, "", "").Want(200).Text("data.auth_id")
			p.Do(t, "PUT", "/api/auth/0.1/users/"+user, token, `{"username": "admin", "firstname": "Ada"}`).Want(200)
			if _, err := os.Stat(file); err != nil {
				t.Fatalf("the password is still right, and the file is gone: %v", err)
			}
			p.Do(t, "PUT", "/api/auth/0.1/users/"+user+"/password", token, `{"old_password": "`+password+`", "new_password": "another one for ada"}`).Want(204)
			if _, err := os.Stat(file); !os.IsNotExist(err) {
				t.Errorf("the file is still there: %v", err)
			}
		})
	}
}

func TestResetPasswordIsRefused(t *testing.T) {
	p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	p.Stop(t)
	empty := storetest.NewDatabase(t, storetest.Server(t), false)
	nowhere := t.TempDir()
	for _, tt := range []struct {
		name, folder string
		env          []string
		in           string
		args         []string
		want         string
	}{
		{"nobody of this name", p.Folder, p.Env, "", []string{"nobody"}, "there is no such user"},
		{"no name", p.Folder, p.Env, "", nil, "accepts 1 arg"},
		{"two names", p.Folder, p.Env, "", []string{"admin", "root"}, "accepts 1 arg"},
		{"no password", p.Folder, p.Env, "\nadmin\n", []string{"admin", "--stdin"}, "the first line of standard input must be the password"},
		{"nothing at all", p.Folder, p.Env, "", []string{"admin", "--stdin"}, "the first line of standard input must be the password"},
		{"endless password", p.Folder, p.Env, strings.Repeat("x", 5000), []string{"admin", "--stdin"}, "Must have at most 1024 bytes"},
		{"no database", nowhere, nil, "", []string{"admin"}, "there is no database to change"},
		{"another folder", p.Folder, nil, "", []string{"admin", "--data", nowhere}, "there is no database to change"},
		{"no address", p.Folder, nil, "", []string{"admin", "--database", "mysql://x"}, "a database address is"},
		{"unreachable PostgreSQL", p.Folder, nil, "", []string{"admin", "--database", "postgres://x:hush@127.0.0.1:1/x"}, "opening the database"},
		{"somebody else's database", p.Folder, nil, "", []string{"admin", "--database", empty}, "no gateway has ever used this database"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := gatewaytest.Command(t, tt.folder, tt.env, append([]string{"admin", "reset-password"}, tt.args...)...)
			cmd.Stdin = strings.NewReader(tt.in)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), tt.want) || strings.Contains(string(out), "hush") {
				t.Errorf("%v, want %q:\n%s", err, tt.want, out)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(nowhere, "ringfence.db")); !os.IsNotExist(err) {
		t.Errorf("a database was made: %v", err)
	}
	p.Run(t)
	p.Ready(t)
	p.Login(t, "admin", gatewaytest.Password)
	out, status := run(t, p.Folder, nil, "admin")
	if status != 0 || !strings.Contains(out, "reset-password") {
		t.Errorf("without more: status %d:\n%s", status, out)
	}
}
