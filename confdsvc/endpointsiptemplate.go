package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// EndpointSIPTemplate is a template from which SIP endpoints, and other templates, take options.
type EndpointSIPTemplate struct {
	SIPSections
	crud.Hrefs
}

var templateKind = sipKind{parents: "confd_endpoint_sip_template_parent", child: "child_uuid", named: "template_uuid", title: "SIPEndpointTemplate"}

func init() { resources = append(resources, declareEndpointSIPTemplates) }

func declareEndpointSIPTemplates(e *crud.Engine) {
	r := sipResource[EndpointSIPTemplate](templateKind, "confd_endpoint_sip_template", "'true'")
	r.Path, r.Singular, r.Param, r.Rel = "endpoints/sip/templates", "endpoint_sip_template", "template_uuid", "endpoint_sip_templates"
	r.About, r.Lists = "Settings that SIP accounts share.", []string{"label", "name", "templates", "transport"}
	r.Guard = func(ctx context.Context, c store.Conn, change *crud.Change[EndpointSIPTemplate]) error {
		return mayTakeTemplate(ctx, c, e, change)
	}
	crud.Collect(e, r)
}

// mayTakeTemplate refuses a caller who is denied to change an endpoint or a template that takes its options from the one that is deleted.
func mayTakeTemplate(ctx context.Context, c store.Conn, e *crud.Engine, change *crud.Change[EndpointSIPTemplate]) error {
	r, gone := change.Request, change.Old.UUID
	if err := crud.Of[EndpointSIP](e).NoneDenied(ctx, c, r, "update", endpointKind.uses(), gone); err != nil {
		return err
	}
	return crud.Of[EndpointSIPTemplate](e).NoneDenied(ctx, c, r, "update", templateKind.uses(), gone)
}

// uses returns the condition for the objects that take their options from the template $1.
func (kind sipKind) uses() string {
	return "uuid IN (SELECT " + kind.child + " FROM " + kind.parents + " WHERE template_uuid = $1)"
}
