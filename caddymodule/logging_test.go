package caddymodule_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap/zapcore"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// The planted secrets: a token of this gateway, one of a remote auth server, a password and a cookie.
const (
	plantedOwn      = "rft_" + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNO-_" + "123456"
	plantedRemote   = "4f1c6a6e-2a55-4f4b-8d7e-3c1c9b1c2d3e"
	plantedPassword = "aHVudGVyMjpodW50ZXIy"
	plantedCookie   = "planted-cookie-0f9e8d"
)

func planted() []string {
	return []string{plantedOwn, plantedOwn[4:], plantedRemote, plantedPassword, plantedCookie}
}

// plantingRoutes returns routes that make Caddy log a request in each of its ways.
func plantingRoutes(t *testing.T, upstream string) string {
	t.Helper()
	return fmt.Sprintf(`
	header X-Auth-Token {header.X-Auth-Token}
	header +Set-Cookie session=%s
	handle_path /ok* {
		respond "reached"
	}
	handle /rewritten* {
		rewrite * /elsewhere{uri}
		respond "reached"
	}
	handle /error* {
		error "went wrong at {uri}" 500
	}
	handle /dead* {
		reverse_proxy 127.0.0.1:%s
	}
	handle /upstream* {
		reverse_proxy %s
	}
	handle {
		respond 404
	}
`, plantedCookie, gatewaytest.FreePort(t), upstream)
}

// plant sends every secret in every place to every route.
func plant(t *testing.T, s *site, version int, methods ...string) {
	t.Helper()
	client := s.client(t, version, "localhost")
	for _, route := range []string{"/ok", "/rewritten", "/error", "/dead", "/upstream", "/missing"} {
		for _, token := range []string{plantedOwn, plantedRemote} {
			for _, target := range []string{
				"", "?a=b&token=" + token, "?t%6Fken=" + token, "/api/auth/0.1/token/" + token,
				"/api/auth/0.1/token/" + token + "/scopes/check?scope=x", "/api/auth/0.1/%74oken/" + token,
			} {
				for _, method := range methods {
					send(t, client, s, method, route+target, token)
				}
			}
		}
	}
}

func send(t *testing.T, client *http.Client, s *site, method, target, token string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "https://127.0.0.1:"+s.port+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	path, query, _ := strings.Cut(target, "?")
	request.URL.Opaque, request.URL.RawQuery = path, query // unchanged, not encoded again
	for name, value := range map[string]string{
		"X-Auth-Token": token, "x_auth_token": token, "X.Auth.Token": token,
		"Authorization": "Basic " + plantedPassword, "Proxy-Authorization": "Basic " + plantedPassword,
		"Cookie": "session=" + plantedCookie, "Referer": "https://localhost/console/?token=" + token,
		"X-Request-Note": "see /token/" + token, "Wazo-Tenant": "11111111-2222-4333-8444-555555555555",
	} {
		request.Header[name] = []string{value}
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
}

// upstreamDaemon returns a daemon whose responses hold secrets, and the tokens that reach it.
func upstreamDaemon(t *testing.T) (address string, seen func() []string) {
	t.Helper()
	tokens := make(chan string, 10_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens <- r.Header.Get("X-Auth-Token")
		w.Header().Set("X-Auth-Token", r.Header.Get("X-Auth-Token"))
		w.Header().Set("Location", "/next?token="+r.Header.Get("X-Auth-Token"))
	}))
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return at.Host, func() []string {
		close(tokens)
		var all []string
		for token := range tokens {
			all = append(all, token)
		}
		return all
	}
}

func TestNoTokenInAnyLog(t *testing.T) {
	type config struct {
		global string // "default.log" and "access.log" are in the site's folder
		site   string
		expect []string
	}
	access := []string{"handled request", "http.log.access"}
	everything := append([]string{"http.log.error", "upstream roundtrip", "rewrote request", "went wrong at"}, access...)
	const debugTo = "log default {\nlevel DEBUG\noutput file DIR/default.log\n%s\n}"
	configs := map[string]config{
		"format ringfence":      {fmt.Sprintf(debugTo, "format ringfence"), "log", everything},
		"ringfence wraps":       {fmt.Sprintf(debugTo, "format ringfence {\nwrap console\n}"), "log", everything},
		"no format":             {fmt.Sprintf(debugTo, ""), "log", everything},
		"format json":           {fmt.Sprintf(debugTo, "format json"), "log", everything},
		"format console":        {fmt.Sprintf(debugTo, "format console"), "log", everything},
		"format filter":         {fmt.Sprintf(debugTo, "format filter {\nwrap json\nrequest>host delete\n}"), "log", everything},
		"filter wraps ours":     {fmt.Sprintf(debugTo, "format filter {\nwrap ringfence\nrequest>host delete\n}"), "log", everything},
		"format append":         {fmt.Sprintf(debugTo, "format append {\nwrap json\nnode one\n}"), "log", everything},
		"credentials logged":    {fmt.Sprintf(debugTo, "format json") + "\nservers {\nlog_credentials\n}", "log", everything},
		"sampled":               {fmt.Sprintf(debugTo, "format json\nsampling {\ninterval 1s\nfirst 100000\n}"), "log", everything},
		"access log of its own": {fmt.Sprintf(debugTo, "format json"), "log {\noutput file DIR/access.log\nformat json\n}", everything},
		"access log in console": {fmt.Sprintf(debugTo, ""), "log {\noutput file DIR/access.log\nformat console\n}", everything},
		"log without admin": {
			"admin off\n" + fmt.Sprintf(debugTo, "format json"), "log {\noutput file DIR/access.log\nformat json\n}", everything,
		},
		"logs by name": {
			fmt.Sprintf(debugTo, "exclude http.log.access") +
				"\nlog second {\noutput file DIR/second.log\ninclude http.log.access http.handlers.reverse_proxy\nlevel DEBUG\n}",
			"log", access,
		},
		"appended fields": {
			fmt.Sprintf(debugTo, "format json"), "log\nlog_append target {uri}\nlog_append auth_token {header.X-Auth-Token}", everything,
		},
	}
	for name, c := range configs {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			upstream, seen := upstreamDaemon(t)
			if strings.Contains(c.global, "admin off") {
				s.options += "\nadmin off"
			}
			s.logging = strings.NewReplacer("DIR", s.dir, "admin off\n", "").Replace(c.global)
			s.handlers = strings.ReplaceAll(c.site, "DIR", s.dir) + plantingRoutes(t, upstream)
			s.load(t)
			plant(t, s, 1, http.MethodGet, http.MethodPost)
			plant(t, s, 2, http.MethodGet)
			gatewaytest.Stop(t)

			logged := logsIn(t, s.dir)
			assertNothingPlanted(t, logged)
			for _, want := range append([]string{"11111111-2222-4333-8444-555555555555", "HTTP/1.1", "HTTP/2.0"}, c.expect...) {
				if !strings.Contains(logged, want) {
					t.Errorf("%q is not logged: nothing was tried", want)
				}
			}
			if tokens := seen(); !slices.Contains(tokens, plantedOwn) || !slices.Contains(tokens, plantedRemote) {
				t.Error("the upstream did not get the tokens: the redaction must not touch the requests")
			}
		})
	}
}

func logsIn(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no logs in %s: %v", dir, err)
	}
	var all strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(content)
	}
	return all.String()
}

func assertNothingPlanted(t *testing.T, logged string) {
	t.Helper()
	for _, secret := range planted() {
		if at := strings.Index(logged, secret); at >= 0 {
			t.Fatalf("%q is logged in: %s", secret, logged[max(0, at-300):min(len(logged), at+100)])
		}
	}
}

// inside is set in the process whose standard error stream TestNoTokenOnStandardError reads.
const inside = "RINGFENCE_TEST_STANDARD_ERROR"

// A configuration without logging options, and without any of our modules, logs to the standard error stream. Caddy keeps the
// first stream that it opened for as long as the process lives, so the test needs its own process.
func TestNoTokenOnStandardError(t *testing.T) {
	if os.Getenv(inside) != "" {
		logOnStandardError(t)
		return
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoTokenOnStandardError$")
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stderr = &stderr
	if out, err := cmd.Output(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, &stderr)
	}
	logged := stderr.String()
	assertNothingPlanted(t, logged)
	for _, want := range []string{"http.log.access", "http.log.error", "upstream roundtrip", "/token/REDACTED", "received request"} {
		if !strings.Contains(logged, want) {
			t.Errorf("%q is not logged: nothing was tried", want)
		}
	}
}

func logOnStandardError(t *testing.T) {
	t.Helper()
	s := newSite(t)
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt(fmt.Appendf(nil, `{
	admin unix/%s/admin.sock
	persist_config off
	storage file_system %s/storage
	debug
}
http://127.0.0.1:%s {
	log
	reverse_proxy 127.0.0.1:%s
}`, s.dir, s.dir, s.port, gatewaytest.FreePort(t)), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gatewaytest.Stop(t) })
	if err := caddy.Load(config, true); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+s.port+"/token/"+plantedRemote, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", plantedOwn)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	askAdmin(t, s.dir)
}

// askAdmin sends a token to Caddy's admin endpoint, which logs its requests with Caddy's default logger.
func askAdmin(t *testing.T, dir string) {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "admin.sock"))
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://admin/config/?token="+plantedRemote, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", plantedRemote)
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
}

// A reload opens new logs. They are protected too, and so are the logs that both configurations write.
func TestNoTokenAfterReload(t *testing.T) {
	s := newSite(t)
	s.handlers = "log {\noutput file " + s.dir + "/access.log\n}\nrespond \"reached\""
	for range 4 {
		s.load(t)
		send(t, s.client(t, 1, ""), s, http.MethodGet, "/token/"+plantedRemote, plantedOwn)
	}
	gatewaytest.Stop(t)
	logged := logsIn(t, s.dir)
	assertNothingPlanted(t, logged)
	if n := strings.Count(logged, "handled request"); n != 4 {
		t.Errorf("%d access log entries, want 4", n)
	}
}

// elsewhere is a guest's log core that could send entries anywhere.
type elsewhere struct {
	zapcore.Core `json:"-"`
}

func (*elsewhere) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "caddy.logging.cores.elsewhere",
		New: func() caddy.Module { return &elsewhere{Core: zapcore.NewNopCore()} },
	}
}

// UnmarshalCaddyfile takes nothing.
func (*elsewhere) UnmarshalCaddyfile(*caddyfile.Dispenser) error { return nil }

func init() { caddy.RegisterModule(new(elsewhere)) }

func TestUnknownLogCoreIsRefused(t *testing.T) {
	for _, admin := range []string{"", "admin off"} {
		t.Run(admin, func(t *testing.T) {
			s := newSite(t)
			s.options += "\n" + admin
			s.logging = "log default {\noutput file " + s.log + "\ncore elsewhere\n}"
			t.Cleanup(func() { gatewaytest.Stop(t) })
			err := caddy.Load(s.adapt(t), true)
			if err == nil || !strings.Contains(err.Error(), "unknown log core *caddymodule_test.elsewhere") {
				t.Errorf("loading: %v, want the core refused by name", err)
			}
		})
	}
}

func TestLogEncoderKeepsEntriesWhole(t *testing.T) {
	s := newSite(t)
	s.logging = "log default {\noutput file " + s.log + "\nformat ringfence {\nwrap json {\ntime_format rfc3339\n}\n}\n}"
	s.handlers = "log\nrespond \"reached\""
	s.load(t)
	send(t, s.client(t, 1, "localhost"), s, http.MethodGet, "/token/"+plantedOwn+"?limit=1", plantedOwn)
	gatewaytest.Stop(t)

	for line := range strings.Lines(s.logged(t)) {
		var entry struct {
			Level, Msg, Logger, TS string
			Status                 int
			Request                struct {
				Method, URI, Host string
				Headers           http.Header
			}
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("entry %s: %v", line, err)
		}
		if entry.Msg != "handled request" {
			continue
		}
		if entry.Status != http.StatusOK || entry.Request.Method != http.MethodGet || entry.Request.URI != "/token/REDACTED?limit=1" {
			t.Errorf("entry %s", line)
		}
		if got := entry.Request.Headers.Get("X-Auth-Token"); got != "REDACTED" {
			t.Errorf("X-Auth-Token is logged as %q", got)
		}
		if got := entry.Request.Headers.Get("Wazo-Tenant"); got != "11111111-2222-4333-8444-555555555555" {
			t.Errorf("Wazo-Tenant is logged as %q", got)
		}
		return
	}
	t.Errorf("no access log entry in %s", s.logged(t))
}

func TestLogEncoderCaddyfileErrors(t *testing.T) {
	for name, format := range map[string]string{
		"argument":        "format ringfence json",
		"unknown option":  "format ringfence {\nfields x\n}",
		"no encoder":      "format ringfence {\nwrap\n}",
		"unknown encoder": "format ringfence {\nwrap nothing\n}",
		"two encoders":    "format ringfence {\nwrap json\nwrap console\n}",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.logging = "log default {\n" + format + "\n}"
			if _, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(s.caddyfile()), nil); err == nil {
				t.Error("accepted")
			}
		})
	}
}
