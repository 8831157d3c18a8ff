package tokens

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
)

const (
	unknownSlots = 1 << 12
	// unknownLife is how long "unknown" is remembered: a token that another node
	// issues is refused here no longer than this (THREATS 6.6).
	unknownLife = 2 * time.Second

	seenSlots = 1 << 15
	// unseenInFlight look-ups of tokens that this node never saw are made at once,
	// and unseenWaiting more may wait for their turn.
	unseenInFlight = 16
	unseenWaiting  = 1024
)

// refused is one token that the source did not know.
type refused struct {
	digest Digest
	until  int64 // on the cache's clock
	number uint64
}

// unknowns remembers tokens that the source did not know: a table in which a
// newer one takes the place of an older one. It holds 256 KB at most.
type unknowns [unknownSlots]atomic.Pointer[refused]

func (u *unknowns) slot(d *Digest) *atomic.Pointer[refused] {
	return &u[binary.LittleEndian.Uint32(d[12:])%unknownSlots]
}

func (u *unknowns) add(r *refused) { u.slot(&r.digest).Store(r) }

func (u *unknowns) find(d *Digest, now int64) *refused {
	r := u.slot(d).Load()
	if r == nil || r.digest != *d || now >= r.until {
		return nil
	}
	return r
}

// seen remembers, by 64 bits of their digest, tokens that were good here or were
// issued here. It forgets at will.
type seen [seenSlots]atomic.Uint64

func (s *seen) slot(d *Digest) (*atomic.Uint64, uint64) {
	return &s[binary.LittleEndian.Uint32(d[16:])%seenSlots], binary.LittleEndian.Uint64(d[24:])
}

func (s *seen) add(d *Digest) {
	if slot, mark := s.slot(d); slot.Load() != mark {
		slot.Store(mark)
	}
}

func (s *seen) has(d *Digest) bool {
	slot, mark := s.slot(d)
	return slot.Load() == mark
}

// ration keeps look-ups of tokens that were never seen from taking the source
// away from all others. Only those that turn out to be unknown use it up, so
// that a node that has just started and meets all its clients at once is not held back.
type ration struct {
	limiter *rate.Limiter
	turns   chan struct{}
	waiting atomic.Int64 // for a turn, or having one
}

func newRation(perSecond int) *ration {
	return &ration{
		limiter: rate.NewLimiter(rate.Limit(perSecond), perSecond),
		turns:   make(chan struct{}, unseenInFlight),
	}
}

// left reports whether another token that was never seen may be looked up.
func (r *ration) left(now time.Time) bool {
	return r.limiter.TokensAt(now) >= 1 && r.waiting.Load() < unseenWaiting+unseenInFlight
}

// spend counts a token that turned out to be unknown.
func (r *ration) spend(now time.Time) { r.limiter.AllowN(now, 1) }

// take waits for a turn until ctx ends; the caller gives it back.
func (r *ration) take(ctx context.Context) error {
	r.waiting.Add(1)
	select {
	case r.turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		r.waiting.Add(-1)
		return fmt.Errorf("waiting to look up a token: %w", store.ErrUnavailable)
	}
}

func (r *ration) giveBack() {
	<-r.turns
	r.waiting.Add(-1)
}

// errShed refuses a token that nobody here has seen while too many unknown ones are tried.
func errShed() error {
	return &apierr.Error{
		Kind:       apierr.TooMany,
		Message:    "Too many unknown tokens are being tried; try again in a moment",
		RetryAfter: time.Second,
	}
}
