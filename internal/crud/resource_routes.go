package crud

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// operations returns those of the collection that Only names.
func (k *CollectionOf[T]) operations() []rest.Operation {
	var out []rest.Operation
	for _, action := range declaration.Actions {
		if slices.Contains(k.Only, action) {
			out = append(out, k.operation(action))
		}
	}
	return out
}

// operation returns the one of an action.
func (k *CollectionOf[T]) operation(action string) rest.Operation {
	op := map[string]func() rest.Operation{
		"list": k.listOperation, "create": k.createOperation, "read": k.readOperation, "update": k.updateOperation, "delete": k.deleteOperation,
	}[action]()
	op.Tag, op.Tenanted = declaration.Underscored(k.Path), true
	op.Access = rights.AccessOf(k.Service, op.Path, action)
	op.Query = slices.Concat(op.Query, k.Query[action])
	op.Statuses = slices.Concat(op.Statuses, k.Statuses[action])
	op.Master = rights.Master(k.Entity, op.Method)
	if len(k.Nested) > 0 {
		if op.Body != nil {
			op.MaxBody = transaction.MaxLongBody
		}
		if action == "update" || action == "delete" || action == "create" && k.asked() {
			op.Query = append(op.Query, recursiveParameter)
		}
	}
	if k.Describe != nil {
		k.Describe(action, &op)
	}
	if action == "read" && !strings.Contains(op.Access, "{") {
		k.ReadBy = op.Access
	}
	return op
}

func (k *CollectionOf[T]) listOperation() rest.Operation {
	plural := declaration.Underscored(k.Path)
	return rest.Operation{
		Method: http.MethodGet, Path: "/" + k.Path, ID: "list_" + plural, Summary: "List " + k.Plural(k.Path),
		Query: k.List.Parameters(), Success: http.StatusOK, Reply: rest.ListOf(k.Schema, k.Style.Filtered), Fields: true,
		Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) { return k.serveList(ctx, r, nil) },
	}
}

func (k *CollectionOf[T]) createOperation() rest.Operation {
	op := rest.Operation{
		Method: http.MethodPost, Path: "/" + k.Path, ID: "create_" + k.Singular, Summary: "Create " + k.One(k.Singular),
		Body: k.bodies().create, Success: k.Style.CreateStatus, Reply: k.bodies().reply, Statuses: []int{int(k.Style.Duplicate)},
		Tagged: true, Located: k.Style.Location, Handle: k.create,
	}
	if k.MadeAs != "" {
		op.Path = k.OnePath()
	}
	if len(k.Nested) > 0 { // which may be slow
		op.Preload = func(ctx context.Context, r *rest.Request) (any, error) { return k.drafted(ctx, r) }
	}
	return op
}

func (k *CollectionOf[T]) readOperation() rest.Operation {
	return rest.Operation{
		Method: http.MethodGet, Path: k.OnePath(), ID: "get_" + k.Singular, Summary: "Read " + k.One(k.Singular),
		Success: http.StatusOK, Reply: k.Schema, Statuses: []int{404}, Conditional: true, Fields: true, Handle: k.engine.Reading(k.read),
	}
}

func (k *CollectionOf[T]) updateOperation() rest.Operation {
	op := rest.Operation{
		Method: http.MethodPut, Path: k.OnePath(), ID: "update_" + k.Singular, Summary: "Update " + k.One(k.Singular),
		Description: "Fields that are not sent stay as they are.", Body: k.bodies().update, Success: http.StatusNoContent,
		Statuses: []int{404, 412, int(k.Style.Duplicate)}, Handle: k.update,
	}
	if k.Style.UpdateReply {
		op.Success, op.Reply, op.Tagged = http.StatusOK, k.Schema, true
	}
	if len(k.Nested) > 0 {
		op.Preload = func(ctx context.Context, r *rest.Request) (any, error) { return k.edited(ctx, r) }
	}
	return op
}

func (k *CollectionOf[T]) deleteOperation() rest.Operation {
	op := rest.Operation{
		Method: http.MethodDelete, Path: k.OnePath(), ID: "delete_" + k.Singular, Summary: "Delete " + k.One(k.Singular),
		Success: http.StatusNoContent, Statuses: []int{404, 412}, Handle: k.remove,
	}
	if k.Style.Duplicate == apierr.Invalid {
		op.Statuses = append(op.Statuses, http.StatusBadRequest)
	}
	answers := "what would be deleted"
	if k.Preview == nil && k.isLedTo() {
		k.Preview, answers = &declaration.Preview[T]{Reply: rest.SchemaOf[Leading](), Show: k.leadingTo}, "what leads to it"
	}
	if k.Preview != nil {
		op.Query = append(op.Query, rest.Parameter{
			Name: "dry_run", Description: "true: delete nothing, and answer " + answers + ".", Schema: &rest.Schema{Type: "boolean"},
		})
		op.Replies = map[int]*rest.Schema{http.StatusOK: k.Preview.Reply}
	}
	return op
}

// serveList lists the tenant's objects or, of the tenant's subtree, those that belong to the object at a place.
func (k *CollectionOf[T]) serveList(ctx context.Context, r *rest.Request, of *place) (rest.Reply, error) {
	list, err := r.List(k.List)
	if err != nil {
		return rest.Reply{}, err
	}
	fields := r.Fields()
	if list.View != "" {
		if fields != nil {
			return rest.Reply{}, apierr.InvalidField("fields", "view", "Cannot be sent together with view, which has its own attributes")
		}
		fields = k.Views[list.View].Of
	}
	scope, err := k.engine.TenantOf(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	var found query.Page
	err = k.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
		if err := rights.MayRead(ctx, c, k.Entity, scope); err != nil {
			return err
		}
		args := &query.Arguments{}
		where := k.InScope(list.Recurse || of != nil, args.Add(scope)) + k.andReadable(r, args) + k.AndVisible(ctx, args.Add)
		if of != nil {
			and, err := of.andBelongs(ctx, c, r, scope, args)
			if err != nil {
				return err
			}
			where += and
		}
		var objects []T
		if objects, found, err = k.Page(ctx, c, list, where, scope, args, fields); err != nil {
			return err
		}
		if found.Items, err = objects, k.withhold(ctx, objects); err != nil || list.View == "" {
			return err
		}
		found.Items, err = k.Views[list.View].Show(ctx, c, objects)
		return err
	})
	return rest.Reply{Body: &found}, err
}

func (k *CollectionOf[T]) read(ctx context.Context, c store.Conn, r *rest.Request, scope string) (any, error) {
	object, err := k.ReadIn(ctx, c, r, scope)
	if err != nil {
		return nil, err
	}
	return k.ForCaller(ctx, object)
}

// Named returns the object that the request's path names, as a GET of it does.
func (k *CollectionOf[T]) Named(ctx context.Context, r *rest.Request) (object T, err error) {
	scope, err := k.engine.TenantOf(ctx, r)
	if err != nil {
		return object, err
	}
	err = k.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
		object, err = k.ReadIn(ctx, c, r, scope)
		return err
	})
	return object, err
}

// ReadIn is Named in a transaction that reads.
func (k *CollectionOf[T]) ReadIn(ctx context.Context, c store.Conn, r *rest.Request, scope string) (T, error) {
	if err := rights.MayRead(ctx, c, k.Entity, scope); err != nil {
		return declaration.Null[T](), err
	}
	return k.named(ctx, c, r, scope, k.Find)
}

// checkReadable returns not found if the request may not read the object, or the one to which it belongs.
func (k *CollectionOf[T]) checkReadable(ctx context.Context, c store.Conn, r *rest.Request, object T) error {
	args := &query.Arguments{}
	where := k.AndVisibleParents(ctx, args.Add) + k.andReadable(r, args)
	if where == "" {
		return nil
	}
	n, err := k.Count(ctx, c, k.Itself(object, args)+where, *args)
	if err == nil && n == 0 {
		err = k.NotFound(k.Keys[0], k.Key(object))
	}
	return err
}

// andReadable returns what a condition is followed by because of the resource's Readable.
func (k *CollectionOf[T]) andReadable(r *rest.Request, args *query.Arguments) string {
	if k.Readable == nil {
		return ""
	}
	readable := k.Readable(r, args.Add)
	if readable == "" {
		return ""
	}
	return " AND " + readable
}
