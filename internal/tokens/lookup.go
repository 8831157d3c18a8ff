package tokens

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/singleflight"

	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/store"
)

// maxAttempts is how many look-ups one request makes if something is forgotten during each.
const maxAttempts = 4

// outcome is the result of one look-up: an entry, or the reason why there is none.
type outcome struct {
	entry  *entry
	err    error
	number uint64 // of an ErrUnknown
}

// lookUp returns a token that is not cached, or not recent enough. Requests for one token share a look-up, which may have begun
// before them: its result is checked against the marks like every cached entry.
func (c *Cache) lookUp(ctx context.Context, token string, d Digest, seen bool) (*principal.Principal, error) {
	for attempt := range maxAttempts {
		if attempt > 0 {
			c.count.retries.Add(1)
		}
		now := c.options.Now()
		if r := c.unknowns.find(&d, c.instant(now)); r != nil && c.marks.holdsUnknown(r.number, &d) {
			c.count.negativeHits.Add(1)
			return nil, ErrUnknown
		}
		if !seen && !c.ration.left(now, c.options.From(ctx), &d) {
			c.count.throttled.Add(1)
			return nil, errThrottled()
		}
		var o outcome
		select {
		case result := <-c.ask(ctx, token, d, seen, c.source.Load):
			o = result.Val.(outcome)
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for a token's look-up: %w: %w", store.ErrUnavailable, ctx.Err())
		}
		switch {
		case o.err == nil && c.holds(o.entry, &d):
			if c.options.Now().UnixNano() >= int64(o.entry.principal.ExpiresAt) {
				return nil, ErrUnknown
			}
			return &o.entry.principal, nil
		case errors.Is(o.err, ErrUnknown) && c.marks.holdsUnknown(o.number, &d):
			return nil, ErrUnknown
		case o.err != nil && !errors.Is(o.err, ErrUnknown):
			return nil, o.err
		}
	}
	return nil, fmt.Errorf("looking up a token that changes all the time: %w", store.ErrUnavailable)
}

// loader is Source.Load, or Batched.LoadLater.
type loader func(ctx context.Context, token string, d Digest) (*principal.Principal, error)

// ask starts a look-up of the token, or joins a running one.
func (c *Cache) ask(ctx context.Context, token string, d Digest, seen bool, by loader) <-chan singleflight.Result {
	return c.flights.DoChan(string(d[:]), func() (any, error) {
		return c.load(ctx, token, d, seen, by), nil
	})
}

// refresh starts a look-up of a known token, for which nobody waits.
func (c *Cache) refresh(ctx context.Context, token string, d Digest) {
	c.count.refreshes.Add(1)
	by := loader(c.source.Load)
	if b, ok := c.source.(Batched); ok {
		by = b.LoadLater
	}
	c.ask(ctx, token, d, true, by)
}

// load asks the source and keeps the result. The request that caused it may end; others may be waiting, so only its own timeout
// ends it.
func (c *Cache) load(ctx context.Context, token string, d Digest, seen bool, by loader) outcome {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.options.LoadTimeout)
	defer cancel()
	var from From
	if !seen {
		from = c.options.From(ctx)
		giveBack, err := c.ration.take(ctx, from)
		if err != nil {
			return outcome{err: err}
		}
		defer giveBack()
	}
	c.count.loads.Add(1)
	asked := c.options.Now()
	n := c.marks.next()
	p, err := c.fetch(ctx, token, d, by)
	switch {
	case err == nil && c.options.Now().UnixNano() < int64(p.ExpiresAt):
		e := c.newEntry(p, &d, asked, n)
		c.keep(e, &d)
		return outcome{entry: e}
	case err == nil || errors.Is(err, ErrUnknown):
		c.count.unknown.Add(1)
		c.refuse(&refused{digest: d, until: c.instant(asked) + int64(unknownLife), number: n}, seen, from)
		return outcome{number: n, err: ErrUnknown}
	case ctx.Err() != nil && !errors.Is(err, store.ErrUnavailable):
		err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	c.count.loadErrors.Add(1)
	return outcome{err: fmt.Errorf("looking up a token: %w", err)}
}

func (c *Cache) fetch(ctx context.Context, token string, d Digest, by loader) (p *principal.Principal, err error) {
	defer panicked(&err)
	p, err = by(ctx, token, d)
	if p == nil && err == nil {
		return nil, errors.New("token source answered nothing")
	}
	if err == nil && c.options.Complete != nil && p.HasDenials() {
		return c.options.Complete(ctx, p)
	}
	return p, err
}

// panicked turns a panic of the source into an error. It would end the process, since no request's goroutine runs the source; so
// it fails the request, as it would in a handler.
func panicked(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("token source panicked: %v", r)
	}
}

// keep offers an entry to ristretto, which may drop it.
func (c *Cache) keep(e *entry, d *Digest) {
	c.seen.add(d)
	if k := c.known.Load(); k != nil {
		k.recent.add(d, e)
		k.entries.Set(key(d), e, 1)
	}
}

// refuse remembers that a token is unknown. If it was good before, its older entry no longer counts: the token may have ended
// without a message.
func (c *Cache) refuse(r *refused, seen bool, from From) {
	c.unknowns.add(r)
	if !seen {
		c.ration.spend(c.options.Now(), from)
		return
	}
	raise(c.marks.token(&r.digest), r.number)
	if k := c.known.Load(); k != nil && c.find(&r.digest) != nil {
		k.recent.drop(&r.digest)
		k.entries.Del(key(&r.digest))
	}
}
