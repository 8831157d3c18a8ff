package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/store"
)

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
	key, value := k.keyed(typed)
	if key == "" {
		return declaration.Null[T](), k.NotFound("", nil)
	}
	args := &Arguments{[]any{value, scope}}
	query := k.visible(ctx, k.queries().find[key], args.Add)
	found, err := store.Get[*flagged[T]](ctx, c, query, args.Values...)
	if err != nil {
		return declaration.Null[T](), k.unknown(err, key, value)
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
	key, value := k.keyed(typed)
	if key == "" {
		return declaration.Null[T](), k.NotFound("", nil)
	}
	args := &Arguments{[]any{value, scope}}
	query := k.visible(ctx, k.queries().row[key], args.Add)
	object, err := store.Get[T](ctx, c, query, args.Values...)
	if err != nil {
		return declaration.Null[T](), k.unknown(err, key, value)
	}
	return object, nil
}

// unknown returns the refusal of a path that names nothing in the scope.
func (k *Reader[T]) unknown(err error, key string, value any) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return k.NotFound(key, value)
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
