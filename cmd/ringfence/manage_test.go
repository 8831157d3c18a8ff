package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// runIn is run, with a standard input.
func runIn(t *testing.T, folder string, env []string, in string, args ...string) (string, int) {
	t.Helper()
	cmd := gatewaytest.Command(t, folder, env, args...)
	cmd.Stdin = strings.NewReader(in)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// An operator manages users from afar, with a token, and on the machine, without one.
func TestManage(t *testing.T) {
	for name, address := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := gatewaytest.Start(t, gatewaytest.Settings{Database: address(t)}).Ready(t)
			if name == "sqlite" { // the site is the same with either
				manageFromAfar(t, p)
			}
			// On the machine, at any time. A gateway with SQLite is asked through its admin socket, and nobody need be asked once it is stopped.
			here := func(in string, args ...string) string {
				t.Helper()
				out, status := runIn(t, p.Folder, p.Env, in, args...)
				if status != 0 {
					t.Fatalf("%v: status %d:\n%s", args, status, out)
				}
				return out
			}
			manage(t, here)
			if name == "sqlite" {
				refusedAtSocket(t, p)
				p.Stop(t)
				here("", "group", "remove", "operators")
				here("", "policy", "remove", "readers")
				manage(t, here)
				p.Run(t)
				p.Ready(t)
			}
			token := p.Login(t, "admin", gatewaytest.Password)
			if out := p.Do(t, "GET", "/api/auth/0.1/audit?resource=users", token, "").Want(200); !strings.Contains(out.Body, "olga") {
				t.Errorf("the audit has %s", out.Body)
			}
		})
	}
}

// manageFromAfar manages users through the gateway's site.
func manageFromAfar(t *testing.T, p *gatewaytest.Process) {
	t.Helper()
	folder := t.TempDir()
	pem, _ := run(t, p.Folder, p.Env, "certificate", "--pem")
	if err := os.WriteFile(filepath.Join(folder, "gateway.pem"), []byte(pem), 0o600); err != nil {
		t.Fatal(err)
	}
	remote := []string{"--server", "https://localhost:" + p.HTTPSPort, "--cacert", "gateway.pem"}
	out, status := runIn(t, folder, nil, gatewaytest.Password+"\n", append([]string{"token", "add", "admin", "--output", "token"}, remote...)...)
	if info, err := os.Stat(filepath.Join(folder, "token")); status != 0 || err != nil || info.Mode() != 0o600 {
		t.Fatalf("status %d, %v:\n%s", status, err, out)
	}
	do := func(in string, args ...string) string {
		t.Helper()
		out, status := runIn(t, folder, nil, in, append(append(args, remote...), "--token-file", "token")...)
		if status != 0 {
			t.Fatalf("%v: status %d:\n%s", args, status, out)
		}
		return out
	}
	manage(t, do)
	session(t, do)
	do("", "user", "add", "username=olga", "enabled=true", "--add-group", "operators")
	p.Do(t, "GET", "/api/auth/0.1/users?username=olga", p.Login(t, "admin", gatewaytest.Password), "").Want(200)
	for _, command := range [][]string{{"user", "remove", "olga"}, {"group", "remove", "operators"}, {"policy", "remove", "readers"}} {
		do("", command...)
	}
}

// refusedAtSocket fails if a gateway serves operators on a socket that others can open, or of a database that is not its own. The error has the
// command that helps.
func refusedAtSocket(t *testing.T, p *gatewaytest.Process) {
	t.Helper()
	socket := filepath.Join(p.Data, "admin.sock")
	refused := func(why string, env ...string) {
		t.Helper()
		out, status := run(t, p.Folder, append(p.Env, env...), "user", "list")
		if status == 0 || !strings.Contains(out, why) || !strings.Contains(out, "ringfence user list --server https://localhost:"+p.HTTPSPort+" --cacert ") {
			t.Errorf("%s: status %d:\n%s", why, status, out)
		}
	}
	for _, mode := range []os.FileMode{0o666, 0o660, 0o620} {
		if err := os.Chmod(socket, mode); err != nil {
			t.Fatal(err)
		}
		refused("only its owner can open")
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		t.Fatal(err)
	}
	other := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	refused("another database", "RINGFENCE_ADMIN_SOCKET="+filepath.Join(other.Data, "admin.sock"))
	refused("no such file", "RINGFENCE_ADMIN_SOCKET="+filepath.Join(p.Data, "nothing.sock"))
}

// manage makes a policy, a group and a user, and removes the user.
func manage(t *testing.T, do func(in string, args ...string) string) {
	t.Helper()
	do("", "policy", "add", "name=readers", "acl=confd.voicemails.read", "acl=confd.voicemails.*.read")
	do("", "group", "add", "name=operators", "--add-policy", "readers")
	do("the password of olga\n", "user", "add", "username=olga", "purpose=external_api", "--add-group", "operators", "--password-stdin")
	out := do("", "user", "set", "olga", "firstname=Olga", "--add-policy", "readers", "--json")
	var user struct {
		Username, Firstname, Purpose string
		Enabled                      bool
	}
	if err := json.Unmarshal([]byte(out), &user); err != nil || user.Username != "olga" || user.Firstname != "Olga" || user.Purpose != "external_api" || !user.Enabled {
		t.Errorf("%+v, %v\n%s", user, err, out)
	}
	if out := do("", "user", "list", "--search", "olga"); !strings.HasPrefix(out, "UUID ") || strings.Count(out, "\n") != 2 || !strings.Contains(out, "Olga") {
		t.Errorf("the list is\n%s", out)
	}
	if out := do("", "policy", "show", "readers"); !strings.Contains(out, "confd.voicemails.read, confd.voicemails.*.read") {
		t.Errorf("the policy is\n%s", out)
	}
	do("", "policy", "set", "readers", "acl=confd.voicemails.read")
	if out := do("", "policy", "show", "readers"); strings.Contains(out, "*") {
		t.Errorf("the policy is\n%s", out)
	}
	do("", "tenant", "add", "name=branch", "slug=branch", "domain_names=branch.example.com")
	do("", "tenant", "set", "branch", "phone=555")
	do("", "group", "add", "name=there", "--tenant", "branch")
	do("", "group", "set", "there", "name=here")
	if out := do("", "tenant", "show", "branch"); !strings.Contains(out, "branch.example.com") || !strings.Contains(out, "555") {
		t.Errorf("the tenant is\n%s", out)
	}
	do("", "group", "remove", "here")
	do("", "tenant", "remove", "branch")
	do("", "user", "remove", "olga")
}

// session ends a session of the administrator's, of two.
func session(t *testing.T, do func(in string, args ...string) string) {
	t.Helper()
	token := strings.TrimSpace(do(gatewaytest.Password+"\n", "token", "add", "admin", "--expiration", "1h"))
	if !strings.Contains(do("", "token", "list"), "admin") || len(token) < 20 {
		t.Errorf("the token is %q", token)
	}
	sessions := do("", "token", "list", "--search", "admin", "--json")
	var all []struct {
		UUID    string
		Current bool
	}
	if err := json.Unmarshal([]byte(sessions), &all); err != nil || len(all) != 2 {
		t.Fatalf("%v:\n%s", err, sessions)
	}
	for _, s := range all {
		if !s.Current {
			do("", "token", "remove", s.UUID)
		}
	}
	if left := do("", "token", "list", "--search", "admin"); strings.Count(left, "\n") != 2 {
		t.Errorf("left are\n%s", left)
	}
}

func TestManageIsRefused(t *testing.T) {
	p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	folder := t.TempDir()
	pem, _ := run(t, p.Folder, p.Env, "certificate", "--pem")
	token := p.Login(t, "admin", gatewaytest.Password)
	for name, text := range map[string]string{"gateway.pem": pem, "token": token, "wrong": "x" + token[1:]} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "open"), []byte(token), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(folder, "open"), 0o644); err != nil {
		t.Fatal(err)
	}
	server := "https://localhost:" + p.HTTPSPort
	remote := []string{"--server", server, "--cacert", "gateway.pem", "--token-file", "token"}
	with := func(args ...string) []string { return append(args, remote...) }
	for _, tt := range []struct {
		args []string
		want string
	}{
		{with("user", "add", "username=x", "password=hush"), "seen by others"},
		{with("user", "add", "usernam=x"), "is no attribute of a user"},
		{with("user", "add", "uuid"), "is no attribute of a user"},
		{with("user", "add", "username"), "write username=<value>"},
		{with("user", "add"), "write: ringfence user add <attribute>=<value>..."},
		{with("user", "set", "admin", "password=hush"), "ringfence admin reset-password"},
		{with("user", "show"), "write: ringfence user show <username or uuid>"},
		{with("user", "list", "--limit", "3"), "\"ringfence user list --help\" lists the flags"},
		{with("user", "add", "username=x", "username=y"), "given twice"},
		{with("user", "add", "username=x", "purpose=none"), "purpose"},
		{with("user", "set", "admin", "enabled=maybe"), "must be true or false"},
		{with("user", "set", "admin"), "say what to change"},
		{with("user", "show", "nobody"), "there is no user \"nobody\""},
		{with("user", "show", "no\x1b[31mbody"), "without control characters"},
		{with("user", "add", "no\x1b[31mbody=x"), "\"no�[31mbody\" is no attribute"},
		{with("user", "set", "admin", "--add-policy", "nothing"), "there is no policy"},
		{with("user", "list", "--tenant", "nothing"), "there is no tenant"},
		{with("token", "remove", "admin"), "not the UUID of a token"},
		{with("token", "remove", "8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e"), "there is no session 8a9f6a0e"},
		{with("user", "list", "--data", "x"), "use one of them"},
		{[]string{"user", "list", "--server", server, "--token-file", "token"}, "--cacert gateway.pem"},
		{[]string{"user", "list", "--server", server, "--cacert", "gateway.pem"}, "refused (401)"},
		{[]string{"user", "list", "--server", server, "--cacert", "gateway.pem", "--token-file", "wrong"}, "refused (401)"},
		{[]string{"user", "list", "--server", server, "--cacert", "gateway.pem", "--token-file", "open"}, "open to other users"},
		{[]string{"user", "list", "--server", server, "--cacert", "token"}, "no certificate in PEM"},
		{[]string{"user", "list", "--server", "http://localhost:" + p.HelpersPort, "--token-file", "token"}, "https://"},
		{[]string{"user", "list", "--server", "https://u:hush@localhost"}, "without a path"},
		{[]string{"user", "list", "--server", server + "/?token=hush"}, "without a path"},
		{[]string{"user", "list", "--token-file", "token"}, "is for --server"},
		{[]string{"user", "list"}, "there is no database"},
		{[]string{"token", "add", "admin"}, "name it with --server"},
		{[]string{"token", "add", "admin", "--server", server, "--cacert", "gateway.pem", "--output", "token"}, "is not replaced"},
		{[]string{"token", "add", "admin", "--server", server, "--cacert", "gateway.pem", "--expiration", "500ms"}, "must be 1s or more"},
		{[]string{"user", "nothing"}, "unknown command"},
		{[]string{"user", "nothing"}, "\"ringfence user --help\" lists its commands"},
		{[]string{"restore"}, "write: ringfence restore <file>"},
	} {
		out, status := run(t, folder, nil, tt.args...)
		if status == 0 || !strings.Contains(out, tt.want) || strings.Contains(out, "hush") || strings.Contains(out, token) {
			t.Errorf("%v: status %d, want %q:\n%s", tt.args, status, tt.want, out)
		}
	}
	if out, status := runIn(t, folder, nil, "wrong\n", "token", "add", "admin", "--server", server, "--cacert", "gateway.pem"); status == 0 || !strings.Contains(out, "the password is wrong") {
		t.Errorf("status %d:\n%s", status, out)
	}
	if out, status := run(t, folder, []string{"RINGFENCE_TOKEN=" + token}, "user", "list", "--server", server, "--cacert", "gateway.pem"); status != 0 || !strings.Contains(out, "admin") {
		t.Errorf("with the variable: status %d:\n%s", status, out)
	}
	p.Do(t, "POST", "/api/auth/0.1/token", "", "{}", resttest.Basic("admin", gatewaytest.Password)).Want(200)
}
