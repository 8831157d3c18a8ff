package gate_test

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/gate"
	"github.com/ringfence/ringfence/internal/tokens"
)

func TestPreflight(t *testing.T) {
	tests := []struct {
		name    string
		origins []string
		headers []string
		status  int
		origin  string
		vary    string
	}{
		{"configured", []string{"https://a.example", "https://b.example:8443"}, []string{"Origin", "https://b.example:8443", "Access-Control-Request-Method", "PUT"}, 200, "https://b.example:8443", "Origin"},
		{"no page's origin", []string{"https://a.example"}, []string{"Origin", "null", "Access-Control-Request-Method", "PUT"}, 405, "", "Origin"},
		{"stranger", []string{"https://a.example"}, []string{"Origin", "https://evil.example", "Access-Control-Request-Method", "PUT"}, 405, "", "Origin"},
		{"nearly", []string{"https://a.example"}, []string{"Origin", "https://a.example.evil", "Access-Control-Request-Method", "PUT"}, 405, "", "Origin"},
		{"another scheme", []string{"https://a.example"}, []string{"Origin", "http://a.example", "Access-Control-Request-Method", "PUT"}, 405, "", "Origin"},
		{"two origins", []string{"https://a.example"}, []string{"Origin", "https://a.example", "Origin", "https://a.example", "Access-Control-Request-Method", "PUT"}, 405, "", "Origin"},
		{"no preflight", []string{"https://a.example"}, []string{"Origin", "https://a.example"}, 405, "https://a.example", "Origin"},
		{"no origin", []string{"https://a.example"}, []string{"Access-Control-Request-Method", "PUT"}, 405, "", "Origin"},
		{"none configured", nil, []string{"Origin", "https://a.example", "Access-Control-Request-Method", "PUT"}, 405, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newGate(t, tt.origins...)
			w := httptest.NewRecorder()
			if _, ok := f.Admit(w, request(t, "OPTIONS", "/api/confd/1.1/users", tt.headers...)); ok {
				t.Fatal("admitted")
			}
			h := w.Header()
			if w.Code != tt.status || h.Get("Access-Control-Allow-Origin") != tt.origin || h.Get("Vary") != tt.vary {
				t.Errorf("status %d, headers %v", w.Code, h)
			}
			if (tt.status == 200) != strings.Contains(h.Get("Access-Control-Allow-Headers"), "X-Auth-Token") ||
				(tt.status == 200) != strings.Contains(h.Get("Access-Control-Allow-Methods"), "DELETE") {
				t.Errorf("headers %v", h)
			}
			if tt.status == 405 && strings.Contains(h.Get("Allow"), "OPTIONS") != (len(tt.origins) > 0) {
				t.Errorf("Allow %q", h.Get("Allow"))
			}
			if h.Get("Access-Control-Allow-Credentials") != "" {
				t.Error("credentials are allowed")
			}
			if want := map[bool]string{true: " preflight", false: "confd method"}[tt.status == 200]; f.seen.last() != want {
				t.Errorf("decided %q", f.seen.last())
			}
		})
	}
	t.Run("malformed target", func(t *testing.T) {
		f := newGate(t, "https://a.example")
		w := httptest.NewRecorder()
		f.Admit(w, request(t, "OPTIONS", "/a//b", "Origin", "https://a.example", "Access-Control-Request-Method", "PUT"))
		if w.Code != 400 {
			t.Errorf("status %d", w.Code)
		}
	})
}

// A page of a configured origin may send what the route takes.
func TestPreflightNamesTheHeadersOfTheRoute(t *testing.T) {
	g, err := gate.New(gate.Config{Tokens: &known{}, Origins: []string{"https://a.example"}, ForwardHeaders: []string{"X-Api-Version"}})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	g.Admit(w, request(t, "OPTIONS", "/x", "Origin", "https://a.example", "Access-Control-Request-Method", "PUT"))
	if got := w.Header().Get("Access-Control-Allow-Headers"); !strings.HasSuffix(got, ", X-Request-Id, X-Api-Version") {
		t.Errorf("a page may send %s", got)
	}
}

func TestOrigins(t *testing.T) {
	f := newGate(t, "https://a.example")
	token := f.tokens.issue(t, "#")
	for _, target := range []string{"/api/confd/1.1/users", "/api/calls/1.0/x", "/nowhere"} {
		for origin, want := range map[string]string{"https://a.example": "https://a.example", "https://evil.example": ""} {
			w := httptest.NewRecorder()
			if a, ok := f.Admit(w, request(t, "GET", target, "X-Auth-Token", token, "Origin", origin)); ok {
				// what an upstream thinks of origins is replaced
				a.Writer.Header().Set("X-Request-Id", w.Header().Get("X-Request-Id"))
				if a.Need.Service == "calls" {
					a.Writer.Header()["Access-Control-Allow-Origin"] = append(a.Writer.Header()["Access-Control-Allow-Origin"], "*")
					a.Writer.Header().Set("Access-Control-Allow-Credentials", "true")
				}
				a.Writer.WriteHeader(200)
			}
			h := w.Result().Header
			if got := strings.Join(h["Access-Control-Allow-Origin"], "|"); got != want {
				t.Errorf("GET %s from %s allows %q", target, origin, got)
			}
			if h.Get("Access-Control-Allow-Credentials") != "" || h.Get("Vary") != "Origin" || (want != "") != strings.Contains(h.Get("Access-Control-Expose-Headers"), "ETag") {
				t.Errorf("GET %s from %s: %v", target, origin, h)
			}
		}
	}
}

func TestSanitise(t *testing.T) {
	tests := []struct {
		name     string
		in, want http.Header
	}{
		{
			"ordinary",
			http.Header{"Accept": {"a"}, "Content-Type": {"b"}, "Cookie": {"c"}, "X-Forwarded-For": {"d"}, "X-Custom_Name": {"e"}, "X": {"g"}, "Te": {"trailers"}},
			http.Header{"Accept": {"a"}, "Content-Type": {"b"}, "Cookie": {"c"}, "X-Forwarded-For": {"d"}, "Te": {"trailers"}},
		},
		{
			"identity in every spelling",
			http.Header{
				"X-Ringfence-User": {"a"}, "x-ringfence-user": {"a"}, "X_ringfence_user": {"a"}, "X.Ringfence.User": {"a"}, "X-Ringfence": {"a"},
				"X-Ringfence-" + strings.Repeat("a", 100): {"a"}, "Remote-User": {"a"}, "REMOTE_USER": {"a"}, "X-Forwarded-User": {"a"}, "": {"a"}, "From": {"a"},
			},
			http.Header{},
		},
		{
			"other spellings of what has a meaning",
			http.Header{"X_Auth_Token": {"a"}, "X-Auth.Token": {"a"}, "Wazo_Tenant": {"a"}, "Content_Length": {"1"}, "Transfer_Encoding": {"chunked"}, "X_Request_Id": {"a"}},
			http.Header{},
		},
		{
			"what the route says",
			http.Header{"X-Api-Version": {"a"}, "X_api_version": {"a"}, "X-Api-Versions": {"a"}, "Soapaction": {"a"}, "X-Jwt-Payload": {"a"}},
			http.Header{"X-Api-Version": {"a"}, "Soapaction": {"a"}},
		},
		{"keep-alive", http.Header{"Connection": {"Keep-Alive"}}, http.Header{"Connection": {"Keep-Alive"}}},
		{"close", http.Header{"Connection": {"close"}}, http.Header{"Connection": {"close"}}},
		{"nothing", http.Header{"Connection": {""}}, http.Header{}},
		{"names headers", http.Header{"Connection": {"X-Ringfence-User, close", "TE,\tX-Auth-Token"}}, http.Header{"Connection": {"close, TE"}}},
		{
			"WebSocket",
			http.Header{"Connection": {"keep-alive, Upgrade"}, "Upgrade": {"WebSocket"}, "Sec-Websocket-Key": {"a"}},
			http.Header{"Connection": {"keep-alive, Upgrade"}, "Upgrade": {"WebSocket"}, "Sec-Websocket-Key": {"a"}},
		},
		{"HTTP/2 in clear text", http.Header{"Connection": {"Upgrade, HTTP2-Settings"}, "Upgrade": {"h2c"}, "Http2-Settings": {"a"}}, http.Header{}},
		{"two protocols", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket", "h2c"}}, http.Header{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var dropped []string
			router, err := gate.NewDerived("calls", "/api/calls/1.0", []gate.Route{{Method: "GET", Path: "/api/calls/1.0/status"}})
			if err != nil {
				t.Fatal(err)
			}
			g, err := gate.New(gate.Config{
				Routers: []gate.Router{router}, Tokens: &known{}, ForwardHeaders: []string{"x-api-version", "SOAPAction"},
				Dropped: func(_ string, names []string) { dropped = append(dropped, names...) },
			})
			if err != nil {
				t.Fatal(err)
			}
			r := request(t, "GET", "/api/calls/1.0/status")
			r.Header, r.Trailer = maps.Clone(tt.in), http.Header{"X-Ringfence-User": nil}
			a, ok := g.Admit(httptest.NewRecorder(), r)
			if !ok {
				t.Fatal("refused")
			}
			got := a.Request.Header
			delete(got, "X-Request-Id")
			if !maps.EqualFunc(got, tt.want, slices.Equal) {
				t.Errorf("headers %v, want %v", got, tt.want)
			}
			if a.Request.Trailer != nil {
				t.Error("trailers are let through")
			}
			for name := range tt.in {
				_, kept := got[name]
				if kept == slices.Contains(dropped, name) && name != "Connection" && name != "Upgrade" {
					t.Errorf("%q is kept: %t; dropped are %q", name, kept, dropped)
				}
			}
		})
	}
}

// Headers are cleaned even before a refusal: nothing that logs or handles the error sees a forgery.
func TestSanitisedBeforeAnythingElse(t *testing.T) {
	f := newGate(t)
	r := request(t, "TRACE", "/a//b", "X-Ringfence-User", "root", "X-Rewrite-Url", "/x")
	f.Admit(httptest.NewRecorder(), r)
	if len(r.Header) != 1 {
		t.Errorf("headers %v", r.Header)
	}
}

func TestRequestID(t *testing.T) {
	f := newGate(t)
	token := tokens.New() + "-and-more"
	seen := map[string]bool{}
	for _, tt := range []struct {
		sent []string
		kept bool
	}{
		{[]string{"abc-DEF_1.2"}, true},
		{[]string{strings.Repeat("a", 64)}, true},
		{[]string{strings.Repeat("a", 65)}, false},
		{[]string{""}, false},
		{[]string{"a b"}, false},
		{[]string{"a\n"}, false},
		{[]string{"é"}, false},
		{[]string{"a", "b"}, false},
		{[]string{token}, false},
		{[]string{"x-" + token[:60-len("x-")]}, false},
		{[]string{token[:30]}, false},
		{nil, false},
		{nil, false},
	} {
		r, w := request(t, "GET", "/api/calls/1.0/status"), httptest.NewRecorder()
		if tt.sent != nil {
			r.Header["X-Request-Id"] = tt.sent
		}
		f.Admit(w, r)
		got := w.Header()["X-Request-Id"]
		if len(got) != 1 || !slices.Equal(r.Header["X-Request-Id"], got) || (tt.kept && got[0] != tt.sent[0]) {
			t.Fatalf("%q: the answer has %q, the request %q", tt.sent, got, r.Header["X-Request-Id"])
		}
		if !tt.kept && (len(got[0]) != 36 || got[0][14] != '7' || !strings.ContainsRune("89ab", rune(got[0][19])) || seen[got[0]]) {
			t.Errorf("%q: %q is not a new UUID", tt.sent, got[0])
		}
		seen[got[0]] = true
	}
}

// recorder is a response writer with all abilities of a server's.
type recorder struct {
	*httptest.ResponseRecorder
	readFrom, hijacked int
	statuses           []int
}

func (r *recorder) WriteHeader(status int) {
	r.statuses = append(r.statuses, status)
	if status >= 200 {
		r.ResponseRecorder.WriteHeader(status)
	}
}

func (r *recorder) ReadFrom(from io.Reader) (int64, error) {
	r.readFrom++
	return io.Copy(r.ResponseRecorder, from)
}

func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	r.hijacked++
	return nil, nil, errors.New("hijacked")
}

func TestUpstreamsAnswer(t *testing.T) {
	tests := []struct {
		name   string
		answer func(t *testing.T, w http.ResponseWriter)
	}{
		{"with a status", func(_ *testing.T, w http.ResponseWriter) { w.WriteHeader(201) }},
		{"without a status", func(_ *testing.T, w http.ResponseWriter) { _, _ = io.WriteString(w, "x") }},
		{"copied", func(_ *testing.T, w http.ResponseWriter) { _, _ = io.Copy(w, strings.NewReader("x")) }},
		{"flushed", func(t *testing.T, w http.ResponseWriter) {
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
		}},
		{"after an early hint", func(_ *testing.T, w http.ResponseWriter) {
			w.WriteHeader(103)
			w.Header().Set("X-Auth-Token", "again")
			w.WriteHeader(200)
		}},
		{"left to the server", func(*testing.T, http.ResponseWriter) {}},
		{"switching protocols", func(_ *testing.T, w http.ResponseWriter) { w.WriteHeader(101) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newGate(t)
			inner := &recorder{ResponseRecorder: httptest.NewRecorder()}
			a, ok := f.Admit(inner, request(t, "GET", "/api/calls/1.0/status", "X-Request-Id", "ours"))
			if !ok {
				t.Fatal("refused")
			}
			h := a.Writer.Header()
			for _, name := range []string{
				"X-Auth-Token", "X-Ringfence-User", "X-Ringfence-Anything", "X-Request-Id", "Access-Control-Allow-Origin", "X-Accel-Redirect", "X-Accel-Buffering", "Server",
			} {
				h.Add(name, "theirs")
			}
			h.Set("Etag", "kept")
			h.Set("Access-Control-Max-Age", "kept")
			tt.answer(t, a.Writer)
			a.Finish(0)
			h.Del("Content-Type") // the recorder's guess
			if len(h) != 3 || h.Get("X-Request-Id") != "ours" || h.Get("Etag") != "kept" {
				t.Errorf("headers %v", h)
			}
		})
	}
}

// A server's own abilities stay available.
func TestUpstreamWriterUnwraps(t *testing.T) {
	f := newGate(t)
	inner := &recorder{ResponseRecorder: httptest.NewRecorder()}
	a, _ := f.Admit(inner, request(t, "GET", "/api/calls/1.0/status"))
	if _, _, err := http.NewResponseController(a.Writer).Hijack(); err == nil || err.Error() != "hijacked" || inner.hijacked != 1 {
		t.Errorf("hijacking: %v", err)
	}
	if _, whole := a.Writer.(io.ReaderFrom); whole {
		t.Error("a copy in one go would outlive its token")
	}
	plain := httptest.NewRecorder()
	a, _ = f.Admit(struct{ http.ResponseWriter }{plain}, request(t, "GET", "/api/calls/1.0/status"))
	if err := http.NewResponseController(a.Writer).Flush(); !errors.Is(err, http.ErrNotSupported) {
		t.Errorf("flushing what cannot: %v", err)
	}
}

// A gate without an observer or routers decides all the same.
func TestSmallestGate(t *testing.T) {
	g, err := gate.New(gate.Config{Tokens: &known{}})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	if _, ok := g.Admit(w, request(t, "GET", "/x")); ok || w.Code != 404 {
		t.Errorf("status %d", w.Code)
	}
}
