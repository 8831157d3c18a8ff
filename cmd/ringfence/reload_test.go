package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// entries returns the lines of a log at this level, or at all levels.
func entries(t *testing.T, output, level string) (out []map[string]any) {
	t.Helper()
	for line := range strings.Lines(output) {
		var e map[string]any
		if json.Unmarshal([]byte(line), &e) == nil && (level == "" || e["level"] == level) {
			out = append(out, e)
		}
	}
	return out
}

// messages returns the messages of entries.
func messages(entries []map[string]any) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintln(&b, e["msg"])
	}
	return b.String()
}

// An operator who reloads learns the outcome from the gateway's log and from the command: the cause first, with the line of the
// Caddyfile.
func TestReloadIsTold(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "Caddyfile")
	text, err := os.ReadFile(caddyfile())
	if err != nil {
		t.Fatal(err)
	}
	write := func(old, replacement string) (line int) {
		t.Helper()
		before, after, found := strings.Cut(string(text), old)
		if !found {
			t.Fatalf("the Caddyfile has no %q", old)
		}
		if err := os.WriteFile(file, []byte(before+replacement+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return strings.Count(before, "\n") + 1
	}
	write("tokens local", "tokens local")
	p := gatewaytest.Start(t, gatewaytest.Settings{Folder: folder, Config: file}).Ready(t)

	const good, refused = "reloaded: the new configuration serves now\n", "the new configuration is refused, and the old one goes on serving: "
	if strings.Contains(messages(entries(t, p.Output(), "")), good) {
		t.Error("the first start is told as a reload")
	}
	write("respond 404", "respond 418")
	if out, err := p.Reload(t); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	gatewaytest.Eventually(t, patience, func() error {
		if n := strings.Count(messages(entries(t, p.Output(), "info")), good); n != 1 {
			return fmt.Errorf("%d reloads are told", n)
		}
		return nil
	})

	// Refused by the gateway, which alone knows why.
	write("database {env.RINGFENCE_DATABASE}", "database mysql://localhost/x")
	out, err := p.Reload(t)
	if told := messages(entries(t, out, "error")) + out; err == nil || !regexp.MustCompile(`(?m)^(?:Error: )?reading the database.s address \(RINGFENCE_DATABASE\): a database address is .*the gateway goes on with the configuration that it has`).MatchString(told) {
		t.Errorf("the command says, %v:\n%s", err, out)
	}
	gatewaytest.Eventually(t, patience, func() error {
		if told := messages(entries(t, p.Output(), "error")); !strings.Contains(told, refused+"reading the database's address (RINGFENCE_DATABASE): a database address is ") {
			return errors.New("the log says " + told)
		}
		return nil
	})
	p.Do(t, "GET", "/readyz", "", "").Want(200)

	// Refused by the command: the gateway never sees it.
	line := write("tokens local", "tokns local")
	out, err = p.Reload(t)
	if told := messages(entries(t, out, "error")) + out; err == nil || !regexp.MustCompile(fmt.Sprintf(`(?m)^(?:Error: )?\S*Caddyfile:%d: unknown option "tokns"`, line)).MatchString(told) {
		t.Errorf("the command says, %v:\n%s", err, out)
	}
	out, status := run(t, t.TempDir(), p.Env, "validate", "--config", file)
	if told := messages(entries(t, out, "error")) + out; status == 0 || !regexp.MustCompile(fmt.Sprintf(`(?m)^(?:Error: )?\S*Caddyfile:%d: unknown option "tokns"`, line)).MatchString(told) {
		t.Errorf("validate says, %d:\n%s", status, out)
	}
	if n := strings.Count(messages(entries(t, p.Output(), "info")), good); n != 1 {
		t.Errorf("%d reloads are told, of one", n)
	}
}

// A daemon's failures are logged with the request's ID: no answer, and one that ends in the middle.
func TestErrorsOfADaemonHaveTheRequestsID(t *testing.T) {
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("the beginning"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(daemon.Close)
	text, err := os.ReadFile(caddyfile())
	if err != nil {
		t.Fatal(err)
	}
	var routes strings.Builder
	for name, to := range map[string]string{"unreachable": "127.0.0.1:" + gatewaytest.FreePort(t), "broken": daemon.Listener.Addr().String()} {
		fmt.Fprintf(&routes, "handle /api/%[1]s/* {\nringfence_gate %[1]s {\nprefix /api/%[1]s/1.0\n}\nreverse_proxy %[2]s\n}\n", name, to)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "Caddyfile")
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "handle /console/* {", routes.String()+"handle /console/* {", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	p := gatewaytest.Start(t, gatewaytest.Settings{Folder: folder, Config: file}).Ready(t)
	admin := p.Login(t, "admin", gatewaytest.Password)
	for _, name := range []string{"unreachable", "broken"} {
		id := "the-request-of-" + name
		_, _ = p.Try(t.Context(), "GET", "/api/"+name+"/1.0/things", admin, "", func(r *http.Request) { r.Header.Set("X-Request-Id", id) })
		gatewaytest.Eventually(t, patience, func() error {
			told := false
			for _, e := range entries(t, p.Output(), "") {
				if e["level"] != "error" && e["level"] != "warn" || !strings.HasPrefix(fmt.Sprint(e["logger"]), "http.") || !strings.Contains(fmt.Sprint(e), "/api/"+name+"/") {
					continue
				}
				if told = true; e["request_id"] != id {
					t.Fatalf("%v has not the ID %s", e, id)
				}
			}
			if !told {
				return errors.New("nothing is told of " + name)
			}
			return nil
		})
	}
}
