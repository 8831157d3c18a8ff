package gate_test

import (
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
)

// Who sends a body slowly, and loses the token or some of its rights meanwhile, has not sent it.
func TestBodyThatEndsTooLate(t *testing.T) {
	for name, tt := range map[string]struct {
		meanwhile func(k *known, token string)
		want      apierr.Kind // 0: the body ends well
	}{
		"nothing":         {func(*known, string) {}, 0},
		"looked up again": {func(k *known, token string) { k.principals[token] = changed(t, k.principals[token], "confd.#") }, 0},
		"revoked":         {func(k *known, token string) { delete(k.principals, token) }, apierr.Unauthorized},
		"unknown whether": {func(k *known, token string) { k.errs = map[string]error{token: errors.New("no database")} }, apierr.Unavailable},
		"fewer rights, enough for this": {func(k *known, token string) {
			k.principals[token] = changed(t, k.principals[token], "confd.users.create")
		}, apierr.Forbidden},
		"another tenant": {func(k *known, token string) {
			moved := changed(t, k.principals[token], "confd.#")
			moved.Affiliation = &principal.Affiliation{TenantUUID: userUUID, Purpose: "external_api"}
			k.principals[token] = moved
		}, apierr.Forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			k := g.tokens
			token := k.issue(t, "confd.#")
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/api/confd/1.1/users", strings.NewReader(`{"firstname": "Ada"}`))
			r.Header.Set("X-Auth-Token", token)
			a, ok := g.Admit(httptest.NewRecorder(), r)
			if !ok {
				t.Fatal("not admitted")
			}
			first := make([]byte, 5)
			if _, err := io.ReadFull(a.Request.Body, first); err != nil {
				t.Fatal(err)
			}
			tt.meanwhile(k, token)
			rest, err := io.ReadAll(a.Request.Body)
			if string(first)+string(rest) != `{"firstname": "Ada"}` {
				t.Errorf("read %q", rest)
			}
			if e := apierr.As(err); (tt.want == 0) != (err == nil) || err != nil && (e == nil || e.Kind != tt.want) {
				t.Errorf("the body ends with %v", err)
			}
			if _, again := a.Request.Body.Read(first); tt.want != 0 && !errors.Is(again, err) || tt.want == 0 && again != io.EOF {
				t.Errorf("read again: %v", again)
			}
		})
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
