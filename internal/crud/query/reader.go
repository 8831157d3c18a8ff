package query

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/store"
)

// Reader reads the objects of a resource.
type Reader[T declaration.Pointer] struct {
	*declaration.Model[T]
	visible Visibility
	// shows are the fields that links fill in, in objects of the resource and in the structs that show a part of one.
	shows map[reflect.Type][]Loader
	// beside are the fields that the resource's Beside fill in.
	beside []Loader
	// lists are the lists of an object that are no columns.
	lists []list
	// queries are the statements that find one object.
	queries func() *queries
}

// list is a field that is a list, and an empty list of its type.
type list struct {
	index []int
	empty reflect.Value
}

// Visibility returns SQL that reads nothing which the caller of ctx may not know of. It adds the values that this needs.
type Visibility func(ctx context.Context, sql declaration.SQL, add func(value any) (placeholder string)) string

// NewReader returns the reader of a resource.
func NewReader[T declaration.Pointer](m *declaration.Model[T], v Visibility) *Reader[T] {
	k := &Reader[T]{Model: m, visible: v}
	for _, b := range m.Beside {
		k.beside = append(k.beside, Loader{
			from: b.From, by: b.By,
			load: func(ctx context.Context, c store.Conn, _ string, objects any) error {
				return b.Load(ctx, c, objects.([]T))
			},
			blank: func(objects any) {
				for _, o := range objects.([]T) {
					b.Blank(o)
				}
			},
		})
	}
	for _, f := range reflect.VisibleFields(m.Of) {
		if f.Type.Kind() == reflect.Slice && f.Tag.Get("db") == "" && f.IsExported() {
			k.lists = append(k.lists, list{f.Index, reflect.MakeSlice(f.Type, 0, 0)})
		}
	}
	k.queries = sync.OnceValue(k.makeQueries)
	return k
}

// Show adds a loader for the objects, or the parts of objects, of a type.
func (k *Reader[T]) Show(of reflect.Type, l Loader) {
	if k.shows == nil {
		k.shows = map[reflect.Type][]Loader{}
	}
	k.shows[of] = append(k.shows[of], l)
}

// visibleSQL returns SQL as it is for the caller of ctx: see [Visibility].
func (k *Reader[T]) visibleSQL(ctx context.Context, sql declaration.SQL, add func(value any) (placeholder string)) string {
	return k.visible(ctx, sql, add)
}

// loaders returns the loaders for objects of a type.
func (k *Reader[T]) loaders(of reflect.Type) []Loader { return k.shows[of] }

// columnsAs lists the columns of a type that shows a part of an object, as [declaration.SQL], for a SELECT of this table joined with others:
// "confd_line.id AS \"item.id\"". Columns that the collection does not have are the joining table's.
func (k *Reader[T]) columnsAs(item []declaration.Column, joining string) string {
	var out strings.Builder
	for _, c := range item {
		read := joining + "." + c.Name
		if own := k.Column(c.Name); own.Virtual && !c.Joining {
			read = own.Reads.Declared
		} else if k.Has(c.Name) && !c.Joining {
			read = k.Alias() + "." + c.Name
		}
		out.WriteString(", " + read + ` AS "item.` + c.Scan + `"`)
	}
	return out.String()
}

// visibleColumn returns a column as the caller of ctx may compare it.
func (k *Reader[T]) visibleColumn(ctx context.Context, col declaration.Column, add func(value any) (placeholder string)) declaration.Column {
	if col.Virtual {
		col.Name = k.visible(ctx, col.Reads, add)
	}
	return col
}

// Placeholders returns "$from, $from+1, ..." for n arguments, or NULL for none, which IN never matches.
func Placeholders(from, n int) string {
	if n == 0 {
		return "NULL"
	}
	parts := make([]string, n)
	for i := range parts {
		parts[i] = "$" + strconv.Itoa(from+i)
	}
	return strings.Join(parts, ", ")
}

// Arguments collects a statement's values.
type Arguments struct{ Values []any }

// Add appends a value and returns its placeholder.
func (a *Arguments) Add(v any) string {
	a.Values = append(a.Values, v)
	return fmt.Sprintf("$%d", len(a.Values))
}

// addAll appends texts and returns their placeholders: "$1, $2".
func (a *Arguments) addAll(texts []string) string {
	from := len(a.Values) + 1
	for _, text := range texts {
		a.Add(text)
	}
	return Placeholders(from, len(texts))
}
