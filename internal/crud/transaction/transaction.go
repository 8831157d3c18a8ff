// Package transaction is what the changes of one transaction have in common, whichever objects they are of: what is done after the commit, the
// events, the audit, what the transaction knows without asking the database, requests that share one, and replies that are kept.
package transaction

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Runner runs the transactions of a service's collections.
type Runner struct {
	declaration.Base
	// Enter, if set, runs before anything else that a request does in its tenant.
	Enter func(ctx context.Context, r *rest.Request, tenantUUID string) error
	// Notify receives the changes of each transaction after its commit, and before the client gets the reply. It must not block. A
	// process that dies between the two has notified nobody: anything derived from the data must be rebuilt at the start.
	Notify func(events []Event)
	// Idempotency, if set, lets POST operations be repeated.
	Idempotency *Idempotency

	queue queue
	// uncounted is how many changes of counted collections there were since the last AddUp.
	uncounted atomic.Int64
}

// Event is one committed change: an object, or its links, were created, changed or deleted.
type Event struct {
	// Resource is the path of the collection: "users"; Key is the object's first key; Tenant is the tenant that owns it.
	Resource, Key, Tenant string
}

// errUndo ends a transaction of which nothing is to be kept.
var errUndo = errors.New("nothing of it is kept")

// TenantOf returns the tenant in which a request acts, after Enter ran for it. It is called outside of a transaction, or in that of
// several operations, which act in one tenant.
func (e *Runner) TenantOf(ctx context.Context, r *rest.Request) (string, error) {
	if tx := transactionOf(ctx); tx != nil && tx.tenant != "" {
		return tx.tenant, nil
	}
	scope, err := tenant.Of(ctx, e.DB, r)
	if err != nil || e.Enter == nil {
		return scope, err
	}
	return scope, e.Enter(ctx, r, scope)
}

// Begin returns the tenant in which a request acts, and its body. A caller who may not act there is refused before the body is
// read.
func (e *Runner) Begin(ctx context.Context, r *rest.Request) (scope string, sent rest.Object, err error) {
	if scope, err = e.TenantOf(ctx, r); err != nil {
		return "", sent, err
	}
	sent, err = r.Object()
	return scope, sent, err
}

// transaction is a transaction of the engine, with the work to do after it has committed.
type transaction struct {
	conn store.Conn
	// tenant is the one that all requests in it act in, if they are several.
	tenant    string
	committed []func()
	events    []Event
	counted   int // how many changes of counted collections it makes
	audit     *audit.Batch
	// memory is what it need not ask the database.
	memory Memory
	// most is how many objects there may be in memory.made, or 0.
	most int
}

// maxMade is how many objects one request makes. All others wait for SQLite's only writer meanwhile, which must not take longer than they
// can wait. An import writes in pieces instead.
const maxMade = 100

// Bound keeps what follows in the transaction of ctx from making more than maxMade objects, until the returned function is called. In a
// request that is one of several, it bounds all of them.
func Bound(ctx context.Context) func() {
	tx := transactionOf(ctx)
	if tx.most > 0 {
		return func() {}
	}
	tx.most = len(tx.memory.made) + maxMade
	return func() { tx.most = 0 }
}

// MayMake refuses another object in the transaction of ctx.
func MayMake(ctx context.Context) error {
	if tx := transactionOf(ctx); tx.most > 0 && len(tx.memory.made) >= tx.most {
		return apierr.New(apierr.Invalid, "A request makes at most %d objects: send several", maxMade)
	}
	return nil
}

type transactionKey struct{}

// transactionOf returns the transaction of ctx, or nil.
func transactionOf(ctx context.Context) *transaction {
	tx, _ := ctx.Value(transactionKey{}).(*transaction)
	return tx
}

// InTx runs fn in one transaction, in which the collections' Insert, Update and Delete may be called any number of times. Their
// work for after the commit is done before InTx returns. fn may run again. If ctx is in such a transaction already, fn is a part
// of it: an error must end the whole, or be within [Attempt].
func (e *Runner) InTx(ctx context.Context, fn func(ctx context.Context, c store.Conn) error) error {
	return e.inTxOf(ctx, e.DB, "", fn)
}

// PieceTime is after how long a transaction begins nothing more that is one piece of a long work: nobody should wait longer than 200 ms for
// SQLite's only writer.
const PieceTime = 50 * time.Millisecond

// InPieces runs fn until it returns 0, several times in each of several transactions, between which others write. Each is committed: who
// undoes nothing may be interrupted between two.
func (e *Runner) InPieces(ctx context.Context, fn func(ctx context.Context, c store.Conn) (int, error)) error {
	for done := false; !done; {
		if err := e.InTx(ctx, func(ctx context.Context, c store.Conn) error {
			for began := time.Now(); ; {
				n, err := fn(ctx, c)
				if done = n == 0; err != nil || done || time.Since(began) > PieceTime {
					return err
				}
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// Try runs fn as InTx does, in a copy of the engine's database, and keeps nothing of it.
func (e *Runner) Try(ctx context.Context, scratch store.DB, fn func(ctx context.Context, c store.Conn) error) error {
	err := e.inTxOf(ctx, scratch, "", func(ctx context.Context, c store.Conn) error {
		if err := fn(ctx, c); err != nil {
			return err
		}
		return errUndo
	})
	if errors.Is(err, errUndo) {
		return nil
	}
	return err
}

// inTxOf is InTx on a database, for several requests that act in one tenant unless the tenant is "".
func (e *Runner) inTxOf(ctx context.Context, db store.DB, tenantUUID string, fn func(ctx context.Context, c store.Conn) error) error {
	if outer := transactionOf(ctx); outer != nil {
		return fn(ctx, outer.conn)
	}
	var tx *transaction
	err := db.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		tx = &transaction{conn: c, tenant: tenantUUID}
		ctx, tx.audit = audit.Collecting(context.WithValue(ctx, transactionKey{}, tx))
		if err := fn(ctx, c); err != nil {
			return err
		}
		return tx.audit.Flush(ctx, c)
	})
	if err != nil {
		return err
	}
	for _, committed := range tx.committed {
		committed()
	}
	if e.Notify != nil && len(tx.events) > 0 {
		e.Notify(tx.events)
	}
	e.addUp(ctx, tx.counted)
	return nil
}

// InReadTx runs fn in a transaction that reads, or in the one that ctx is in.
func (e *Runner) InReadTx(ctx context.Context, fn func(ctx context.Context, c store.Conn) error) error {
	if outer := transactionOf(ctx); outer != nil {
		return fn(ctx, outer.conn)
	}
	return e.DB.InReadTx(ctx, fn)
}

// Attempt runs fn as a part of the transaction of ctx. If fn fails, that part is undone, with its work for after the commit, and the
// caller decides whether to continue. It must not where fn's error is no refusal: see [store.Attempt].
func Attempt(ctx context.Context, c store.Conn, fn func() error) error {
	tx := transactionOf(ctx)
	committed, events := len(tx.committed), len(tx.events)
	err := tx.audit.Attempt(func() error { return store.Attempt(ctx, c, fn) })
	if err != nil {
		tx.committed, tx.events = tx.committed[:committed], tx.events[:events]
		tx.memory.found = nil
	}
	return err
}

// AfterCommit registers fn to run after the transaction of ctx, which is an engine's, has committed. It must not block.
func AfterCommit(ctx context.Context, fn func()) {
	tx := transactionOf(ctx) // writing without Runner.InTx is a mistake that every test sees
	tx.committed = append(tx.committed, fn)
}

// Emit registers the event for Notify, after the transaction of ctx has committed.
func Emit(ctx context.Context, event Event) {
	tx := transactionOf(ctx)
	tx.events = append(tx.events, event)
}

// Inside reports whether ctx is in a transaction.
func Inside(ctx context.Context) bool { return transactionOf(ctx) != nil }

// ConnOf returns the connection of the transaction of ctx, or that of the database.
func ConnOf(ctx context.Context, db store.DB) store.Conn {
	if tx := transactionOf(ctx); tx != nil {
		return tx.conn
	}
	return db
}

// addUpAfter is how many created and deleted objects of counted collections one process lets pass before it adds up row_count.
const addUpAfter = 512

// AddUp replaces the rows that triggers wrote to row_count by their sums. Lists are right without it, and slower. It sees one
// snapshot: what is written meanwhile stays as it is.
func AddUp(ctx context.Context, db store.DB) error {
	return db.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		last, err := store.Get[int64](ctx, c, "SELECT coalesce(max(id), 0) FROM row_count")
		if err != nil {
			return err
		}
		if _, err := c.Exec(ctx, `
			INSERT INTO row_count (table_name, tenant_uuid, n)
			SELECT table_name, tenant_uuid, sum(n) FROM row_count WHERE id <= $1 GROUP BY table_name, tenant_uuid HAVING sum(n) <> 0`, last); err != nil {
			return err
		}
		_, err = c.Exec(ctx, "DELETE FROM row_count WHERE id <= $1", last)
		return err
	})
}

// Count says that the transaction of ctx creates or deletes an object of a counted collection.
func Count(ctx context.Context) { transactionOf(ctx).counted++ }

// addUp adds row_count up if it is time, after a commit. A failure is not the caller's: the next one tries again.
func (e *Runner) addUp(ctx context.Context, changes int) {
	if changes <= 0 || e.uncounted.Add(int64(changes)) < addUpAfter {
		return
	}
	taken := e.uncounted.Swap(0) // others do not add up meanwhile
	if AddUp(ctx, e.DB) != nil {
		e.uncounted.Add(taken)
	}
}
