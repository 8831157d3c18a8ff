package crud

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/crud/changes"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

func (k *CollectionOf[T]) update(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	scope, err := k.engine.TenantOf(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	asked, err := k.edited(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	change := &declaration.Change[T]{Request: r, Tenant: scope, Carry: asked.carry}
	err = k.engine.InTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
		defer changes.Bound(ctx)()
		if err := k.load(ctx, c, change, nil); err != nil {
			return err
		}
		var withheld []string
		if change.Sent, withheld, err = k.KeepWithheld(ctx, change.Old, asked.sent); err != nil {
			return err
		}
		kept := slices.DeleteFunc(slices.Clone(asked.nested), func(n sentNested[T]) bool { return slices.Contains(withheld, n.Name) })
		if err := k.editNested(ctx, c, change, kept); err != nil {
			return err
		}
		_, err = writeNested(ctx, c, change, kept)
		return err
	})
	if err != nil || !k.Style.UpdateReply {
		return rest.Reply{}, k.refused(err, change)
	}
	return k.reply(ctx, change.New, false)
}

// editNested changes a loaded object as the client sent it, with what nested attributes change in the object itself.
func (k *CollectionOf[T]) editNested(ctx context.Context, c store.Conn, change *declaration.Change[T], nested []sentNested[T]) error {
	return k.edit(ctx, c, change, func(o T) error {
		if err := change.Sent.Into(o); err != nil {
			return err
		}
		return prepareNested(ctx, c, change, nested)
	})
}

// Edit changes the object that the request's path names, as a PUT of the fields that edit sets would: with Prepare, Validate,
// Save, Changed and Committed. It serves operations that change a part of an object.
func (k *CollectionOf[T]) Edit(ctx context.Context, r *rest.Request, edit func(o T) error) error {
	return k.changeIn(ctx, &declaration.Change[T]{Request: r}, func(_ context.Context, _ store.Conn, o T) error { return edit(o) }, nil)
}

// changeIn is change with an edit that reads the database. shown returns the part of the object that the client has read, and
// names in If-Match; nil is the whole.
func (k *CollectionOf[T]) changeIn(
	ctx context.Context, change *declaration.Change[T], edit func(ctx context.Context, c store.Conn, o T) error, shown func(o T) any,
) (err error) {
	if change.Tenant == "" {
		if change.Tenant, err = k.engine.TenantOf(ctx, change.Request); err != nil {
			return err
		}
	}
	return k.refused(k.engine.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		if err := k.load(ctx, c, change, shown); err != nil {
			return err
		}
		return k.edit(ctx, c, change, func(o T) error { return edit(ctx, c, o) })
	}), change)
}

// edit changes a loaded object.
func (k *CollectionOf[T]) edit(ctx context.Context, c store.Conn, change *declaration.Change[T], edit func(o T) error) error {
	change.New = declaration.Cloned(change.Old)
	if err := edit(change.New); err != nil {
		return err
	}
	k.keepFixed(change)
	if err := k.run(ctx, c, change, k.Prepare); err != nil {
		return err
	}
	k.keepFixed(change)
	if err := k.checkRefs(ctx, c, change, slices.Concat(k.OwnerRefs, k.Refs)); err != nil {
		return err
	}
	if err := k.validate(ctx, c, change); err != nil {
		return err
	}
	if err := k.writeChanges(ctx, c, change); err != nil {
		return err
	}
	return k.complete(ctx, c, change)
}

// load finds the object to change, and refuses if it is not the one that the client has read.
func (k *CollectionOf[T]) load(ctx context.Context, c store.Conn, change *declaration.Change[T], shown func(o T) any) (err error) {
	if err := rights.MayRead(ctx, c, k.Entity, change.Tenant); err != nil {
		return err
	}
	if change.Old, err = k.NamedIn(ctx, c, change.Request, change.Tenant); err != nil {
		return err
	}
	if err := rights.MayWrite(ctx, c, k.Entity, change.Tenant); err != nil {
		return err
	}
	if len(change.Request.HTTP.Header.Values("If-Match")) == 0 && !k.Style.UpdateReply {
		return nil
	}
	if err := k.LoadLinks(ctx, c, change.Tenant, []T{change.Old}); err != nil {
		return err
	}
	if shown != nil {
		return rest.CheckIfMatch(change.Request.HTTP.Header, shown(change.Old))
	}
	read, err := k.ForCaller(ctx, change.Old)
	if err != nil {
		return err
	}
	return rest.CheckIfMatch(change.Request.HTTP.Header, read)
}

// Unchanged refuses to change what belongs to an object, such as its links, if If-Match says that the client has read another version of
// the object, as a GET of it shows it to the caller. It runs in the transaction of the change.
func (k *CollectionOf[T]) Unchanged(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string, key any) error {
	if len(r.HTTP.Header.Values("If-Match")) == 0 {
		return nil
	}
	object, err := k.Find(ctx, c, tenantUUID, fmt.Sprint(key))
	if err != nil {
		return err
	}
	read, err := k.ForCaller(ctx, object)
	if err != nil {
		return err
	}
	return rest.CheckIfMatch(r.HTTP.Header, read)
}

// keepFixed undoes changes of fixed columns, before any hook reads them.
func (k *CollectionOf[T]) keepFixed(change *declaration.Change[T]) {
	before, after := reflect.ValueOf(change.Old).Elem(), reflect.ValueOf(change.New).Elem()
	for _, col := range k.Columns {
		if k.Fixed(col) {
			after.FieldByIndex(col.Index).Set(before.FieldByIndex(col.Index))
		}
	}
}

// writeChanges writes the columns that differ. Fixed columns never do.
func (k *CollectionOf[T]) writeChanges(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	before, after := reflect.ValueOf(change.Old).Elem(), reflect.ValueOf(change.New).Elem()
	args := &query.Arguments{}
	var sets []string
	for _, col := range k.Columns {
		value := after.FieldByIndex(col.Index)
		if !k.Fixed(col) && !reflect.DeepEqual(before.FieldByIndex(col.Index).Interface(), value.Interface()) {
			sets = append(sets, col.Name+" = "+args.Add(value.Interface()))
		}
	}
	if len(sets) == 0 {
		return nil
	}
	changes.MemoryOf(ctx).Changed(k.Table)
	_, err := c.Exec(ctx, "UPDATE "+k.Table+" SET "+strings.Join(sets, ", ")+" WHERE "+k.Itself(change.Old, args), args.Values...)
	return err
}

// Repoint makes all objects, of any tenant, that refer to one object by a column refer to another one, before the first is deleted: with
// an audit entry and an event for each, and without the resource's hooks, which could refuse what an earlier release has stored. edit does
// to an object what the statement does to its row.
func (k *CollectionOf[T]) Repoint(ctx context.Context, c store.Conn, r *rest.Request, column string, from, to any, edit func(o T)) error {
	objects, err := k.Select(ctx, c, column+" = $1", from)
	if err != nil || len(objects) == 0 {
		return err
	}
	changes.MemoryOf(ctx).Changed(k.Table)
	if _, err := c.Exec(ctx, "UPDATE "+k.Table+" SET "+column+" = $1 WHERE "+column+" = $2", to, from); err != nil {
		return err
	}
	for _, old := range objects {
		changed := declaration.Cloned(old)
		edit(changed)
		if err := k.record(ctx, c, &declaration.Change[T]{Request: r, Tenant: k.TenantOf(old), Old: old, New: changed}); err != nil {
			return err
		}
	}
	return nil
}

// edited returns what the body of a PUT changes, as it was read ahead, or now. It has no object.
func (k *CollectionOf[T]) edited(ctx context.Context, r *rest.Request) (*DraftOf[T], error) {
	if d, ok := r.Ahead.(*DraftOf[T]); ok {
		return d, nil
	}
	body := k.Partial
	if k.recursive(r) {
		body = k.bodies().update
	}
	sent, err := r.ObjectOf(body)
	if err != nil {
		return nil, err
	}
	change := &declaration.Change[T]{Request: r, Sent: sent}
	if err := k.receive(ctx, change); err != nil {
		return nil, err
	}
	out := &DraftOf[T]{request: r, sent: sent, carry: change.Carry}
	if k.recursive(r) {
		out.nested, err = k.receiveNested(ctx, r, sent, false)
	}
	return out, err
}
