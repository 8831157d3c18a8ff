package gate

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/tokens"
)

const (
	// recheckEvery is how often what outlives its request's first answer is checked: a WebSocket, a stream. It ends within twice that.
	recheckEvery = time.Second
	// maxUnchecked is how long it goes on while nobody can say whether the token is good: as long as what is known of a
	// token is used.
	maxUnchecked = tokens.MaxStaleness
)

// watch ends what a token has begun, once the token may no longer begin it: it was revoked, it has expired, its user is gone or
// disabled or in another tenant, or no longer holds the access. It asks the cache of tokens, which forgets what other nodes
// revoke, so that a check is a look into memory as long as nothing has changed.
type watch struct {
	gate   *Gate
	token  string
	access string
	tenant string // what Wazo-Tenant says, if it was sent
	end    func()
	ended  atomic.Bool

	mu    sync.Mutex
	over  bool
	timer *time.Timer

	// Of the check that is running, or of the last one.
	who     *principal.Principal
	checked time.Time
}

func (w *watch) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checked = time.Now()
	w.timer = time.AfterFunc(recheckEvery, w.check)
}

// stop returns when nothing will be ended any more, or has been.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
}

func (w *watch) check() {
	good := w.holds(context.Background()) // a look-up has a timeout of its own
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.over:
	case good:
		w.timer.Reset(recheckEvery)
	default:
		w.over = true
		w.ended.Store(true)
		w.end()
	}
}

// holds reports whether the token may still do what it has begun.
func (w *watch) holds(ctx context.Context) bool {
	who, err := w.gate.tokens.Principal(ctx, w.token)
	switch {
	case errors.Is(err, tokens.ErrUnknown):
		return false
	case err != nil || who == nil:
		return time.Since(w.checked) < maxUnchecked
	case who != w.who: // a principal is immutable: the same one still holds what it held
		if who.TenantUUID != w.who.TenantUUID || !holds(who, w.access) {
			return false
		}
		if denied := w.gate.mayActIn(ctx, who, w.tenant); denied != nil {
			return denied.Kind == apierr.Unavailable && time.Since(w.checked) < maxUnchecked
		}
	}
	w.who, w.checked = who, time.Now()
	return true
}
