package caddymodule

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// install runs the command with an answer to its question.
func install(t *testing.T, etc, folder, answer string, args ...string) (out string, err error) {
	t.Helper()
	cmd := installCommand()
	var written bytes.Buffer
	cmd.SetOut(&written)
	cmd.SetErr(&written)
	cmd.SetIn(strings.NewReader(answer))
	cmd.SetArgs(append([]string{"--etc", etc, "--folder", folder}, args...))
	err = cmd.ExecuteContext(t.Context())
	return written.String(), err
}

// The command shows what it would change, changes only that, and only when it is told to.
func TestInstall(t *testing.T) {
	etc, folder := t.TempDir(), t.TempDir()
	own := filepath.Join(etc, "pjsip.conf")
	if err := os.WriteFile(own, []byte("[global]\ntype = transport"), 0o600); err != nil {
		t.Fatal(err)
	}
	iax := filepath.Join(etc, "iax.conf")
	if err := os.WriteFile(iax, []byte("[mine]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	include := `"` + filepath.Join(folder, "live", "pjsip.conf") + `"`
	out, err := install(t, etc, folder, "n\n")
	if !strings.Contains(out, "warning: section pjsip.conf (global): ") {
		t.Errorf("a clash is not named:\n%s", out)
	}
	if err == nil || !strings.Contains(out, "+++ pjsip.conf") || !strings.Contains(out, include) {
		t.Errorf("no: %v\n%s", err, out)
	}
	if entries, err := os.ReadDir(etc); err != nil || len(entries) != 2 {
		t.Fatalf("without a yes there is %v, %v", entries, err)
	}
	if out, err = install(t, etc, folder, "yes\n"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(own)
	if err != nil || !strings.HasPrefix(string(text), "[global]\ntype = transport\n#tryinclude ") || !strings.HasSuffix(string(text), include+"\n") {
		t.Errorf("pjsip.conf: %q, %v", text, err)
	}
	if info, err := os.Stat(own); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode has changed: %v, %v", info.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(etc, "extensions.conf")); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(iax); err != nil || string(text) != "[mine]\n#tryinclude \""+filepath.Join(folder, "live", "iax.conf")+"\"\n" {
		t.Errorf("iax.conf: %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(etc, "hep.conf")); err == nil {
		t.Error("a hep.conf that says nothing is written")
	}
	if out, err = install(t, etc, folder, "", "--yes"); err != nil || !strings.Contains(out, "nothing is to be changed") {
		t.Errorf("once more: %v\n%s", err, out)
	}
	if _, err := install(t, filepath.Join(etc, "missing"), folder, "", "--yes"); err == nil {
		t.Error("a folder that does not exist is accepted")
	}
}

// A manager interface on another machine needs TLS, and every one a secret.
func TestManagerAddress(t *testing.T) {
	for _, tt := range []struct {
		manager, secret string
		ok              bool
	}{
		{"", "", true},
		{"127.0.0.1:5038", "x", true},
		{"[::1]:5038", "x", true},
		{"localhost:5038", "x", true},
		{"tls://pbx.example.com:5039", "x", true},
		{"pbx.example.com:5038", "x", false},
		{"10.0.0.1:5038", "x", false},
		{"127.0.0.1.example.com:5038", "x", false},
		{"127.0.0.1", "x", false},
		{"127.0.0.1:5038", "", false},
		{"127.0.0.1:5038", "x\r\nAction: Originate", false},
	} {
		err := (&Asterisk{Name: "main", Manager: tt.manager, Username: "u", Secret: tt.secret}).validate()
		if (err == nil) != tt.ok || err != nil && strings.Contains(err.Error(), "Originate") {
			t.Errorf("%q, %q: %v", tt.manager, tt.secret, err)
		}
	}
}

// The longest call is a duration that a call may have.
func TestLongestCall(t *testing.T) {
	for typed, want := range map[string]time.Duration{"": 0, "4h": 4 * time.Hour, "1d": 24 * time.Hour, "1m": time.Minute, "59s": -1, "-4h": -1, "4": -1, "long": -1} {
		a := &Asterisk{Name: "main", LongestCall: typed}
		if err := a.validate(); (err != nil) != (want < 0) || err == nil && a.longest != want {
			t.Errorf("%q: %v, %v", typed, a.longest, err)
		}
	}
}
