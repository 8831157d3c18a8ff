package gate

import (
	"io"
	"net/http"
)

// upstreamWriter passes an upstream's answer on, less the headers that are not
// its to send: a token, an identity, another request id, what software it runs, and
// permission for other origins, which is the gate's to give (THREATS 3.16).
type upstreamWriter struct {
	http.ResponseWriter
	id      string
	origin  string
	started bool
}

// WriteHeader implements [http.ResponseWriter].
func (w *upstreamWriter) WriteHeader(status int) {
	if !w.started {
		w.clean()
		w.started = status >= http.StatusOK || status == http.StatusSwitchingProtocols
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *upstreamWriter) Write(p []byte) (int, error) {
	w.start()
	return w.ResponseWriter.Write(p)
}

// ReadFrom lets the server use its own way of copying.
func (w *upstreamWriter) ReadFrom(r io.Reader) (int64, error) {
	w.start()
	if to, ok := w.ResponseWriter.(io.ReaderFrom); ok {
		return to.ReadFrom(r)
	}
	return io.Copy(w.ResponseWriter, r)
}

// FlushError implements what [http.ResponseController] looks for.
func (w *upstreamWriter) FlushError() error {
	w.start()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Finish cleans the headers of an answer that the handler left to the server: an empty one, with status 200. It is called
// when the handler has returned, and may be called after any other.
func (w *upstreamWriter) Finish() { w.start() }

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
	if id := h[requestIDHeader]; len(id) != 1 || id[0] != w.id {
		h[requestIDHeader] = []string{w.id}
	}
	if w.origin != "" {
		allow(h, w.origin)
	}
}
