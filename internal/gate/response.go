package gate

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
)

// upstreamWriter passes on an upstream's response, without the headers that the upstream may not send: a token, an identity,
// another request ID, its software, and permission for other origins, which only the gate gives.
type upstreamWriter struct {
	http.ResponseWriter
	id      string
	origin  string
	started bool

	body clientBody // the request's, which the upstream reads

	// For the watch of a response that turns out to be long.
	gate    *Gate
	who     *principal.Principal // nil on a public route, which needs no watch
	token   string
	access  string
	tenant  string
	written bool
	watch   *watch
}

// WriteHeader implements [http.ResponseWriter].
func (w *upstreamWriter) WriteHeader(status int) {
	if !w.started {
		w.clean()
		w.started = final(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *upstreamWriter) Write(p []byte) (int, error) {
	w.start()
	if w.written {
		w.stream()
	}
	w.written = true
	if w.watch != nil && w.watch.ended.Load() {
		return 0, errEnded
	}
	return w.ResponseWriter.Write(p)
}

// FlushError implements what [http.ResponseController] looks for.
func (w *upstreamWriter) FlushError() error {
	w.start()
	w.stream()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack implements what [http.ResponseController] looks for. The connection is closed when the token dies, until the handler returns.
func (w *upstreamWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.stopWatch() // the server no longer answers
		w.watchUntil(func() { _ = conn.Close() })
	}
	return conn, buffered, err
}

// finish cleans the headers of a response that the handler left to the server: an empty one, with status 200. It does no harm
// after other calls.
func (w *upstreamWriter) finish() {
	w.start()
	w.stopWatch()
}

// stream makes the response end when the token does. It is called when a response is not the usual one, which is written at once:
// when it is flushed, or written in more than one piece.
func (w *upstreamWriter) stream() {
	if w.watch != nil || w.who == nil {
		return
	}
	w.watchUntil(func() {
		// In HTTP/2 the first call resets the stream. In HTTP/1 it fails a write that waits; Write fails the next one, whatever deadline
		// a wrapper sets for it. The second ends the request's context,
		// so that a handler that waits for its upstream returns. Both go to the server itself: wrappers belong to the handler,
		// and this runs concurrently with the handler.
		control := http.NewResponseController(innermost(w.ResponseWriter))
		_ = control.SetWriteDeadline(time.Unix(1, 0))
		_ = control.SetReadDeadline(time.Unix(1, 0))
	})
}

// innermost returns the server's own writer.
func innermost(w http.ResponseWriter) http.ResponseWriter {
	for {
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		w = wrapper.Unwrap()
	}
}

func (w *upstreamWriter) watchUntil(end func()) {
	if w.who == nil {
		return
	}
	w.watch = &watch{gate: w.gate, token: w.token, access: w.access, tenant: w.tenant, end: end, who: w.who}
	w.watch.start()
}

func (w *upstreamWriter) stopWatch() {
	if w.watch != nil {
		w.watch.stop()
	}
}

var errEnded = errors.New("the token that began this answer is no longer good")

// Unwrap implements what [http.ResponseController] looks for.
func (w *upstreamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *upstreamWriter) start() {
	if !w.started {
		w.clean()
		w.started = true
	}
}

func (w *upstreamWriter) clean() {
	h := w.Header()
	for name := range h {
		switch name {
		case "X-Auth-Token", "Access-Control-Allow-Origin", "Access-Control-Allow-Credentials",
			"Access-Control-Expose-Headers", "Server", "X-Powered-By", "X-Accel-Redirect", "X-Sendfile":
			delete(h, name)
		default:
			if forged(name) {
				delete(h, name)
			}
		}
	}
	if id := h[rest.RequestIDHeader]; len(id) != 1 || id[0] != w.id {
		h[rest.RequestIDHeader] = []string{w.id}
	}
	if w.origin != "" {
		allow(h, w.origin)
	}
}
