package crud

import (
	"context"
	"fmt"
	"reflect"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Ends are the first keys of two linked objects.
type Ends[A, B any] struct {
	Left  A `db:"left_key"`
	Right B `db:"right_key"`
}

// Linked returns all links between two collections, of all tenants, in one statement: ordered by the left object's key and then as
// the left object lists them. The link must be declared, and the engine's Operations called.
func Linked[L, R, A, B any](ctx context.Context, c store.Conn, e *Engine) ([]Ends[A, B], error) {
	j, err := jointOf[L, R](e)
	if err != nil {
		return nil, err
	}
	order := j.LeftColumn
	if j.Position != "" {
		order += ", " + j.Position
	}
	return store.Select[Ends[A, B]](ctx, c, "SELECT "+j.LeftColumn+" AS left_key, "+j.RightColumn+" AS right_key FROM "+j.Table+
		" WHERE "+j.RightColumn+" IS NOT NULL ORDER BY "+order+", "+j.RightColumn)
}

// OfAll returns a document that all tenants share as they read it: with its defaults while nothing is stored.
func OfAll[T any](ctx context.Context, c store.Conn, e *Engine) (*T, error) {
	for _, one := range e.documents {
		d, ok := one.(*Documents[T])
		if !ok {
			continue
		}
		master, err := tenant.Master(ctx, c)
		if err != nil {
			return nil, err
		}
		o, err := d.Of(ctx, c, master)
		if err == nil && o == nil {
			o, err = d.fresh(master, nil)
		}
		return o, err
	}
	return nil, fmt.Errorf("%s: no document %s is declared", e.Service, reflect.TypeFor[T]())
}
