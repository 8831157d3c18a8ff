package changes

import (
	"context"

	"github.com/ringfence/ringfence/internal/store"
)

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
func (e *Transactions) addUp(ctx context.Context, changes int) {
	if changes <= 0 || e.uncounted.Add(int64(changes)) < addUpAfter {
		return
	}
	taken := e.uncounted.Swap(0) // others do not add up meanwhile
	if AddUp(ctx, e.DB) != nil {
		e.uncounted.Add(taken)
	}
}
