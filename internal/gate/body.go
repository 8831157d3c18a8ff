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

// body is a request's body. Whoever sends it slowly may have lost meanwhile what the gate's decision stood on, so the token is asked about
// again: for an upstream each time that something has come, the end included, before it goes on; for a service of ours, which acts when it has
// read all of it, at the end. So none gets a whole body that was still coming when the token died. It remembers its first error.
type body struct {
	io.ReadCloser
	p      *passage
	latest latest
	fault  atomic.Pointer[error]
}

func (b *body) Read(to []byte) (int, error) {
	if fault := b.fault.Load(); fault != nil {
		return 0, *fault
	}
	n, err := b.ReadCloser.Read(to)
	if errors.Is(err, io.EOF) || err == nil && !b.p.own {
		if refused := b.p.recheck(b.p.request.Context(), &b.latest); refused != nil {
			n, err = 0, refused
		}
	}
	// Once the handler or its transport has closed the body, a read error is not the client's fault.
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, http.ErrBodyReadAfterClose) {
		b.fault.CompareAndSwap(nil, &err)
	}
	return n, err
}

// Blame responds to a request whose handler has failed, if the reason is that its token died, or that the body was malformed, ended too early or
// stopped arriving: with the correct 4xx, where a proxy can only report that the exchange failed. It reports whether it has responded.
func (g *Gate) Blame(a *Admission) bool {
	if a.upstream == nil || a.upstream.started {
		return false
	}
	if why := a.upstream.watch.ended.Load(); why != nil {
		a.upstream.refuse(*why)
		return true
	}
	fault := a.upstream.p.body.fault.Load()
	if fault == nil {
		return false
	}
	refused := &apierr.Error{Kind: apierr.Invalid, Message: "The body is malformed, or ended before all of it had come"}
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case apierr.As(*fault) != nil:
		refused = apierr.As(*fault)
	case errors.As(*fault, &tooLarge):
		refused = rest.Refusal(*fault)
	case errors.Is(*fault, os.ErrDeadlineExceeded):
		refused = &apierr.Error{Kind: apierr.Kind(http.StatusRequestTimeout), Message: "The body did not come in time"}
	}
	a.upstream.refuse(refused)
	return true
}
