package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/gate"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/tokens"
)

const (
	userUUID    = "8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e"
	tenantUUID  = "1b9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e"
	sessionUUID = "5c9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e"
)

// known is a source of tokens that was told who they are.
type known struct {
	principals map[string]*principal.Principal
	errs       map[string]error
	lookups    atomic.Int64 // a watched request looks its token up in the background
}

func (k *known) Principal(_ context.Context, token string) (*principal.Principal, error) {
	if !tokens.WellFormed(token) {
		return nil, tokens.ErrMalformed
	}
	k.lookups.Add(1)
	if err := k.errs[token]; err != nil {
		return nil, err
	}
	if p, ok := k.principals[token]; ok {
		return p, nil
	}
	return nil, tokens.ErrUnknown
}

func (*known) Shape(text string) bool { return tokens.WellFormed(text) }

// issue makes a token that holds the accesses.
func (k *known) issue(tb testing.TB, patterns ...string) string {
	tb.Helper()
	set, err := acl.Compile(patterns)
	if err != nil {
		tb.Fatal(err)
	}
	token := tokens.New()
	if k.principals == nil {
		k.principals = map[string]*principal.Principal{}
	}
	k.principals[token] = &principal.Principal{
		UserUUID: userUUID, SessionUUID: sessionUUID, ACL: set,
		Affiliation: &principal.Affiliation{TenantUUID: tenantUUID, Purpose: "external_api"},
	}
	return token
}

func (k *known) fail(err error) string {
	token := tokens.New()
	if k.errs == nil {
		k.errs = map[string]error{}
	}
	k.errs[token] = err
	return token
}

// counted remembers what was decided.
type counted struct {
	sync.Mutex
	decisions []string
	answers   []string
}

func (c *counted) Answered(service string, status int, took time.Duration) {
	c.Lock()
	defer c.Unlock()
	answer := fmt.Sprint(service, " ", status)
	if took <= 0 || took > time.Hour {
		answer += " in " + took.String()
	}
	c.answers = append(c.answers, answer)
}

func (c *counted) Decided(service, outcome string) {
	c.Lock()
	defer c.Unlock()
	c.decisions = append(c.decisions, service+" "+outcome)
}

func (c *counted) last() string {
	c.Lock()
	defer c.Unlock()
	if len(c.decisions) == 0 {
		return ""
	}
	return c.decisions[len(c.decisions)-1]
}

func confd(t testing.TB) *rest.Service {
	t.Helper()
	answer := func(context.Context, *rest.Request) (rest.Reply, error) { return rest.Reply{Body: rest.Null}, nil }
	s := &rest.Service{Name: "confd", Version: "1.1", Prefix: "/api/confd/1.1", Title: "Configuration", Errors: rest.MessageList}
	for _, op := range []rest.Operation{
		{Method: "GET", Path: "/users", Access: "confd.users.read"},
		{Method: "GET", Path: "/users/{user_id}", Access: "confd.users.{user_id}.read"},
		{Method: "PUT", Path: "/users/{user_id}", Access: "confd.users.{user_id}.update"},
		{Method: "GET", Path: "/wizard", Public: true},
		{Method: "GET", Path: "/odd"},
		{Method: "PUT", Path: "/policies/{policy}/acl/{access}", Access: "confd.policies.{policy}.update", Pattern: "access"},
	} {
		op.ID = strings.ToLower(op.Method) + strings.NewReplacer("/", "_", "{", "", "}", "").Replace(op.Path)
		op.Summary, op.Success, op.Handle = "Test", http.StatusOK, answer
		s.Operations = append(s.Operations, op)
	}
	if err := s.Mount(); err != nil {
		t.Fatal(err)
	}
	return s
}

type fixture struct {
	*gate.Gate
	tokens *known
	seen   *counted
}

func newGate(t testing.TB, origins ...string) fixture {
	t.Helper()
	seen := &counted{}
	f := newGateSeen(t, seen, origins...)
	f.seen = seen
	return f
}

func newGateSeen(t testing.TB, seen gate.Observer, origins ...string) fixture {
	t.Helper()
	derived, err := gate.NewDerived("calls", "/api/calls/1.0", []gate.Route{
		{Method: "GET", Path: "/api/calls/1.0/status"}, {Method: "POST", Path: "/api/calls/1.0/hooks/{id}"},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := fixture{tokens: &known{}}
	f.Gate, err = gate.New(gate.Config{
		Routers: append(gate.Services([]*rest.Service{confd(t)}), derived), Tokens: f.tokens, Observer: seen, Origins: origins,
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func request(t testing.TB, method, target string, headers ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func checkRefusal(t *testing.T, w *httptest.ResponseRecorder, method string, status int) {
	t.Helper()
	if w.Code != status {
		t.Errorf("status %d, want %d: %s", w.Code, status, w.Body)
	}
	if w.Header().Get("Content-Type") != "application/json" || (method != "HEAD" && !json.Valid(w.Body.Bytes())) {
		t.Errorf("not JSON: %q %s", w.Header().Get("Content-Type"), w.Body)
	}
	if got := w.Header().Get("WWW-Authenticate"); got != "" {
		t.Errorf("WWW-Authenticate %q makes browsers ask for a password", got)
	}
	if (status == 503) != (w.Header().Get("Retry-After") != "") {
		t.Errorf("Retry-After %q", w.Header().Get("Retry-After"))
	}
	if (status == 405) != (w.Header().Get("Allow") == "GET, HEAD, POST, PUT, PATCH, DELETE") {
		t.Errorf("Allow %q", w.Header().Get("Allow"))
	}
}
