package crud

import (
	"context"
	"net/http"
	"strings"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// parent is the object at the beginning of a path whose end is a list.
type parent struct {
	path, singular string
	// key returns the first key of the object that the request's path names.
	key func(ctx context.Context, c store.Conn, scope string, r *rest.Request) (any, error)
}

// parentOf is an object of a collection that a path names by its key.
func parentOf[T any](k *Collection[T]) parent {
	return parent{path: "/" + k.Path + "/{" + k.Param + "}", singular: k.Singular, key: func(ctx context.Context, c store.Conn, scope string, r *rest.Request) (any, error) {
		o, err := k.row(ctx, c, scope, r.Param(k.Param))
		if err != nil {
			return nil, err
		}
		return k.Key(o), refuseDenied(r, k.spelt(o))
	}}
}

// listOf is the list of the objects of a collection for which a condition on a parent's key holds: GET {parent}/{collection}.
func listOf[T any](k *Collection[T], of parent, path, id, tag string, condition func(placeholder string) string) rest.Operation {
	list := k.list
	list.Recurse = false
	return rest.Operation{
		Method: http.MethodGet, Path: path, Access: accessOf(k.engine.Service, path, "read"), ID: id, Tag: tag,
		Summary: "List the " + spaced(strings.ReplaceAll(k.Path, "/", "_")) + " of a " + spaced(of.singular),
		Query:   list.Parameters(), Success: http.StatusOK, Reply: rest.ListOf(k.schema, k.engine.Style.Filtered),
		Statuses: []int{404}, Tenanted: true,
		Handle: func(ctx context.Context, req *rest.Request) (rest.Reply, error) {
			return k.answerList(ctx, req, func(ctx context.Context, c store.Conn, scope string, args *arguments) (string, error) {
				key, err := of.key(ctx, c, scope, req)
				if err != nil {
					return "", err
				}
				return condition(args.add(key)), nil
			})
		},
	}
}
