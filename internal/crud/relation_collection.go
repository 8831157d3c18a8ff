package crud

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// What relations ask of a collection, whose type they do not know: see [table].

func (k *CollectionOf[T]) joins(s *DeclaredSide) { k.sides = append(k.sides, s) }

// firstList reports whether no relation before has a list of its name below the objects.
func (k *CollectionOf[T]) firstList(s *DeclaredSide) bool {
	return s == k.sides[slices.IndexFunc(k.sides, func(o *DeclaredSide) bool { return o.Set != nil && o.Set.Field == s.Set.Field })]
}

func (k *CollectionOf[T]) titleOf(o any) string { return audit.Called(k.auditData(o.(T))) }

func (k *CollectionOf[T]) rowAt(ctx context.Context, c store.Conn, scope, typed string) (any, error) {
	return k.Row(ctx, c, scope, typed)
}

func (k *CollectionOf[T]) rowsOf(ctx context.Context, c store.Conn, condition string, args ...any) ([]any, error) {
	rows, err := k.Rows(ctx, c, condition, args...)
	return untypedAll(rows), err
}

func untypedAll[T any](objects []T) []any {
	out := make([]any, len(objects))
	for i, o := range objects {
		out[i] = o
	}
	return out
}

func (k *CollectionOf[T]) ownOf(ctx context.Context, c store.Conn, objects []any) error {
	typed := make([]T, len(objects))
	for i, o := range objects {
		typed[i] = o.(T)
	}
	return k.LoadOwn(ctx, c, typed)
}

func (k *CollectionOf[T]) deleteOf(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string, o any) error {
	return k.Delete(ctx, c, &declaration.Change[T]{Request: r, Tenant: tenantUUID, Old: o.(T)})
}

// pick returns the objects that the items of a list name, in their order.
func (k *CollectionOf[T]) pick(ctx context.Context, c store.Conn, scope string, list *List, items []any) ([]any, error) {
	type name struct {
		by    string
		value any
	}
	names := make([]name, len(items))
	for i, item := range items {
		var err error
		if names[i].by, names[i].value, err = list.named(i, item); err != nil {
			return nil, err
		}
	}
	out := make([]T, 0, len(items))
	found := map[name]T{}
	for some := range slices.Chunk(names, query.LoadAtOnce/2) {
		args := &query.Arguments{}
		within := k.InScope(true, args.Add(scope))
		conditions := make([]string, len(some))
		for i, n := range some {
			conditions[i] = n.by + " = " + args.Add(n.value)
		}
		where := within + " AND (" + strings.Join(conditions, " OR ") + ")"
		rows, err := store.Select[T](ctx, c, "SELECT "+k.Selected()+" FROM "+k.Table+" WHERE "+where, args.Values...)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			for _, by := range list.By {
				found[name{by, k.Field(row, by)}] = row
			}
		}
		for _, n := range some {
			o := found[n]
			if declaration.IsNull(o) {
				return nil, declaration.Missing(list.Field, k.Title, n.by, n.value)
			}
			out = append(out, o)
		}
	}
	return untypedAll(out), k.LoadOwn(ctx, c, out)
}

// named returns the key by which an item names its object. The schema has checked the types.
func (l *List) named(at int, item any) (by string, value any, err error) {
	sent, _ := item.(map[string]any)
	for _, by := range l.By {
		switch v := sent[by].(type) {
		case string:
			return by, strings.ToLower(v), nil
		case json.Number:
			n, err := v.Int64()
			return by, n, err
		}
	}
	return "", nil, apierr.InvalidField(fmt.Sprintf("%s[%d].%s", l.Field, at, l.By[0]), "required", "Is required")
}

// place is the object at the beginning of a path, below which others stand that belong to it.
type place struct {
	of   *declaration.Entity
	path string
	// find returns the object that a request's path names. It refuses a caller who is denied the operation under another of its keys.
	find func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error)
	// belongs returns the condition for what belongs to the object, and adds its values.
	belongs func(ctx context.Context, o any, add func(value any) (placeholder string)) string
}

// place is the object of this collection that the path names by its key. It refuses a caller who is denied to read one of these paths
// below it, which show the same.
func (k *CollectionOf[T]) place(same ...string) place {
	find := func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
		o, err := k.Row(ctx, c, scope, r.Param(k.Param))
		if err == nil {
			err = rights.RefuseDenied(r, rights.AliasesOf(k.Entity, o))
		}
		for _, path := range same {
			if err == nil {
				err = k.NotDenied(r, o, path+".read")
			}
		}
		return o, err
	}
	return place{of: k.Entity, path: k.OnePath(), find: find}
}

// andBelongs returns what a condition is followed by, for what belongs to the object that a request's path names.
func (of *place) andBelongs(ctx context.Context, c store.Conn, r *rest.Request, scope string, args *query.Arguments) (string, error) {
	o, err := of.find(ctx, c, r, scope)
	if err != nil {
		return "", err
	}
	return " AND " + of.belongs(ctx, o, args.Add), nil
}

// at puts an operation at a path below the object.
func (of *place) at(path, id string, op rest.Operation) rest.Operation {
	op.Path, op.ID, op.Tag, op.Tenanted, op.Statuses = path, id, declaration.Underscored(of.of.Path), true, []int{404}
	action := "read"
	if op.Method == http.MethodPost {
		action = "create"
	}
	op.Access = rights.AccessOf(of.of.Service, path, action)
	return op
}

// listBelow returns the operation that lists the objects that belong to the one at a place: GET {place}/{collection}.
func (k *CollectionOf[T]) listBelow(of place, path, id string) rest.Operation {
	list, op := k.List, of.at(path, id, k.listOperation())
	list.Recurse = false
	op.Summary, op.Query = "List the "+k.Plural(k.Path)+" of "+k.One(of.of.Singular), list.Parameters()
	op.Handle = func(ctx context.Context, r *rest.Request) (rest.Reply, error) { return k.serveList(ctx, r, &of) }
	return op
}

// oneBelow returns the operation that reads the one object that belongs to the one at a place: GET {place}/{singular}.
func (k *CollectionOf[T]) oneBelow(of place) rest.Operation {
	op := of.at(of.path+"/"+k.Singular, "get_"+of.of.Singular+"_"+k.Singular, k.readOperation())
	op.Summary = "Read the " + rest.Reading(k.Words, k.Singular) + " of " + k.One(of.of.Singular)
	k.below[op.Path] = func(ctx context.Context, c store.Conn, r *rest.Request, scope string) (string, error) {
		args := &query.Arguments{}
		where := k.InScope(true, args.Add(scope))
		and, err := of.andBelongs(ctx, c, r, scope, args)
		if err != nil {
			return "", err
		}
		found, err := k.Rows(ctx, c, where+and, args.Values...)
		if err != nil {
			return "", err
		}
		if len(found) == 0 {
			return "", k.NotFound("", nil)
		}
		return fmt.Sprint(k.Key(found[0])), k.NotDenied(r, found[0], "read")
	}
	return op
}

// createBelow returns the operation that makes an object for the one at a place, in its tenant: POST {place}/{collection}. join links them.
func (k *CollectionOf[T]) createBelow(of place, path string, join func(ctx context.Context, c store.Conn, r *rest.Request, o, made any) error) rest.Operation {
	op := of.at(path, "create_"+of.of.Singular+"_"+k.Singular, k.createOperation())
	op.Summary += " for " + k.One(of.of.Singular)
	op.Handle = func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		return k.createIn(ctx, r, func(ctx context.Context, c store.Conn, change *declaration.Change[T]) error {
			o, err := of.find(ctx, c, r, change.Tenant)
			if err == nil {
				err = rights.NotDenied(r, rights.AccessOf(k.Service, "/"+k.Path, "create"))
			}
			if err != nil {
				return err
			}
			change.Tenant = of.of.TenantOf(o)
			if err := k.Insert(ctx, c, change); err != nil {
				return err
			}
			if err := join(ctx, c, r, o, change.New); err != nil {
				return err
			}
			return k.LoadAll(ctx, c, change.Tenant, []T{change.New})
		})
	}
	return op
}
