package target_test

import (
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/target"
)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"/", "/api/confd/1.1/users?limit=1", "/a/%2e%2e/b", "//", "/a%2fb", "/acl/!confd.%23", "/*/!", "/a?b=%C3%A9", "/%61?", "*", "/a#b", "/%25", "/a/",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := target.Parse(in)
		if err != nil {
			return
		}
		path := got.Path()
		for i := range len(path) {
			if c := path[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`%\;?`, c) >= 0 {
				t.Fatalf("Parse(%q) leaves %q in the path", in, c)
			}
		}
		var b strings.Builder
		for i := range got.Len() {
			s := got.Segment(i)
			if s == "" || s == "." || s == ".." || strings.Contains(s, "/") {
				t.Fatalf("Parse(%q) has the segment %q", in, s)
			}
			if !got.Wild(i) && (strings.ContainsAny(s, "*#!") || len(s) > target.MaxSegment) {
				t.Fatalf("Parse(%q) does not mark the segment %q", in, s)
			}
			b.WriteString("/" + s)
		}
		if joined := b.String(); joined != path && (path != "/" || joined != "") {
			t.Fatalf("Parse(%q): the segments make %q, the path is %q", in, joined, path)
		}
		again, err := target.Parse(got.RequestURI())
		if err != nil {
			t.Fatalf("Parse(%q) writes %q, which it refuses: %v", in, got.RequestURI(), err)
		}
		if again.Path() != path || again.RawQuery() != got.RawQuery() || again.RequestURI() != got.RequestURI() || again.Len() != got.Len() {
			t.Fatalf("Parse(%q) writes %q, which it reads differently", in, got.RequestURI())
		}
		for i := range again.Len() {
			if again.Segment(i) != got.Segment(i) || again.Wild(i) != got.Wild(i) {
				t.Fatalf("Parse(%q): segment %d changes", in, i)
			}
		}
	})
}
