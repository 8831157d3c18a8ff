package crud

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/rest"
)

// operations returns those of the collection that Only names.
func (k *CollectionOf[T]) operations() []rest.Operation {
	all := map[string]rest.Operation{
		"list": k.listOperation(), "create": k.createOperation(), "read": k.readOperation(), "update": k.updateOperation(), "delete": k.deleteOperation(),
	}
	var out []rest.Operation
	for _, action := range declaration.Actions {
		if !slices.Contains(k.Only, action) {
			continue
		}
		op := all[action]
		op.Tag, op.Tenanted = declaration.Underscored(k.Path), true
		op.Access = rights.AccessOf(k.Service, op.Path, action)
		op.Query = slices.Concat(op.Query, k.Query[action])
		op.Statuses = slices.Concat(op.Statuses, k.Statuses[action])
		op.Master = rights.Master(k.Entity, op.Method)
		if len(k.Nested) > 0 {
			if op.Body != nil {
				op.MaxBody = transaction.MaxLongBody
			}
			if action == "update" || action == "delete" {
				op.Query = append(op.Query, recursiveParameter)
			}
		}
		out = append(out, op)
	}
	return out
}

func (k *CollectionOf[T]) listOperation() rest.Operation {
	plural := declaration.Underscored(k.Path)
	return rest.Operation{
		Method: http.MethodGet, Path: "/" + k.Path, ID: "list_" + plural, Summary: "List " + k.Plural(k.Path),
		Query: k.List.Parameters(), Success: http.StatusOK, Reply: rest.ListOf(k.Schema, k.Style.Filtered), Fields: true, Handle: k.serveList,
	}
}

func (k *CollectionOf[T]) createOperation() rest.Operation {
	op := rest.Operation{
		Method: http.MethodPost, Path: "/" + k.Path, ID: "create_" + k.Singular, Summary: "Create " + k.One(k.Singular),
		Body: k.bodies().create, Success: k.Style.CreateStatus, Reply: k.bodies().reply, Statuses: []int{int(k.Style.Duplicate)},
		Tagged: true, Located: k.Style.Location, Handle: k.create,
	}
	if k.slow() {
		op.Preload = func(ctx context.Context, r *rest.Request) (any, error) { return k.drafted(ctx, r) }
	}
	return op
}

func (k *CollectionOf[T]) readOperation() rest.Operation {
	return rest.Operation{
		Method: http.MethodGet, Path: k.OnePath(), ID: "get_" + k.Singular, Summary: "Read " + k.One(k.Singular),
		Query: rest.ViewParameter(k.readViews(), "Another form of the object."), Success: http.StatusOK, Reply: k.Schema,
		Statuses: []int{404}, Conditional: true, Fields: true, Handle: k.read,
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
	if k.slow() {
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
	if k.Preview != nil {
		op.Query = append(op.Query, rest.Parameter{
			Name: "dry_run", Description: "true: delete nothing, and answer what would be deleted.", Schema: &rest.Schema{Type: "boolean"},
		})
		op.Replies = map[int]*rest.Schema{http.StatusOK: k.Preview.Reply}
	}
	return op
}

func (k *CollectionOf[T]) readViews() []string { return slices.Sorted(maps.Keys(k.ReadViews)) }
