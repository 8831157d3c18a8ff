package rest_test

import (
	"net/http"
	"testing"

	"github.com/ringfence/ringfence/internal/rest"
)

// The gate's work for every request: no allocation to find the operation, and one for its access.
func TestAllocations(t *testing.T) {
	s := routed(t)
	for path, want := range map[string]float64{
		"/users": 0, "/users/17": 1, "/users/a.b.c": 1, "/users/import/lines": 1, "/nope": 0, "/status": 0, "/policies/p/acl/%23": 1,
	} {
		parsed := parsed(t, prefix+path)
		method := http.MethodGet
		if path == "/policies/p/acl/%23" {
			method = http.MethodPut
		}
		if got := testing.AllocsPerRun(100, func() { s.Match(method, parsed) }); got != 0 {
			t.Errorf("%s: Match allocates %v times", path, got)
		}
		m, _ := s.Match(method, parsed)
		if got := testing.AllocsPerRun(100, func() { _ = m.Access() }); got != want {
			t.Errorf("%s: Access allocates %v times, want %v", path, got, want)
		}
	}
}

var sink string

func BenchmarkMatch(b *testing.B) {
	s := routed(b)
	for name, path := range map[string]string{
		"literal": "/users", "parameter": "/users/17", "two": "/users/0f6dd0c5-6ae3-44ab-9d44-7a63b8ab9e1c/lines/3", "back": "/users/import/lines", "unknown": "/nope",
	} {
		parsed := parsed(b, prefix+path)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Match(http.MethodGet, parsed)
			}
		})
		b.Run(name+" and access", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m, _ := s.Match(http.MethodGet, parsed)
				sink = m.Access()
			}
		})
	}
}

func BenchmarkServe(b *testing.B) {
	s := people(b)
	b.Run("create", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if w := call(b, s, http.MethodPost, "/people", with(`"age":7,"tags":["a","b"],"address":{"code":"x"}`)); w.Code != http.StatusOK {
				b.Fatal(w.Body)
			}
		}
	})
}

func BenchmarkParseJSON(b *testing.B) {
	text := []byte(with(`"age":7,"tags":["a","b"],"address":{"code":"x","city":"Nice"},"enabled":true,"email":"ann@example.com"`))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rest.ParseJSON(text); err != nil {
			b.Fatal(err)
		}
	}
}
