package crud

import (
	"context"
	"net/http"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

func (k *CollectionOf[T]) remove(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	change := &ChangeOf[T]{Request: r}
	var err error
	if change.Tenant, err = k.engine.TenantOf(ctx, r); err != nil {
		return rest.Reply{}, err
	}
	if k.Preview != nil && r.Bool("dry_run") {
		return k.preview(ctx, change)
	}
	if k.Shrink != nil && transactionOf(ctx) == nil {
		if err := k.before(ctx, change, nil); err != nil {
			return rest.Reply{}, err
		}
		if err := k.Shrink(ctx, change); err != nil {
			return rest.Reply{}, err
		}
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

// preview says what a delete would do.
func (k *CollectionOf[T]) preview(ctx context.Context, change *ChangeOf[T]) (rest.Reply, error) {
	reply := rest.Reply{Status: http.StatusOK}
	err := k.before(ctx, change, func(ctx context.Context, c store.Conn) (err error) {
		reply.Body, err = k.Preview.Show(ctx, c, change)
		return err
	})
	return reply, err
}

// before loads an object that is to be deleted, and runs fn in the same transaction, which only reads.
func (k *CollectionOf[T]) before(ctx context.Context, change *ChangeOf[T], fn func(ctx context.Context, c store.Conn) error) error {
	return k.engine.DB.InReadTx(ctx, func(ctx context.Context, c store.Conn) error {
		err := k.load(ctx, c, change, nil)
		if err == nil {
			err = k.mayUnlink(ctx, c, change)
		}
		if err == nil && fn != nil {
			err = fn(ctx, c)
		}
		return err
	})
}

// erase deletes a loaded object.
func (k *CollectionOf[T]) erase(ctx context.Context, c store.Conn, change *ChangeOf[T]) error {
	if err := k.mayUnlink(ctx, c, change); err != nil {
		return err
	}
	if err := k.run(ctx, c, change, k.mayTake, k.Guard, k.unlink); err != nil {
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
