package crud

import (
	"context"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/store"
)

// The engine's types have two names: one by the type of an object, which declarations and hooks use, and one by the type of the pointer to
// it, which the engine's own code uses, so that it is compiled once: see [declaration.Pointer].

type (
	// Base is what all collections of a service have in common.
	Base = declaration.Base
	// Beside is an object's own data in another table.
	Beside[T any] = declaration.Beside[*T]
	// Change is one create (Old is nil), update, or delete (New is nil).
	Change[T any] = declaration.Change[*T]
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
	// Elsewhere finds objects by data in another table.
	Elsewhere = declaration.Elsewhere
	// Link declares a relation: it joins the objects of two collections.
	Link[L, R any] = LinkOf[*L, *R]
	// Match is a filter by joined data.
	Match = declaration.Match
	// Nest is an attribute of an object that stands for objects linked with it.
	Nest[L, R any] = NestOf[*L, *R]
	// Nested is an attribute by which a client writes more than the object.
	Nested[T any] = NestedOf[*T]
	// Pair is one link that is made or ended.
	Pair[L, R any] = PairOf[*L, *R]
	// Part is a part of an object with its own path.
	Part[T, P any] = PartOf[*T, *P]
	// Preview says what a delete would take with it.
	Preview[T any] = declaration.Preview[*T]
	// Relation is the name of a relation.
	Relation[L, R any] = RelationOf[*L, *R]
	// Resource declares one collection of objects.
	Resource[T any] = declaration.Resource[*T]
	// Event is one committed change.
	Event = transaction.Event
	// Idempotency makes the POST operations of an engine take the header Idempotency-Key.
	Idempotency = transaction.Idempotency
	// Href is one of an object's links.
	Href = query.Href
	// ID is the number by which a client names an object.
	ID = declaration.ID
	// Hrefs is embedded by the objects of services whose Style has Location.
	Hrefs = query.Hrefs
	// Show is a field in which objects show linked objects.
	Show = query.Show
	// Source declares a table, or a view, that SQL of declarations reads.
	Source = rights.Source
	// Style holds the differences between the services.
	Style = declaration.Style
	// View is another form of a list's objects.
	View[T any] = declaration.View[*T]
)

// The scopes of resources: see [declaration.Scope].
const (
	PerTenant = declaration.PerTenant
	Global    = declaration.Global
	Master    = declaration.Master
)

// Missing refuses a field of a body that names an object that is not there for the caller: see [declaration.Missing].
func Missing(field, title, key string, value any) *apierr.Error {
	return declaration.Missing(field, title, key, value)
}

// Placeholders returns "$from, $from+1, ..." for n arguments: see [query.Placeholders].
func Placeholders(from, n int) string { return query.Placeholders(from, n) }

// RowOf declares the columns of a joining table other than the two keys: see [declaration.RowOf].
func RowOf[A any]() *declaration.Row { return declaration.RowOf[A]() }

// Collect declares a collection on an engine.
func Collect[T any](e *Engine, r Resource[T]) *Collection[T] { return collect(e, r) }

// Of returns the collection of T, which may be declared after its user, but before the first request. It panics if there is
// none: a mistake in a declaration, which every start reports.
func Of[T any](e *Engine) *Collection[T] { return collectionOf[*T](e) }

// InnerOf returns the objects that were made, or found and linked, for a nested attribute, in their order; nil if it was not sent.
func InnerOf[C, T any](m *MadeOf[*T], name string) []*MadeOf[*C] {
	inner, _ := m.nested[name].([]*MadeOf[*C])
	return inner
}

// Many shows all objects of the other side as a list: see [query.Many].
func Many[O, E any](field func(o *O) *[]E) Show { return query.Many(field) }

// One shows the one object of the other side, or null: see [query.One].
func One[O, E any](field func(o *O) **E) Show { return query.One(field) }

// OfAll returns a document that all tenants share as they read it: with its defaults while nothing is stored.
func OfAll[T any](ctx context.Context, c store.Conn, e *Engine) (*T, error) {
	return ofAll[*T](ctx, c, e)
}
