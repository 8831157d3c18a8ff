package direct

import (
	"bufio"
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// FuzzWriteHeader compares with net/http, which says what is right: a header is written as there, but for the order of its lines, or not at all.
func FuzzWriteHeader(f *testing.F) {
	for _, seed := range [][5]string{
		{"GET", "gate.example.org", "/a?x=1", "X-A", "b"},
		{"POST", "127.0.0.1:9500", "/", "User-Agent", ""},
		{"PUT", "[::1]:80", "/%2F", "User-Agent", "a\r\nX-Evil: 1"},
		{"GET", "a\r\nX-Evil: 1", "/", "X-A", "b\nX-Evil: 1"},
		{"GET", "a b", "/", "X A", "b"},
		{"get\r\n", "münchen.example", "/ä", "X-A:", " b "},
		{"DELETE", "my_daemon", "*", "Content-Length", "7"},
		{"PATCH", "", "//x", "Transfer-Encoding", "chunked"},
		{"GET", "[fe80::1%25eth0]", "/", "Host", "other"},
		{"GET", "h", "/", "", "\x00"},
		{"GET", "h", "/", "X-A", "\x7f\xff\t"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4])
	}
	f.Fuzz(func(t *testing.T, method, host, path, name, value string) {
		r := &http.Request{
			Method: method, Host: host, URL: &url.URL{Scheme: "http", Host: "daemon:1", Path: path},
			Header: http.Header{"Accept": {"*/*"}, "X-Two": {"1", "2"}, name: {value}},
		}
		var ours bytes.Buffer
		out := bufio.NewWriter(&ours)
		if !writeHeader(out, r) {
			if out.Buffered() > 0 || ours.Len() > 0 {
				t.Error("it refuses, and has written")
			}
			return
		}
		_ = out.Flush()
		var theirs bytes.Buffer
		if err := r.Write(&theirs); err != nil {
			t.Fatalf("net/http refuses what is written as\n%s: %v", &ours, err)
		}
		if got, want := inOrder(ours.String()), inOrder(theirs.String()); !slices.Equal(got, want) {
			t.Errorf("%q, and net/http has %q", got, want)
		}
	})
}

func inOrder(header string) []string {
	lines := strings.Split(header, "\r\n")
	slices.Sort(lines[1:])
	return lines
}
