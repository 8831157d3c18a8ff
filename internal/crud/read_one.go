package crud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

func (k *CollectionOf[T]) read(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	view, err := r.View(k.readViews())
	if err != nil {
		return rest.Reply{}, err
	}
	object, err := k.named(ctx, r, k.ReadViews[view])
	if err != nil {
		return rest.Reply{}, err
	}
	body, err := k.forCaller(ctx, object)
	return rest.Reply{Body: body}, err
}

// Named returns the object that the request's path names, as a GET of it does.
func (k *CollectionOf[T]) Named(ctx context.Context, r *rest.Request) (T, error) {
	return k.named(ctx, r, nil)
}

// named is Named, in the form of view if it is not nil.
func (k *CollectionOf[T]) named(ctx context.Context, r *rest.Request, view func(ctx context.Context, c store.Conn, object T) error) (T, error) {
	scope, err := k.engine.TenantOf(ctx, r)
	if err != nil {
		return null[T](), err
	}
	var object T
	err = k.engine.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
		if err := k.mayRead(ctx, c, scope); err != nil {
			return err
		}
		if object, err = k.find(ctx, c, scope, r.Param(k.Param)); err != nil {
			return err
		}
		if err := k.checkReadable(ctx, c, r, object); err != nil {
			return err
		}
		if err := refuseDenied(r, k.aliases(object)); err != nil {
			return err
		}
		if err := k.refuseAlso(r, object); err != nil || view == nil {
			return err
		}
		return view(ctx, c, object)
	})
	return object, err
}

// checkReadable returns not found if the request may not read the object.
func (k *CollectionOf[T]) checkReadable(ctx context.Context, c store.Conn, r *rest.Request, object T) error {
	args := &arguments{}
	readable := k.readable(r, args)
	if readable == "" {
		return nil
	}
	n, err := k.count(ctx, c, k.itself(object, args)+" AND "+readable, *args)
	if err == nil && n == 0 {
		err = k.notFound(k.Keys[0], k.Key(object))
	}
	return err
}

// readable returns the condition of the resource's Readable, or "".
func (k *CollectionOf[T]) readable(r *rest.Request, args *arguments) string {
	if k.Readable == nil {
		return ""
	}
	return k.Readable(r, args.add)
}

// find returns the object that a path names, ready to be shown.
func (k *CollectionOf[T]) find(ctx context.Context, c store.Conn, scope, typed string) (T, error) {
	key, value := k.keyed(typed)
	if key == "" {
		return null[T](), k.notFound("", nil)
	}
	args := &arguments{[]any{value, scope}}
	query := k.engine.seen(ctx, k.queries().find[key], args.add)
	found, err := store.Get[*flagged[T]](ctx, c, query, args.values...)
	if err != nil {
		return null[T](), k.unknown(err, key, value)
	}
	objects, err := k.assemble(ctx, c, scope, []*flagged[T]{found}, nil)
	if err != nil {
		return null[T](), err
	}
	return objects[0], nil
}

// findAll returns the objects with these keys, in this order, ready to be shown. It returns not found if the scope lacks one of them.
func (k *CollectionOf[T]) findAll(ctx context.Context, c store.Conn, scope string, keys []any) ([]T, error) {
	if len(keys) == 0 {
		return []T{}, nil
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	args := &arguments{[]any{string(list), scope}}
	query := k.engine.seen(ctx, k.queries().findAll, args.add)
	rows, err := store.Select[*flagged[T]](ctx, c, query, args.values...)
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
		if objects[i] = byKey[key]; isNull(objects[i]) {
			return nil, k.notFound(k.Keys[0], key)
		}
	}
	return objects, nil
}

// row returns the row that a path names, if the scope's tenant or one below it owns it, or it is shared. Anything else is not
// found, in one way.
func (k *CollectionOf[T]) row(ctx context.Context, c store.Conn, scope, typed string) (T, error) {
	key, value := k.keyed(typed)
	if key == "" {
		return null[T](), k.notFound("", nil)
	}
	args := &arguments{[]any{value, scope}}
	query := k.engine.seen(ctx, k.queries().row[key], args.add)
	object, err := store.Get[T](ctx, c, query, args.values...)
	if err != nil {
		return null[T](), k.unknown(err, key, value)
	}
	return object, nil
}

// unknown returns the refusal of a path that names nothing in the scope.
func (k *CollectionOf[T]) unknown(err error, key string, value any) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return k.notFound(key, value)
}

// queries are the statements that find one object, by the column of the key in the path: $1 is its value, $2 the tenant of the
// scope.
type queries struct {
	row, find map[string]seenSQL
	// findAll finds the objects whose first key is in the JSON list $1.
	findAll seenSQL
	// flagged are the columns that such a statement, and that of a list, selects. They scan into a flagged; columns scan into a T.
	flagged, columns seenSQL
	// loaders fill in the data from other tables: first the object's own, then that of the links.
	loaders []loader
}

// makeQueries writes them, once, when everything is declared.
func (k *CollectionOf[T]) makeQueries() *queries {
	q := &queries{row: map[string]seenSQL{}, find: map[string]seenSQL{}, loaders: slices.Concat(k.beside, k.shows[structOf[T]()])}
	flagged, columns := k.selectedAs("object.")+", "+flags(q.loaders, k.alias()+"."+k.Keys[0])+" AS there", k.selectedAs("")
	q.flagged, q.columns = seen(flagged), seen(columns)
	q.findAll = seen("SELECT " + flagged + " FROM " + k.Table + " WHERE " + k.engine.listed(k.Keys[0], k.key().kind, "$1") + " AND " + k.inScope(true, "$2"))
	for _, key := range k.names() {
		condition := k.byName[key].name + " = $1 AND " + k.inScope(true, "$2")
		if slices.Contains(k.Names, key) {
			// The tenant's own objects come before those shared with it.
			condition = k.byName[key].name + " = $1 AND " + k.inScope(false, "$2") + " ORDER BY " + k.Owner + " <> $2 LIMIT 1"
		}
		q.row[key] = seen("SELECT " + columns + " FROM " + k.Table + " WHERE " + condition)
		q.find[key] = seen("SELECT " + flagged + " FROM " + k.Table + " WHERE " + condition)
	}
	return q
}

// keyed returns the column and the value of the key in the path, or "" if it cannot be one. Only a key's canonical form is
// accepted: an object must not be reachable by a form that no access, or denial, names.
func (k *CollectionOf[T]) keyed(typed string) (column string, value any) {
	for _, name := range k.names() {
		if value, ok := k.byName[name].argument(typed); ok && fmt.Sprint(value) == typed {
			return name, value
		}
	}
	return "", nil
}
