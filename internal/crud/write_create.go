package crud

import (
	"context"
	"encoding/json"
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

func (k *CollectionOf[T]) create(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	if len(k.Nested) == 0 {
		return k.createIn(ctx, r, k.insert)
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
	if err := k.makeDraft(ctx, draft, reply); err != nil {
		return rest.Reply{}, k.Refused(err, draft.object)
	}
	if !reply.WasRead() && reply.read(ctx) != nil { // it is made: somebody has deleted it since, or the database has become unavailable
		return k.reply(ctx, reply.made.Object, true)
	}
	answer, err := k.reply(ctx, reply.shown.object.(T), true)
	reply.shown.object, answer.Body = answer.Body, reply.shown
	return answer, err
}

// makeDraft makes an object and what is nested in it, in a transaction. The reply is read after the commit: what a transaction reads beside
// what others write makes it run again.
func (k *CollectionOf[T]) makeDraft(ctx context.Context, draft *DraftOf[T], reply *madeReply[T]) error {
	do := func(ctx context.Context, c store.Conn) (err error) {
		defer changes.Bound(ctx)()
		reply.made, err = k.Make(ctx, c, reply.scope, draft)
		return err
	}
	if len(draft.nested) == 0 {
		return k.engine.InTx(ctx, do)
	}
	if rights.Restricted(ctx) {
		return k.engine.InBatch(ctx, do, nil) // what they are denied is theirs alone
	}
	return k.engine.InBatch(ctx, do, reply)
}

// createIn reads the body and lets insert write the object, in one transaction.
func (k *CollectionOf[T]) createIn(ctx context.Context, r *rest.Request, insert func(context.Context, store.Conn, *declaration.Change[T]) error) (rest.Reply, error) {
	scope, sent, err := k.engine.Begin(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	change, err := k.received(ctx, r, sent)
	if err != nil {
		return rest.Reply{}, err
	}
	received := change.New
	err = k.engine.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		change.New, change.Tenant = declaration.Cloned(received), scope // the transaction may run again
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

// received returns the creation of the object that was sent, with its defaults, as Receive leaves it.
func (k *CollectionOf[T]) received(ctx context.Context, r *rest.Request, sent rest.Object) (*declaration.Change[T], error) {
	change := &declaration.Change[T]{Request: r, Sent: sent, New: declaration.Fresh[T]()}
	if err := k.Schema.SetDefaults(change.New); err != nil {
		return nil, err
	}
	if err := sent.Into(change.New); err != nil {
		return nil, err
	}
	return change, k.receive(ctx, change)
}

func (k *CollectionOf[T]) receive(ctx context.Context, change *declaration.Change[T]) error {
	if k.Receive == nil {
		return nil
	}
	return k.Receive(ctx, change)
}

// insert writes the row and the object's other data, and leaves in change.New the object as a client reads it.
func (k *CollectionOf[T]) insert(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	if err := k.insertRow(ctx, c, change); err != nil {
		return err
	}
	return k.complete(ctx, c, change)
}

// ready completes and checks a new object, before its row is written.
func (k *CollectionOf[T]) ready(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	if err := k.checkRefs(ctx, c, change, k.OwnerRefs); err != nil {
		return err
	}
	if col := k.Column(declaration.TenantColumn); col.Name != "" {
		reflect.ValueOf(change.New).Elem().FieldByIndex(col.Index).SetString(change.Tenant)
	}
	if err := k.run(ctx, c, change, k.Prepare); err != nil {
		return err
	}
	if err := k.checkRefs(ctx, c, change, k.Refs); err != nil {
		return err
	}
	return k.validate(ctx, c, change)
}

// insertAll writes new objects, and the rows of all of them in one statement. It leaves in them what they are by themselves, without what
// they are linked with. Their rows have texts, numbers, truth values and UUIDs, and nothing that the database generates.
func (k *CollectionOf[T]) insertAll(ctx context.Context, c store.Conn, all []*declaration.Change[T]) error {
	var names, values []string
	for i, col := range k.Columns {
		names, values = append(names, col.Name), append(values, col.Kind.FromList("e.value", i))
	}
	rows, objects := make([][]any, len(all)), make([]T, len(all))
	for i, change := range all {
		if err := k.ready(ctx, c, change); err != nil {
			return err
		}
		objects[i] = change.New
		for _, col := range k.Columns {
			rows[i] = append(rows[i], reflect.ValueOf(change.New).Elem().FieldByIndex(col.Index).Interface())
		}
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "INSERT INTO "+k.Table+" ("+strings.Join(names, ", ")+") SELECT "+strings.Join(values, ", ")+
		" FROM json_each(CAST($1 AS text)) AS e", string(list)); err != nil {
		return err
	}
	if err := k.LoadOwn(ctx, c, objects); err != nil {
		return err
	}
	for _, change := range all {
		changes.MemoryOf(ctx).Made(k.Table, k.Key(change.New))
		if k.Counted {
			changes.Count(ctx)
		}
		if err := k.run(ctx, c, change, k.save, k.conclude); err != nil {
			return err
		}
	}
	return nil
}

// insertRow checks a new object, and writes its row.
func (k *CollectionOf[T]) insertRow(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	if err := changes.MayMake(ctx); err != nil {
		return err
	}
	if err := k.ready(ctx, c, change); err != nil {
		return err
	}
	args := &query.Arguments{}
	var names, values []string
	row := reflect.ValueOf(change.New).Elem()
	for _, col := range k.Columns {
		if !col.Generated && !col.Computed {
			names = append(names, col.Name)
			values = append(values, args.Add(row.FieldByIndex(col.Index).Interface()))
		}
	}
	stored, err := store.Get[T](ctx, c, "INSERT INTO "+k.Table+" ("+strings.Join(names, ", ")+") VALUES ("+strings.Join(values, ", ")+
		") RETURNING "+k.Selected(), args.Values...)
	if err != nil {
		return err
	}
	k.copyColumns(change.New, stored)
	changes.MemoryOf(ctx).Made(k.Table, k.Key(change.New))
	if k.Counted {
		changes.Count(ctx)
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

// slow reports whether a nested attribute needs work that must not hold a transaction, such as the hash of a password. The operations that
// take such an attribute then have Ahead.
func (k *CollectionOf[T]) slow() bool {
	return slices.ContainsFunc(k.Nested, func(name string) bool {
		n := k.nestedAs(name)
		return n != nil && n.Receive != nil
	})
}

// drafted returns the object that the body of a POST describes, as it was drafted ahead, or now.
func (k *CollectionOf[T]) drafted(ctx context.Context, r *rest.Request) (*DraftOf[T], error) {
	if d, ok := r.Ahead.(*DraftOf[T]); ok {
		return d, nil
	}
	sent, err := r.Object()
	if err != nil {
		return nil, err
	}
	return k.draft(ctx, r, sent, false)
}
