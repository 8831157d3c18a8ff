package crud

import (
	"context"
	"maps"
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
	Links       []*DeclaredRelation   // by name
	Children    []DescribedChildren
	Parts       []DescribedPart
	Documents   []DescribedDocument
	// Operations are the operations that all of them give. Those that were added to the engine by themselves are not among them.
	Operations []rest.Operation
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

// documents are a [DocumentsOf], whatever the type of the objects is.
type documents interface {
	entity() *declaration.Entity
	RecordGone(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error
	mayDrop(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error
}

// Entities returns what the collections are, in the order of their paths.
func (e *Engine) Entities() (out []*declaration.Entity) {
	for _, path := range slices.Sorted(maps.Keys(e.byPath)) {
		out = append(out, e.byPath[path].entity())
	}
	return out
}

// Described describes all that was declared. Operations was called before.
func (e *Engine) Described() Described {
	e.described.Style, e.described.Prefix, e.described.Collections = e.Style, e.Prefix, e.Entities()
	return e.described
}
