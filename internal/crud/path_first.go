package crud

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// PathFirst lets operations refuse their body only where they would not refuse the request for what its path names, or for the tenant: these
// refusals come first, and then a client does not mend a body that nothing would take. They are looked for when the body is refused. The
// engine's own operations are so already.
func (e *Engine) PathFirst(ops []rest.Operation) {
	for i := range ops {
		op := &ops[i]
		if op.Body == nil || op.Public {
			continue
		}
		first := func(ctx context.Context, r *rest.Request, err error) error {
			if refused := apierr.As(err); refused == nil || refused.Kind != apierr.Invalid {
				return err
			}
			if first := apierr.As(e.refusedBefore(ctx, r, op.Path)); first != nil {
				return first
			}
			return err
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

// refusedBefore returns the refusal of a request to a path, whatever its body is: nil if the path names nothing of the engine's.
func (e *Engine) refusedBefore(ctx context.Context, r *rest.Request, path string) error {
	var objects []func(ctx context.Context, c store.Conn, scope string) error
	var written *declaration.Entity // what the first object of the path is, or what is made where it names none
	var words, all []string
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, segment := range segments {
		if !strings.HasPrefix(segment, "{") {
			words, all = append(words, segment), append(all, segment)
			continue
		}
		t := e.tableAt("/"+strings.Join(segments[:i+1], "/"), words, all)
		makes := i == len(segments)-1 && r.Op().Method == http.MethodPost // what it names is not there yet
		if t != nil && !makes && (t.isBelow(path) || slices.Contains(t.entity().Only, "read")) {
			if objects == nil {
				written = t.entity()
			}
			objects = append(objects, func(ctx context.Context, c store.Conn, scope string) error {
				return t.there(ctx, c, r, scope, r.Param(strings.Trim(segment, "{}")))
			})
		}
		words = nil
	}
	if t := e.tableAt("", words, nil); t != nil && written == nil {
		written = t.entity()
	}
	for _, d := range e.documents {
		if "/"+d.entity().Path == path {
			written = d.entity()
		}
	}
	if written == nil {
		return nil
	}
	scope, err := e.TenantOf(ctx, r)
	if err != nil {
		return err
	}
	return e.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
		if err := rights.MayRead(ctx, c, written, scope); err != nil {
			return err
		}
		for _, there := range objects {
			if err := there(ctx, c, scope); err != nil {
				return err
			}
		}
		return rights.MayWrite(ctx, c, written, scope)
	})
}

// tableAt returns the collection of the object that a path names, or whose path these words end with, or nil. all are those before the last parameter
// too: the path of objects below others.
func (e *Engine) tableAt(path string, words, all []string) table {
	for _, t := range e.byPath {
		if t.isBelow(path) {
			return t
		}
	}
	if t, ok := e.byPath[strings.Join(all, "/")]; ok && len(words) > 0 {
		return t
	}
	for i := range words {
		if t, ok := e.byPath[strings.Join(words[i:], "/")]; ok {
			return t
		}
	}
	return nil
}

// isBelow reports whether a path names an object below the one to which it belongs.
func (k *CollectionOf[T]) isBelow(path string) bool { return k.below[path] != nil }

// there returns not found if the request's path names no object.
func (k *CollectionOf[T]) there(ctx context.Context, c store.Conn, r *rest.Request, scope, typed string) (err error) {
	if k.isBelow(r.Op().Path) {
		if typed, err = k.keyIn(ctx, c, r, scope); err != nil {
			return err
		}
	}
	o, err := k.Row(ctx, c, scope, typed)
	if err != nil {
		return err
	}
	return k.checkReadable(ctx, c, r, o)
}
