package confdsvc

import (
	"context"
	"sync"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Emptier returns a function that deletes all that a tenant has in the configuration, in the transaction that deletes the tenant. It
// refuses a caller who is denied to delete one of the objects. files, if set, hears of their files after the commit.
func Emptier(db store.DB, files func(FilesChange)) func(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error {
	engine := sync.OnceValue(func() *crud.Engine { // few gateways ever delete a tenant
		e := declared(db)
		e.Operations() // which binds the links
		return e
	})
	return func(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error {
		if files != nil {
			if err := tellOfAll(ctx, c, tenantUUID, files); err != nil {
				return err
			}
		}
		return engine().Empty(ctx, c, r, tenantUUID)
	}
}

// tellOfAll tells, after the commit, of the files of all voicemails and all music on hold of a tenant.
func tellOfAll(ctx context.Context, c store.Conn, tenantUUID string, files func(FilesChange)) error {
	contexts, err := store.Select[string](ctx, c, `SELECT name FROM confd_context WHERE tenant_uuid = $1 ORDER BY id`, tenantUUID)
	if err != nil {
		return err
	}
	music, err := store.Select[string](ctx, c, `SELECT name FROM confd_moh WHERE tenant_uuid = $1 ORDER BY name`, tenantUUID)
	if err != nil {
		return err
	}
	crud.AfterCommit(ctx, func() {
		for _, name := range contexts {
			files(FilesChange{Context: name})
		}
		for _, name := range music {
			files(FilesChange{MOH: name})
		}
	})
	return nil
}
