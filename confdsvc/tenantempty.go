package confdsvc

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Contents is all that tenants have in the configuration.
type Contents struct {
	files  func(FilesChange)
	engine func() *crud.Engine
}

// ContentsOf returns what tenants have. files, if set, hears of the files of what is deleted, after the commit.
func ContentsOf(db store.DB, files func(FilesChange)) *Contents {
	return &Contents{files, sync.OnceValue(func() *crud.Engine { // few gateways ever delete a tenant
		e := declared(db)
		e.Operations() // which binds the links
		return e
	})}
}

// Empty deletes all that a tenant has, in the transaction that deletes the tenant. It refuses a caller who is denied to delete one of the
// objects.
func (t *Contents) Empty(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error {
	if t.files != nil {
		gone, err := filesOf(ctx, c, tenantUUID)
		if err != nil {
			return err
		}
		transaction.AfterCommit(ctx, func() { t.tell(gone) })
	}
	return t.engine().Empty(ctx, c, r, tenantUUID)
}

// MayEmpty refuses what Empty refuses.
func (t *Contents) MayEmpty(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error {
	return slices.Concat(t.engine().Owned(), t.engine().Settings()).MayDelete(ctx, c, r, tenantUUID)
}

// Shrink deletes what Empty would delete, in short transactions of its own. It does not ask MayEmpty.
func (t *Contents) Shrink(ctx context.Context, r *rest.Request, tenantUUID string) (err error) {
	e := t.engine()
	if t.files != nil {
		before, err := filesOf(ctx, e.DB, tenantUUID)
		if err != nil {
			return err
		}
		defer func() { // what is gone, even if the rest is not
			after, failed := filesOf(context.WithoutCancel(ctx), e.DB, tenantUUID)
			if err = errors.Join(err, failed); failed == nil {
				t.tell(slices.DeleteFunc(before, func(f FilesChange) bool { return slices.Contains(after, f) }))
			}
		}()
	}
	return e.InPieces(ctx, func(ctx context.Context, c store.Conn) (int, error) { return e.EmptySome(ctx, c, r, tenantUUID) })
}

// Count returns how many objects Empty would delete, by kind, in the order of their paths; settings are last.
func (t *Contents) Count(ctx context.Context, c store.Conn, tenantUUID string) ([]crud.Kind, error) {
	owned := t.engine().Owned()
	slices.Reverse(owned)
	return slices.Concat(owned, t.engine().Settings()).Count(ctx, c, tenantUUID)
}

// filesOf returns where the files of a tenant's voicemails, music on hold and sounds are.
func filesOf(ctx context.Context, c store.Conn, tenantUUID string) ([]FilesChange, error) {
	return store.Select[FilesChange](ctx, c, `SELECT name AS context, '' AS moh, '' AS sound FROM confd_context WHERE tenant_uuid = $1
		UNION ALL SELECT '', name, '' FROM confd_moh WHERE tenant_uuid = $1
		UNION ALL SELECT '', '', CAST(uuid AS text) FROM confd_sound WHERE tenant_uuid = $1 AND name <> $2`, tenantUUID, systemSounds)
}

func (t *Contents) tell(gone []FilesChange) {
	for _, change := range gone {
		t.files(change)
	}
}
