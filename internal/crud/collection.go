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

// CollectionOf is a Resource on its engine, prepared once, when the service is described.
//
// Find, Select, Insert, Update and Delete are for other resources' hooks, and for operations that do several things in one
// transaction. They take the Conn and the context of Engine.InTx (reads also those of a read transaction), and do everything
// that an operation does: hooks, references, guards, embeds, audit.
type CollectionOf[T pointer] struct {
	ResourceOf[T]
	engine  *Engine
	columns []column
	byName  map[string]column
	schema  *rest.Schema
	list    rest.ListSpec
	// ownerRefs are the columns that refer to the object's owner; refs those that refer to other objects.
	refs, ownerRefs []column
	// audited are the fields that the audit keeps.
	audited []auditedField
	// shows are the fields that links fill in, in objects of this collection and in the structs that show a part of one.
	shows map[reflect.Type][]loader
	// beside are the fields that the resource's Beside fill in.
	beside []loader
	// queries are the statements that find one object.
	queries func() *queries
	// partial is the schema of an update of the object alone.
	partial *rest.Schema
	// bodies are the schemas of what clients send and get, with what is nested.
	bodies func() *bodies
	// document is set if the objects are documents, which all keys together name.
	document *DocumentOf[T]
	// apart are the attributes that clients also read by paths of their own.
	apart []apart[T]
	// matches and finds are the SQL of Matches and of Found.
	matches map[string]seenSQL
	finds   []seenSQL
	// parents are the collections of objects that have these, as [ChildrenOf] declares.
	parents []owning
	// sides are those that the objects have of relations.
	sides []*side
}

// table is the part of a collection that does not depend on its type.
type table interface {
	tableName() string
	path() string
	recordGone(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error
	eraseWhere(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID, condition string, args ...any) (int, error)
	column(name string) (column, bool)
	owner() string
	title() string
	key() column
	reads() []seenSQL
	keptBeside() map[string][]string
	mayLose(ctx context.Context, c store.Conn, r *rest.Request, path string, valueOf func(attribute string) any) error
	picture(ctx context.Context, fields map[string]any) (any, error)
	mayRead(ctx context.Context, c store.Conn, scope string) error
	mayWrite(ctx context.Context, c store.Conn, scope string) error
	there(ctx context.Context, c store.Conn, r *rest.Request, scope, typed string) error
	findsApart() string
	noneOfTenantDenied(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error
	denied(ctx context.Context, of string, add func(value any) (placeholder string)) string
	visible(ctx context.Context, of string, add func(value any) (placeholder string)) string
}

// collect is [Collect].
func collect[T pointer](e *Engine, r ResourceOf[T]) *CollectionOf[T] {
	k := r.on(e)
	if e.collections == nil {
		e.collections, e.byPath = map[reflect.Type]any{}, map[string]table{}
	}
	t := structOf[T]()
	if e.collections[t] != nil {
		panic(fmt.Sprintf("%s: two collections of %s", r.Path, t)) // a mistake in the declaration, which every start reports
	}
	e.collections[t], e.byPath[r.Path] = k, k
	e.declare(k.operations)
	return k
}

func (k *CollectionOf[T]) tableName() string { return k.Table }

func (k *CollectionOf[T]) path() string { return k.Path }

// alias returns the name by which a statement knows the table, which may be a query in parentheses and its name.
func (k *CollectionOf[T]) alias() string { return k.Table[strings.LastIndexByte(k.Table, ' ')+1:] }

func (k *CollectionOf[T]) owner() string { return k.Owner }

func (k *CollectionOf[T]) on() *Engine { return k.engine }

// title returns the name of an object of the collection in refusals: "User".
func (k *CollectionOf[T]) title() string {
	if k.Title != "" {
		return k.Title
	}
	return capitalized(k.Singular)
}

func (k *CollectionOf[T]) column(name string) (column, bool) {
	c, ok := k.byName[name]
	return c, ok
}

// key returns the column by which links name an object.
func (k *CollectionOf[T]) key() column { return k.byName[k.Keys[0]] }

// Key returns the value of an object's first key.
func (k *CollectionOf[T]) Key(o T) any { return k.field(o, k.Keys[0]) }

// TenantOf returns the tenant that owns an object, or "" if none does.
func (k *CollectionOf[T]) TenantOf(o T) string { return k.tenantOf(o) }

// Find returns the object that a path with this key names for the tenant, ready to be shown. It returns not found if neither the
// tenant nor one below it owns the object.
func (k *CollectionOf[T]) Find(ctx context.Context, c store.Conn, tenantUUID, key string) (T, error) {
	return k.find(ctx, c, tenantUUID, key)
}

// NamedIn returns the object that the request's path names, with its own data and without what links show, in a transaction. It
// returns not found if the resource's Readable hides the object, and refuses a caller who is denied the operation under another of the
// object's keys, or what the resource's Also returns.
func (k *CollectionOf[T]) NamedIn(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) (T, error) {
	o, err := k.row(ctx, c, tenantUUID, r.Param(k.Param))
	if err != nil {
		return null[T](), err
	}
	if err := k.checkReadable(ctx, c, r, o); err != nil {
		return null[T](), err
	}
	if err := refuseDenied(r, k.aliases(o)); err != nil {
		return null[T](), err
	}
	if err := k.own(ctx, c, []T{o}); err != nil {
		return null[T](), err
	}
	return o, k.refuseAlso(r, o)
}

// Select returns the objects whose rows match the condition, of any tenant, ordered by their key, with their own data and
// without what links show.
func (k *CollectionOf[T]) Select(ctx context.Context, c store.Conn, condition string, args ...any) ([]T, error) {
	objects, err := k.Rows(ctx, c, condition, args...)
	if err != nil {
		return nil, err
	}
	return objects, k.own(ctx, c, objects)
}

// Rows returns the objects as Select does, with what their rows have alone.
func (k *CollectionOf[T]) Rows(ctx context.Context, c store.Conn, condition string, args ...any) ([]T, error) {
	return store.Select[T](ctx, c, "SELECT "+k.selected()+" FROM "+k.Table+" WHERE "+condition+" ORDER BY "+k.Keys[0], args...)
}

// After returns a tenant's next objects whose first key is greater than a value, ordered by it, as a client of the tenant reads
// them: up to so many, and none after the last.
func (k *CollectionOf[T]) After(ctx context.Context, c store.Conn, tenantUUID string, key any, most int) ([]T, error) {
	return k.asRead(ctx, c, tenantUUID, k.Keys[0]+" > $2 ORDER BY "+k.Keys[0]+" LIMIT $3", key, most)
}

// Those returns a tenant's objects that have one of these first keys, ordered by it, as a client of the tenant reads them.
func (k *CollectionOf[T]) Those(ctx context.Context, c store.Conn, tenantUUID string, keys ...any) ([]T, error) {
	return k.asRead(ctx, c, tenantUUID, k.Keys[0]+" IN ("+Placeholders(2, len(keys))+") ORDER BY "+k.Keys[0], keys...)
}

// asRead returns a tenant's objects as a client of the tenant reads them. $1 is the tenant.
func (k *CollectionOf[T]) asRead(ctx context.Context, c store.Conn, tenantUUID, condition string, args ...any) ([]T, error) {
	all := &arguments{slices.Concat([]any{tenantUUID}, args)}
	where := k.Owner + " = $1"
	if visible := k.visible(ctx, k.alias(), all.add); visible != "" {
		where += " AND " + visible
	}
	columns := k.engine.seen(ctx, k.queries().columns, all.add)
	objects, err := store.Select[T](ctx, c, "SELECT "+columns+" FROM "+k.Table+" WHERE "+where+" AND "+condition, all.values...)
	if err != nil {
		return nil, err
	}
	if err := k.decorate(ctx, c, tenantUUID, objects); err != nil {
		return nil, err
	}
	return objects, k.withhold(ctx, objects)
}

// Insert creates an object from change.New, in change.Tenant, and leaves there the object as a client reads it.
func (k *CollectionOf[T]) Insert(ctx context.Context, c store.Conn, change *ChangeOf[T]) error {
	if err := k.insert(ctx, c, change); err != nil {
		return k.refused(err, change.New)
	}
	return nil
}

// InsertAll is Insert for many objects of one collection, in one statement: for each change, New is the object without what the server
// decides, and then has its columns. The columns are texts, numbers, truth values and UUIDs, none of which the database generates.
func (k *CollectionOf[T]) InsertAll(ctx context.Context, c store.Conn, changes []*ChangeOf[T]) error {
	if err := k.insertAll(ctx, c, changes); err != nil {
		return k.refused(err, changes[0].New)
	}
	return nil
}

// Update changes change.Old, as Find or Select returned it, by edit, and leaves the result in change.New.
func (k *CollectionOf[T]) Update(ctx context.Context, c store.Conn, change *ChangeOf[T], edit func(o T) error) error {
	if err := k.edit(ctx, c, change, edit); err != nil {
		return k.refused(err, change.New)
	}
	return nil
}

// Delete deletes change.Old.
func (k *CollectionOf[T]) Delete(ctx context.Context, c store.Conn, change *ChangeOf[T]) error {
	if err := k.erase(ctx, c, change); err != nil {
		return k.refused(err, change.Old)
	}
	return nil
}

// show adds a loader for the objects, or the parts of objects, of a type.
func (k *CollectionOf[T]) show(of reflect.Type, l loader) {
	if k.shows == nil {
		k.shows = map[reflect.Type][]loader{}
	}
	k.shows[of] = append(k.shows[of], l)
}

func (k *CollectionOf[T]) loaders(of reflect.Type) []loader { return k.shows[of] }

// columnsAs lists the columns of a type that shows a part of an object, as SQL for [seen], for a SELECT of this table joined with others:
// "confd_line.id AS \"item.id\"". Columns that the collection does not have are the joining table's.
func (k *CollectionOf[T]) columnsAs(item []column, joining string) string {
	var out []byte
	for _, c := range item {
		of := joining
		if own, ok := k.byName[c.name]; ok && !c.joining {
			of = k.alias()
			if own.virtual {
				out = append(out, ", "+own.reads.declared+` AS "item.`+c.scan+`"`...)
				continue
			}
		}
		out = append(out, ", "+of+"."+c.name+` AS "item.`+c.scan+`"`...)
	}
	return string(out)
}

// names returns all names by which a path can name an object.
func (k *CollectionOf[T]) names() []string { return slices.Concat(k.Keys, k.Names) }
