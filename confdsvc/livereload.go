package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/crud"
)

// LiveReload says whether changes of the configuration reach the telephone system at once.
type LiveReload struct {
	TenantUUID string `db:"tenant_uuid" json:"-" format:"uuid"`
	Enabled    bool   `db:"enabled" json:"enabled" required:"true" default:"true" doc:"Whether changes reach the telephone system at once."`
}

func init() {
	setting(crud.Resource[LiveReload]{Path: "configuration/live_reload", Singular: "configuration", Table: "confd_live_reload", Scope: crud.Master})
}

// LiveReload reports whether changes are to reach the telephone system at once.
func (r *Snapshots) LiveReload(ctx context.Context) (bool, error) {
	setting, err := crud.OfAll[LiveReload](ctx, r.engine.DB, r.engine)
	if err != nil {
		return false, err
	}
	return setting.Enabled, nil
}
