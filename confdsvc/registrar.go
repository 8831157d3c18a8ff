package confdsvc

import (
	"context"
	"encoding/hex"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// Registrar is a server where telephones register, with the addresses by which they reach it.
type Registrar struct {
	ID                string  `db:"id" json:"id" pattern:"^[a-zA-Z0-9_-]{1,128}$" fixed:"true" example:"branch" doc:"Chosen at random when it is not sent."`
	Deletable         bool    `db:"deletable" json:"deletable" default:"true" doc:"Whether it may be deleted."`
	Name              *string `db:"name" json:"name" maxLength:"255"`
	MainHost          string  `db:"main_host" json:"main_host" required:"true" minLength:"1" format:"host"`
	MainPort          *int64  `db:"main_port" json:"main_port" minimum:"1" maximum:"65535" doc:"The port of the first registrar."`
	BackupHost        *string `db:"backup_host" json:"backup_host" format:"host"`
	BackupPort        *int64  `db:"backup_port" json:"backup_port" minimum:"1" maximum:"65535" doc:"The port of the second registrar."`
	ProxyMainHost     string  `db:"proxy_main_host" json:"proxy_main_host" required:"true" minLength:"1" format:"host"`
	ProxyMainPort     *int64  `db:"proxy_main_port" json:"proxy_main_port" minimum:"1" maximum:"65535" doc:"The port of the first proxy."`
	ProxyBackupHost   *string `db:"proxy_backup_host" json:"proxy_backup_host" format:"host"`
	ProxyBackupPort   *int64  `db:"proxy_backup_port" json:"proxy_backup_port" minimum:"1" maximum:"65535" doc:"The port of the second proxy."`
	OutboundProxyHost *string `db:"outbound_proxy_host" json:"outbound_proxy_host" format:"host"`
	OutboundProxyPort *int64  `db:"outbound_proxy_port" json:"outbound_proxy_port" minimum:"1" maximum:"65535" doc:"The port of the outbound proxy."`
	crud.Hrefs
}

func init() { resources = append(resources, declareRegistrars) }

func declareRegistrars(e *crud.Engine) {
	columns := []string{
		"id", "name", "deletable", "main_host", "main_port", "backup_host", "backup_port", "proxy_main_host", "proxy_main_port",
		"proxy_backup_host", "proxy_backup_port", "outbound_proxy_host", "outbound_proxy_port",
	}
	crud.Collect(e, crud.Resource[Registrar]{
		Path: "registrars", Singular: "registrar", Param: "registrar_id", Table: "confd_registrar", Keys: []string{"id"}, Scope: crud.Master,
		About: "Where telephones register.", Lists: []string{"name", "main_host", "backup_host", "deletable"},
		Order: columns, Filters: columns, SearchText: "search_text",
		Prepare: func(_ context.Context, _ store.Conn, change *crud.Change[Registrar]) error {
			if change.New.ID == "" {
				random := uuid.New()
				change.New.ID = hex.EncodeToString(random[:])
			}
			return nil
		},
		Guard: func(_ context.Context, _ store.Conn, change *crud.Change[Registrar]) error {
			if change.Old.Deletable {
				return nil
			}
			return style.NotPermitted("This registrar cannot be deleted.", "id", change.Old.ID)
		},
	})
}

// checkRegistrar refuses a registrar of a line that does not exist. A line keeps one that was deleted.
func checkRegistrar(ctx context.Context, c store.Conn, change *crud.Change[Line]) error {
	id := change.New.Registrar
	if id == "default" || change.Old != nil && change.Old.Registrar == id {
		return nil
	}
	n, err := store.Get[int](ctx, c, `SELECT count(*) FROM confd_registrar WHERE id = $1`, id)
	if err == nil && n == 0 {
		err = crud.Missing("registrar", "Registrar", "registrar", id)
	}
	return err
}
