package crud

import (
	"context"
	"reflect"

	"github.com/ringfence/ringfence/internal/store"
)

// The engine's types have two names: one by the type of an object, which declarations and hooks use, and one by the type of the pointer to
// it, which the engine's own code uses. Go compiles generic code once for each shape of its type arguments, and all pointers have one: forty
// resources take no more code, and no longer to compile, than one. Where a comment speaks of an object or a field of T, it is what T points to.

type (
	// Beside is an object's own data in another table.
	Beside[T any] = BesideOf[*T]
	// Change is one create (Old is nil), update, or delete (New is nil).
	Change[T any] = ChangeOf[*T]
	// Check refuses to make or to end links.
	Check[L, R any] = CheckOf[*L, *R]
	// Children lists the objects of a collection that belong to one object of another.
	Children[P, C any] = ChildrenOf[*P, *C]
	// Collection is a Resource on its engine.
	Collection[T any] = CollectionOf[*T]
	// Document is one object that each tenant has at a path without a key.
	Document[T any] = DocumentOf[*T]
	// Documents are the documents of all tenants, on an engine.
	Documents[T any] = DocumentsOf[*T]
	// Draft is a new object as a client sent it, checked and not yet stored.
	Draft[T any] = DraftOf[*T]
	// Link declares a relation: it joins the objects of two collections.
	Link[L, R any] = LinkOf[*L, *R]
	// Made is an object that was made, with what is nested in it.
	Made[T any] = MadeOf[*T]
	// Nest is an attribute of an object that stands for objects linked with it.
	Nest[L, R any] = NestOf[*L, *R]
	// Nested is an attribute by which a client writes more than the object.
	Nested[T any] = NestedOf[*T]
	// NestList is an attribute that names objects to be linked with.
	NestList[L, R any] = NestListOf[*L, *R]
	// Pair is one link that is made or ended.
	Pair[L, R any] = PairOf[*L, *R]
	// Part is a part of an object with its own path.
	Part[T, P any] = PartOf[*T, *P]
	// Relation is the name of a relation.
	Relation[L, R any] = RelationOf[*L, *R]
	// Resource declares one collection of objects.
	Resource[T any] = ResourceOf[*T]
	// View is another form of a list's objects.
	View[T any] = ViewOf[*T]
)

// pointer is a pointer to a struct. Go compiles code once for all pointers only under a constraint that asks for no more than methods.
type pointer any

// structOf returns the type that T points to.
func structOf[T pointer]() reflect.Type { return reflect.TypeFor[T]().Elem() }

// fresh returns a pointer to a zero value of the type that T points to.
func fresh[T pointer]() T { return reflect.New(structOf[T]()).Interface().(T) }

// cloned returns a pointer to a copy of what o points to.
func cloned[T pointer](o T) T {
	out := fresh[T]()
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(o).Elem())
	return out
}

// null returns the null pointer.
func null[T pointer]() (nothing T) { return nothing }

// isNull reports whether a pointer is null.
func isNull[T pointer](o T) bool { return any(o) == any(null[T]()) }

// Collect declares a collection on an engine.
func Collect[T any](e *Engine, r Resource[T]) *Collection[T] { return collect(e, r) }

// Of returns the collection of T, which may be declared after its user, but before the first request. It panics if there is
// none: a mistake in a declaration, which every start reports.
func Of[T any](e *Engine) *Collection[T] { return collectionOf[*T](e) }

// InnerOf returns the objects that were made, or found and linked, for a nested attribute, in their order; nil if it was not sent.
func InnerOf[C, T any](m *Made[T], name string) []*Made[C] {
	inner, _ := m.nested[name].([]*Made[C])
	return inner
}

// Many shows all objects of the other side as a list, in the link's order, otherwise in the order of their keys. E has `db` tags
// that name columns of the other side, or, with the tag joining:"true", of the joining table; one of them is the other side's
// first key.
func Many[O, E any](field func(o *O) *[]E) Show {
	return show[*O, *E]{field: attributeOf(func(o *O) any { return field(o) }), set: func(o *O, items []*E) {
		values := make([]E, len(items))
		for i, item := range items {
			values[i] = *item
		}
		*field(o) = values
	}}
}

// One shows the one object of the other side, or null. E is as for [Many].
func One[O, E any](field func(o *O) **E) Show {
	return show[*O, *E]{field: attributeOf(func(o *O) any { return field(o) }), set: func(o *O, items []*E) {
		*field(o) = nil
		if len(items) > 0 {
			*field(o) = items[0]
		}
	}}
}

// OfAll returns a document that all tenants share as they read it: with its defaults while nothing is stored.
func OfAll[T any](ctx context.Context, c store.Conn, e *Engine) (*T, error) {
	return ofAll[*T](ctx, c, e)
}
