package gate

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/tokens"
)

const (
	// recheckEvery is how often requests to upstreams are looked at until they are over. They end within twice that time of their token.
	recheckEvery = time.Second
	// maxUnchecked is how long they go on while the token cannot be checked: as long as a cached token may be used.
	maxUnchecked = tokens.MaxStaleness
)

// latest is what was last known of a token that is asked about again. It belongs to who asks.
type latest struct {
	who     *principal.Principal
	checked time.Time
}

// recheck returns why the token no longer allows what was decided: it was revoked or has expired, its user was deleted, disabled or moved to
// another tenant, or no longer holds the access; nil if it does. It asks the token cache, which forgets what other nodes revoke, so it only
// reads memory as long as nothing has changed.
func (p *passage) recheck(ctx context.Context, last *latest) error {
	if p.who == nil {
		return nil
	}
	who, denied := p.gate.principal(ctx, p.token, p.need.Access)
	switch {
	case denied == nil && who == last.who: // a principal is immutable: the same one still holds what it held
	case denied == nil && p.own:
		if !sameRights(who, p.who) {
			return apierr.New(apierr.Forbidden, "What your token allows has changed while the request was sent; send it again")
		}
	case denied == nil:
		denied = p.stillAllowed(ctx, who)
	}
	if denied != nil {
		if kind := apierr.As(denied.err).Kind; !p.own && (kind == apierr.Unavailable || kind == apierr.TooMany) && time.Since(last.checked) < maxUnchecked {
			return nil
		}
		return denied.err
	}
	last.who, last.checked = who, time.Now()
	return nil
}

// stillAllowed makes the gate's decision about an upstream again, for another principal of the token.
func (p *passage) stillAllowed(ctx context.Context, who *principal.Principal) *denial {
	switch {
	case who.TenantUUID != p.who.TenantUUID:
		return deny("tenant", apierr.Forbidden, "Your user has moved to another tenant while the request lasted; send it again")
	case !who.Holds(p.need.Access):
		return lacks(p.need.Access)
	}
	if refused := p.gate.mayActIn(ctx, who, p.token, p.tenant); refused != nil {
		return &denial{"tenant", refused}
	}
	return nil
}

// sameRights reports whether two principals of a token may do the same in the same tenant.
func sameRights(a, b *principal.Principal) bool {
	return a.UserUUID == b.UserUUID && a.SessionUUID == b.SessionUUID && a.TenantUUID == b.TenantUUID && a.Remote == b.Remote && a.Master == b.Master &&
		(a.ACL == b.ACL || slices.Equal(a.ACL.Patterns(), b.ACL.Patterns()))
}

// watches are the requests to upstreams that are under way with a token. One timer for all of them costs a short request nothing that can be
// measured; it stops when there are none. The zero value is ready.
type watches struct {
	mu      sync.Mutex
	all     map[*watch]struct{}
	ticking bool
}

func (s *watches) add(w *watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*watch]struct{}{}
	}
	s.all[w] = struct{}{}
	if !s.ticking {
		s.ticking = true
		time.AfterFunc(recheckEvery, s.tick)
	}
}

func (s *watches) remove(w *watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, w)
}

func (s *watches) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.all {
		go w.check() // a look-up may take its time, and concerns one token
	}
	if s.ticking = len(s.all) > 0; s.ticking {
		time.AfterFunc(recheckEvery, s.tick)
	}
}

// watch ends a request to an upstream once its token no longer allows it, whether it is still being sent, waits for an answer, or has one that
// does not end.
type watch struct {
	writer   *upstreamWriter
	latest   latest
	checking atomic.Bool
	ended    atomic.Pointer[error] // why, once it was

	mu   sync.Mutex // held while the request is cut off, so that this is not done to what comes after it
	over bool
}

func (w *watch) check() {
	if !w.checking.CompareAndSwap(false, true) {
		return // the last look-up still lasts
	}
	defer w.checking.Store(false)
	why := w.writer.p.recheck(context.Background(), &w.latest) // a look-up has a timeout of its own
	if why == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.over = true
		w.ended.Store(&why)
		w.writer.cut()
	}
}

// stop returns when nothing more will be ended, or the end has happened.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
}

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
