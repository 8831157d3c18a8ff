package crud

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/store"
)

// loadAtOnce is how many objects one Load gets: databases limit the arguments of a statement.
const loadAtOnce = 1000

// flagged is a row with a digit for each loader, which says whether there is anything to load.
type flagged[T pointer] struct {
	Object T      `db:"object"`
	There  string `db:"there"`
}

// assemble turns rows into the objects that a client reads. The query of the rows has also found out which other tables have rows of them:
// objects with none elsewhere take no further query. Linked objects in attributes that are not among fields are left out; nil is all
// attributes.
func (k *CollectionOf[T]) assemble(ctx context.Context, c store.Conn, scope string, rows []*flagged[T], fields []string) ([]T, error) {
	objects := make([]T, len(rows))
	for i, row := range rows {
		objects[i] = row.Object
	}
	for i, l := range k.queries().loaders {
		if i == len(k.beside) {
			if err := k.fill(ctx, c, objects); err != nil {
				return nil, err
			}
		}
		if err := loadThere(ctx, c, scope, l, objects, func(o int) bool { return rows[o].There[i] != '0' && l.chosen(fields) }); err != nil {
			return nil, err
		}
	}
	if len(k.queries().loaders) == len(k.beside) {
		if err := k.fill(ctx, c, objects); err != nil {
			return nil, err
		}
	}
	return objects, k.adapt(ctx, c, scope, objects)
}

// loadThere fills in a field of the objects that have something to load, and blanks it in the others.
func loadThere[O pointer](ctx context.Context, c store.Conn, scope string, l loader, objects []O, there func(i int) bool) error {
	var with, without []O
	for i, o := range objects {
		if there(i) {
			with = append(with, o)
		} else {
			without = append(without, o)
		}
	}
	l.blank(without)
	return loadAll(ctx, c, scope, l, with)
}

// loadAll fills in a field of objects, in parts.
func loadAll[O pointer](ctx context.Context, c store.Conn, scope string, l loader, objects []O) error {
	for some := range slices.Chunk(objects, loadAtOnce) {
		if err := l.load(ctx, c, scope, some); err != nil {
			return err
		}
	}
	return nil
}

// flags returns the expression for a row's digits. key is the column, with its table, that the loaders know the row by.
func flags(loaders []loader, key string) string {
	digits := []string{"''"}
	for _, l := range loaders {
		digits = append(digits, "CASE WHEN "+l.exist(key)+" THEN '1' ELSE '0' END")
	}
	return strings.Join(digits, " || ")
}

// decorate turns rows into the objects that a client reads.
func (k *CollectionOf[T]) decorate(ctx context.Context, c store.Conn, scope string, objects []T) error {
	if err := k.own(ctx, c, objects); err != nil {
		return err
	}
	return k.present(ctx, c, scope, objects)
}

// own fills in the fields of an object that hooks store outside the row.
func (k *CollectionOf[T]) own(ctx context.Context, c store.Conn, objects []T) error {
	for _, l := range k.beside {
		if err := loadAll(ctx, c, "", l, objects); err != nil {
			return err
		}
	}
	return k.fill(ctx, c, objects)
}

// fill runs the resource's Load.
func (k *CollectionOf[T]) fill(ctx context.Context, c store.Conn, objects []T) error {
	if k.Load == nil {
		return nil
	}
	for some := range slices.Chunk(objects, loadAtOnce) {
		if err := k.Load(ctx, c, some); err != nil {
			return err
		}
	}
	return nil
}

// present adds the rest: the linked objects, how they look to the tenant that reads them, and where they are.
func (k *CollectionOf[T]) present(ctx context.Context, c store.Conn, scope string, objects []T) error {
	for _, l := range k.shows[structOf[T]()] {
		if err := loadAll(ctx, c, scope, l, objects); err != nil {
			return err
		}
	}
	return k.adapt(ctx, c, scope, objects)
}

// adapt shows objects as the tenant that reads them sees them, and where they are.
func (k *CollectionOf[T]) adapt(ctx context.Context, c store.Conn, scope string, objects []T) error {
	if k.Present != nil {
		if err := k.Present(ctx, c, scope, objects); err != nil {
			return err
		}
	}
	for _, o := range objects {
		k.locate(o, k.Key(o))
	}
	return nil
}

// locate sets an object's location, if the service's style shows it.
func (k *CollectionOf[T]) locate(o, key any) {
	if !k.engine.Style.Location {
		return
	}
	if l, ok := o.(linked); ok {
		l.setLinks([]Href{{Rel: k.Rel, Href: k.at(key)}})
	}
}

// at returns the path, behind the gate, of the object with a key.
func (k *CollectionOf[T]) at(key any) string {
	return fmt.Sprintf("%s/%s/%v", k.engine.Prefix, k.Path, key)
}

// field returns the value of a column's field.
func (k *CollectionOf[T]) field(o T, name string) any {
	return reflect.ValueOf(o).Elem().FieldByIndex(k.byName[name].index).Interface()
}
