package transaction

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/store"
)

// maxBatch is how many requests share a transaction at most. A longer one is undone more often because of what others write meanwhile.
const maxBatch = 8

// turnFor is how long a turn lasts at most. A database that is silent would otherwise hold up all who wait.
const turnFor = 30 * time.Second

// queue lets one transaction at a time through, and lets the requests that wait for it share the next one. Transactions that write
// neighbouring rows of many tables at once make each other run again, as far as the database can tell; one after the other they are many
// times faster. What shares a transaction also shares its commit, and its statement for the audit.
type queue struct {
	once sync.Once
	// turn has room for the one whose turn it is. waiting has no room: who waits offers their share there, and it is taken by whoever gets the turn.
	turn    chan struct{}
	waiting chan *share
}

// share is what one request does in the transaction.
type share struct {
	ctx context.Context //nolint:containedctx // the request's own: what it does runs with it
	do  func(ctx context.Context, c store.Conn) error
	// after is what the request reads when all is committed, or nil.
	after Reading

	// done is closed when the fields below are set: the result, and whether it has to be tried in a transaction of its own.
	done  chan struct{}
	err   error
	alone bool
}

// errApart ends a shared transaction, whose shares are then done one by one.
var errApart = errors.New("each is done by itself")

// InBatch is InTx for a transaction that writes rows of many tables. Several that wait for their turn share one: it is committed with all that
// they do, or undone, and then each runs by itself, so that no request fails because of another. If nobody knows whether it was
// committed, all of them get that error. do sees what those before it in the transaction have written, as if they had been committed, which
// they are, if it is. What the requests read after the commit is then read for all at once, where that succeeds; after tells whether it
// did.
func (e *Runner) InBatch(ctx context.Context, do func(ctx context.Context, c store.Conn) error, after Reading) error {
	if transactionOf(ctx) != nil { // who has a transaction must not wait for those who wait for one
		return e.InTx(ctx, do)
	}
	q, s := &e.queue, &share{ctx: ctx, do: do, after: after, done: make(chan struct{})}
	q.once.Do(func() { q.turn, q.waiting = make(chan struct{}, 1), make(chan *share) })
	select {
	case q.waiting <- s: // nobody leaves while somebody works for them
		<-s.done
	case q.turn <- struct{}{}:
		shares := q.take(s)
		if len(shares) == 1 {
			return e.inTurn(ctx, do)
		}
		e.doAll(shares)
	case <-ctx.Done():
		return ctx.Err()
	}
	if !s.alone {
		return s.err
	}
	select {
	case q.turn <- struct{}{}:
		return e.inTurn(ctx, do)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take returns the share whose turn it is, with others that wait. Nobody else does them.
func (q *queue) take(s *share) []*share {
	shares := []*share{s}
	for len(shares) < maxBatch {
		select {
		case other := <-q.waiting:
			shares = append(shares, other)
		default:
			return shares
		}
	}
	return shares
}

// leave ends the turn.
func (q *queue) leave() { <-q.turn }

// inTurn does what one request does in a transaction of its own, and leaves the turn.
func (e *Runner) inTurn(ctx context.Context, do func(ctx context.Context, c store.Conn) error) error {
	defer e.queue.leave()
	ctx, cancel := context.WithTimeout(ctx, turnFor)
	defer cancel()
	return e.InTx(ctx, do)
}

// doAll does the shares in one transaction, leaves the turn, and tells each its result. A request that ends meanwhile undoes nothing. Each
// is done alone after whatever certainly undid the transaction. Once all have run, a panic or store.ErrUnavailable leaves open whether
// it was committed, and nothing is done twice.
func (e *Runner) doAll(shares []*share) {
	err, ran := errApart, false
	defer func() {
		if p := recover(); p != nil { // a share that panics will do so again, alone; the panic's text may be the request's
			slog.Error("panic in a transaction of several requests", "type", fmt.Sprintf("%T", p), "perhaps_committed", ran, "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: panic, perhaps after the commit", store.ErrUnavailable)
		}
		alone := err != nil && (!ran || !errors.Is(err, store.ErrUnavailable))
		e.queue.leave()
		if err == nil {
			e.readAll(shares)
		}
		for _, s := range shares {
			s.err, s.alone = err, alone
			close(s.done)
		}
	}()
	shared, cancel := context.WithTimeout(context.WithoutCancel(shares[0].ctx), turnFor)
	defer cancel()
	again := false
	err = e.InTx(shared, func(ctx context.Context, c store.Conn) error {
		ran = false
		if again {
			return errApart // what others write undid it: shorter transactions get through sooner
		}
		again = true
		tx := transactionOf(ctx)
		for _, s := range shares {
			if len(tx.memory.made) > maxMade {
				return errApart // it has taken as long as others may wait
			}
			if err := s.inside(ctx, tx, c); err != nil {
				return err
			}
		}
		ran = true
		return nil
	})
}

// inside does the share in a transaction, which the end of its request does not undo, and the deadline of ctx does.
func (s *share) inside(ctx context.Context, tx *transaction, c store.Conn) error {
	own := context.WithValue(context.WithoutCancel(s.ctx), transactionKey{}, tx)
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		own, cancel = context.WithDeadline(own, deadline)
		defer cancel()
	}
	return s.do(tx.audit.In(own), c)
}

// Reading is what a request reads of what it has made, after the commit.
type Reading interface {
	// ReadAll reads it for this request and for those of the others that are of its kind, in one transaction. If that fails, each
	// request has to read by itself.
	ReadAll(ctx context.Context, others []Reading) error
	// WasRead reports whether it was read.
	WasRead() bool
}

// readAll reads what the requests of a committed transaction read after it. It fails nobody: who was not served reads by itself, and a
// panic here will be a panic there.
func (e *Runner) readAll(shares []*share) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("panic while the replies of several requests were read", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
		}
	}()
	// The first request's caller may be denied something. Those who read here are denied nothing.
	ctx, cancel := context.WithTimeout(principal.NewContext(context.WithoutCancel(shares[0].ctx), nil), turnFor)
	defer cancel()
	var after []Reading
	for _, s := range shares {
		if s.after != nil {
			after = append(after, s.after)
		}
	}
	for i, a := range after {
		if a.WasRead() {
			continue
		}
		if err := a.ReadAll(ctx, after[i:]); err != nil {
			slog.Debug("replies are read one by one", "error", err)
			return
		}
	}
}
