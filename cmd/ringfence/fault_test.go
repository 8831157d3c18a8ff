package main_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/tokens"
)

// An unreachable database ends no session: the response is 503, and everything works again when the database is back.
func TestDatabaseUnreachable(t *testing.T) {
	t.Parallel()
	pg := private(t)
	if err := pg.Stop(); err != nil {
		t.Fatal(err)
	}
	p := gatewaytest.Start(t, gatewaytest.Settings{Database: pg.DSN("postgres")})
	gatewaytest.Eventually(t, patience, p.Status(t.Context(), "GET", "/readyz", "", 503))
	unreachable := func(t *testing.T, known ...string) {
		t.Helper()
		p.Do(t, "GET", "/healthz", "", "").Want(200)
		p.Do(t, "GET", "/api/confd/1.1/users", "", "").Want(401)
		p.Do(t, "GET", "/api/confd/1.1/users", "no token", "").Want(401)
		var wg sync.WaitGroup
		wantAway := func(method, path, token, body string, edit ...func(*http.Request)) {
			wg.Go(func() {
				a, err := p.Try(t.Context(), method, path, token, body, edit...)
				if err != nil || a.Status != 503 || a.Header.Get("Retry-After") == "" {
					t.Errorf("%s %s: status %d, Retry-After %q, %v: %s", method, path, a.Status, a.Header.Get("Retry-After"), err, a.Body)
				}
			})
		}
		wantAway("GET", "/readyz", "", "")
		wantAway("POST", "/api/auth/0.1/token", "", "{}", resttest.Basic("admin", gatewaytest.Password))
		wantAway("GET", "/api/confd/1.1/users", tokens.New(), "")
		for _, token := range known {
			wantAway("GET", "/api/confd/1.1/users", token, "")
			wantAway("POST", "/api/confd/1.1/users", token, `{"firstname": "x"}`)
			wantAway("DELETE", "/api/auth/0.1/token/"+token, token, "")
		}
		wg.Wait()
	}
	t.Run("when the gateway starts", func(t *testing.T) { unreachable(t) })
	back := func(t *testing.T) {
		t.Helper()
		if err := pg.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.Ready(t)
	}
	back(t)
	token := p.Login(t, "admin", gatewaytest.Password)

	for name, end := range map[string]func() error{"stopped": pg.Stop, "killed": pg.Kill} {
		t.Run(name, func(t *testing.T) {
			cached, unused := p.Login(t, "admin", gatewaytest.Password), p.Login(t, "admin", gatewaytest.Password)
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for range 4 { // requests in flight when it ends are answered properly too
				wg.Go(func() {
					for ctx.Err() == nil {
						a, err := p.Try(ctx, "GET", "/api/confd/1.1/users", cached, "")
						if ctx.Err() == nil && (err != nil || (a.Status != 200 && a.Status != 503)) {
							t.Errorf("status %d, %v: %s", a.Status, err, a.Body)
							return
						}
					}
				})
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
			gatewaytest.Eventually(t, patience, p.Status(t.Context(), "GET", "/readyz", "", 503))
			cancel()
			wg.Wait()
			unreachable(t, token, cached, unused)
			back(t)
			for _, kept := range []string{token, cached, unused} {
				gatewaytest.Eventually(t, patience, p.Status(t.Context(), "GET", "/api/confd/1.1/users", kept, 200))
			}
			gatewaytest.Eventually(t, patience, p.Status(t.Context(), "GET", "/api/confd/1.1/users", tokens.New(), 401))
		})
	}
	failed := 0
	for line := range strings.Lines(p.Output()) {
		if !strings.Contains(line, `"msg":"request failed"`) {
			continue
		}
		failed++
		if !strings.Contains(line, `"level":"warn"`) || strings.Count(line, `"request_id"`) != 1 {
			t.Errorf("logged: %s", line)
		}
	}
	if failed == 0 {
		t.Error("no request is logged as failed")
	}
	if out := p.Output(); strings.Contains(out, pg.Password()) || strings.Contains(out, token) {
		t.Error("a secret is in the output")
	}
}

// A file that is damaged while the gateway runs locks nobody out: the response is 503 with Retry-After, never 401.
func TestDamageWhileItRuns(t *testing.T) {
	p := gatewaytest.Start(t, gatewaytest.Settings{})
	used, unused := p.Ready(t).Login(t, "admin", gatewaytest.Password), p.Login(t, "admin", gatewaytest.Password)
	p.Do(t, "GET", "/api/confd/1.1/users", used, "").Want(200)
	for _, suffix := range []string{"", "-wal"} { // keep the first page of the one and the header of the other
		overwrite(t, filepath.Join(p.Data, "ringfence.db"+suffix), 4096)
	}
	comeAgain := func(method, path, token, body string, edit ...func(*http.Request)) {
		t.Helper()
		if a := p.Do(t, method, path, token, body, edit...); a.Status != 503 || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s %s: status %d, Retry-After %q: %s", method, path, a.Status, a.Header.Get("Retry-After"), a.Body)
		}
	}
	for range 3 { // a connection forgets its cached pages sooner or later
		comeAgain("POST", "/api/auth/0.1/token", "", "{}", resttest.Basic("admin", gatewaytest.Password))
		for _, token := range []string{used, unused} {
			comeAgain("GET", "/api/confd/1.1/users", token, "")
			comeAgain("POST", "/api/confd/1.1/users", token, `{"firstname": "x"}`)
		}
		comeAgain("DELETE", "/api/auth/0.1/token/"+unused, unused, "")
	}
	p.Do(t, "GET", "/healthz", "", "").Want(200)
	p.Until(t, p.Status(t.Context(), "GET", "/readyz", "", 503)) // its last answer may be a second old
	if out := p.Output(); !strings.Contains(out, "malformed") {
		t.Errorf("the log does not say what is wrong:\n%s", out)
	}
}

// overwrite damages a file from an offset to its end.
func overwrite(t *testing.T, file string, from int64) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xa5}, int(info.Size()-from)), from); err != nil {
		t.Fatal(err)
	}
}
