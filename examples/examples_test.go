package examples_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func TestMain(m *testing.M) { gatewaytest.Main(m) }

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(gatewaytest.Repository(), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// quickstart is the README's block.
func quickstart(t *testing.T) string {
	t.Helper()
	return typed(t, "Quickstart")
}

// typed is what a section of the README has its reader type into a shell.
func typed(t *testing.T, title string) string {
	t.Helper()
	_, section, _ := strings.Cut(read(t, "README.md"), "\n## "+title+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var blocks []string
	for _, block := range strings.Split(section, "\n```sh\n")[1:] {
		block, _, found := strings.Cut(block, "\n```\n")
		if !found {
			t.Fatalf("the README has a block without an end in %s", title)
		}
		blocks = append(blocks, block)
	}
	if len(blocks) == 0 {
		t.Fatalf("the README has nothing to type in %s", title)
	}
	return strings.Join(blocks, "\n")
}

// The README and the script show the same lines in the same order; the script's checks come on top.
func TestReadmeAndScriptAgree(t *testing.T) {
	script := read(t, "examples/quickstart.sh")
	at := 0
	for line := range strings.SplitSeq(quickstart(t), "\n") {
		line, _ = strings.CutPrefix(line, "# ") // the comments are the script's headings
		if line == "" {
			continue
		}
		if line == "URL=https://localhost:8443" { // another port
			line = "URL=https://localhost:"
		}
		n := strings.Index(script[at:], line)
		if n < 0 {
			t.Fatalf("the script does not have, or not in its place, the README's line\n%s", line)
		}
		at += n + len(line)
	}
	calls := regexp.MustCompile(`(?m)^(?:\w+=\$\(|expect \d+ )?rf .*`)
	if readme, script := len(calls.FindAllString(quickstart(t), -1)), len(calls.FindAllString(script, -1)); readme != script || readme < 9 {
		t.Errorf("the README makes %d calls, the script %d", readme, script)
	}
}

// program is a folder with a bin/ringfence in it, as the repository's after `make build`.
func program(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	bin := filepath.Join(folder, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := "#!/bin/sh\n" + gatewaytest.AsCommand + "=1 exec '" + self + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "ringfence"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

func bash(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	return path
}

// The README's own lines, the quickstart's and those that make an operator who can only read voicemails, typed into a shell
// beside a gateway that `make run` has started.
func TestReadmeQuickstart(t *testing.T) {
	shell := bash(t)
	p := gatewaytest.Start(t, gatewaytest.Settings{Folder: program(t), Env: []string{"RINGFENCE_ADMIN_PASSWORD="}}).Ready(t)
	lines := quickstart(t) + "\n" + typed(t, "Roles and permissions")
	lines = strings.Replace(lines, "https://localhost:8443", "https://localhost:"+p.HTTPSPort, 1)
	cmd := exec.CommandContext(t.Context(), shell, "-euo", "pipefail", "-c", lines)
	cmd.Dir = p.Folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed(t, string(out),
		`"items":`, `"total":`, "confd.voicemails.read", "Unauthorized for confd.users.read", "unknown, expired or revoked",
		`"items":`, "Unauthorized for confd.voicemails.1.delete", "Unauthorized for confd.users.read", // olga
		`"allowed":false`, `"username":"olga"`, `"group_name":"operators"`, `"action":"create_user"`)
	ignored := read(t, ".gitignore")
	for _, made := range []string{"bin", "data", "ringfence.pem"} {
		if _, err := os.Stat(filepath.Join(p.Folder, made)); err != nil || !regexp.MustCompile(`(?m)^/`+regexp.QuoteMeta(made)+`/?$`).MatchString(ignored) {
			t.Errorf("%s: it is not there, or git would take it: %v", made, err)
		}
	}
	if files, err := os.ReadDir(p.Folder); err != nil || len(files) > 3 {
		t.Errorf("the quickstart makes more: %v %v", files, err)
	}

	// Again, after the administrator's password has changed, which removes the file that has it.
	credentials, err := os.ReadFile(filepath.Join(p.Folder, "data", "admin-credentials"))
	if err != nil {
		t.Fatal(err)
	}
	_, old, _ := strings.Cut(string(credentials), "password: ")
	old, _, _ = strings.Cut(old, "\n")
	const changed = "Another.password-1"
	admin := p.Login(t, "admin", old)
	me := p.Do(t, "GET", "/api/auth/0.1/token/"+admin, "", "").Want(200).Text("data.auth_id")
	p.Do(t, "PUT", "/api/auth/0.1/users/"+me+"/password", admin, `{"old_password":"`+old+`","new_password":"`+changed+`"}`).Want(204)
	again := exec.CommandContext(t.Context(), shell, "-euo", "pipefail", "-c", "PASSWORD='"+changed+"'\n"+strings.Replace(quickstart(t), "https://localhost:8443", "https://localhost:"+p.HTTPSPort, 1))
	again.Dir = p.Folder
	if out, err = again.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed(t, string(out), `"items":`, `"total":`, "confd.voicemails.read", "Unauthorized for confd.users.read", "unknown, expired or revoked")
}

func TestQuickstartScript(t *testing.T) {
	shell := bash(t)
	for name, address := range map[string]func(t *testing.T) string{
		"sqlite":   func(*testing.T) string { return "" },
		"postgres": func(t *testing.T) string { t.Helper(); return storetest.NewDatabase(t, storetest.Server(t), false) },
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), shell, filepath.Join(gatewaytest.Repository(), "examples", "quickstart.sh"))
			cmd.Env = append(os.Environ(), "RINGFENCE_BIN="+filepath.Join(program(t), "bin"), "RINGFENCE_DATABASE="+address(t),
				"QUICKSTART_PORT="+gatewaytest.FreePort(t), "QUICKSTART_HELPERS_PORT="+gatewaytest.FreePort(t))
			if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "== The quickstart works.\n") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// daemon is a small daemon that answers with what it received. Its address is host:port.
func daemon(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Auth-Token", "the daemon's own")
		_, _ = fmt.Fprintf(w, "%s %s for %s", r.Method, r.RequestURI, r.Header.Get("X-Ringfence-User"))
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func example(name string) string {
	return filepath.Join(gatewaytest.Repository(), "examples", name, "Caddyfile")
}

func TestReverseProxy(t *testing.T) {
	folder := t.TempDir()
	if err := os.Symlink(filepath.Join(gatewaytest.Repository(), "examples"), filepath.Join(folder, "examples")); err != nil {
		t.Fatal(err)
	}
	p := gatewaytest.Start(t, gatewaytest.Settings{
		Config: example("reverse-proxy"), Folder: folder, Env: []string{"CALLD=" + daemon(t), "AGENTD=" + daemon(t)},
	}).Ready(t)
	user, _, token := p.Account(t, p.Login(t, "admin", gatewaytest.Password), "client", "calld.calls.#", "agentd.agents.by-id.17.login.create")
	for _, tt := range []struct {
		method, path, token string
		status              int
		body                string
	}{
		{"GET", "/api/calld/1.0/calls/7", token, 200, "GET /api/calld/1.0/calls/7 for " + user},
		{"DELETE", "/api/calld/1.0/calls/7", token, 200, "DELETE /api/calld/1.0/calls/7 for " + user},
		{"GET", "/api/calld/1.0/status", "", 200, "GET /api/calld/1.0/status for "},
		{"GET", "/api/calld/1.0/calls/7", "", 401, ""},
		{"GET", "/api/calld/1.0/relocates", token, 403, "calld.relocates.read"},
		{"GET", "/api/calld/2.0/calls", token, 404, ""},
		{"POST", "/api/agentd/1.0/agents/by-id/17/login", token, 200, "POST /agents/by-id/17/login for " + user},
		{"POST", "/api/agentd/1.0/agents/by-id/18/login", token, 403, "agentd.agents.by-id.18.login.create"},
		{"GET", "/api/agentd/1.0/agents", token, 403, "agentd.agents.read"},
		{"GET", "/api/agentd/1.0/undocumented", token, 403, "agentd.#"},
	} {
		a := p.Do(t, tt.method, tt.path, tt.token, "")
		if a.Status != tt.status || !strings.Contains(a.Body, tt.body) || a.Header.Get("X-Auth-Token") != "" {
			t.Errorf("%s %s: status %d: %s", tt.method, tt.path, a.Status, a.Body)
		}
	}
}

// The auth server that exists already is another Ringfence here: it speaks the same API.
func TestRemoteTokens(t *testing.T) {
	existing := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	admin := existing.Login(t, "admin", gatewaytest.Password)
	user, policy, token := existing.Account(t, admin, "client", "calld.#")

	const staleness, slack = 2 * time.Second, 5 * time.Second // together under what is trusted by default
	p := gatewaytest.Start(t, gatewaytest.Settings{Config: example("remote-tokens"), Env: []string{
		"AUTH_SERVER=" + existing.URL + "/api/auth", "AUTH_SERVER_CA=" + filepath.Join(existing.Data, "tls", "certificate.pem"),
		"AUTH_SERVER_STALENESS=" + staleness.String(), "CALLD=" + daemon(t),
	}}).Ready(t)
	const path = "/api/calld/1.0/calls/7"
	if a := p.Do(t, "GET", path, token, "").Want(200); !strings.HasSuffix(a.Body, " for "+user) {
		t.Errorf("the daemon was told %s", a.Body)
	}
	p.Do(t, "GET", path, "", "").Want(401)
	p.Do(t, "GET", path, admin, "").Want(200)
	if strings.Contains(p.Output(), "administrator was created") {
		t.Error("a gateway without an authentication service of its own has an administrator")
	}
	if _, err := os.Stat(filepath.Join(p.Data, "ringfence.db")); !os.IsNotExist(err) {
		t.Errorf("it has a database: %v", err)
	}

	// What changes there shows here after the staleness at the latest.
	within := func(token string, status int) {
		t.Helper()
		start := time.Now()
		gatewaytest.Eventually(t, time.Minute, p.Status(t.Context(), "GET", path, token, status))
		if late := time.Since(start); late > staleness+slack {
			t.Errorf("%d came after %s", status, late)
		}
	}
	existing.Do(t, "PUT", "/api/auth/0.1/policies/"+policy, admin, `{"name": "client", "acl": ["calld.calls.8.read"]}`).Want(200)
	within(token, 403)
	existing.Do(t, "DELETE", "/api/auth/0.1/token/"+token, "", "").Want(200)
	within(token, 401)

	// While it is away nobody is told that the token is bad.
	existing.Kill(t)
	within(admin, 503)
	if a := p.Do(t, "GET", path, admin, ""); a.Header.Get("Retry-After") == "" {
		t.Error("a 503 without Retry-After")
	}
	existing.Run(t)
	existing.Ready(t)
	gatewaytest.Eventually(t, time.Minute, p.Status(t.Context(), "GET", path, admin, 200))
}

// The script beside the Caddyfile moves the configuration from an old platform, which is another Ringfence here, and back, for a token of it.
func TestBesideTheOldPlatform(t *testing.T) {
	shell := bash(t)
	old := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	admin := old.Login(t, "admin", gatewaytest.Password)
	user, _, _ := old.Account(t, admin, "client", "confd.users.read")
	old.Do(t, "POST", "/api/auth/0.1/users/password/reset?user_uuid="+user, admin, `{"password":"the password of a client"}`).Want(204)
	name := old.Do(t, "GET", "/api/auth/0.1/users/"+user, admin, "").Want(200).Text("username")

	folder := program(t)
	if err := os.Symlink(filepath.Join(gatewaytest.Repository(), "examples"), filepath.Join(folder, "examples")); err != nil {
		t.Fatal(err)
	}
	certificate := filepath.Join(old.Data, "tls", "certificate.pem")
	for _, args := range [][]string{{"backup", "--output", filepath.Join(folder, "old.zip")}, {"restore", filepath.Join(folder, "old.zip"), "--data", filepath.Join(folder, "data")}} {
		if out, err := gatewaytest.Command(t, old.Folder, nil, args...).CombinedOutput(); err != nil { // as an import would
			t.Fatalf("%v: %s", err, out)
		}
	}
	p := gatewaytest.Start(t, gatewaytest.Settings{Config: example("beside-the-old-platform"), Folder: folder, Env: []string{
		"OLD_PLATFORM=https://localhost:" + old.HTTPSPort, "OLD_PLATFORM_CA=" + certificate, "STALENESS=1s",
	}}).Ready(t)
	cmd := exec.CommandContext(t.Context(), shell, filepath.Join("examples", "beside-the-old-platform", "show.sh"))
	cmd.Dir = folder
	cmd.Env = append(gatewaytest.Command(t, folder, p.Env).Env, "GATE=https://localhost:"+p.HTTPSPort, "NAME="+name, "PASSWORD=the password of a client")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "by this one") != 2 || strings.Count(string(out), "by the old platform") != 2 {
		t.Errorf("%v:\n%s", err, out)
	}
}

// No daemon of an example is waited for without end.
func TestProxiesHaveTimeouts(t *testing.T) {
	for _, name := range []string{"reverse-proxy", "remote-tokens", "asterisk-http", "several-nodes", "beside-the-old-platform"} {
		text, err := os.ReadFile(example(name))
		if err != nil {
			t.Fatal(err)
		}
		proxies := strings.Count(string(text), "\treverse_proxy ") + strings.Count(string(text), "\tringfence_proxy ")
		for _, timeout := range []string{"dial_timeout", "response_header_timeout", "read_timeout", "write_timeout"} {
			if n := strings.Count(string(text), timeout+" "); n != proxies || n == 0 {
				t.Errorf("%s: %d proxies, %d times %s", name, proxies, n, timeout)
			}
		}
	}
}
