package confdsvc

import "github.com/ringfence/ringfence/internal/crud"

// EndpointSIPTemplate is a template from which SIP endpoints, and other templates, take options.
type EndpointSIPTemplate struct {
	SIPSections
	crud.Hrefs
}

var templateKind = sipKind{parents: "confd_endpoint_sip_template_parent", child: "child_uuid", named: "template_uuid", title: "SIPEndpointTemplate"}

func init() { resources = append(resources, declareEndpointSIPTemplates) }

func declareEndpointSIPTemplates(e *crud.Engine) {
	r := sipResource[EndpointSIPTemplate](e, templateKind, "confd_endpoint_sip_template", "'true'")
	r.Path, r.Singular, r.Param, r.Rel = "endpoints/sip/templates", "endpoint_sip_template", "template_uuid", "endpoint_sip_templates"
	crud.Collect(e, r)
}
