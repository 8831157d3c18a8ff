package crud

import (
	"context"

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
		children.parents = append(children.parents, owning{parents, l.Column})
		plural := underscored(children.Path)
		theirs := func(placeholder string) string { return l.Column + " = " + placeholder }
		of := parents.parent()
		ops := []rest.Operation{children.listIn(of, of.path+"/"+children.Path, "list_"+parents.Singular+"_"+plural, theirs)}
		if l.Me {
			of = callerOf(parents)
			ops = append(ops, children.listIn(of, of.path+"/"+children.Path, "list_my_"+plural, theirs))
		}
		return ops
	})
}

// owning is a collection whose objects have those of another, and the column of these that refers to it.
type owning struct {
	collection linkable
	column     string
}

// callerOf is the parent that is the caller.
func callerOf[T pointer](k *CollectionOf[T]) parent {
	key := func(ctx context.Context, c store.Conn, scope string, r *rest.Request) (any, error) {
		o, err := k.row(ctx, c, scope, r.Principal().UserUUID)
		if err != nil {
			return nil, err
		}
		return k.Key(o), nil
	}
	return parent{path: "/" + k.Path + "/me", singular: k.Singular, tag: underscored(k.Path), key: key}
}
