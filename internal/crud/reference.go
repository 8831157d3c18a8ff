package crud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// checkRefs refuses changed values of these ref columns that name nothing. A new object takes the tenant of its owner, and later
// refuses an owner of another tenant.
func (k *CollectionOf[T]) checkRefs(ctx context.Context, c store.Conn, change *declaration.Change[T], refs []declaration.Column) error {
	for _, col := range refs {
		value := reflect.ValueOf(change.New).Elem().FieldByIndex(col.Index)
		if !declaration.IsNull(change.Old) && reflect.DeepEqual(value.Interface(), reflect.ValueOf(change.Old).Elem().FieldByIndex(col.Index).Interface()) {
			continue
		}
		if value = reflect.Indirect(value); !value.IsValid() {
			continue // null refers to nothing
		}
		scope := change.Tenant
		if !declaration.IsNull(change.Old) {
			scope = k.TenantOf(change.Old)
		}
		owner, err := k.engine.refer(ctx, c, col, scope, value.Interface())
		if err != nil {
			return err
		}
		switch {
		case !col.Owns:
		case declaration.IsNull(change.Old):
			change.Tenant = owner
		case owner != scope:
			return k.Style.DifferentTenants(k.Singular, scope, col.Name, owner)
		}
	}
	return nil
}

// refer returns the tenant that owns the object to which a column's value refers.
func (e *Engine) refer(ctx context.Context, c store.Conn, col declaration.Column, scope string, value any) (string, error) {
	path, name, _ := strings.Cut(col.Ref, ".")
	of := e.Declared(path)
	if of == nil || !of.Has(name) {
		return "", fmt.Errorf("the column %s refers to %s, which is not declared", col.Name, col.Ref)
	}
	owner, err := transaction.Remember(ctx, of.Table, fmt.Sprint(name, " ", scope, " ", value), func() (string, error) {
		return store.Get[string](ctx, c, "SELECT CAST("+of.Owner+" AS text) FROM "+of.Table+" WHERE "+name+" = $1 AND "+
			tenant.Below(of.Owner, "$2")+" ORDER BY "+of.Owner+" <> $2 LIMIT 1", value, scope)
	})
	if errors.Is(err, store.ErrNotFound) {
		return "", declaration.Missing(col.Name, of.Title, col.Name, value)
	}
	return owner, err
}

// mayTake refuses a caller who is denied to change what refers to an object that is deleted, in the own data of other objects: it goes too.
func (k *CollectionOf[T]) mayTake(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
	if change.Request == nil || !rights.HasDenials(change.Request) {
		return nil
	}
	for _, t := range k.engine.tables() {
		for _, ref := range t.referring(k.Path) {
			value, err := k.Field(change.Old, ref.attribute), error(nil)
			switch {
			case ref.changes == "":
			case ref.loses != nil:
				err = ref.loses(ctx, c, change.Request, ref.column, value)
			default:
				err = t.NoneDenied(ctx, c, change.Request, ref.changes, ref.where("$1"), value)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// reference is a column by which objects refer to an attribute of others: their own, or one of their own data in another table.
type reference struct {
	column, attribute string
	// where returns the condition for the objects that refer to a value.
	where func(placeholder string) string
	// changes and loses are those of the [declaration.Beside] of the own data.
	changes string
	loses   func(ctx context.Context, c store.Conn, r *rest.Request, column string, value any) error
}

// referring returns what refers to the objects of a path's collection.
func (k *CollectionOf[T]) referring(path string) (out []reference) {
	add := func(ref string, r reference) {
		if of, attribute, _ := strings.Cut(ref, "."); of == path && k.engine.byPath[of].entity().Has(attribute) { // not inside of the objects
			r.attribute = attribute
			out = append(out, r)
		}
	}
	for _, col := range k.Columns {
		add(col.Refers(), reference{column: col.Name, where: func(placeholder string) string { return col.Name + " = " + placeholder }})
	}
	for _, b := range k.Beside {
		for _, column := range slices.Sorted(maps.Keys(b.Refers)) {
			where := func(placeholder string) string { return b.Among(k.Keys[0], column+" = "+placeholder) }
			add(b.Refers[column], reference{column: column, where: where, changes: cmp.Or(b.Changes, "update"), loses: b.Loses})
		}
	}
	return out
}

// Unname empties the columns by which objects name one that is to be deleted: those with this tag `names`, as in "moh.name". It refuses a caller
// who is denied to change one of the objects. See [CollectionOf.Repoint].
func (e *Engine) Unname(ctx context.Context, c store.Conn, r *rest.Request, names string, name any) error {
	for _, t := range e.tables() {
		for _, col := range t.entity().Columns {
			if col.Names != names {
				continue
			}
			if err := t.NoneDenied(ctx, c, r, "update", col.Name+" = $1", name); err != nil {
				return err
			}
			if err := t.Repoint(ctx, c, r, col.Name, name, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// Declared returns what the objects of a path's collection are, or nil.
func (e *Engine) Declared(path string) *declaration.Entity {
	if t, ok := e.byPath[path]; ok {
		return t.entity()
	}
	return nil
}

// Has reports whether a tenant itself owns an object of a path's collection whose column has this value.
func (e *Engine) Has(ctx context.Context, c store.Conn, tenantUUID, path, column string, value any) (bool, error) {
	of := e.Declared(path)
	n, err := store.Get[int](ctx, c, "SELECT count(*) FROM "+of.Table+" WHERE "+column+" = $1 AND "+of.Owner+" = $2", value, tenantUUID)
	return n > 0, err
}
