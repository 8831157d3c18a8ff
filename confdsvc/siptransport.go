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
	UUID string  `json:"uuid" required:"true" format:"uuid" names:"sip/transports.uuid"`
	Name *string `json:"name" readOnly:"true"`
}

func init() { resources = append(resources, declareSIPTransports) }

func declareSIPTransports(e *crud.Engine) {
	crud.Collect(e, crud.Resource[SIPTransport]{
		Path: "sip/transports", Singular: "sip_transport", Param: "transport_uuid", Title: "Transport",
		About: "How Asterisk talks SIP.", Lists: []string{"name", "options"},
		Table: "confd_sip_transport", Keys: []string{"uuid"}, Scope: crud.Global,
		Order: []string{"name", "uuid"}, Filters: []string{"name", "uuid"}, Search: []string{"name"},
		Query: map[string][]rest.Parameter{"delete": {{
			Name: "fallback", Description: "The UUID of the transport that takes the place of this one where it is used.",
			Schema: &rest.Schema{Type: "string", Format: "uuid"},
		}}},
		Validate: func(_ context.Context, _ store.Conn, change *crud.Change[SIPTransport]) error {
			return change.New.Options.check("options", transportOptions)
		},
		Save: func(ctx context.Context, c store.Conn, change *crud.Change[SIPTransport]) error {
			return nameSection(ctx, c, "Transport", "transport_uuid", change.New.UUID, change.New.Name)
		},
		Guard: func(ctx context.Context, c store.Conn, change *crud.Change[SIPTransport]) error {
			if err := mayTakeTransport(ctx, c, e, change); err != nil {
				return err
			}
			return transportIsUnused(ctx, c, e, change)
		},
	})
}

// mayTakeTransport refuses a caller who is denied to change an endpoint or a template that has the transport.
func mayTakeTransport(ctx context.Context, c store.Conn, e *crud.Engine, change *crud.Change[SIPTransport]) error {
	r, gone := change.Request, change.Old.UUID
	if err := crud.Of[EndpointSIP](e).NoneDenied(ctx, c, r, "update", "transport_uuid = $1", gone); err != nil {
		return err
	}
	return crud.Of[EndpointSIPTemplate](e).NoneDenied(ctx, c, r, "update", "transport_uuid = $1", gone)
}

// transportIsUnused replaces a transport by the fallback, and refuses to delete a used one without a fallback.
func transportIsUnused(ctx context.Context, c store.Conn, e *crud.Engine, change *crud.Change[SIPTransport]) error {
	gone := change.Old.UUID
	typed, sent := change.Request.Query("fallback")
	if !sent {
		used, err := store.Get[int](ctx, c, `SELECT (SELECT count(*) FROM confd_endpoint_sip WHERE transport_uuid = $1)
			+ (SELECT count(*) FROM confd_endpoint_sip_template WHERE transport_uuid = $1)`, gone)
		if err == nil && used > 0 {
			err = style.Associated("Transport", "EndpointSIP", "transport_uuid", gone)
		}
		return err
	}
	fallback, err := fallbackFor(ctx, c, gone, typed)
	if err != nil {
		return err
	}
	if err := crud.Of[EndpointSIP](e).Repoint(ctx, c, change.Request, "transport_uuid", gone, fallback); err != nil {
		return err
	}
	return crud.Of[EndpointSIPTemplate](e).Repoint(ctx, c, change.Request, "transport_uuid", gone, fallback)
}

// fallbackFor returns the UUID of the transport that takes the place of another.
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
		err = crud.Missing("fallback", "Transport", "uuid", id.String())
	}
	return id.String(), err
}
