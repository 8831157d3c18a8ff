package remote_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

const (
	below      = "be101100-0000-4000-8000-000000000000"
	forbidden  = `{"reason": ["Unauthorized for tenant x"], "timestamp": [1772366400.1], "status_code": 403}`
	forbidden2 = `{"message": "Unauthorized for this tenant", "error_id": "unauthorized-tenant", "details": {}, "timestamp": 1.5}`
)

// The server is scripted, to give the answers that no real one can be brought to give.
func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		name   string
		handle http.HandlerFunc
		within bool
		want   error
	}{
		{"below", answer(200, record(nil)), true, nil},
		{"not below", answer(403, forbidden), false, nil},
		{"not below, in the other form", answer(403, forbidden2), false, nil},
		{"revoked meanwhile", answer(404, noSuchToken), false, tokens.ErrUnknown},
		{"a firewall's 403", answer(403, `<html>Forbidden</html>`), false, store.ErrUnavailable},
		{"a proxy's 403, in JSON", answer(403, `{"detail": "Forbidden"}`), false, store.ErrUnavailable},
		{"another status in its body", answer(403, noSuchToken), false, store.ErrUnavailable},
		{"no such page", answer(404, ``), false, store.ErrUnavailable},
		{"refused", answer(401, forbidden), false, store.ErrUnavailable},
		{"it does not take the parameter", answer(400, `{"reason": ["tenant"], "status_code": 400}`), false, store.ErrUnavailable},
		{"no body", answer(204, ``), false, store.ErrUnavailable},
		{"a page", answer(200, `<html>Sign in</html>`), false, store.ErrUnavailable},
		{"no record", answer(200, `{}`), false, store.ErrUnavailable},
		{"fault", answer(500, `{}`), false, store.ErrUnavailable},
		{"away", answer(503, `{}`), false, store.ErrUnavailable},
		{"redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusFound) }, false, store.ErrUnavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := platform(t, func(w http.ResponseWriter, r *http.Request) {
				if asked := r.URL.Query()["tenant"]; r.Method != http.MethodGet || r.URL.Path != "/api/auth/0.1/token/"+token || len(asked) != 1 {
					t.Errorf("asked %s %s", r.Method, r.RequestURI)
				} else if asked[0] != below { // any other was made up
					answer(403, forbidden)(w, r)
					return
				}
				tt.handle(w, r)
			}, nil)
			for range 2 {
				got, err := s.Within(t.Context(), token, below)
				if got != tt.within || !errors.Is(err, tt.want) || err != nil && tt.want == nil {
					t.Errorf("%t, %v", got, err)
				}
				if err != nil && strings.Contains(err.Error(), token) {
					t.Error("the error repeats the token")
				}
			}
		})
	}
}

// A server that ignores the question, since it has no tenants or is too old, lets nobody in.
func TestWithinOfAServerThatIgnoresTenants(t *testing.T) {
	var old atomic.Bool
	old.Store(true)
	s := platform(t, func(w http.ResponseWriter, r *http.Request) {
		if !old.Load() && r.URL.Query().Get("tenant") != below {
			answer(403, forbidden)(w, r)
			return
		}
		answer(200, record(nil))(w, r)
	}, nil)
	for range 2 {
		if got, err := s.Within(t.Context(), token, below); got || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%t, %v", got, err)
		}
	}
	old.Store(false)
	if got, err := s.Within(t.Context(), token, below); !got || err != nil {
		t.Errorf("%t, %v", got, err)
	}
}

func TestTenantInCapitals(t *testing.T) {
	s := platform(t, answer(200, record(map[string]any{"metadata": map[string]any{"tenant_uuid": strings.ToUpper(tenant)}})), nil)
	if p, err := load(t, s, token); err != nil || p.TenantUUID != tenant {
		t.Errorf("%+v, %v", p, err)
	}
}
