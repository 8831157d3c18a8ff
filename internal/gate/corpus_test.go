package gate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/gate"
	"github.com/ringfence/ringfence/internal/gate/gatetest"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/tokens"
)

// arrivals are the requests that came through the gate.
type arrivals struct {
	sync.Mutex
	n    int
	errs []error
}

func (a *arrivals) add(err error) {
	a.Lock()
	defer a.Unlock()
	a.n++
	a.errs = append(a.errs, err)
}

func (a *arrivals) take() (int, error) {
	a.Lock()
	defer a.Unlock()
	n, err := a.n, errors.Join(a.errs...)
	a.n, a.errs = 0, nil
	return n, err
}

// TestCorpusUpstream sends the corpus, as bytes over TLS and as HTTP/2 frames, to a gate in front of a reverse proxy.
func TestCorpusUpstream(t *testing.T) {
	w := gatetest.World{
		Service: "echo", Prefix: "/api/echo/1.0", Unknown: tokens.New(),
		User: userUUID, Tenant: tenantUUID,
	}
	known := &known{}
	w.Token = known.issue(t, "echo.pub.#")
	var seen arrivals
	backend := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		seen.add(w.Check(r))
		rw.Header().Set("X-Auth-Token", w.Token)
		rw.Header().Set("X-Ringfence-User", "root")
		rw.Header().Set("X-Request-Id", "theirs")
	}))
	defer backend.Close()
	router, err := gate.NewDerived(w.Service, w.Prefix, []gate.Route{{Method: "GET", Path: w.Prefix + "/status"}})
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(address) }}
	runCorpus(t, w, known, []gate.Router{router}, proxy, &seen)
}

// TestCorpusService does the same with a service of ours, which reads the context.
func TestCorpusService(t *testing.T) {
	w := gatetest.World{Service: "echo", Prefix: "/api/echo/1.0", Unknown: tokens.New()}
	known := &known{}
	w.Token = known.issue(t, "echo.pub.#")
	var seen arrivals
	service := &rest.Service{Name: w.Service, Version: "1.0", Prefix: w.Prefix, Title: "Echo", Errors: rest.CodeMessage}
	for _, op := range []rest.Operation{
		{Method: "GET", Path: "/pub/{x}", Access: "echo.pub.{x}.read"},
		{Method: "POST", Path: "/pub/{x}", Access: "echo.pub.{x}.create"},
		{Method: "GET", Path: "/status", Public: true},
		{Method: "GET", Path: "/admin", Access: "echo.admin.read"},
		{Method: "DELETE", Path: "/admin", Access: "echo.admin.delete"},
	} {
		op.ID, op.Success = op.Method+op.Path, http.StatusOK
		op.Handle = func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
			err := w.Check(r.HTTP)
			if err == nil && !op.Public && principal.FromContext(ctx) == nil {
				err = errors.New("no principal")
			}
			if m := rest.FromContext(ctx); err == nil && m.Op.ID != op.ID {
				err = fmt.Errorf("matched %s, served %s", m.Op.ID, op.ID)
			}
			seen.add(err)
			return rest.Reply{Body: rest.Null}, nil
		}
		service.Operations = append(service.Operations, op)
	}
	if err := service.Mount(); err != nil {
		t.Fatal(err)
	}
	runCorpus(t, w, known, gate.Services([]*rest.Service{service}), service, &seen)
}

func runCorpus(t *testing.T, w gatetest.World, known *known, routers []gate.Router, next http.Handler, seen *arrivals) {
	t.Helper()
	g, err := gate.New(gate.Config{Routers: routers, Tokens: known})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if a, ok := g.Admit(rw, r); ok {
			next.ServeHTTP(a.Writer, a.Request)
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	address := server.Listener.Addr().String()
	cases := gatetest.Corpus(w)
	if len(cases) < 300 {
		t.Errorf("the corpus has only %d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			answer, err := c.Send(t.Context(), address)
			if err != nil {
				t.Fatal(err)
			}
			n, err := seen.take()
			if err != nil {
				t.Errorf("what arrived is not what was checked: %v", err)
			}
			if len(c.Want) > 0 && !slices.Contains(c.Want, answer.Status) {
				t.Errorf("status %d, want one of %v: %.200s", answer.Status, c.Want, answer.Body)
			}
			if (c.Arrives && n != 1) || (len(c.Want) > 0 && !c.Arrives && n != 0) {
				t.Errorf("%d requests arrived", n)
			}
			for _, name := range []string{"X-Auth-Token", "X-Ringfence-User"} {
				if answer.Header.Get(name) != "" {
					t.Errorf("the answer has %s", name)
				}
			}
			if ids := answer.Header["X-Request-Id"]; c.Arrives && (len(ids) != 1 || ids[0] == "theirs") {
				t.Errorf("the answer has the request ids %q", ids)
			}
		})
	}
}
