package crud

import (
	"context"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// place is a part of a path that names something: an object, or a word of those that check knows.
type place struct {
	of        table
	check     func(word string) error
	parameter string
}

// Word declares a path parameter that names no object. check refuses what it cannot name.
func (e *Engine) Word(parameter string, check func(word string) error) {
	e.words[parameter] = check
}

// PathFirst lets operations refuse their body only where they would not refuse the request for what its path names, or for the tenant: these
// refusals come first, and then a client does not mend a body that nothing would take. They are looked for when the body is refused. The
// engine's own operations are so already.
func (e *Engine) PathFirst(ops []rest.Operation) {
	for i := range ops {
		op := &ops[i]
		if op.Body == nil || op.Public {
			continue
		}
		first := e.pathFirst(op.Path)
		if first == nil {
			continue
		}
		if preload := op.Preload; preload != nil {
			op.Preload = func(ctx context.Context, r *rest.Request) (any, error) {
				done, err := preload(ctx, r)
				return done, first(ctx, r, err)
			}
		}
		handle := op.Handle
		op.Handle = func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
			reply, err := handle(ctx, r)
			return reply, first(ctx, r, err)
		}
	}
}

// pathFirst returns what replaces the refusal of a body by that of the path or the tenant, if there is one. It is nil for a path that names
// nothing of the engine's.
func (e *Engine) pathFirst(path string) func(ctx context.Context, r *rest.Request, err error) error {
	var places []place
	var words []string
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if !strings.HasPrefix(segment, "{") {
			words = append(words, segment)
			continue
		}
		parameter := strings.Trim(segment, "{}")
		if t := e.tableAt(words); t != nil {
			places = append(places, place{of: t, parameter: parameter})
		} else if check := e.words[parameter]; check != nil {
			places = append(places, place{check: check, parameter: parameter})
		}
		words = nil
	}
	var written *declaration.Entity
	if t := e.tableAt(words); t != nil { // where the path names no object, what it creates
		written = t.entity()
	}
	if len(places) > 0 && places[0].of != nil {
		written = places[0].of.entity()
	}
	for _, d := range e.documents {
		if "/"+d.entity().Path == path {
			written = d.entity()
		}
	}
	if written == nil {
		return nil
	}
	return func(ctx context.Context, r *rest.Request, err error) error {
		if refused := apierr.As(err); refused == nil || refused.Kind != apierr.Invalid {
			return err
		}
		if first := apierr.As(e.refusedBefore(ctx, r, places, written)); first != nil {
			return first
		}
		return err
	}
}

// tableAt returns the collection whose path these words end with, or nil.
func (e *Engine) tableAt(words []string) table {
	for i := range words {
		if t, ok := e.byPath[strings.Join(words[i:], "/")]; ok {
			return t
		}
	}
	return nil
}

// refusedBefore returns the refusal of a request whatever its body is.
func (e *Engine) refusedBefore(ctx context.Context, r *rest.Request, places []place, written *declaration.Entity) error {
	scope, err := e.TenantOf(ctx, r)
	if err != nil {
		return err
	}
	return e.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
		if err := rights.MayRead(ctx, c, written, scope); err != nil {
			return err
		}
		for _, p := range places {
			word := r.Param(p.parameter)
			if p.of == nil {
				err = p.check(word)
			} else {
				err = p.of.there(ctx, c, r, scope, word)
			}
			if err != nil {
				return err
			}
		}
		return rights.MayWrite(ctx, c, written, scope)
	})
}

// there returns not found if the request's path names no object.
func (k *CollectionOf[T]) there(ctx context.Context, c store.Conn, r *rest.Request, scope, typed string) error {
	o, err := k.Row(ctx, c, scope, typed)
	if err != nil {
		return err
	}
	return k.checkReadable(ctx, c, r, o)
}
