package crud

import (
	"context"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

func (k *CollectionOf[T]) remove(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	change := &ChangeOf[T]{Request: r}
	var err error
	if change.Tenant, err = k.engine.TenantOf(ctx, r); err != nil {
		return rest.Reply{}, err
	}
	err = k.engine.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		if err := k.load(ctx, c, change, nil); err != nil {
			return err
		}
		if k.recursive(r) {
			if err := k.removeNested(ctx, c, change); err != nil {
				return err
			}
		}
		return k.erase(ctx, c, change)
	})
	if err != nil {
		return rest.Reply{}, k.refused(err, change.Old)
	}
	return rest.Reply{}, nil
}

// erase deletes a loaded object.
func (k *CollectionOf[T]) erase(ctx context.Context, c store.Conn, change *ChangeOf[T]) error {
	if err := k.mayUnlink(ctx, c, change); err != nil {
		return err
	}
	if err := k.run(ctx, c, change, k.Guard); err != nil {
		return err
	}
	if err := k.run(ctx, c, change, k.guards...); err != nil {
		return err
	}
	knows(ctx).deletes()
	args := &arguments{}
	if _, err := c.Exec(ctx, "DELETE FROM "+k.Table+" WHERE "+k.itself(change.Old, args), args.values...); err != nil {
		return err
	}
	k.counted(ctx)
	return k.conclude(ctx, c, change)
}
