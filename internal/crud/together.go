package crud

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/ringfence/ringfence/internal/store"
)

// maxTogether is how many requests share a transaction at most. A longer one is undone more often because of what others write meanwhile.
const maxTogether = 8

// queue lets one transaction at a time through, and lets the requests that wait for it share the next one. Transactions that write
// neighbouring rows of many tables at once make each other run again, as far as the database can tell; one after the other they are many
// times faster. What shares a transaction also shares its commit, and its statement for the audit.
type queue struct {
	once sync.Once
	turn chan struct{}

	mu      sync.Mutex
	waiting []*share
}

// share is what one request does in the transaction.
type share struct {
	ctx context.Context //nolint:containedctx // the request's own: what it does runs with it
	do  func(ctx context.Context, c store.Conn) error

	// done is closed when the fields below are set: the result, and whether it has to be tried in a transaction of its own.
	done  chan struct{}
	err   error
	alone bool
}

// errApart ends a shared transaction, whose shares are then done one by one.
var errApart = errors.New("each is done by itself")

// inTurn is InTx for a transaction that writes rows of many tables. Several that wait for their turn share one: it is committed with all that
// they do, or undone, and then each runs by itself, so that no request fails because of another. If nobody knows whether it was
// committed, all of them get that error. do sees what those before it in the transaction have written, as if they had been committed, which
// they are, if it is.
func (e *Engine) inTurn(ctx context.Context, do func(ctx context.Context, c store.Conn) error) error {
	if transactionOf(ctx) != nil { // who has a transaction must not wait for those who wait for one
		return e.InTx(ctx, do)
	}
	s := &share{ctx: ctx, do: do, done: make(chan struct{})}
	q := &e.nesting
	if err := q.enter(ctx, s); err != nil {
		return err
	}
	if !s.isDone() {
		e.doAll(q, q.take(s))
	}
	if !s.alone {
		return s.err
	}
	if err := q.enter(ctx, nil); err != nil {
		return err
	}
	defer q.leave()
	return e.InTx(ctx, do)
}

// isDone reports whether the share was done in somebody else's turn.
func (s *share) isDone() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// enter waits for a turn, which then has to be left, or until the share is done in somebody else's turn.
func (q *queue) enter(ctx context.Context, s *share) error {
	q.once.Do(func() { q.turn = make(chan struct{}, 1) })
	var done chan struct{}
	if s != nil {
		done = s.done
		q.mu.Lock()
		q.waiting = append(q.waiting, s)
		q.mu.Unlock()
	}
	select {
	case q.turn <- struct{}{}:
		if s != nil && s.isDone() {
			q.leave()
		}
		return nil
	case <-done:
		return nil
	case <-ctx.Done():
		if s != nil && !q.withdraw(s) {
			<-done // it is being done: nobody leaves while somebody works for them
			return nil
		}
		return ctx.Err()
	}
}

// withdraw takes back a share that waits, and reports whether it did.
func (q *queue) withdraw(s *share) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, s)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

// leave ends the turn.
func (q *queue) leave() { <-q.turn }

// take returns the share whose turn it is, with others that wait. Nobody else does them.
func (q *queue) take(s *share) []*share {
	q.withdraw(s)
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), maxTogether-1)
	taken := append([]*share{s}, q.waiting[:n]...)
	q.waiting = slices.Delete(q.waiting, 0, n)
	return taken
}

// doAll does the shares in one transaction, tells each its result, and leaves the turn. A request that ends meanwhile undoes nothing.
func (e *Engine) doAll(q *queue, shares []*share) {
	err, alone := error(nil), true // as long as nothing is committed
	defer func() {
		_ = recover() // the share that panicked will do so again, by itself
		for _, s := range shares {
			s.err, s.alone = err, alone
			close(s.done)
		}
		q.leave()
	}()
	if len(shares) == 1 {
		return
	}
	again := false
	err = e.InTx(context.WithoutCancel(shares[0].ctx), func(ctx context.Context, c store.Conn) error {
		if again {
			return errApart // what others write undid it: shorter transactions get through sooner
		}
		again = true
		tx := transactionOf(ctx)
		for _, s := range shares {
			if err := s.do(tx.audit.In(context.WithValue(context.WithoutCancel(s.ctx), transactionKey{}, tx)), c); err != nil {
				return err
			}
		}
		return nil
	})
	alone = err != nil && !errors.Is(err, store.ErrUnavailable)
}
