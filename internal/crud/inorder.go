package crud

import (
	"context"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// place is an object that a path names.
type place struct {
	of        table
	parameter string
}

// inOrder lets an operation refuse its body only where it would not refuse the request for what its path names, or for the tenant: these
// refusals come first, and then a client does not mend a body that nothing would take. They are looked for when the body is refused.
func (e *Engine) inOrder(op rest.Operation) rest.Handler {
	var places []place
	var words []string
	for segment := range strings.SplitSeq(strings.TrimPrefix(op.Path, "/"), "/") {
		if !strings.HasPrefix(segment, "{") {
			words = append(words, segment)
			continue
		}
		if t, ok := e.byPath[strings.Join(words, "/")]; ok {
			places = append(places, place{t, strings.Trim(segment, "{}")})
		}
		words = nil
	}
	written := e.byPath[strings.Join(words, "/")] // where the path names no object, what it creates
	if len(places) > 0 {
		written = places[0].of
	}
	for _, d := range e.documents {
		if "/"+d.path() == op.Path {
			written = d.table()
		}
	}
	if written == nil {
		return op.Handle
	}
	return func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		reply, err := op.Handle(ctx, r)
		if refused := apierr.As(err); refused == nil || refused.Kind != apierr.Invalid {
			return reply, err
		}
		if first := apierr.As(e.refusedBefore(ctx, r, places, written)); first != nil {
			return rest.Reply{}, first
		}
		return reply, err
	}
}

// refusedBefore returns the refusal of a request whatever its body is.
func (e *Engine) refusedBefore(ctx context.Context, r *rest.Request, places []place, written table) error {
	scope, err := e.TenantOf(ctx, r)
	if err != nil {
		return err
	}
	return e.inReadTx(ctx, func(ctx context.Context, c store.Conn) error {
		if err := written.mayRead(ctx, c, scope); err != nil {
			return err
		}
		for _, p := range places {
			if err := p.of.there(ctx, c, r, scope, r.Param(p.parameter)); err != nil {
				return err
			}
		}
		return written.mayWrite(ctx, c, scope)
	})
}

// there returns not found if the request's path names no object.
func (k *CollectionOf[T]) there(ctx context.Context, c store.Conn, r *rest.Request, scope, typed string) error {
	o, err := k.row(ctx, c, scope, typed)
	if err != nil {
		return err
	}
	return k.checkReadable(ctx, c, r, o)
}
