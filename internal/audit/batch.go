package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ringfence/ringfence/internal/store"
)

// full is how many rows one statement writes at most. Most transactions have fewer; a large one writes them in parts, so that it
// need not hold them all in memory.
const full = 100

// Batch collects the rows that a transaction writes to the audit, which then go to the database together. It belongs to one
// transaction: what it holds is lost with it.
type Batch struct {
	rows [][]any
	// attempts is how many parts of the transaction, which may yet be undone by themselves, are running.
	attempts int
}

type batchKey struct{}

// Collecting returns a context in which [Write] adds rows to the batch. The transaction must end with Flush.
func Collecting(ctx context.Context) (context.Context, *Batch) {
	b := &Batch{}
	return b.In(ctx), b
}

// In returns a context, of another request in the same transaction, in which [Write] adds rows to the batch.
func (b *Batch) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, batchKey{}, b)
}

// Flush writes the rows, in their order.
func (b *Batch) Flush(ctx context.Context, tx store.Conn) error {
	rows := b.rows
	b.rows = nil
	for some := range slices.Chunk(rows, full) {
		if err := insert(ctx, tx, some); err != nil {
			return err
		}
	}
	return nil
}

// Attempt runs fn, a part of the transaction. If fn fails, the rows that it added are dropped.
func (b *Batch) Attempt(fn func() error) error {
	before := len(b.rows)
	b.attempts++
	err := fn()
	b.attempts--
	if err != nil {
		b.rows = b.rows[:before]
	}
	return err
}

// add keeps a row. What was added before a part began must not be written within it.
func (b *Batch) add(ctx context.Context, tx store.Conn, row []any) error {
	if len(b.rows) >= full && b.attempts == 0 {
		if err := b.Flush(ctx, tx); err != nil {
			return err
		}
	}
	b.rows = append(b.rows, row)
	return nil
}

// insertRows has one argument, however many rows there are, so its text is always the same, and short: SQLite took a hundred times as long to
// read one with an argument for each value as to write the rows.
const insertRows = `INSERT INTO audit (at, tenant_uuid, actor_uuid, session_uuid, request_id, service, action, resource, object, names, before, after,
		said, about)
	SELECT now_utc(), as_uuid(e.value ->> 0), as_uuid(e.value ->> 1), as_uuid(e.value ->> 2), e.value ->> 3, e.value ->> 4, e.value ->> 5, e.value ->> 6,
		e.value ->> 7, e.value ->> 8, e.value ->> 9, e.value ->> 10, e.value ->> 11, e.value ->> 12 FROM json_each(CAST($1 AS text)) AS e`

func insert(ctx context.Context, tx store.Conn, rows [][]any) error {
	list, err := json.Marshal(rows)
	if err == nil {
		_, err = tx.Exec(ctx, insertRows, string(list))
	}
	if err != nil {
		return fmt.Errorf("writing the audit: %w", err)
	}
	return nil
}
