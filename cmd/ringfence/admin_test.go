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

// An operator resets the password beside the running gateway, on either database: the sessions end, and the file with the old password goes.
// The same works once the gateway is stopped.
func TestResetPasswordOfTheAdministrator(t *testing.T) {
	for name, address := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := gatewaytest.Start(t, gatewaytest.Settings{Database: address(t), Env: []string{"RINGFENCE_ADMIN_PASSWORD="}}).Ready(t)
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
			for range 20 { // certainly cached
				p.Do(t, "GET", "/api/confd/1.1/users", token, "").Want(200)
			}
			out, status := run(t, p.Folder, p.Env, "admin", "reset-password", "Admin", "--administrator")
			got := printed.FindStringSubmatch(out)
			if status != 0 || got == nil || got[1] == old[1] || !strings.Contains(out, "admin-credentials, which had the old password, was removed.") {
				t.Fatalf("status %d:\n%s", status, out)
			}
			if _, err := os.Stat(credentials); !os.IsNotExist(err) {
				t.Errorf("the file with the old password: %v", err)
			}
			gatewaytest.Eventually(t, heard, p.Status(t.Context(), "GET", "/api/confd/1.1/users", token, 401))
			p.Do(t, "POST", "/api/auth/0.1/token", "", "{}", resttest.Basic("admin", old[1])).Want(401)
			p.Do(t, "GET", "/api/auth/0.1/users", p.Login(t, "admin", got[1]), "").Want(200)

			const chosen = "chosen by hand"
			p.Stop(t)
			if out, status := runIn(t, p.Folder, p.Env, chosen+"\nand not this\n", "admin", "reset-password", "admin", "--stdin"); status != 0 || out != "The password of admin is set.\n" {
				t.Fatalf("once it is stopped: status %d:\n%s", status, out)
			}
			p.Run(t)
			p.Ready(t)
			p.Login(t, "admin", chosen)
			p.Do(t, "POST", "/api/auth/0.1/token", "", "{}", resttest.Basic("admin", got[1])).Want(401)
		})
	}
}

// What the command refuses is refused by a running gateway too, and changes nothing; so does a socket that others can open.
func TestResetPasswordIsRefusedAtTheSocket(t *testing.T) {
	p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	token := p.Login(t, "admin", gatewaytest.Password)
	refused := func(why, in string, env []string, args ...string) {
		t.Helper()
		out, status := runIn(t, p.Folder, append(p.Env, env...), in, append([]string{"admin", "reset-password"}, args...)...)
		if status == 0 || !strings.Contains(out, why) || strings.Contains(out, "username: ") {
			t.Errorf("%v: status %d, want %q:\n%s", args, status, why, out)
		}
	}
	refused("there is no such user", "", nil, "nobody")
	refused("Must have at least 8 characters", "short\n", nil, "admin", "--stdin")
	refused("Must have at most 1024 bytes", strings.Repeat("x", 2000)+"\n", nil, "admin", "--stdin")
	tenant := p.Do(t, "POST", "/api/auth/0.1/tenants", token, `{"name":"below"}`).Want(200).Text("uuid")
	p.Do(t, "POST", "/api/auth/0.1/users", token, `{"username":"low","password":"long enough"}`, resttest.In(tenant)).Want(200)
	refused("not in the master tenant", "", nil, "low", "--administrator")
	other := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	refused("another database", "", []string{"RINGFENCE_ADMIN_SOCKET=" + filepath.Join(other.Data, "admin.sock")}, "admin")
	if err := os.Chmod(filepath.Join(p.Data, "admin.sock"), 0o666); err != nil {
		t.Fatal(err)
	}
	refused("only its owner can open", "", nil, "admin")
	for _, args := range [][]string{{"admin", "reset-password", "admin"}, {"demo"}} {
		if out, status := run(t, p.Folder, p.Env, args...); status == 0 || strings.Contains(out, "--server") || !strings.Contains(out, "stop that one first") {
			t.Errorf("%v: status %d:\n%s", args, status, out)
		}
	}
	p.Do(t, "GET", "/api/auth/0.1/users", token, "").Want(200)
	p.Login(t, "admin", gatewaytest.Password)
}

// Changing the password through the API removes the file with the first start's password, before the response.
func TestCredentialsGoWithTheirPassword(t *testing.T) {
	for name, address := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
	if status != 0 || !strings.Contains(out, "reset-password") || !strings.Contains(out, "answer-for") {
		t.Errorf("without more: status %d:\n%s", status, out)
	}
}

// The operator of the machine answers for what a user has set up for others.
func TestAnswerFor(t *testing.T) {
	p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	admin := p.Login(t, "admin", gatewaytest.Password)
	p.Do(t, "POST", "/api/auth/0.1/users", admin, `{"username": "ann", "password": "the first of ann"}`).Want(200)
	for who, want := range map[string]string{"nobody": "there is no such user", "Admin": "had set up 2 ways to log in for others"} {
		if out, status := run(t, p.Folder, p.Env, "admin", "answer-for", who); (status == 0) != (who == "Admin") || !strings.Contains(out, want) {
			t.Errorf("%s: status %d:\n%s", who, status, out)
		}
	}
	p.Login(t, "ann", "the first of ann")
	p.Stop(t)
	if out, status := run(t, p.Folder, p.Env, "admin", "answer-for", "admin"); status != 0 || !strings.Contains(out, "had set up 0 ways") {
		t.Errorf("of a gateway that was stopped: status %d:\n%s", status, out)
	}
}
