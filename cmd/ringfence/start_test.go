package main_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

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
	p.Do(t, "GET", "/api/confd/1.1/users", token, "").Want(200) // tokens outlive a restart
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
	if text, status := run(t, folder, nil, "stop"); status != 0 { // through the socket in ./data, the default
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

// Empty variables mean the defaults, as a compose file without values leaves them.
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

// Every character of a password or a path is taken literally.
func TestVariablesAreTakenLiterally(t *testing.T) {
	password := `a{env.HOME}$HOME {$HOME}"'\ b` + "`"
	data := filepath.Join(t.TempDir(), `$HOME, Zoë`)
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
