package gate_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// The observer hears of each response once, with the status that the client gets.
func TestResponsesAreMeasured(t *testing.T) {
	tests := []struct {
		name, target string
		answer       func(w http.ResponseWriter)
		failed       int
		want         string
	}{
		{"a status", "/calls/1.0/status", func(w http.ResponseWriter) { w.WriteHeader(201); _, _ = io.WriteString(w, "x") }, 0, "calls 201"},
		{"no status", "/calls/1.0/status", func(w http.ResponseWriter) { _, _ = io.WriteString(w, "x") }, 0, "calls 200"},
		{"a copy", "/calls/1.0/status", func(w http.ResponseWriter) { _, _ = io.Copy(w, strings.NewReader("x")) }, 0, "calls 200"},
		{"a flush", "/calls/1.0/status", func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }, 0, "calls 200"},
		{"an early hint", "/calls/1.0/status", func(w http.ResponseWriter) { w.WriteHeader(103); w.WriteHeader(404) }, 0, "calls 404"},
		{"another protocol", "/calls/1.0/status", func(w http.ResponseWriter) { w.WriteHeader(101) }, 0, "calls 101"},
		{"nothing", "/calls/1.0/status", func(http.ResponseWriter) {}, 0, "calls 200"},
		{"a failure", "/calls/1.0/status", func(http.ResponseWriter) {}, 502, "calls 502"},
		{"a failure too late", "/calls/1.0/status", func(w http.ResponseWriter) { w.WriteHeader(200) }, 502, "calls 200"},
		{"our own", "/confd/1.1/wizard", func(w http.ResponseWriter) { w.WriteHeader(204) }, 0, "confd 204"},
		{"our own, a copy", "/confd/1.1/wizard", func(w http.ResponseWriter) { _, _ = io.Copy(w, strings.NewReader("x")) }, 0, "confd 200"},
		{"our own, nothing", "/confd/1.1/wizard", func(http.ResponseWriter) {}, 0, "confd 200"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newGate(t)
			inner := httptest.NewRecorder()
			a, ok := f.Admit(inner, request(t, "GET", "/api"+tt.target))
			if !ok {
				t.Fatal("refused")
			}
			tt.answer(a.Writer)
			a.Finish(tt.failed)
			if !slices.Equal(f.seen.answers, []string{tt.want}) {
				t.Errorf("answers %q, want %q", f.seen.answers, tt.want)
			}
		})
	}
}

// What the gate itself responds is measured too.
func TestRefusalsAreMeasured(t *testing.T) {
	tests := []struct{ method, target, want string }{
		{"GET", "/api/confd/1.1/users", "confd 401"},
		{"GET", "/api/calls/1.0/x", "calls 401"},
		{"GET", "/nothing", " 404"},
		{"TRACE", "/api/calls/1.0/x", "calls 405"},
		{"GET", "/api/%zz", " 400"},
		{"OPTIONS", "/api/calls/1.0/x", " 200"},
	}
	for _, tt := range tests {
		f := newGate(t, "https://page.example")
		r := request(t, "GET", "/x", "Origin", "https://page.example", "Access-Control-Request-Method", "PUT")
		r.Method, r.RequestURI = tt.method, tt.target
		if _, ok := f.Admit(httptest.NewRecorder(), r); ok {
			t.Fatalf("%s %s was let through", tt.method, tt.target)
		}
		if !slices.Equal(f.seen.answers, []string{tt.want}) {
			t.Errorf("%s %s: answers %q, want %q", tt.method, tt.target, f.seen.answers, tt.want)
		}
	}
}
