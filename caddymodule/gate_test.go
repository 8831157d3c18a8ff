package caddymodule_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/ringfence/ringfence/caddymodule"
	"github.com/ringfence/ringfence/internal/gate"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/tokens"
)

// A handler may panic, as reverse_proxy does when an answer breaks off: what the gate began for the request ends all the same.
func TestAnswerThatBreaksOff(t *testing.T) {
	public, err := gate.NewDerived("calls", "/api/calls/1.0", []gate.Route{{Method: "GET", Path: "/api/calls/1.0/status"}})
	if err != nil {
		t.Fatal(err)
	}
	seen := &heard{}
	g, err := gate.New(gate.Config{Routers: []gate.Router{public}, Tokens: nobody{}, Observer: seen})
	if err != nil {
		t.Fatal(err)
	}
	handler := caddymodule.GateOf(g)
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler { //nolint:errorlint // the very value
				t.Errorf("the panic became %v", p)
			}
		}()
		_ = handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/api/calls/1.0/status", nil),
			caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error { panic(http.ErrAbortHandler) }))
	}()
	if len(seen.answered) != 1 || seen.answered[0] != http.StatusInternalServerError {
		t.Errorf("answered %v", seen.answered)
	}
}

type heard struct{ answered []int }

func (*heard) Decided(string, string) {}

func (h *heard) Answered(_ string, status int, _ time.Duration) {
	h.answered = append(h.answered, status)
}

type nobody struct{}

func (nobody) Principal(context.Context, string) (*principal.Principal, error) {
	return nil, tokens.ErrUnknown
}

func (nobody) Shape(string) bool { return true }
