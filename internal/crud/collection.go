package crud

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// CollectionOf is a Resource on its engine, prepared once, when the service is described.
//
// Find, Select, Insert, Update and Delete are for other resources' hooks, and for operations that do several things in one
// transaction. They take the Conn and the context of Engine.InTx (reads also those of a read transaction), and do everything
// that an operation does: hooks, references, guards, embeds, audit.
type CollectionOf[T declaration.Pointer] struct {
	*query.Reader[T]
	*rights.Objects
	engine *Engine
	// audited are the fields that the audit keeps.
	audited []*rest.Property
	// nests are the nested attributes, and bodies the schemas of what clients send and get, with what is nested.
	nests  func() []*NestedOf[T]
	bodies func() *bodies
	// document is set if the objects are documents. drop is the access to delete one, with the parameters of its path, or "" if nobody deletes one
	// alone.
	document *DocumentOf[T]
	drop     string
	// sides are those that the objects have of relations.
	sides []*DeclaredSide
	// below are the paths that name an object below the one to which it belongs: each returns its key.
	below map[string]keyIn
}

// keyIn returns how a request's path names an object.
type keyIn func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (string, error)

// table is a collection, whatever the type of its objects is. What takes or returns objects does so as any.
type table interface {
	entity() *declaration.Entity
	objects() *rights.Objects

	NoneDenied(ctx context.Context, c store.Conn, r *rest.Request, action, condition string, args ...any) error
	recordAll(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) (int, error)
	erase(ctx context.Context, c store.Conn, condition string, arg any) error
	EraseWhere(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID, condition string, args ...any) (int, error)
	Repoint(ctx context.Context, c store.Conn, r *rest.Request, column string, from, to any) error
	mend(ctx context.Context, c store.Conn, how mender) error
	referring(path string) []reference
	addWhere(ctx context.Context, c store.Conn, l *leading, condition string, args *query.Arguments, changes string, attributes ...string) error
	there(ctx context.Context, c store.Conn, r *rest.Request, scope, typed string) error
	isBelow(path string) bool

	// What follows is for relations.

	query.Joined
	joins(s *DeclaredSide)
	firstList(s *DeclaredSide) bool
	Show(of reflect.Type, l query.Loader)
	titleOf(o any) string
	rowAt(ctx context.Context, c store.Conn, scope, typed string) (any, error)
	rowsOf(ctx context.Context, c store.Conn, condition string, args ...any) ([]any, error)
	pick(ctx context.Context, c store.Conn, scope string, list *List, items []any) ([]any, error)
	ownOf(ctx context.Context, c store.Conn, objects []any) error
	Unchanged(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string, key any) error
	deleteOf(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string, o any) error
	place(same ...string) place
	listBelow(of place, path, id string) rest.Operation
	oneBelow(of place) rest.Operation
	createBelow(of place, path string, join func(ctx context.Context, c store.Conn, r *rest.Request, o, made any) error) rest.Operation
}

// collect is [Collect].
func collect[T declaration.Pointer](e *Engine, r declaration.Resource[T]) *CollectionOf[T] {
	k := prepare(e, r)
	if e.collections[k.Of] != nil {
		panic(fmt.Sprintf("%s: two collections of %s", r.Path, k.Of)) // a mistake in the declaration, which every start reports
	}
	e.collections[k.Of], e.byPath[r.Path] = k, k
	e.Register(k.Objects)
	e.declare(k.operations)
	return k
}

// prepare returns a resource on its engine.
func prepare[T declaration.Pointer](e *Engine, r declaration.Resource[T]) *CollectionOf[T] {
	m := declaration.Prepare(&e.Base, r)
	k := &CollectionOf[T]{Reader: query.NewReader(m, e.SQL), Objects: rights.NewObjects(e.Registry, m), engine: e, below: map[string]keyIn{}}
	k.nests, k.bodies = sync.OnceValue(k.findNests), sync.OnceValue(k.makeBodies)
	k.audited = auditedFields(k.Schema, k.Columns)
	return k
}

func (k *CollectionOf[T]) entity() *declaration.Entity { return k.Entity }

func (k *CollectionOf[T]) objects() *rights.Objects { return k.Objects }

// NamedIn returns the object that the request's path names, with its own data and without what links show, in a transaction. It
// returns not found if the resource's Readable hides the object, and refuses a caller who is denied the operation under another of the
// object's keys, or what the resource's Also returns.
func (k *CollectionOf[T]) NamedIn(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) (T, error) {
	return k.named(ctx, c, r, tenantUUID, func(ctx context.Context, c store.Conn, scope, key string) (T, error) {
		o, err := k.Row(ctx, c, scope, key)
		if err == nil {
			err = k.LoadOwn(ctx, c, []T{o})
		}
		return o, err
	})
}

// named returns what find finds by the key in the request's path.
func (k *CollectionOf[T]) named(
	ctx context.Context, c store.Conn, r *rest.Request, scope string, find func(ctx context.Context, c store.Conn, scope, key string) (T, error),
) (o T, err error) {
	key, err := k.keyIn(ctx, c, r, scope)
	if err == nil {
		o, err = find(ctx, c, scope, key)
	}
	if err == nil {
		err = k.checkReadable(ctx, c, r, o)
	}
	if err == nil {
		err = k.refuseDenied(r, o)
	}
	return o, err
}

// keyIn returns how the request's path names an object.
func (k *CollectionOf[T]) keyIn(ctx context.Context, c store.Conn, r *rest.Request, scope string) (string, error) {
	if key := k.below[r.Op().Path]; key != nil {
		return key(ctx, c, r, scope)
	}
	return r.Param(k.Param), nil
}

// AsRead returns a tenant's own objects, of those that a condition finds, as a client of the tenant reads them. $1 is the tenant; the condition
// may go on with an order and bounds.
func (k *CollectionOf[T]) AsRead(ctx context.Context, c store.Conn, tenantUUID, condition string, args ...any) ([]T, error) {
	all := &query.Arguments{Values: slices.Concat([]any{tenantUUID}, args)}
	where := k.Owner + " = $1" + k.AndVisible(ctx, all.Add)
	objects, err := store.Select[T](ctx, c, "SELECT "+k.SelectedFor(ctx, all.Add)+" FROM "+k.Table+" WHERE "+where+" AND "+condition, all.Values...)
	if err != nil {
		return nil, err
	}
	if err := k.LoadAll(ctx, c, tenantUUID, objects); err != nil {
		return nil, err
	}
	return objects, k.withhold(ctx, objects)
}

// Insert creates an object from change.New, in change.Tenant, and leaves there the object as a client reads it.
func (k *CollectionOf[T]) Insert(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	return k.refused(k.run(ctx, c, change, k.insertRow, k.complete), change)
}

// InsertAll is Insert for many objects of one collection, in one statement, of which the database generates nothing. It leaves in each
// change.New what the object is by itself.
func (k *CollectionOf[T]) InsertAll(ctx context.Context, c store.Conn, all []*declaration.Change[T]) error {
	err := k.insertRows(ctx, c, all...)
	for _, change := range all {
		if err == nil {
			err = k.run(ctx, c, change, k.save, k.loadOwn, k.conclude)
		}
	}
	return k.refused(err, all[0])
}

func (k *CollectionOf[T]) loadOwn(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	return k.LoadOwn(ctx, c, []T{change.New})
}

// Update changes change.Old, as Find or Select returned it, by edit, and leaves the result in change.New.
func (k *CollectionOf[T]) Update(ctx context.Context, c store.Conn, change *declaration.Change[T], edit func(o T) error) error {
	edited := func(context.Context, store.Conn, *declaration.Change[T]) error {
		change.New = declaration.Cloned(change.Old)
		return edit(change.New)
	}
	refer := func(ctx context.Context, c store.Conn, _ *declaration.Change[T]) error {
		return k.checkRefs(ctx, c, change, slices.Concat(k.OwnerRefs, k.Refs))
	}
	return k.refused(k.run(ctx, c, change, edited, k.keepFixed, k.Prepare, k.keepFixed, refer, k.validate, k.writeChanges, k.complete), change)
}

// Delete deletes change.Old.
func (k *CollectionOf[T]) Delete(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	return k.refused(k.run(ctx, c, change, k.mayUnlink, k.mayTake, k.Guard, k.unlink, k.deleteRow, k.conclude), change)
}

// refused says for a client why a change is refused that breaks a constraint.
func (k *CollectionOf[T]) refused(err error, change *declaration.Change[T]) error {
	if declaration.IsNull(change.New) {
		return k.Refused(err, change.Old)
	}
	return k.Refused(err, change.New)
}

// withhold empties the attributes of objects that the caller of ctx is denied to read.
func (k *CollectionOf[T]) withhold(ctx context.Context, objects []T) error {
	for _, o := range objects {
		if err := k.Withhold(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// refuseDenied refuses a caller who is denied the operation under another key of the object that its path names, or by another path.
func (k *CollectionOf[T]) refuseDenied(r *rest.Request, o T) error {
	if !rights.HasDenials(r) {
		return nil
	}
	if err := rights.RefuseDenied(r, rights.AliasesOf(k.Entity, o)); err != nil || k.Also == nil {
		return err
	}
	return rights.NotDenied(r, k.Also(r, o)...)
}

// NoneDenied is NotDenied for all objects that a condition finds: of documents, for their deletion. They are looked up only if the caller is denied
// anything.
func (k *CollectionOf[T]) NoneDenied(ctx context.Context, c store.Conn, r *rest.Request, action, condition string, args ...any) error {
	if !rights.HasDenials(r) {
		return nil
	}
	objects, err := k.Rows(ctx, c, condition, args...)
	if err != nil {
		return err
	}
	for _, o := range objects {
		accesses := rights.Accesses(k.Entity, o, action)
		if k.document != nil {
			accesses = k.dropping(o)
		}
		if err := rights.NotDenied(r, accesses...); err != nil {
			return err
		}
	}
	return nil
}
