package crud

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// reading is what a request reads of what it has made, after the commit.
type reading interface {
	// readAll reads it for this request and for those of the others that are of its kind, in one transaction. If that fails, each
	// request has to read by itself.
	readAll(ctx context.Context, others []*share) error
	// wasRead reports whether it was read.
	wasRead() bool
}

// madeReply is the reply of a POST: the object, with what was made for the attributes nested in it. shown is nil until it is read.
type madeReply[T pointer] struct {
	of    *CollectionOf[T]
	scope string
	made  *MadeOf[T]
	shown *nestedReply
}

func (m *madeReply[T]) wasRead() bool { return m.shown != nil }

// read reads the reply by itself.
func (m *madeReply[T]) read(ctx context.Context) error {
	return m.readAll(ctx, []*share{{after: m}})
}

func (m *madeReply[T]) readAll(ctx context.Context, others []*share) error {
	var same []*madeReply[T]
	var made []*MadeOf[T]
	for _, s := range others {
		if o, ok := s.after.(*madeReply[T]); ok && o.of == m.of && o.scope == m.scope {
			same, made = append(same, o), append(made, o.made)
		}
	}
	return m.of.engine.inReadTx(ctx, func(ctx context.Context, c store.Conn) error {
		shown, err := m.of.showMade(ctx, c, m.scope, made)
		for i := range shown {
			same[i].shown = shown[i]
		}
		return err
	})
}

// readAll reads what the requests of a committed transaction read after it. It fails nobody: who was not served reads by itself, and a
// panic here will be a panic there.
func (e *Engine) readAll(shares []*share) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("panic while replies were read together", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
		}
	}()
	// The first request's caller may be denied something. Those who read here are denied nothing.
	ctx, cancel := context.WithTimeout(Whole(context.WithoutCancel(shares[0].ctx)), turnFor)
	defer cancel()
	for i, s := range shares {
		if s.after == nil || s.after.wasRead() {
			continue
		}
		if err := s.after.readAll(ctx, shares[i:]); err != nil {
			slog.Debug("replies are read one by one", "error", err)
			return
		}
	}
}

// showMade returns the replies for what was made. It returns not found if one of the objects was deleted since.
func (k *CollectionOf[T]) showMade(ctx context.Context, c store.Conn, scope string, made []*MadeOf[T]) ([]*nestedReply, error) {
	keys := make([]any, len(made))
	for i, m := range made {
		keys[i] = k.Key(m.Object)
	}
	objects, err := k.findAll(ctx, c, scope, keys)
	if err != nil {
		return nil, err
	}
	replies := make([]*nestedReply, len(made))
	for i, o := range objects {
		replies[i] = &nestedReply{object: o, nested: map[string]any{}}
	}
	for _, name := range k.Nested {
		n := k.nestedAs(name)
		if n == nil || n.Show == nil {
			continue
		}
		var of []*nestedReply
		var what []any
		for i, m := range made {
			if one, ok := m.nested[name]; ok {
				of, what = append(of, replies[i]), append(what, one)
			}
		}
		if len(what) == 0 {
			continue
		}
		shown, err := n.Show(ctx, c, scope, what)
		if err != nil {
			return nil, err
		}
		for i := range of {
			of[i].nested[name] = shown[i]
		}
	}
	return replies, nil
}

// nestedReply is an object with attributes that are shown differently, or added.
type nestedReply struct {
	object any
	nested map[string]any
}

// MarshalJSON writes the object with those attributes in it.
func (r *nestedReply) MarshalJSON() ([]byte, error) {
	text, err := rest.Marshal(r.object)
	if err != nil || len(r.nested) == 0 {
		return text, err
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	for name, value := range r.nested {
		if all[name], err = rest.Marshal(value); err != nil {
			return nil, err
		}
	}
	return rest.Marshal(all)
}
