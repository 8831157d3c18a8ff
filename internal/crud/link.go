package crud

import (
	"context"
	"fmt"
	"reflect"
	"slices"

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
	// Unlink deletes the link with the object. The joining table does so too, by ON DELETE CASCADE.
	Unlink Deletion = iota
	// Refuse refuses to delete a linked object.
	Refuse
	// Cascade deletes the linked objects too.
	Cascade
)

// LinkOf joins the objects of two collections by a table that has a column for each side. It has these operations, limited to
// those that Only names; without Only it has put and delete:
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
type LinkOf[L, R pointer] struct {
	Table string
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
	// Action is the last word of put's access: "update" unless it is set.
	Action string
	// LeftHas is how many right objects a left one may have, RightHas the reverse.
	LeftHas, RightHas Count
	// LeftShows and RightShows are the fields in which the objects of each side show the other.
	LeftShows, RightShows []Show
	// LeftDeleted says what happens to the link when the left object is deleted, RightDeleted when the right one is.
	LeftDeleted, RightDeleted Deletion
	// Strict links call Allow and MayEnd even if nothing would change, for links that give rights: a caller who may not make or
	// end a link does not learn whether it exists. They have no Row, and the table is unique in both columns together.
	Strict bool
	// AcrossTenants lets the two objects belong to different tenants. The caller must see both.
	AcrossTenants bool
	// Row holds the other columns of the joining table: the body of put. [RowOf] makes it.
	Row *Row
	// Set and SetBack are the lists that `set` and `set_back` take.
	Set     *ListOf[L, R]
	SetBack *ListOf[R, L]
	// Allow refuses to make a link. By default it is All(SameTenant, LeftFree, RightFree).
	Allow CheckOf[L, R]
	// MayEnd refuses to end a link; Right is nil if all of Left's links are ended.
	MayEnd CheckOf[L, R]
	// Changed runs last in the transaction; Committed runs after the commit.
	Changed   CheckOf[L, R]
	Committed func(pair *PairOf[L, R])
}

// CheckOf refuses to make or to end a link. It runs in the transaction.
type CheckOf[L, R pointer] func(ctx context.Context, c store.Conn, pair *PairOf[L, R]) error

// PairOf is one link that is made or ended.
type PairOf[L, R pointer] struct {
	Request *rest.Request
	// Tenant is the tenant in which the request acts.
	Tenant string
	Left   L
	Right  R // nil if all of Left's links are ended
	// Ends is true if the link is ended.
	Ends bool
	// Row holds the other columns of the joining table: a pointer to the struct that Link.Row was made of, or nil.
	Row any
	// Carry passes a value from one hook to a later one.
	Carry any

	link *joint[L, R]
}

// joint is a Link whose collections are known.
type joint[L, R pointer] struct {
	LinkOf[L, R]
	engine *Engine
	left   *CollectionOf[L]
	right  *CollectionOf[R]
}

func (j *joint[L, R]) joins() string { return j.Table }

func (j *joint[L, R]) near() *side {
	return &side{collection: j.left, joining: j.Table, column: j.LeftColumn, position: j.Position}
}

func (j *joint[L, R]) far() *side {
	return &side{collection: j.right, joining: j.Table, column: j.RightColumn}
}

// On declares the link on an engine.
func (l LinkOf[L, R]) On(e *Engine) {
	e.declare(func() []rest.Operation {
		return l.join(e).operations()
	})
}

// join finds the link's collections and registers the link with them: the fields that show it, and the guards.
func (l LinkOf[L, R]) join(e *Engine) *joint[L, R] {
	j := &joint[L, R]{LinkOf: l, engine: e, left: collectionOf[L](e), right: collectionOf[R](e)}
	if j.LeftColumn == "" {
		j.LeftColumn = j.left.Singular + "_" + j.left.Keys[0]
	}
	if j.RightColumn == "" {
		j.RightColumn = j.right.Singular + "_" + j.right.Keys[0]
	}
	if j.Path == "" {
		j.Path = j.right.Path
	}
	if j.Allow == nil {
		j.Allow = All(SameTenant[L, R], LeftFree[L, R], RightFree[L, R])
	}
	if j.Only == nil {
		j.Only = []string{"put", "delete"}
	}
	if j.Set != nil {
		j.Set = j.Set.of(j.right)
	}
	if j.SetBack != nil {
		j.SetBack = j.SetBack.of(j.left)
	}
	if e.links == nil {
		e.links = map[[2]reflect.Type]any{}
	}
	types := [2]reflect.Type{structOf[L](), structOf[R]()}
	if e.links[types] != nil {
		panic(fmt.Sprintf("%s: two links of %s and %s", j.Table, types[0], types[1])) // a mistake in the declaration, which every start reports
	}
	e.links[types] = j
	for _, s := range j.LeftShows {
		l := s.loader(j.near(), j.far())
		j.left.show(s.of(), l)
		if s.of() == structOf[L]() {
			j.left.readApart(l.field, slices.Concat(j.reads("list", j.Path), j.reads("one", j.right.Singular))...)
		}
	}
	for _, s := range j.RightShows {
		l := s.loader(j.far(), j.near())
		j.right.show(s.of(), l)
		if s.of() == structOf[R]() {
			j.right.readApart(l.field, j.reads("list_back", j.left.Path)...)
		}
	}
	if len(j.Only) > 0 {
		unlinks(j.left, j.right, j.near(), j.far(), j.notDeniedEnd)
		unlinks(j.right, j.left, j.far(), j.near(), func(r *rest.Request, right R, left L) error { return j.notDeniedEnd(r, left, right) })
	}
	guard(j.left, j.right, j.LeftDeleted, e, j.near(), j.far())
	guard(j.right, j.left, j.RightDeleted, e, j.far(), j.near())
	return j
}

// jointOf returns the link of two collections, in this direction.
func jointOf[L, R pointer](e *Engine) (*joint[L, R], error) {
	types := [2]reflect.Type{structOf[L](), structOf[R]()}
	j, ok := e.links[types].(*joint[L, R])
	if !ok {
		return nil, fmt.Errorf("%s: no link of %s and %s is declared", e.Service, types[0], types[1])
	}
	return j, nil
}
