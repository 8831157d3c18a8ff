package crud

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// complete runs the steps after the row is written. If the reply has the object, it turns New into what a client reads.
func (k *CollectionOf[T]) complete(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	if err := k.run(ctx, c, change, k.save, k.loadOwn); err != nil {
		return err
	}
	if declaration.IsNull(change.Old) || k.Style.UpdateReply {
		if err := k.LoadLinks(ctx, c, change.Tenant, []T{change.New}); err != nil {
			return err
		}
	}
	return k.conclude(ctx, c, change)
}

// save writes the object's own data in other tables.
func (k *CollectionOf[T]) save(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	for _, b := range k.Beside {
		if err := k.run(ctx, c, change, b.Save); err != nil {
			return err
		}
	}
	return k.run(ctx, c, change, k.Save)
}

// conclude ends every change: the last hook, the audit, and the event.
func (k *CollectionOf[T]) conclude(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	if err := k.run(ctx, c, change, k.Changed); err != nil {
		return err
	}
	return k.record(ctx, c, change)
}

// step is one step of a change: a hook of the resource, or what the engine itself does.
type step[T declaration.Pointer] func(ctx context.Context, c store.Conn, change *declaration.Change[T]) error

// run runs the steps in this order, and returns the first error. A hook that is not declared is nil.
func (k *CollectionOf[T]) run(ctx context.Context, c store.Conn, change *declaration.Change[T], steps ...step[T]) error {
	for _, step := range steps {
		if step != nil {
			if err := step(ctx, c, change); err != nil {
				return err
			}
		}
	}
	return nil
}

// validate runs the hook on a copy, so what was validated is stored.
func (k *CollectionOf[T]) validate(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	if k.Validate == nil {
		return nil
	}
	copied := *change
	copied.New = declaration.Cloned(change.New)
	return k.Validate(ctx, c, &copied)
}

// reply returns an object that was written, as far as the caller reads it, with its entity tag and, if it was created, its location.
func (k *CollectionOf[T]) reply(ctx context.Context, o T, created bool) (rest.Reply, error) {
	body, err := k.ForCaller(ctx, o)
	if err != nil {
		return rest.Reply{}, err
	}
	tag, err := rest.ETag(body)
	if err != nil {
		return rest.Reply{}, err
	}
	header := http.Header{"Etag": {tag}}
	if created && k.Style.Location {
		header.Set("Location", k.At(k.Called(o)))
	}
	return rest.Reply{Body: body, Header: header}, nil
}

func (k *CollectionOf[T]) remove(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	change := &declaration.Change[T]{Request: r}
	var err error
	if change.Tenant, err = k.engine.TenantOf(ctx, r); err != nil {
		return rest.Reply{}, err
	}
	if k.Preview != nil && r.Bool("dry_run") {
		reply := rest.Reply{Status: http.StatusOK}
		err := k.before(ctx, change, func(ctx context.Context, c store.Conn) (err error) {
			reply.Body, err = k.Preview.Show(ctx, c, change)
			return err
		})
		return reply, err
	}
	if k.Shrink != nil && !transaction.Inside(ctx) {
		if err := k.before(ctx, change, nil); err != nil {
			return rest.Reply{}, err
		}
		if err := k.Shrink(ctx, change); err != nil {
			return rest.Reply{}, err
		}
	}
	return rest.Reply{}, k.changing(ctx, change, nil, func(ctx context.Context, c store.Conn) error {
		if k.recursive(r) {
			if err := k.removeNested(ctx, c, change); err != nil {
				return err
			}
		}
		return k.Delete(ctx, c, change)
	})
}

// before loads an object that is to be deleted, and runs fn in the same transaction, which only reads.
func (k *CollectionOf[T]) before(ctx context.Context, change *declaration.Change[T], fn func(ctx context.Context, c store.Conn) error) error {
	return k.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
		err := k.load(ctx, c, change, nil)
		if err == nil {
			err = k.mayUnlink(ctx, c, change)
		}
		if err == nil && fn != nil {
			err = fn(ctx, c)
		}
		return err
	})
}

// deleteRow deletes the object's row, and what the database deletes with it.
func (k *CollectionOf[T]) deleteRow(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	transaction.MemoryOf(ctx).Deleted()
	if k.Counted {
		transaction.Count(ctx)
	}
	args := &query.Arguments{}
	_, err := c.Exec(ctx, "DELETE FROM "+k.Table+" WHERE "+k.Itself(change.Old, args), args.Values...)
	return err
}

// record writes a change to the audit and emits its event, unless nothing changed.
func (k *CollectionOf[T]) record(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	a := audit.Change{Tenant: change.Tenant, Resource: k.Path}
	one := change.New
	if !declaration.IsNull(change.Old) {
		one, a.Before = change.Old, k.auditData(change.Old)
	}
	if !declaration.IsNull(change.New) {
		a.After = k.auditData(change.New)
	}
	k.identify(&a, one)
	if !declaration.IsNull(change.Old) && !declaration.IsNull(change.New) && reflect.DeepEqual(a.Before, a.After) && len(k.changed(change.Old, change.New)) == 0 {
		return nil
	}
	transaction.Emit(ctx, transaction.Event{Resource: a.Resource, Key: a.Object, Tenant: k.TenantOf(one)})
	if k.Audited != nil {
		k.Audited(one, &a)
	}
	return audit.Write(ctx, c, change.Request, a)
}

// changed returns the columns in which two versions of an object differ, of those that may change. Some of them nobody is shown.
func (k *CollectionOf[T]) changed(one, other T) (out []declaration.Column) {
	before, after := reflect.ValueOf(one).Elem(), reflect.ValueOf(other).Elem()
	for _, col := range k.Columns {
		if !k.Fixed(col) && !reflect.DeepEqual(before.FieldByIndex(col.Index).Interface(), after.FieldByIndex(col.Index).Interface()) {
			out = append(out, col)
		}
	}
	return out
}

// identify fills in which object a change is of: its name, its tenant, and the keys by which it can be read.
func (k *CollectionOf[T]) identify(a *audit.Change, o T) {
	if k.document != nil {
		a.Resource, a.Object = k.document.place(rights.AliasesOf(k.Entity, o).Keys[1:])
	} else {
		a.Object, a.Keys, a.Sides = fmt.Sprint(k.Key(o)), [][]string{rights.AliasesOf(k.Entity, o).Keys}, []string{k.Path}
	}
	if k.Has(k.Owner) {
		a.Tenant = fmt.Sprint(k.Field(o, k.Owner))
	}
}

// auditData returns an object's own data: its columns, and the fields that a client may write and read.
func (k *CollectionOf[T]) auditData(o T) map[string]any {
	if k.document != nil && k.document.Audited != nil {
		return k.document.Audited(o)
	}
	out := make(map[string]any, len(k.Schema.Properties))
	v := reflect.ValueOf(o).Elem()
	for _, p := range k.audited {
		out[p.Name] = v.FieldByIndex(p.Index()).Interface()
	}
	return out
}

// auditedFields returns the properties that are columns, or that a client may write and read: of what is never shown, an object has nothing.
func auditedFields(schema *rest.Schema, columns []declaration.Column) []*rest.Property {
	kept := map[int]bool{}
	for _, c := range columns {
		kept[c.Index[0]] = true
	}
	var out []*rest.Property
	for i := range schema.Properties {
		p := &schema.Properties[i]
		if index := p.Index(); len(index) > 0 && (kept[index[0]] || !p.ReadOnly && !p.WriteOnly) {
			out = append(out, p)
		}
	}
	return out
}

func (k *CollectionOf[T]) create(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	if len(k.Nested) == 0 {
		return k.createIn(ctx, r, k.Insert)
	}
	scope, err := k.engine.TenantOf(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	draft, err := k.drafted(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	reply := &madeReply[T]{of: k, scope: scope}
	do := func(ctx context.Context, c store.Conn) (err error) {
		defer transaction.Bound(ctx)()
		reply.made, err = k.Make(ctx, c, scope, draft)
		return err
	}
	switch { // the reply is read after the commit: what a transaction reads beside what others write makes it run again
	case len(draft.nested) == 0:
		err = k.engine.InTx(ctx, do)
	case rights.Restricted(ctx):
		err = k.engine.InBatch(ctx, do, nil) // what they are denied is theirs alone
	default:
		err = k.engine.InBatch(ctx, do, reply)
	}
	if err != nil {
		return rest.Reply{}, k.Refused(err, draft.object)
	}
	if !reply.WasRead() && reply.ReadAll(ctx, []transaction.Reading{reply}) != nil { // somebody has deleted it since, or the database has become unavailable
		return k.reply(ctx, reply.made.Object, true)
	}
	answer, err := k.reply(ctx, reply.shown.object.(T), true)
	reply.shown.object, answer.Body = answer.Body, reply.shown
	return answer, err
}

// createIn reads the body and lets insert write the object, in one transaction.
func (k *CollectionOf[T]) createIn(ctx context.Context, r *rest.Request, insert step[T]) (rest.Reply, error) {
	scope, err := k.engine.TenantOf(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	draft, err := k.drafted(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	change := &declaration.Change[T]{Request: r, Sent: draft.sent, New: draft.object, Carry: draft.carry}
	err = k.engine.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		change.New, change.Tenant = declaration.Cloned(draft.object), scope // the transaction may run again
		if err := rights.MayWrite(ctx, c, k.Entity, scope); err != nil {
			return err
		}
		return insert(ctx, c, change)
	})
	if err != nil {
		return rest.Reply{}, k.Refused(err, change.New)
	}
	return k.reply(ctx, change.New, true)
}

func (k *CollectionOf[T]) receive(ctx context.Context, change *declaration.Change[T]) error {
	if k.Receive == nil {
		return nil
	}
	return k.Receive(ctx, change)
}

// ready completes and checks a new object, before its row is written.
func (k *CollectionOf[T]) ready(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	if err := k.checkRefs(ctx, c, change, k.OwnerRefs); err != nil {
		return err
	}
	if k.Has(declaration.TenantColumn) {
		k.Set(change.New, declaration.TenantColumn, change.Tenant)
	}
	if k.GivesUUID() && k.Field(change.New, "uuid") == "" {
		k.Set(change.New, "uuid", uuid.NewString())
	}
	if err := k.run(ctx, c, change, k.Prepare); err != nil {
		return err
	}
	if err := k.checkRefs(ctx, c, change, k.Refs); err != nil {
		return err
	}
	return k.validate(ctx, c, change)
}

// insertRow checks a new object, and writes its row.
func (k *CollectionOf[T]) insertRow(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	if err := transaction.MayMake(ctx); err != nil {
		return err
	}
	return k.insertRows(ctx, c, change)
}

// insertRows checks new objects, and writes the rows of all of them in one statement. What the database generates is read of one alone.
func (k *CollectionOf[T]) insertRows(ctx context.Context, c store.Conn, all ...*declaration.Change[T]) error {
	args := &query.Arguments{}
	var names, rows []string
	for _, change := range all {
		if err := k.ready(ctx, c, change); err != nil {
			return err
		}
		names = nil
		var values []string
		row := reflect.ValueOf(change.New).Elem()
		for _, col := range k.Columns {
			if !col.Generated && !col.Computed {
				names = append(names, col.Name)
				values = append(values, args.Add(row.FieldByIndex(col.Index).Interface()))
			}
		}
		rows = append(rows, "("+strings.Join(values, ", ")+")")
	}
	stored, err := store.Select[T](ctx, c, "INSERT INTO "+k.Table+" ("+strings.Join(names, ", ")+") VALUES "+strings.Join(rows, ", ")+
		" RETURNING "+k.Selected(), args.Values...)
	if err != nil {
		return err
	}
	for _, change := range all {
		if len(all) == 1 {
			k.copyColumns(change.New, stored[0])
		}
		transaction.MemoryOf(ctx).Made(k.Table, k.Key(change.New))
		if k.Counted {
			transaction.Count(ctx)
		}
	}
	return nil
}

// copyColumns copies the columns of a row and leaves the other fields.
func (k *CollectionOf[T]) copyColumns(to, from T) {
	dst, src := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	for _, col := range k.Columns {
		dst.FieldByIndex(col.Index).Set(src.FieldByIndex(col.Index))
	}
}

// drafted returns the object that the body of a POST describes, as it was drafted ahead, or now.
func (k *CollectionOf[T]) drafted(ctx context.Context, r *rest.Request) (*DraftOf[T], error) {
	if d, ok := r.Preload.(*DraftOf[T]); ok {
		return d, nil
	}
	body := k.bodies().plain
	if k.recursive(r) {
		body = k.bodies().create
	}
	sent, err := r.ObjectOf(body)
	if err != nil {
		return nil, err
	}
	return k.draft(ctx, r, sent, false)
}

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
	err = k.changing(ctx, change, nil, func(ctx context.Context, c store.Conn) (err error) {
		defer transaction.Bound(ctx)()
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
		return rest.Reply{}, err
	}
	return k.reply(ctx, change.New, false)
}

// editNested changes a loaded object as the client sent it, with what nested attributes change in the object itself.
func (k *CollectionOf[T]) editNested(ctx context.Context, c store.Conn, change *declaration.Change[T], nested []sentNested[T]) error {
	return k.Update(ctx, c, change, func(o T) error {
		if err := change.Sent.Into(o); err != nil {
			return err
		}
		return prepareNested(ctx, c, change, nested)
	})
}

// Edit changes the object that the request's path names, as a PUT of the fields that edit sets would: with Prepare, Validate,
// Save and Changed. It serves operations that change a part of an object. shown returns the part of the object that the client has read,
// and names in If-Match; nil is the whole.
func (k *CollectionOf[T]) Edit(ctx context.Context, r *rest.Request, shown func(o T) any, edit func(ctx context.Context, c store.Conn, o T) error) error {
	change := &declaration.Change[T]{Request: r}
	return k.changing(ctx, change, shown, func(ctx context.Context, c store.Conn) error {
		return k.Update(ctx, c, change, func(o T) error { return edit(ctx, c, o) })
	})
}

// changing finds the object that the request's path names, and lets do change or delete it, in one transaction. shown is as for Edit.
func (k *CollectionOf[T]) changing(
	ctx context.Context, change *declaration.Change[T], shown func(o T) any, do func(ctx context.Context, c store.Conn) error,
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
		return do(ctx, c)
	}), change)
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
	return k.checkIfMatch(ctx, change.Request, change.Old)
}

// checkIfMatch refuses if the caller has read another version of the object.
func (k *CollectionOf[T]) checkIfMatch(ctx context.Context, r *rest.Request, o T) error {
	read, err := k.ForCaller(ctx, o)
	if err != nil {
		return err
	}
	return rest.CheckIfMatch(r.HTTP.Header, read)
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
	return k.checkIfMatch(ctx, r, object)
}

// keepFixed undoes changes of fixed columns, before any hook reads them.
func (k *CollectionOf[T]) keepFixed(_ context.Context, _ store.Conn, change *declaration.Change[T]) error {
	before, after := reflect.ValueOf(change.Old).Elem(), reflect.ValueOf(change.New).Elem()
	for _, col := range k.Columns {
		if k.Fixed(col) {
			after.FieldByIndex(col.Index).Set(before.FieldByIndex(col.Index))
		}
	}
	return nil
}

// writeChanges writes the columns that differ. Fixed columns never do.
func (k *CollectionOf[T]) writeChanges(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	return k.writeColumns(ctx, c, change.New, k.changed(change.Old, change.New))
}

// writeColumns writes some columns of an object.
func (k *CollectionOf[T]) writeColumns(ctx context.Context, c store.Conn, o T, columns []declaration.Column) error {
	args, values := &query.Arguments{}, reflect.ValueOf(o).Elem()
	var sets []string
	for _, col := range columns {
		sets = append(sets, col.Name+" = "+args.Add(values.FieldByIndex(col.Index).Interface()))
	}
	if len(sets) == 0 {
		return nil
	}
	transaction.MemoryOf(ctx).Changed(k.Table)
	_, err := c.Exec(ctx, "UPDATE "+k.Table+" SET "+strings.Join(sets, ", ")+" WHERE "+k.Itself(o, args), args.Values...)
	return err
}

// Repoint makes all objects, of any tenant, that refer to one object by a column refer to another one, or null, before the first is deleted: with
// an audit entry and an event for each, and without the resource's hooks, which could refuse what an earlier release has stored.
func (k *CollectionOf[T]) Repoint(ctx context.Context, c store.Conn, r *rest.Request, column string, from, to any) error {
	objects, err := k.Select(ctx, c, column+" = $1", from)
	if err != nil || len(objects) == 0 {
		return err
	}
	transaction.MemoryOf(ctx).Changed(k.Table)
	if _, err := c.Exec(ctx, "UPDATE "+k.Table+" SET "+column+" = $1 WHERE "+column+" = $2", to, from); err != nil {
		return err
	}
	list, err := k.listOf(objects)
	if err != nil {
		return err
	}
	changed, err := k.Select(ctx, c, k.isListed(), list)
	if err != nil {
		return err
	}
	for i, old := range objects {
		if err := k.record(ctx, c, &declaration.Change[T]{Request: r, Tenant: k.TenantOf(old), Old: old, New: changed[i]}); err != nil {
			return err
		}
	}
	return nil
}

// edited returns what the body of a PUT changes, as it was read ahead, or now. It has no object.
func (k *CollectionOf[T]) edited(ctx context.Context, r *rest.Request) (*DraftOf[T], error) {
	if d, ok := r.Preload.(*DraftOf[T]); ok {
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
