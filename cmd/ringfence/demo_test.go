package main_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/asterisk/check"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store/open"
)

// A demo is a company in a tenant of its own, beside what is there, made while the gateway runs or once it is stopped; a second one of the same
// name is refused.
func TestDemo(t *testing.T) {
	for name, address := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := address(t)
			p := gatewaytest.Start(t, gatewaytest.Settings{Database: at}).Ready(t)
			token := p.Login(t, "admin", gatewaytest.Password)
			p.Do(t, "POST", "/api/confd/1.1/users", token, `{"firstname":"Mine"}`).Want(201)
			for _, users := range []string{"0", "-1", "90001", "many"} {
				if out, status := run(t, p.Folder, p.Env, "demo", "--users", users); status == 0 {
					t.Errorf("%s users: %s", users, out)
				}
			}
			made := demo(t, p, "260")
			if out, status := run(t, p.Folder, p.Env, "demo", "--users", "1"); status == 0 || !strings.Contains(out, "there is a tenant") {
				t.Errorf("again: status %d:\n%s", status, out)
			}
			for path, total := range map[string]float64{
				"/users": 260, "/lines": 260, "/voicemails": 260, "/incalls": 261, "/groups": 10, "/contexts": 3, "/extensions": 533, "/queues": 1, "/agents": 5,
				"/ivr": 1, "/schedules": 1, "/trunks": 2, "/outcalls": 1, "/callpermissions": 1, "/emergency-numbers": 1, "/callfilters": 1, "/switchboards": 1,
			} {
				if got := p.Do(t, "GET", "/api/confd/1.1"+path, token, "", resttest.In(made)).Want(200).JSON("total"); got != total {
					t.Errorf("%s: %v, want %v", path, got, total)
				}
			}
			if got := p.Do(t, "GET", "/api/confd/1.1/users", token, "").Want(200).JSON("total"); got != 1.0 {
				t.Errorf("the other tenant has %v users", got)
			}
			p.Stop(t)
			if at == "" {
				at = "sqlite://" + filepath.Join(p.Folder, "data", "ringfence.db")
			}
			configuresAsterisk(t, at)
			second := demo(t, p, "3", "--tenant", "second")
			p.Run(t)
			p.Ready(t)
			if got := p.Do(t, "GET", "/api/confd/1.1/users", p.Login(t, "admin", gatewaytest.Password), "", resttest.In(second)).Want(200).JSON("total"); got != 3.0 {
				t.Errorf("the second company has %v users", got)
			}
		})
	}
}

// demo makes a company and returns its tenant.
func demo(t *testing.T, p *gatewaytest.Process, users string, args ...string) string {
	t.Helper()
	out, status := run(t, p.Folder, p.Env, append([]string{"demo", "--users", users}, args...)...)
	made := regexp.MustCompile(`(?m)^tenant: (\S{36})\nusers: ` + users + `$`).FindStringSubmatch(out)
	if status != 0 || made == nil {
		t.Fatalf("status %d:\n%s", status, out)
	}
	return made[1]
}

// configuresAsterisk fails the test unless Asterisk would load the files that are generated for a demo.
func configuresAsterisk(t *testing.T, address string) {
	t.Helper()
	db, err := open.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	snapshot, err := confdsvc.NewSnapshots(db).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files, left, err := asterisk.Generate(snapshot, asterisk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("left out are %v", left)
	}
	for _, wrong := range check.Files(files) {
		t.Error(wrong)
	}
	for file, want := range map[string]int{"pjsip.conf": 262, "voicemail.conf": 260, "queues.conf": 11} { // ten groups and a queue
		word := map[string]string{"pjsip.conf": "type = endpoint\n", "voicemail.conf": " => ", "queues.conf": "strategy = "}[file]
		if got := strings.Count(string(files[file]), word); got != want {
			t.Errorf("%s has %d times %q, want %d", file, got, word, want)
		}
	}
}
