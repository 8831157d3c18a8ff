package main_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/store/sqlite"
)

// run runs a command to its end and answers what it wrote.
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

func TestFirstStart(t *testing.T) {
	p := gatewaytest.Start(t, gatewaytest.Settings{Env: []string{"RINGFENCE_ADMIN_PASSWORD="}}).Ready(t)

	credentials, err := os.ReadFile(filepath.Join(p.Data, "admin-credentials"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`\Ausername: admin\npassword: (\S{20,})\n\z`).FindStringSubmatch(string(credentials))
	if found == nil {
		t.Fatalf("admin-credentials holds %q", credentials)
	}
	token := p.Login(t, "admin", found[1])
	gatewaytest.Eventually(t, patience, func() error {
		for _, want := range []string{
			`"console":"https://localhost:` + p.HTTPSPort + `/console/"`, `"helpers":"http://localhost:` + p.HelpersPort + `/"`,
			`"file":"data/admin-credentials"`, `"fingerprint":"`, "serving initial configuration",
		} {
			if !strings.Contains(p.Output(), want) {
				return errors.New("the output has no " + want)
			}
		}
		return nil
	})
	for _, secret := range []string{found[1], token} {
		if strings.Contains(p.Output(), secret) {
			t.Errorf("a secret is in the output, which is no terminal:\n%s", p.Output())
		}
	}
	for line := range strings.Lines(p.Output()) {
		if !strings.HasPrefix(line, "{") {
			t.Errorf("a line is not of the log: %q", line)
		}
		if strings.Contains(line, `"level":"warn"`) || strings.Contains(line, `"level":"error"`) {
			t.Errorf("a newcomer is alarmed by %s", line)
		}
	}
	for name, mode := range map[string]fs.FileMode{
		"": 0o700, "admin-credentials": 0o600, "ringfence.db": 0o600, "admin.sock": 0o600, "tls/key.pem": 0o600,
	} {
		info, err := os.Stat(filepath.Join(p.Data, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != mode {
			t.Errorf("%s has mode %o", name, info.Mode().Perm())
		}
	}

	p.Stop(t)
	p.Run(t)
	p.Ready(t)
	p.Do(t, "GET", "/api/confd/1.1/users", token, "").Want(t, 200) // tokens outlive a restart
	if strings.Contains(p.Output(), "administrator was created") {
		t.Errorf("the second start speaks of the first:\n%s", p.Output())
	}
}

// On a terminal the password is shown, once.
func TestFirstStartOnATerminal(t *testing.T) {
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("script, which makes a terminal, is not installed")
	}
	folder, https, helpers := t.TempDir(), gatewaytest.FreePort(t), gatewaytest.FreePort(t)
	g := gatewaytest.New(t, https, helpers)
	inner := gatewaytest.Command(t, folder, []string{"RINGFENCE_HTTPS_PORT=" + https, "RINGFENCE_HELPERS_PORT=" + helpers})
	cmd := exec.CommandContext(t.Context(), script, "-qec", "exec '"+inner.Path+"' run --config '"+caddyfile()+"'", "/dev/null")
	cmd.Env, cmd.Dir = inner.Env, folder
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gatewaytest.Eventually(t, patience, g.Status(t.Context(), "GET", "/readyz", "", 200))
	if text, status := run(t, folder, nil, "stop"); status != 0 { // by the socket in ./data, which no argument names
		t.Errorf("stopping: %s", text)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	credentials, err := os.ReadFile(filepath.Join(folder, "data", "admin-credentials"))
	if err != nil {
		t.Fatal(err)
	}
	_, password, _ := strings.Cut(strings.TrimSpace(string(credentials)), "password: ")
	if n := strings.Count(out.String(), password); n != 1 {
		t.Errorf("the password is shown %d times", n)
	}
	for _, want := range []string{"is running.", "API console   https://localhost:" + https + "/console/", "SHA-256 "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the terminal shows no %q:\n%s", want, out.String())
		}
	}
}

func TestRefusedStarts(t *testing.T) {
	port := func(t *testing.T) string { t.Helper(); return gatewaytest.FreePort(t) }
	tests := []struct {
		name string
		env  []string
		want string
	}{
		{"HTTPS port", []string{"RINGFENCE_HTTPS_PORT=abc"}, `RINGFENCE_HTTPS_PORT is "abc"; a port is a number from 1 to 65535`},
		{"port 0", []string{"RINGFENCE_HTTPS_PORT=0"}, `a port is a number from 1 to 65535`},
		{"port too high", []string{"RINGFENCE_HTTPS_PORT=65536"}, `a port is a number from 1 to 65535`},
		{"helpers port", []string{"RINGFENCE_HELPERS_PORT=-1"}, `RINGFENCE_HELPERS_PORT is "-1"`},
		{"another engine", []string{"RINGFENCE_DATABASE=mysql://u:hunter2@h/x"}, "RINGFENCE_DATABASE): a database address is sqlite:///absolute/path"},
		{"no scheme", []string{"RINGFENCE_DATABASE=/var/lib/x.db"}, "RINGFENCE_DATABASE): a database address is sqlite:///absolute/path"},
		{"PostgreSQL's address", []string{"RINGFENCE_DATABASE=postgres://u:hunter2@h:port/x"}, "the PostgreSQL address cannot be read"},
		{"PostgreSQL's option", []string{"RINGFENCE_DATABASE=postgres://u:hunter2@127.0.0.1:1/x?pool_max_conns=many"}, "the PostgreSQL address cannot be read"},
		{"administrator's name", []string{"RINGFENCE_ADMIN_USERNAME=a:b"}, "RINGFENCE_ADMIN_USERNAME"},
		{"too short a password", []string{"RINGFENCE_ADMIN_PASSWORD=hunter2"}, "RINGFENCE_ADMIN_PASSWORD): Must have at least 8 characters"},
		{"administrator's password", []string{"RINGFENCE_ADMIN_PASSWORD=hunter2" + strings.Repeat("x", 1024)}, "RINGFENCE_ADMIN_PASSWORD) is longer than 1024 bytes"},
		{"data is a file", []string{"RINGFENCE_DATA=" + caddyfile()}, "making the data folder (RINGFENCE_DATA)"},
		{"socket's folder", []string{"RINGFENCE_ADMIN_SOCKET=/nonexistent/x.sock"}, "listen unix /nonexistent/x.sock"},
		{"socket's length", []string{"RINGFENCE_ADMIN_SOCKET=/tmp/" + strings.Repeat("x", 100)}, "set RINGFENCE_ADMIN_SOCKET to a shorter one"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := append([]string{"RINGFENCE_HTTPS_PORT=" + port(t), "RINGFENCE_HELPERS_PORT=" + port(t)}, tt.env...)
			out, status := run(t, t.TempDir(), env, "run", "--config", caddyfile())
			if status == 0 || !strings.Contains(strings.ReplaceAll(out, `\"`, `"`), tt.want) {
				t.Errorf("status %d, without %q:\n%s", status, tt.want, out)
			}
			if strings.Contains(out, "hunter2") || strings.Contains(out, "goroutine ") || strings.Contains(out, "REDACTED") {
				t.Errorf("the message has a password, a stack or a hole:\n%s", out)
			}
		})
	}
	t.Run("port in use", func(t *testing.T) {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", ":0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		_, taken, _ := net.SplitHostPort(listener.Addr().String())
		out, status := run(t, t.TempDir(), []string{"RINGFENCE_HTTPS_PORT=" + taken, "RINGFENCE_HELPERS_PORT=" + port(t)}, "run", "--config", caddyfile())
		if status == 0 || !strings.Contains(out, "address already in use") || strings.Contains(out, "ringfence is running") {
			t.Errorf("status %d:\n%s", status, out)
		}
	})
}

// A refused port is no first start: nobody is made, and no password is shown or kept.
func TestRefusedPortMakesNoAdministrator(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, taken, _ := net.SplitHostPort(listener.Addr().String())
	for _, variable := range []string{"RINGFENCE_HTTPS_PORT", "RINGFENCE_HELPERS_PORT"} {
		for range 3 { // Caddy starts the apps in no particular order
			folder := t.TempDir()
			env := []string{"RINGFENCE_HTTPS_PORT=" + gatewaytest.FreePort(t), "RINGFENCE_HELPERS_PORT=" + gatewaytest.FreePort(t), variable + "=" + taken}
			if variable == "RINGFENCE_HELPERS_PORT" {
				local, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = local.Close() }()
				_, port, _ := net.SplitHostPort(local.Addr().String())
				env = append(env, variable+"="+port)
			}
			out, status := run(t, folder, env, "run", "--config", caddyfile())
			if status == 0 || !strings.Contains(out, "address already in use") || strings.Contains(out, "administrator was created") {
				t.Errorf("%s: status %d:\n%s", variable, status, out)
			}
			if _, err := os.Stat(filepath.Join(folder, "data", "admin-credentials")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: credentials are kept: %v", variable, err)
			}
		}
	}
}

// A second gateway on the same data folder, or at the same admin socket, is refused before it touches anything: the first one can still be
// reloaded and stopped. After a crash the folder is free.
func TestSecondRunIsRefused(t *testing.T) {
	for name, address := range databases {
		t.Run(name, func(t *testing.T) {
			p := gatewaytest.Start(t, gatewaytest.Settings{Database: address(t)}).Ready(t)
			socket := filepath.Join(p.Data, "admin.sock")
			before, err := os.Stat(socket)
			if err != nil {
				t.Fatal(err)
			}
			ports := []string{"RINGFENCE_HTTPS_PORT=" + gatewaytest.FreePort(t), "RINGFENCE_HELPERS_PORT=" + gatewaytest.FreePort(t)}
			elsewhere := t.TempDir()
			for _, tt := range []struct {
				name, folder string
				env          []string
				want         string
			}{
				{"the same again", p.Folder, p.Env, "is in use by process"},
				{"other ports", p.Folder, append(slices.Clone(p.Env), ports...), "is in use by process"},
				{"another socket", p.Folder, append(append(slices.Clone(p.Env), ports...), "RINGFENCE_ADMIN_SOCKET="+filepath.Join(elsewhere, "x.sock")), "is in use by process"},
				{"another way to the folder", elsewhere, append(ports, "RINGFENCE_DATA="+filepath.Join(p.Folder, ".", "data")), "is in use by process"},
				{"the same socket", elsewhere, append(ports, "RINGFENCE_ADMIN_SOCKET="+socket), "another process answers at the admin socket"},
			} {
				out, status := run(t, tt.folder, tt.env, "run", "--config", caddyfile())
				if status == 0 || !strings.Contains(out, tt.want) || strings.Contains(out, "administrator was created") {
					t.Errorf("%s: status %d:\n%s", tt.name, status, out)
				}
			}
			if after, err := os.Stat(socket); err != nil || !os.SameFile(before, after) {
				t.Errorf("the socket was replaced: %v", err)
			}
			for _, args := range [][]string{{"validate", "--config", caddyfile()}, {"version"}, {"certificate"}} {
				if out, status := run(t, p.Folder, p.Env, args...); status != 0 {
					t.Errorf("%v beside it: status %d:\n%s", args, status, out)
				}
			}
			if out, err := p.Reload(t, "--force"); err != nil {
				t.Errorf("reloading the first: %v: %s", err, out)
			}
			p.Kill(t)
			p.Run(t)
			p.Ready(t)
			if out, status := run(t, p.Folder, p.Env, "stop"); status != 0 {
				t.Errorf("stopping: %s", out)
			}
			if status := p.Ended(t); status != 0 {
				t.Errorf("it ended with %d", status)
			}
		})
	}
}

// To validate leaves nothing behind, with nothing set and with everything set.
func TestValidateLeavesNothing(t *testing.T) {
	for name, env := range map[string][]string{
		"nothing set": nil,
		"a folder":    {"RINGFENCE_DATA=elsewhere/data", "RINGFENCE_PUBLIC_URL=https://pbx.example.com:8443", "RINGFENCE_DATABASE=sqlite://elsewhere/x.db"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			home := t.TempDir()
			env := append([]string{"HOME=" + home, "XDG_DATA_HOME=" + home, "XDG_CONFIG_HOME=" + home}, env...)
			if out, status := run(t, folder, env, "validate", "--config", caddyfile()); status != 0 || !strings.Contains(out, "Valid configuration") {
				t.Errorf("status %d:\n%s", status, out)
			}
			for _, left := range []string{folder, home} {
				if entries, err := os.ReadDir(left); err != nil || len(entries) > 0 {
					t.Errorf("it left %v, %v", entries, err)
				}
			}
		})
	}
}

// A database that the data folder had, and that is gone, is no new installation.
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
	if err := os.RemoveAll(p.Data); err != nil { // the whole folder: to begin anew
		t.Fatal(err)
	}
	p.Run(t)
	p.Ready(t).Login(t, "admin", gatewaytest.Password)
}

// emptyDatabaseFile is a whole SQLite file without a table.
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

// A login that PostgreSQL refuses, and a database that it has not got, are said at once: to wait mends neither.
func TestRefusedByPostgreSQL(t *testing.T) {
	for name, change := range map[string]func(*url.URL){
		"no such user":     func(u *url.URL) { u.User = url.UserPassword("nobody", "hunter2") },
		"no such database": func(u *url.URL) { u.Path = "/no_such_database" },
	} {
		t.Run(name, func(t *testing.T) {
			u, err := url.Parse(server(t))
			if err != nil {
				t.Fatal(err)
			}
			change(u)
			out, status := run(t, t.TempDir(), []string{
				"RINGFENCE_HTTPS_PORT=" + gatewaytest.FreePort(t), "RINGFENCE_HELPERS_PORT=" + gatewaytest.FreePort(t), "RINGFENCE_DATABASE=" + u.String(),
			}, "run", "--config", caddyfile())
			if status == 0 || !strings.Contains(out, "PostgreSQL refuses the connection") || strings.Contains(out, "hunter2") {
				t.Errorf("status %d:\n%s", status, out)
			}
		})
	}
}

// Empty variables are the defaults, as a compose file without values leaves them.
func TestEmptyVariables(t *testing.T) {
	p := gatewaytest.Start(t, gatewaytest.Settings{Env: []string{
		"RINGFENCE_DATA=", "RINGFENCE_DATABASE=", "RINGFENCE_ADMIN_USERNAME=", "RINGFENCE_ADMIN_SOCKET=",
	}}).Ready(t)
	p.Login(t, "admin", gatewaytest.Password)
	for _, name := range []string{"ringfence.db", "admin.sock"} {
		if _, err := os.Stat(filepath.Join(p.Data, name)); err != nil {
			t.Error(err)
		}
	}
}

// All that is in a password or a path is taken as it is.
func TestVariablesAreTakenLiterally(t *testing.T) {
	password := `a{env.HOME}$HOME {$HOME}"'\ b` + "`"
	data := filepath.Join(t.TempDir(), `the data of $HOME, Zoë`)
	p := gatewaytest.Start(t, gatewaytest.Settings{Env: []string{
		"RINGFENCE_ADMIN_PASSWORD=" + password, "RINGFENCE_ADMIN_USERNAME=Zoë", "RINGFENCE_DATA=" + data,
	}})
	p.Data = data
	p.Ready(t).Login(t, "Zoë", password)
	if _, err := os.Stat(filepath.Join(data, "ringfence.db")); err != nil {
		t.Error(err)
	}
	if out, err := p.Reload(t, "--force"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestReadOnlyDataFolder(t *testing.T) {
	folder := t.TempDir()
	data := filepath.Join(folder, "data")
	if err := os.Mkdir(data, 0o500); err != nil {
		t.Fatal(err)
	}
	cmd := gatewaytest.Command(t, folder, []string{"RINGFENCE_HTTPS_PORT=" + gatewaytest.FreePort(t), "RINGFENCE_HELPERS_PORT=" + gatewaytest.FreePort(t)},
		"run", "--config", caddyfile())
	if os.Geteuid() == 0 { // root may write everywhere
		unprivileged(t, cmd, folder, data)
	}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "data") || !strings.Contains(string(out), "permission denied") || bytes.Contains(out, []byte("goroutine ")) {
		t.Errorf("%v:\n%s", err, out)
	}
}

// unprivileged has the command run as nobody, who owns the folders.
func unprivileged(t *testing.T, cmd *exec.Cmd, folders ...string) {
	t.Helper()
	const nobody = 65534
	reachable := t.TempDir() // of this program: that of the test may be closed to others
	program, err := os.ReadFile(cmd.Path)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path = filepath.Join(reachable, "ringfence")
	if err := os.WriteFile(cmd.Path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(caddyfile())
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(reachable, "Caddyfile")
	if err := os.WriteFile(copied, config, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd.Args[len(cmd.Args)-1] = copied
	for _, folder := range append(folders, reachable) {
		for at := folder; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
			if info, err := os.Stat(at); err == nil && info.Mode().Perm()&0o500 == 0o500 && !strings.HasSuffix(at, "data") {
				if err := os.Chmod(at, 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := os.Chown(folder, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

// Two gateways on one SQLite file would not hear of each other's revocations.
func TestDatabaseInUse(t *testing.T) {
	p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	out, status := run(t, t.TempDir(), []string{
		"RINGFENCE_HTTPS_PORT=" + gatewaytest.FreePort(t), "RINGFENCE_HELPERS_PORT=" + gatewaytest.FreePort(t),
		"RINGFENCE_DATABASE=sqlite://" + filepath.Join(p.Data, "ringfence.db"),
	}, "run", "--config", caddyfile())
	if status == 0 || !strings.Contains(out, "the database file is in use") || !strings.Contains(out, "stop that one first") {
		t.Errorf("status %d:\n%s", status, out)
	}
	p.Do(t, "GET", "/readyz", "", "").Want(t, 200)
}

// To validate a configuration is harmless, also that of a gateway that runs.
func TestValidateTouchesNoDatabase(t *testing.T) {
	p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	if out, status := run(t, p.Folder, p.Env, "validate", "--config", caddyfile()); status != 0 || !strings.Contains(out, "Valid configuration") {
		t.Errorf("status %d:\n%s", status, out)
	}
	p.Login(t, "admin", gatewaytest.Password)

	folder := t.TempDir()
	if out, status := run(t, folder, nil, "validate", "--config", caddyfile()); status != 0 {
		t.Errorf("status %d:\n%s", status, out)
	}
	if _, err := os.Stat(filepath.Join(folder, "data", "ringfence.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a database was made: %v", err)
	}
	out, status := run(t, folder, []string{"RINGFENCE_DATABASE=postgres://nobody@127.0.0.1:1/nothing"}, "validate", "--config", caddyfile())
	if status != 0 {
		t.Errorf("a database was asked: status %d:\n%s", status, out)
	}
}

func TestCommands(t *testing.T) {
	folder := t.TempDir()
	out, status := run(t, folder, nil, "version")
	if status != 0 || !regexp.MustCompile(`\Aringfence \S+, go1\S+, Caddy v2\.\d+\.\d+[^\n]*\n\z`).MatchString(out) {
		t.Errorf("version: status %d, %q", status, out)
	}
	out, status = run(t, folder, nil, "list-modules")
	for _, id := range []string{
		"ringfence", "ringfence.tokens.local", "ringfence.tokens.remote", "tls.get_certificate.ringfence_self_signed",
		"http.handlers.ringfence_gate", "http.handlers.ringfence_auth", "http.handlers.ringfence_confd", "http.handlers.ringfence_helpers", "http.handlers.ringfence_console",
	} {
		if !strings.Contains(out, "\n"+id+"\n") {
			t.Errorf("list-modules: status %d, no %s", status, id)
		}
	}
	// Without a configuration there is still no TCP port to administrate it by.
	out, status = run(t, folder, nil, "stop")
	if status == 0 || !strings.Contains(out, "admin.sock") || strings.Contains(out, "2019") {
		t.Errorf("stop: status %d:\n%s", status, out)
	}
}
