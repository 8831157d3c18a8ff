package gate_test

import (
	"maps"
	"net/http"
	"testing"
	"time"
)

// discard is a response writer that allocates nothing.
type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

type unseen struct{}

func (unseen) Decided(string, string)              {}
func (unseen) Answered(string, int, time.Duration) {}

var admissions = []struct {
	name, method, target string
	allocs               float64
}{
	// A service of ours: the passage, the id, the match, its access, two contexts and the request's copy.
	{"service", "GET", "/api/confd/1.1/users/8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e", 7},
	// An upstream: the passage, the id and the access.
	{"derived", "GET", "/api/calls/1.0/users/8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e/calls", 3},
	{"derived, twenty segments", "GET", "/api/calls/1.0/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t", 3},
	{"public", "GET", "/api/calls/1.0/status", 2},
}

func admission(tb testing.TB, method, target string) func() bool {
	tb.Helper()
	f := newGateSeen(tb, unseen{})
	token := f.tokens.issue(tb, "confd.users.#", "calls.#")
	r := request(tb, method, target)
	fields := http.Header{
		"Accept": {"application/json"}, "Accept-Encoding": {"gzip"}, "User-Agent": {"bench"}, "X-Auth-Token": {token}, "Content-Type": {"application/json"},
		"Connection": {"keep-alive"}, "X-Forwarded-For": {"192.0.2.1"}, "Accept-Language": {"en"},
	}
	w := discard{http.Header{}}
	r.Header = make(http.Header, 16)
	uri := r.RequestURI
	return func() bool {
		clear(r.Header)
		clear(w.h)
		maps.Copy(r.Header, fields)
		r.RequestURI = uri
		a, ok := f.Admit(w, r)
		if ok {
			a.Finish(0)
		}
		return ok
	}
}

func TestAdmitAllocates(t *testing.T) {
	for _, bb := range admissions {
		admit := admission(t, bb.method, bb.target)
		if got := testing.AllocsPerRun(100, func() { admit() }); got > bb.allocs {
			t.Errorf("%s: %v allocations, want at most %v", bb.name, got, bb.allocs)
		}
	}
}

func BenchmarkAdmit(b *testing.B) {
	for _, bb := range admissions {
		b.Run(bb.name, func(b *testing.B) {
			admit := admission(b, bb.method, bb.target)
			b.ReportAllocs()
			for b.Loop() {
				if !admit() {
					b.Fatal("refused")
				}
			}
		})
	}
}

// fourHeaders admits a request whose header map is as net/http makes it for a client that sends four headers: with the request's id and the
// identity it has eight, as long as the token goes before they come.
func fourHeaders(tb testing.TB) func() bool {
	tb.Helper()
	f := newGateSeen(tb, unseen{})
	r := request(tb, "GET", "/api/calls/1.0/users/17/calls")
	fields := http.Header{"Accept": {"*/*"}, "Accept-Encoding": {"gzip"}, "User-Agent": {"bench"}, "X-Auth-Token": {f.tokens.issue(tb, "calls.#")}}
	w := discard{http.Header{}}
	uri := r.RequestURI
	return func() bool {
		r.Header = make(http.Header, len(fields))
		clear(w.h)
		maps.Copy(r.Header, fields)
		r.RequestURI = uri
		a, ok := f.Admit(w, r)
		if ok {
			a.Finish(0)
		}
		return ok
	}
}

func TestFourHeadersStayInASmallMap(t *testing.T) {
	admit := fourHeaders(t)
	if got := testing.AllocsPerRun(100, func() { admit() }); got > 5 { // the map's two are among them
		t.Errorf("%v allocations, want at most 5", got)
	}
}

func BenchmarkAdmitFourHeaders(b *testing.B) {
	admit := fourHeaders(b)
	b.ReportAllocs()
	for b.Loop() {
		if !admit() {
			b.Fatal("refused")
		}
	}
}
