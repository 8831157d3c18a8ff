package crud

import (
	"context"
	"fmt"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// Ends are the first keys of two linked objects.
type Ends[A, B any] struct {
	Left  A `db:"left_key"`
	Right B `db:"right_key"`
}

// ends returns the statement for all links, of all tenants: its rows are [Ends].
func (j *joint[L, R]) ends() string {
	order := j.LeftColumn
	if j.Position != "" {
		order += ", " + j.Position
	}
	return "SELECT " + j.LeftColumn + " AS left_key, " + j.RightColumn + " AS right_key FROM " + j.Table +
		" WHERE " + j.RightColumn + " IS NOT NULL ORDER BY " + order + ", " + j.RightColumn
}

// ofAll is [OfAll].
func ofAll[T pointer](ctx context.Context, c store.Conn, e *Engine) (T, error) {
	for _, one := range e.documents {
		d, ok := one.(*DocumentsOf[T])
		if !ok {
			continue
		}
		master, err := tenant.Master(ctx, c)
		if err != nil {
			return null[T](), err
		}
		o, err := d.Of(ctx, c, master)
		if err == nil && isNull(o) {
			o, err = d.fresh(master, nil)
		}
		return o, err
	}
	return null[T](), fmt.Errorf("%s: no document %s is declared", e.Service, structOf[T]())
}
