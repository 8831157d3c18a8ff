package authsvc

import (
	"time"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// AuditEntry is one change that somebody made.
type AuditEntry struct {
	ID          int64            `db:"id" json:"id" readOnly:"true"`
	At          time.Time        `db:"at" json:"at" readOnly:"true"`
	TenantUUID  string           `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	ActorUUID   *string          `db:"actor_uuid" json:"actor_uuid" format:"uuid" readOnly:"true" doc:"The user; null when nobody was logged in."`
	SessionUUID *string          `db:"session_uuid" json:"session_uuid" format:"uuid" readOnly:"true"`
	RequestID   string           `db:"request_id" json:"request_id" readOnly:"true" doc:"The X-Request-Id of the request."`
	Service     string           `db:"service" json:"service" readOnly:"true"`
	Action      string           `db:"action" json:"action" readOnly:"true" doc:"The operation's operationId."`
	Resource    string           `db:"resource" json:"resource" readOnly:"true"`
	Object      string           `db:"object" json:"object" readOnly:"true" doc:"The key of what was changed."`
	Before      *store.JSON[any] `db:"before" json:"before" readOnly:"true" doc:"The object before, without its secrets; null when it was made."`
	After       *store.JSON[any] `db:"after" json:"after" readOnly:"true" doc:"The object after; null when it was deleted."`
}

func auditEntries() crud.Resource[AuditEntry] {
	return crud.Resource[AuditEntry]{
		Path: "audit", Singular: "audit_entry", Param: "audit_entry_id", Table: "audit", Keys: []string{"id"},
		Order:   []string{"id", "at"},
		Search:  []string{"action", "resource", "object"},
		Filters: []string{"actor_uuid", "session_uuid", "request_id", "service", "action", "resource", "object", "since", "until"},
		Matches: map[string]crud.Match{
			"since": {Condition: "at >= %s", Time: true},
			"until": {Condition: "at < %s", Time: true},
		},
		Only: []string{"list", "read"},
	}
}
