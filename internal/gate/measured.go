package gate

import (
	"io"
	"net/http"
	"time"
)

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
	return readFrom(m.ResponseWriter, r)
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

func readFrom(w http.ResponseWriter, r io.Reader) (int64, error) {
	if to, ok := w.(io.ReaderFrom); ok {
		return to.ReadFrom(r)
	}
	return io.Copy(w, r)
}
