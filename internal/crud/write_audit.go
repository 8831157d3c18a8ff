package crud

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// record writes a change to the audit and emits its event, unless nothing changed.
func (k *CollectionOf[T]) record(ctx context.Context, c store.Conn, change *ChangeOf[T]) error {
	a := audit.Change{Tenant: change.Tenant, Resource: k.Path}
	one := change.New
	if !isNull(change.Old) {
		one, a.Before = change.Old, k.auditData(change.Old)
	}
	if !isNull(change.New) {
		a.After = k.auditData(change.New)
	}
	k.identify(&a, one)
	if !isNull(change.Old) && !isNull(change.New) && reflect.DeepEqual(a.Before, a.After) && k.sameColumns(change.Old, change.New) {
		return nil
	}
	emit(ctx, Event{Resource: a.Resource, Key: a.Object, Tenant: k.tenantOf(one)})
	if k.Audited != nil {
		k.Audited(one, &a)
	}
	return audit.Write(ctx, c, change.Request, a)
}

// sameColumns reports whether an object's row is unchanged, including columns that nobody is shown.
func (k *CollectionOf[T]) sameColumns(one, other T) bool {
	before, after := reflect.ValueOf(one).Elem(), reflect.ValueOf(other).Elem()
	return !slices.ContainsFunc(k.columns, func(col column) bool {
		return !k.fixed(col) && !reflect.DeepEqual(before.FieldByIndex(col.index).Interface(), after.FieldByIndex(col.index).Interface())
	})
}

// identify fills in which object a change is of: its name, its tenant, and the keys by which it can be read.
func (k *CollectionOf[T]) identify(a *audit.Change, o T) {
	if k.document != nil {
		a.Resource, a.Object = k.document.place(k.aliases(o).keys[1:])
	} else {
		a.Object, a.Keys, a.Sides = fmt.Sprint(k.Key(o)), [][]string{k.aliases(o).keys}, []string{k.Path}
	}
	if _, ok := k.byName[k.Owner]; ok {
		a.Tenant = fmt.Sprint(k.field(o, k.Owner))
	}
}

// auditData returns an object's own data: its columns, and the fields that a client may write and read.
func (k *CollectionOf[T]) auditData(o T) map[string]any {
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
func (k *CollectionOf[T]) auditPart(field func(o T) any) {
	o := fresh[T]()
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

// auditedField is a field that the audit keeps.
type auditedField struct {
	name  string
	index []int
}

// auditedFields returns the properties that are columns, or that a client may write and read: of what is never shown, an object has nothing.
func auditedFields(schema *rest.Schema, columns []column) []auditedField {
	kept := map[int]bool{}
	for _, c := range columns {
		kept[c.index[0]] = true
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
