package crud

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// refsOf returns the columns that refer to other objects by the tag `ref`: "contexts.name" is the collection and the column of a
// value that must exist for the tenant. With the tag owner:"true" the object belongs to the tenant of what it refers to.
func refsOf(columns []column, owner bool) []column {
	var out []column
	for _, c := range columns {
		if c.ref != "" && c.owns == owner {
			out = append(out, c)
		}
	}
	return out
}

// checkRefs refuses changed values of these ref columns that name nothing. A new object takes the tenant of its owner, and later
// refuses an owner of another tenant.
func (k *CollectionOf[T]) checkRefs(ctx context.Context, c store.Conn, change *ChangeOf[T], refs []column) error {
	for _, col := range refs {
		value := reflect.ValueOf(change.New).Elem().FieldByIndex(col.index)
		if !isNull(change.Old) && reflect.DeepEqual(value.Interface(), reflect.ValueOf(change.Old).Elem().FieldByIndex(col.index).Interface()) {
			continue
		}
		if value = reflect.Indirect(value); !value.IsValid() {
			continue // null refers to nothing
		}
		scope := change.Tenant
		if !isNull(change.Old) {
			scope = k.tenantOf(change.Old)
		}
		owner, err := k.engine.refer(ctx, c, col, scope, value.Interface())
		if err != nil {
			return err
		}
		switch {
		case !col.owns:
		case isNull(change.Old):
			change.Tenant = owner
		case owner != scope:
			return k.engine.Style.DifferentTenants(k.Singular, scope, col.name, owner)
		}
	}
	return nil
}

// refer returns the tenant that owns the object to which a column's value refers.
func (e *Engine) refer(ctx context.Context, c store.Conn, col column, scope string, value any) (string, error) {
	path, name, _ := strings.Cut(col.ref, ".")
	t, ok := e.byPath[path]
	if !ok {
		return "", fmt.Errorf("the column %s refers to %s, which is not declared", col.name, path)
	}
	if _, ok := t.column(name); !ok {
		return "", fmt.Errorf("the column %s refers to %s, which has no column %s", col.name, path, name)
	}
	owner, err := Remember(ctx, t.tableName(), fmt.Sprint(name, " ", scope, " ", value), func() (string, error) {
		return store.Get[string](ctx, c, "SELECT CAST("+t.owner()+" AS text) FROM "+t.tableName()+" WHERE "+name+" = $1 AND "+
			tenant.Below(t.owner(), "$2")+" ORDER BY "+t.owner()+" <> $2 LIMIT 1", value, scope)
	})
	if errors.Is(err, store.ErrNotFound) {
		return "", Missing(col.name, t.title(), col.name, value)
	}
	return owner, err
}

// mayTake refuses a caller who is denied to change what refers to an object that is deleted, in the own data of other objects: it goes too.
func (k *CollectionOf[T]) mayTake(ctx context.Context, c store.Conn, change *ChangeOf[T]) error {
	if change.Request == nil || !HasDenials(change.Request) {
		return nil
	}
	for _, path := range slices.Sorted(maps.Keys(k.engine.byPath)) {
		valueOf := func(attribute string) any { return k.field(change.Old, attribute) }
		if err := k.engine.byPath[path].mayLose(ctx, c, change.Request, k.Path, valueOf); err != nil {
			return err
		}
	}
	return nil
}

// mayLose refuses a caller who is denied to change an object of which own data refers to an object of a path's collection.
func (k *CollectionOf[T]) mayLose(ctx context.Context, c store.Conn, r *rest.Request, path string, valueOf func(attribute string) any) error {
	for _, b := range k.Beside {
		loses := b.Loses
		if loses == nil {
			loses = func(ctx context.Context, c store.Conn, r *rest.Request, column string, value any) error {
				return k.NoneDenied(ctx, c, r, b.Changes, k.Keys[0]+" IN (SELECT "+b.By+" FROM "+b.From+" WHERE "+column+" = $1)", value)
			}
		}
		for _, column := range slices.Sorted(maps.Keys(b.Refers)) {
			if of, attribute, _ := strings.Cut(b.Refers[column], "."); of == path {
				if err := loses(ctx, c, r, column, valueOf(attribute)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Declared returns the table of a path's collection, and what an object of it is called in refusals: both "" if it is not declared.
func (e *Engine) Declared(path string) (table, title string) {
	if t, ok := e.byPath[path]; ok {
		return t.tableName(), t.title()
	}
	return "", ""
}

// Has reports whether a tenant itself owns an object whose column has this value. It returns false if the collection is not
// declared.
func (e *Engine) Has(ctx context.Context, c store.Conn, tenantUUID, path, column string, value any) (bool, error) {
	t, ok := e.byPath[path]
	if !ok {
		return false, nil
	}
	n, err := store.Get[int](ctx, c, "SELECT count(*) FROM "+t.tableName()+" WHERE "+column+" = $1 AND "+t.owner()+" = $2", value, tenantUUID)
	return n > 0, err
}

// Missing refuses a field of a body that names an object that does not exist, or that the caller does not see: "field 'context': Context
// was not found ('context': 'x')". title is what an object of its collection is called, and key the name of the value.
func Missing(field, title, key string, value any) *apierr.Error {
	return apierr.New(apierr.Invalid, "field '%s': %s was not found ('%s': %s)", field, title, key, quoted(value)).On(field)
}
