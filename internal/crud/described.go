package crud

import (
	"cmp"
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
	Collections []DescribedCollection // by path
	Links       []DescribedLink       // by path
	Children    []DescribedChildren
	Parts       []DescribedPart     // by path
	Documents   []DescribedDocument // by path
	// Operations are the operations that all of them give. Those that were added to the engine by themselves are not among them.
	Operations []rest.Operation
}

// DescribedCollection is what a collection declares.
type DescribedCollection struct {
	Path, Singular, Title, Rel string
	Table                      string
	Keys, Names, Only          []string
	Nested                     []string // the attributes that write more than the object
	Order, Search, Filters     []string
	Moments                    []string // of Filters those that take a moment
	Virtual                    []string // of Order, Search and Filters those that are no column of their own
	Searches                   bool     // a search looks somewhere
	Scope                      declaration.Scope
	Subtree                    bool
	Schema                     *rest.Schema
	References                 map[string]string // fields that name other objects: "context" is "contexts.name"
	Owner                      string            // of them the one whose tenant has the object, or ""
}

// DescribedLink is what a link declares. Set and SetBack are nil where it has no such list.
type DescribedLink struct {
	Left, Right               string // the collections' paths
	Path, One                 string
	Only                      []string
	LeftHas, RightHas         Count
	LeftDeleted, RightDeleted Deletion
	LeftShown, RightShown     bool // whether an object of that side shows the other
	AcrossTenants, Strict     bool
	Accesses                  map[string]string // of Only, as the paths have them: "confd.users.{user_id}.lines.{line_id}.update"
	Row                       *rest.Schema      // the body of put, or nil
	Set, SetBack              *DescribedList
}

// DescribedList is what a list of links declares.
type DescribedList struct {
	Path, Field string
	By          []string
	Ordered     bool // its order is kept
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
	Whole    bool
	Only     []string // empty: read and update
	Schema   *rest.Schema
}

// DescribedDocument is what a document declares.
type DescribedDocument struct {
	Path       string
	Parameters []string // of the path
	Table      string
	Columns    []string
	Scope      declaration.Scope
	Blank      bool // something is read while nothing is stored
	// Operations are what clients can do, by their actions: create, read, update, delete.
	Operations map[string]rest.Operation
	// Resource and Object are what the audit calls it. Object is "" where it is the path's parameters.
	Resource, Object string
}

// describer is a collection or the documents of all tenants, whatever the type of the objects is.
type describer interface {
	entity() *declaration.Entity
	describe(into *Described)
	RecordGone(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error
}

// Described describes all that was declared. Operations was called before: links find their collections then, and documents make theirs.
func (e *Engine) Described() Described {
	d := Described{Style: e.Style, Prefix: e.Prefix, Operations: e.derived}
	for _, k := range e.collections {
		k.describe(&d)
	}
	for _, r := range e.relations {
		r.describe(&d)
	}
	for _, document := range e.documents {
		document.describe(&d)
	}
	for _, children := range e.children {
		d.Children = append(d.Children, children())
	}
	for _, part := range e.parts {
		d.Parts = append(d.Parts, part())
	}
	slices.SortFunc(d.Collections, func(a, b DescribedCollection) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(d.Links, func(a, b DescribedLink) int { return cmp.Or(cmp.Compare(a.Left, b.Left), cmp.Compare(a.Path, b.Path)) })
	slices.SortFunc(d.Parts, func(a, b DescribedPart) int { return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Path, b.Path)) })
	slices.SortFunc(d.Documents, func(a, b DescribedDocument) int { return cmp.Compare(a.Path, b.Path) })
	return d
}

func (k *CollectionOf[T]) describe(into *Described) {
	d := DescribedCollection{
		Path: k.Path, Singular: k.Singular, Title: k.Title, Rel: k.Rel, Table: k.Table, Keys: k.Keys, Names: k.Names, Only: k.Only, Nested: k.Nested, Order: k.Order, Search: k.Search,
		Filters: k.Filters, Moments: slices.Sorted(maps.Keys(k.List.Formats)), Searches: len(k.Search) > 0 || k.SearchText != "" || len(k.Found) > 0, Scope: k.Scope, Subtree: k.Subtree,
		Schema: k.Schema, References: map[string]string{},
	}
	for name := range k.Virtual {
		d.Virtual = append(d.Virtual, name)
	}
	if len(d.Only) == 0 {
		d.Only = actions
	}
	for _, c := range slices.Concat(k.OwnerRefs, k.Refs) {
		d.References[c.Name] = c.Ref
		if c.Owns {
			d.Owner = c.Name
		}
	}
	into.Collections = append(into.Collections, d)
}

func (d *DocumentsOf[T]) describe(into *Described) {
	out := DescribedDocument{
		Path: d.k.Path, Parameters: d.k.Keys[1:], Table: d.k.Table, Scope: d.k.Scope, Blank: d.Blank != nil, Operations: d.operations,
	}
	for _, c := range d.k.Columns {
		out.Columns = append(out.Columns, c.Name)
	}
	out.Resource, out.Object = d.place(d.k.Keys[1:])
	if len(out.Parameters) > 0 {
		out.Object = ""
	}
	into.Documents = append(into.Documents, out)
}

func (d *DocumentsOf[T]) entity() *declaration.Entity { return d.k.Entity }

// RecordGone writes to the audit that all documents of a tenant are deleted.
func (d *DocumentsOf[T]) RecordGone(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error {
	return d.k.RecordGone(ctx, c, r, tenantUUID)
}

func (r *relation) describe(into *Described) {
	d := DescribedLink{
		Left: r.left.Path, Right: r.right.Path, Path: r.path, One: r.right.Singular, Only: r.only,
		LeftHas: r.left.has, RightHas: r.right.has, LeftDeleted: r.left.deleted, RightDeleted: r.right.deleted, LeftShown: r.left.shown,
		RightShown: r.right.shown, AcrossTenants: r.acrossTenants, Strict: r.strict, Accesses: map[string]string{},
		Set: r.left.describeList(), SetBack: r.right.describeList(),
	}
	for i, op := range r.operations() {
		d.Accesses[r.only[i]] = op.Access
	}
	if r.row != declaration.NoRow {
		d.Row = r.row.Schema.Partial()
	}
	into.Links = append(into.Links, d)
}

func (s *side) describeList() *DescribedList {
	if s.list == nil {
		return nil
	}
	return &DescribedList{Path: s.list.Path, Field: s.list.Field, By: s.list.By, Ordered: s.Position != ""}
}
