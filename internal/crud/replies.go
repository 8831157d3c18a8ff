package crud

import (
	"context"
	"encoding/json"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// madeReply is the reply of a POST: the object, with what was made for the attributes nested in it. shown is nil until it is read.
type madeReply[T declaration.Pointer] struct {
	of    *CollectionOf[T]
	scope string
	made  *MadeOf[T]
	shown *nestedReply
}

func (m *madeReply[T]) WasRead() bool { return m.shown != nil }

// read reads the reply by itself.
func (m *madeReply[T]) read(ctx context.Context) error {
	return m.ReadAll(ctx, []transaction.Reading{m})
}

func (m *madeReply[T]) ReadAll(ctx context.Context, others []transaction.Reading) error {
	var same []*madeReply[T]
	var made []*MadeOf[T]
	for _, other := range others {
		if o, ok := other.(*madeReply[T]); ok && o.of == m.of && o.scope == m.scope {
			same, made = append(same, o), append(made, o.made)
		}
	}
	return m.of.engine.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
		shown, err := m.of.showMade(ctx, c, m.scope, made)
		for i := range shown {
			same[i].shown = shown[i]
		}
		return err
	})
}

// showMade returns the replies for what was made. It returns not found if one of the objects was deleted since.
func (k *CollectionOf[T]) showMade(ctx context.Context, c store.Conn, scope string, made []*MadeOf[T]) ([]*nestedReply, error) {
	keys := make([]any, len(made))
	for i, m := range made {
		keys[i] = k.Key(m.Object)
	}
	objects, err := k.FindAll(ctx, c, scope, keys)
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
