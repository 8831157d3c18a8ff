package proxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
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

// serve passes a request on, and the daemon's answer back.
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
