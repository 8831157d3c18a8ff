package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/ringfence/ringfence/internal/store"
)

// tx is the Conn of one transaction. Like PostgreSQL's it ends with the first failed statement, although SQLite would go on.
type tx struct {
	db     *DB
	tx     *sql.Tx
	ctx    context.Context //nolint:containedctx // the transaction's own, to report why it ended
	broken error
}

func (t *tx) Query(ctx context.Context, text string, args ...any) (store.Rows, error) {
	args, err := t.check(args)
	if err != nil {
		return nil, err
	}
	found, err := t.tx.QueryContext(ctx, text, args...)
	return wrap(found, err, t.fail, nil)
}

func (t *tx) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	args, err := t.check(args)
	if err != nil && text != store.UndoAttempt {
		return 0, err
	}
	n, err := t.db.touched(ctx, t.tx, text, args)
	if err == nil && text == store.UndoAttempt {
		t.broken = nil
	}
	return n, t.fail(err)
}

func (t *tx) check(args []any) ([]any, error) {
	if t.broken != nil {
		return nil, fmt.Errorf("the transaction ended with a failed statement: %w", t.broken)
	}
	args, err := convert(args)
	return args, t.fail(err)
}

func (t *tx) fail(err error) error {
	err = t.db.addColumns(t.ctx, t.tx, err)
	if t.broken == nil {
		t.broken = err
	}
	return err
}

// session is one connection, inside or outside of a transaction.
type session interface {
	ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

func (db *DB) touched(ctx context.Context, on session, text string, args []any) (int64, error) {
	result, err := on.ExecContext(ctx, text, args...)
	if err != nil {
		return 0, db.addColumns(ctx, on, err)
	}
	return result.RowsAffected()
}

// convert makes arguments the same as the other engine's: text that it would store, times in UTC with microseconds.
func convert(args []any) ([]any, error) {
	if err := store.CheckText(args); err != nil {
		return nil, err
	}
	out := make([]any, len(args))
	for i, arg := range args {
		switch a := arg.(type) {
		case time.Time:
			out[i] = utc(a)
		case *time.Time:
			if a != nil {
				out[i] = utc(*a)
			}
		default:
			out[i] = arg
		}
	}
	return out, nil
}
