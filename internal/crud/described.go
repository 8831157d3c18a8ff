package crud

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Described is what a service declares to its engine. Package crudtest tests the service by it.
type Described struct {
	Style       declaration.Style
	Prefix      string
	Collections []*declaration.Entity // by path
	Links       []*DeclaredRelation   // by path
	Children    []DescribedChildren
	Parts       []DescribedPart     // by path
	Documents   []DescribedDocument // by path
	// Operations are the operations that all of them give. Those that were added to the engine by themselves are not among them.
	Operations []rest.Operation
}

// Rows returns a zero value of the row struct of each collection and each document, by table.
func (d Described) Rows() map[string]any {
	out := map[string]any{}
	for _, k := range d.Collections {
		out[k.Table] = reflect.Zero(k.Of).Interface()
	}
	for _, k := range d.Documents {
		out[k.Table] = reflect.Zero(k.Of).Interface()
	}
	return out
}

// DescribedChildren is what the list of the objects that belong to another object declares.
type DescribedChildren struct {
	Parent, Child string // the collections' paths
	Column        string // of the child
	Me            bool
}

// DescribedPart is what a part declares.
type DescribedPart struct {
	Of, Path string // the collection's path, and the part's below an object
	Named    bool   // each property has a path too
	Replaces bool
	Only     []string // empty: read and update
	Schema   *rest.Schema
}

// DescribedDocument is what a document declares. Its keys are the tenant, and the parameters of the path.
type DescribedDocument struct {
	*declaration.Entity
	Blank bool // something is read while nothing is stored
	// Operations are what clients can do, by their actions: create, read, update, delete.
	Operations map[string]rest.Operation
	// Resource and Object are what the audit calls it. Object is "" where it is the path's parameters.
	Resource, Object string
}

// describer is a collection or the documents of all tenants, whatever the type of the objects is.
type describer interface {
	entity() *declaration.Entity
	RecordGone(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error
}

// documents are a [DocumentsOf], whatever the type of the objects is.
type documents interface {
	describer
	describe() DescribedDocument
	mayDrop(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error
}

// Entities returns what the collections are, in the order of their paths.
func (e *Engine) Entities() (out []*declaration.Entity) {
	for _, path := range slices.Sorted(maps.Keys(e.byPath)) {
		out = append(out, e.byPath[path].entity())
	}
	return out
}

// Described describes all that was declared. Operations was called before: links find their collections then, and documents make theirs.
func (e *Engine) Described() Described {
	d := Described{Style: e.Style, Prefix: e.Prefix, Collections: e.Entities(), Operations: e.derived}
	for _, r := range e.relations {
		d.Links = append(d.Links, r)
	}
	for _, document := range e.documents {
		d.Documents = append(d.Documents, document.describe())
	}
	for _, children := range e.children {
		d.Children = append(d.Children, children())
	}
	for _, part := range e.parts {
		d.Parts = append(d.Parts, part())
	}
	slices.SortFunc(d.Links, func(a, b *DeclaredRelation) int {
		return cmp.Or(cmp.Compare(a.Left.Path, b.Left.Path), cmp.Compare(a.Path, b.Path))
	})
	slices.SortFunc(d.Parts, func(a, b DescribedPart) int { return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Path, b.Path)) })
	slices.SortFunc(d.Documents, func(a, b DescribedDocument) int { return cmp.Compare(a.Path, b.Path) })
	return d
}
