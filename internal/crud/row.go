package crud

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Row declares the columns of a joining table other than the two keys, such as a priority: attributes that a client sends.
type Row struct {
	schema  *rest.Schema
	columns []column
	zero    func() any
	stored  func(ctx context.Context, c store.Conn, sql string, args ...any) ([]stored, error)
}

// noRow is the row of a joining table without other columns.
var noRow = RowOf[struct{}]()

// RowOf makes a Row from a struct with the same tags as a Resource's.
func RowOf[A any]() *Row {
	return &Row{
		schema: rest.SchemaOf[A](), columns: columnsOf(reflect.TypeFor[A]()), zero: func() any { return new(A) },
		stored: func(ctx context.Context, c store.Conn, sql string, args ...any) ([]stored, error) {
			type row struct {
				Key   string `db:"key"`
				Place int64  `db:"place"`
				Row   A      `db:"row"`
			}
			rows, err := store.Select[*row](ctx, c, sql, args...)
			out := make([]stored, len(rows))
			for i, r := range rows {
				out[i] = stored{r.Key, r.Place, &r.Row}
			}
			return out, err
		},
	}
}

// selected lists the columns for a SELECT after others.
func (r *Row) selected() string {
	var out strings.Builder
	for _, col := range r.columns {
		out.WriteString(", " + col.name + ` AS "row.` + col.scan + `"`)
	}
	return out.String()
}

// fresh returns a new row with its defaults.
func (r *Row) fresh() (any, error) {
	row := r.zero()
	return row, r.schema.SetDefaults(row)
}

func (r *Row) value(row any, col column) any {
	return reflect.ValueOf(row).Elem().FieldByIndex(col.index).Interface()
}

// texts returns links as the audit shows them: "17", or "17 (priority 2)".
func (r *Row) texts(links []stored) []string {
	out := make([]string, len(links))
	for i, l := range links {
		parts := make([]string, len(r.columns))
		for n, col := range r.columns {
			parts[n] = col.name + " null"
			if value := reflect.Indirect(reflect.ValueOf(r.value(l.Row, col))); value.IsValid() {
				parts[n] = fmt.Sprint(col.name, " ", value.Interface())
			}
		}
		if out[i] = l.Key; len(parts) > 0 {
			out[i] += " (" + strings.Join(parts, ", ") + ")"
		}
	}
	return out
}

// from returns the row that an item of a list describes: its values, and the defaults of the others.
func (r *Row) from(item map[string]any) (any, error) {
	row, err := r.fresh()
	if err != nil {
		return nil, err
	}
	return row, r.schema.Object(item).Into(row)
}

// place is the field of a column that is a number.
func (r *Row) place(row any, col column) reflect.Value {
	return reflect.ValueOf(row).Elem().FieldByIndex(col.index)
}

// sends reports whether a client sent a value for a column. has says which attributes were sent.
func (r *Row) sends(has func(name string) bool, col column) bool {
	for i := range r.schema.Properties {
		if p := &r.schema.Properties[i]; slices.Equal(p.Index(), col.index) {
			return has(p.Name)
		}
	}
	return false
}
