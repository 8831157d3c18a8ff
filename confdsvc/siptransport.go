package confdsvc

import (
	"context"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// SIPTransport is an address on which the telephone system listens for SIP, for all tenants.
type SIPTransport struct {
	UUID    string     `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	Name    string     `db:"name" json:"name" required:"true" format:"sip-section" doc:"No endpoint, template or transport has another's."`
	Options SIPOptions `db:"options" json:"options" default:"[]" maxItems:"128" example:"[[\"protocol\", \"udp\"], [\"bind\", \"0.0.0.0\"]]"`
}

// SIPTransportRef is a transport as an endpoint names it.
type SIPTransportRef struct {
	UUID string  `json:"uuid" required:"true" format:"uuid"`
	Name *string `json:"name" readOnly:"true"`
}

func init() { resources = append(resources, declareSIPTransports) }

func declareSIPTransports(e *crud.Engine) {
	crud.Collect(e, crud.Resource[SIPTransport]{
		Path: "sip/transports", Singular: "sip_transport", Param: "transport_uuid", Title: "Transport",
		Table: "confd_sip_transport", Keys: []string{"uuid"}, Scope: crud.Global,
		Order: []string{"name", "uuid"}, Filters: []string{"name", "uuid"}, Search: []string{"name"},
		Query: map[string][]rest.Parameter{"delete": {{
			Name: "fallback", Description: "The UUID of the transport that takes the place of this one where it is used.",
			Schema: &rest.Schema{Type: "string", Format: "uuid"},
		}}},
		Prepare: func(_ context.Context, _ store.Conn, change *crud.Change[SIPTransport]) error {
			if change.Old == nil {
				change.New.UUID = uuid.NewString()
			}
			return nil
		},
		Validate: func(_ context.Context, _ store.Conn, change *crud.Change[SIPTransport]) error {
			return change.New.Options.check("options", transportOptions)
		},
		Save: func(ctx context.Context, c store.Conn, change *crud.Change[SIPTransport]) error {
			return nameSection(ctx, c, "Transport", "transport_uuid", change.New.UUID, change.New.Name)
		},
		Guard: transportIsUnused,
	})
}

// transportUsers are the tables whose rows use transports.
var transportUsers = []string{"confd_endpoint_sip", "confd_endpoint_sip_template"}

// transportIsUnused replaces a transport by the fallback, and refuses to delete a used one without a fallback.
func transportIsUnused(ctx context.Context, c store.Conn, change *crud.Change[SIPTransport]) error {
	gone := change.Old.UUID
	fallback, sent := change.Request.Query("fallback")
	if sent {
		var err error
		if fallback, err = fallbackFor(ctx, c, gone, fallback); err != nil {
			return err
		}
	}
	for _, table := range transportUsers {
		if sent {
			if _, err := c.Exec(ctx, "UPDATE "+table+" SET transport_uuid = $1 WHERE transport_uuid = $2", fallback, gone); err != nil {
				return err
			}
			continue
		}
		used, err := store.Get[int](ctx, c, "SELECT count(*) FROM "+table+" WHERE transport_uuid = $1", gone)
		if err != nil {
			return err
		}
		if used > 0 {
			return style.Associated("Transport", "EndpointSIP", "transport_uuid", gone)
		}
	}
	return nil
}

// fallbackFor returns the canonical UUID of a transport that can replace another.
func fallbackFor(ctx context.Context, c store.Conn, gone, typed string) (string, error) {
	id, err := uuid.Parse(typed)
	if err != nil || len(typed) != 36 {
		return "", apierr.InvalidField("fallback", "uuid", "Must be the UUID of a transport")
	}
	if id.String() == gone {
		return "", apierr.InvalidField("fallback", "self", "Must be another transport than the one that is deleted")
	}
	there, err := store.Get[int](ctx, c, "SELECT count(*) FROM confd_sip_transport WHERE uuid = $1", id.String())
	if err == nil && there == 0 {
		err = apierr.New(apierr.Invalid, "field 'fallback': Transport was not found ('uuid': '%s')", id)
	}
	return id.String(), err
}
