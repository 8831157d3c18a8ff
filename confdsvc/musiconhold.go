package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// checkMusicOnHold refuses to name a music on hold that the tenant does not have. It looks only when the name changes. Every tenant
// has `default`; an empty name is none.
func checkMusicOnHold(ctx context.Context, c store.Conn, e *crud.Engine, tenantUUID string, old, changed *string) error {
	if changed == nil || *changed == "" || *changed == "default" || old != nil && *old == *changed {
		return nil
	}
	known, err := e.Has(ctx, c, tenantUUID, "moh", "name", *changed)
	if err == nil && !known {
		err = targetMissing("music_on_hold", "MOH", *changed)
	}
	return err
}
