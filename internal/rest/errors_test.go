package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// logged collects the log until the test ends.
func logged(t *testing.T) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&b, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return &b
}

func twoFields() *apierr.Error {
	return &apierr.Error{Kind: apierr.Invalid, Fields: []apierr.Field{
		{Name: "limit", Message: "Must be 1 or more", Constraint: "range", Value: map[string]any{"min": 1}},
		{Name: "a.b[2]", Message: "Is required", Constraint: "required"},
	}}
}

func TestMessageList(t *testing.T) {
	for name, c := range map[string]struct {
		e    *apierr.Error
		want []string
	}{
		"invalid":   {apierr.New(apierr.Invalid, "x"), []string{"Input Error - x"}},
		"not found": {apierr.New(apierr.NotFound, "User was not found"), []string{"Resource Not Found - User was not found"}},
		"conflict":  {apierr.New(apierr.Conflict, "x"), []string{"Resource Error - x"}},
		"conflict in a field": {
			&apierr.Error{Kind: apierr.Conflict, Fields: []apierr.Field{{Name: "email", Message: "Is already used"}}}, []string{"Resource Error - email: ['Is already used']"},
		},
		"what is stored": {&apierr.Error{Kind: apierr.Invalid, ID: rest.ResourceError, Message: "User already exists"}, []string{"Resource Error - User already exists"}},
		"other":          {apierr.New(apierr.Forbidden, "x"), []string{"x"}},
		"nothing":        {&apierr.Error{Kind: apierr.Unavailable}, []string{"Service Unavailable"}},
		"both":           {&apierr.Error{Kind: apierr.Invalid, Message: "m", Fields: []apierr.Field{{Name: "a", Message: "b"}}}, []string{"Input Error - a: ['b']", "Input Error - m"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rest.MessageList(c.e, time.Now()); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func form(t *testing.T, form rest.ErrorForm, e *apierr.Error) map[string]any {
	t.Helper()
	text, err := rest.Marshal(form(e, time.Unix(1700000000, 250_000_000)))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCodeMessage(t *testing.T) {
	want := map[string]any{"code": 404.0, "message": "Not found"}
	if got := form(t, rest.CodeMessage, apierr.New(apierr.NotFound, "Not found")); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	want = map[string]any{"code": 400.0, "message": "limit: Must be 1 or more; a.b[2]: Is required"}
	if got := form(t, rest.CodeMessage, twoFields()); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

func TestAuthErrors(t *testing.T) {
	got := form(t, rest.AuthErrors, &apierr.Error{
		Kind: apierr.NotFound, Message: "No such user", ID: "unknown-user", Resource: "users", Details: map[string]any{"uuid": "x"},
	})
	want := map[string]any{
		"message": "No such user", "error_id": "unknown-user", "resource": "users", "details": map[string]any{"uuid": "x"},
		"timestamp": 1700000000.25, "reason": []any{"No such user"}, "status_code": 404.0,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	got = form(t, rest.AuthErrors, twoFields())
	if got["error_id"] != "invalid-data" || got["message"] != "limit: Must be 1 or more; a.b[2]: Is required" {
		t.Errorf("%v", got)
	}
	details := map[string]any{
		"limit":  map[string]any{"message": "Must be 1 or more", "constraint_id": "range", "constraint": map[string]any{"min": 1.0}},
		"a.b[2]": map[string]any{"message": "Is required", "constraint_id": "required", "constraint": nil},
	}
	if !reflect.DeepEqual(got["details"], details) {
		t.Errorf("details %v", got["details"])
	}
	if _, there := got["resource"]; there {
		t.Error("an empty resource")
	}
	twice := &apierr.Error{Kind: apierr.Invalid, Fields: []apierr.Field{{Name: "a", Message: "first"}, {Name: "a", Message: "second"}}}
	if got := form(t, rest.AuthErrors, twice)["details"].(map[string]any)["a"].(map[string]any)["message"]; got != "first" {
		t.Errorf("details say %v", got)
	}
}

func TestErrorIDs(t *testing.T) {
	for kind, want := range map[apierr.Kind]string{
		apierr.Invalid: "invalid-data", apierr.Unauthorized: "unauthorized", apierr.Forbidden: "forbidden", apierr.NotFound: "not-found",
		apierr.MethodNotAllowed: "method-not-allowed", apierr.NotAcceptable: "not-acceptable", apierr.Conflict: "conflict",
		apierr.PreconditionFailed: "precondition-failed", apierr.TooLarge: "too-large", apierr.TargetTooLong: "too-large",
		apierr.UnsupportedMediaType: "unsupported-media-type", apierr.TooMany: "too-many-requests", apierr.Internal: "internal-error",
		apierr.NotImplemented: "not-implemented", apierr.Unavailable: "service-unavailable", 418: "error",
	} {
		got := form(t, rest.AuthErrors, &apierr.Error{Kind: kind})
		if got["error_id"] != want || got["status_code"] != float64(kind) || got["message"] != http.StatusText(int(kind)) {
			t.Errorf("%d: %v", kind, got)
		}
	}
}

func TestRefusal(t *testing.T) {
	secret := errors.New("SELECT password FROM users")
	for name, c := range map[string]struct {
		err    error
		status int
		retry  time.Duration
		logged bool
	}{
		"a refusal":            {fmt.Errorf("reading: %w", apierr.New(apierr.Conflict, "Exists")), 409, 0, false},
		"a refusal's cause":    {&apierr.Error{Kind: apierr.Invalid, Message: "No", Err: secret}, 400, 0, false},
		"unavailable":          {fmt.Errorf("reading: %w", fmt.Errorf("%w: %w", store.ErrUnavailable, secret)), 503, 2 * time.Second, true},
		"a deadline":           {fmt.Errorf("reading: %w: %w", secret, context.DeadlineExceeded), 503, 2 * time.Second, true},
		"text of no database":  {fmt.Errorf("inserting: %w: %w", secret, store.ErrInvalidText), 400, 0, false},
		"a body's limit":       {fmt.Errorf("reading: %w", &http.MaxBytesError{Limit: 7}), 413, 0, false},
		"a broken constraint":  {&store.ConstraintError{Kind: store.Unique, Constraint: "users_email", Err: secret}, 500, 0, true},
		"not found":            {fmt.Errorf("reading: %w", store.ErrNotFound), 500, 0, true},
		"unknown":              {fmt.Errorf("reading: %w", secret), 500, 0, true},
		"canceled, not by us":  {fmt.Errorf("reading: %w", context.Canceled), 500, 0, true},
		"too many":             {&apierr.Error{Kind: apierr.TooMany, RetryAfter: 1500 * time.Millisecond}, 429, 1500 * time.Millisecond, false},
		"unavailable, planned": {&apierr.Error{Kind: apierr.Unavailable, Message: "Starting"}, 503, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			if e := rest.Refusal(c.err); e.Status() != c.status || e.RetryAfter != c.retry {
				t.Errorf("%d, retry after %v", e.Status(), e.RetryAfter)
			}
			s := mounted(t, rest.Operation{Method: http.MethodGet, Path: "/users", ID: "list_users", Handle: failing(c.err)})
			log := logged(t)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, request(t, http.MethodGet, "/users", "", "X-Request-Id: req-1"))
			wantStatus(t, w, c.status)
			if len(messages(t, w)) != 1 || strings.Contains(w.Body.String(), "SELECT") || strings.Contains(w.Body.String(), "users_email") {
				t.Errorf("body %s", w.Body)
			}
			if c.logged != (log.Len() > 0) {
				t.Fatalf("log %q", log)
			}
			if !c.logged {
				return
			}
			level := "ERROR"
			if c.status == 503 { // all requests have it in an outage
				level = "WARN"
			}
			var line map[string]any
			if err := json.Unmarshal(log.Bytes(), &line); err != nil {
				t.Fatal(err)
			}
			if line["level"] != level || line["error"] != c.err.Error() || line["request_id"] != "req-1" || line["operation"] != "confd.list_users" || line["status"] != float64(c.status) {
				t.Errorf("log %v", line)
			}
		})
	}
}

// fromContext is a log handler that adds fields from the context, as Caddy's does.
type fromContext struct{ slog.Handler }

type idsKey struct{}

func (h fromContext) Handle(ctx context.Context, r slog.Record) error {
	if attrs, ok := ctx.Value(idsKey{}).([]slog.Attr); ok {
		r.AddAttrs(attrs...)
	}
	return h.Handler.Handle(ctx, r)
}

// Each ID appears in a line once, whatever the server adds to lines about this request.
func TestFailureNamesTheRequestOnce(t *testing.T) {
	log := logged(t)
	slog.SetDefault(slog.New(fromContext{slog.NewJSONHandler(log, nil)}))
	token := principal.TokenID{1, 2, 3, 4}
	ctx := context.WithValue(t.Context(), idsKey{}, []slog.Attr{slog.String("request_id", "req-1"), slog.String("token_id", token.String())})
	ctx = principal.NewContext(ctx, &principal.Principal{TokenID: token})
	w := httptest.NewRecorder()
	w.Header().Set("X-Request-Id", "req-1")
	rest.WriteError(w, request(t, http.MethodGet, "/users", "").WithContext(ctx), nil, store.ErrUnavailable)
	for _, want := range []string{`"request_id":"req-1"`, `"token_id":"01020304"`} {
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("%s is not there once: %s", want, log)
		}
	}
}

// A client that hangs up is not a fault of the server: nothing is logged, and the status says so.
func TestClientGone(t *testing.T) {
	s := mounted(t, rest.Operation{Method: http.MethodGet, Path: "/users", Handle: failing(fmt.Errorf("reading: %w: %w", store.ErrUnavailable, context.Canceled))})
	log := logged(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := answer(s, request(t, http.MethodGet, "/users", "").WithContext(ctx))
	if w.Code != 499 || w.Body.Len() > 0 || log.Len() > 0 {
		t.Errorf("status %d, body %q, log %q", w.Code, w.Body, log)
	}
}

func TestRetryAfter(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "", time.Nanosecond: "1", time.Second: "1", time.Second + 1: "2", 1500 * time.Millisecond: "2", time.Minute: "60",
	} {
		w := httptest.NewRecorder()
		rest.WriteError(w, request(t, http.MethodGet, "/", ""), rest.MessageList, &apierr.Error{Kind: apierr.TooMany, RetryAfter: d})
		if got := w.Header().Get("Retry-After"); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestWriteError(t *testing.T) {
	t.Run("headers", func(t *testing.T) {
		w := httptest.NewRecorder()
		rest.WriteError(w, request(t, http.MethodGet, "/", ""), rest.CodeMessage, apierr.New(apierr.NotFound, "No <tag> & co"))
		h := w.Header()
		if h.Get("Content-Type") != "application/json" || h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%v", h)
		}
		if w.Body.String() != `{"code":404,"message":"No <tag> & co"}` || h.Get("Content-Length") != fmt.Sprint(w.Body.Len()) {
			t.Errorf("%s %v", w.Body, h)
		}
	})
	t.Run("HEAD", func(t *testing.T) {
		w := httptest.NewRecorder()
		rest.WriteError(w, request(t, http.MethodHead, "/", ""), rest.MessageList, apierr.New(apierr.NotFound, "No"))
		if w.Code != 404 || w.Body.Len() != 0 || w.Header().Get("Content-Length") != "27" {
			t.Errorf("%d %v %q", w.Code, w.Header(), w.Body)
		}
	})
	t.Run("no form", func(t *testing.T) {
		w := httptest.NewRecorder()
		rest.WriteError(w, request(t, http.MethodGet, "/", ""), nil, apierr.New(apierr.Unauthorized, "No"))
		if w.Code != 401 || !strings.Contains(w.Body.String(), `"error_id":"unauthorized"`) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
	t.Run("details that JSON does not have", func(t *testing.T) {
		log := logged(t)
		w := httptest.NewRecorder()
		rest.WriteError(w, request(t, http.MethodGet, "/", ""), rest.AuthErrors, &apierr.Error{Kind: apierr.Conflict, Details: map[string]any{"f": func() {}}})
		wantEmpty(t, w, http.StatusConflict)
		if !strings.Contains(log.String(), "writing a refusal") {
			t.Errorf("log %s", log)
		}
	})
}

func TestTimestamp(t *testing.T) {
	at := time.Date(2024, 2, 29, 23, 0, 0, 1000, time.FixedZone("", 2*3600))
	if got := rest.Timestamp(at); got != "2024-02-29T21:00:00.000001" {
		t.Errorf("%s", got)
	}
}
