package gatetest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/gate/gatetest"
)

// A check that finds nothing would let every gate pass.
func TestCheck(t *testing.T) {
	w := gatetest.World{Service: "echo", Prefix: "/api/echo/1.0", Token: "good", User: "u", Tenant: "t", Session: "s", Purpose: "p", Forwards: true}
	tests := []struct {
		name   string
		change func(r *http.Request)
		bad    bool
	}{
		{"as it should be", func(*http.Request) {}, false},
		{"access", func(r *http.Request) { r.RequestURI, r.URL.Path = "/api/echo/1.0/admin", "/api/echo/1.0/admin" }, true},
		{"method", func(r *http.Request) { r.Method = "BREW" }, true},
		{"two paths", func(r *http.Request) { r.URL.Path = "/api/echo/1.0/admin" }, true},
		{"dot segments", func(r *http.Request) { r.RequestURI = "/api/echo/1.0/pub/../admin" }, true},
		{"escape", func(r *http.Request) { r.RequestURI = "/api/echo/1.0/pub/%78" }, true},
		{"empty segment", func(r *http.Request) { r.RequestURI = "/api/echo/1.0//pub/x" }, true},
		{"query", func(r *http.Request) { r.RequestURI += "?a#b" }, true},
		{"elsewhere", func(r *http.Request) { r.RequestURI = "/api/other/1.0/pub/x" }, true},
		{"two tokens", func(r *http.Request) { r.Header.Add("X-Auth-Token", "good") }, true},
		{"another token", func(r *http.Request) { r.Header.Set("X-Auth-Token", "bad") }, true},
		{"an Authorization beside the token", func(r *http.Request) { r.Header.Set("Authorization", "Basic x") }, true},
		{"another tenant", func(r *http.Request) { r.Header.Set("Wazo-Tenant", "x") }, true},
		{"own tenant", func(r *http.Request) { r.Header.Set("Wazo-Tenant", "t") }, false},
		{"token as a request id", func(r *http.Request) { r.Header.Set("X-Request-Id", "a-good") }, true},
		{"another proxy's identity", func(r *http.Request) { r.Header.Set("X-Auth-Username", "root") }, true},
		{"two tenants", func(r *http.Request) { r.Header["Wazo-Tenant"] = []string{"a", "b"} }, true},
		{"no request id", func(r *http.Request) { r.Header.Del("X-Request-Id") }, true},
		{"upgrade", func(r *http.Request) { r.Header.Set("Upgrade", "h2c") }, true},
		{"WebSocket", func(r *http.Request) { r.Header.Set("Upgrade", "websocket") }, false},
		{"no identity", func(r *http.Request) { r.Header.Del("X-Ringfence-User") }, true},
		{"forged identity", func(r *http.Request) { r.Header.Set("X-Ringfence-User", "root") }, true},
		{"another spelling", func(r *http.Request) { r.Header["X_ringfence_user"] = []string{"root"} }, true},
		{"method override", func(r *http.Request) { r.Header.Set("X-HTTP-Method-Override", "DELETE") }, true},
		{"another spelling of the token", func(r *http.Request) { r.Header["X_auth_token"] = []string{"bad"} }, true},
		{"trailer", func(r *http.Request) { r.Trailer = http.Header{"X-A": {"b"}} }, true},
	}
	for _, tt := range tests {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/api/echo/1.0/pub/x", strings.NewReader(""))
		for name, value := range map[string]string{
			"X-Auth-Token": "good", "X-Request-Id": "id", "X-Ringfence-User": "u", "X-Ringfence-Tenant": "t", "X-Ringfence-Session": "s", "X-Ringfence-Purpose": "p",
		} {
			r.Header.Set(name, value)
		}
		tt.change(r)
		if err := w.Check(r); (err != nil) != tt.bad {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	withheld := w
	withheld.Forwards = false
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/api/echo/1.0/status", nil)
	r.Header.Set("X-Request-Id", "id")
	r.Header.Set("X-Auth-Token", "good")
	if withheld.Check(r) == nil {
		t.Error("a token that arrives where it must not is not found")
	}
	public := httptest.NewRequestWithContext(t.Context(), "GET", "/api/echo/1.0/status", nil)
	public.Header.Set("X-Request-Id", "id")
	if err := w.Check(public); err != nil {
		t.Errorf("public: %v", err)
	}
	public.Header.Set("X-Ringfence-User", "u")
	if w.Check(public) == nil {
		t.Error("an identity on a public route is not found")
	}
}
