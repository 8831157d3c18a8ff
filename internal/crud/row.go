package crud

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Row declares the columns of a joining table other than the two keys, such as a priority: attributes that a client sends. A nil
// Row has none.
type Row struct {
	schema  *rest.Schema
	columns []column
	zero    func() any
	get     func(ctx context.Context, c store.Conn, sql string, args ...any) (any, error)
}

// RowOf makes a Row from a struct with the same tags as a Resource's.
func RowOf[A any]() *Row {
	return &Row{
		schema: rest.SchemaOf[A](), columns: columnsOf(reflect.TypeFor[A]()), zero: func() any { return new(A) },
		get: func(ctx context.Context, c store.Conn, sql string, args ...any) (any, error) {
			return store.Get[*A](ctx, c, sql, args...)
		},
	}
}

// all returns the row's columns.
func (r *Row) all() []column {
	if r == nil {
		return nil
	}
	return r.columns
}

// load returns the row of a link, or nil if there is none.
func (r *Row) load(ctx context.Context, c store.Conn, from string, args ...any) (any, error) {
	if r == nil {
		n, err := store.Get[int](ctx, c, "SELECT count(*) FROM "+from, args...)
		if n == 0 {
			return nil, err
		}
		return struct{}{}, err
	}
	names := make([]string, len(r.columns))
	for i, c := range r.columns {
		names[i] = c.selected()
	}
	row, err := r.get(ctx, c, "SELECT "+strings.Join(names, ", ")+" FROM "+from, args...)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return row, err
}

// fresh returns a new row with its defaults.
func (r *Row) fresh() (any, error) {
	if r == nil {
		return nil, nil
	}
	row := r.zero()
	return row, r.schema.SetDefaults(row)
}

func (r *Row) value(row any, col column) any {
	return reflect.ValueOf(row).Elem().FieldByIndex(col.index).Interface()
}

// sets returns the assignments of an UPDATE.
func (r *Row) sets(row any, args *arguments) string {
	parts := make([]string, len(r.columns))
	for i, col := range r.columns {
		parts[i] = col.name + " = " + args.add(r.value(row, col))
	}
	return strings.Join(parts, ", ")
}

// from returns the row that an item of a list describes: its values, and the defaults of the others.
func (r *Row) from(item any) (any, error) {
	row, err := r.fresh()
	if err != nil {
		return nil, err
	}
	sent, _ := item.(map[string]any)
	return row, r.schema.Object(sent).Into(row)
}

// sends reports whether an item of a list has a value for a column.
func (r *Row) sends(item any, col column) bool {
	sent, _ := item.(map[string]any)
	for i := range r.schema.Properties {
		if p := &r.schema.Properties[i]; slices.Equal(p.Index(), col.index) {
			_, ok := sent[p.Name]
			return ok
		}
	}
	return false
}
