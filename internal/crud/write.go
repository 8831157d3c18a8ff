package crud

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/crud/changes"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// complete runs the steps after the row is written. If the reply has the object, it turns New into what a client reads.
func (k *CollectionOf[T]) complete(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	if err := k.save(ctx, c, change); err != nil {
		return err
	}
	if err := k.LoadOwn(ctx, c, []T{change.New}); err != nil {
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

// conclude ends every change: the last hook, the audit, and the work for after the commit.
func (k *CollectionOf[T]) conclude(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	if err := k.run(ctx, c, change, k.Changed); err != nil {
		return err
	}
	if k.Committed != nil {
		changes.AfterCommit(ctx, func() { k.Committed(change) })
	}
	return k.record(ctx, c, change)
}

// run runs the hooks in this order, and returns the first error.
func (k *CollectionOf[T]) run(ctx context.Context, c store.Conn, change *declaration.Change[T], hooks ...func(context.Context, store.Conn, *declaration.Change[T]) error) error {
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
		header.Set("Location", k.At(k.Key(o)))
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
		return k.preview(ctx, change)
	}
	if k.Shrink != nil && !changes.Inside(ctx) {
		if err := k.before(ctx, change, nil); err != nil {
			return rest.Reply{}, err
		}
		if err := k.Shrink(ctx, change); err != nil {
			return rest.Reply{}, err
		}
	}
	return rest.Reply{}, k.refused(k.engine.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		if err := k.load(ctx, c, change, nil); err != nil {
			return err
		}
		if k.recursive(r) {
			if err := k.removeNested(ctx, c, change); err != nil {
				return err
			}
		}
		return k.erase(ctx, c, change)
	}), change)
}

// preview says what a delete would do.
func (k *CollectionOf[T]) preview(ctx context.Context, change *declaration.Change[T]) (rest.Reply, error) {
	reply := rest.Reply{Status: http.StatusOK}
	err := k.before(ctx, change, func(ctx context.Context, c store.Conn) (err error) {
		reply.Body, err = k.Preview.Show(ctx, c, change)
		return err
	})
	return reply, err
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

// erase deletes a loaded object.
func (k *CollectionOf[T]) erase(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	if err := k.mayUnlink(ctx, c, change); err != nil {
		return err
	}
	if err := k.run(ctx, c, change, k.mayTake, k.Guard, k.unlink); err != nil {
		return err
	}
	changes.MemoryOf(ctx).Deleted()
	args := &query.Arguments{}
	if _, err := c.Exec(ctx, "DELETE FROM "+k.Table+" WHERE "+k.Itself(change.Old, args), args.Values...); err != nil {
		return err
	}
	if k.Counted {
		changes.Count(ctx)
	}
	return k.conclude(ctx, c, change)
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
	if !declaration.IsNull(change.Old) && !declaration.IsNull(change.New) && reflect.DeepEqual(a.Before, a.After) && k.sameColumns(change.Old, change.New) {
		return nil
	}
	changes.Emit(ctx, changes.Event{Resource: a.Resource, Key: a.Object, Tenant: k.TenantOf(one)})
	if k.Audited != nil {
		k.Audited(one, &a)
	}
	return audit.Write(ctx, c, change.Request, a)
}

// sameColumns reports whether an object's row is unchanged, including columns that nobody is shown.
func (k *CollectionOf[T]) sameColumns(one, other T) bool {
	before, after := reflect.ValueOf(one).Elem(), reflect.ValueOf(other).Elem()
	return !slices.ContainsFunc(k.Columns, func(col declaration.Column) bool {
		return !k.Fixed(col) && !reflect.DeepEqual(before.FieldByIndex(col.Index).Interface(), after.FieldByIndex(col.Index).Interface())
	})
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
	for i := range k.audited {
		p := &k.audited[i]
		out[p.name] = v.FieldByIndex(p.index).Interface()
	}
	return out
}

// auditPart adds a part of the object to the fields that the audit keeps.
func (k *CollectionOf[T]) auditPart(field func(o T) any) {
	o := declaration.Fresh[T]()
	for i := range k.Schema.Properties {
		p := &k.Schema.Properties[i]
		if len(p.Index()) == 0 || reflect.ValueOf(o).Elem().FieldByIndex(p.Index()).Addr().Interface() != field(o) {
			continue
		}
		if !slices.ContainsFunc(k.audited, func(kept auditedField) bool { return kept.name == p.Name }) {
			k.audited = append(k.audited, auditedField{p.Name, p.Index()})
		}
	}
}

// auditedField is a field that the audit keeps.
type auditedField struct {
	name  string
	index []int
}

// auditedFields returns the properties that are columns, or that a client may write and read: of what is never shown, an object has nothing.
func auditedFields(schema *rest.Schema, columns []declaration.Column) []auditedField {
	kept := map[int]bool{}
	for _, c := range columns {
		kept[c.Index[0]] = true
	}
	var out []auditedField
	for i := range schema.Properties {
		p := &schema.Properties[i]
		if index := p.Index(); len(index) > 0 && (kept[index[0]] || !p.ReadOnly && !p.WriteOnly) {
			out = append(out, auditedField{p.Name, index})
		}
	}
	return out
}
