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
	// recheckEvery is how often a WebSocket or a stream is checked after its first response. It ends within twice that time.
	recheckEvery = time.Second
	// maxUnchecked is how long it continues while the token cannot be checked: as long as a cached token may be used.
	maxUnchecked = tokens.MaxStaleness
)

// watch ends a WebSocket or a stream once its token no longer allows it: the token was revoked or has expired, its user was
// deleted, disabled or moved to another tenant, or no longer holds the access. It asks the token cache, which forgets what other
// nodes revoke, so a check only reads memory as long as nothing has changed.
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

// stop returns when nothing more will be ended, or the end has happened.
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

// holds reports whether the token still allows what it has begun.
func (w *watch) holds(ctx context.Context) bool {
	who, err := w.gate.tokens.Principal(ctx, w.token)
	switch {
	case errors.Is(err, tokens.ErrUnknown):
		return false
	case err != nil || who == nil:
		return time.Since(w.checked) < maxUnchecked
	case who != w.who: // a principal is immutable: the same one still holds what it held
		if who.TenantUUID != w.who.TenantUUID || !who.Holds(w.access) {
			return false
		}
		if denied := w.gate.mayActIn(ctx, who, w.token, w.tenant); denied != nil {
			return denied.Kind == apierr.Unavailable && time.Since(w.checked) < maxUnchecked
		}
	}
	w.who, w.checked = who, time.Now()
	return true
}
