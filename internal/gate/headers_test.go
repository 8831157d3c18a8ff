package gate_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/gate"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

func TestDuplicates(t *testing.T) {
	f := newGate(t)
	token := f.tokens.issue(t, "#")
	for _, path := range []string{"/api/confd/1.1/users", "/api/confd/1.1/wizard", "/api/calls/1.0/status"} {
		for _, name := range []string{"X-Auth-Token", "Wazo-Tenant"} {
			w := httptest.NewRecorder()
			if _, ok := f.Admit(w, request(t, "GET", path, name, token, name, token)); ok || w.Code != 400 {
				t.Errorf("GET %s with two %s: %d", path, name, w.Code)
			}
		}
	}
}

// A service of ours reads the context, an upstream the headers; neither gets both.
func TestIdentity(t *testing.T) {
	f := newGate(t)
	token := f.tokens.issue(t, "#")
	f.tokens.principals[token].SessionUUID = ""
	own := []string{"X-Ringfence-User", "X-Ringfence-Tenant", "X-Ringfence-Session", "X-Ringfence-Purpose"}

	a, ok := f.Admit(httptest.NewRecorder(), request(t, "GET", "/api/calls/1.0/x", "X-Auth-Token", token, "X-Ringfence-Session", "forged"))
	if !ok {
		t.Fatal("refused")
	}
	var got []string
	for _, name := range own {
		got = append(got, strings.Join(a.Request.Header[name], "|"))
	}
	if !slices.Equal(got, []string{userUUID, tenantUUID, "", ""}) {
		t.Errorf("an upstream is told %q", got)
	}
	if principal.FromContext(a.Request.Context()) != nil {
		t.Error("an upstream's request has a context that nobody reads")
	}

	w := httptest.NewRecorder()
	a, ok = f.Admit(w, request(t, "GET", "/api/confd/1.1/users/17", "X-Auth-Token", token, "X-Ringfence-User", "forged", "X-Request-Id", "mine"))
	if !ok {
		t.Fatal("refused")
	}
	for _, name := range own {
		if a.Request.Header.Get(name) != "" {
			t.Errorf("a service of ours is told %s by header", name)
		}
	}
	ctx := a.Request.Context()
	if m := rest.FromContext(ctx); m == nil || m.Param("user_id") != "17" || m.Access() != a.Need.Access {
		t.Errorf("the match is %+v", rest.FromContext(ctx))
	}
	if p := principal.FromContext(ctx); p == nil || p != a.Principal || p.UserUUID != userUUID {
		t.Errorf("the principal is %v", p)
	}
	if got := a.Request.Header.Get("X-Request-Id"); got != "mine" || w.Header().Get("X-Request-Id") != "mine" {
		t.Errorf("the request id is %q, the answer's %q", got, w.Header().Get("X-Request-Id"))
	}

	a, _ = f.Admit(httptest.NewRecorder(), request(t, "GET", "/api/confd/1.1/wizard", "X-Auth-Token", token))
	if principal.FromContext(a.Request.Context()) != nil {
		t.Error("a public operation has a principal")
	}
}

// What an upstream gets of the credentials that a client sent.
func TestCredentialsOfAnUpstream(t *testing.T) {
	const basic = "Basic dTpw"
	for _, tt := range []struct {
		name               string
		forward            bool
		target             string
		sent               func(token string) []string
		token, credentials bool
	}{
		{"token", false, "/api/calls/1.0/x", func(token string) []string { return []string{"X-Auth-Token", token} }, false, false},
		{"token, forwarded", true, "/api/calls/1.0/x", func(token string) []string { return []string{"X-Auth-Token", token} }, true, false},
		{"both", false, "/api/calls/1.0/x", func(token string) []string { return []string{"X-Auth-Token", token, "Authorization", basic} }, false, false},
		{"both, forwarded", true, "/api/calls/1.0/x", func(token string) []string { return []string{"X-Auth-Token", token, "Authorization", basic} }, true, false},
		{"public, both", false, "/api/calls/1.0/status", func(token string) []string { return []string{"X-Auth-Token", token, "Authorization", basic} }, false, false},
		{"public, both, forwarded", true, "/api/calls/1.0/status", func(token string) []string { return []string{"X-Auth-Token", token, "Authorization", basic} }, true, false},
		{"public", false, "/api/calls/1.0/status", func(string) []string { return []string{"X-Auth-Token", "", "Authorization", basic} }, false, true},
		{"public, forwarded", true, "/api/calls/1.0/status", func(string) []string { return []string{"Authorization", basic} }, false, true},
	} {
		router, err := gate.NewDerived("calls", "/api/calls/1.0", []gate.Route{{Method: "GET", Path: "/api/calls/1.0/status"}})
		if err != nil {
			t.Fatal(err)
		}
		tokens := &known{}
		token := tokens.issue(t, "calls.#")
		g, err := gate.New(gate.Config{Routers: []gate.Router{router}, Tokens: tokens, ForwardToken: tt.forward})
		if err != nil {
			t.Fatal(err)
		}
		a, ok := g.Admit(httptest.NewRecorder(), request(t, "GET", tt.target, tt.sent(token)...))
		if !ok {
			t.Fatalf("%s: refused", tt.name)
		}
		got := a.Request.Header
		if (got.Get("X-Auth-Token") == token) != tt.token || (len(got["X-Auth-Token"]) > 0) != tt.token || (len(got["Authorization"]) > 0) != tt.credentials {
			t.Errorf("%s: the upstream gets %v", tt.name, got)
		}
	}
	f := newGate(t)
	token := f.tokens.issue(t, "#")
	if a, ok := f.Admit(httptest.NewRecorder(), request(t, "GET", "/api/confd/1.1/users", "X-Auth-Token", token, "Authorization", basic, "Wazo-Tenant", "any")); !ok ||
		a.Request.Header.Get("X-Auth-Token") != token || a.Request.Header.Get("Authorization") != basic || a.Request.Header.Get("Wazo-Tenant") != "any" {
		t.Error("a service of ours does not get what was sent")
	}
}

// Wazo-Tenant reaches an upstream only where the principal may act in the tenant.
func TestTenantOfAnUpstream(t *testing.T) {
	const below, canonical = "2C9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e", "2c9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e"
	router, err := gate.NewDerived("calls", "/api/calls/1.0", []gate.Route{{Method: "GET", Path: "/api/calls/1.0/status"}})
	if err != nil {
		t.Fatal(err)
	}
	chosen := func(_ context.Context, who *principal.Principal, lines []string) (string, error) {
		switch {
		case who.TenantUUID != tenantUUID || len(lines) != 1:
			return "", errors.New("a bug")
		case lines[0] == below:
			return canonical, nil
		case lines[0] == "away":
			return "", store.ErrUnavailable
		default:
			return "", &apierr.Error{Kind: apierr.Unauthorized, Message: "Unauthorized tenant", ID: "unauthorized-tenant"}
		}
	}
	within := func(t *testing.T, token string) func(context.Context, string, string) (bool, error) {
		return func(_ context.Context, asker, asked string) (bool, error) {
			switch {
			case asker != token || asked != strings.ToLower(asked):
				t.Errorf("asked about %s", asked)
				return true, nil
			case asked == userUUID:
				return false, store.ErrUnavailable
			case strings.HasPrefix(asked, "0000"):
				return false, tokens.ErrUnknown
			}
			return asked == canonical, nil
		}
	}
	tokens := &known{}
	token := tokens.issue(t, "calls.#")
	for _, tt := range []struct {
		name, path, tenant string
		chosen             func(context.Context, *principal.Principal, []string) (string, error)
		status             int
		arrives            string
	}{
		{"none", "x", "", chosen, 200, ""},
		{"own", "x", tenantUUID, chosen, 200, tenantUUID},
		{"below", "x", below, chosen, 200, canonical},
		{"another", "x", sessionUUID, chosen, 401, ""},
		{"no tenant at all", "x", "*", chosen, 401, ""},
		{"nobody knows", "x", "away", chosen, 503, ""},
		{"public", "status", tenantUUID, chosen, 200, ""},
		{"own, nobody to ask", "x", strings.ToUpper(tenantUUID), nil, 200, tenantUUID},
		{"another, nobody to ask", "x", below, nil, 401, ""},
		{"own, of another auth server", "x", tenantUUID, chosen, 200, tenantUUID},
		{"own in capitals, of another auth server", "x", strings.ToUpper(tenantUUID), chosen, 200, tenantUUID},
		{"below, of another auth server", "x", below, chosen, 200, canonical},
		{"beside, of another auth server", "x", sessionUUID, chosen, 401, ""},
		{"no UUID, of another auth server", "x", "any", chosen, 401, ""},
		{"without dashes, of another auth server", "x", strings.ReplaceAll(below, "-", ""), chosen, 401, ""},
		{"in braces, of another auth server", "x", "{" + below + "}", chosen, 401, ""},
		{"nobody knows, of another auth server", "x", userUUID, chosen, 503, ""},
		{"revoked meanwhile, of another auth server", "x", "00000000-0000-4000-8000-000000000000", chosen, 401, ""},
	} {
		tokens.principals[token].Remote = strings.HasSuffix(tt.name, "another auth server")
		g, err := gate.New(gate.Config{Routers: []gate.Router{router}, Tokens: tokens, Tenant: tt.chosen, Within: within(t, token)})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		a, ok := g.Admit(w, request(t, "GET", "/api/calls/1.0/"+tt.path, tenantHeaders(token, tt.tenant)...))
		if w.Code != tt.status || ok != (tt.status == 200) {
			t.Errorf("%s: status %d: %s", tt.name, w.Code, w.Body)
		}
		if ok && strings.Join(a.Request.Header["Wazo-Tenant"], "|") != tt.arrives {
			t.Errorf("%s: the upstream gets %q", tt.name, a.Request.Header["Wazo-Tenant"])
		}
	}
}

// In a service of ours a principal of another auth server acts in a tenant only by that server's word, which the service gets with
// the request; what is known here of that server's tenants follows it before a tenanted operation.
func TestTenantOfAnotherAuthServerInOurServices(t *testing.T) {
	const below, canonical = "2C9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e", "2c9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e"
	svc := confd(t)
	for i := range svc.Operations {
		svc.Operations[i].Tenanted = svc.Operations[i].Path == "/users"
	}
	tokens := &known{}
	token := tokens.issue(t, "#")
	tokens.principals[token].Remote = true
	for _, tt := range []struct {
		name, path, tenant string
		follows            error
		status             int
		acts, followed     string
	}{
		{"own", "users", "", nil, 200, tenantUUID, tenantUUID},
		{"below", "users", below, nil, 200, canonical, canonical},
		{"beside", "users", sessionUUID, nil, 401, "", ""},
		{"no UUID", "users", "x", nil, 401, "", ""},
		{"nobody knows the tree", "users", "", store.ErrUnavailable, 503, "", tenantUUID},
		{"refused", "users", below, &apierr.Error{Kind: apierr.Unauthorized, Message: "Unauthorized tenant"}, 401, "", canonical},
		{"not tenanted", "odd", below, nil, 200, canonical, ""},
		{"not tenanted, beside", "odd", sessionUUID, nil, 401, "", ""},
		{"public", "wizard", sessionUUID, nil, 200, "", ""},
	} {
		followed := ""
		g, err := gate.New(gate.Config{
			Routers: gate.Services([]*rest.Service{svc}), Tokens: tokens,
			Within: func(_ context.Context, asker, asked string) (bool, error) {
				return asker == token && asked == canonical, nil
			},
			Follow: func(ctx context.Context, _ *principal.Principal, in string, within func(context.Context, string) (bool, error)) error {
				followed = in
				if ok, err := within(ctx, sessionUUID); ok || err != nil {
					t.Errorf("%s: %t, %v", tt.name, ok, err)
				}
				return tt.follows
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		a, ok := g.Admit(w, request(t, "GET", "/api/confd/1.1/"+tt.path, tenantHeaders(token, tt.tenant)...))
		if w.Code != tt.status || ok != (tt.status == 200) || followed != tt.followed {
			t.Errorf("%s: status %d: %s; followed in %q", tt.name, w.Code, w.Body, followed)
		}
		if ok && principal.Tenant(a.Request.Context()) != tt.acts {
			t.Errorf("%s: acts in %q", tt.name, principal.Tenant(a.Request.Context()))
		}
	}
}

// tenantHeaders are the headers of a request that acts in a tenant, or in the token's own if it is "".
func tenantHeaders(token, tenant string) []string {
	if tenant == "" {
		return []string{"X-Auth-Token", token}
	}
	return []string{"X-Auth-Token", token, "Wazo-Tenant", tenant}
}
