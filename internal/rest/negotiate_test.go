package rest_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
)

func TestAccept(t *testing.T) {
	s := mounted(t, rest.Operation{Method: http.MethodGet, Path: "/users", Handle: answering(rest.Reply{Body: 1})})
	for name, c := range map[string]struct {
		headers []string
		ok      bool
	}{
		"absent":                     {[]string{"Accept: "}, false},
		"JSON":                       {[]string{"Accept: application/json"}, true},
		"anything":                   {[]string{"Accept: */*"}, true},
		"any application":            {[]string{"Accept: application/*"}, true},
		"upper case":                 {[]string{"Accept: APPLICATION/JSON"}, true},
		"with a charset":             {[]string{"Accept: application/json; charset=utf-8"}, true},
		"in a list":                  {[]string{"Accept: text/html, application/xhtml+xml, application/json;q=0.1"}, true},
		"a browser's":                {[]string{"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, true},
		"an old Java client's":       {[]string{"Accept: text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"}, true},
		"in the second line":         {[]string{"Accept: text/html", "Accept: application/json"}, true},
		"something else":             {[]string{"Accept: text/html"}, false},
		"another JSON":               {[]string{"Accept: application/vnd.api+json"}, false},
		"any text":                   {[]string{"Accept: text/*"}, false},
		"any application, half":      {[]string{"Accept: */json"}, false},
		"refused":                    {[]string{"Accept: application/json;q=0"}, false},
		"refused, 3 digits":          {[]string{"Accept: application/json;q=0.000"}, false},
		"refused, most specific":     {[]string{"Accept: */*, application/json;q=0"}, false},
		"refused, other order":       {[]string{"Accept: application/json;q=0, */*"}, false},
		"refused, other line":        {[]string{"Accept: application/json;q=0", "Accept: */*"}, false},
		"refused kind":               {[]string{"Accept: */*, application/*;q=0"}, false},
		"taken in a refused kind":    {[]string{"Accept: application/*;q=0, application/json"}, true},
		"everything else":            {[]string{"Accept: application/json, */*;q=0"}, true},
		"twice, once refused":        {[]string{"Accept: application/json;q=0, application/json;q=0.5"}, true},
		"empty":                      {[]string{"Accept: ,"}, false},
		"no slash":                   {[]string{"Accept: json"}, false},
		"malformed":                  {[]string{"Accept: application/json; ;;=, /, application/"}, false},
		"malformed beside a good":    {[]string{"Accept: ;;, application/json"}, true},
		"weight: not a number":       {[]string{"Accept: application/json;q=NaN"}, false},
		"weight: text":               {[]string{"Accept: application/json;q=high"}, false},
		"weight: empty":              {[]string{`Accept: application/json;q=""`}, false},
		"weight: negative":           {[]string{"Accept: application/json;q=-1"}, false},
		"weight: above 1":            {[]string{"Accept: application/json;q=1.1"}, false},
		"weight: malformed, general": {[]string{"Accept: application/json;q=x, */*"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				w := call(t, s, method, "/users", "", c.headers...)
				if c.ok {
					wantStatus(t, w, http.StatusOK)
				} else {
					wantEmpty(t, w, http.StatusNotAcceptable)
				}
			}
		})
	}
}

// Types other than JSON are not negotiated: a browser that opens the YAML definition asks for text/html.
func TestAcceptOfOtherTypes(t *testing.T) {
	s := mounted(t, rest.Operation{
		Method: http.MethodGet, Path: "/export", Produces: "text/csv", Handle: answering(rest.Reply{Body: []byte("a,b\r\n")}),
	})
	w := call(t, s, http.MethodGet, "/export", "", "Accept: ")
	wantStatus(t, w, http.StatusOK)
	if w.Header().Get("Content-Type") != "text/csv" || w.Body.String() != "a,b\r\n" {
		t.Errorf("%v %q", w.Header(), w.Body)
	}
}

// What takes or gives files asks for no Accept header, but obeys one.
func TestAcceptOfFiles(t *testing.T) {
	s := mounted(t,
		rest.Operation{Method: http.MethodGet, Path: "/export", Also: "text/csv; charset=utf-8", Handle: answering(rest.Reply{Body: 1})},
		rest.Operation{Method: http.MethodPost, Path: "/import", Consumes: "text/csv", Body: &rest.Schema{Type: "string"}, Handle: answering(rest.Reply{Body: 1})},
	)
	for _, c := range []struct{ method, path, body string }{{http.MethodGet, "/export", ""}, {http.MethodPost, "/import", "a,b\n"}} {
		for _, none := range []string{"", " , "} {
			wantStatus(t, call(t, s, c.method, c.path, c.body, "Accept: "+none, "Content-Type: text/csv"), http.StatusOK)
		}
		wantEmpty(t, call(t, s, c.method, c.path, c.body, "Accept: text/html", "Content-Type: text/csv"), http.StatusNotAcceptable)
	}
	if got := call(t, s, http.MethodGet, "/export", "", "Accept: text/html").Header().Get("Accept"); got != "application/json, text/csv" {
		t.Errorf("Accept: %s", got)
	}
	if got := call(t, s, http.MethodPost, "/import", "{}", "Content-Type: application/json").Header().Get("Accept"); got != "text/csv" {
		t.Errorf("Accept: %s", got)
	}
}

// A program that sends no Accept header is named in the log once, with what would let it in. Those that are remembered are bounded.
func TestStrangersAreLoggedOnce(t *testing.T) {
	log := logged(t)
	s := mounted(t, rest.Operation{Method: http.MethodGet, Path: "/users", Handle: answering(rest.Reply{Body: 1})})
	for range 3 {
		for _, program := range []string{"old-client/1.0", "", "other\x7f/2"} {
			wantEmpty(t, call(t, s, http.MethodGet, "/users", "", "Accept: ", "User-Agent: "+program), http.StatusNotAcceptable)
		}
		call(t, s, http.MethodGet, "/users", "", "Accept: text/html", "User-Agent: a browser")
		call(t, s, http.MethodGet, "/users", "", "User-Agent: a good one")
	}
	if lines := strings.Count(log.String(), "accept lenient"); lines != 3 || !strings.Contains(log.String(), "old-client/1.0") || strings.Contains(log.String(), "browser") {
		t.Errorf("%s", log)
	}
	log.Reset()
	for n := range 200 {
		call(t, s, http.MethodGet, "/users", "", "Accept: ", "User-Agent: "+strings.Repeat("x", n*10)+strconv.Itoa(n))
	}
	if lines := strings.Count(log.String(), "accept lenient"); lines > 100 || log.Len() > 100_000 {
		t.Errorf("%d lines, %d bytes", lines, log.Len())
	}
}

func TestContentType(t *testing.T) {
	s := mounted(t,
		rest.Operation{Method: http.MethodPost, Path: "/users", Body: rest.SchemaOf[struct{}](), Handle: readBody},
		rest.Operation{Method: http.MethodDelete, Path: "/users"},
	)
	for name, c := range map[string]struct {
		headers []string
		ok      bool
	}{
		"JSON":                  {[]string{"Content-Type: application/json"}, true},
		"UTF-8":                 {[]string{"Content-Type: application/json; charset=utf-8"}, true},
		"UTF-8 in upper case":   {[]string{`Content-Type: APPLICATION/JSON;CHARSET="UTF-8"`}, true},
		"another parameter":     {[]string{"Content-Type: application/json; boundary=x"}, true},
		"absent":                {[]string{"Content-Type: "}, false},
		"text":                  {[]string{"Content-Type: text/plain"}, false},
		"a form":                {[]string{"Content-Type: application/x-www-form-urlencoded"}, false},
		"a form with a file":    {[]string{"Content-Type: multipart/form-data; boundary=x"}, false},
		"JSON in a parameter":   {[]string{"Content-Type: text/plain; application/json"}, false},
		"latin 1":               {[]string{"Content-Type: application/json; charset=latin1"}, false},
		"UTF-16":                {[]string{"Content-Type: application/json; charset=utf-16"}, false},
		"two charsets":          {[]string{"Content-Type: application/json; charset=utf-8; charset=latin1"}, false},
		"another JSON":          {[]string{"Content-Type: application/vnd.api+json"}, false},
		"old JSON":              {[]string{"Content-Type: text/json"}, false},
		"anything":              {[]string{"Content-Type: */*"}, false},
		"two lines":             {[]string{"Content-Type: application/json", "Content-Type: application/json"}, false},
		"two lines, different":  {[]string{"Content-Type: application/json", "Content-Type: text/plain"}, false},
		"two in one line":       {[]string{"Content-Type: application/json, text/plain"}, false},
		"malformed":             {[]string{"Content-Type: application/json; charset"}, false},
		"no slash":              {[]string{"Content-Type: json"}, false},
		"a space in the middle": {[]string{"Content-Type: application / json"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := call(t, s, http.MethodPost, "/users", "{}", c.headers...)
			if c.ok {
				wantStatus(t, w, http.StatusOK)
			} else {
				wantEmpty(t, w, http.StatusUnsupportedMediaType)
			}
		})
	}
	t.Run("a body that nobody reads", func(t *testing.T) {
		wantEmpty(t, call(t, s, http.MethodDelete, "/users", "x", "Content-Type: text/plain"), http.StatusUnsupportedMediaType)
		wantStatus(t, call(t, s, http.MethodDelete, "/users", "x"), http.StatusOK)
	})
	t.Run("no body", func(t *testing.T) {
		wantStatus(t, call(t, s, http.MethodDelete, "/users", ""), http.StatusOK)
		wantStatus(t, call(t, s, http.MethodDelete, "/users", "", "Content-Type: text/plain"), http.StatusOK)
		wantMessage(t, call(t, s, http.MethodPost, "/users", ""), http.StatusBadRequest, "The browser (or proxy) sent a request that this server could not understand.")
	})
	t.Run("406 goes before 415", func(t *testing.T) {
		wantEmpty(t, call(t, s, http.MethodPost, "/users", "x", "Accept: ", "Content-Type: text/plain"), http.StatusNotAcceptable)
	})
}

func TestUnimplemented(t *testing.T) {
	s := mounted(t, rest.Operation{
		Method: http.MethodPost, Path: "/saml", Unimplemented: true,
		Handle: func(context.Context, *rest.Request) (rest.Reply, error) {
			return rest.Reply{}, apierr.New(apierr.NotImplemented, "Not here")
		},
	})
	for name, c := range map[string]struct {
		body    string
		headers []string
	}{
		"nothing":      {"", []string{"Accept: ", "Content-Type: "}},
		"JSON":         {"{}", nil},
		"a form":       {"a=b", []string{"Content-Type: application/x-www-form-urlencoded", "Accept: text/html"}},
		"no type":      {"a=b", []string{"Content-Type: "}},
		"a large body": {strings.Repeat("x", rest.DefaultMaxBody+1), []string{"Content-Type: text/xml"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := call(t, s, http.MethodPost, "/saml", c.body, c.headers...)
			wantStatus(t, w, http.StatusNotImplemented)
			if !strings.Contains(w.Body.String(), "Not here") {
				t.Errorf("the answer is %s", w.Body)
			}
		})
	}
}

// unsized hides the length of a body, so that the request's length is unknown.
type unsized struct{ io.Reader }

// Real connections, since the protocols differ in how they send a body.
func TestBodiesOnTheWire(t *testing.T) {
	var length int64
	handle := func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		length = r.HTTP.ContentLength
		return echo[address](ctx, r)
	}
	s := mounted(t,
		rest.Operation{Method: http.MethodPost, Path: "/must", Body: rest.SchemaOf[address](), MaxBody: 64, Handle: handle},
		rest.Operation{Method: http.MethodPost, Path: "/may", Body: rest.SchemaOf[struct{}](), BodyOptional: true, MaxBody: 64, Handle: readBody},
		rest.Operation{Method: http.MethodDelete, Path: "/none"},
	)
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2"} {
		server := httptest.NewUnstartedServer(s)
		server.EnableHTTP2 = protocol == "HTTP/2"
		server.StartTLS()
		t.Cleanup(server.Close)
		for name, c := range map[string]struct {
			method, path, contentType string
			body                      io.Reader
			status                    int
		}{
			"sized":                       {"POST", "/must", "application/json", strings.NewReader(`{"code":"x"}`), 200},
			"chunked":                     {"POST", "/must", "application/json", unsized{strings.NewReader(`{"code":"x"}`)}, 200},
			"sized, no type":              {"POST", "/must", "", strings.NewReader(`{"code":"x"}`), 415},
			"chunked, no type":            {"POST", "/must", "", unsized{strings.NewReader(`{"code":"x"}`)}, 415},
			"chunked, text":               {"POST", "/must", "text/plain", unsized{strings.NewReader(`{"code":"x"}`)}, 415},
			"none":                        {"POST", "/must", "", nil, 400},
			"none, typed":                 {"POST", "/must", "application/json", nil, 400},
			"empty chunked":               {"POST", "/must", "", unsized{strings.NewReader("")}, 400},
			"empty chunked, typed":        {"POST", "/must", "application/json", unsized{strings.NewReader("")}, 400},
			"optional: none":              {"POST", "/may", "", nil, 200},
			"optional: none, typed":       {"POST", "/may", "application/json", nil, 200},
			"optional: empty chunked":     {"POST", "/may", "", unsized{strings.NewReader("")}, 200},
			"optional: typed, empty":      {"POST", "/may", "application/json", unsized{strings.NewReader("")}, 200},
			"optional: there":             {"POST", "/may", "application/json", unsized{strings.NewReader("{}")}, 200},
			"optional: wrong":             {"POST", "/may", "application/json", unsized{strings.NewReader("[]")}, 400},
			"optional: white space":       {"POST", "/may", "application/json", strings.NewReader(" "), 400},
			"no body taken: none":         {"DELETE", "/none", "", nil, 200},
			"no body taken: empty":        {"DELETE", "/none", "", unsized{strings.NewReader("")}, 200},
			"no body taken: there, plain": {"DELETE", "/none", "text/plain", unsized{strings.NewReader("x")}, 415},
			"just fits":                   {"POST", "/must", "application/json", strings.NewReader(`{"code":"` + strings.Repeat("x", 53) + `"}`), 200},
			"just fits, chunked":          {"POST", "/must", "application/json", unsized{strings.NewReader(`{"code":"` + strings.Repeat("x", 53) + `"}`)}, 200},
			"too large":                   {"POST", "/must", "application/json", strings.NewReader(`{"code":"` + strings.Repeat("x", 54) + `"}`), 413},
			"too large, chunked":          {"POST", "/must", "application/json", unsized{strings.NewReader(`{"code":"` + strings.Repeat("x", 54) + `"}`)}, 413},
			"far too large":               {"POST", "/must", "application/json", bytes.NewReader(make([]byte, 4<<20)), 413},
			"far too large, chunked":      {"POST", "/must", "application/json", unsized{bytes.NewReader(make([]byte, 4<<20))}, 413},
		} {
			t.Run(protocol+", "+name, func(t *testing.T) {
				r, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+prefix+c.path, c.body)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Accept", "application/json")
				if c.contentType != "" {
					r.Header.Set("Content-Type", c.contentType)
				}
				resp, err := server.Client().Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				text, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(resp.Proto, protocol) {
					t.Fatalf("the protocol is %s", resp.Proto)
				}
				if resp.StatusCode != c.status {
					t.Errorf("status %d, want %d: %s", resp.StatusCode, c.status, text)
				}
				if _, ok := c.body.(unsized); ok && c.status == 200 && c.path == "/must" && length != -1 {
					t.Errorf("the length is known: %d", length)
				}
				if c.status == 415 && len(text) > 0 {
					t.Errorf("415 with a body: %s", text)
				}
			})
		}
	}
}

// In HTTP/3 a request without a body has an unknown length too. These tests have no such server, so the request is made as that
// server would make it.
func TestUnknownLengthWithoutBody(t *testing.T) {
	s := mounted(t, rest.Operation{Method: http.MethodGet, Path: "/users"})
	r := request(t, http.MethodGet, "/users", "")
	r.ContentLength, r.Body = -1, io.NopCloser(strings.NewReader(""))
	wantStatus(t, answer(s, r), http.StatusOK)
	r = request(t, http.MethodGet, "/users", "")
	r.Body = nil
	wantStatus(t, answer(s, r), http.StatusOK)
}

// brokenOff is a body whose sender disconnects.
type brokenOff struct{ after io.Reader }

func (b brokenOff) Read(p []byte) (int, error) {
	if n, err := b.after.Read(p); err == nil {
		return n, nil
	}
	return 0, io.ErrUnexpectedEOF
}

func TestBrokenOffBody(t *testing.T) {
	s := mounted(t, rest.Operation{Method: http.MethodPost, Path: "/users", Body: rest.SchemaOf[struct{}](), Handle: readBody})
	log := logged(t)
	r := request(t, http.MethodPost, "/users", "{}")
	r.ContentLength, r.Body = 100, io.NopCloser(brokenOff{strings.NewReader("{}")})
	wantMessage(t, answer(s, r), http.StatusBadRequest, "The browser (or proxy) sent a request that this server could not understand.")
	// Without a type it is refused all the same, for whatever it would have been.
	r = request(t, http.MethodPost, "/users", "{}", "Content-Type: ")
	r.ContentLength, r.Body = -1, io.NopCloser(brokenOff{strings.NewReader("")})
	wantEmpty(t, answer(s, r), http.StatusUnsupportedMediaType)
	if log.Len() > 0 {
		t.Errorf("a client's fault is logged: %s", log)
	}
}
