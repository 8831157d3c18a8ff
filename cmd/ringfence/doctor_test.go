package main_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// The doctor finds a gateway well before its first start, while it runs, and after; and says what is wrong.
func TestDoctor(t *testing.T) {
	folder := t.TempDir()
	if out, status := run(t, folder, freePorts(t), "doctor", "--config", caddyfile()); status != 0 || !strings.Contains(out, "is missing") {
		t.Errorf("before the first start: status %d:\n%s", status, out)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	out, status := run(t, p.Folder, p.Env, "doctor", "--config", caddyfile())
	if status != 0 || strings.Count(out, "a gateway listens") != 3 || strings.Contains(out, "problem") {
		t.Errorf("while it runs: status %d:\n%s", status, out)
	}
	admin := p.Login(t, "admin", gatewaytest.Password)
	in := p.Do(t, "POST", "/api/confd/1.1/contexts", admin, `{"label":"Inside"}`).Want(201).Text("name")
	p.Do(t, "POST", "/api/confd/1.1/users", admin, `{"firstname":"Ada","lines":[{"context":"`+in+`","endpoint_sip":{"name":"ada"}}]}`).Want(201)
	if out, status := run(t, p.Folder, p.Env, "doctor", "--config", caddyfile()); status != 0 || !strings.Contains(out, "(ada) of Ada, tenant master: its endpoint has no login") {
		t.Errorf("with a telephone that nobody can use: status %d:\n%s", status, out)
	}
	p.Do(t, "POST", "/api/confd/1.1/incalls", admin, `{"destination":{"type":"application","application":"fax_to_mail","email":"office@example.org"}}`).Want(201)
	env := append(slices.Clone(p.Env), "RINGFENCE_ASTERISK_RECORDINGS="+folder)
	if out, status := run(t, p.Folder, env, "doctor", "--config", caddyfile()); status != 0 || !strings.Contains(out, "faxes are not received: there is no mail server") {
		t.Errorf("with faxes, and without a mail server: status %d:\n%s", status, out)
	}
	etc := t.TempDir()
	written(t, etc, "pjsip.conf", "[ada]\ntype = endpoint\n")
	env = append(slices.Clone(p.Env), "RINGFENCE_ASTERISK_ETC="+etc, "RINGFENCE_VOICEMAIL_FOLDER="+etc)
	if out, status := run(t, p.Folder, env, "doctor", "--config", caddyfile()); status != 0 || !strings.Contains(out, "tenant master: its endpoint: Asterisk's own file "+etc+"/pjsip.conf has a section [ada] in line 1") ||
		!strings.Contains(out, "the gateway can change the files in "+etc) {
		t.Errorf("with a telephone that somebody has written by hand, too: status %d:\n%s", status, out)
	}
	if err := os.Chmod(filepath.Join(p.Data, "admin.sock"), 0o666); err != nil {
		t.Fatal(err)
	}
	out, status = run(t, p.Folder, p.Env, "doctor", "--config", caddyfile(), "--json")
	var findings []struct{ Subject, State, Text, Advice string }
	text, rest, _ := strings.Cut(out, "\n")
	if err := json.Unmarshal([]byte(text), &findings); err != nil || status == 0 || !strings.Contains(rest, "there are problems") {
		t.Fatalf("status %d, %v:\n%s", status, err, out)
	}
	for _, f := range findings {
		if bad := f.Subject == "admin API"; bad != (f.State == "problem") || (f.State == "ok") != (f.Advice == "") || f.Subject == "telephony" && f.State != "warning" {
			t.Errorf("%+v", f)
		}
	}
	p.Stop(t)
	if out, status := run(t, p.Folder, p.Env, "doctor", "--config", caddyfile()); status != 0 || strings.Count(out, "it is free") != 3 {
		t.Errorf("after it was stopped: status %d:\n%s", status, out)
	}
	p.Env = env
	p.Run(t)
	p.Until(t, func() error { // although nothing is applied
		if !strings.Contains(p.Output(), "Asterisk's own file "+etc+"/pjsip.conf has a section [ada] in line 1") {
			return errors.New("the start does not name the telephone that somebody has written by hand")
		}
		return nil
	})
	p.Stop(t)
	for name, tt := range map[string]struct{ text, want string }{
		"empty":           {"\n", "empty is empty"},
		"broken":          {"ringfence {", "syntax error"},
		"broken.json":     {"{", "unexpected end of JSON input"},
		"servers.json":    {`{"apps": {"http": {"servers": []}}}`, "apps.http.servers cannot be array\n"},
		"ringfence.json":  {`{"apps": {"ringfence": {"database": 5}}}`, "database cannot be number\n"},
		"not-a-file.json": {"", "no such file"},
	} {
		if tt.text != "" {
			written(t, folder, name, tt.text)
		}
		if out, status := run(t, folder, nil, "doctor", "--config", name); status == 0 || !strings.Contains(out, tt.want) {
			t.Errorf("with the configuration %s: status %d, want %q:\n%s", name, status, tt.want, out)
		}
	}
}
