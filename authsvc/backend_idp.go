package authsvc

import (
	"context"
	"net/http"
	"slices"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// idpTypes are the possible values of a user's authentication_method.
var idpTypes = []string{"default", "ldap", "native", "saml"}

type idpAnswer struct {
	Total    int      `json:"total"`
	Filtered int      `json:"filtered"`
	Items    []string `json:"items"`
}

type idpUsers struct {
	Users []idpUser `json:"users" required:"true" maxItems:"1000" doc:"The users."`
}

type idpUser struct {
	UUID string `json:"uuid" required:"true" format:"uuid"`
}

func (s *Service) idpOperations() []rest.Operation {
	const one, users = "/idp/{idp_type}/users/{user_uuid}", "auth.idp.{idp_type}.users"
	return []rest.Operation{
		{
			Method: http.MethodGet, Path: "/idp", Access: "auth.idp.read", ID: "list_idp", Tag: "idp",
			Summary: "List the authentication methods", Success: http.StatusOK, Reply: rest.SchemaOf[idpAnswer](),
			Handle: func(context.Context, *rest.Request) (rest.Reply, error) {
				return rest.Reply{Body: idpAnswer{len(idpTypes), len(idpTypes), idpTypes}}, nil
			},
		},
		{
			Method: http.MethodPut, Path: "/idp/{idp_type}/users", Access: users + ".update", ID: "update_idp_users", Tag: "idp",
			Summary: "Have several users log in by a method, all or none of them", Body: rest.SchemaOf[idpUsers](),
			Success: http.StatusNoContent, Statuses: []int{404, 409}, Tenanted: true,
			Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
				if err := checkMethod(r.Param("idp_type")); err != nil {
					return rest.Reply{}, err
				}
				body, err := rest.Decode[idpUsers](r)
				if err != nil {
					return rest.Reply{}, err
				}
				uuids := make([]string, len(body.Users))
				for i, u := range body.Users {
					uuids[i] = u.UUID
				}
				return rest.Reply{}, s.changeMethod(ctx, r, uuids)
			},
		},
		{
			Method: http.MethodPut, Path: one, Access: users + ".{user_uuid}.create", ID: "create_idp_user", Tag: "idp",
			Summary: "Have a user log in by a method", Success: http.StatusNoContent, Statuses: []int{404, 409, 412}, Tenanted: true,
			Handle: s.changeMethodOfOne,
		},
		{
			Method: http.MethodDelete, Path: one, Access: users + ".{user_uuid}.delete", ID: "delete_idp_user", Tag: "idp",
			Summary: "Have a user log in by the tenant's default method",
			Description: "Changes nothing when the user has another method. The user's entry in the directory is forgotten too, " +
				"with the sessions that began by it: the next login finds it anew.",
			Success: http.StatusNoContent, Statuses: []int{404, 409, 412}, Tenanted: true, Handle: s.changeMethodOfOne,
		},
	}
}

func (s *Service) changeMethodOfOne(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	user, err := r.UUIDParam("user_uuid")
	if err != nil {
		return rest.Reply{}, unknownUser(r.Param("user_uuid"))
	}
	return rest.Reply{}, s.changeMethod(ctx, r, []string{user})
}

func checkMethod(method string) error {
	if slices.Contains(idpTypes, method) {
		return nil
	}
	return apierr.New(apierr.NotFound, "There is no such authentication method; GET /idp lists them").
		Named("unknown-idp-type").Of("idp").With("type", method)
}

// changeMethod gives the users the path's method, in one transaction; a DELETE resets those who have it to the default.
func (s *Service) changeMethod(ctx context.Context, r *rest.Request, users []string) error {
	method := r.Param("idp_type")
	if err := checkMethod(method); err != nil {
		return err
	}
	return s.engine.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		scope, err := tenant.Of(ctx, tx, r)
		for _, user := range users {
			if err == nil {
				err = s.changeMethodOf(ctx, tx, r, scope, user, method)
			}
		}
		return err
	})
}

// changeMethodOf changes one user's method, as a PUT of the user would.
func (s *Service) changeMethodOf(ctx context.Context, tx store.Conn, r *rest.Request, scope, user, method string) error {
	found, err := s.users.Select(ctx, tx, "uuid = $1 AND "+tenant.Below("tenant_uuid", "$2"), user, scope)
	if err == nil && len(found) == 0 {
		err = unknownUser(user)
	}
	if err := firstError(err, notDeniedOf(r.Principal(), user, "update")); err != nil {
		return err
	}
	if err := firstError(s.mayActOn(ctx, tx, r.Principal(), user), s.users.Unchanged(ctx, tx, r, scope, user), loadEmails(ctx, tx, found)); err != nil {
		return err
	}
	old := found[0]
	if r.HTTP.Method == http.MethodDelete {
		if err := s.forgetEntriesOf(ctx, tx, r, old, method); err != nil || old.AuthenticationMethod != method {
			return err
		}
		method = "default"
	}
	if old.AuthenticationMethod == method {
		return nil
	}
	change := &crud.Change[User]{Request: r, Tenant: old.TenantUUID, Old: old}
	return s.users.Update(ctx, tx, change, func(u *User) error {
		u.AuthenticationMethod = method
		return nil
	})
}

// forgetEntriesOf forgets which entry of a method's backends a user is, and ends the sessions that have begun by it.
func (s *Service) forgetEntriesOf(ctx context.Context, tx store.Conn, r *rest.Request, u *User, method string) error {
	forgotten := int64(0)
	for _, backend := range s.backendsOf(method) {
		n, err := forgetEntry(ctx, tx, oneUser(u.UUID), backend)
		if err != nil {
			return err
		}
		forgotten += n
	}
	if forgotten == 0 {
		return nil
	}
	picture := map[string]any{"uuid": u.UUID, "authentication_method": u.AuthenticationMethod}
	return firstError(s.announce(ctx, tx, forgetUser(u.UUID)),
		audit.Write(ctx, tx, r, audit.Change{Tenant: u.TenantUUID, Resource: "users", Object: u.UUID, Before: picture, After: picture}))
}

func unknownUser(uuid string) error {
	return &apierr.Error{
		Kind: apierr.NotFound, ID: "unknown-user", Resource: "users", Message: "User was not found", Details: map[string]any{"uuid": uuid},
	}
}

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
	return rest.Reply{}, apierr.New(apierr.NotImplemented, "This gateway does not speak SAML; users log in by a password of its own or of an LDAP directory, "+
		"and link other services by /users/{user_uuid}/external").Named("saml-not-implemented")
}
