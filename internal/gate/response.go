package gate

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/ringfence/ringfence/internal/rest"
)

// upstreamWriter passes on an upstream's response, without the headers that the upstream may not send: a token, an identity,
// another request ID, its software, an order to a server in front, and permission for other origins, which only the gate gives. Once the
// token has died, nothing more of the response goes on: one that has not begun becomes a refusal.
type upstreamWriter struct {
	http.ResponseWriter
	p       *passage
	id      string
	origin  string
	watch   watch
	cancel  context.CancelFunc // ends the request's context; nil if only the server can
	started bool               // the final header is written. The watch's lock guards it, and conn
	refused bool
	conn    net.Conn // once hijacked
}

// begin prepares for the final header of the response. It reports false if the token has died before, and then refuses the request.
func (w *upstreamWriter) begin() bool {
	if w.started {
		return true
	}
	w.watch.mu.Lock()
	why := w.watch.ended.Load()
	w.started = why == nil
	w.watch.mu.Unlock()
	if why == nil {
		w.clean()
		return true
	}
	w.refuse(*why)
	return false
}

// refuse responds, once, in place of the upstream, of whose response nothing has been sent.
func (w *upstreamWriter) refuse(why error) {
	if w.refused {
		return
	}
	w.refused = true
	h := w.Header()
	clear(h)
	h[rest.RequestIDHeader] = []string{w.id}
	w.p.gate.cors.answer(h, w.p.request.Header)
	r := w.p.request
	if b, ok := r.Body.(*body); ok {
		r.Body = b.ReadCloser // so that the client hears of it while it sends
	}
	rest.WriteError(w.ResponseWriter, r, w.p.need.Errors, why)
}

// WriteHeader implements [http.ResponseWriter].
func (w *upstreamWriter) WriteHeader(status int) {
	switch {
	case final(status):
		if !w.begin() {
			return
		}
	case w.watch.ended.Load() != nil:
		return
	default:
		w.clean()
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *upstreamWriter) Write(p []byte) (int, error) {
	if !w.begin() || w.watch.ended.Load() != nil {
		return 0, errEnded
	}
	return w.ResponseWriter.Write(p)
}

// FlushError implements what [http.ResponseController] looks for.
func (w *upstreamWriter) FlushError() error {
	if !w.begin() {
		return errEnded
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack implements what [http.ResponseController] looks for. The connection is closed when the token dies, until the handler returns.
func (w *upstreamWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if !w.begin() {
		return nil, nil, errEnded
	}
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.watch.mu.Lock()
	defer w.watch.mu.Unlock()
	if w.watch.ended.Load() != nil {
		_ = conn.Close()
	}
	w.conn = conn
	return conn, buffered, nil
}

// finish cleans the headers of a response that the handler left to the server: an empty one, with status 200. It does no harm
// after other calls.
func (w *upstreamWriter) finish() {
	w.begin()
	if w.p.who != nil {
		w.p.gate.watches.remove(&w.watch)
		w.watch.stop()
	}
	if w.cancel != nil {
		w.cancel()
	}
}

// serverEnds is how long a body may be, in bytes, for the server to end the request's context when cut ends the reading of its connection: it
// reads on by itself only after the body, and a proxy reads such a body to its end whatever its daemon does.
const serverEnds = 16 << 10

// cut ends the request. It is called with the watch's lock, concurrently with the handler.
func (w *upstreamWriter) cut() {
	if w.conn != nil {
		_ = w.conn.Close()
		return
	}
	// Deadlines go to the server itself: wrappers belong to the handler. That of writing resets a stream of HTTP/2; in HTTP/1 it fails a write
	// that waits, and Write fails the next one, whatever deadline a wrapper sets for it. That of reading ends a body that is awaited and, in
	// HTTP/1, the request's context, so that a handler that waits for its upstream returns. A response that has not begun is still to come: the
	// refusal.
	control := http.NewResponseController(innermost(w.ResponseWriter))
	if w.started {
		_ = control.SetWriteDeadline(time.Unix(1, 0))
	}
	_ = control.SetReadDeadline(time.Unix(1, 0))
	if w.cancel != nil {
		w.cancel()
	}
}

func innermost(w http.ResponseWriter) http.ResponseWriter {
	for {
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		w = wrapper.Unwrap()
	}
}

var errEnded = errors.New("the token that began this answer is no longer good")

// Unwrap implements what [http.ResponseController] looks for.
func (w *upstreamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *upstreamWriter) clean() {
	h := w.Header()
	for name := range h {
		switch name {
		case "X-Auth-Token", "Access-Control-Allow-Origin", "Access-Control-Allow-Credentials",
			"Access-Control-Expose-Headers", "Server", "X-Powered-By", "X-Sendfile":
			delete(h, name)
		default:
			if strings.HasPrefix(name, ownHeaders) || strings.HasPrefix(name, "X-Accel-") {
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

// measured is the response writer of one request. It tells the observer once, when the response begins, with which status and how
// long after the request had come. Streams and slow clients therefore do not count as slow responses.
type measured struct {
	http.ResponseWriter
	observer Observer // nil once it was told
	service  string
	came     time.Time
}

func (m *measured) tell(status int) {
	if m.observer != nil {
		m.observer.Answered(m.service, status, time.Since(m.came))
		m.observer = nil
	}
}

// WriteHeader implements [http.ResponseWriter].
func (m *measured) WriteHeader(status int) {
	if final(status) {
		m.tell(status)
	}
	m.ResponseWriter.WriteHeader(status)
}

func (m *measured) Write(p []byte) (int, error) {
	m.tell(http.StatusOK)
	return m.ResponseWriter.Write(p)
}

// ReadFrom lets the server use its own way of copying.
func (m *measured) ReadFrom(r io.Reader) (int64, error) {
	m.tell(http.StatusOK)
	return io.Copy(m.ResponseWriter, r)
}

// FlushError implements what [http.ResponseController] looks for.
func (m *measured) FlushError() error {
	m.tell(http.StatusOK)
	return http.NewResponseController(m.ResponseWriter).Flush()
}

// Unwrap implements what [http.ResponseController] looks for.
func (m *measured) Unwrap() http.ResponseWriter { return m.ResponseWriter }

// final reports whether no other status follows this one.
func final(status int) bool {
	return status >= http.StatusOK || status == http.StatusSwitchingProtocols
}
