package remote_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/porttest"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
	"github.com/ringfence/ringfence/internal/tokens/remote"
)

const (
	token   = "2a664536-e3e0-4f88-8e1f-55c20ccea85e"
	user    = "a11ce000-0000-4000-8000-000000000000"
	session = "5e5510ff-0000-4000-8000-000000000000"
	tenant  = "7e9a9700-0000-4000-8000-000000000000"
)

// The servers of these tests stand in for the auth server of an existing platform, which cannot run here: they speak TLS and its
// record format.

// platform starts a server and returns a source that trusts its certificate.
func platform(t *testing.T, handler http.HandlerFunc, change func(*remote.Config)) *remote.Source {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	config := remote.Config{URL: server.URL + "/api/auth", CAFile: file, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&config)
	}
	source, err := remote.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	return source
}

func load(t *testing.T, s *remote.Source, token string) (*principal.Principal, error) {
	t.Helper()
	return s.Load(t.Context(), token, tokens.DigestOf(token))
}

// record returns a token record as that server writes it, with some keys changed; nil removes one.
func record(changes map[string]any) string {
	data := map[string]any{
		"token": token, "auth_id": user, "xivo_user_uuid": user, "xivo_uuid": "c0ffee00-0000-4000-8000-000000000000",
		"issued_at": "2026-03-01T13:00:00", "expires_at": "2026-03-01T15:00:00",
		"utc_issued_at": "2026-03-01T12:00:00.000000", "utc_expires_at": "2126-03-01T14:00:00.000000",
		"acl": []string{"confd.#", "auth.users.me.read", "!confd.users.*.delete"},
		"metadata": map[string]any{
			"uuid": user, "tenant_uuid": tenant, "auth_id": user, "pbx_user_uuid": user, "purpose": "user", "admin": false,
		},
		"session_uuid": session, "remote_addr": "192.0.2.1", "user_agent": "curl",
	}
	maps.Copy(data, changes)
	for key, value := range changes {
		if value == nil {
			delete(data, key)
		}
	}
	text, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		panic(err)
	}
	return string(text)
}

const noSuchToken = `{"reason": ["No such token"], "timestamp": [1772366400.1], "status_code": 404}`

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestLoad(t *testing.T) {
	s := platform(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.RequestURI != "/api/auth/0.1/token/"+token || r.Header.Get("Accept") != "application/json" {
			t.Errorf("asked %s %s", r.Method, r.RequestURI)
		}
		answer(http.StatusOK, record(nil))(w, r)
	}, nil)
	p, err := load(t, s, token)
	if err != nil {
		t.Fatal(err)
	}
	if p.UserUUID != user || p.SessionUUID != session || p.TenantUUID != tenant || p.Purpose != "user" || !p.Remote ||
		p.TokenID != tokens.ID(tokens.DigestOf(token)) {
		t.Errorf("got %+v", p)
	}
	for access, want := range map[string]bool{
		"confd.users.read":               true,
		"auth.users." + user + ".read":   true,
		"auth.users." + tenant + ".read": false,
		"confd.users.17.delete":          false,
	} {
		if p.Allows(access) != want {
			t.Errorf("%s: allowed %t", access, !want)
		}
	}
}

// The operator says which tenant is the master tenant of the server: its answers do not.
func TestMasterTenant(t *testing.T) {
	for named, want := range map[string]bool{"": false, tenant: true, user: false} {
		for _, theirs := range []string{tenant, strings.ToUpper(tenant), ""} {
			body := record(map[string]any{"metadata": map[string]any{"tenant_uuid": theirs, "purpose": "user"}})
			p, err := load(t, platform(t, answer(http.StatusOK, body), func(c *remote.Config) { c.MasterTenant = named }), token)
			if err != nil || p.Master != (want && theirs != "") {
				t.Errorf("%q is named, %q is the token's: %+v, %v", named, theirs, p, err)
			}
		}
	}
	for _, named := range []string{"master", strings.ToUpper(tenant), "00000000-0000-0000-0000-000000000000", " " + tenant} {
		if _, err := remote.New(remote.Config{URL: "https://h", MasterTenant: named}); err == nil {
			t.Errorf("%q is taken", named)
		}
	}
}

func TestIdentities(t *testing.T) {
	tests := []struct {
		name    string
		changes map[string]any
		want    error
	}{
		{"an internal token", map[string]any{"auth_id": "wazo-auth", "metadata": map[string]any{}}, nil},
		{"metadata is null", map[string]any{"metadata": json.RawMessage("null")}, nil},
		{"no session", map[string]any{"session_uuid": nil}, nil},
		{"no accesses", map[string]any{"acl": []string{}}, nil},
		{"expiry with microseconds", map[string]any{"utc_expires_at": "2126-03-01T14:00:00.123456"}, nil},
		{"expiry without", map[string]any{"utc_expires_at": "2126-03-01T14:00:00"}, nil},
		{"no user", map[string]any{"auth_id": nil}, store.ErrUnavailable},
		{"user is null", map[string]any{"auth_id": json.RawMessage("null")}, store.ErrUnavailable},
		{"user would be a wildcard", map[string]any{"auth_id": "*"}, store.ErrUnavailable},
		{"user would be two words", map[string]any{"auth_id": "a.b"}, store.ErrUnavailable},
		{"user would be another header", map[string]any{"auth_id": "a\r\nX-Ringfence-Tenant: b"}, store.ErrUnavailable},
		{"user is endless", map[string]any{"auth_id": strings.Repeat("a", 129)}, store.ErrUnavailable},
		{"user is a number", map[string]any{"auth_id": 17}, store.ErrUnavailable},
		{"session would be a wildcard", map[string]any{"session_uuid": "#"}, store.ErrUnavailable},
		{"tenant with a space", map[string]any{"metadata": map[string]any{"tenant_uuid": "a b"}}, store.ErrUnavailable},
		{"purpose with a line feed", map[string]any{"metadata": map[string]any{"purpose": "a\nb"}}, store.ErrUnavailable},
		{"no acl", map[string]any{"acl": nil}, store.ErrUnavailable},
		{"acl is a text", map[string]any{"acl": "#"}, store.ErrUnavailable},
		{"no expiry", map[string]any{"utc_expires_at": nil}, nil},
		{"expiry is null", map[string]any{"utc_expires_at": json.RawMessage("null")}, nil},
		{"expiry is empty", map[string]any{"utc_expires_at": ""}, store.ErrUnavailable},
		{"expiry is a number", map[string]any{"utc_expires_at": 17}, store.ErrUnavailable},
		{"expiry is no time", map[string]any{"utc_expires_at": "tomorrow"}, store.ErrUnavailable},
		{"expiry has a zone", map[string]any{"utc_expires_at": "2126-03-01T14:00:00+02:00"}, store.ErrUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := platform(t, answer(http.StatusOK, record(tt.changes)), nil)
			p, err := load(t, s, token)
			if !errors.Is(err, tt.want) || (p == nil) != (tt.want != nil) {
				t.Errorf("got %+v, %v", p, err)
			}
		})
	}
}

// TestAnswers checks that only that server's own response makes a token unknown.
func TestAnswers(t *testing.T) {
	redirect := func(location string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", strings.ReplaceAll(location, "TOKEN", token))
			w.WriteHeader(http.StatusFound)
		}
	}
	tests := []struct {
		name   string
		handle http.HandlerFunc
		want   error
	}{
		{"no such token", answer(404, noSuchToken), tokens.ErrUnknown},
		{"no such token, in both forms at once", answer(404, `{"message": "No such token", "error_id": "unknown-token", "reason": ["No such token"], "status_code": 404, "details": {}, "timestamp": 1.5}`), tokens.ErrUnknown},
		{"no such token, without a reason", answer(404, `{"message": "No such token", "status_code": 404}`), tokens.ErrUnknown},
		{"no such token, by an error's name", answer(404, `{"message": "No such token", "error_id": "unknown-token"}`), tokens.ErrUnknown},
		{"another status in its body", answer(404, `{"message": "No backend", "status_code": 502}`), store.ErrUnavailable},
		{"no such page", answer(404, `<html>404 Not Found</html>`), store.ErrUnavailable},
		{"no such page, in JSON", answer(404, `{"detail": "Not Found"}`), store.ErrUnavailable},
		{"nothing there", answer(404, ``), store.ErrUnavailable},
		{"refused", answer(401, `{"reason": ["no"]}`), store.ErrUnavailable},
		{"forbidden", answer(403, `{"reason": ["no"]}`), store.ErrUnavailable},
		{"gone", answer(410, noSuchToken), store.ErrUnavailable},
		{"too many", answer(429, `{}`), store.ErrUnavailable},
		{"fault", answer(500, `{}`), store.ErrUnavailable},
		{"away", answer(503, `{}`), store.ErrUnavailable},
		{"created", answer(201, record(nil)), store.ErrUnavailable},
		{"empty", answer(200, ``), store.ErrUnavailable},
		{"a page", answer(200, `<html>Sign in</html>`), store.ErrUnavailable},
		{"a list", answer(200, `[]`), store.ErrUnavailable},
		{"no data", answer(200, `{}`), store.ErrUnavailable},
		{"data is null", answer(200, `{"data": null}`), store.ErrUnavailable},
		{"cut off", answer(200, record(nil)[:100]), store.ErrUnavailable},
		{"more after it", answer(200, record(nil)+`{}`), store.ErrUnavailable},
		{"endless", answer(200, `{"data": {"token": "`+strings.Repeat("a", 1<<20)+`"}}`), store.ErrUnavailable},
		{"redirect", redirect("/elsewhere/TOKEN"), store.ErrUnavailable},
		{"redirect with a bad address", redirect("https://elsewhere/%zz/TOKEN"), store.ErrUnavailable},
		{"connection dropped", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, store.ErrUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var asked atomic.Int64
			s := platform(t, func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				tt.handle(w, r)
			}, nil)
			p, err := load(t, s, token)
			if p != nil || !errors.Is(err, tt.want) || errors.Is(err, tokens.ErrUnknown) != errors.Is(tt.want, tokens.ErrUnknown) {
				t.Errorf("got %+v, %v", p, err)
			}
			if strings.Contains(err.Error(), token) {
				t.Error("the error repeats the token")
			}
			if n := asked.Load(); n != 1 && !strings.Contains(tt.name, "dropped") {
				t.Errorf("the server was asked %d times", n)
			}
		})
	}
}

// TestErrorsKeepTheToken provokes errors of the network and of a server that echoes the request.
func TestErrorsKeepTheToken(t *testing.T) {
	echo := platform(t, func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "ECHO %s\r\n\r\n", r.RequestURI)
	}, nil)
	port, release, err := porttest.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	closed := fmt.Sprintf("https://127.0.0.1:%d", port)
	untrusted := httptest.NewUnstartedServer(answer(200, record(nil)))
	untrusted.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	sources := map[string]*remote.Source{"echo": echo}
	for name, url := range map[string]string{"closed": closed, "untrusted certificate": untrusted.URL} {
		s, err := remote.New(remote.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		sources[name] = s
	}
	for name, s := range sources {
		t.Run(name, func(t *testing.T) {
			p, err := load(t, s, token)
			if p != nil || !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("got %+v, %v", p, err)
			}
			if strings.Contains(err.Error(), token) {
				t.Errorf("the error repeats the token")
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	gate := make(chan struct{})
	s := platform(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-gate:
		case <-r.Context().Done():
		}
	}, func(c *remote.Config) { c.Timeout = 20 * time.Millisecond })
	defer close(gate)
	if _, err := load(t, s, token); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, tokens.ErrUnknown) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Load(ctx, token, tokens.DigestOf(token)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

func TestShape(t *testing.T) {
	var asked atomic.Int64
	s := platform(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		answer(404, noSuchToken)(w, r)
	}, nil)
	tests := []struct {
		name, token string
		want        bool
	}{
		{"a UUID", token, true},
		{"one of ours", tokens.New(), true},
		{"20 characters", strings.Repeat("a", 20), true},
		{"19", strings.Repeat("a", 19), false},
		{"200", strings.Repeat("a", 200), true},
		{"201", strings.Repeat("a", 201), false},
		{"empty", "", false},
		{"slash", "aaaaaaaaaaaaaaaaaaaa/aaaa", false},
		{"up", "aaaaaaaaaaaaaaaaaaaa/../x", false},
		{"dot", "aaaaaaaaaaaaaaaaaaaa.aaaa", false},
		{"percent", "aaaaaaaaaaaaaaaaaaaa%2faa", false},
		{"query", "aaaaaaaaaaaaaaaaaaaa?a=bb", false},
		{"line feed", "aaaaaaaaaaaaaaaaaaaa\naaaa", false},
		{"bytes over 127", "aaaaaaaaaaaaaaaaaaaa\xff\xfeaa", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := s.Shape(tt.token); got != tt.want {
				t.Fatalf("got %t", got)
			}
			before := asked.Load()
			if _, err := load(t, s, tt.token); !errors.Is(err, tokens.ErrUnknown) {
				t.Errorf("got %v", err)
			}
			if got := asked.Load() - before; (got == 1) != tt.want {
				t.Errorf("the server was asked %d times", got)
			}
		})
	}
}

// TestClocks compares the server's clock with this machine's.
func TestClocks(t *testing.T) {
	here := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name    string
		date    string
		expires string
		want    time.Time
	}{
		{"equal", "Sun, 01 Mar 2026 12:00:00 GMT", "2026-03-01T13:00:00.000000", here.Add(time.Hour - time.Second)},
		{"the server's is ahead", "Sun, 01 Mar 2026 12:10:00 GMT", "2026-03-01T13:10:00", here.Add(time.Hour - time.Second)},
		{"the server's is behind", "Sun, 01 Mar 2026 11:50:00 GMT", "2026-03-01T12:50:00", here.Add(time.Hour - time.Second)},
		{"expired there, not here", "Sun, 01 Mar 2026 14:00:00 GMT", "2026-03-01T13:00:00", here.Add(-time.Hour - time.Second)},
		{"the server does not say", "", "2026-03-01T13:00:00.5", here.Add(time.Hour + time.Second/2)},
		{"the server says nonsense", "yesterday", "2026-03-01T13:00:00", here.Add(time.Hour)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := platform(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Date"] = []string{tt.date}
				if tt.date == "" {
					w.Header()["Date"] = nil
				}
				answer(200, record(map[string]any{"utc_expires_at": tt.expires}))(w, r)
			}, func(c *remote.Config) { c.Now = func() time.Time { return here } })
			p, err := load(t, s, token)
			if err != nil {
				t.Fatal(err)
			}
			if p.ExpiresAt != principal.At(tt.want) {
				t.Errorf("expires at %s, want %s", p.ExpiresAt.Time(), tt.want)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		config remote.Config
		ok     bool
	}{
		{"host", remote.Config{URL: "https://auth.example"}, true},
		{"path and slash", remote.Config{URL: "https://auth.example:8443/api/auth/"}, true},
		{"plain on this machine", remote.Config{URL: "http://127.0.0.1:9497"}, true},
		{"plain on this machine, by name", remote.Config{URL: "http://localhost:9497"}, true},
		{"plain on this machine, IPv6", remote.Config{URL: "http://[::1]:9497"}, true},
		{"plain elsewhere", remote.Config{URL: "http://auth.example"}, false},
		{"plain elsewhere, allowed", remote.Config{URL: "http://auth.example", PlainHTTP: true}, true},
		{"empty", remote.Config{}, false},
		{"no scheme", remote.Config{URL: "auth.example"}, false},
		{"other scheme", remote.Config{URL: "ftp://auth.example"}, false},
		{"credentials", remote.Config{URL: "https://a:b@auth.example"}, false},
		{"query", remote.Config{URL: "https://auth.example?a=b"}, false},
		{"fragment", remote.Config{URL: "https://auth.example#a"}, false},
		{"staleness over the most", remote.Config{URL: "https://auth.example", Staleness: time.Minute}, false},
		{"staleness negative", remote.Config{URL: "https://auth.example", Staleness: -1}, false},
		{"timeout negative", remote.Config{URL: "https://auth.example", Timeout: -1}, false},
		{"no such CA file", remote.Config{URL: "https://auth.example", CAFile: empty + "x"}, false},
		{"CA file without a certificate", remote.Config{URL: "https://auth.example", CAFile: empty}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := remote.New(tt.config)
			if (err == nil) != tt.ok {
				t.Fatalf("got %v", err)
			}
			if tt.ok && s.Staleness() != 10*time.Second {
				t.Errorf("staleness %s", s.Staleness())
			}
			if err != nil && strings.Contains(err.Error(), "a:b") {
				t.Error("the error repeats the credentials")
			}
		})
	}
}

// TestBehindTheCache tests the whole path: a revocation takes effect when the result is too old; an outage never makes a token
// unknown.
func TestBehindTheCache(t *testing.T) {
	var mu sync.Mutex
	handler := answer(200, record(nil))
	set := func(h http.HandlerFunc) {
		mu.Lock()
		defer mu.Unlock()
		handler = h
	}
	var asked atomic.Int64
	source := platform(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		mu.Lock()
		h := handler
		mu.Unlock()
		h(w, r)
	}, nil)
	var now atomic.Int64
	start := time.Now()
	cache, err := tokens.NewCache(source, tokens.Options{
		Capacity: 100, Now: func() time.Time { return start.Add(time.Duration(now.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	if cache.Staleness() != 10*time.Second {
		t.Fatalf("staleness %s", cache.Staleness())
	}
	if _, err := cache.Principal(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	set(answer(503, ""))
	now.Add(int64(10 * time.Second))
	if _, err := cache.Principal(t.Context(), token); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("server away: %v", err)
	}
	set(answer(200, record(nil)))
	if _, err := cache.Principal(t.Context(), token); err != nil {
		t.Errorf("server back: %v", err)
	}
	set(answer(404, noSuchToken))
	now.Add(int64(10 * time.Second))
	if _, err := cache.Principal(t.Context(), token); !errors.Is(err, tokens.ErrUnknown) {
		t.Errorf("revoked: %v", err)
	}
	if n := asked.Load(); n != 4 {
		t.Errorf("the server was asked %d times", n)
	}
}
