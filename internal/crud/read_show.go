package crud

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/ringfence/ringfence/internal/store"
)

// loadAtOnce is how many objects one Load gets: databases limit the arguments of a statement.
const loadAtOnce = 1000

// decorate turns rows into the objects that a client reads.
func (k *Collection[T]) decorate(ctx context.Context, c store.Conn, scope string, objects []*T) error {
	if err := k.own(ctx, c, objects); err != nil {
		return err
	}
	return k.present(ctx, c, scope, objects)
}

// own fills in the fields of an object that hooks store outside the row.
func (k *Collection[T]) own(ctx context.Context, c store.Conn, objects []*T) error {
	for some := range slices.Chunk(objects, loadAtOnce) {
		for _, l := range k.beside {
			if err := l.load(ctx, c, "", some); err != nil {
				return err
			}
		}
		if err := k.fill(ctx, c, some); err != nil {
			return err
		}
	}
	return nil
}

func (k *Collection[T]) fill(ctx context.Context, c store.Conn, objects []*T) error {
	if k.Load == nil {
		return nil
	}
	return k.Load(ctx, c, objects)
}

// present adds the rest: the linked objects, how they look to the tenant that reads them, and where they are.
func (k *Collection[T]) present(ctx context.Context, c store.Conn, scope string, objects []*T) error {
	for some := range slices.Chunk(objects, loadAtOnce) {
		for _, l := range k.shows[reflect.TypeFor[T]()] {
			if err := l.load(ctx, c, scope, some); err != nil {
				return err
			}
		}
	}
	return k.adapt(ctx, c, scope, objects)
}

// adapt shows objects as the tenant that reads them sees them, and where they are.
func (k *Collection[T]) adapt(ctx context.Context, c store.Conn, scope string, objects []*T) error {
	if k.Present != nil {
		if err := k.Present(ctx, c, scope, objects); err != nil {
			return err
		}
	}
	for _, o := range objects {
		k.link(o, k.field(o, k.Keys[0]))
	}
	return nil
}

// link sets an object's location, if the service's style shows it.
func (k *Collection[T]) link(o any, key any) {
	if !k.engine.Style.Location {
		return
	}
	if l, ok := o.(linked); ok {
		l.setLinks([]Href{{Rel: k.Rel, Href: k.at(key)}})
	}
}

// at returns the path, behind the gate, of the object with a key.
func (k *Collection[T]) at(key any) string {
	return fmt.Sprintf("%s/%s/%v", k.engine.Prefix, k.Path, key)
}

// location returns the object's path behind the gate.
func (k *Collection[T]) location(o *T) string {
	return k.at(k.field(o, k.Keys[0]))
}

// field returns the value of a column's field.
func (k *Collection[T]) field(o *T, name string) any {
	return reflect.ValueOf(o).Elem().FieldByIndex(k.byName[name].index).Interface()
}
