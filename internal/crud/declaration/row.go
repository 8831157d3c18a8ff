package declaration

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Row declares the columns of a joining table other than the two keys, such as a priority: attributes that a client sends.
type Row struct {
	Schema  *rest.Schema
	Columns []Column
	zero    func() any
	// Stored returns the links that a statement selects.
	Stored func(ctx context.Context, c store.Conn, sql string, args ...any) ([]StoredLink, error)
}

// NoRow is the row of a joining table without other columns.
var NoRow = RowOf[struct{}]()

// RowOf makes a Row from a struct with the same tags as a Resource's.
func RowOf[A any]() *Row {
	return &Row{
		Schema: rest.SchemaOf[A](), Columns: ColumnsOf(reflect.TypeFor[A]()), zero: func() any { return new(A) },
		Stored: func(ctx context.Context, c store.Conn, sql string, args ...any) ([]StoredLink, error) {
			type row struct {
				Key   string `db:"key"`
				Place int64  `db:"place"`
				Row   A      `db:"row"`
			}
			rows, err := store.Select[*row](ctx, c, sql, args...)
			out := make([]StoredLink, len(rows))
			for i, r := range rows {
				out[i] = StoredLink{r.Key, r.Place, &r.Row}
			}
			return out, err
		},
	}
}

// Selected lists the columns for a SELECT after others.
func (r *Row) Selected() string {
	var out strings.Builder
	for _, col := range r.Columns {
		out.WriteString(", " + col.Name + ` AS "row.` + col.Scan + `"`)
	}
	return out.String()
}

// Fresh returns a new row with its defaults.
func (r *Row) Fresh() (any, error) {
	row := r.zero()
	return row, r.Schema.SetDefaults(row)
}

// Texts returns links as the audit shows them: "17", or "17 (priority 2)".
func (r *Row) Texts(links []StoredLink) []string {
	out := make([]string, len(links))
	for i, l := range links {
		parts := make([]string, len(r.Columns))
		for n, col := range r.Columns {
			parts[n] = col.Name + " null"
			if value := reflect.Indirect(r.Field(l.Row, col)); value.IsValid() {
				parts[n] = fmt.Sprint(col.Name, " ", value.Interface())
			}
		}
		if out[i] = l.Key; len(parts) > 0 {
			out[i] += " (" + strings.Join(parts, ", ") + ")"
		}
	}
	return out
}

// From returns the row that an item of a list describes: its values, and of the others those of kept or, if that is nil, the defaults.
func (r *Row) From(item map[string]any, kept any) (any, error) {
	row, err := r.Fresh()
	if err != nil {
		return nil, err
	}
	if kept != nil {
		reflect.ValueOf(row).Elem().Set(reflect.ValueOf(kept).Elem())
	}
	return row, r.Schema.Object(item).Into(row)
}

// Field is the field of a row that is stored in a column.
func (r *Row) Field(row any, col Column) reflect.Value {
	return reflect.ValueOf(row).Elem().FieldByIndex(col.Index)
}

// Sends reports whether a client sent a value for a column. has says which attributes were sent.
func (r *Row) Sends(has func(name string) bool, col Column) bool {
	p := r.Schema.At(col.Index)
	return p != nil && has(p.Name)
}

// StoredLink is a link as it is stored: the far object's key, its place, and the other columns of the joining table.
type StoredLink struct {
	Key   string
	Place int64
	Row   any
}
