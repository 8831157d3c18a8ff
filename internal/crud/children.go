package crud

import (
	"context"
	"net/http"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// ChildrenOf lists the objects of a collection, C, that belong to one object of another, P: GET /{parents}/{id}/{children}. Both
// collections are declared on the engine, before or after.
type ChildrenOf[P, C pointer] struct {
	// Column is the column of C that refers to the first key of the parent.
	Column string
	// Me is for parents that are the users who log in: it adds the list of the caller's own children, GET
	// /{parents}/me/{children}.
	Me bool
}

// On declares the lists on an engine.
func (l ChildrenOf[P, C]) On(e *Engine) {
	e.children = append(e.children, func() DescribedChildren {
		return DescribedChildren{Parent: collectionOf[P](e).Path, Child: collectionOf[C](e).Path, Column: l.Column, Me: l.Me}
	})
	e.declare(func() []rest.Operation {
		parents, children := collectionOf[P](e), collectionOf[C](e)
		plural, tag := underscored(children.Path), underscored(parents.Path)
		theirs := func(placeholder string) string { return l.Column + " = " + placeholder }
		of := parentOf(parents)
		ops := []rest.Operation{listOf(children, of, of.path+"/"+children.Path, "list_"+parents.Singular+"_"+plural, tag, theirs)}
		if l.Me {
			of = callerOf(parents)
			ops = append(ops, listOf(children, of, of.path+"/"+children.Path, "list_my_"+plural, tag, theirs))
		}
		return ops
	})
}

// parent is the object at the beginning of the path of a list.
type parent struct {
	path, singular string
	// key returns the first key of the object that the request's path names.
	key func(ctx context.Context, c store.Conn, scope string, r *rest.Request) (any, error)
}

// parentOf is the parent that the path names by its key. It refuses a caller who is denied to read one of these paths below it, which show
// the same.
func parentOf[T pointer](k *CollectionOf[T], same ...string) parent {
	return parent{path: "/" + k.Path + "/{" + k.Param + "}", singular: k.Singular, key: func(ctx context.Context, c store.Conn, scope string, r *rest.Request) (any, error) {
		o, err := k.row(ctx, c, scope, r.Param(k.Param))
		if err != nil {
			return nil, err
		}
		if err := refuseDenied(r, k.aliases(o)); err != nil {
			return nil, err
		}
		for _, path := range same {
			if err := k.NotDenied(r, o, path+".read"); err != nil {
				return nil, err
			}
		}
		return k.Key(o), nil
	}}
}

// callerOf is the parent that is the caller.
func callerOf[T pointer](k *CollectionOf[T]) parent {
	return parent{path: "/" + k.Path + "/me", singular: k.Singular, key: func(ctx context.Context, c store.Conn, scope string, r *rest.Request) (any, error) {
		o, err := k.row(ctx, c, scope, r.Principal().UserUUID)
		if err != nil {
			return nil, err
		}
		return k.Key(o), nil
	}}
}

// listOf returns the operation that lists a collection's objects for which a condition on a parent's key holds: GET
// {parent}/{collection}.
func listOf[T pointer](k *CollectionOf[T], of parent, path, id, tag string, condition func(placeholder string) string) rest.Operation {
	list := k.list
	list.Recurse = false
	return rest.Operation{
		Method: http.MethodGet, Path: path, Access: accessOf(k.engine.Service, path, "read"), ID: id, Tag: tag,
		Summary: "List the " + k.engine.several(k.Path) + " of " + k.engine.one(of.singular),
		Query:   list.Parameters(), Success: http.StatusOK, Reply: rest.ListOf(k.schema, k.engine.Style.Filtered),
		Statuses: []int{404}, Tenanted: true, Fields: true,
		Handle: func(ctx context.Context, req *rest.Request) (rest.Reply, error) {
			return k.serveNarrowed(ctx, req, func(ctx context.Context, c store.Conn, scope string, args *arguments) (string, error) {
				key, err := of.key(ctx, c, scope, req)
				if err != nil {
					return "", err
				}
				return condition(args.add(key)), nil
			})
		},
	}
}
