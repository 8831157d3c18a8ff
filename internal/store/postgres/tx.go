package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ringfence/ringfence/internal/store"
)

// tx is the Conn of one transaction. The server refuses everything after a failed statement; tx remembers that statement's
// error.
type tx struct {
	tx     pgx.Tx
	failed func(error) error
	broken error
}

func (t *tx) Query(ctx context.Context, sql string, args ...any) (store.Rows, error) {
	if err := t.check(args); err != nil {
		return nil, err
	}
	found, err := t.tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, t.fail(err)
	}
	return &rows{Rows: found, failed: t.fail, release: func() {}}, nil
}

func (t *tx) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	if err := t.check(args); err != nil && sql != store.UndoAttempt {
		return 0, err
	}
	tag, err := t.tx.Exec(ctx, sql, args...)
	if err == nil && sql == store.UndoAttempt {
		t.broken = nil
	}
	return tag.RowsAffected(), t.fail(err)
}

func (t *tx) check(args []any) error {
	if t.broken != nil {
		return fmt.Errorf("the transaction ended with a failed statement: %w", t.broken)
	}
	return t.fail(store.CheckText(args))
}

func (t *tx) fail(err error) error {
	err = t.failed(err)
	if t.broken == nil {
		t.broken = err
	}
	return err
}

// rows makes pgx's rows the store's: pgx reports the constraint that a statement broke here, not in Query.
type rows struct {
	pgx.Rows
	failed  func(error) error
	release func()
	closed  bool
}

func (r *rows) Columns() ([]string, error) {
	fields := r.FieldDescriptions()
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names, nil
}

func (r *rows) Scan(dest ...any) error {
	if err := r.Rows.Scan(dest...); err != nil {
		return r.failed(err)
	}
	return nil
}

func (r *rows) Err() error { return r.failed(r.Rows.Err()) }

// Close reads the remaining rows, so it returns the statement's final error.
func (r *rows) Close() error {
	r.Rows.Close()
	if r.closed {
		return nil
	}
	r.closed = true
	err := r.Err()
	r.release()
	return err
}

func (r *rows) NextResultSet() bool { return false }
