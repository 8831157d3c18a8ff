package crud

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Count says with how many objects of the other side one may be linked.
type Count int

// An object may be linked with any number of objects of the other side, or with at most one.
const (
	Any Count = iota
	AtMostOne
)

// MaxLinks is how many objects a list may have that clients send, of those that an object is linked with. No other operation makes it
// longer: what was read can be written back.
const MaxLinks = rest.MaxLimit

// Deletion says what happens to a link when one of its objects is deleted.
type Deletion int

const (
	// Unlink ends the link, as its own operation does, but without its hooks.
	Unlink Deletion = iota
	// Refuse refuses to delete a linked object.
	Refuse
	// Cascade deletes the linked objects too.
	Cascade
)

// RelationOf is the name of a relation: a constant, by which everything that speaks of the relation means it. No two relations of an
// engine have one name. Two kinds of objects may have several, and a kind may have one with itself.
type RelationOf[L, R declaration.Pointer] string

// LinkOf declares a relation: it joins the objects of two collections by a table that has a column for each side. It has these operations,
// limited to those that Only names; without Only it has put and delete:
//
//	put        PUT /{left}/{id}/{path}/{id}        makes the link; to repeat it changes nothing but the columns of Row
//	delete     DELETE /{left}/{id}/{path}/{id}     ends it; to repeat it changes nothing
//	delete_all DELETE /{left}/{id}/{path}          ends all links of the left object
//	list       GET /{left}/{id}/{path}             the right objects of a left one
//	list_back  GET /{right}/{id}/{left path}       the left objects of a right one
//	one        GET /{left}/{id}/{singular}         the one right object of a left one, by what one of the right side is called
//	create     POST /{left}/{id}/{path}            makes a right object, in the left one's tenant, and links it
//	set        PUT /{left}/{id}/{Set.Path}         replaces all links of a left object: see [List]
//	set_back   PUT /{right}/{id}/{SetBack.Path}    the same from the other side
//
// Both collections are declared on the engine, before or after the link.
type LinkOf[L, R declaration.Pointer] struct {
	// Relation is its name, and Table the joining table: each by default the other.
	Relation RelationOf[L, R]
	Table    string
	// LeftColumn and RightColumn refer to the collections' first keys; by default "{singular}_{key}".
	LeftColumn, RightColumn string
	// Calls is the name of the right side in refusals, if that is not its title: "Endpoint".
	Calls string
	// Position is the column that stores the order of a left object's list.
	Position string
	// Path is the path of the right side below a left object; by default the right collection's.
	Path string
	// Only names the operations. If it is empty and not nil, there are none, and the two sides only show each other.
	Only []string
	// LeftHas is how many right objects a left one may have, RightHas the reverse.
	LeftHas, RightHas Count
	// LeftShows and RightShows are the fields in which the objects of each side show the other.
	LeftShows, RightShows []query.Show
	// LeftDeleted says what happens to the link when the left object is deleted, RightDeleted when the right one is.
	LeftDeleted, RightDeleted Deletion
	// RightLeads says that the right objects lead to the left ones, as numbers do. Otherwise the left ones alone lead to the right, and a dry run of a
	// deletion tells so.
	RightLeads bool
	// GivesRights links call Allow and MayEnd even if nothing would change: a caller who may not make or end a link does not learn whether
	// it exists. The last word of put's access is "create", and the two objects, of which the caller must see both, may belong to different
	// tenants. Such links have neither a Row nor delete_all, and the table is unique in both columns together.
	GivesRights bool
	// Row holds the other columns of the joining table: the body of put. [RowOf] makes it.
	Row *declaration.Row
	// Set and SetBack are the lists that `set` and `set_back` take.
	Set, SetBack *List
	// Allow refuses to make links. By default it is All(SameTenant, LeftFree, RightFree).
	Allow CheckOf[L, R]
	// MayEnd refuses to end links.
	MayEnd CheckOf[L, R]
	// Changed runs last in the transaction, with all links that a request makes, changes and ends at once.
	Changed CheckOf[L, R]
}

// CheckOf refuses to make, or to end, links of one object: the left or the right one. It runs in the transaction. [Each] makes one of a
// check of a single link.
type CheckOf[L, R declaration.Pointer] func(ctx context.Context, c store.Conn, pairs []*PairOf[L, R]) error

// PairOf is one link that is made, changed or ended.
type PairOf[L, R declaration.Pointer] struct {
	Request *rest.Request
	// Tenant is the tenant in which the request acts.
	Tenant string
	Left   L
	Right  R
	// Ends is true if the link is ended.
	Ends bool
	// Row holds the other columns of the joining table: a pointer to the struct that Link.Row was made of.
	Row any

	link *link
}

// DeclaredRelation is a [LinkOf] on its engine, whatever the types of its sides are.
type DeclaredRelation struct {
	Path        string
	Left, Right *DeclaredSide
	Only        []string
	GivesRights bool
	// Accesses are those of the operations that Only names, as their paths have them: "confd.users.{user_id}.lines.{line_id}.update".
	Accesses map[string]string

	name, table string
	engine      *Engine
	rightLeads  bool
	row         *declaration.Row
	// columns are those of the joining table beside the two keys: the row's, and the position.
	columns []declaration.Column
	// The hooks of the declaration.
	allow, mayEnd, changed func(ctx context.Context, c store.Conn, links []*link) error
}

// On declares the relation on an engine.
func (l LinkOf[L, R]) On(e *Engine) {
	var r *DeclaredRelation
	e.joins = append(e.joins, func() { r = l.join(e) })
	e.declare(func() []rest.Operation { return r.operations() })
	nestList[L](e, l.Set, func() *DeclaredSide { return r.Left }, true)
	nestList[R](e, l.SetBack, func() *DeclaredSide { return r.Right }, false)
}

// join finds the relation's collections and registers the relation with them.
func (l LinkOf[L, R]) join(e *Engine) *DeclaredRelation {
	l.Table = cmp.Or(l.Table, string(l.Relation))
	r := &DeclaredRelation{
		name: cmp.Or(string(l.Relation), l.Table), table: l.Table, engine: e, Only: l.Only, GivesRights: l.GivesRights, rightLeads: l.RightLeads, row: l.Row,
		Left: newSide(collectionOf[L](e), DeclaredSide{
			Side: query.Side{Refers: l.LeftColumn, Position: l.Position}, Has: l.LeftHas, Deleted: l.LeftDeleted, Set: l.Set,
		}),
		Right: newSide(collectionOf[R](e), DeclaredSide{
			Side: query.Side{Refers: l.RightColumn}, Has: l.RightHas, Deleted: l.RightDeleted, Set: l.SetBack,
		}),
		mayEnd: untyped(l.MayEnd), changed: untyped(l.Changed),
	}
	if l.Allow == nil {
		l.Allow = All(SameTenant[L, R], LeftFree[L, R], RightFree[L, R])
	}
	r.allow = untyped(l.Allow)
	r.Path = cmp.Or(l.Path, r.Right.Path)
	if r.Only == nil {
		r.Only = []string{"put", "delete"}
	}
	if r.row == nil {
		r.row = declaration.NoRow
	}
	r.complete(l.Calls)
	if e.relations[r.name] != nil {
		r.mistaken("there are two of this name")
	}
	e.relations[r.name] = r
	r.Left.show(l.LeftShows)
	r.Right.show(l.RightShows)
	return r
}

// show registers the side with its collection, whose objects show the other side in some fields.
func (s *DeclaredSide) show(fields []query.Show) {
	s.collection.joins(s)
	for _, show := range fields {
		loader := show.Loader(&s.Side, &s.other.Side, func() bool { return s.relation.engine.shared(s.Joining) })
		s.collection.Show(show.Of(), loader)
		if show.Of() == s.Of {
			s.Shown, s.item = true, show.Item()
			s.collection.objects().ReadApart(loader.Field, s.reads...)
		}
	}
}

// complete fills in what the two sides know of each other, and what the declaration leaves out.
func (r *DeclaredRelation) complete(calls string) {
	for near, far := range map[*DeclaredSide]*DeclaredSide{r.Left: r.Right, r.Right: r.Left} {
		near.relation, near.other, near.Joining = r, far, r.table
		near.param, near.title = near.Param, near.Title
		if near.Refers == "" {
			near.Refers = near.Singular + "_" + near.KeyColumn().Name
		}
		if near.Set != nil {
			list := *near.Set
			if near.Set = &list; list.Path == "" && near == r.Left {
				list.Path = r.Path
			}
			list.Field = cmp.Or(list.Field, list.Path[strings.LastIndex(list.Path, "/")+1:])
			if len(list.By) == 0 {
				list.By = far.Keys
			}
		}
	}
	r.columns = r.row.Columns
	if position := r.Left.Position; position != "" && declaration.ColumnNamed(r.columns, position) == nil {
		r.columns = append(slices.Clone(r.columns), declaration.Column{Name: position, Kind: declaration.Integer})
	}
	r.Right.title = cmp.Or(calls, r.Right.title)
	if r.Left.param == r.Right.param {
		r.Right.param = "other_" + r.Right.param
	}
	if r.Left.Refers == r.Right.Refers {
		r.mistaken("both sides have the column " + r.Left.Refers)
	}
	reads := func(kind, path string) []string {
		if !slices.Contains(r.Only, kind) {
			return nil
		}
		return []string{declaration.Dotted(path)}
	}
	r.Left.reads = slices.Concat(reads("list", r.Path), reads("one", r.Right.Singular))
	r.Right.reads = reads("list_back", r.Left.Path)
}

// mistaken panics because of a mistake in the declaration, which every start reports.
func (r *DeclaredRelation) mistaken(how string) {
	panic(fmt.Sprintf("the relation %s: %s", r.name, how))
}

// on returns the relation on an engine whose Operations were called.
func (n RelationOf[L, R]) on(e *Engine) *DeclaredRelation {
	r, ok := e.relations[string(n)]
	if !ok || r.Left.Of != declaration.StructOf[L]() || r.Right.Of != declaration.StructOf[R]() {
		panic(fmt.Sprintf("%s: no relation %q of %s and %s is declared", e.Service, n, declaration.StructOf[L](), declaration.StructOf[R]()))
	}
	return r
}

// Associate links two objects, as put does, in a transaction of Engine.InTx. It refuses a caller who may not do so under [MayNest].
func (n RelationOf[L, R]) Associate(ctx context.Context, c store.Conn, e *Engine, r *rest.Request, tenantUUID string, left L, right R) error {
	d := &diff{near: n.on(e).Left, object: left, request: r, tenant: tenantUUID, nested: true}
	return d.associate(ctx, c, right)
}

// RefuseLeft refuses if a left object is linked: "Line is associated with a User ('line_id': 1, ...)".
func (n RelationOf[L, R]) RefuseLeft(ctx context.Context, c store.Conn, e *Engine, left L) error {
	return n.on(e).Left.refuseLinked(ctx, c, left)
}

// RefuseRight is RefuseLeft for a right object.
func (n RelationOf[L, R]) RefuseRight(ctx context.Context, c store.Conn, e *Engine, right R) error {
	return n.on(e).Right.refuseLinked(ctx, c, right)
}

// RightUnlinked reports whether the transaction of ctx made the right object, and no link of this relation with it yet.
func (n RelationOf[L, R]) RightUnlinked(ctx context.Context, e *Engine, right R) bool {
	near := n.on(e).Right
	return transaction.MemoryOf(ctx).Unlinked(&near.Side, near.Key(right))
}

// RightUnlinked reports whether the transaction made the right object, and no link of it yet.
func (p *PairOf[L, R]) RightUnlinked(ctx context.Context) bool {
	return transaction.MemoryOf(ctx).New(p.link.change.near.relation.Right.Entity, p.Right)
}

// Ends are the first keys of two linked objects.
type Ends[A, B any] struct {
	Left  A `db:"left_key"`
	Right B `db:"right_key"`
}

// Linked returns all links of a relation, of all tenants, in one statement: ordered by the left object's key and then as the left object
// lists them.
func Linked[A, B any, L, R declaration.Pointer](ctx context.Context, c store.Conn, e *Engine, of RelationOf[L, R]) ([]Ends[A, B], error) {
	r := of.on(e)
	order := r.Left.Refers
	if r.Left.Position != "" {
		order += ", " + r.Left.Position
	}
	return store.Select[Ends[A, B]](ctx, c, "SELECT "+r.Left.Refers+" AS left_key, "+r.Right.Refers+" AS right_key FROM "+r.table+
		" WHERE "+r.Right.Refers+" IS NOT NULL ORDER BY "+order+", "+r.Right.Refers)
}

// DeclaredSide is one side of a relation.
type DeclaredSide struct {
	query.Side
	Has     Count
	Deleted Deletion
	// Set is the list that replaces all links of an object of this DeclaredSide, or nil; Shown says that the object shows its links.
	Set   *List
	Shown bool

	relation   *DeclaredRelation
	other      *DeclaredSide
	collection table
	// param is the parameter of its objects in the relation's paths, and title what one is called in refusals.
	param, title string
	// item is the type of what the object shows of each linked object.
	item reflect.Type
	// reads are the paths, below an object of this DeclaredSide, that read its links, as words of an access.
	reads []string
}

// linked is the side as the rights know it.
func (s *DeclaredSide) linked() rights.Linked {
	return rights.Linked{Objects: s.collection.objects(), Refers: s.Refers, Reads: s.reads}
}

// newSide completes a side with its collection.
func newSide(of table, s DeclaredSide) *DeclaredSide {
	s.Entity, s.Joined, s.collection = of.entity(), of, of
	return &s
}
