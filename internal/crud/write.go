package crud

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

func (k *Collection[T]) create(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	if len(k.Nested) == 0 {
		return k.createIn(ctx, r, k.insert)
	}
	scope, sent, err := k.engine.begin(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	draft, err := k.draft(ctx, r, sent, false)
	if err != nil {
		return rest.Reply{}, err
	}
	made, err := k.makeDraft(ctx, scope, draft)
	if err != nil {
		return rest.Reply{}, k.refused(err, &draft.object)
	}
	var shown *nestedReply
	err = k.engine.inReadTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
		shown, err = k.showMade(ctx, c, scope, made)
		return err
	})
	if err != nil { // it is made: somebody has deleted it since, or the database went away
		return k.reply(made.Object, true)
	}
	reply, err := k.reply(shown.object.(*T), true)
	reply.Body = shown
	return reply, err
}

// makeDraft makes an object and what is nested in it, in a transaction. The reply is read after the commit: what a transaction reads beside
// what others write makes it run again.
func (k *Collection[T]) makeDraft(ctx context.Context, scope string, draft *Draft[T]) (made *Made[T], err error) {
	if len(draft.nested) > 0 && transactionOf(ctx) == nil { // who has a transaction must not wait for those who wait for one
		leave, err := k.engine.nesting.enter(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	err = k.engine.InTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
		made, err = k.Make(ctx, c, scope, draft)
		return err
	})
	return made, err
}

// createIn reads the body and lets insert write the object, in one transaction.
func (k *Collection[T]) createIn(ctx context.Context, r *rest.Request, insert func(context.Context, store.Conn, *Change[T]) error) (rest.Reply, error) {
	scope, sent, err := k.engine.begin(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	change := &Change[T]{Request: r, Sent: sent, New: new(T)}
	if err := k.schema.SetDefaults(change.New); err != nil {
		return rest.Reply{}, err
	}
	if err := sent.Into(change.New); err != nil {
		return rest.Reply{}, err
	}
	if err := k.receive(ctx, change); err != nil {
		return rest.Reply{}, err
	}
	received := *change.New
	err = k.engine.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		fresh := received // the transaction may run again
		change.New, change.Tenant = &fresh, scope
		if err := k.mayWrite(ctx, c, scope); err != nil {
			return err
		}
		return insert(ctx, c, change)
	})
	if err != nil {
		return rest.Reply{}, k.refused(err, change.New)
	}
	return k.reply(change.New, true)
}

func (k *Collection[T]) receive(ctx context.Context, change *Change[T]) error {
	if k.Receive == nil {
		return nil
	}
	return k.Receive(ctx, change)
}

// insert writes the row and the object's other data, and leaves in change.New the object as a client reads it.
func (k *Collection[T]) insert(ctx context.Context, c store.Conn, change *Change[T]) error {
	if err := k.insertRow(ctx, c, change); err != nil {
		return err
	}
	return k.complete(ctx, c, change)
}

// insertRow checks a new object, and writes its row.
func (k *Collection[T]) insertRow(ctx context.Context, c store.Conn, change *Change[T]) error {
	if err := k.checkRefs(ctx, c, change, k.ownerRefs); err != nil {
		return err
	}
	if col, ok := k.byName[tenantColumn]; ok {
		reflect.ValueOf(change.New).Elem().FieldByIndex(col.index).SetString(change.Tenant)
	}
	if err := k.run(ctx, c, change, k.Prepare); err != nil {
		return err
	}
	if err := k.checkRefs(ctx, c, change, k.refs); err != nil {
		return err
	}
	if err := k.validate(ctx, c, change); err != nil {
		return err
	}
	args := &arguments{}
	var names, values []string
	row := reflect.ValueOf(change.New).Elem()
	for _, col := range k.columns {
		if !col.generated && !col.computed {
			names = append(names, col.name)
			values = append(values, args.add(row.FieldByIndex(col.index).Interface()))
		}
	}
	stored, err := store.Get[T](ctx, c, "INSERT INTO "+k.Table+" ("+strings.Join(names, ", ")+") VALUES ("+strings.Join(values, ", ")+
		") RETURNING "+k.selected(), args.values...)
	if err != nil {
		return err
	}
	k.copyColumns(change.New, &stored)
	k.counted(ctx)
	return nil
}

// copyColumns copies the columns of a row and leaves the other fields.
func (k *Collection[T]) copyColumns(to, from *T) {
	dst, src := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	for _, col := range k.columns {
		dst.FieldByIndex(col.index).Set(src.FieldByIndex(col.index))
	}
}

// complete runs the steps after the row is written. If the reply has the object, it turns New into what a client reads.
func (k *Collection[T]) complete(ctx context.Context, c store.Conn, change *Change[T]) error {
	if err := k.run(ctx, c, change, k.Save); err != nil {
		return err
	}
	if err := k.own(ctx, c, []*T{change.New}); err != nil {
		return err
	}
	if change.Old == nil || k.engine.Style.UpdateReply {
		if err := k.present(ctx, c, change.Tenant, []*T{change.New}); err != nil {
			return err
		}
	}
	return k.conclude(ctx, c, change)
}

// conclude ends every change: the last hook, the audit, and the work for after the commit.
func (k *Collection[T]) conclude(ctx context.Context, c store.Conn, change *Change[T]) error {
	if err := k.run(ctx, c, change, k.Changed); err != nil {
		return err
	}
	if k.Committed != nil {
		afterCommit(ctx, func() { k.Committed(change) })
	}
	return k.record(ctx, c, change)
}

// record keeps the change in the audit and tells it, unless nothing changed.
func (k *Collection[T]) record(ctx context.Context, c store.Conn, change *Change[T]) error {
	a := audit.Change{Tenant: change.Tenant, Resource: k.Path}
	one := change.New
	if change.Old != nil {
		one, a.Before = change.Old, k.auditData(change.Old)
	}
	if change.New != nil {
		a.After = k.auditData(change.New)
	}
	k.located(&a, one)
	if change.Old != nil && change.New != nil && reflect.DeepEqual(a.Before, a.After) && k.sameColumns(change.Old, change.New) {
		return nil
	}
	emit(ctx, Event{Resource: a.Resource, Key: a.Object, Tenant: k.tenantOf(one)})
	return audit.Write(ctx, c, change.Request, a)
}

// sameColumns reports whether an object's row is unchanged, including columns that nobody is shown.
func (k *Collection[T]) sameColumns(one, other *T) bool {
	before, after := reflect.ValueOf(one).Elem(), reflect.ValueOf(other).Elem()
	return !slices.ContainsFunc(k.columns, func(col column) bool {
		return !k.fixed(col) && !reflect.DeepEqual(before.FieldByIndex(col.index).Interface(), after.FieldByIndex(col.index).Interface())
	})
}

// located identifies an audited object: its name, its tenant, and the keys by which it can be read.
func (k *Collection[T]) located(a *audit.Change, o *T) {
	if k.document != nil {
		a.Resource, a.Object = k.document.place(k.aliases(o).keys[1:])
	} else {
		a.Object, a.Keys = fmt.Sprint(k.field(o, k.Keys[0])), [][]string{k.aliases(o).keys}
	}
	if _, ok := k.byName[k.Owner]; ok {
		a.Tenant = fmt.Sprint(k.field(o, k.Owner))
	}
}

// auditData returns an object's own data: its columns, and the fields that a client may write.
func (k *Collection[T]) auditData(o *T) map[string]any {
	if k.document != nil && k.document.Audited != nil {
		return k.document.Audited(o)
	}
	out := make(map[string]any, len(k.schema.Properties))
	v := reflect.ValueOf(o).Elem()
	for i := range k.audited {
		p := &k.audited[i]
		out[p.name] = v.FieldByIndex(p.index).Interface()
	}
	return out
}

// auditPart adds a part of the object to the fields that the audit keeps.
func (k *Collection[T]) auditPart(field func(o *T) any) {
	o := new(T)
	for i := range k.schema.Properties {
		p := &k.schema.Properties[i]
		if len(p.Index()) == 0 || reflect.ValueOf(o).Elem().FieldByIndex(p.Index()).Addr().Interface() != field(o) {
			continue
		}
		if !slices.ContainsFunc(k.audited, func(kept auditedField) bool { return kept.name == p.Name }) {
			k.audited = append(k.audited, auditedField{p.Name, p.Index()})
		}
	}
}

// tenantOf returns the tenant that owns the object, or "".
func (k *Collection[T]) tenantOf(o *T) string {
	if _, ok := k.byName[tenantColumn]; !ok {
		return ""
	}
	owner, _ := k.field(o, tenantColumn).(string)
	return owner
}

func (k *Collection[T]) run(ctx context.Context, c store.Conn, change *Change[T], hooks ...func(context.Context, store.Conn, *Change[T]) error) error {
	for _, hook := range hooks {
		if hook != nil {
			if err := hook(ctx, c, change); err != nil {
				return err
			}
		}
	}
	return nil
}

// validate runs the hook on a copy, so what was validated is stored.
func (k *Collection[T]) validate(ctx context.Context, c store.Conn, change *Change[T]) error {
	if k.Validate == nil {
		return nil
	}
	copied, object := *change, *change.New
	copied.New = &object
	return k.Validate(ctx, c, &copied)
}

func (k *Collection[T]) update(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	scope, err := k.engine.TenantOf(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	body := k.partial
	if k.recursive(r) {
		body = k.bodies().update
	}
	sent, err := r.ObjectOf(body)
	if err != nil {
		return rest.Reply{}, err
	}
	change := &Change[T]{Request: r, Sent: sent, Tenant: scope}
	if err := k.receive(ctx, change); err != nil {
		return rest.Reply{}, err
	}
	if err := k.updateNested(ctx, change); err != nil {
		return rest.Reply{}, err
	}
	if !k.engine.Style.UpdateReply {
		return rest.Reply{}, nil
	}
	return k.reply(change.New, false)
}

// updateNested changes the object that the request's path names and, if it is asked to, what is nested in it.
func (k *Collection[T]) updateNested(ctx context.Context, change *Change[T]) error {
	var nested []sentNested[T]
	if k.recursive(change.Request) {
		var err error
		if nested, err = k.receiveNested(ctx, change.Request, change.Sent, false); err != nil {
			return err
		}
	}
	err := k.engine.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		if err := k.load(ctx, c, change, func(o *T) any { return o }); err != nil {
			return err
		}
		if err := k.editNested(ctx, c, change, nested); err != nil {
			return err
		}
		_, err := writeNested(ctx, c, change, nested)
		return err
	})
	if err != nil {
		return k.refused(err, change.New)
	}
	return nil
}

// editNested changes a loaded object as the client sent it, with what nested attributes change in the object itself.
func (k *Collection[T]) editNested(ctx context.Context, c store.Conn, change *Change[T], nested []sentNested[T]) error {
	return k.edit(ctx, c, change, func(o *T) error {
		if err := change.Sent.Into(o); err != nil {
			return err
		}
		return prepareNested(ctx, c, change, nested)
	})
}

// Edit changes the object that the request's path names, as a PUT of the fields that edit sets would: with Prepare, Validate,
// Save, Changed and Committed. It serves operations that change a part of an object.
func (k *Collection[T]) Edit(ctx context.Context, r *rest.Request, edit func(o *T) error) error {
	return k.changeIn(ctx, &Change[T]{Request: r}, func(_ context.Context, _ store.Conn, o *T) error { return edit(o) }, func(o *T) any { return o })
}

// changeIn is change with an edit that reads the database. shown returns the part of the object that the client has read, and
// names in If-Match.
func (k *Collection[T]) changeIn(
	ctx context.Context, change *Change[T], edit func(ctx context.Context, c store.Conn, o *T) error, shown func(o *T) any,
) (err error) {
	if change.Tenant == "" {
		if change.Tenant, err = k.engine.TenantOf(ctx, change.Request); err != nil {
			return err
		}
	}
	err = k.engine.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		if err := k.load(ctx, c, change, shown); err != nil {
			return err
		}
		return k.edit(ctx, c, change, func(o *T) error { return edit(ctx, c, o) })
	})
	if err != nil {
		return k.refused(err, change.New)
	}
	return nil
}

// edit changes a loaded object.
func (k *Collection[T]) edit(ctx context.Context, c store.Conn, change *Change[T], edit func(o *T) error) error {
	updated := *change.Old
	change.New = &updated
	if err := edit(change.New); err != nil {
		return err
	}
	k.keepFixed(change)
	if err := k.run(ctx, c, change, k.Prepare); err != nil {
		return err
	}
	k.keepFixed(change)
	if err := k.checkRefs(ctx, c, change, slices.Concat(k.ownerRefs, k.refs)); err != nil {
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
func (k *Collection[T]) load(ctx context.Context, c store.Conn, change *Change[T], shown func(o *T) any) (err error) {
	if err := k.mayWrite(ctx, c, change.Tenant); err != nil {
		return err
	}
	if change.Old, err = k.NamedIn(ctx, c, change.Request, change.Tenant); err != nil {
		return err
	}
	if len(change.Request.HTTP.Header.Values("If-Match")) == 0 && !k.engine.Style.UpdateReply {
		return nil
	}
	if err := k.present(ctx, c, change.Tenant, []*T{change.Old}); err != nil {
		return err
	}
	return rest.CheckIfMatch(change.Request.HTTP.Header, shown(change.Old))
}

// keepFixed undoes changes of fixed columns, before any hook reads them.
func (k *Collection[T]) keepFixed(change *Change[T]) {
	before, after := reflect.ValueOf(change.Old).Elem(), reflect.ValueOf(change.New).Elem()
	for _, col := range k.columns {
		if k.fixed(col) {
			after.FieldByIndex(col.index).Set(before.FieldByIndex(col.index))
		}
	}
}

// writeChanges writes the columns that differ. Fixed columns never do.
func (k *Collection[T]) writeChanges(ctx context.Context, c store.Conn, change *Change[T]) error {
	before, after := reflect.ValueOf(change.Old).Elem(), reflect.ValueOf(change.New).Elem()
	args := &arguments{}
	var sets []string
	for _, col := range k.columns {
		value := after.FieldByIndex(col.index)
		if !k.fixed(col) && !reflect.DeepEqual(before.FieldByIndex(col.index).Interface(), value.Interface()) {
			sets = append(sets, col.name+" = "+args.add(value.Interface()))
		}
	}
	if len(sets) == 0 {
		return nil
	}
	_, err := c.Exec(ctx, "UPDATE "+k.Table+" SET "+strings.Join(sets, ", ")+" WHERE "+k.itself(change.Old, args), args.values...)
	return err
}

// The fixed columns are those of the key, the tenant, the database's own, and those set only on create.
func (k *Collection[T]) fixed(col column) bool {
	if col.fixed || col.generated || col.computed || col.name == tenantColumn {
		return true
	}
	for _, key := range k.Keys {
		if key == col.name && col.kind != text {
			return true
		}
	}
	return false
}

// itself returns the condition for the object's own row.
func (k *Collection[T]) itself(o *T, args *arguments) string {
	keys := k.Keys[:1]
	if k.document != nil {
		keys = k.Keys
	}
	conditions := make([]string, len(keys))
	for i, key := range keys {
		conditions[i] = key + " = " + args.add(k.field(o, key))
	}
	return strings.Join(conditions, " AND ")
}

func (k *Collection[T]) remove(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	change := &Change[T]{Request: r}
	var err error
	if change.Tenant, err = k.engine.TenantOf(ctx, r); err != nil {
		return rest.Reply{}, err
	}
	err = k.engine.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		if err := k.load(ctx, c, change, func(o *T) any { return o }); err != nil {
			return err
		}
		if k.recursive(r) {
			if err := k.removeNested(ctx, c, change); err != nil {
				return err
			}
		}
		return k.erase(ctx, c, change)
	})
	if err != nil {
		return rest.Reply{}, k.refused(err, change.Old)
	}
	return rest.Reply{}, nil
}

// erase deletes a loaded object.
func (k *Collection[T]) erase(ctx context.Context, c store.Conn, change *Change[T]) error {
	if err := k.run(ctx, c, change, k.Guard); err != nil {
		return err
	}
	if err := k.run(ctx, c, change, k.guards...); err != nil {
		return err
	}
	args := &arguments{}
	if _, err := c.Exec(ctx, "DELETE FROM "+k.Table+" WHERE "+k.itself(change.Old, args), args.values...); err != nil {
		return err
	}
	k.counted(ctx)
	return k.conclude(ctx, c, change)
}

func (k *Collection[T]) reply(o *T, created bool) (rest.Reply, error) {
	tag, err := rest.ETag(o)
	if err != nil {
		return rest.Reply{}, err
	}
	header := http.Header{"Etag": {tag}}
	if created && k.engine.Style.Location {
		header.Set("Location", k.location(o))
	}
	return rest.Reply{Body: o, Header: header}, nil
}
