package confdsvc

import (
	"context"
	"sync"

	"github.com/ringfence/ringfence/internal/crud"
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
		if err := tellOfAll(ctx, c, tenantUUID, t.files); err != nil {
			return err
		}
	}
	return t.engine().Empty(ctx, c, r, tenantUUID)
}

// Count returns how many objects Empty would delete, by kind.
func (t *Contents) Count(ctx context.Context, c store.Conn, tenantUUID string) ([]crud.Kind, error) {
	return t.engine().CountOf(ctx, c, tenantUUID)
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
