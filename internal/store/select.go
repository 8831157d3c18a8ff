package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/georgysavva/scany/v2/dbscan"
)

// scanner maps columns to fields by the `db` tag, or by the name in snake case,
// and refuses a column that no field takes: a typo is an error, not a zero value.
var scanner = func() *dbscan.API {
	api, err := dbscan.NewAPI(dbscan.WithScannableTypes((*Scanner)(nil), (*clock)(nil)))
	if err != nil {
		panic(err) // a constant option is wrong: a programming error that every test sees
	}
	return api
}()

// Scanner is sql.Scanner, named here so that callers need not import database/sql.
type Scanner interface{ Scan(src any) error }

// clock matches time.Time, which is one value, not a struct of columns.
type clock interface{ UTC() time.Time }

// Select returns every row as a T: a struct with `db` tags, or a single scannable value. The list of no rows is empty and not nil, which JSON
// would show as null.
func Select[T any](ctx context.Context, c Conn, sql string, args ...any) ([]T, error) {
	rows, err := c.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	out := []T{}
	if err := scanner.ScanAll(&out, rows); err != nil { // closes rows
		if failed := rows.Err(); failed != nil {
			return nil, failed // the statement's own error
		}
		return nil, fmt.Errorf("scanning rows: %w", err)
	}
	return out, nil
}

// Each calls fn after it has read each row of a query into the destinations, one for each column: a table of any size needs the memory
// of a row.
func Each(ctx context.Context, c Conn, into []any, fn func() error, sql string, args ...any) (err error) {
	rows, err := c.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := fn(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Get returns the one row of a query, or ErrNotFound. Several rows are an error.
func Get[T any](ctx context.Context, c Conn, sql string, args ...any) (T, error) {
	var zero T
	all, err := Select[T](ctx, c, sql, args...)
	switch {
	case err != nil:
		return zero, err
	case len(all) == 0:
		return zero, ErrNotFound
	case len(all) > 1:
		return zero, fmt.Errorf("query answered %d rows where one was expected", len(all))
	}
	return all[0], nil
}
