package authsvc

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
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
		if err != nil {
			return err
		}
		var gone []forget
		for _, user := range users {
			changed, err := s.changeMethodOf(ctx, tx, r, scope, user, method)
			if err != nil {
				return err
			}
			if changed {
				gone = append(gone, forgetUser(user))
			}
		}
		if len(gone) == 0 {
			return nil
		}
		if len(gone) > maxForgets {
			gone = []forget{forgetAll()}
		}
		return firstError(keepAdministrator(ctx, tx), s.announce(ctx, tx, gone...))
	})
}

// changeMethodOf changes one user's method. Changing how a user logs in is acting on that user.
func (s *Service) changeMethodOf(ctx context.Context, tx store.Conn, r *rest.Request, scope, user, method string) (changed bool, err error) {
	type row struct {
		TenantUUID string `db:"tenant_uuid"`
		Method     string `db:"authentication_method"`
	}
	old, err := store.Get[row](ctx, tx, `SELECT tenant_uuid, authentication_method FROM auth_user WHERE uuid = $1 AND `+
		tenant.Below("tenant_uuid", "$2"), user, scope)
	if err != nil {
		return false, missing(err, unknownUser(user))
	}
	if err := firstError(notDeniedOf(r.Principal(), user, "update"), s.mayActOn(ctx, tx, r.Principal(), user)); err != nil {
		return false, err
	}
	if err := s.users.Unchanged(ctx, tx, r, scope, user); err != nil {
		return false, err
	}
	if r.HTTP.Method == http.MethodDelete {
		for _, backend := range s.backendsOf(method) {
			n, err := forgetEntry(ctx, tx, oneUser(user), backend)
			if err != nil {
				return false, err
			}
			changed = changed || n > 0
		}
		if old.Method != method && !changed {
			return false, nil
		}
		if old.Method == method {
			method = "default"
		} else {
			method = old.Method
		}
	}
	if method == old.Method && !changed {
		return false, nil
	}
	if _, err := tx.Exec(ctx, `UPDATE auth_user SET authentication_method = $2 WHERE uuid = $1`, user, method); err != nil {
		return false, fmt.Errorf("changing a user's authentication method: %w", err)
	}
	if method != old.Method {
		by, err := vouchersBy(ctx, tx, r.Principal(), user)
		if err != nil {
			return false, err
		}
		if err := vouchForMethod(ctx, tx, user, method, by); err != nil {
			return false, err
		}
	}
	return true, audit.Write(ctx, tx, r, audit.Change{
		Tenant: old.TenantUUID, Resource: "users", Object: user,
		Before: map[string]any{"uuid": user, "authentication_method": old.Method},
		After:  map[string]any{"uuid": user, "authentication_method": method},
	})
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
