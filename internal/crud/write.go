package crud

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

func (k *collection[T]) create(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	return k.createIn(ctx, r, k.insert)
}

// createIn reads the body and has insert write the object, in one transaction.
func (k *collection[T]) createIn(ctx context.Context, r *rest.Request, insert func(context.Context, store.Conn, *Change[T]) error) (rest.Reply, error) {
	sent, err := r.Object()
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
	scope, err := tenant.Of(ctx, k.engine.DB, r)
	if err != nil {
		return rest.Reply{}, err
	}
	received := *change.New
	err = k.engine.DB.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		fresh := received // the transaction may run again
		change.New, change.Tenant = &fresh, scope
		return insert(ctx, c, change)
	})
	if err != nil {
		return rest.Reply{}, k.refused(err, change.New)
	}
	if k.Committed != nil {
		k.Committed(change)
	}
	return k.reply(change.New, true)
}

func (k *collection[T]) receive(ctx context.Context, change *Change[T]) error {
	if k.Receive == nil {
		return nil
	}
	return k.Receive(ctx, change)
}

// insert writes the row and what belongs to it, and leaves in change.New the object as a client reads it.
func (k *collection[T]) insert(ctx context.Context, c store.Conn, change *Change[T]) error {
	if col, ok := k.byName["tenant_uuid"]; ok {
		reflect.ValueOf(change.New).Elem().FieldByIndex(col.index).SetString(change.Tenant)
	}
	if err := k.run(ctx, c, change, k.Prepare, k.Validate); err != nil {
		return err
	}
	args := &arguments{}
	var names, values []string
	row := reflect.ValueOf(change.New).Elem()
	for _, col := range k.columns {
		if !col.generated {
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
	return k.complete(ctx, c, change)
}

// copyColumns takes the columns of a row and leaves the other fields.
func (k *collection[T]) copyColumns(to, from *T) {
	dst, src := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	for _, col := range k.columns {
		dst.FieldByIndex(col.index).Set(src.FieldByIndex(col.index))
	}
}

// complete runs what follows the row, and makes New what a client reads.
func (k *collection[T]) complete(ctx context.Context, c store.Conn, change *Change[T]) error {
	if err := k.run(ctx, c, change, k.Save); err != nil {
		return err
	}
	if err := k.finish(ctx, c, change.Tenant, []*T{change.New}); err != nil {
		return err
	}
	if err := k.run(ctx, c, change, k.Changed); err != nil {
		return err
	}
	return k.record(ctx, c, change)
}

// record keeps the change in the audit, unless nothing changed.
func (k *collection[T]) record(ctx context.Context, c store.Conn, change *Change[T]) error {
	a := audit.Change{Tenant: change.Tenant, Resource: k.Path}
	if change.Old != nil {
		a.Before, a.Object = change.Old, fmt.Sprint(k.field(change.Old, k.Keys[0]))
	}
	if change.New != nil {
		a.After, a.Object = change.New, fmt.Sprint(k.field(change.New, k.Keys[0]))
	}
	k.located(&a, cmp.Or(change.New, change.Old))
	if change.Old != nil && change.New != nil && reflect.DeepEqual(change.Old, change.New) {
		return nil
	}
	return audit.Write(ctx, c, change.Request, a)
}

// located says whose an audited object is and by which keys it can be read.
func (k *collection[T]) located(a *audit.Change, o *T) {
	a.Keys = [][]string{k.spelt(o).keys}
	if _, ok := k.byName[k.Owner]; ok {
		a.Tenant = fmt.Sprint(k.field(o, k.Owner))
	}
}

func (k *collection[T]) run(ctx context.Context, c store.Conn, change *Change[T], hooks ...func(context.Context, store.Conn, *Change[T]) error) error {
	for _, hook := range hooks {
		if hook != nil {
			if err := hook(ctx, c, change); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *collection[T]) update(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	sent, err := r.Object()
	if err != nil {
		return rest.Reply{}, err
	}
	change := &Change[T]{Request: r, Sent: sent}
	if err := k.receive(ctx, change); err != nil {
		return rest.Reply{}, err
	}
	if err := k.change(ctx, change, func(o *T) error { return sent.Into(o) }); err != nil {
		return rest.Reply{}, err
	}
	if !k.engine.Style.UpdateReply {
		return rest.Reply{}, nil
	}
	return k.reply(change.New, false)
}

// Edit changes the object that the request's path names, as a PUT would whose body set what edit sets: with
// Validate, Save, Changed and Committed. It serves operations that change a part of an object.
func (r Resource[T]) Edit(ctx context.Context, e *Engine, req *rest.Request, edit func(o *T) error) error {
	k := r.on(e)
	change := &Change[T]{Request: req}
	return k.change(ctx, change, edit)
}

// change makes an update in one transaction.
func (k *collection[T]) change(ctx context.Context, change *Change[T], edit func(o *T) error) (err error) {
	if change.Tenant, err = tenant.Of(ctx, k.engine.DB, change.Request); err != nil {
		return err
	}
	err = k.engine.DB.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		if err := k.load(ctx, c, change); err != nil {
			return err
		}
		updated := *change.Old
		change.New = &updated
		if err := edit(change.New); err != nil {
			return err
		}
		k.keepFixed(change)
		if err := k.run(ctx, c, change, k.Validate); err != nil {
			return err
		}
		if err := k.writeChanges(ctx, c, change); err != nil {
			return err
		}
		return k.complete(ctx, c, change)
	})
	if err != nil {
		return k.refused(err, change.New)
	}
	if k.Committed != nil {
		k.Committed(change)
	}
	return nil
}

// load finds the object that is to be changed, and refuses when it is not what the client has read.
func (k *collection[T]) load(ctx context.Context, c store.Conn, change *Change[T]) (err error) {
	if change.Old, err = k.find(ctx, c, change.Tenant, change.Request.Param(k.Param)); err != nil {
		return err
	}
	if err := refuseDenied(change.Request, k.spelt(change.Old)); err != nil {
		return err
	}
	return rest.CheckIfMatch(change.Request.HTTP.Header, change.Old)
}

// keepFixed undoes what was sent for fixed columns, before any hook takes it for the object's.
func (k *collection[T]) keepFixed(change *Change[T]) {
	before, after := reflect.ValueOf(change.Old).Elem(), reflect.ValueOf(change.New).Elem()
	for _, col := range k.columns {
		if k.fixed(col) {
			after.FieldByIndex(col.index).Set(before.FieldByIndex(col.index))
		}
	}
}

// writeChanges writes the columns that differ. Those that are fixed never do.
func (k *collection[T]) writeChanges(ctx context.Context, c store.Conn, change *Change[T]) error {
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

// fixed columns are those of the key, the tenant, and what the database gives.
func (k *collection[T]) fixed(col column) bool {
	if col.generated || col.name == "tenant_uuid" {
		return true
	}
	for _, key := range k.Keys {
		if key == col.name && col.kind != text {
			return true
		}
	}
	return false
}

// itself is the condition for the object's own row.
func (k *collection[T]) itself(o *T, args *arguments) string {
	key := k.byName[k.Keys[0]]
	return key.name + " = " + args.add(k.field(o, k.Keys[0]))
}

func (k *collection[T]) remove(ctx context.Context, r *rest.Request) (rest.Reply, error) { //nolint:unparam // it is a rest.Handler
	change := &Change[T]{Request: r}
	var err error
	if change.Tenant, err = tenant.Of(ctx, k.engine.DB, r); err != nil {
		return rest.Reply{}, err
	}
	err = k.engine.DB.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		if err := k.load(ctx, c, change); err != nil {
			return err
		}
		if err := k.run(ctx, c, change, k.Guard); err != nil {
			return err
		}
		args := &arguments{}
		if _, err := c.Exec(ctx, "DELETE FROM "+k.Table+" WHERE "+k.itself(change.Old, args), args.values...); err != nil {
			return err
		}
		if err := k.run(ctx, c, change, k.Changed); err != nil {
			return err
		}
		return k.record(ctx, c, change)
	})
	if err != nil {
		return rest.Reply{}, k.refused(err, change.Old)
	}
	if k.Committed != nil {
		k.Committed(change)
	}
	return rest.Reply{}, nil
}

func (k *collection[T]) reply(o *T, created bool) (rest.Reply, error) {
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
