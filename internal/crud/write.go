package crud

import (
	"context"
	"net/http"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// complete runs the steps after the row is written. If the reply has the object, it turns New into what a client reads.
func (k *CollectionOf[T]) complete(ctx context.Context, c store.Conn, change *ChangeOf[T]) error {
	if err := k.save(ctx, c, change); err != nil {
		return err
	}
	if err := k.own(ctx, c, []T{change.New}); err != nil {
		return err
	}
	if isNull(change.Old) || k.engine.Style.UpdateReply {
		if err := k.present(ctx, c, change.Tenant, []T{change.New}); err != nil {
			return err
		}
	}
	return k.conclude(ctx, c, change)
}

// save writes the object's own data in other tables.
func (k *CollectionOf[T]) save(ctx context.Context, c store.Conn, change *ChangeOf[T]) error {
	for _, b := range k.Beside {
		if err := k.run(ctx, c, change, b.Save); err != nil {
			return err
		}
	}
	return k.run(ctx, c, change, k.Save)
}

// conclude ends every change: the last hook, the audit, and the work for after the commit.
func (k *CollectionOf[T]) conclude(ctx context.Context, c store.Conn, change *ChangeOf[T]) error {
	if err := k.run(ctx, c, change, k.Changed); err != nil {
		return err
	}
	if k.Committed != nil {
		AfterCommit(ctx, func() { k.Committed(change) })
	}
	return k.record(ctx, c, change)
}

// tenantOf returns the tenant that owns the object, or "".
func (k *CollectionOf[T]) tenantOf(o T) string {
	if _, ok := k.byName[tenantColumn]; !ok {
		return ""
	}
	owner, _ := k.field(o, tenantColumn).(string)
	return owner
}

// run runs the hooks in this order, and returns the first error.
func (k *CollectionOf[T]) run(ctx context.Context, c store.Conn, change *ChangeOf[T], hooks ...func(context.Context, store.Conn, *ChangeOf[T]) error) error {
	for _, hook := range hooks {
		if hook != nil {
			if err := hook(ctx, c, change); err != nil {
				return err
			}
		}
	}
	return nil
}

// validate runs the hook on a copy, so what was validated is stored.
func (k *CollectionOf[T]) validate(ctx context.Context, c store.Conn, change *ChangeOf[T]) error {
	if k.Validate == nil {
		return nil
	}
	copied := *change
	copied.New = cloned(change.New)
	return k.Validate(ctx, c, &copied)
}

// reply returns an object that was written, as far as the caller reads it, with its entity tag and, if it was created, its location.
func (k *CollectionOf[T]) reply(ctx context.Context, o T, created bool) (rest.Reply, error) {
	body, err := k.forCaller(ctx, o)
	if err != nil {
		return rest.Reply{}, err
	}
	tag, err := rest.ETag(body)
	if err != nil {
		return rest.Reply{}, err
	}
	header := http.Header{"Etag": {tag}}
	if created && k.engine.Style.Location {
		header.Set("Location", k.at(k.Key(o)))
	}
	return rest.Reply{Body: body, Header: header}, nil
}
