// Package query reads the objects of resources: the SQL of lists, pages, orders, filters and searches, of one object, and of the objects
// that others show.
package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
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
			blank: func(object any) { b.Blank(object.(T)) },
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

// visibleColumn returns a column as the caller of ctx may compare it: as they are shown it.
func (k *Reader[T]) visibleColumn(ctx context.Context, col declaration.Column, add func(value any) (placeholder string)) declaration.Column {
	switch ref := col.Refers(); {
	case col.Virtual:
		col.Name = k.visible(ctx, col.Reads, add)
	case col.Null && ref != "":
		col.Name = k.visible(ctx, declaration.SQL{Plain: col.Name, Pieces: []string{"", "=" + ref + " " + col.Name, ""}}, add)
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

// Select returns the objects whose rows match the condition, of any tenant, ordered by their key, with their own data and
// without what links show.
func (k *Reader[T]) Select(ctx context.Context, c store.Conn, condition string, args ...any) ([]T, error) {
	objects, err := k.Rows(ctx, c, condition, args...)
	if err != nil {
		return nil, err
	}
	return objects, k.LoadOwn(ctx, c, objects)
}

// Rows returns the objects as Select does, with what their rows have alone.
func (k *Reader[T]) Rows(ctx context.Context, c store.Conn, condition string, args ...any) ([]T, error) {
	return store.Select[T](ctx, c, "SELECT "+k.Selected()+" FROM "+k.Table+" WHERE "+condition+" ORDER BY "+k.Keys[0], args...)
}

// Find returns the object that a path with this key names for the tenant, ready to be shown. It returns not found if neither the
// tenant nor one below it owns the object.
func (k *Reader[T]) Find(ctx context.Context, c store.Conn, scope, typed string) (T, error) {
	found, err := lookUp[*flagged[T]](ctx, c, k, scope, typed, k.queries().find)
	if err != nil {
		return declaration.Null[T](), err
	}
	objects, err := k.assemble(ctx, c, scope, []*flagged[T]{found}, nil)
	if err != nil {
		return declaration.Null[T](), err
	}
	return objects[0], nil
}

// FindAll returns the objects with these keys, in this order, ready to be shown. It returns not found if the scope lacks one of them.
func (k *Reader[T]) FindAll(ctx context.Context, c store.Conn, scope string, keys []any) ([]T, error) {
	if len(keys) == 0 {
		return []T{}, nil
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	args := &Arguments{[]any{string(list), scope}}
	query := k.visible(ctx, k.queries().findAll, args.Add)
	rows, err := store.Select[*flagged[T]](ctx, c, query, args.Values...)
	if err != nil {
		return nil, err
	}
	found, err := k.assemble(ctx, c, scope, rows, nil)
	if err != nil {
		return nil, err
	}
	byKey := make(map[any]T, len(found))
	for _, o := range found {
		byKey[k.Key(o)] = o
	}
	objects := make([]T, len(keys))
	for i, key := range keys {
		if objects[i] = byKey[key]; declaration.IsNull(objects[i]) {
			return nil, k.NotFound(k.Keys[0], key)
		}
	}
	return objects, nil
}

// Row returns the row that a path names, if the scope's tenant or one below it owns it, or it is shared. Anything else is not
// found, in one way.
func (k *Reader[T]) Row(ctx context.Context, c store.Conn, scope, typed string) (T, error) {
	return lookUp[T](ctx, c, k, scope, typed, k.queries().row)
}

// lookUp runs the one of some statements that finds an object by the key in a path.
func lookUp[R any, T declaration.Pointer](
	ctx context.Context, c store.Conn, k *Reader[T], scope, typed string, statements map[string]declaration.SQL,
) (found R, err error) {
	key, value := k.keyed(typed)
	if key == "" {
		return found, k.NotFound("", nil)
	}
	args := &Arguments{[]any{value, scope}}
	query := k.visible(ctx, statements[key], args.Add)
	if found, err = store.Get[R](ctx, c, query, args.Values...); errors.Is(err, store.ErrNotFound) {
		err = k.NotFound(key, value)
	}
	return found, err
}

// queries are the statements that find one object, by the column of the key in the path: $1 is its value, $2 the tenant of the
// scope.
type queries struct {
	row, find map[string]declaration.SQL
	// findAll finds the objects whose first key is in the JSON list $1.
	findAll declaration.SQL
	// flagged are the columns that such a statement, and that of a list, selects. They scan into a flagged; columns scan into a T.
	flagged, columns declaration.SQL
	// loaders fill in the data from other tables: first the object's own, then that of the links.
	loaders []Loader
}

// makeQueries writes them, once, when everything is declared.
func (k *Reader[T]) makeQueries() *queries {
	sql := declaration.ParseSQL
	q := &queries{row: map[string]declaration.SQL{}, find: map[string]declaration.SQL{}, loaders: slices.Concat(k.beside, k.shows[k.Of])}
	flagged, columns := k.selectedAs("object.")+", "+flags(q.loaders, k.Alias()+"."+k.Keys[0])+" AS there", k.selectedAs("")
	q.flagged, q.columns = sql(flagged), sql(columns)
	q.findAll = sql("SELECT " + flagged + " FROM " + k.Table + " WHERE " + Listed(k.DB, k.Keys[0], k.KeyColumn().Kind, "$1") + " AND " + k.InScope(true, "$2"))
	for _, key := range k.PathNames() {
		condition := k.Column(key).Name + " = $1 AND " + k.InScope(true, "$2")
		if slices.Contains(k.Names, key) {
			// The tenant's own objects come before those shared with it.
			condition = k.Column(key).Name + " = $1 AND " + k.InScope(false, "$2") + " ORDER BY " + k.Owner + " <> $2 LIMIT 1"
		}
		q.row[key] = sql("SELECT " + columns + " FROM " + k.Table + " WHERE " + condition)
		q.find[key] = sql("SELECT " + flagged + " FROM " + k.Table + " WHERE " + condition)
	}
	return q
}

// keyed returns the column and the value of the key in the path, or "" if it cannot be one. Only a key's canonical form is
// accepted: an object must not be reachable by a form that no access, or denial, names.
func (k *Reader[T]) keyed(typed string) (column string, value any) {
	for _, name := range k.PathNames() {
		if value, ok := k.Column(name).Argument(typed); ok && fmt.Sprint(value) == typed {
			return name, value
		}
	}
	return "", nil
}

// Itself returns the condition for the object's own row.
func (k *Reader[T]) Itself(o T, args *Arguments) string {
	keys := k.Keys[:1]
	if k.Document {
		keys = k.Keys
	}
	conditions := make([]string, len(keys))
	for i, key := range keys {
		conditions[i] = key + " = " + args.Add(k.Field(o, key))
	}
	return strings.Join(conditions, " AND ")
}
