package gate

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
)

// clientBody is a request's body on its way to an upstream. It remembers its first error.
type clientBody struct {
	io.ReadCloser
	fault atomic.Pointer[error]
}

func (b *clientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	// Once the handler or its transport has closed the body, a read error is not the client's fault.
	if err != nil && err != io.EOF && !errors.Is(err, http.ErrBodyReadAfterClose) {
		b.fault.CompareAndSwap(nil, &err)
	}
	return n, err
}

// Blame responds to a request whose handler has failed, if the reason is that the body was malformed, ended too early or stopped
// arriving: with the correct 4xx, where a proxy can only report that the exchange failed. It reports whether it has responded.
func (g *Gate) Blame(a *Admission) bool {
	if a.upstream == nil || a.upstream.started {
		return false
	}
	fault := a.upstream.body.fault.Load()
	if fault == nil {
		return false
	}
	refused := &apierr.Error{Kind: apierr.Invalid, Message: "The body is malformed, or ended before all of it had come"}
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case errors.As(*fault, &tooLarge):
		refused = rest.Refusal(*fault)
	case errors.Is(*fault, os.ErrDeadlineExceeded):
		refused = &apierr.Error{Kind: apierr.Kind(http.StatusRequestTimeout), Message: "The body did not come in time"}
	}
	rest.WriteError(a.Writer, a.Request, a.Need.Errors, refused)
	return true
}
