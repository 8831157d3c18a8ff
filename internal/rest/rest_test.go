package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/target"
)

const prefix = "/api/confd/1.1"

// mounted returns a service of these operations, with omitted fields filled in.
func mounted(t testing.TB, ops ...rest.Operation) *rest.Service {
	t.Helper()
	s := declared(ops...)
	if err := s.Mount(); err != nil {
		t.Fatal(err)
	}
	return s
}

func declared(ops ...rest.Operation) *rest.Service {
	for i := range ops {
		op := &ops[i]
		if op.ID == "" {
			op.ID = op.Method + op.Path
		}
		if op.Success == 0 {
			op.Success = http.StatusOK
		}
		if op.Handle == nil {
			op.Handle = answering(rest.Reply{})
		}
	}
	return &rest.Service{
		Name: "confd", Version: "1.1", Prefix: prefix, Title: "Configuration", Errors: plainMessages, Operations: ops,
	}
}

// plainMessages is rest.MessageList with the messages of the fields as they are, for tests of what is found wrong.
func plainMessages(e *apierr.Error, now time.Time) any {
	if all := rest.MessageList(e, now).([]string); strings.HasPrefix(all[0], "The browser") {
		return all
	}
	var list []string
	for _, f := range e.Fields {
		list = append(list, "Input Error - "+f.Name+": "+f.Message)
	}
	if e.Message == "" && len(list) > 0 {
		return list
	}
	whole := *e
	whole.Fields = nil
	return append(list, rest.MessageList(&whole, now).([]string)...)
}

func answering(reply rest.Reply) rest.Handler {
	return func(context.Context, *rest.Request) (rest.Reply, error) { return reply, nil }
}

func failing(err error) rest.Handler {
	return func(context.Context, *rest.Request) (rest.Reply, error) { return rest.Reply{}, err }
}

// request makes a request below the prefix. Each header is "Name: value"; Accept is added unless it is given.
func request(t testing.TB, method, path, body string, headers ...string) *http.Request {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(t.Context(), method, prefix+path, reader)
	r.Header.Set("Accept", "application/json")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	seen := map[string]bool{}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if !seen[name] {
			r.Header.Del(name)
		}
		seen[name] = true
		if value != "" {
			r.Header.Add(name, value)
		}
	}
	return r
}

func answer(s *rest.Service, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func call(t testing.TB, s *rest.Service, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return answer(s, request(t, method, path, body, headers...))
}

func wantStatus(t testing.TB, w *httptest.ResponseRecorder, want int) {
	t.Helper()
	if w.Code != want {
		t.Fatalf("status %d, want %d; body %s", w.Code, want, w.Body)
	}
}

// wantEmpty is for responses without a body.
func wantEmpty(t testing.TB, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	wantStatus(t, w, status)
	if w.Body.Len() != 0 || w.Header().Get("Content-Length") != "0" || w.Header().Get("Content-Type") != "" {
		t.Errorf("the answer is not empty: %v %q", w.Header(), w.Body)
	}
	if asked := w.Header().Get("Accept"); asked == "" && (status == http.StatusNotAcceptable || status == http.StatusUnsupportedMediaType) {
		t.Errorf("%d does not say what to send", status)
	}
}

// messages returns confd's list of sentences.
func messages(t testing.TB, w *httptest.ResponseRecorder) []string {
	t.Helper()
	var list []string
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
		t.Fatalf("not a list of messages: %s", w.Body)
	}
	return list
}

func wantMessage(t testing.TB, w *httptest.ResponseRecorder, status int, want string) {
	t.Helper()
	wantStatus(t, w, status)
	if got := strings.Join(messages(t, w), "|"); !strings.Contains(got, want) {
		t.Errorf("messages %q, want %q in them", got, want)
	}
}

func parsed(t testing.TB, uri string) *target.Target {
	t.Helper()
	parsed, err := target.Parse(uri)
	if err != nil {
		t.Fatalf("target %s: %v", uri, err)
	}
	return &parsed
}

func compact(t testing.TB, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatalf("not JSON: %q", text)
	}
	return b.String()
}
