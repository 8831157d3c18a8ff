package authsvc

import (
	"context"
	"net/http"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
)

// samlOperations are those of an identity provider that speaks SAML. There is none here, and the routes say so: a client that
// found no routes would look for a mistake in its address.
func samlOperations() []rest.Operation {
	const config = "/backends/saml"
	var out []rest.Operation
	for _, o := range []struct{ method, path, access, id, summary string }{
		{http.MethodGet, config, "auth.backends.saml.read", "read_saml_config", "Read a tenant's SAML provider"},
		{http.MethodPost, config, "auth.backends.saml.create", "create_saml_config", "Set a tenant's SAML provider"},
		{http.MethodPut, config, "auth.backends.saml.update", "update_saml_config", "Change a tenant's SAML provider"},
		{http.MethodDelete, config, "auth.backends.saml.delete", "delete_saml_config", "Remove a tenant's SAML provider"},
		{http.MethodGet, config + "/acs_url_template", "auth.backends.saml.read", "read_saml_acs_url_template", "Where a SAML provider would answer to"},
		{http.MethodGet, config + "/metadata", "auth.backends.saml.read", "read_saml_metadata", "Read the metadata of a tenant's SAML provider"},
		{http.MethodPost, "/saml/sso", "", "start_saml_login", "Begin a login by SAML"},
		{http.MethodPost, "/saml/acs", "", "take_saml_assertion", "Take a SAML provider's answer"},
		{http.MethodGet, "/saml/logout", "", "start_saml_logout", "Begin a logout by SAML"},
		{http.MethodGet, "/saml/sls", "", "take_saml_logout", "Take a SAML provider's answer to a logout"},
	} {
		out = append(out, rest.Operation{
			Method: o.method, Path: o.path, Access: o.access, Public: o.access == "", ID: o.id, Tag: "saml", Summary: o.summary,
			Description: "Not implemented.", Unimplemented: true, Success: http.StatusOK, Statuses: []int{http.StatusNotImplemented}, Handle: noSAML,
		})
	}
	return out
}

func noSAML(context.Context, *rest.Request) (rest.Reply, error) {
	e := apierr.New(apierr.NotImplemented, "This gateway does not speak SAML; users log in by a password of its own or of an LDAP directory, "+
		"and link other services by /users/{user_uuid}/external")
	e.ID = "saml-not-implemented"
	return rest.Reply{}, e
}
