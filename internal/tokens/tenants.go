package tokens

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/ringfence/ringfence/internal/store"
)

// tenantSlots is how many answers about tenants are kept at most: 0.5 MB.
const tenantSlots = 1 << 12

// rememberedYes is how long a yes keeps its place after it cannot be used any more: who asks again is not rationed.
const rememberedYes = int64(10 * time.Minute)

// seenTenant is an answer of a [Tenanted] source: whether a tenant is a token's own or below it.
type seenTenant struct {
	pair   Digest // of the token and the tenant
	within bool
	until  int64 // on the cache's clock
	number uint64
}

// seenTenants is a table of answers, in which a newer one replaces an older one, but a no does not replace the yes of another pair: a
// flood of refused tenants would make known ones unknown.
type seenTenants [tenantSlots]atomic.Pointer[seenTenant]

func (s *seenTenants) slot(pair *Digest) *atomic.Pointer[seenTenant] {
	return &s[binary.LittleEndian.Uint32(pair[:])%tenantSlots]
}

// add keeps an answer. Of two at one time, any may stay.
func (s *seenTenants) add(t *seenTenant, now int64) {
	slot := s.slot(&t.pair)
	if old := slot.Load(); old != nil && old.within && !t.within && old.pair != t.pair && now < old.until+rememberedYes {
		return
	}
	slot.Store(t)
}

func (s *seenTenants) find(pair *Digest) *seenTenant {
	if t := s.slot(pair).Load(); t != nil && t.pair == *pair {
		return t
	}
	return nil
}

// Within reports whether the tenant, a UUID in lower case, is the token's own or one below it, by the tree of the server that
// issued the token. A yes is used for as long as a principal, a no as long as an unknown token, so the answer follows a tenant that
// moves; calls at one time share a question. Errors are as of Principal: ErrUnknown says that the token has ended meanwhile, and it
// is forgotten. A flood of refused tenants is rationed like one of unknown tokens.
func (c *Cache) Within(ctx context.Context, token, tenant string) (bool, error) {
	source, ok := c.source.(Tenanted)
	if !ok {
		return false, errors.New("the source of tokens has no tenants of its own")
	}
	d := DigestOf(token)
	pair := DigestOf(string(d[:]) + tenant)
	usable := func(t *seenTenant, instant int64) bool {
		return t != nil && instant < t.until && !c.deaf.Load() && c.marks.holdsUnknown(t.number, &d)
	}
	now := c.options.Now()
	instant := c.instant(now)
	known := c.tenants.find(&pair)
	ask := func(rationed bool) <-chan singleflight.Result {
		return c.tenantFlights.DoChan(string(pair[:]), func() (any, error) {
			if t := c.tenants.find(&pair); t != known && usable(t, c.instant(c.options.Now())) { // kept since this call looked
				return t.within, nil
			}
			return c.askWithin(ctx, source, question{token, tenant, d, pair}, rationed)
		})
	}
	if usable(known, instant) {
		if known.within && known.until-instant <= c.staleness/3 {
			ask(false)
		}
		return known.within, nil
	}
	rationed := known == nil || !known.within
	if rationed && !c.ration.left(now, c.options.From(ctx), &pair) {
		return false, errThrottled()
	}
	select {
	case r := <-ask(rationed):
		within, _ := r.Val.(bool)
		return within, r.Err
	case <-ctx.Done():
		return false, fmt.Errorf("waiting for an answer about a tenant: %w: %w", store.ErrUnavailable, ctx.Err())
	}
}

// question is one to a Tenanted source.
type question struct {
	token, tenant string
	digest, pair  Digest
}

// askWithin asks the source and keeps the answer. Only its own timeout ends it: others than the request that caused it may wait.
func (c *Cache) askWithin(ctx context.Context, source Tenanted, q question, rationed bool) (within bool, err error) {
	defer panicked(&err)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.options.LoadTimeout)
	defer cancel()
	from := c.options.From(ctx)
	if rationed {
		giveBack, err := c.ration.take(ctx, from)
		if err != nil {
			return false, err
		}
		defer giveBack()
	}
	asked, n := c.options.Now(), c.marks.next()
	within, err = source.Within(ctx, q.token, q.tenant)
	switch {
	case errors.Is(err, ErrUnknown):
		c.ForgetToken(q.digest)
		return false, ErrUnknown
	case err != nil:
		if ctx.Err() != nil && !errors.Is(err, store.ErrUnavailable) {
			err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
		return false, fmt.Errorf("asking about a tenant: %w", err)
	}
	life := c.staleness
	if !within {
		life = min(life, int64(unknownLife))
		c.ration.spend(c.options.Now(), from)
	}
	began := c.instant(asked)
	c.tenants.add(&seenTenant{pair: q.pair, within: within, until: began + life, number: n}, began)
	return within, nil
}
