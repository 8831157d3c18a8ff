package crud

import (
	"context"
	"slices"

	"github.com/ringfence/ringfence/internal/rest"
)

// slow reports whether a nested attribute needs work that must not hold a transaction, such as the hash of a password. The operations that
// take such an attribute then have Ahead.
func (k *CollectionOf[T]) slow() bool {
	return slices.ContainsFunc(k.Nested, func(name string) bool {
		n := k.nestedAs(name)
		return n != nil && n.Receive != nil
	})
}

// drafted returns the object that the body of a POST describes, as it was drafted ahead, or now.
func (k *CollectionOf[T]) drafted(ctx context.Context, r *rest.Request) (*DraftOf[T], error) {
	if d, ok := r.Ahead.(*DraftOf[T]); ok {
		return d, nil
	}
	sent, err := r.Object()
	if err != nil {
		return nil, err
	}
	return k.draft(ctx, r, sent, false)
}

// edited is what the body of a PUT changes.
type edited[T pointer] struct {
	sent   rest.Object
	carry  any
	nested []sentNested[T]
}

// edited returns what the body of a PUT changes, as it was read ahead, or now.
func (k *CollectionOf[T]) edited(ctx context.Context, r *rest.Request) (*edited[T], error) {
	if e, ok := r.Ahead.(*edited[T]); ok {
		return e, nil
	}
	body := k.partial
	if k.recursive(r) {
		body = k.bodies().update
	}
	sent, err := r.ObjectOf(body)
	if err != nil {
		return nil, err
	}
	change := &ChangeOf[T]{Request: r, Sent: sent}
	if err := k.receive(ctx, change); err != nil {
		return nil, err
	}
	out := &edited[T]{sent: sent, carry: change.Carry}
	if k.recursive(r) {
		out.nested, err = k.receiveNested(ctx, r, sent, false)
	}
	return out, err
}
