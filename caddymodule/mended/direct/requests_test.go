package direct

import (
	"bufio"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Both transports send the same bytes.
func TestSameBytes(t *testing.T) {
	for name, tt := range map[string]struct{ method, path, body string }{
		"GET": {"GET", "/a%2Fb?x=1&y=%20", ""}, "POST": {"POST", "/", "body"}, "empty POST": {"POST", "/x", ""}, "DELETE": {"DELETE", "/x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]bool{}
			transports(t, func(t *testing.T, rt http.RoundTripper) {
				sent := make(chan string, 1)
				d := serve(t, func(d *daemon, _ int64, c net.Conn, in *bufio.Reader) {
					var all strings.Builder
					if _, ok := d.hears(bufio.NewReader(io.TeeReader(in, &all))); ok {
						sent <- all.String()
						_, _ = io.WriteString(c, fine)
					}
				})
				r := request(t, tt.method, d.url+tt.path, tt.body)
				r.Host = "pbx.example.com"
				r.Header = http.Header{"X-B": {"2", "3"}, "X-A": {"1\r\nEvil: yes"}, "User-Agent": {""}, "Te": {"trailers"}, "bad name": {"x"}}
				if _, isDirect := rt.(*Transport); !isDirect { // which net/http refuses to send
					r.Header = http.Header{"X-B": {"2", "3"}, "X-A": {"1  Evil: yes"}, "User-Agent": {""}, "Te": {"trailers"}}
				}
				if answer := said(rt.RoundTrip(r)); answer != `200 "ok"` {
					t.Fatal(answer)
				}
				got[<-sent] = true
			})
			if len(got) != 1 {
				for text := range maps.Keys(got) {
					t.Errorf("%q", text)
				}
			}
		})
	}
}

// What is not of the common case goes to the other transport, untouched.
func TestElse(t *testing.T) {
	rt := newDirect()
	rt.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("it dials") }
	for name, change := range map[string]func(r *http.Request){
		"upgrade":        func(r *http.Request) { r.Header.Set("Upgrade", "websocket") },
		"expectation":    func(r *http.Request) { r.Header.Set("Expect", "100-continue") },
		"TLS":            func(r *http.Request) { r.URL.Scheme = "https" },
		"CONNECT":        func(r *http.Request) { r.Method = "CONNECT" },
		"unknown length": func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader("x")), -1 },
		"large body":     func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader("x")), mostBody+1 },
		"chunks":         func(r *http.Request) { r.TransferEncoding = []string{"chunked"} },
		"trailers":       func(r *http.Request) { r.Trailer = http.Header{"X": nil} },
		"close":          func(r *http.Request) { r.Close = true },
	} {
		r := request(t, "GET", "http://127.0.0.1:1", "")
		change(r)
		if _, err := rt.RoundTrip(r); !errors.Is(err, errElse) { //nolint:bodyclose // there is none
			t.Errorf("%s: %v", name, err)
		}
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	for name, rt := range map[string]http.RoundTripper{"direct": newDirect(), "net/http": &http.Transport{DisableCompression: true}} {
		b.Run(name, func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			for b.Loop() {
				r, _ := http.NewRequestWithContext(ctx, "GET", "http://"+l.Addr().String(), nil)
				response, err := rt.RoundTrip(r)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		})
	}
}
