package gate_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/gate"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

func TestAdmit(t *testing.T) {
	f := newGate(t)
	reader := f.tokens.issue(t, "confd.users.#", "calls.#.read", "!confd.users.secret.read")
	whole := f.tokens.issue(t, "#")
	almost := f.tokens.issue(t, "confd.#", "!confd.x")
	me := f.tokens.issue(t, "confd.users.me.read")
	mine := f.tokens.issue(t, "calls.users.me.#", "calls.users.*.delete", "confd.#", "!calls.users."+tenantUUID+".delete", "!confd.users."+tenantUUID+".read")
	away := f.tokens.fail(fmt.Errorf("looking up: %w", store.ErrUnavailable))
	broken := f.tokens.fail(errors.New("bug"))
	busy := f.tokens.fail(&apierr.Error{Kind: apierr.TooMany, Message: "Too many"})
	nobody := tokens.New()
	f.tokens.principals[nobody] = nil
	long := strings.Repeat("a", 140)

	tests := []struct {
		name, method, target, token string
		status                      int // 0: admitted
		decided, access             string
	}{
		{"documented", "GET", "/api/confd/1.1/users", reader, 0, "confd allowed", "confd.users.read"},
		{"HEAD is GET", "HEAD", "/api/confd/1.1/users", reader, 0, "confd allowed", "confd.users.read"},
		{"parameter", "GET", "/api/confd/1.1/users/17", reader, 0, "confd allowed", "confd.users.17.read"},
		{"dot in a parameter", "GET", "/api/confd/1.1/users/a.read", reader, 0, "confd allowed", "confd.users.a%2Eread.read"},
		{"denied by a negative", "GET", "/api/confd/1.1/users/secret", reader, 403, "confd access_denied", ""},
		{"me", "GET", "/api/confd/1.1/users/me", me, 0, "confd allowed", "confd.users.me.read"},
		{"me by UUID", "GET", "/api/confd/1.1/users/" + userUUID, me, 0, "confd allowed", "confd.users." + userUUID + ".read"},
		{"not me", "GET", "/api/confd/1.1/users/" + tenantUUID, me, 403, "confd access_denied", ""},
		{"undocumented path", "GET", "/api/confd/1.1/nothing", reader, 403, "confd access_denied", ""},
		{"undocumented path, all of it held", "GET", "/api/confd/1.1/nothing", whole, 0, "confd allowed", "confd.#"},
		{"undocumented path, almost all held", "GET", "/api/confd/1.1/nothing", almost, 403, "confd access_denied", ""},
		{"undocumented method", "DELETE", "/api/confd/1.1/users", reader, 403, "confd access_denied", ""},
		{"operation without an access", "GET", "/api/confd/1.1/odd", almost, 403, "confd access_denied", ""},
		{"public", "GET", "/api/confd/1.1/wizard", "", 0, "confd public", ""},
		{"public with a bad token", "GET", "/api/confd/1.1/wizard", "junk", 0, "confd public", ""},
		{"public in one method only", "POST", "/api/confd/1.1/wizard", "", 401, "confd token_missing", ""},
		{"pattern", "PUT", "/api/confd/1.1/policies/p/acl/confd.%23", whole, 0, "confd allowed", "confd.policies.p.update"},
		{"pattern elsewhere", "PUT", "/api/confd/1.1/policies/%2A/acl/x", whole, 400, "confd pattern", ""},
		{"long segment elsewhere", "GET", "/api/confd/1.1/users/" + long, whole, 400, "confd pattern", ""},
		{"long pattern", "PUT", "/api/confd/1.1/policies/p/acl/" + long, whole, 0, "confd allowed", "confd.policies.p.update"},
		{"derived read", "GET", "/api/calls/1.0/users/me/calls", reader, 0, "calls allowed", "calls.users.me.calls.read"},
		{"derived at the root", "GET", "/api/calls/1.0", whole, 0, "calls allowed", "calls.read"},
		{"derived create", "POST", "/api/calls/1.0/calls", reader, 403, "calls access_denied", ""},
		{"derived update", "PUT", "/api/calls/1.0/calls/1", whole, 0, "calls allowed", "calls.calls.1.update"},
		{"derived patch", "PATCH", "/api/calls/1.0/calls/1", whole, 0, "calls allowed", "calls.calls.1.update"},
		{"derived delete", "DELETE", "/api/calls/1.0/calls/a.b", whole, 0, "calls allowed", "calls.calls.a%2Eb.delete"},
		{"derived pattern", "GET", "/api/calls/1.0/calls/%2A", whole, 400, "calls pattern", ""},
		{"derived public", "GET", "/api/calls/1.0/status", "", 0, "calls public", ""},
		{"derived public by HEAD", "HEAD", "/api/calls/1.0/status", "", 0, "calls public", ""},
		{"derived public parameter", "POST", "/api/calls/1.0/hooks/7", "", 0, "calls public", ""},
		{"derived beside the public", "GET", "/api/calls/1.0/hooks/7", "", 401, "calls token_missing", ""},
		{"no service", "GET", "/api/other/1.0/x", whole, 404, " not_found", ""},
		{"no token for no service", "GET", "/", "", 404, " not_found", ""},
		{"bad method", "TRACE", "/api/confd/1.1/users", whole, 405, "confd method", ""},
		{"bad method nowhere", "BREW", "/x", whole, 405, " method", ""},
		{"OPTIONS", "OPTIONS", "/api/calls/1.0/x", whole, 405, "calls method", ""},
		{"malformed", "GET", "/api/confd/1.1//users", whole, 400, " empty_segment", ""},
		{"long", "GET", "/" + strings.Repeat("a", 2048), whole, 414, " too_long", ""},
		{"method override", "GET", "/api/calls/1.0/x?a=b&_METHOD=DELETE", whole, 400, "calls method_override", ""},
		{"method override encoded", "GET", "/api/calls/1.0/x?%5fmethod=DELETE", whole, 400, "calls method_override", ""},
		{"not quite an override", "GET", "/api/calls/1.0/x?my_method=%20", whole, 0, "calls allowed", "calls.x.read"},
		{"method override of an array", "GET", "/api/calls/1.0/x?_method%5b%5D=DELETE", whole, 400, "calls method_override", ""},
		{"method override as PHP reads it", "GET", "/api/calls/1.0/x?+.method[a]=DELETE", whole, 400, "calls method_override", ""},
		{"method override by a header's name", "GET", "/api/calls/1.0/x?X-HTTP-Method-Override=DELETE", whole, 400, "calls method_override", ""},
		{"not an override: another's part", "GET", "/api/calls/1.0/x?a[_method]=1&method=2&_method_of=3", whole, 0, "calls allowed", "calls.x.read"},
		{"me in upper case", "GET", "/api/calls/1.0/users/" + strings.ToUpper(userUUID) + "/x", mine, 0, "calls allowed", "calls.users." + userUUID + ".x.read"},
		{"denied in upper case", "DELETE", "/api/calls/1.0/users/" + strings.ToUpper(tenantUUID), mine, 403, "calls access_denied", ""},
		{"denied in mixed case, encoded", "DELETE", "/api/calls/1.0/users/%31B" + tenantUUID[2:], mine, 403, "calls access_denied", ""},
		{"denied by a service of ours", "GET", "/api/confd/1.1/users/" + strings.ToUpper(tenantUUID), mine, 403, "confd access_denied", ""},
		{"no token", "GET", "/api/confd/1.1/users", "", 401, "confd token_missing", ""},
		{"not a token", "GET", "/api/confd/1.1/users", "junk", 401, "confd token_malformed", ""},
		{"two tokens in one line", "GET", "/api/confd/1.1/users", whole + ", " + whole, 401, "confd token_malformed", ""},
		{"unknown token", "GET", "/api/confd/1.1/users", tokens.New(), 401, "confd token_unknown", ""},
		{"database away", "GET", "/api/confd/1.1/users", away, 503, "confd unavailable", ""},
		{"fault", "GET", "/api/calls/1.0/users", broken, 503, "calls unavailable", ""},
		{"nobody", "GET", "/api/calls/1.0/users", nobody, 503, "calls unavailable", ""},
		{"too many unknown tokens", "GET", "/api/calls/1.0/users", busy, 429, "calls too_many", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := request(t, tt.method, tt.target)
			if tt.token != "" {
				r.Header.Set("X-Auth-Token", tt.token)
			}
			w := httptest.NewRecorder()
			a, ok := f.Admit(w, r)
			if got := f.seen.last(); got != tt.decided {
				t.Errorf("decided %q, want %q", got, tt.decided)
			}
			if ok != (tt.status == 0) {
				t.Fatalf("admitted: %t, status %d, body %s", ok, w.Code, w.Body)
			}
			if id := w.Header().Get("X-Request-Id"); len(id) != 36 || r.Header.Get("X-Request-Id") != id {
				t.Errorf("request id %q", id)
			}
			if !ok {
				checkRefusal(t, w, tt.method, tt.status)
				return
			}
			if a.Need.Access != tt.access {
				t.Errorf("access %q, want %q", a.Need.Access, tt.access)
			}
			if public := strings.HasSuffix(tt.decided, "public"); public != (a.Principal == nil) {
				t.Errorf("principal %v", a.Principal)
			}
		})
	}
}

func TestRefusalsTakeTheServicesForm(t *testing.T) {
	f := newGate(t)
	token := f.tokens.issue(t, "nothing.at.all")
	tests := []struct {
		target, token string
		want          []string
	}{
		{"/api/confd/1.1/users/17", token, []string{`["Unauthorized for confd.users.17.read: `}},
		{"/api/confd/1.1/users", "", []string{`["Send a token in the X-Auth-Token header`}},
		{"/api/calls/1.0/x", token, []string{`"error_id":"forbidden"`, `"required_access":"calls.x.read"`, `"status_code":403`}},
		{"/api/calls/1.0/x", "", []string{`"error_id":"unauthorized"`, `"required_access":"calls.x.read"`}},
		{"/x", "", []string{`"error_id":"not-found"`}},
		// What leads nowhere has the form of the service below whose path it is, also where it cannot be read.
		{"/api/confd/1.10/users", token, []string{`["Resource Not Found - `}},
		{"/api/confd", token, []string{`["Resource Not Found - `}},
		{"/api/confd/1.1//users", token, []string{`["Input Error - The path has an empty segment`}},
		{"/api/confd/1.1/users?a=%00", token, []string{`["Input Error - The query has a NUL`}},
		{"/api/confd?a=%00", token, []string{`["Input Error - The query has a NUL`}},
		{"/api/confd/" + strings.Repeat("a", 2048), token, []string{`["The request target is longer than 2048 bytes`}},
		{"/api/confd2//x", token, []string{`"error_id":"invalid-data"`}},
		{"/api/calls/1.0//x", token, []string{`"error_id":"invalid-data"`}},
	}
	for _, tt := range tests {
		w := httptest.NewRecorder()
		f.Admit(w, request(t, "GET", tt.target, "X-Auth-Token", tt.token))
		for _, want := range tt.want {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("GET %s answers %s, want %s in it", tt.target, w.Body, want)
			}
		}
		if tt.token != "" && strings.Contains(w.Body.String(), tt.token) {
			t.Errorf("the token is in the answer")
		}
	}
}

func TestNoLookUpForWhatIsNoToken(t *testing.T) {
	f := newGate(t)
	token := f.tokens.issue(t, "#")
	for _, r := range []*http.Request{
		request(t, "GET", "/api/confd/1.1/users"),
		request(t, "GET", "/api/confd/1.1/users", "X-Auth-Token", token[:20]),
		request(t, "GET", "/api/confd/1.1/users", "X-Auth-Token", token, "X-Auth-Token", token),
		request(t, "GET", "/api/confd/1.1/users", "X-Auth-Token", token, "Wazo-Tenant", "a", "Wazo-Tenant", "a"),
		request(t, "GET", "/api/confd/1.1/./users", "X-Auth-Token", token),
		request(t, "GET", "/api/calls/1.0/status", "X-Auth-Token", token),
		request(t, "GET", "/nowhere", "X-Auth-Token", token),
	} {
		f.Admit(httptest.NewRecorder(), r)
	}
	if n := f.tokens.lookups.Load(); n != 0 {
		t.Errorf("%d look-ups", n)
	}
}

func TestCanonicalRequest(t *testing.T) {
	f := newGate(t)
	token := f.tokens.issue(t, "#")
	r := request(t, "GET", "/api/calls/1.0/%75sers/a%2Bb?", "X-Auth-Token", token)
	r.URL.Scheme, r.URL.Host, r.URL.Opaque, r.URL.Fragment = "http", "evil", "evil", "evil"
	a, ok := f.Admit(httptest.NewRecorder(), r)
	if !ok {
		t.Fatal("refused")
	}
	if got := a.Request.URL.String(); got != "/api/calls/1.0/users/a+b" || a.Request.RequestURI != got || a.Request.URL.RawPath != "" {
		t.Errorf("URL %q, RequestURI %q", got, a.Request.RequestURI)
	}
	a, ok = f.Admit(httptest.NewRecorder(), request(t, "PUT", "/api/confd/1.1/policies/p/acl/%21confd.*.%23?a=%20", "X-Auth-Token", token))
	if !ok {
		t.Fatal("refused")
	}
	if got := a.Request.URL.String(); got != "/api/confd/1.1/policies/p/acl/%21confd.%2A.%23?a=%20" || a.Request.RequestURI != got {
		t.Errorf("URL %q, RequestURI %q", got, a.Request.RequestURI)
	}
}

func TestNewRefuses(t *testing.T) {
	service := confd(t)
	twice := gate.Services([]*rest.Service{service, service})
	odd := gate.Services([]*rest.Service{{Name: "x", Prefix: "/a//b"}})
	encoded := gate.Services([]*rest.Service{{Name: "x", Prefix: "/a%62"}})
	for _, tt := range []struct {
		name string
		c    gate.Config
	}{
		{"no tokens", gate.Config{}},
		{"two services in one place", gate.Config{Tokens: &known{}, Routers: twice}},
		{"malformed prefix", gate.Config{Tokens: &known{}, Routers: odd}},
		{"encoded prefix", gate.Config{Tokens: &known{}, Routers: encoded}},
		{"origin without a scheme", gate.Config{Tokens: &known{}, Origins: []string{"example.com"}}},
		{"origin with a path", gate.Config{Tokens: &known{}, Origins: []string{"https://example.com/"}}},
		{"origin in upper case", gate.Config{Tokens: &known{}, Origins: []string{"https://Example.com"}}},
		{"every origin", gate.Config{Tokens: &known{}, Origins: []string{"*"}}},
		{"origins of a domain", gate.Config{Tokens: &known{}, Origins: []string{"https://*.example.com"}}},
		{"origin of a file", gate.Config{Tokens: &known{}, Origins: []string{"null"}}},
		{"a header that only the gate writes", gate.Config{Tokens: &known{}, ForwardHeaders: []string{"X-Ok", "x-ringfence-user"}}},
		{"a header that some take for another", gate.Config{Tokens: &known{}, ForwardHeaders: []string{"X_Auth_Token"}}},
		{"a header with another method", gate.Config{Tokens: &known{}, ForwardHeaders: []string{"x-http-method-override"}}},
		{"a header without a name", gate.Config{Tokens: &known{}, ForwardHeaders: []string{""}}},
		{"origin of another scheme", gate.Config{Tokens: &known{}, Origins: []string{"ftp://example.com"}}},
	} {
		if _, err := gate.New(tt.c); err == nil {
			t.Errorf("%s: accepted", tt.name)
		}
	}
}

// The longest prefix decides, whatever the order of the configuration.
func TestLongestPrefix(t *testing.T) {
	short, err := gate.NewDerived("all", "/api", nil)
	if err != nil {
		t.Fatal(err)
	}
	root, err := gate.NewDerived("root", "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	long, err := gate.NewDerived("calls", "/api/calls/1.0", nil)
	if err != nil {
		t.Fatal(err)
	}
	tokens := &known{}
	token := tokens.issue(t, "#")
	for _, routers := range [][]gate.Router{{root, short, long}, {long, short, root}} {
		g, err := gate.New(gate.Config{Routers: routers, Tokens: tokens})
		if err != nil {
			t.Fatal(err)
		}
		for target, want := range map[string]string{
			"/api/calls/1.0/x": "calls.x.read", "/api/calls/x": "all.calls.x.read", "/api/x": "all.x.read", "/x": "root.x.read", "/": "root.read",
		} {
			a, ok := g.Admit(httptest.NewRecorder(), request(t, "GET", target, "X-Auth-Token", token))
			if !ok || a.Need.Access != want {
				t.Errorf("GET %s needs %q, want %q", target, a.Need.Access, want)
			}
		}
	}
}
