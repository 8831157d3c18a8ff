package proxy

import (
	"context"
	"errors"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/ringfence/ringfence/caddymodule/mended/direct"
)

// statusClientGone is what Caddy's logs show for a request whose client did not wait for the answer.
const statusClientGone = 499

// short is the way to one daemon. What it does, and in which order, is what reverse_proxy does.
type short struct {
	transport *direct.Transport
	at        caddy.NetworkAddress
	address   string // as it is dialled
	port      string
	host      string // of the request's URL
	log       *zap.Logger
}

func newShort(t *direct.Transport, at caddy.NetworkAddress, log *zap.Logger) *short {
	s := &short{transport: t, at: at, address: at.JoinHostPort(0), log: log}
	s.host, s.port = s.address, strconv.FormatUint(uint64(at.StartPort), 10)
	if s.port == "80" {
		s.host = at.Host
	}
	return s
}

// takes reports whether a request is plain: reverse_proxy would only pass it on, from a client that it does not trust.
func takes(r *http.Request) bool {
	if r.TLS != nil && !r.TLS.HandshakeComplete {
		return false
	}
	for _, name := range [...]string{"Te", "Trailer", "Incremental", "Proxy-Connection"} {
		if r.Header[name] != nil {
			return false
		}
	}
	if sent := r.Header["Connection"]; len(sent) > 1 || len(sent) == 1 && !strings.EqualFold(sent[0], "keep-alive") && !strings.EqualFold(sent[0], "close") {
		return false
	}
	trusted, known := caddyhttp.GetVar(r.Context(), caddyhttp.TrustedProxyVarKey).(bool)
	return known && !trusted
}

func (s *short) serve(w http.ResponseWriter, r, out *http.Request) error {
	f := &facts{short: s, began: time.Now()}
	if replacer, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
		replacer.DeleteByPrefix("http.reverse_proxy.") // of another proxy, such as forward_auth
		replacer.Map(f.placeholder)
	}
	inform := informer{w: w}
	answer, err := s.transport.Exchange(out, s.at.Network, s.address, inform.tell)
	if err != nil {
		f.ended = time.Now()
		return failure(w, err)
	}
	f.answer, f.came = answer, time.Now()
	header := w.Header()
	copyHeader(header, answer)
	announced := announce(header, answer)
	w.WriteHeader(answer.StatusCode)
	err = copyBody(w, answer)
	_ = answer.Body.Close()
	if err != nil {
		level := zap.WarnLevel
		if r.Context().Err() != nil {
			level = zap.DebugLevel
		}
		s.log.Log(level, "aborting with incomplete response", zap.String("upstream", s.address), zap.Error(err))
		_ = http.NewResponseController(w).Flush() // the client sees what there is
		panic(http.ErrAbortHandler)
	}
	addTrailers(w, answer, announced)
	f.ended = time.Now()
	return nil
}

// failure returns a daemon's failure with the status that Caddy has for it.
func failure(w http.ResponseWriter, err error) error {
	if errors.Is(err, context.Canceled) {
		w.WriteHeader(statusClientGone)
		return nil
	}
	status := http.StatusBadGateway
	if late, ok := err.(net.Error); ok && late.Timeout() { //nolint:errorlint // a dial that takes too long is wrapped, and is 502 as everywhere in Caddy
		status = http.StatusGatewayTimeout
	}
	return caddyhttp.Error(status, err)
}

// hop reports whether a header concerns one connection only (RFC 9110, section 7.6.1).
func hop(name string) bool {
	switch name {
	case "Alt-Svc", "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// noAgent keeps net/http from naming itself.
var noAgent = []string{""}

// request returns the request for the daemon, or false if the client's address cannot be told.
func (s *short) request(r *http.Request) (*http.Request, bool) {
	ip, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return nil, false
	}
	ip, _, _ = strings.Cut(ip, "%")
	scheme := "https"
	if r.TLS == nil {
		scheme = "http"
	}
	added := &[...]string{ip, scheme, r.Host, via(r.ProtoMajor, r.ProtoMinor)}
	header := make(http.Header, len(r.Header)+len(added)+1)
	for name, values := range r.Header {
		if !hop(name) {
			header[name] = values
		}
	}
	for i, name := range [...]string{"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host"} {
		if values, named := header[name]; !named || values != nil { // nil: somebody before does not want it
			header[name] = added[i : i+1 : i+1]
		}
	}
	header["Via"] = append(slices.Clip(header["Via"]), added[3])
	if _, named := header["User-Agent"]; !named {
		header["User-Agent"] = noAgent
	}
	out, to := new(http.Request), new(url.URL)
	*out, *to = *r, *r.URL
	to.Scheme, to.Host = "http", s.host
	out.URL, out.Header, out.Close = to, header, false
	if out.ContentLength == 0 {
		out.Body = nil
	}
	return out, direct.Takes(out)
}

func via(major, minor int) string {
	if major == 1 && minor == 1 {
		return "1.1 Caddy"
	}
	return strconv.Itoa(major) + "." + strconv.Itoa(minor) + " Caddy"
}

type informer struct{ w http.ResponseWriter }

func (i informer) tell(status int, sent textproto.MIMEHeader) error {
	header := i.w.Header()
	own := header.Clone()
	addHeader(header, http.Header(sent))
	i.w.WriteHeader(status)
	clear(header)
	maps.Copy(header, own)
	return nil
}

// copyHeader adds the header of a daemon's answer to the client's.
func copyHeader(header http.Header, answer *http.Response) {
	delete(header, "Server")
	header["Via"] = append(header["Via"], via(answer.ProtoMajor, answer.ProtoMinor))
	addHeader(header, answer.Header)
}

// addHeader adds all but what concerns one connection, which Connection may name.
func addHeader(to, from http.Header) {
	for _, line := range from["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			if name = textproto.TrimString(name); name != "" {
				from.Del(name)
			}
		}
	}
	for name, values := range from {
		switch {
		case hop(name):
		case to[name] == nil:
			to[name] = slices.Clip(values)
		default:
			to[name] = append(to[name], values...)
		}
	}
}

// announce names the trailers that an answer will have, and returns their number.
func announce(header http.Header, answer *http.Response) int {
	if len(answer.Trailer) == 0 {
		return 0
	}
	header.Add("Trailer", strings.Join(slices.Sorted(maps.Keys(answer.Trailer)), ", "))
	return len(answer.Trailer)
}

// addTrailers passes on the trailers of an answer that was read to its end.
func addTrailers(w http.ResponseWriter, answer *http.Response, announced int) {
	if len(answer.Trailer) == 0 {
		return
	}
	_ = http.NewResponseController(w).Flush() // without it net/http would count a short body, and send no trailers
	prefix := ""
	if len(answer.Trailer) != announced {
		prefix = http.TrailerPrefix
	}
	for name, values := range answer.Trailer {
		for _, value := range values {
			w.Header().Add(prefix+name, value)
		}
	}
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// copyBody passes the body on. One that has no end in sight is passed on as it comes.
func copyBody(w http.ResponseWriter, answer *http.Response) error {
	if answer.Body == http.NoBody {
		return nil
	}
	to := io.Writer(w)
	if answer.ContentLength < 0 || isStream(answer.Header) {
		at := &atOnce{w: w, flush: http.NewResponseController(w).Flush}
		at.waiting = time.AfterFunc(patience, at.begin)
		defer at.end()
		to = at
	}
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	for {
		n, err := answer.Body.Read(*buffer)
		if n > 0 {
			if _, err := to.Write((*buffer)[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// patience is how long a header waits for the first bytes of a body of unknown length. Mostly they are there, and go with it.
const patience = time.Millisecond

type atOnce struct {
	w     http.ResponseWriter
	flush func() error

	mu      sync.Mutex // begin runs concurrently
	waiting *time.Timer
	begun   bool
}

func (a *atOnce) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun = true
	n, err := a.w.Write(p)
	if err == nil {
		err = a.flush()
	}
	return n, err
}

func (a *atOnce) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.begun {
		_ = a.flush()
	}
}

// end keeps begin from running later.
func (a *atOnce) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun = true
	a.waiting.Stop()
}

const eventStream = "text/event-stream"

// isStream reports whether a body is to be passed on as it comes, although its length may be known.
func isStream(header http.Header) bool {
	if header["Incremental"] != nil && caddyhttp.IsIncremental(header) {
		return true
	}
	kind := header["Content-Type"]
	if len(kind) == 0 || !strings.EqualFold(kind[0][:min(len(kind[0]), len(eventStream))], eventStream) {
		return false
	}
	name, _, err := mime.ParseMediaType(kind[0])
	return err == nil && name == eventStream
}
