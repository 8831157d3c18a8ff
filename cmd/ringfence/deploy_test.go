package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(gatewaytest.Repository(), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The alerts and the dashboard ask only for what a gateway serves.
func TestServedMetrics(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(deployed(t, "deploy/dashboard.json")), &dashboard); err != nil || len(dashboard.Panels) < 8 {
		t.Fatalf("%d panels, %v", len(dashboard.Panels), err)
	}
	var expressions []string
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			expressions = append(expressions, target.Expr)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^ +expr: (.+)$`).FindAllStringSubmatch(deployed(t, "deploy/alerts.yml"), -1) {
		expressions = append(expressions, m[1])
	}
	p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	token := p.Login(t, "admin", gatewaytest.Password)
	p.Do(t, "POST", "/api/auth/0.1/token", "", "{}", resttest.Basic("admin", "wrong")).Want(401)
	p.Do(t, "GET", "/api/auth/0.1/users", token, "").Want(200)
	p.Do(t, "GET", "/api/auth/0.1/users", "", "").Want(401)
	served := p.Do(t, "GET", p.Helpers+"/metrics", "", "").Want(200).Body
	names := regexp.MustCompile(`\b(?:ringfence|go|process)_[a-z_]+`)
	for _, e := range expressions {
		found := names.FindAllString(e, -1)
		if len(found) == 0 && !strings.HasPrefix(e, "up{") {
			t.Errorf("%s names no metric", e)
		}
		for _, name := range found {
			if !regexp.MustCompile(`(?m)^` + name + `[ {]`).MatchString(served) {
				t.Errorf("%s: %s is not served", e, name)
			}
		}
	}
	for _, line := range []string{
		`ringfence_gate_request_duration_seconds_count{service="auth",status="2xx"} 2`, `ringfence_gate_request_duration_seconds_count{service="auth",status="4xx"} 2`,
		"ringfence_database_up 1", "ringfence_sessions 1",
		`ringfence_logins_total{outcome="succeeded"} 1`, `ringfence_logins_total{outcome="refused"} 1`, `ringfence_logins_total{outcome="throttled"} 0`,
	} {
		if !strings.Contains(served, "\n"+line+"\n") {
			t.Errorf("no %s in\n%s", line, served)
		}
	}
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
	module := deployed(t, "go.mod")
	if version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(module); !strings.Contains(text, "FROM golang:"+version[1]+" ") {
		t.Errorf("the image is not made with Go %s", version[1])
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
