package rest_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
)

type thing struct {
	Name  string         `json:"name"`
	Extra map[string]int `json:"extra"`
}

func aThing() thing {
	return thing{Name: "<é>", Extra: map[string]int{"a": 1, "b": 2, "c": 3, "d": 4}}
}

func tagOf(t testing.TB, object any) string {
	t.Helper()
	tag, err := rest.ETag(object)
	if err != nil {
		t.Fatal(err)
	}
	return tag
}

func TestETag(t *testing.T) {
	tag := tagOf(t, aThing())
	if len(tag) != 24 || tag[0] != '"' || tag[23] != '"' || strings.ContainsAny(tag[1:23], `",`) {
		t.Errorf("tag %s", tag)
	}
	for range 20 { // maps have no order of their own
		if again := tagOf(t, aThing()); again != tag {
			t.Fatalf("the tag of the same object is %s, and was %s", again, tag)
		}
	}
	object := aThing()
	if tagOf(t, &object) != tag {
		t.Error("a pointer has another tag")
	}
	object.Extra["d"] = 5
	if tagOf(t, object) == tag {
		t.Error("another object has the same tag")
	}
	if tagOf(t, []byte(`{"a":1}`)) != tagOf(t, map[string]int{"a": 1}) {
		t.Error("a body that is ready has another tag than one that is made")
	}
	if _, err := rest.ETag(func() {}); err == nil {
		t.Error("a function has a tag")
	}
}

func TestConditionalRead(t *testing.T) {
	s := mounted(t, rest.Operation{Method: http.MethodGet, Path: "/things/{id}", Conditional: true, Handle: answering(rest.Reply{Body: aThing()})})
	tag := tagOf(t, aThing())
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"plain":                     {nil, 200},
		"the same":                  {[]string{"If-None-Match: " + tag}, 304},
		"the same, weak":            {[]string{"If-None-Match: W/" + tag}, 304},
		"any":                       {[]string{"If-None-Match: *"}, 304},
		"another":                   {[]string{`If-None-Match: "x"`}, 200},
		"in a list":                 {[]string{`If-None-Match: "x",W/"y" ,	` + tag}, 304},
		"in the second line":        {[]string{`If-None-Match: "x"`, "If-None-Match: " + tag}, 304},
		"inside another":            {[]string{`If-None-Match: "x,` + strings.Trim(tag, `"`) + `"`}, 200},
		"behind a comma in another": {[]string{`If-None-Match: "x,y", ` + tag}, 304},
		"without quotes":            {[]string{"If-None-Match: " + strings.Trim(tag, `"`)}, 200},
		"malformed":                 {[]string{"If-None-Match: " + tag + tag}, 200},
		"only commas":               {[]string{"If-None-Match: ,,"}, 200},
		"any among others":          {[]string{`If-None-Match: "x", *`}, 200},
		"if it is this":             {[]string{"If-Match: " + tag}, 200},
		"if it is not this":         {[]string{`If-Match: "x"`}, 412},
		"if there is one":           {[]string{"If-Match: *"}, 200},
		"both":                      {[]string{"If-Match: " + tag, "If-None-Match: " + tag}, 304},
		"If-Match goes first":       {[]string{`If-Match: "x"`, "If-None-Match: " + tag}, 412},
	} {
		t.Run(name, func(t *testing.T) {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				w := call(t, s, method, "/things/1", "", c.headers...)
				wantStatus(t, w, c.status)
				if c.status == 412 {
					continue
				}
				if w.Header().Get("ETag") != tag || w.Header().Get("Cache-Control") != "private, no-cache" {
					t.Errorf("%v", w.Header())
				}
				if empty := c.status == 304 || method == http.MethodHead; empty != (w.Body.Len() == 0) {
					t.Errorf("%s: body %q", method, w.Body)
				}
				if c.status == 304 && w.Header().Get("Content-Length") != "" {
					t.Error("304 has a length")
				}
			}
		})
	}
	t.Run("the tag is that of the body", func(t *testing.T) {
		w := call(t, s, http.MethodGet, "/things/1", "")
		if got := tagOf(t, w.Body.Bytes()); got != tag {
			t.Errorf("%s", got)
		}
	})
}

func TestCheckIfMatch(t *testing.T) {
	object := aThing()
	tag := tagOf(t, object)
	opaque := strings.Trim(tag, `"`)
	for name, c := range map[string]struct {
		lines []string
		kind  apierr.Kind // 0: taken
	}{
		"absent":                    {nil, 0},
		"the same":                  {[]string{tag}, 0},
		"any":                       {[]string{" * "}, 0},
		"another":                   {[]string{`"x"`}, apierr.PreconditionFailed},
		"empty tag":                 {[]string{`""`}, apierr.PreconditionFailed},
		"weak":                      {[]string{"W/" + tag}, apierr.PreconditionFailed},
		"in a list":                 {[]string{`"x", "y,z",` + tag}, 0},
		"with empty items":          {[]string{`, ,` + tag + `,`}, 0},
		"in the second line":        {[]string{`"x"`, tag}, 0},
		"inside another":            {[]string{`"x,` + opaque + `"`}, apierr.PreconditionFailed},
		"compressed by Caddy":       {[]string{`"` + opaque + `-gzip"`}, 0},
		"compressed with zstd":      {[]string{`"` + opaque + `-zstd"`}, 0},
		"compressed with brotli":    {[]string{`"` + opaque + `-br"`}, 0},
		"with another suffix":       {[]string{`"` + opaque + `-x"`}, apierr.PreconditionFailed},
		"a suffix alone":            {[]string{`"-gzip"`}, apierr.PreconditionFailed},
		"without quotes":            {[]string{opaque}, apierr.Invalid},
		"half a tag":                {[]string{`"` + opaque}, apierr.Invalid},
		"a quote alone":             {[]string{`"`}, apierr.Invalid},
		"weak nothing":              {[]string{`W/`}, apierr.Invalid},
		"lower case weak":           {[]string{`w/` + tag}, apierr.Invalid},
		"empty":                     {[]string{""}, apierr.Invalid},
		"any among others":          {[]string{tag + ", *"}, apierr.Invalid},
		"two without a comma":       {[]string{tag + ` "x"`}, apierr.Invalid},
		"a semicolon":               {[]string{tag + `;x`}, apierr.Invalid},
		"a good one before garbage": {[]string{tag + `, x`}, apierr.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			if c.lines != nil {
				header["If-Match"] = c.lines
			}
			err := rest.CheckIfMatch(header, object)
			switch e := apierr.As(err); {
			case c.kind == 0 && err != nil:
				t.Errorf("refused: %v", err)
			case c.kind != 0 && (e == nil || e.Kind != c.kind):
				t.Errorf("%v, want %d", err, c.kind)
			}
		})
	}
	if err := rest.CheckIfMatch(http.Header{"If-Match": {"*"}}, func() {}); err == nil || apierr.As(err) != nil {
		t.Errorf("an object without a form: %v", err)
	}
}

func TestReply(t *testing.T) {
	reply := func(op rest.Operation) *rest.Service {
		op.Method, op.Path = http.MethodGet, "/x"
		return mounted(t, op)
	}
	for name, c := range map[string]struct {
		op     rest.Operation
		status int
		body   string
		header http.Header
	}{
		"object": {
			rest.Operation{Handle: answering(rest.Reply{Body: map[string]any{"a": "<&>é"}})},
			200, `{"a":"<&>é"}`,
			http.Header{"Content-Type": {"application/json"}, "Content-Length": {"13"}, "Cache-Control": {"no-store"}, "X-Content-Type-Options": {"nosniff"}},
		},
		"null":    {rest.Operation{Handle: answering(rest.Reply{Body: rest.Null})}, 200, `null`, http.Header{"Content-Length": {"4"}}},
		"nothing": {rest.Operation{Handle: answering(rest.Reply{})}, 200, ``, http.Header{"Content-Length": {"0"}, "Content-Type": nil}},
		"created": {
			rest.Operation{Success: 201, Handle: answering(rest.Reply{Body: 1, Header: http.Header{"Location": {"/x/1"}}})},
			201, `1`,
			http.Header{"Location": {"/x/1"}},
		},
		"no content":           {rest.Operation{Success: 204}, 204, ``, http.Header{"Content-Length": nil, "Cache-Control": {"no-store"}}},
		"no content, and some": {rest.Operation{Success: 204, Handle: answering(rest.Reply{Body: 1})}, 204, ``, http.Header{"Content-Type": nil}},
		"another status":       {rest.Operation{Handle: answering(rest.Reply{Status: 202, Body: 1})}, 202, `1`, nil},
		"a status not of an object": {
			rest.Operation{Conditional: true, Handle: answering(rest.Reply{Status: 202, Body: 1})}, 202, `1`, http.Header{"Etag": nil},
		},
		"its own caching": {
			rest.Operation{Handle: answering(rest.Reply{Body: 1, Header: http.Header{"Cache-Control": {"max-age=1"}}})}, 200, `1`, http.Header{"Cache-Control": {"max-age=1"}},
		},
		"bytes": {rest.Operation{Produces: "text/csv", Handle: answering(rest.Reply{Body: []byte("a,b")})}, 200, `a,b`, http.Header{"Content-Type": {"text/csv"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := reply(c.op)
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				w := call(t, s, method, "/x", "")
				wantStatus(t, w, c.status)
				want := c.body
				if method == http.MethodHead {
					want = ""
				}
				if w.Body.String() != want {
					t.Errorf("%s: body %q", method, w.Body)
				}
				for k, v := range c.header {
					if got := strings.Join(w.Header()[k], "|"); got != strings.Join(v, "|") {
						t.Errorf("%s: %s is %q, want %q", method, k, got, v)
					}
				}
			}
		})
	}
	t.Run("what has no form", func(t *testing.T) {
		logged(t)
		s := reply(rest.Operation{Handle: answering(rest.Reply{Body: func() {}, Header: http.Header{"Location": {"/x/1"}}})})
		w := call(t, s, http.MethodGet, "/x", "")
		wantMessage(t, w, http.StatusInternalServerError, "Internal server error")
		if w.Header().Get("Location") != "" {
			t.Error("the refusal has the headers of the reply")
		}
	})
}

// The handler gets the request's own context, and reads what it needs from the request.
func TestRequest(t *testing.T) {
	type key struct{}
	var got *rest.Request
	var value any
	s := mounted(t, rest.Operation{
		Method: http.MethodGet, Path: "/things/{id}/parts/{part}", ID: "read_part",
		Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
			got, value = r, ctx.Value(key{})
			return rest.Reply{}, nil
		},
	})
	r := request(t, http.MethodGet, "/things/7/parts/a.b?x=1", "")
	wantStatus(t, answer(s, r.WithContext(context.WithValue(r.Context(), key{}, "v"))), 200)
	if got.Op().ID != "read_part" || got.Service() != s || got.Param("id") != "7" || got.Param("part") != "a.b" || got.Param("no") != "" {
		t.Errorf("%s %s %s", got.Op().ID, got.Param("id"), got.Param("part"))
	}
	if m := got.Match(); m.Access() != "confd.#" || m.Op != got.Op() {
		t.Errorf("match %+v", m)
	}
	if value != "v" || got.Principal() != nil {
		t.Errorf("context value %v, principal %v", value, got.Principal())
	}
	if x, ok := got.Query("x"); x != "1" || !ok {
		t.Errorf("x is %q", x)
	}
	if y, ok := got.Query("y"); y != "" || ok {
		t.Errorf("y is %q", y)
	}
}
