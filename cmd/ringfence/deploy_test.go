package main_test

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/selfsigned"
)

func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(gatewaytest.Repository(), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// systemd understands the unit, and finds it well protected.
func TestUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "ringfence.service")
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(deployed(t, "deploy/ringfence.service"), "/usr/local/bin/ringfence", self)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", "--man=no", unit}, {"security", "--offline=true", "--threshold=20", unit}} {
		out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput()
		if err != nil || args[0] == "verify" && strings.Contains(string(out), "ringfence.service") {
			t.Errorf("%v: %v\n%s", args[0], err, out)
		}
	}
}

// A certificate of one's own that was renewed is served after the unit's reload, and one that cannot be used changes nothing. Until the reload,
// doctor says that another one is served.
func TestUnitReloadsCertificate(t *testing.T) {
	folder := t.TempDir()
	certificate, key := filepath.Join(folder, "pbx.pem"), filepath.Join(folder, "pbx.key")
	renew := func() (text []byte) {
		t.Helper()
		made := t.TempDir()
		s, err := selfsigned.Open(made, selfsigned.Options{Names: []string{"localhost"}})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		for from, to := range map[string]string{"key.pem": key, "certificate.pem": certificate} {
			if text, err = os.ReadFile(filepath.Join(made, from)); err == nil {
				err = os.WriteFile(to, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		text, err = os.ReadFile(certificate)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	first := renew()
	config := filepath.Join(folder, "Caddyfile")
	text := strings.Replace(deployed(t, "Caddyfile"), "tls {\n\t\tget_certificate ringfence_self_signed\n\t}", "tls "+certificate+" "+key, 1)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := gatewaytest.Start(t, gatewaytest.Settings{Config: config}).Ready(t)
	serves := func(want []byte) { // once the configuration before does not accept any more
		t.Helper()
		block, _ := pem.Decode(want)
		gatewaytest.Eventually(t, patience, func() error {
			conn, err := (&tls.Dialer{Config: &tls.Config{ServerName: "localhost", InsecureSkipVerify: true}}).DialContext(t.Context(), "tcp", "localhost:"+p.HTTPSPort)
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close() }()
			if !bytes.Equal(conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw, block.Bytes) {
				return errors.New("another certificate is served")
			}
			return nil
		})
	}
	reload := regexp.MustCompile(`(?m)^ExecReload=/usr/local/bin/ringfence (.*)$`).FindStringSubmatch(deployed(t, "deploy/ringfence.service"))
	args := strings.Fields(strings.Replace(reload[1], "/etc/ringfence/Caddyfile", config, 1))
	second := renew()
	serves(first)
	if out, _ := run(t, p.Folder, p.Env, "doctor", "--config", config); !strings.Contains(out, "the gateway serves another one") {
		t.Errorf("doctor says\n%s", out)
	}
	if out, status := run(t, p.Folder, p.Env, args...); status != 0 {
		t.Errorf("status %d:\n%s", status, out)
	}
	serves(second)
	if out, _ := run(t, p.Folder, p.Env, "doctor", "--config", config); strings.Contains(out, "the gateway serves another one") {
		t.Errorf("doctor says\n%s", out)
	}
	if err := os.WriteFile(certificate, first, 0o600); err != nil { // not the key's
		t.Fatal(err)
	}
	if out, status := run(t, p.Folder, p.Env, args...); status == 0 || !strings.Contains(out, "private key does not match") {
		t.Errorf("status %d:\n%s", status, out)
	}
	serves(second)
}

// Who follows docs/apply.md has the gateway write to Asterisk's folders, which the unit must let it do.
func TestUnitWritesForAsterisk(t *testing.T) {
	var writable []string
	for _, m := range regexp.MustCompile(`(?m)^ReadWritePaths=(.*)$`).FindAllStringSubmatch(deployed(t, "deploy/ringfence.service"), -1) {
		writable = append(writable, strings.Fields(m[1])...)
	}
	folders := regexp.MustCompile(`RINGFENCE_\w+_FOLDER=(/\S+)`).FindAllStringSubmatch(deployed(t, "docs/apply.md"), -1)
	if len(folders) != 4 {
		t.Fatalf("docs/apply.md names %q", folders)
	}
	for _, m := range folders {
		if !slices.Contains(writable, "-"+m[1]) { // the unit starts without it too
			t.Errorf("%s is read-only for the unit", m[1])
		}
	}
}

// The image has a static program and no root, and is made of files that are there.
func TestDockerfile(t *testing.T) {
	text := deployed(t, "deploy/Dockerfile")
	stages := strings.Split(text, "\nFROM ")
	last := stages[len(stages)-1]
	if len(stages) != 3 || !strings.HasPrefix(last, "scratch\n") || !regexp.MustCompile(`(?m)^USER [1-9][0-9]*:[1-9][0-9]*$`).MatchString(last) || !strings.Contains(stages[1], "CGO_ENABLED=0") {
		t.Errorf("the Dockerfile is\n%s", text)
	}
	for _, m := range regexp.MustCompile(`(?m)^COPY ([^-.].*) \S+$`).FindAllStringSubmatch(text, -1) {
		for name := range strings.FieldsSeq(m[1]) {
			if _, err := os.Stat(filepath.Join(gatewaytest.Repository(), name)); err != nil {
				t.Error(err)
			}
		}
	}
	ignored := strings.Split(deployed(t, ".dockerignore"), "\n")
	for _, secret := range []string{".git", "bin", "data"} { // a gateway was perhaps run here
		if !slices.Contains(ignored, secret) {
			t.Errorf("%s gets into the stage that builds", secret)
		}
	}
	module := deployed(t, "go.mod")
	if version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(module); !strings.Contains(text, "FROM golang:"+version[1]+" ") {
		t.Errorf("the image is not made with Go %s", version[1])
	}
}

// The filter for fail2ban finds each failed login in what the gateway itself writes, whatever somebody typed, and nothing else.
func TestFail2banFilter(t *testing.T) {
	failregex := regexp.MustCompile(`(?m)^failregex = (.*)$`).FindStringSubmatch(deployed(t, "deploy/fail2ban/ringfence.conf"))
	if failregex == nil {
		t.Fatal("the filter has no failregex")
	}
	failed := regexp.MustCompile(strings.Replace(failregex[1], "<ADDR>", `[0-9a-f.:]+`, 1))
	p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	p.Login(t, "admin", gatewaytest.Password)
	logins := []string{"admin", `x","msg":"a login failed","remote_addr":"203.0.113.1` + "\n\x1b[31m"}
	for _, login := range logins {
		p.Do(t, "POST", authBase+"/token", "", "{}", resttest.Basic(login, "wrong")).Want(401)
	}
	p.Do(t, "POST", authBase+"/token", "", "", resttest.Basic("admin", "wrong")).Want(400)
	found := 0
	for line := range strings.Lines(p.Output()) {
		if !strings.Contains(line, "a login ") {
			continue
		}
		if strings.Count(line, `"request_id"`) != 1 {
			t.Errorf("logged: %s", line)
		}
		found += len(failed.FindAllString(line, -1))
	}
	if found != len(logins) {
		t.Errorf("the filter finds %d logins, want %d, in\n%s", found, len(logins), p.Output())
	}
}

// The commands of docs/operations.md work, in their order.
func TestOperationsDocument(t *testing.T) {
	text := deployed(t, "docs/operations.md")
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1)
	if len(blocks) != 4 || !strings.HasPrefix(blocks[1][1], "ringfence doctor ") {
		t.Fatalf("the blocks are %q", blocks)
	}
	doctor, backup, restore := "cp "+caddyfile()+" . && "+blocks[1][1], blocks[2][1], blocks[3][1]
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	programs := t.TempDir()
	if err := os.Symlink(self, filepath.Join(programs, "ringfence")); err != nil {
		t.Fatal(err)
	}
	p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	run := func(script string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
		cmd.Dir = p.Folder
		cmd.Env = append(append(os.Environ(), p.Env...), gatewaytest.AsCommand+"=1", "PATH="+programs+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s%v\n%s", script, err, out)
		}
	}
	run(doctor + backup)
	token := p.Login(t, "admin", gatewaytest.Password)
	p.Stop(t)
	run(restore)
	p.Run(t)
	p.Ready(t)
	p.Do(t, "GET", "/api/auth/0.1/users", token, "").Want(401) // it is younger than the backup
	p.Login(t, "admin", gatewaytest.Password)
}
