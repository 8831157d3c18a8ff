package tokens

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringfence/ringfence/internal/store"
)

const (
	// MaxBatch is how many tokens a question is about at most.
	MaxBatch = 64
	// batchWait is how long a token waits for others at most.
	batchWait = 20 * time.Millisecond
)

// Batches lets look-ups of tokens share questions. A question begins after the calls of Get that it answers, so its answer is as of
// a moment after each call began.
//
// A look-up that is needed at once begins a question if none is running. While one runs, look-ups gather for the next. A look-up
// that may wait begins no question, and joins the next. A question also begins when MaxBatch tokens have gathered, and 20 ms after
// the first of them: so nobody waits behind a question that hangs.
//
// Batches is safe for concurrent use. Set Ask before.
type Batches[T any] struct {
	// Ask returns what is found of the tokens, at most MaxBatch different ones, as of a moment after the call began. It returns when
	// ctx ends.
	Ask func(ctx context.Context, some []Digest) (map[Digest]T, error)

	mu      sync.Mutex
	next    *batch[T] // gathers tokens; nil if nobody waits
	running int
}

// batch is one question. Its first fields belong to the lock of Batches.
type batch[T any] struct {
	tokens map[Digest]struct{}
	urgent bool
	timer  *time.Timer

	done  chan struct{} // closed when the fields below are set
	found map[Digest]T
	err   error
	wrong map[Digest]error // of tokens that were asked about alone
}

// Get returns what is found of the token, or ErrUnknown. urgent says that somebody waits for it. If ctx ends, so does this call,
// with store.ErrUnavailable, and no other.
//
// An error of Ask that wraps store.ErrUnavailable goes to all who wait for the question. After any other one, each of its tokens is
// asked about alone, since something may be wrong with only one of them.
func (b *Batches[T]) Get(ctx context.Context, d Digest, urgent bool) (T, error) {
	var none T
	q := b.join(d, urgent)
	select {
	case <-q.done:
	case <-ctx.Done():
		return none, fmt.Errorf("waiting for a token's look-up: %w: %w", store.ErrUnavailable, ctx.Err())
	}
	found, ok := q.found[d]
	switch {
	case q.err != nil:
		return none, q.err
	case q.wrong[d] != nil:
		return none, q.wrong[d]
	case !ok:
		return none, ErrUnknown
	}
	return found, nil
}

// join adds a token to the next question, and begins it if it need not wait any longer.
func (b *Batches[T]) join(d Digest, urgent bool) *batch[T] {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.next
	if q == nil {
		q = &batch[T]{tokens: make(map[Digest]struct{}), done: make(chan struct{})}
		b.next = q
	}
	q.tokens[d] = struct{}{}
	q.urgent = q.urgent || urgent
	switch {
	case len(q.tokens) >= MaxBatch, q.urgent && b.running == 0:
		b.begin()
	case q.timer == nil:
		q.timer = time.AfterFunc(batchWait, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.next == q {
				b.begin()
			}
		})
	}
	return q
}

// begin begins the next question. The lock is held.
func (b *Batches[T]) begin() {
	q := b.next
	b.next = nil
	if q.timer != nil {
		q.timer.Stop()
	}
	b.running++
	go func() {
		b.ask(q)
		close(q.done)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.running--
		if b.next != nil && b.next.urgent && b.running == 0 {
			b.begin()
		}
	}()
}

// ask asks the question. Only its own timeout ends it: some may still wait when others have left.
func (b *Batches[T]) ask(q *batch[T]) {
	ctx, cancel := context.WithTimeout(context.Background(), defaultLoadTimeout)
	defer cancel()
	some := slices.Collect(maps.Keys(q.tokens))
	q.found, q.err = b.asked(ctx, some)
	if q.err == nil || len(some) == 1 || errors.Is(q.err, store.ErrUnavailable) {
		return
	}
	q.found, q.err, q.wrong = make(map[Digest]T), nil, make(map[Digest]error)
	for _, d := range some {
		found, err := b.asked(ctx, []Digest{d})
		if err != nil {
			q.wrong[d] = err
		}
		maps.Copy(q.found, found)
	}
}

func (b *Batches[T]) asked(ctx context.Context, some []Digest) (found map[Digest]T, err error) {
	defer panicked(&err)
	found, err = b.Ask(ctx, some)
	if err != nil && ctx.Err() != nil && !errors.Is(err, store.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return found, err
}
