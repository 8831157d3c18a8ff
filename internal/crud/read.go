package crud

import (
	"context"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// viewed is the body of a list in another form.
type viewed struct {
	Items    any  `json:"items"`
	Total    int  `json:"total"`
	Filtered *int `json:"filtered,omitempty"`
}

func (k *CollectionOf[T]) serveList(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	return k.serveNarrowed(ctx, r, nil)
}

// narrowing returns a further condition of a list, and adds its values to args.
type narrowing func(ctx context.Context, c store.Conn, scope string, args *query.Arguments) (string, error)

// serveNarrowed lists the tenant's objects; with a narrowing, it lists those of the tenant's subtree that match.
func (k *CollectionOf[T]) serveNarrowed(ctx context.Context, r *rest.Request, narrow narrowing) (rest.Reply, error) {
	list, err := r.List(k.List)
	if err != nil {
		return rest.Reply{}, err
	}
	if err := k.CheckFilters(list.Filters); err != nil {
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
	var found query.Page[T]
	var body any = &found
	err = k.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
		if err := rights.MayRead(ctx, c, k.Entity, scope); err != nil {
			return err
		}
		args := &query.Arguments{}
		where := k.InScope(list.Recurse || narrow != nil, args.Add(scope))
		if readable := k.readable(r, args); readable != "" {
			where += " AND " + readable
		}
		where += k.AndVisible(ctx, args.Add)
		if narrow != nil {
			more, err := narrow(ctx, c, scope, args)
			if err != nil {
				return err
			}
			where += " AND " + more
		}
		if found, err = k.Page(ctx, c, list, where, scope, args, fields); err != nil {
			return err
		}
		if err := k.withhold(ctx, found.Items); err != nil || list.View == "" {
			return err
		}
		items, err := k.Views[list.View].Show(ctx, c, found.Items)
		body = viewed{Items: items, Total: found.Total, Filtered: found.Filtered}
		return err
	})
	return rest.Reply{Body: body}, err
}

func (k *CollectionOf[T]) read(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	view, err := r.View(k.readViews())
	if err != nil {
		return rest.Reply{}, err
	}
	object, err := k.named(ctx, r, k.ReadViews[view])
	if err != nil {
		return rest.Reply{}, err
	}
	body, err := k.ForCaller(ctx, object)
	return rest.Reply{Body: body}, err
}

// Named returns the object that the request's path names, as a GET of it does.
func (k *CollectionOf[T]) Named(ctx context.Context, r *rest.Request) (T, error) {
	return k.named(ctx, r, nil)
}

// named is Named, in the form of view if it is not nil.
func (k *CollectionOf[T]) named(ctx context.Context, r *rest.Request, view func(ctx context.Context, c store.Conn, object T) error) (T, error) {
	scope, err := k.engine.TenantOf(ctx, r)
	if err != nil {
		return declaration.Null[T](), err
	}
	var object T
	err = k.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
		if err := rights.MayRead(ctx, c, k.Entity, scope); err != nil {
			return err
		}
		if object, err = k.Find(ctx, c, scope, r.Param(k.Param)); err != nil {
			return err
		}
		if err := k.checkReadable(ctx, c, r, object); err != nil {
			return err
		}
		if err := k.refuseDenied(r, object); err != nil || view == nil {
			return err
		}
		return view(ctx, c, object)
	})
	return object, err
}

// checkReadable returns not found if the request may not read the object.
func (k *CollectionOf[T]) checkReadable(ctx context.Context, c store.Conn, r *rest.Request, object T) error {
	args := &query.Arguments{}
	readable := k.readable(r, args)
	if readable == "" {
		return nil
	}
	n, err := k.Count(ctx, c, k.Itself(object, args)+" AND "+readable, *args)
	if err == nil && n == 0 {
		err = k.NotFound(k.Keys[0], k.Key(object))
	}
	return err
}

// readable returns the condition of the resource's Readable, or "".
func (k *CollectionOf[T]) readable(r *rest.Request, args *query.Arguments) string {
	if k.Readable == nil {
		return ""
	}
	return k.Readable(r, args.Add)
}
