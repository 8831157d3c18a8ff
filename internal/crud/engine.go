package crud

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Engine runs the collections of one service on one database. Collections, links and the like are declared on it while the
// service is described, from one goroutine; Operations then returns their operations.
type Engine struct {
	transaction.Runner
	*rights.Registry

	collections map[reflect.Type]table       // *CollectionOf[T], by T
	byPath      map[string]table             // the same, as a ref tag names them
	relations   map[string]*DeclaredRelation // by their names
	joins       []func()                     // make them, when all collections are declared
	documents   []table                      // whose objects are documents
	nested      map[attribute]any            // *NestedOf[T], by T and the attribute
	replies     map[string]*rest.Schema      // what a GET shows, by its path without parameters: "users/funckeys"
	declared    []func() []rest.Operation
	added       []rest.Operation // those that are not derived from declarations
	described   Described
}

// attribute is an attribute of the objects of a type.
type attribute struct {
	of   reflect.Type
	name string
}

// New returns an engine.
func New(base Base) *Engine {
	e := &Engine{
		Runner: transaction.Runner{Base: base}, collections: map[reflect.Type]table{}, byPath: map[string]table{},
		relations: map[string]*DeclaredRelation{}, nested: map[attribute]any{},
	}
	e.Registry = rights.NewRegistry(&e.Base, func(ctx context.Context) store.Conn { return transaction.ConnOf(ctx, e.DB) })
	return e
}

// declare adds a declaration, which becomes operations when everything is declared.
func (e *Engine) declare(operations func() []rest.Operation) {
	e.declared = append(e.declared, operations)
}

// Add declares an operation that does not fit the shape of a collection. It says itself whether it is Transactional.
func (e *Engine) Add(op rest.Operation) { e.added = append(e.added, op) }

// Operations returns the operations of everything that was declared, and then those that were added. It is called once.
func (e *Engine) Operations() []rest.Operation {
	for _, join := range e.joins {
		join()
	}
	for _, operations := range e.declared {
		e.described.Operations = append(e.described.Operations, operations()...)
	}
	joining := map[string][]rights.Hidden{}
	for _, name := range slices.Sorted(maps.Keys(e.relations)) {
		r := e.relations[name]
		e.described.Links = append(e.described.Links, r)
		joining[r.table] = append(joining[r.table], rights.HiddenLinks(r.Left.linked(), r.Right.linked()))
		for _, s := range []*DeclaredSide{r.Left, r.Right} {
			e.Name(s.Refers, s.Path+"."+s.KeyColumn().Name)
		}
	}
	e.Check(joining)
	derived := e.described.Operations
	for i := range derived {
		derived[i].Transactional = derived[i].Method != http.MethodGet
	}
	all := slices.Concat(derived, e.added)
	e.replies = map[string]*rest.Schema{}
	e.PathFirst(all)
	for i := range all {
		op := &all[i]
		if !op.Unimplemented {
			op.Handle = e.Shown(op)
		}
		if op.Method == http.MethodGet {
			words := slices.DeleteFunc(strings.Split(op.Path, "/"), func(word string) bool { return word == "" || word[0] == '{' })
			e.replies[strings.Join(words, "/")] = op.Reply
		}
		if e.Idempotency != nil && op.Method == http.MethodPost && (op.Transactional || op.Idempotent) {
			op.Idempotent, op.Handle = true, e.Idempotent(op.Handle)
			op.Statuses = append(slices.Clone(op.Statuses), http.StatusConflict, http.StatusUnprocessableEntity)
		}
	}
	return all
}

// Picture returns what the caller of ctx reads of what the audit has kept: the attributes of an object, the other objects of a list of links, or
// what a GET of a part shows.
func (e *Engine) Picture(ctx context.Context, resource string, picture any) (any, error) {
	var members *declaration.Entity
	for _, r := range e.relations {
		for _, s := range []*DeclaredSide{r.Left, r.Right} {
			if s.Set != nil && s.Path+"/"+s.Set.Path == resource {
				members = s.other.Entity
			}
		}
	}
	return e.Registry.Picture(ctx, resource, picture, members, e.replies[resource])
}

// collectionOf is [Of].
func collectionOf[T declaration.Pointer](e *Engine) *CollectionOf[T] {
	k, ok := e.collections[declaration.StructOf[T]()].(*CollectionOf[T])
	if !ok {
		panic(fmt.Sprintf("%s: no collection of %s is declared", e.Service, declaration.StructOf[T]()))
	}
	return k
}

// shared reports whether several relations have the joining table, each with a column of its own.
func (e *Engine) shared(joining string) bool {
	relations := 0
	for _, r := range e.relations {
		if r.table == joining {
			relations++
		}
	}
	return relations > 1
}

// Reading returns the handler of an operation that reads by itself: it answers with what read returns, on one snapshot and in the tenant in
// which the request acts.
func (e *Engine) Reading(read func(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) (body any, err error)) rest.Handler {
	return func(ctx context.Context, r *rest.Request) (reply rest.Reply, err error) {
		scope, err := e.TenantOf(ctx, r)
		if err != nil {
			return reply, err
		}
		err = e.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
			reply.Body, err = read(ctx, c, r, scope)
			return err
		})
		return reply, err
	}
}

// View lets an operation that reads answer otherwise if the query parameter `view` has this name: with what show returns, as Reading does.
func (e *Engine) View(op *rest.Operation, name, doc string, show func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error)) {
	usual, other := op.Handle, e.Reading(show)
	op.Query = append(op.Query, rest.ViewParameter([]string{name}, doc)...)
	op.Handle = func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		switch view, err := r.Choice("view"); {
		case err != nil:
			return rest.Reply{}, err
		case view == "":
			return usual(ctx, r)
		}
		return other(ctx, r)
	}
}

// Describe lets a service's definition say what the collections declare of themselves, where the service says nothing else.
func (e *Engine) Describe(s *rest.Service) {
	s.Docs, s.Tags, s.Columns = maps.Clone(s.Docs), maps.Clone(s.Tags), maps.Clone(s.Columns)
	for _, k := range e.Entities() {
		param, tag := "{"+k.Param+"}", declaration.Underscored(k.Path)
		s.Docs[param], s.Tags[tag] = cmp.Or(s.Docs[param], k.Named()), cmp.Or(s.Tags[tag], k.About)
		if k.Lists != nil {
			s.Columns[k.Schema.Name] = k.Lists
		}
	}
}

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
	Path          string // below a parent
	Column        string // of the child
	Me            bool
	Only          []string // on one child, below its parent or, with Me, of the caller's own
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

// tables are the collections, in the order of their paths.
func (e *Engine) tables() (out []table) {
	for _, path := range slices.Sorted(maps.Keys(e.byPath)) {
		out = append(out, e.byPath[path])
	}
	return out
}

// Entities returns what the collections are, in the order of their paths.
func (e *Engine) Entities() []*declaration.Entity { return entitiesOf(e.tables()) }

func entitiesOf(tables []table) (out []*declaration.Entity) {
	for _, t := range tables {
		out = append(out, t.entity())
	}
	return out
}

// Described describes all that was declared. Operations was called before.
func (e *Engine) Described() Described {
	e.described.Style, e.described.Prefix, e.described.Collections = e.Style, e.Prefix, e.Entities()
	return e.described
}
