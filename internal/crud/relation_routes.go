package crud

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// List is an operation that replaces all links of one object by links with the objects of a list: PUT /{near}/{id}/{Path} with
// {"{Field}": [{"id": 1}, ...]}. The order is kept; an empty list ends all links.
type List struct {
	// Path is that of the list; for the left side by default the relation's.
	Path string
	// ID is the operation's id, if it is not "associate_{near}_{path}".
	ID string
	// Field is the body's attribute; by default the last segment of Path.
	Field string
	// By are the columns by which an item may name its object; by default the far collection's keys.
	By []string
	// Repeated is the sentence that refuses a repeated object: "Cannot associate same user more than once." Without it one counts once.
	Repeated string
	// Nested is the attribute by which a body of the object has the list too, or "members.users", if it stands in an object: see [Nested]. A POST
	// reads that of a Set only with recursive=true: clients send it back as they have read it.
	Nested string
}

// operations returns those that Only names.
func (r *DeclaredRelation) operations() []rest.Operation {
	var out []rest.Operation
	r.Accesses = map[string]string{}
	for _, kind := range r.Only {
		op := r.operation(kind)
		out, r.Accesses[kind] = append(out, op), op.Access
	}
	return out
}

func (r *DeclaredRelation) operation(kind string) rest.Operation {
	of, other := r.Left, r.Right
	all := "/" + of.Path + "/{" + r.Left.param + "}/" + r.Path
	one := all + "/{" + r.Right.param + "}"
	left, right := r.engine.One(of.Singular), r.engine.One(other.Singular)
	name := of.Singular + "_" + other.Singular
	if r.Path != other.Path {
		name = of.Singular + "_" + declaration.Underscored(r.Path)
	}
	op := rest.Operation{
		Path: one, Tag: declaration.Underscored(of.Path), Tenanted: true, Success: http.StatusNoContent, Statuses: []int{404, 412},
		Description: "To repeat it changes nothing.",
	}
	if r.engine.Style.Duplicate == apierr.Invalid {
		op.Statuses = append(op.Statuses, http.StatusBadRequest)
	}
	switch kind {
	case "put":
		op.Method, op.ID, op.Summary, op.Handle = http.MethodPut, "associate_"+name, "Associate "+left+" with "+right, r.put
		op.Access, op.Statuses = rights.AccessOf(r.engine.Service, one, "update"), []int{400, 404, 412}
		if r.GivesRights {
			op.Access = rights.AccessOf(r.engine.Service, one, "create")
		}
		if r.row != declaration.NoRow {
			op.Description = "To repeat it changes what is sent of the association alone."
			op.Body, op.BodyOptional = r.row.Schema.Partial(), true
		}
	case "delete":
		op.Method, op.ID, op.Summary, op.Handle = http.MethodDelete, "dissociate_"+name, "Dissociate "+left+" from "+right, r.drop
		op.Access = rights.AccessOf(r.engine.Service, one, "delete")
	case "delete_all":
		op.Method, op.Path, op.ID, op.Handle = http.MethodDelete, all, "dissociate_"+name, r.dropAll
		if slices.Contains(r.Only, "delete") {
			op.ID = "dissociate_every_" + name
		}
		op.Summary = "Dissociate " + left + " from every " + rest.Reading(r.engine.Words, other.Singular)
		op.Access = rights.AccessOf(r.engine.Service, all, "delete")
	case "list":
		at := of.collection.place(of.otherReads(all)...)
		at.belongs = of.linkedWith
		return other.collection.listBelow(at, all, "list_"+of.Singular+"_"+declaration.Underscored(r.Path))
	case "list_back":
		at := other.collection.place()
		at.belongs = other.linkedWith
		return of.collection.listBelow(at, at.path+"/"+of.Path, "list_"+other.Singular+"_"+declaration.Underscored(of.Path))
	case "one":
		at := of.collection.place(of.otherReads("/" + other.Singular)...)
		at.belongs = func(_ context.Context, o any, add func(value any) (placeholder string)) string {
			return of.among(add(of.Key(o)))
		}
		return other.collection.oneBelow(at)
	case "create":
		return other.collection.createBelow(of.collection.place(), all, func(ctx context.Context, c store.Conn, q *rest.Request, left, made any) error {
			if err := of.collection.ownOf(ctx, c, []any{left}); err != nil {
				return err
			}
			return (&diff{request: q, tenant: of.TenantOf(left), near: of, object: left}).associate(ctx, c, made)
		})
	case "set":
		return r.Left.listOperation()
	case "set_back":
		return r.Right.listOperation()
	default:
		r.mistaken("there is no operation " + kind)
	}
	return op
}

// otherReads are the paths that read links of this side, but for the one of a path.
func (s *DeclaredSide) otherReads(path string) []string {
	var out []string
	for _, words := range s.reads {
		if !strings.HasSuffix(declaration.Dotted(path), "."+words) {
			out = append(out, words)
		}
	}
	return out
}

// change finds the near object of a change, and the far one if both says that the path names it, and runs do, in one transaction.
func (s *DeclaredSide) change(
	ctx context.Context, r *rest.Request, both bool, do func(ctx context.Context, c store.Conn, d *diff, far any) error,
) (rest.Reply, error) {
	e := s.relation.engine
	scope, err := e.TenantOf(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	var sent *rest.Object
	if r.Op().Body != nil {
		object, err := r.Object()
		if err != nil {
			return rest.Reply{}, err
		}
		sent = &object
	}
	return rest.Reply{}, e.InTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
		sides, objects, names := []*DeclaredSide{s}, make([]any, 2), []rights.Aliases(nil)
		if both {
			sides = append(sides, s.other)
		}
		for i, side := range sides {
			if objects[i], err = side.collection.rowAt(ctx, c, scope, r.Param(side.param)); err != nil {
				return err
			}
			names = append(names, side.names(objects[i]))
		}
		if err := rights.RefuseDenied(r, names...); err != nil {
			return err
		}
		if err := s.collection.Unchanged(ctx, c, r, scope, s.Key(objects[0])); err != nil {
			return err
		}
		for i, side := range sides {
			if err := side.collection.ownOf(ctx, c, objects[i:i+1]); err != nil {
				return err
			}
		}
		return do(ctx, c, &diff{request: r, tenant: scope, near: s, sent: sent, object: objects[0]}, objects[1])
	})
}

// names returns all keys by which the relation's paths can name an object of this side.
func (s *DeclaredSide) names(o any) rights.Aliases {
	names := rights.AliasesOf(s.Entity, o)
	names.Param = s.param
	return names
}

func (r *DeclaredRelation) put(ctx context.Context, q *rest.Request) (rest.Reply, error) {
	return r.Left.change(ctx, q, true, func(ctx context.Context, c store.Conn, d *diff, far any) error {
		return d.associate(ctx, c, far)
	})
}

// drop ends a link. To end one that there is not changes nothing, and only MayEnd of a link that gives rights refuses it.
func (r *DeclaredRelation) drop(ctx context.Context, q *rest.Request) (rest.Reply, error) {
	return r.Left.change(ctx, q, true, func(ctx context.Context, c store.Conn, d *diff, far any) error {
		if !r.GivesRights {
			there, err := d.stored(ctx, c, r.Right.Key(far))
			if err != nil || len(there) == 0 {
				return err
			}
		}
		d.end(far)
		return d.apply(ctx, c)
	})
}

func (r *DeclaredRelation) dropAll(ctx context.Context, q *rest.Request) (rest.Reply, error) {
	return r.Left.change(ctx, q, false, func(ctx context.Context, c store.Conn, d *diff, _ any) error {
		linked, err := r.Left.all(ctx, c, d.object)
		if err != nil {
			return err
		}
		if err := r.Right.collection.ownOf(ctx, c, linked); err != nil {
			return err
		}
		d.end(linked...)
		return d.apply(ctx, c)
	})
}

// listOperation returns the PUT of the list of this side.
func (s *DeclaredSide) listOperation() rest.Operation {
	l, k := s.Set, s
	if l == nil {
		s.relation.mistaken("there is no such list")
	}
	path := "/" + k.Path + "/{" + s.param + "}/" + l.Path
	return rest.Operation{
		Method: http.MethodPut, Path: path, Access: rights.AccessOf(s.relation.engine.Service, path, "update"),
		ID:  cmp.Or(l.ID, "associate_"+k.Singular+"_"+declaration.Underscored(l.Path)),
		Tag: declaration.Underscored(k.Path), Tenanted: true,
		Summary:     "Replace the " + s.relation.engine.Plural(l.Path) + " of " + s.relation.engine.One(k.Singular),
		Description: "The list replaces what there was, in this order; an empty one ends all.",
		Body:        &rest.Schema{Type: "object", Properties: []rest.Property{{Name: l.Field, Required: true, Schema: s.listSchema()}}},
		Success:     http.StatusNoContent, Statuses: []int{400, 404, 412}, Handle: s.putList,
	}
}

// listSchema returns the schema of the list.
func (s *DeclaredSide) listSchema() *rest.Schema {
	l := s.Set
	item := &rest.Schema{Type: "object", Name: componentOf(s.Singular, l.Field)}
	if !s.collection.firstList(s) {
		item.Name = componentOf(s.Singular, declaration.Underscored(l.Path))
	}
	for _, by := range l.By {
		p := s.other.Schema.Property(by)
		if p == nil {
			s.relation.mistaken(fmt.Sprintf("an item of %s is named by %s, which no client sees", l.Path, by))
		}
		shape := *p.Schema
		item.Properties = append(item.Properties, rest.Property{Name: by, Required: len(l.By) == 1, Schema: &shape})
	}
	item.Properties = append(item.Properties, s.relation.row.Schema.Properties...)
	most := MaxLinks
	return &rest.Schema{Type: "array", Items: item, MaxItems: &most}
}

func componentOf(singular, field string) string { return rest.CamelCase(singular+"_"+field) + "Item" }

func (s *DeclaredSide) putList(ctx context.Context, q *rest.Request) (rest.Reply, error) {
	return s.change(ctx, q, false, func(ctx context.Context, c store.Conn, d *diff, _ any) error {
		items, _ := d.sent.Value(s.Set.Field).([]any)
		return d.replaceList(ctx, c, items)
	})
}

// replaceList makes the items that a client sent the list of the object.
func (d *diff) replaceList(ctx context.Context, c store.Conn, items []any) error {
	objects, err := d.near.other.collection.pick(ctx, c, d.tenant, d.near.Set, items)
	if err != nil {
		return err
	}
	d.list = d.near.Set
	if !transaction.MemoryOf(ctx).Unlinked(&d.near.Side, d.near.Key(d.object)) {
		if d.before, err = d.stored(ctx, c, nil); err != nil {
			return err
		}
	}
	return d.replace(ctx, c, objects, items)
}
