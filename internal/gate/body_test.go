package gate_test

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/gate"
	"github.com/ringfence/ringfence/internal/principal"
)

// Who sends a body slowly, and loses the token or some of its rights meanwhile, has not sent it.
func TestBodyThatEndsTooLate(t *testing.T) {
	const whole = `{"firstname": "Ada"}`
	for name, tt := range map[string]struct {
		meanwhile    func(k *known, token string)
		own, another apierr.Kind // by a service of ours and by an upstream; 0: the body ends well
	}{
		"nothing":         {func(*known, string) {}, 0, 0},
		"looked up again": {func(k *known, token string) { k.principals[token] = changed(t, k.principals[token], "#") }, 0, 0},
		"revoked":         {func(k *known, token string) { delete(k.principals, token) }, apierr.Unauthorized, apierr.Unauthorized},
		"unknown whether": {func(k *known, token string) { k.errs = map[string]error{token: errors.New("no database")} }, apierr.Unavailable, 0}, // yet
		"fewer rights, enough for this": {func(k *known, token string) {
			k.principals[token] = changed(t, k.principals[token], "confd.users.create", "calls.users.create")
		}, apierr.Forbidden, 0},
		"denied": {func(k *known, token string) {
			k.principals[token] = changed(t, k.principals[token], "#", "!*.users.create")
		}, apierr.Forbidden, apierr.Forbidden},
		"another tenant": {func(k *known, token string) {
			moved := changed(t, k.principals[token], "#")
			moved.Affiliation = &principal.Affiliation{TenantUUID: userUUID, Purpose: "external_api"}
			k.principals[token] = moved
		}, apierr.Forbidden, apierr.Forbidden},
	} {
		for path, want := range map[string]apierr.Kind{"/api/confd/1.1/users": tt.own, "/api/calls/1.0/users": tt.another} {
			t.Run(name+path, func(t *testing.T) {
				g := newGate(t)
				k := g.tokens
				token := k.issue(t, "#")
				body, sends := io.Pipe()
				go func() {
					_, _ = io.WriteString(sends, whole[:5])
					_, _ = io.WriteString(sends, whole[5:])
					_ = sends.Close()
				}()
				r := httptest.NewRequestWithContext(t.Context(), "POST", path, body)
				r.Header.Set("X-Auth-Token", token)
				w := httptest.NewRecorder()
				a, ok := g.Admit(w, r)
				if !ok {
					t.Fatal("not admitted")
				}
				first := make([]byte, 5)
				if _, err := io.ReadFull(a.Request.Body, first); err != nil {
					t.Fatal(err)
				}
				tt.meanwhile(k, token)
				rest, err := io.ReadAll(a.Request.Body)
				if got := string(first) + string(rest); want == 0 && got != whole || !strings.HasPrefix(whole, got) {
					t.Errorf("read %q", got)
				}
				if e := apierr.As(err); (want == 0) != (err == nil) || err != nil && (e == nil || e.Kind != want) {
					t.Errorf("the body ends with %v", err)
				}
				if want != 0 && path == "/api/calls/1.0/users" && len(rest) > 0 {
					t.Errorf("the upstream gets %q after that", rest)
				}
				if _, again := a.Request.Body.Read(first); want != 0 && !errors.Is(again, err) || want == 0 && again != io.EOF {
					t.Errorf("read again: %v", again)
				}
				if blamed := g.Blame(&a); blamed != (want != 0 && path == "/api/calls/1.0/users") || blamed && w.Code != int(want) {
					t.Errorf("answered %t: %d", blamed, w.Code)
				}
				a.Finish(0)
			})
		}
	}
}

// changed returns the principal after another look-up, with these accesses.
func changed(t *testing.T, p *principal.Principal, patterns ...string) *principal.Principal {
	t.Helper()
	set, err := acl.Compile(patterns)
	if err != nil {
		t.Fatal(err)
	}
	other := *p
	other.ACL = set
	return &other
}

// A request to an upstream that names a tenant ends when its caller may no longer act there: the tenant was moved, or another one deleted.
func TestNamedTenantIsAskedAgain(t *testing.T) {
	const named = "2c9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e"
	for _, gone := range []bool{false, true} {
		derived, err := gate.NewDerived("calls", "/api/calls/1.0", nil)
		if err != nil {
			t.Fatal(err)
		}
		k, asked := &known{}, 0
		g, err := gate.New(gate.Config{
			Routers: []gate.Router{derived}, Tokens: k,
			Tenant: func(_ context.Context, _ *principal.Principal, sent []string) (string, error) {
				if asked++; asked > 1 && gone {
					return "", apierr.New(apierr.Unauthorized, "Unauthorized tenant")
				}
				return sent[0], nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		token := k.issue(t, "#")
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/api/calls/1.0/users", strings.NewReader("whole"))
		r.Header.Set("X-Auth-Token", token)
		r.Header.Set("Wazo-Tenant", named)
		a, ok := g.Admit(httptest.NewRecorder(), r)
		if !ok {
			t.Fatal("not admitted")
		}
		k.principals[token] = changed(t, k.principals[token], "#") // a tenant that moves has all tokens looked up again
		got, err := io.ReadAll(a.Request.Body)
		if e := apierr.As(err); gone != (e != nil && e.Kind == apierr.Unauthorized) || gone != (len(got) == 0) {
			t.Errorf("gone: %t, the upstream gets %q, %v", gone, got, err)
		}
		a.Finish(0)
	}
}
