package crud

import (
	"context"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// NestListOf is a [Nested] attribute of objects of R that names objects of L that exist, with which it links them: the list of the
// SetBack of their [Link].
type NestListOf[L, R pointer] struct{ Name string }

// On declares the attribute on an engine.
func (n NestListOf[L, R]) On(e *Engine) {
	setter := func() *setter[R, L] {
		j, err := jointOf[L, R](e)
		if err != nil {
			panic(err) // a mistake in the declaration
		}
		return j.backward()
	}
	schema := func() *rest.Schema {
		s := *setter().operation().Body.Property(n.Name).Schema
		return &s
	}
	NestedOf[R]{
		Name: n.Name, Body: schema, Partial: schema,
		Write: func(ctx context.Context, c store.Conn, change *ChangeOf[R], value any) (any, error) {
			items, _ := value.([]any)
			if len(items) == 0 && isNull(change.Old) {
				return nil, nil
			}
			s := setter()
			if err := MayNest(change.Request, s.near.accesses(change.New, dotted(s.list.Path)+".update")...); err != nil {
				return nil, err
			}
			return nil, s.write(ctx, c, change.Request, change.Tenant, change.New, items)
		},
	}.On(e)
}
