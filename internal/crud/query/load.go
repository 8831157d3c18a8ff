package query

import (
	"context"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/store"
)

// LoadAtOnce is how many objects one Load gets: databases limit the arguments of a statement.
const LoadAtOnce = 1000

// flagged is a row with a digit for each loader, which says whether there is anything to load.
type flagged[T declaration.Pointer] struct {
	Object T      `db:"object"`
	There  string `db:"there"`
}

// assemble turns rows into the objects that a client reads. The query of the rows has also found out which other tables have rows of them:
// objects with none elsewhere take no further query. Linked objects in attributes that are not among fields are left out; nil is all
// attributes.
func (k *Reader[T]) assemble(ctx context.Context, c store.Conn, scope string, rows []*flagged[T], fields []string) ([]T, error) {
	objects := make([]T, len(rows))
	for i, row := range rows {
		objects[i] = row.Object
	}
	for i, l := range k.queries().loaders {
		if i == len(k.beside) {
			if err := k.RunLoad(ctx, c, objects); err != nil {
				return nil, err
			}
		}
		if err := loadThere(ctx, c, scope, l, objects, func(o int) bool { return rows[o].There[i] != '0' && l.chosen(fields) }); err != nil {
			return nil, err
		}
	}
	if len(k.queries().loaders) == len(k.beside) {
		if err := k.RunLoad(ctx, c, objects); err != nil {
			return nil, err
		}
	}
	return objects, k.adapt(ctx, c, scope, objects)
}

// loadThere fills in a field of the objects that have something to load, and blanks it in the others.
func loadThere[O declaration.Pointer](ctx context.Context, c store.Conn, scope string, l Loader, objects []O, there func(i int) bool) error {
	var with []O
	for i, o := range objects {
		if there(i) {
			with = append(with, o)
		} else {
			l.blank(o)
		}
	}
	return loadAll(ctx, c, scope, l, with)
}

// loadAll fills in a field of objects, in parts.
func loadAll[O declaration.Pointer](ctx context.Context, c store.Conn, scope string, l Loader, objects []O) error {
	for some := range slices.Chunk(objects, LoadAtOnce) {
		if err := l.load(ctx, c, scope, some); err != nil {
			return err
		}
	}
	return nil
}

// flags returns the expression for a row's digits. key is the column, with its table, that the loaders know the row by.
func flags(loaders []Loader, key string) string {
	digits := []string{"''"}
	for _, l := range loaders {
		digits = append(digits, "CASE WHEN "+l.exist(key)+" THEN '1' ELSE '0' END")
	}
	return strings.Join(digits, " || ")
}

// LoadAll turns rows into the objects that a client reads.
func (k *Reader[T]) LoadAll(ctx context.Context, c store.Conn, scope string, objects []T) error {
	if err := k.LoadOwn(ctx, c, objects); err != nil || len(objects) == 0 {
		return err
	}
	return k.LoadLinks(ctx, c, scope, objects)
}

// LoadOwn fills in the fields of an object that hooks store outside the row.
func (k *Reader[T]) LoadOwn(ctx context.Context, c store.Conn, objects []T) error {
	for _, l := range k.beside {
		if err := loadAll(ctx, c, "", l, objects); err != nil {
			return err
		}
	}
	return k.RunLoad(ctx, c, objects)
}

// RunLoad runs the resource's Load. Lists that nothing fills in are empty: clients read no null in place of a list.
func (k *Reader[T]) RunLoad(ctx context.Context, c store.Conn, objects []T) error {
	for _, o := range objects {
		for _, l := range k.lists {
			if field := reflect.ValueOf(o).Elem().FieldByIndex(l.index); field.IsNil() {
				field.Set(l.empty)
			}
		}
	}
	if k.Load == nil {
		return nil
	}
	for some := range slices.Chunk(objects, LoadAtOnce) {
		if err := k.Load(ctx, c, some); err != nil {
			return err
		}
	}
	return nil
}

// LoadLinks adds the rest: the linked objects, how they look to the tenant that reads them, and where they are.
func (k *Reader[T]) LoadLinks(ctx context.Context, c store.Conn, scope string, objects []T) error {
	for _, l := range k.shows[declaration.StructOf[T]()] {
		if err := loadAll(ctx, c, scope, l, objects); err != nil {
			return err
		}
	}
	return k.adapt(ctx, c, scope, objects)
}

// adapt shows objects as the tenant that reads them sees them, and where they are.
func (k *Reader[T]) adapt(ctx context.Context, c store.Conn, scope string, objects []T) error {
	for _, o := range objects {
		k.locate(o, k.Called(o))
	}
	if k.Present == nil {
		return nil
	}
	return k.Present(ctx, c, scope, objects)
}

// locate sets an object's location, if the service's style shows it.
func (k *Reader[T]) locate(o, key any) {
	if !k.Style.Location {
		return
	}
	if l, ok := o.(linked); ok {
		l.setLinks([]Href{{Rel: k.Rel, Href: k.At(key)}})
	}
}

// At returns the path, behind the gate, of the object with a key.
func (k *Reader[T]) At(key any) string {
	return k.Prefix + "/" + k.Path + "/" + url.PathEscape(fmt.Sprint(key))
}

// Href is one of an object's links.
type Href struct {
	Rel  string `json:"rel"`
	Href string `json:"href"`
}

// Hrefs is embedded by the objects of services whose Style has Location.
type Hrefs struct {
	Links []Href `json:"links" readOnly:"true" doc:"Where this object is."`
}

func (h *Hrefs) setLinks(links []Href) { h.Links = links }

type linked interface{ setLinks(links []Href) }
