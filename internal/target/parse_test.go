package target_test

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/target"
)

func TestParseAccepts(t *testing.T) {
	tests := []struct {
		name, in         string
		path, query, uri string
		segments         []string
		wild             []int
	}{
		{name: "root", in: "/", path: "/", uri: "/"},
		{name: "root with a query", in: "/?a=1", path: "/", query: "a=1", uri: "/?a=1"},
		{name: "plain", in: "/api/confd/1.1/users", path: "/api/confd/1.1/users", uri: "/api/confd/1.1/users", segments: []string{"api", "confd", "1.1", "users"}},
		{name: "query kept as sent", in: "/u?search=%C3%A9+x&limit=1&limit=2", path: "/u", query: "search=%C3%A9+x&limit=1&limit=2", uri: "/u?search=%C3%A9+x&limit=1&limit=2", segments: []string{"u"}},
		{name: "query in raw UTF-8", in: "/u?search=é", path: "/u", query: "search=é", uri: "/u?search=é", segments: []string{"u"}},
		{name: "question marks in a query", in: "/u?a=?", path: "/u", query: "a=?", uri: "/u?a=?", segments: []string{"u"}},
		{name: "encoded signs in a query", in: "/u?a=%23%3B%2F%5C%0A%25", path: "/u", query: "a=%23%3B%2F%5C%0A%25", uri: "/u?a=%23%3B%2F%5C%0A%25", segments: []string{"u"}},
		{name: "empty query", in: "/u?", path: "/u", uri: "/u", segments: []string{"u"}},
		{name: "escape that need not be", in: "/%75sers/%6d%65?x", path: "/users/me", query: "x", uri: "/users/me?x", segments: []string{"users", "me"}},
		{name: "alphabet", in: "/AZaz09_~@+=,:.-", path: "/AZaz09_~@+=,:.-", uri: "/AZaz09_~@+=,:.-", segments: []string{"AZaz09_~@+=,:.-"}},
		{name: "plus is not a space", in: "/+33", path: "/+33", uri: "/+33", segments: []string{"+33"}},
		{name: "dots inside a segment", in: "/a..b/...", path: "/a..b/...", uri: "/a..b/...", segments: []string{"a..b", "..."}},
		{name: "hidden file", in: "/.x/x.", path: "/.x/x.", uri: "/.x/x.", segments: []string{".x", "x."}},
		{name: "UUID", in: "/u/8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e", path: "/u/8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e", uri: "/u/8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e", segments: []string{"u", "8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e"}},
		{
			name: "UUIDs in upper case", in: "/U/8A9F6A0E-2B0F-4C1A-9D3E-7F2F0B1C2D3E/X/8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3%45?u=8A", query: "u=8A",
			path:     "/U/8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e/X/8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e",
			uri:      "/U/8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e/X/8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e?u=8A",
			segments: []string{"U", "8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e", "X", "8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e"},
		},
		{name: "nearly a UUID", in: "/8A9F6A0E-2B0F-4C1A-9D3E-7F2F0B1C2D3G", path: "/8A9F6A0E-2B0F-4C1A-9D3E-7F2F0B1C2D3G", uri: "/8A9F6A0E-2B0F-4C1A-9D3E-7F2F0B1C2D3G", segments: []string{"8A9F6A0E-2B0F-4C1A-9D3E-7F2F0B1C2D3G"}},
		{name: "as long as a UUID", in: "/8A9F6A0E02B0F-4C1A-9D3E-7F2F0B1C2D3E", path: "/8A9F6A0E02B0F-4C1A-9D3E-7F2F0B1C2D3E", uri: "/8A9F6A0E02B0F-4C1A-9D3E-7F2F0B1C2D3E", segments: []string{"8A9F6A0E02B0F-4C1A-9D3E-7F2F0B1C2D3E"}},
		{name: "pattern", in: "/acl/confd.%23", path: "/acl/confd.#", uri: "/acl/confd.%23", segments: []string{"acl", "confd.#"}, wild: []int{1}},
		{name: "pattern written raw", in: "/acl/!confd.*", path: "/acl/!confd.*", uri: "/acl/%21confd.%2A", segments: []string{"acl", "!confd.*"}, wild: []int{1}},
		{name: "pattern in lower case escapes", in: "/%2a/x/%21", path: "/*/x/!", uri: "/%2A/x/%21", segments: []string{"*", "x", "!"}, wild: []int{0, 2}},
		{name: "longest segment", in: "/" + strings.Repeat("a", 128), path: "/" + strings.Repeat("a", 128), uri: "/" + strings.Repeat("a", 128), segments: []string{strings.Repeat("a", 128)}},
		{name: "longest pattern", in: "/" + strings.Repeat("a", 257), path: "/" + strings.Repeat("a", 257), uri: "/" + strings.Repeat("a", 257), segments: []string{strings.Repeat("a", 257)}, wild: []int{0}},
		{name: "most segments", in: strings.Repeat("/a", 32), path: strings.Repeat("/a", 32), uri: strings.Repeat("/a", 32), segments: slices.Repeat([]string{"a"}, 32)},
		{name: "longest", in: "/?" + strings.Repeat("a", 2046), path: "/", query: strings.Repeat("a", 2046), uri: "/?" + strings.Repeat("a", 2046)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := target.Parse(tt.in)
			if err != nil {
				t.Fatalf("Parse(%q): %v", tt.in, err)
			}
			if got.Path() != tt.path || got.RawQuery() != tt.query || got.RequestURI() != tt.uri {
				t.Errorf("Parse(%q) = path %q, query %q, URI %q; want %q, %q, %q",
					tt.in, got.Path(), got.RawQuery(), got.RequestURI(), tt.path, tt.query, tt.uri)
			}
			var segments []string
			var wild []int
			for i := range got.Len() {
				segments = append(segments, got.Segment(i))
				if got.Wild(i) {
					wild = append(wild, i)
				}
			}
			if !slices.Equal(segments, tt.segments) || !slices.Equal(wild, tt.wild) || got.HasWild() != (len(wild) > 0) {
				t.Errorf("segments %q (wild %v), want %q (wild %v)", segments, wild, tt.segments, tt.wild)
			}
		})
	}
}

// What the target alone decides, and neighbours of each case.
func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, in, reason string
	}{
		{"empty", "", "form"},
		{"1.2 scheme without slashes", "foo:bar", "form"},
		{"1.5 asterisk", "*", "form"},
		{"1.6 absolute", "http://gw", "form"},
		{"absolute with a path", "https://gw/api/confd/1.1/users", "form"},
		{"authority", "gw:443", "form"},
		{"no slash", "api/users", "form"},
		{"query alone", "?a", "form"},
		{"1.7 dots", "/api/pub/../admin", "dot_segment"},
		{"1.7 encoded dots", "/api/pub/%2e%2e/admin", "dot_segment"},
		{"1.7 half encoded dots", "/api/pub/.%2E/admin", "dot_segment"},
		{"1.7 encoded slash", "/api/pub/..%2fadmin", "encoded_slash"},
		{"one dot", "/api/./x", "dot_segment"},
		{"encoded dot", "/api/%2e/x", "dot_segment"},
		{"dots at the end", "/api/..", "dot_segment"},
		{"dot at the end", "/api/.", "dot_segment"},
		{"1.9 encoded twice", "/api/%252e%252e/admin", "double_encoding"},
		{"encoded twice in upper case", "/api/%25%32%65", "double_encoding"},
		{"1.10 two slashes in front", "//api//confd/users", "empty_segment"},
		{"1.10 two slashes", "/api/confd//users", "empty_segment"},
		{"two slashes alone", "//", "empty_segment"},
		{"slash at the end", "/api/confd/1.1/users/", "empty_segment"},
		{"slash at the end before a query", "/users/?a", "empty_segment"},
		{"1.17 raw number sign", "/api/users#x", "fragment"},
		{"raw number sign beside an escape", "/%61#x", "fragment"},
		{"1.19 line feed", "/users/17%0a", "control"},
		{"raw line feed", "/users/17\n", "control"},
		{"carriage return and line feed", "/x%0d%0aSet-Cookie:a", "control"},
		{"DEL", "/x%7f", "control"},
		{"raw DEL", "/x\x7f", "control"},
		{"1.20 NUL", "/users/%00x", "control"},
		{"raw NUL", "/users/\x00x", "control"},
		{"1.22 full width dots", "/users/．．/admin", "non_ascii"},
		{"1.22 long s", "/users/ſ", "non_ascii"},
		{"1.22 Kelvin, encoded", "/users/%E2%84%AA", "non_ascii"},
		{"invalid UTF-8", "/users/%ff", "non_ascii"},
		{"overlong dot", "/%c0%ae%c0%ae/x", "non_ascii"},
		{"raw backslash", `/a\..\b`, "backslash"},
		{"encoded backslash", "/a%5c..%5Cb", "encoded_slash"},
		{"encoded slash", "/a%2Fb", "encoded_slash"},
		{"semicolon", "/users;v=1/x", "alphabet"},
		{"encoded semicolon", "/users%3bx", "alphabet"},
		{"encoded question mark", "/users%3Fx=1", "alphabet"},
		{"space", "/a b", "alphabet"},
		{"encoded space", "/a%20b", "alphabet"},
		{"quotes", `/a"b`, "alphabet"},
		{"braces", "/users/{id}", "alphabet"},
		{"other signs", "/a$b", "alphabet"},
		{"half an escape", "/a%2", "bad_escape"},
		{"percent alone", "/a%", "bad_escape"},
		{"not hexadecimal", "/a%zz", "bad_escape"},
		{"not hexadecimal below", "/a%4g", "bad_escape"},
		{"IIS escape", "/a%u002e", "bad_escape"},
		{"1.25 too many segments", strings.Repeat("/a", 33), "too_many_segments"},
		{"1.25 long segment", "/" + strings.Repeat("a", 258), "long_segment"},
		{"1.25 long segment before another", "/" + strings.Repeat("*", 258) + "/a", "long_segment"},
		{"1.26 number sign in the query", "/u?a=1#x", "query"},
		{"1.26 NUL in the query", "/u?a=%00", "query_nul"},
		{"1.26 semicolon in the query", "/u?a;b", "query"},
		{"space in the query", "/u?a b", "query"},
		{"tab in the query", "/u?a\tb", "query"},
		{"DEL in the query", "/u?a\x7f", "query"},
		{"bad escape in the query", "/u?a=%zz", "query_escape"},
		{"half an escape in the query", "/u?a=%4", "query_escape"},
		{"invalid UTF-8 in the query", "/u?a=%ff", "query_utf8"},
		{"invalid raw UTF-8 in the query", "/u?a=\xff", "query_utf8"},
		{"UTF-8 over two parameters", "/u?a=%C3&b=%A9", "query_utf8"},
		{"surrogate", "/u?a=%ed%a0%80", "query_utf8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			refuses(t, tt.in, tt.reason, http.StatusBadRequest)
		})
	}
	for _, tt := range []struct{ name, in string }{
		{"path", "/" + strings.Repeat("a/", 1024)},
		{"16 KB", "/" + strings.Repeat("a", 16<<10)},
		{"query", "/?" + strings.Repeat("a", 2047)},
		{"canonical form", strings.Repeat("/"+strings.Repeat("*", 100), 8)},
	} {
		t.Run("too long "+tt.name, func(t *testing.T) {
			refuses(t, tt.in, "too_long", http.StatusRequestURITooLong)
		})
	}
}

func refuses(t *testing.T, in, reason string, status int) {
	t.Helper()
	got, err := target.Parse(in)
	refusal, ok := errors.AsType[*target.Refusal](err)
	if !ok {
		t.Fatalf("Parse(%.100q) = %q, %v; want a refusal", in, got.Path(), err)
	}
	if refusal.Reason != reason || refusal.Status != status {
		t.Errorf("Parse(%.100q) refused with %d %s, want %d %s", in, refusal.Status, refusal.Reason, status, reason)
	}
	if got != (target.Target{}) {
		t.Errorf("a refusal comes with a target")
	}
	if len(in) > 3 && strings.Contains(refusal.Error(), in) {
		t.Errorf("the sentence %q repeats the input", refusal)
	}
}

func TestHasPrefix(t *testing.T) {
	got, err := target.Parse("/api/confd/1.1/users")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		prefix string
		want   bool
	}{
		{"api confd 1.1", true},
		{"api confd 1.1 users", true},
		{"api confd 1.1 users x", false},
		{"api confd 1.10", false},
		{"api Confd 1.1", false},
		{"api conf", false},
	} {
		if ok := got.HasPrefix(strings.Fields(tt.prefix)); ok != tt.want {
			t.Errorf("HasPrefix(%s) = %t", tt.prefix, ok)
		}
	}
	if !got.HasPrefix(nil) {
		t.Error("nothing is not a prefix")
	}
}

// Every byte, raw and encoded, as a whole segment and inside one: what Parse
// lets through is what net/url reads and writes.
func TestParseAgreesWithNetURL(t *testing.T) {
	const hex = "0123456789abcdefABCDEF"
	var forms []string
	for c := range 256 {
		forms = append(forms, string([]byte{byte(c)}))
	}
	for _, high := range hex {
		for _, low := range hex {
			forms = append(forms, "%"+string(high)+string(low))
		}
	}
	accepted := 0
	for _, form := range forms {
		for _, in := range []string{"/" + form, "/a" + form + "b/c?q=1"} {
			got, err := target.Parse(in)
			if err != nil {
				continue
			}
			accepted++
			u, err := url.ParseRequestURI(in)
			if err != nil {
				t.Errorf("net/url refuses %q: %v", in, err)
				continue
			}
			if u.Path != got.Path() || u.RawQuery != got.RawQuery() {
				t.Errorf("net/url reads %q as %q, Parse as %q", in, u.Path, got.Path())
			}
			canonical := url.URL{Path: got.Path(), RawQuery: got.RawQuery()}
			if canonical.RequestURI() != got.RequestURI() {
				t.Errorf("net/url writes %q, Parse %q", canonical.RequestURI(), got.RequestURI())
			}
		}
	}
	if accepted < 200 {
		t.Errorf("only %d forms were accepted", accepted)
	}
}
