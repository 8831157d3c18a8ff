package crud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Count says how many objects of the other side one may be linked with.
type Count int

// An object has any number of the other side's, or at most one.
const (
	Any Count = iota
	AtMostOne
)

// Deletion says what becomes of a link when one of its objects is deleted.
type Deletion int

const (
	// Unlink says that the link goes with the object. The joining table says so too, by ON DELETE CASCADE.
	Unlink Deletion = iota
	// Refuse says that what is linked cannot be deleted.
	Refuse
	// Cascade says that what the object is linked with is deleted too.
	Cascade
)

// Link joins the objects of two collections by a table that has a column for each side. From it come these operations, of which Only
// names those that there are; without Only there are put and delete:
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
type Link[L, R any] struct {
	Table string
	// LeftColumn and RightColumn refer to the collections' first keys; by default "{singular}_{key}".
	LeftColumn, RightColumn string
	// Calls is what refusals call the right side, where that is not its title: "Endpoint".
	Calls string
	// Position is the column that keeps the order of a left object's list.
	Position string
	// Path is that of the right side below a left object; by default the right collection's.
	Path string
	// Only names the operations. Empty and not nil: there are none, and the two only show each other.
	Only []string
	// Action is the last word of put's access: "update" unless it is set.
	Action string
	// LeftHas is how many right objects a left one may have, RightHas the reverse.
	LeftHas, RightHas Count
	// LeftShows and RightShows are the fields in which the objects of each side show the other.
	LeftShows, RightShows []Show
	// LeftDeleted is what becomes of the link when the left object is deleted, RightDeleted when the right one is.
	LeftDeleted, RightDeleted Deletion
	// Strict links ask Allow and MayEnd also of what changes nothing, such as links that give rights: a caller who may not make or end a
	// link does not learn whether there is one. They have no Row, and the table is unique in both columns together.
	Strict bool
	// AcrossTenants lets the two belong to different tenants, of which the caller sees both.
	AcrossTenants bool
	// Row is what else the joining table keeps of a link: the body of put. [RowOf] makes it.
	Row *Row
	// Set and SetBack are the lists that `set` and `set_back` take.
	Set     *List[L, R]
	SetBack *List[R, L]
	// Allow refuses to make a link. By default it is All(SameTenant, LeftFree, RightFree).
	Allow Check[L, R]
	// MayEnd refuses to end one; Right is nil where all of Left's are ended.
	MayEnd Check[L, R]
	// Changed is the last in the transaction; Committed runs when it has committed.
	Changed   Check[L, R]
	Committed func(pair *Pair[L, R])
}

// Check refuses to make or to end a link. It runs in the transaction.
type Check[L, R any] func(ctx context.Context, c store.Conn, pair *Pair[L, R]) error

// Pair is one making or ending of a link.
type Pair[L, R any] struct {
	Request *rest.Request
	// Tenant is the one that the request acts in.
	Tenant string
	Left   *L
	Right  *R // nil when all of Left's are ended
	// Ends is true when the link is ended.
	Ends bool
	// Row is what the joining table keeps of the link beside the keys: a pointer to the struct that Link.Row was made of, or nil.
	Row any
	// Carry is what one hook leaves for a later one.
	Carry any

	link *joint[L, R]
}

// All is the checks in this order; the first that refuses counts.
func All[L, R any](checks ...Check[L, R]) Check[L, R] {
	return func(ctx context.Context, c store.Conn, pair *Pair[L, R]) error {
		for _, check := range checks {
			if err := check(ctx, c, pair); err != nil {
				return err
			}
		}
		return nil
	}
}

// SameTenant refuses to link objects of different tenants.
func SameTenant[L, R any](_ context.Context, _ store.Conn, pair *Pair[L, R]) error {
	j := pair.link
	left, right := j.left.tenantOf(pair.Left), j.right.tenantOf(pair.Right)
	if left == right || j.AcrossTenants {
		return nil
	}
	return j.engine.Style.stored("different tenants ('%s_tenant_uuid': '%s', '%s_tenant_uuid': '%s')", j.left.Singular, left, j.right.Singular, right)
}

// LeftFree refuses when the left object is linked with another already.
func LeftFree[L, R any](ctx context.Context, c store.Conn, pair *Pair[L, R]) error {
	j := pair.link
	if j.LeftHas == Any {
		return nil
	}
	held, err := held(ctx, c, j.Table, j.near(), j.far(), j.left.Key(pair.Left), j.right.Key(pair.Right))
	if err != nil || held == nil {
		return err
	}
	return j.engine.Style.Associated(j.left.said(), j.said(), j.LeftColumn, j.left.Key(pair.Left), j.RightColumn, held)
}

// said is what refusals call the right side.
func (j *joint[L, R]) said() string {
	if j.Calls != "" {
		return j.Calls
	}
	return j.right.said()
}

// RightFree refuses when the right object is linked with another already.
func RightFree[L, R any](ctx context.Context, c store.Conn, pair *Pair[L, R]) error {
	j := pair.link
	if j.RightHas == Any {
		return nil
	}
	held, err := held(ctx, c, j.Table, j.far(), j.near(), j.right.Key(pair.Right), j.left.Key(pair.Left))
	if err != nil || held == nil {
		return err
	}
	return j.engine.Style.Associated(j.left.said(), j.said(), j.LeftColumn, held, j.RightColumn, j.right.Key(pair.Right))
}

// held returns the key of an object that one is linked with, other than except, or nil.
func held(ctx context.Context, c store.Conn, joining string, one, other *side, key, except any) (any, error) {
	condition, args := "", []any{key}
	if except != nil {
		condition, args = " AND "+other.column+" IS DISTINCT FROM $2", append(args, except)
	}
	found, err := store.Select[string](ctx, c, "SELECT coalesce(CAST("+other.column+" AS text), '') FROM "+joining+" WHERE "+one.column+" = $1"+condition+
		" ORDER BY "+other.column+" LIMIT 1", args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return other.collection.key().typed(found[0]), nil
}

// Associated refuses because an object is linked with another: "User is associated with a Voicemail ('user_id': 1, ...)". keys are
// names and values, in turn.
func (s Style) Associated(one, other string, keys ...any) error {
	return s.stored("%s is associated with a %s (%s)", one, other, pairs(keys))
}

// NotAssociated refuses because an object is not linked with another that it needs.
func (s Style) NotAssociated(one, other string, keys ...any) error {
	return s.stored("%s must be associated with a %s (%s)", one, other, pairs(keys))
}

// NotPermitted refuses with a sentence of its own.
func (s Style) NotPermitted(sentence string, keys ...any) error {
	if len(keys) == 0 {
		return s.stored("Operation not permitted. %s", sentence)
	}
	return s.stored("Operation not permitted. %s (%s)", sentence, pairs(keys))
}

// pairs writes names and values as the messages that existing clients know have them.
func pairs(keys []any) string {
	parts := make([]string, 0, len(keys)/2)
	for two := range slices.Chunk(keys, 2) {
		parts = append(parts, fmt.Sprintf("'%v': %s", two[0], quoted(two[1])))
	}
	return strings.Join(parts, ", ")
}

// joint is a Link whose collections are known.
type joint[L, R any] struct {
	Link[L, R]
	engine *Engine
	left   *Collection[L]
	right  *Collection[R]
}

func (j *joint[L, R]) near() *side {
	return &side{collection: j.left, joining: j.Table, column: j.LeftColumn, position: j.Position}
}

func (j *joint[L, R]) far() *side {
	return &side{collection: j.right, joining: j.Table, column: j.RightColumn}
}

// On declares the link on an engine.
func (l Link[L, R]) On(e *Engine) {
	e.declare(func() []rest.Operation {
		return l.join(e).operations()
	})
}

// join finds the link's collections, and has them show it and heed it.
func (l Link[L, R]) join(e *Engine) *joint[L, R] {
	j := &joint[L, R]{Link: l, engine: e, left: Of[L](e), right: Of[R](e)}
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
	if e.links == nil {
		e.links = map[[2]reflect.Type]any{}
	}
	e.links[[2]reflect.Type{reflect.TypeFor[L](), reflect.TypeFor[R]()}] = j
	for _, s := range j.LeftShows {
		j.left.show(s.of(), s.loader(j.near(), j.far()))
	}
	for _, s := range j.RightShows {
		j.right.show(s.of(), s.loader(j.far(), j.near()))
	}
	guard(j.left, j.right, j.LeftDeleted, j.engine, j.Table, j.near(), j.far())
	guard(j.right, j.left, j.RightDeleted, j.engine, j.Table, j.far(), j.near())
	return j
}

// guard has a collection heed a link when one of its objects is deleted.
func guard[O, P any](of *Collection[O], other *Collection[P], d Deletion, e *Engine, joining string, one, far *side) {
	switch d {
	case Refuse:
		of.guards = append(of.guards, func(ctx context.Context, c store.Conn, change *Change[O]) error {
			linked, err := held(ctx, c, joining, one, far, of.Key(change.Old), nil)
			if err != nil || linked == nil {
				return err
			}
			return e.Style.Associated(of.said(), other.said(), one.column, of.Key(change.Old), far.column, linked)
		})
	case Cascade:
		of.guards = append(of.guards, func(ctx context.Context, c store.Conn, change *Change[O]) error {
			linked, err := other.Select(ctx, c, other.Keys[0]+" IN (SELECT "+far.column+" FROM "+joining+" WHERE "+one.column+" = $1)", of.Key(change.Old))
			if err != nil {
				return err
			}
			if _, err := c.Exec(ctx, "DELETE FROM "+joining+" WHERE "+one.column+" = $1 AND "+far.column+" IS NOT NULL", of.Key(change.Old)); err != nil {
				return err
			}
			for _, o := range linked {
				if err := other.Delete(ctx, c, &Change[P]{Request: change.Request, Tenant: change.Tenant, Old: o}); err != nil {
					return err
				}
			}
			return nil
		})
	case Unlink: // the database does it
	}
}

func (j *joint[L, R]) operations() []rest.Operation {
	all := "/" + j.left.Path + "/{" + j.left.Param + "}/" + j.Path
	one := all + "/{" + j.right.Param + "}"
	left, right := spaced(j.left.Singular), spaced(j.right.Singular)
	name := j.left.Singular + "_" + j.right.Singular
	if j.Path != j.right.Path {
		name = j.left.Singular + "_" + strings.ReplaceAll(j.Path, "/", "_")
	}
	action := j.Action
	if action == "" {
		action = "update"
	}
	const again = "To repeat it changes nothing."
	put := rest.Operation{
		Method: http.MethodPut, Path: one, ID: "associate_" + name, Summary: "Associate a " + left + " with a " + right,
		Description: again, Success: http.StatusNoContent, Statuses: []int{400, 404}, Handle: j.put,
	}
	if j.Row != nil {
		put.Description = "To repeat it changes what is sent of the association alone."
		put.Body, put.BodyOptional = j.Row.schema.Partial(), true
	}
	ended := []int{404}
	if j.engine.Style.Duplicate == apierr.Invalid {
		ended = []int{400, 404}
	}
	made := map[string]rest.Operation{
		"put": put,
		"delete": {
			Method: http.MethodDelete, Path: one, ID: "dissociate_" + name, Summary: "Dissociate a " + left + " from a " + right,
			Description: again, Success: http.StatusNoContent, Statuses: ended, Handle: j.drop,
		},
		"delete_all": {
			Method: http.MethodDelete, Path: all, ID: "dissociate_" + name, Summary: "Dissociate a " + left + " from every " + right,
			Description: again, Success: http.StatusNoContent, Statuses: ended, Handle: j.dropAll,
		},
	}
	var out []rest.Operation
	for _, kind := range j.Only {
		op, ok := made[kind]
		if ok {
			word := "delete"
			if kind == "put" {
				word = action
			}
			op.Access, op.Tag, op.Tenanted = accessOf(j.engine.Service, op.Path, word), strings.ReplaceAll(j.left.Path, "/", "_"), true
			out = append(out, op)
			continue
		}
		out = append(out, j.further(kind, all))
	}
	return out
}

// further are the operations that read, create or replace.
func (j *joint[L, R]) further(kind, path string) rest.Operation {
	left, right := strings.ReplaceAll(j.left.Path, "/", "_"), strings.ReplaceAll(j.right.Path, "/", "_")
	switch kind {
	case "list":
		return listOf(j.right, parentOf(j.left), path, "list_"+j.left.Singular+"_"+strings.ReplaceAll(j.Path, "/", "_"), left,
			func(placeholder string) string { return among(j.right.Keys[0], j.near(), j.far(), placeholder) })
	case "list_back":
		return listOf(j.left, parentOf(j.right), "/"+j.right.Path+"/{"+j.right.Param+"}/"+j.left.Path, "list_"+j.right.Singular+"_"+left, right,
			func(placeholder string) string { return among(j.left.Keys[0], j.far(), j.near(), placeholder) })
	case "one":
		return j.readOne()
	case "create":
		return j.createOne(path)
	case "set":
		s := &setter[L, R]{
			engine: j.engine, joining: j.Table, nearColumn: j.LeftColumn, farColumn: j.RightColumn, position: j.Position, row: j.Row,
			acrossTenants: j.AcrossTenants, near: j.left, far: j.right, list: j.Set,
		}
		return s.operation()
	case "set_back":
		s := &setter[R, L]{
			engine: j.engine, joining: j.Table, nearColumn: j.RightColumn, farColumn: j.LeftColumn, backward: j.Position, row: j.Row,
			acrossTenants: j.AcrossTenants, near: j.right, far: j.left, list: j.SetBack,
		}
		return s.operation()
	default:
		panic(fmt.Sprintf("%s: a link has no operation %q", j.Table, kind)) // a mistake in the declaration, seen at every start
	}
}

// change finds both sides, and does the work, in one transaction.
func (j *joint[L, R]) change(ctx context.Context, r *rest.Request, both bool, do func(context.Context, store.Conn, *Pair[L, R]) error) (rest.Reply, error) { //nolint:unparam // as a rest.Handler returns it
	scope, err := tenant.Of(ctx, j.engine.DB, r)
	if err != nil {
		return rest.Reply{}, err
	}
	err = j.engine.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		p := &Pair[L, R]{Request: r, Tenant: scope, link: j}
		if p.Left, err = j.left.row(ctx, c, scope, r.Param(j.left.Param)); err != nil {
			return err
		}
		named := []aliases{j.left.aliases(p.Left)}
		if both {
			if p.Right, err = j.right.row(ctx, c, scope, r.Param(j.right.Param)); err != nil {
				return err
			}
			named = append(named, j.right.aliases(p.Right))
		}
		if err := refuseDenied(r, named...); err != nil {
			return err
		}
		if err := j.own(ctx, c, p); err != nil {
			return err
		}
		return do(ctx, c, p)
	})
	return rest.Reply{}, err
}

// own fills in what hooks and checks read of both.
func (j *joint[L, R]) own(ctx context.Context, c store.Conn, p *Pair[L, R]) error {
	if err := j.left.own(ctx, c, []*L{p.Left}); err != nil || p.Right == nil {
		return err
	}
	return j.right.own(ctx, c, []*R{p.Right})
}

func (j *joint[L, R]) put(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	var sent *rest.Object
	if j.Row != nil {
		_, object, err := j.engine.begin(ctx, r)
		if err != nil {
			return rest.Reply{}, err
		}
		sent = &object
	}
	return j.change(ctx, r, true, func(ctx context.Context, c store.Conn, p *Pair[L, R]) error {
		return j.tie(ctx, c, p, sent)
	})
}

// tie makes the link, or changes the row of one that there is.
func (j *joint[L, R]) tie(ctx context.Context, c store.Conn, p *Pair[L, R], sent *rest.Object) error {
	if j.Strict {
		return j.make(ctx, c, p)
	}
	left, right := j.left.Key(p.Left), j.right.Key(p.Right)
	there, err := j.Row.load(ctx, c, j.Table+" WHERE "+j.LeftColumn+" = $1 AND "+j.RightColumn+" = $2", left, right)
	if err != nil {
		return err
	}
	p.Row = there
	if there == nil {
		p.Row, err = j.Row.fresh()
		if err != nil {
			return err
		}
	}
	if sent != nil {
		if err := sent.Into(p.Row); err != nil {
			return err
		}
	}
	switch {
	case there == nil:
		return j.make(ctx, c, p)
	case sent == nil || len(j.Row.columns) == 0:
		return nil // it is so already
	default:
		args := &arguments{}
		sets := j.Row.sets(p.Row, args)
		if _, err := c.Exec(ctx, "UPDATE "+j.Table+" SET "+sets+" WHERE "+j.LeftColumn+" = "+args.add(left)+" AND "+
			j.RightColumn+" = "+args.add(right), args.values...); err != nil {
			return err
		}
	}
	return j.concludePair(ctx, c, p)
}

// make makes the link, if it is allowed.
func (j *joint[L, R]) make(ctx context.Context, c store.Conn, p *Pair[L, R]) error {
	if err := j.Allow(ctx, c, p); err != nil {
		return err
	}
	made, err := j.insert(ctx, c, p)
	if err != nil || made == 0 {
		return err
	}
	return j.concludePair(ctx, c, p)
}

// insert writes the row of a link, and returns how many rows it wrote: none where a strict link is there already.
func (j *joint[L, R]) insert(ctx context.Context, c store.Conn, p *Pair[L, R]) (int64, error) {
	left := j.left.Key(p.Left)
	args := &arguments{}
	names := []string{j.LeftColumn, j.RightColumn}
	values := []string{args.add(left), args.add(j.right.Key(p.Right))}
	for _, col := range j.Row.all() {
		names, values = append(names, col.name), append(values, args.add(j.Row.value(p.Row, col)))
	}
	if j.Position != "" && !slices.Contains(names, j.Position) {
		names = append(names, j.Position)
		values = append(values, "(SELECT coalesce(max("+j.Position+"), -1) + 1 FROM "+j.Table+" WHERE "+j.LeftColumn+" = "+args.add(left)+")")
	}
	sql := "INSERT INTO " + j.Table + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
	if j.Strict {
		sql += " ON CONFLICT (" + j.LeftColumn + ", " + j.RightColumn + ") DO NOTHING"
	}
	made, err := c.Exec(ctx, sql, args.values...)
	if store.IsConstraint(err, store.Unique) { // of two at once, by those who read before
		refusal := j.engine.Style.stored("%s is associated with a %s already", j.left.said(), j.said())
		refusal.Err = err
		return 0, refusal
	}
	return made, err
}

func (j *joint[L, R]) drop(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	return j.change(ctx, r, true, func(ctx context.Context, c store.Conn, p *Pair[L, R]) error {
		p.Ends = true
		return j.untie(ctx, c, p, j.LeftColumn+" = $1 AND "+j.RightColumn+" = $2", j.left.Key(p.Left), j.right.Key(p.Right))
	})
}

func (j *joint[L, R]) dropAll(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	return j.change(ctx, r, false, func(ctx context.Context, c store.Conn, p *Pair[L, R]) error {
		p.Ends = true
		return j.untie(ctx, c, p, j.LeftColumn+" = $1", j.left.Key(p.Left))
	})
}

// untie ends the links for which the condition holds. To end what there is not changes nothing, and nothing refuses it but MayEnd of a strict link.
func (j *joint[L, R]) untie(ctx context.Context, c store.Conn, p *Pair[L, R], condition string, args ...any) error {
	if !j.Strict {
		there, err := store.Get[int](ctx, c, "SELECT count(*) FROM "+j.Table+" WHERE "+condition, args...)
		if err != nil || there == 0 {
			return err
		}
	}
	if j.MayEnd != nil {
		if err := j.MayEnd(ctx, c, p); err != nil {
			return err
		}
	}
	ended, err := c.Exec(ctx, "DELETE FROM "+j.Table+" WHERE "+condition, args...)
	if err != nil || ended == 0 {
		return err
	}
	return j.concludePair(ctx, c, p)
}

// concludePair is the end of every change of a link: the hooks, the audit, and what is told.
func (j *joint[L, R]) concludePair(ctx context.Context, c store.Conn, p *Pair[L, R]) error {
	if j.Changed != nil {
		if err := j.Changed(ctx, c, p); err != nil {
			return err
		}
	}
	if j.Committed != nil {
		afterCommit(ctx, func() { j.Committed(p) })
	}
	left := fmt.Sprint(j.left.Key(p.Left))
	tell(ctx, Told{Resource: j.left.Path, Key: left, Tenant: j.left.tenantOf(p.Left)})
	pair := map[string]any{j.left.Singular: j.left.Key(p.Left)}
	change := audit.Change{
		Tenant: cmp.Or(j.left.tenantOf(p.Left), p.Tenant), Resource: j.left.Path + "/" + j.Path, Object: left,
		Keys: [][]string{j.left.aliases(p.Left).keys}, After: pair,
	}
	if p.Right != nil {
		right := fmt.Sprint(j.right.Key(p.Right))
		tell(ctx, Told{Resource: j.right.Path, Key: right, Tenant: j.right.tenantOf(p.Right)})
		pair[j.right.Singular] = j.right.Key(p.Right)
		change.Object += "/" + right
		change.Keys = append(change.Keys, j.right.aliases(p.Right).keys)
	}
	if p.Ends {
		change.Before, change.After = pair, nil
	}
	return audit.Write(ctx, c, p.Request, change)
}

func (j *joint[L, R]) readOne() rest.Operation {
	path := "/" + j.left.Path + "/{" + j.left.Param + "}/" + j.right.Singular
	return rest.Operation{
		Method: http.MethodGet, Path: path, Access: accessOf(j.engine.Service, path, "read"),
		ID: "get_" + j.left.Singular + "_" + j.right.Singular, Tag: strings.ReplaceAll(j.left.Path, "/", "_"),
		Summary: "Read the " + spaced(j.right.Singular) + " of a " + spaced(j.left.Singular),
		Success: http.StatusOK, Reply: j.right.schema, Statuses: []int{404}, Tenanted: true, Conditional: true,
		Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
			scope, err := tenant.Of(ctx, j.engine.DB, r)
			if err != nil {
				return rest.Reply{}, err
			}
			var object *R
			err = j.engine.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
				key, err := parentOf(j.left).key(ctx, c, scope, r)
				if err != nil {
					return err
				}
				args := &arguments{}
				where := j.right.inScope(true, args.add(scope)) + " AND " + among(j.right.Keys[0], j.near(), j.far(), args.add(key))
				object, err = store.Get[*R](ctx, c, "SELECT "+j.right.selected()+" FROM "+j.right.Table+" WHERE "+where, args.values...)
				if errors.Is(err, store.ErrNotFound) {
					return j.right.notFound("", nil)
				}
				if err != nil {
					return err
				}
				return j.right.decorate(ctx, c, scope, []*R{object})
			})
			return rest.Reply{Body: object}, err
		},
	}
}

// among is the condition for the keys on the far side of those that a link joins with one of the near side.
func among(key string, near, far *side, placeholder string) string {
	return key + " IN (SELECT " + far.column + " FROM " + near.joining + " WHERE " + near.column + " = " + placeholder + ")"
}

func (j *joint[L, R]) createOne(path string) rest.Operation {
	return rest.Operation{
		Method: http.MethodPost, Path: path, Access: accessOf(j.engine.Service, path, "create"),
		ID: "create_" + j.left.Singular + "_" + j.right.Singular, Tag: strings.ReplaceAll(j.left.Path, "/", "_"),
		Summary: "Create a " + spaced(j.right.Singular) + " for a " + spaced(j.left.Singular),
		Body:    j.right.schema, Success: j.engine.Style.CreateStatus, Reply: j.right.schema, Statuses: []int{404}, Tenanted: true,
		Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
			return j.right.createIn(ctx, r, func(ctx context.Context, c store.Conn, change *Change[R]) error {
				left, err := j.left.row(ctx, c, change.Tenant, r.Param(j.left.Param))
				if err != nil {
					return err
				}
				if err := refuseDenied(r, j.left.aliases(left)); err != nil {
					return err
				}
				change.Tenant = j.left.tenantOf(left)
				if err := j.right.insert(ctx, c, change); err != nil {
					return err
				}
				pair := &Pair[L, R]{Request: r, Tenant: change.Tenant, Left: left, Right: change.New, link: j}
				if err := j.left.own(ctx, c, []*L{left}); err != nil {
					return err
				}
				if err := j.tie(ctx, c, pair, nil); err != nil {
					return err
				}
				return j.right.decorate(ctx, c, change.Tenant, []*R{change.New})
			})
		},
	}
}

// Tie links two objects, as put does, in a transaction of Engine.InTx.
func Tie[L, R any](ctx context.Context, c store.Conn, e *Engine, r *rest.Request, tenantUUID string, left *L, right *R) error {
	j, ok := e.links[[2]reflect.Type{reflect.TypeFor[L](), reflect.TypeFor[R]()}].(*joint[L, R])
	if !ok {
		return fmt.Errorf("no link of %T and %T is declared", left, right)
	}
	return j.tie(ctx, c, &Pair[L, R]{Request: r, Tenant: tenantUUID, Left: left, Right: right, link: j}, nil)
}
