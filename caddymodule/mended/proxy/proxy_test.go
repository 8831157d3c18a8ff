package proxy_test

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/ringfence/ringfence/caddymodule/mended/proxy"
	"github.com/ringfence/ringfence/internal/porttest"
)

// daemon answers each connection's requests with the same bytes, and closes it then if they do not end by themselves.
type daemon struct {
	net.Listener
	heard chan string // each request, with its header's lines in order
	gone  chan struct{}
}

// listen starts a daemon. hold lets it wait for the client to go before it sends the rest after a form feed.
func listen(t *testing.T, network, address, answer string) *daemon {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{Listener: l, heard: make(chan string, 10), gone: make(chan struct{}, 10)}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go d.serve(c, answer)
		}
	}()
	return d
}

func (d *daemon) serve(c net.Conn, answer string) {
	defer c.Close()
	var sent bytes.Buffer
	in := bufio.NewReader(io.TeeReader(c, &sent))
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	d.heard <- inOrder(sent.String())
	begin, rest, held := strings.Cut(answer, "\f")
	_, _ = io.WriteString(c, begin)
	if held && rest == "" {
		_, _ = in.ReadByte()
		d.gone <- struct{}{}
	}
	_, _ = io.WriteString(c, rest)
}

// last returns the request that was answered last, or nothing if none came.
func (d *daemon) last() (heard string) {
	for {
		select {
		case heard = <-d.heard:
		default:
			return heard
		}
	}
}

// inOrder sorts the lines of a header, of which nobody promises the order.
func inOrder(message string) string {
	head, body, _ := strings.Cut(message, "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	slices.Sort(lines[1:])
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}

// gateways starts Caddy with one site for each way to the daemon, and returns their addresses by its name. The first is Caddy's.
func gateways(t *testing.T, at, options string, global ...string) map[string]string {
	t.Helper()
	addresses := make(map[string]string)
	config := "{\n\tadmin off\n\tpersist_config off\n\tauto_https off\n\tlog default {\n\t\tlevel ERROR\n\t}\n" + strings.Join(global, "\n") + "\n}\n"
	for way, handler := range map[string]string{
		"reverse_proxy": "reverse_proxy " + at + " {\n" + cmp.Or(options, "transport ringfence\n") + "}", "ringfence_proxy": "ringfence_proxy " + at + " {\n" + options + "}",
	} {
		port, release, err := porttest.Reserve()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
		addresses[way] = fmt.Sprintf("127.0.0.1:%d", port)
		config += fmt.Sprintf("http://:%d {\n\tbind 127.0.0.1\n", port) + "\theader >X-Facts " + facts + "\n\t" + handler + "\n}\n"
	}
	adapted, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(config), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := caddy.Load(adapted, true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caddy.Stop() })
	return addresses
}

// facts are placeholders of reverse_proxy, as they are when the answer begins.
const facts = `"{rp.upstream.address} {rp.upstream.hostport} {rp.upstream.host} {rp.upstream.port} {rp.upstream.requests} {rp.upstream.max_requests} ` +
	`{rp.upstream.fails} {rp.status_code} {rp.status_text} {rp.header.X-Daemon} {rp.duration} {rp.retries}"`

const fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// What the daemon hears and what the client gets are the same on both ways, byte by byte.
func TestSameAsReverseProxy(t *testing.T) {
	get := func(header string) string { return "GET /a HTTP/1.1\r\nHost: gate.example.org\r\n" + header + "\r\n" }
	for name, c := range map[string]struct{ request, answer string }{
		"plain":                     {get("User-Agent: x\r\nAccept: */*\r\n"), fine},
		"no agent":                  {get(""), fine},
		"an empty agent":            {get("User-Agent:\r\n"), fine},
		"path and query":            {"GET /a%2Fb%20c;d/%C3%A4?x=1&y=%20 HTTP/1.1\r\nHost: h\r\n\r\n", fine},
		"an empty query":            {"GET /? HTTP/1.1\r\nHost: h\r\n\r\n", fine},
		"a whole URL":               {"GET http://other.example.org/a HTTP/1.1\r\nHost: other.example.org\r\n\r\n", fine},
		"options for all":           {"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", fine},
		"another method":            {"PROPFIND / HTTP/1.1\r\nHost: h\r\n\r\n", fine},
		"HTTP/1.0":                  {"GET / HTTP/1.0\r\nHost: h\r\n\r\n", fine},
		"claims of an address":      {get("X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: ftp\r\nX-Forwarded-Host: a\r\nForwarded: for=192.0.2.1\r\n"), fine},
		"through another proxy":     {get("Via: 1.0 fred\r\nVia: 1.1 p\r\n"), fine},
		"many values":               {get("X-A: 1\r\nX-B: 2\r\nX-A: 3\r\nCookie: a=1\r\nCookie: b=2\r\nX-Empty:\r\n"), fine},
		"values with spaces":        {get("X-A: \t a b \t \r\nX-B: \xe4\r\n"), fine},
		"headers of the connection": {get("Connection: keep-alive\r\nKeep-Alive: 5\r\nProxy-Authorization: x\r\nAlt-Svc: x\r\n"), fine},
		"a header of one hop":       {get("Connection: close, X-Mine\r\nX-Mine: 1\r\n"), fine},
		"trailers wanted":           {get("Te: trailers, deflate\r\n"), fine},
		"an upgrade":                {get("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n"), "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n"},
		"a body":                    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello", fine},
		"an empty body":             {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", fine},
		"no body":                   {"PUT / HTTP/1.1\r\nHost: h\r\n\r\n", fine},
		"a deletion":                {"DELETE /x HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n"},
		"a body in chunks":          {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", fine},
		"a body that is expected":   {"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello", fine},
		"HEAD":                      {"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\nX-Daemon: d\r\n\r\n"},
		"HEAD of unknown length":    {"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"},
		"not modified":              {get("If-None-Match: \"x\"\r\n"), "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n"},
		"headers of the answer":     {get(""), "HTTP/1.1 404 Nothing\r\nServer: daemon\r\nX-Daemon: a\r\nX-Daemon: b\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nVia: 1.1 p\r\nContent-Length: 0\r\n\r\n"},
		"one hop of the answer":     {get(""), "HTTP/1.1 200 OK\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nKeep-Alive: 5\r\nProxy-Authenticate: x\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nok"},
		"chunks":                    {get(""), "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
		"trailers":                  {get(""), "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n"},
		"trailers unannounced":      {get(""), "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n"},
		"early hints":               {get(""), "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: X-Mine\r\nX-Mine: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </b>\r\n\r\n" + fine},
		"until the end":             {get(""), "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end"},
		"an error of the daemon":    {get(""), "HTTP/1.1 500 Oops\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"},
		"no answer":                 {get(""), ""},
		"half a header":             {get(""), "HTTP/1.1 200 OK\r\nContent-"},
		"half a body":               {get(""), "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhalf"},
		"half a chunk":              {get(""), "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf"},
		"two lengths":               {get(""), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok"},
		"too many 1xx answers":      {get(""), strings.Repeat("HTTP/1.1 102 Processing\r\nX-A: 1\r\n\r\n", 3) + fine},
		"another protocol":          {get(""), "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"},
		"a stream":                  {get(""), "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\nContent-Length: 9\r\n\r\ndata: 1\n\n"},
		"a long body":               {get(""), "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("0123456789", 10_000)},
	} {
		t.Run(name, func(t *testing.T) {
			d := listen(t, "tcp", "127.0.0.1:0", c.answer)
			at := gateways(t, d.Addr().String(), "")
			var heard, got [2]string
			for i, way := range [...]string{"reverse_proxy", "ringfence_proxy"} {
				got[i] = ask(t, at[way], c.request)
				heard[i] = strings.ReplaceAll(d.last(), at[way], "the gateway")
			}
			if heard[0] != heard[1] {
				t.Errorf("by Caddy's way the daemon hears\n%s\nby ours\n%s", heard[0], heard[1])
			}
			if got[0] != got[1] {
				t.Errorf("by Caddy's way the client gets\n%s\nby ours\n%s", got[0], got[1])
			}
		})
	}
}

// What a client says of an address counts if the server trusts its own, and by both ways alike.
func TestTrustedProxies(t *testing.T) {
	for trusted, want := range map[string]string{
		"127.0.0.0/8":  "X-Forwarded-For: 192.0.2.7, 127.0.0.1\r\nX-Forwarded-Host: a.example\r\nX-Forwarded-Proto: ftp\r\n",
		"192.0.2.0/24": "X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Host: h\r\nX-Forwarded-Proto: http\r\n",
	} {
		t.Run(trusted, func(t *testing.T) {
			d := listen(t, "tcp", "127.0.0.1:0", fine)
			for way, address := range gateways(t, d.Addr().String(), "", "servers {", "trusted_proxies static "+trusted, "}") {
				ask(t, address, "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Host: a.example\r\nX-Forwarded-Proto: ftp\r\n\r\n")
				if heard := d.last(); !strings.Contains(heard, want) {
					t.Errorf("by %s the daemon hears\n%s", way, heard)
				}
			}
		})
	}
}

// ask sends a request and returns the bytes that come back, without what differs from one moment to the next.
func ask(t *testing.T, address, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	in := bufio.NewReader(io.TeeReader(c, &got))
	for {
		method, _, _ := strings.Cut(request, " ")
		response, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			return got.String() + err.Error()
		}
		_, err = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode >= 200 || response.StatusCode == http.StatusSwitchingProtocols {
			return answers(got.String()) + fmt.Sprint(err)
		}
	}
}

// answers sorts the lines of each header, and leaves out the time.
func answers(bytes string) string {
	var parts []string
	for part := range strings.SplitSeq(bytes, "HTTP/1.1 ") {
		var lines []string
		for line := range strings.Lines(inOrder(part)) {
			if !strings.HasPrefix(line, "Date: ") {
				lines = append(lines, line)
			}
		}
		parts = append(parts, strings.Join(lines, ""))
	}
	return strings.Join(parts, "HTTP/1.1 ")
}

// A daemon that is silent for too long, or is not there, costs the same.
func TestFailures(t *testing.T) {
	silent := listen(t, "tcp", "127.0.0.1:0", "\f")
	port, release, err := porttest.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	for name, c := range map[string]struct {
		daemon string
		want   string
	}{
		"silence": {silent.Addr().String(), "HTTP/1.1 504 Gateway Timeout"},
		"nobody":  {fmt.Sprintf("127.0.0.1:%d", port), "HTTP/1.1 502 Bad Gateway"},
	} {
		t.Run(name, func(t *testing.T) {
			at := gateways(t, c.daemon, "transport ringfence {\nresponse_header_timeout 50ms\n}\n")
			for way, address := range at {
				if got := ask(t, address, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); !strings.Contains(got, c.want) {
					t.Errorf("%s: %s", way, got)
				}
			}
		})
	}
}

// A daemon may listen on a unix socket.
func TestUnixSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "daemon")
	d := listen(t, "unix", socket, fine)
	at := gateways(t, "unix/"+socket, "")
	var heard, got [2]string
	for i, way := range [...]string{"reverse_proxy", "ringfence_proxy"} {
		got[i] = ask(t, at[way], "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		heard[i] = d.last()
	}
	if heard[0] != heard[1] || got[0] != got[1] {
		t.Errorf("by Caddy's way\n%s\n%s\nby ours\n%s\n%s", heard[0], got[0], heard[1], got[1])
	}
}

// The client gets what there is of an answer, also of one that has only begun; when it goes, the daemon's connection is closed.
func TestStreams(t *testing.T) {
	for name, answer := range map[string]string{
		"a header alone":    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n\f",
		"an event":          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n\f",
		"a chunk":           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n\f",
		"of a known length": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100\r\n\r\ndata: 1\n\n\f",
	} {
		t.Run(name, func(t *testing.T) {
			d := listen(t, "tcp", "127.0.0.1:0", answer)
			for way, address := range gateways(t, d.Addr().String(), "") {
				response, err := http.Get("http://" + address)
				if err != nil {
					t.Fatalf("%s: %v", way, err)
				}
				if strings.Contains(answer, "data") {
					begin := make([]byte, len("data: 1"))
					if _, err := io.ReadFull(response.Body, begin); err != nil || string(begin) != "data: 1" {
						t.Errorf("%s: %q, %v", way, begin, err)
					}
				}
				_ = response.Body.Close()
				<-d.gone
			}
		})
	}
}

// Many clients at once share the connections to a daemon, and each gets its own answer.
func TestManyClients(t *testing.T) {
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s", r.URL.Path, body)
	}))
	t.Cleanup(daemon.Close)
	at := gateways(t, daemon.Listener.Addr().String(), "")["ringfence_proxy"]
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for j := range 50 {
				want := fmt.Sprintf("/%d/%d body of %d", i, j, i)
				response, err := http.Post(fmt.Sprintf("http://%s/%d/%d", at, i, j), "text/plain", strings.NewReader(fmt.Sprintf("body of %d", i)))
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if string(body) != want {
					t.Errorf("%q instead of %q: %v", body, want, err)
				}
			}
		})
	}
	clients.Wait()
}
