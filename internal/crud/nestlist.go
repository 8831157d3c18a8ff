package crud

import (
	"context"
	"fmt"
	"reflect"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// NestList is a [Nested] attribute of objects of R that names objects of L that exist, with which it links them: the list of the
// SetBack of their [Link].
type NestList[L, R any] struct{ Name string }

// On declares the attribute on an engine.
func (n NestList[L, R]) On(e *Engine) {
	setter := func() *setter[R, L] {
		j, ok := e.links[[2]reflect.Type{reflect.TypeFor[L](), reflect.TypeFor[R]()}].(*joint[L, R])
		if !ok || j.SetBack == nil {
			panic(fmt.Sprintf("no list of %s with %s is declared", reflect.TypeFor[R](), reflect.TypeFor[L]())) // a mistake in the declaration
		}
		return j.backward()
	}
	schema := func() *rest.Schema {
		s := *setter().operation().Body.Property(n.Name).Schema
		return &s
	}
	Nested[R]{
		Name: n.Name, Body: schema, Partial: schema,
		Write: func(ctx context.Context, c store.Conn, change *Change[R], value any) (any, error) {
			items, _ := value.([]any)
			if len(items) == 0 && change.Old == nil {
				return nil, nil
			}
			s := setter()
			var accesses []string
			for _, key := range s.near.aliases(change.New).keys {
				accesses = append(accesses, accessOf(e.Service, "/"+s.near.Path+"/"+key+"/"+s.list.Path, "update"))
			}
			if err := MayNest(change.Request, accesses...); err != nil {
				return nil, err
			}
			return nil, s.write(ctx, c, change.Request, change.Tenant, change.New, items)
		},
	}.On(e)
}
