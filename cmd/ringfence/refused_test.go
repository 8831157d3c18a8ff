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
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func TestRefusedStarts(t *testing.T) {
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
			out, status := run(t, t.TempDir(), append(freePorts(t), tt.env...), "run", "--config", caddyfile())
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
		out, status := run(t, t.TempDir(), []string{"RINGFENCE_HTTPS_PORT=" + taken, "RINGFENCE_HELPERS_PORT=" + gatewaytest.FreePort(t)}, "run", "--config", caddyfile())
		if status == 0 || !strings.Contains(out, "address already in use: end the program") || strings.Contains(out, "ringfence is running") {
			t.Errorf("status %d:\n%s", status, out)
		}
	})
}

// A start on a refused port is no first start: it creates no administrator, and shows or keeps no password.
func TestRefusedPortMakesNoAdministrator(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, taken, _ := net.SplitHostPort(listener.Addr().String())
	for _, variable := range []string{"RINGFENCE_HTTPS_PORT", "RINGFENCE_HELPERS_PORT"} {
		for range 3 { // Caddy starts the apps in random order
			folder := t.TempDir()
			env := append(freePorts(t), variable+"="+taken)
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

// A second gateway on the same data folder, or on the same admin socket, is refused before it touches anything: the first one can
// still be reloaded and stopped. After a crash the folder is free.
func TestSecondRunIsRefused(t *testing.T) {
	for name, address := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := gatewaytest.Start(t, gatewaytest.Settings{Database: address(t)}).Ready(t)
			socket := filepath.Join(p.Data, "admin.sock")
			before, err := os.Stat(socket)
			if err != nil {
				t.Fatal(err)
			}
			ports := freePorts(t)
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
				{"the same socket", elsewhere, append(ports, "RINGFENCE_ADMIN_SOCKET="+socket), "another process listens on the admin socket"},
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
			p.CloseIdleConnections() // a server waits a second for idle ones
			if out, status := run(t, p.Folder, p.Env, "stop"); status != 0 {
				t.Errorf("stopping: %s", out)
			}
			if status := p.Ended(t); status != 0 {
				t.Errorf("it ended with %d", status)
			}
		})
	}
}

// Two gateways on one SQLite file would not hear of each other's revocations.
func TestDatabaseInUse(t *testing.T) {
	p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	out, status := run(t, t.TempDir(), append(freePorts(t), "RINGFENCE_DATABASE=sqlite://"+filepath.Join(p.Data, "ringfence.db")), "run", "--config", caddyfile())
	if status == 0 || !strings.Contains(out, "the database file is in use") || !strings.Contains(out, "stop that one first") {
		t.Errorf("status %d:\n%s", status, out)
	}
	p.Do(t, "GET", "/readyz", "", "").Want(200)
}

// A start fails at once if PostgreSQL refuses the login or does not have the database: waiting helps with neither.
func TestRefusedByPostgreSQL(t *testing.T) {
	for name, change := range map[string]func(*url.URL){
		"no such user":     func(u *url.URL) { u.User = url.UserPassword("nobody", "hunter2") },
		"no such database": func(u *url.URL) { u.Path = "/no_such_database" },
	} {
		t.Run(name, func(t *testing.T) {
			u, err := url.Parse(storetest.Server(t))
			if err != nil {
				t.Fatal(err)
			}
			change(u)
			out, status := run(t, t.TempDir(), append(freePorts(t), "RINGFENCE_DATABASE="+u.String()), "run", "--config", caddyfile())
			if status == 0 || !strings.Contains(out, "PostgreSQL refuses the connection") || strings.Contains(out, "hunter2") {
				t.Errorf("status %d:\n%s", status, out)
			}
		})
	}
}

func TestReadOnlyDataFolder(t *testing.T) {
	for name, files := range map[string][]string{"new": nil, "old": {"lock", "ringfence.db.lock"}} {
		t.Run(name, func(t *testing.T) { readOnlyDataFolder(t, files) })
	}
}

// Somebody who can replace the database or the keys is everybody: the gateway tells the operator.
func TestDataFolderOfOthers(t *testing.T) {
	p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	const warning = "others can replace the files of the data folder"
	if strings.Contains(p.Output(), warning) {
		t.Errorf("warned of its own folder:\n%s", p.Output())
	}
	p.Stop(t)
	if err := os.Chmod(p.Data, 0o770); err != nil {
		t.Fatal(err)
	}
	p.Run(t)
	p.Ready(t)
	if !strings.Contains(p.Output(), warning) {
		t.Errorf("no warning:\n%s", p.Output())
	}
}

// readOnlyDataFolder starts a gateway on a folder in which nothing can be made or removed, with files that can be written.
func readOnlyDataFolder(t *testing.T, files []string) {
	t.Helper()
	folder := t.TempDir()
	data := filepath.Join(folder, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(data, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(data, name), 0o666); err != nil { // whoever runs it may write them
			t.Fatal(err)
		}
	}
	if err := os.Chmod(data, 0o500); err != nil {
		t.Fatal(err)
	}
	cmd := gatewaytest.Command(t, folder, freePorts(t), "run", "--config", caddyfile())
	if os.Geteuid() == 0 { // root may write everywhere
		unprivileged(t, cmd, folder, data)
	}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "data folder (RINGFENCE_DATA)") || !strings.Contains(string(out), "permission denied") || bytes.Contains(out, []byte("goroutine ")) {
		t.Errorf("%v:\n%s", err, out)
	}
}

// unprivileged runs the command as nobody, who owns the folders.
func unprivileged(t *testing.T, cmd *exec.Cmd, folders ...string) {
	t.Helper()
	const nobody = 65534
	reachable := t.TempDir() // reachable for nobody: the folder of the test binary may not be
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
