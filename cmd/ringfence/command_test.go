package main_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// Validating leaves nothing behind, with nothing set and with everything set.
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

// Validating a configuration is harmless, even that of a running gateway.
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
	// Without a configuration there is still no admin endpoint on TCP.
	out, status = run(t, folder, nil, "stop")
	if status == 0 || !strings.Contains(out, "admin.sock") || strings.Contains(out, "2019") {
		t.Errorf("stop: status %d:\n%s", status, out)
	}
}

// The help shows our commands before Caddy's, and none that would replace this program by another.
func TestHelp(t *testing.T) {
	folder := t.TempDir()
	for _, args := range [][]string{nil, {"help"}, {"--help"}, {"-h"}} {
		out, status := run(t, folder, nil, args...)
		ours, rest, found := strings.Cut(out, "\nCaddy:\n")
		if status != 0 || !found || strings.Contains(out, "upgrade") || strings.Contains(out, "-package") || !strings.Contains(rest, "list-modules") {
			t.Errorf("%v: status %d:\n%s", args, status, out)
		}
		for _, name := range []string{"run", "doctor", "backup", "restore", "user", "token", "apply", "certificate", "version"} {
			if !regexp.MustCompile(`(?m)^  ` + name + ` +[A-Z].+$`).MatchString(ours) {
				t.Errorf("%v: no %s:\n%s", args, name, ours)
			}
		}
	}
	for _, args := range [][]string{{"upgrade"}, {"add-package", "x"}, {"remove-package"}, {"help", "upgrade"}, {"help", "nothing"}} {
		if out, status := run(t, folder, nil, args...); status == 0 || !strings.Contains(out, "there is no command") {
			t.Errorf("%v: status %d:\n%s", args, status, out)
		}
	}
	for _, name := range []string{"backup", "restore", "doctor", "user", "token"} {
		if out, status := run(t, folder, nil, "help", name); status != 0 || !strings.Contains(out, "ringfence "+name) || strings.Contains(out, "caddyserver.com") {
			t.Errorf("help %s: status %d:\n%s", name, status, out)
		}
	}
	if out, status := run(t, folder, nil, "user", "set", "--help"); status != 0 || !strings.Contains(out, "firstname=<text>") {
		t.Errorf("status %d:\n%s", status, out)
	}
	if out, status := run(t, folder, nil, "run", "--help"); status != 0 || !strings.Contains(out, "--config") {
		t.Errorf("status %d:\n%s", status, out)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("to ask for help has made %v (%v)", left, err)
	}
}
