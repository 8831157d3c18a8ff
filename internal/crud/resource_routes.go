package crud

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
)

// actions are the operations of a collection, by the names that Only has, in their order.
var actions = []string{"list", "create", "read", "update", "delete"}

// operations returns those of the collection that Only names.
func (k *CollectionOf[T]) operations() []rest.Operation {
	all := map[string]rest.Operation{
		"list": k.listOperation(), "create": k.createOperation(), "read": k.readOperation(), "update": k.updateOperation(), "delete": k.deleteOperation(),
	}
	var out []rest.Operation
	for _, action := range actions {
		if len(k.Only) > 0 && !slices.Contains(k.Only, action) {
			continue
		}
		op := all[action]
		op.Tag, op.Tenanted = underscored(k.Path), true
		op.Access = accessOf(k.engine.Service, op.Path, action)
		op.Query = slices.Concat(op.Query, k.Query[action])
		op.Statuses = slices.Concat(op.Statuses, k.Statuses[action])
		op.Master = k.master(op.Method)
		if len(k.Nested) > 0 {
			if op.Body != nil {
				op.MaxBody = maxLongBody
			}
			if action == "update" || action == "delete" {
				op.Query = append(op.Query, recursiveParameter)
			}
		}
		out = append(out, op)
	}
	return out
}

// onePath is the path of one object.
func (k *CollectionOf[T]) onePath() string { return "/" + k.Path + "/{" + k.Param + "}" }

func (k *CollectionOf[T]) listOperation() rest.Operation {
	plural := underscored(k.Path)
	return rest.Operation{
		Method: http.MethodGet, Path: "/" + k.Path, ID: "list_" + plural, Summary: "List " + k.engine.several(k.Path),
		Query: k.list.Parameters(), Success: http.StatusOK, Reply: rest.ListOf(k.schema, k.engine.Style.Filtered), Fields: true, Handle: k.serveList,
	}
}

func (k *CollectionOf[T]) createOperation() rest.Operation {
	op := rest.Operation{
		Method: http.MethodPost, Path: "/" + k.Path, ID: "create_" + k.Singular, Summary: "Create " + k.engine.one(k.Singular),
		Body: k.bodies().create, Success: k.engine.Style.CreateStatus, Reply: k.bodies().reply, Statuses: []int{int(k.engine.Style.Duplicate)},
		Tagged: true, Located: k.engine.Style.Location, Handle: k.create,
	}
	if k.slow() {
		op.Ahead = func(ctx context.Context, r *rest.Request) (any, error) { return k.drafted(ctx, r) }
	}
	return op
}

func (k *CollectionOf[T]) readOperation() rest.Operation {
	return rest.Operation{
		Method: http.MethodGet, Path: k.onePath(), ID: "get_" + k.Singular, Summary: "Read " + k.engine.one(k.Singular),
		Query: rest.ViewParameter(k.readViews(), "Another form of the object."), Success: http.StatusOK, Reply: k.schema,
		Statuses: []int{404}, Conditional: true, Fields: true, Handle: k.read,
	}
}

func (k *CollectionOf[T]) updateOperation() rest.Operation {
	op := rest.Operation{
		Method: http.MethodPut, Path: k.onePath(), ID: "update_" + k.Singular, Summary: "Update " + k.engine.one(k.Singular),
		Description: "Fields that are not sent stay as they are.", Body: k.bodies().update, Success: http.StatusNoContent,
		Statuses: []int{404, 412, int(k.engine.Style.Duplicate)}, Handle: k.update,
	}
	if k.engine.Style.UpdateReply {
		op.Success, op.Reply, op.Tagged = http.StatusOK, k.schema, true
	}
	if k.slow() {
		op.Ahead = func(ctx context.Context, r *rest.Request) (any, error) { return k.edited(ctx, r) }
	}
	return op
}

func (k *CollectionOf[T]) deleteOperation() rest.Operation {
	op := rest.Operation{
		Method: http.MethodDelete, Path: k.onePath(), ID: "delete_" + k.Singular, Summary: "Delete " + k.engine.one(k.Singular),
		Success: http.StatusNoContent, Statuses: []int{404, 412}, Handle: k.remove,
	}
	if k.engine.Style.Duplicate == apierr.Invalid {
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

// underscored returns a path as a name of one word.
func underscored(path string) string { return strings.NewReplacer("/", "_", "-", "_").Replace(path) }

// dotted returns a path as words of an access.
func dotted(path string) string { return strings.ReplaceAll(path, "/", ".") }

func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

// several returns how people read what is at a path: "incoming calls".
func (e *Engine) several(path string) string { return rest.Reading(e.Words, "/"+path, path) }

// one returns how people read one object, by its name in the singular: "an incoming call", "a user".
func (e *Engine) one(singular string) string {
	text := rest.Reading(e.Words, singular)
	if strings.ContainsAny(text[:1], "aeio") {
		return "an " + text
	}
	return "a " + text
}

// capitalized returns a name as it begins a sentence.
func capitalized(name string) string {
	name = spaced(name)
	return strings.ToUpper(name[:1]) + name[1:]
}
