package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// possession is what tenants have in one collection.
type possession struct {
	table string
	// noneDenied refuses a caller who is denied to delete one of a tenant's objects.
	noneDenied func(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error
}

func possessionOf[T any](e *crud.Engine) possession {
	k := crud.Of[T](e)
	return possession{k.Table, func(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error {
		return k.NoneDenied(ctx, c, r, "delete", "tenant_uuid = $1", tenantUUID)
	}}
}

// Emptier returns a function that deletes all that a tenant has in the configuration, in the transaction that deletes the tenant. It
// refuses a caller who is denied to delete one of the objects. files, if set, hears of their files after the commit.
func Emptier(db store.DB, files func(FilesChange)) func(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error {
	e := declared(db)
	// What refers to something by its name is before it; other links go with either end.
	all := []possession{
		possessionOf[Incall](e), possessionOf[Group](e), possessionOf[User](e), possessionOf[Voicemail](e), possessionOf[FuncKeyTemplate](e),
		possessionOf[Line](e), possessionOf[EndpointSIP](e), possessionOf[EndpointSIPTemplate](e), possessionOf[EndpointCustom](e),
		possessionOf[Extension](e), possessionOf[Context](e), possessionOf[PhoneNumber](e), possessionOf[MOH](e),
	}
	return func(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error {
		for _, p := range all {
			if err := p.noneDenied(ctx, c, r, tenantUUID); err != nil {
				return err
			}
		}
		if files != nil {
			if err := tellOfAll(ctx, c, tenantUUID, files); err != nil {
				return err
			}
		}
		if _, err := c.Exec(ctx, `DELETE FROM confd_user_voicemail WHERE user_id IN (SELECT id FROM confd_user WHERE tenant_uuid = $1)`, tenantUUID); err != nil {
			return err
		}
		for _, p := range all {
			if _, err := c.Exec(ctx, "DELETE FROM "+p.table+" WHERE tenant_uuid = $1", tenantUUID); err != nil {
				return err
			}
		}
		return nil
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
