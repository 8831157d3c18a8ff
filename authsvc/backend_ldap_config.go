package authsvc

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/ringfence/ringfence/authsvc/backend/ldap"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// LDAPConfig is a tenant's directory.
type LDAPConfig struct {
	TenantUUID         string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Host               string  `db:"host" json:"host" required:"true" minLength:"1" maxLength:"512" doc:"A name or an IP address, which the certificate has to bear."`
	Port               int     `db:"port" json:"port" required:"true" minimum:"1" maximum:"65535"`
	ProtocolVersion    int     `db:"protocol_version" json:"protocol_version" minimum:"2" maximum:"3" default:"3"`
	ProtocolSecurity   *string `db:"protocol_security" json:"protocol_security" enum:",tls,ldaps" doc:"tls: StartTLS. null: passwords cross the network as they are."`
	BindDN             *string `db:"bind_dn" json:"bind_dn" maxLength:"256" doc:"The service account that looks for users; without it, or its password, users bind directly."`
	UserBaseDN         string  `db:"user_base_dn" json:"user_base_dn" required:"true" minLength:"1" maxLength:"256"`
	UserLoginAttribute string  `db:"user_login_attribute" json:"user_login_attribute" required:"true" minLength:"1" maxLength:"64"`
	UserEmailAttribute string  `db:"user_email_attribute" json:"user_email_attribute" required:"true" minLength:"1" maxLength:"64"`
	SearchFilters      *string `db:"search_filters" json:"search_filters" maxLength:"4096" doc:"A filter with {username}, {user_login_attribute} and {user_email_attribute}."`

	BindPassword *string `json:"bind_password,omitempty" writeOnly:"true" maxLength:"1024" doc:"Never shown. Stays as it is when it is not sent and neither the server, its security nor bind_dn changes."`
}

// shownLDAP is an LDAPConfig as it is read: all is null where the tenant has no directory.
type shownLDAP struct {
	TenantUUID         string  `json:"tenant_uuid" format:"uuid"`
	Host               *string `json:"host"`
	Port               *int    `json:"port"`
	ProtocolVersion    *int    `json:"protocol_version"`
	ProtocolSecurity   *string `json:"protocol_security"`
	BindDN             *string `json:"bind_dn"`
	UserBaseDN         *string `json:"user_base_dn"`
	UserLoginAttribute *string `json:"user_login_attribute"`
	UserEmailAttribute *string `json:"user_email_attribute"`
	SearchFilters      *string `json:"search_filters"`
}

// ldapRow is an LDAPConfig as it is stored.
type ldapRow struct {
	LDAPConfig
	Sealed []byte `db:"bind_password"`
}

// ldapOperations are those of a tenant's directory.
func (s *Service) ldapOperations() []rest.Operation {
	const path, access = "/backends/ldap", "auth.backends.ldap."
	return []rest.Operation{
		{
			Method: http.MethodGet, Path: path, Access: access + "read", ID: "read_ldap_config", Tag: "backends",
			Summary: "Read a tenant's directory", Description: "All is null where the tenant has none.",
			Success: http.StatusOK, Reply: rest.SchemaOf[shownLDAP](), Conditional: true, Tenanted: true, Handle: s.getLDAP,
		},
		{
			Method: http.MethodPut, Path: path, Access: access + "update", ID: "update_ldap_config", Tag: "backends",
			Summary:     "Set a tenant's directory",
			Description: "Of an existing one, what is not sent and not required stays as it is.",
			Body:        rest.SchemaOf[LDAPConfig](), Success: http.StatusOK, Reply: rest.SchemaOf[LDAPConfig](), Statuses: []int{412}, Tenanted: true,
			Handle: s.putLDAP,
		},
		{
			Method: http.MethodDelete, Path: path, Access: access + "delete", ID: "delete_ldap_config", Tag: "backends",
			Summary: "Forget a tenant's directory, and which of its entries are which users",
			Success: http.StatusNoContent, Statuses: []int{412}, Tenanted: true, Handle: s.deleteLDAP,
		},
	}
}

func storedLDAP(ctx context.Context, c store.Conn, tenantUUID string) (ldapRow, error) {
	return store.Get[ldapRow](ctx, c, `
		SELECT tenant_uuid, host, port, protocol_version, protocol_security, bind_dn, bind_password, user_base_dn,
		       user_login_attribute, user_email_attribute, search_filters
		FROM auth_ldap_config WHERE tenant_uuid = $1`, tenantUUID)
}

func ldapContext(tenantUUID string) []byte { return []byte("auth_ldap_config." + tenantUUID) }

// openLDAP is the configuration that the directory is asked with.
func (s *Service) openLDAP(row ldapRow) (ldap.Config, error) {
	c := row.config("")
	if row.Sealed == nil {
		return c, nil
	}
	if s.sealer == nil {
		return c, errors.New("there is no key to read bind_password with")
	}
	password, err := s.sealer.Open(row.Sealed, ldapContext(row.TenantUUID))
	c.BindPassword = string(password)
	return c, err
}

func (c *LDAPConfig) config(password string) ldap.Config {
	return ldap.Config{
		Host: c.Host, Port: c.Port, ProtocolVersion: c.ProtocolVersion, ProtocolSecurity: orEmpty(c.ProtocolSecurity),
		BindDN: orEmpty(c.BindDN), BindPassword: password, UserBaseDN: c.UserBaseDN, UserLoginAttribute: c.UserLoginAttribute,
		UserEmailAttribute: c.UserEmailAttribute, SearchFilters: orEmpty(c.SearchFilters),
	}
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// check refuses what no directory could be asked with.
func (c *LDAPConfig) check() error {
	err := c.config(orEmpty(c.BindPassword)).Check()
	if err == nil {
		return nil
	}
	refused := &apierr.Error{Kind: apierr.Invalid, Err: err}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	for _, one := range joined.Unwrap() {
		var field *ldap.FieldError
		if !errors.As(one, &field) {
			return err
		}
		refused.Fields = append(refused.Fields, apierr.Field{
			Name: field.Field, Constraint: "form", Message: strings.ToUpper(field.Reason[:1]) + field.Reason[1:],
		})
	}
	return refused
}

func (s *Service) getLDAP(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	scope, err := tenant.Of(ctx, s.db, r)
	if err != nil {
		return rest.Reply{}, err
	}
	row, err := storedLDAP(ctx, s.db, scope)
	if errors.Is(err, store.ErrNotFound) {
		return rest.Reply{Body: shownLDAP{TenantUUID: scope}}, nil
	}
	return rest.Reply{Body: row.LDAPConfig}, err
}

func (s *Service) putLDAP(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	sent, err := r.Object()
	if err != nil {
		return rest.Reply{}, err
	}
	var after ldapRow
	err = s.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		scope, err := tenant.Of(ctx, tx, r)
		if err != nil {
			return err
		}
		if err := mayActOnLDAPUsers(ctx, tx, r.Principal(), scope); err != nil {
			return err
		}
		change := audit.Change{Tenant: scope, Resource: "backends", Object: "ldap"}
		before, err := storedLDAP(ctx, tx, scope)
		switch {
		case errors.Is(err, store.ErrNotFound):
			if err := rest.CheckIfMatch(r.HTTP.Header, shownLDAP{TenantUUID: scope}); err != nil {
				return err
			}
			after = ldapRow{LDAPConfig: LDAPConfig{TenantUUID: scope, ProtocolVersion: 3}}
		case err != nil:
			return err
		default:
			if err := rest.CheckIfMatch(r.HTTP.Header, before.LDAPConfig); err != nil {
				return err
			}
			change.Before, after = before.LDAPConfig, before
		}
		if err := s.changeLDAP(&after, before, sent); err != nil {
			return err
		}
		if err := saveLDAP(ctx, tx, after, knownBy(r.Principal().UserUUID)); err != nil {
			return err
		}
		change.After = after.LDAPConfig
		err = audit.Write(ctx, tx, r, change)
		after.BindPassword = nil
		return err
	})
	return rest.Reply{Body: after.LDAPConfig}, err
}

// changeLDAP makes the row what was sent. The stored password goes to no other server than it was meant for: whoever
// may change the configuration may not read it, and could otherwise have it sent to themselves.
func (s *Service) changeLDAP(row *ldapRow, before ldapRow, sent rest.Object) error {
	if err := sent.Into(&row.LDAPConfig); err != nil {
		return err
	}
	for _, text := range []**string{&row.ProtocolSecurity, &row.BindDN, &row.SearchFilters, &row.BindPassword} {
		if orEmpty(*text) == "" {
			*text = nil // an empty one is none
		}
	}
	if err := row.check(); err != nil {
		return err
	}
	if !sent.Has("bind_password") {
		moved := row.Host != before.Host || row.Port != before.Port || different(row.BindDN, before.BindDN) || weaker(row.ProtocolSecurity, before.ProtocolSecurity)
		if row.Sealed != nil && moved {
			return apierr.InvalidField("bind_password", "required", "Must be sent again with another host, port or bind_dn, and when protocol_security is given up")
		}
		return nil
	}
	row.Sealed = nil
	if row.BindPassword == nil {
		return nil
	}
	if s.sealer == nil {
		return apierr.New(apierr.NotImplemented, "This gateway has no key to keep bind_password with")
	}
	var err error
	row.Sealed, err = s.sealer.Seal([]byte(*row.BindPassword), ldapContext(row.TenantUUID))
	return err
}

// weaker reports whether a password that was sent over TLS would be no longer.
func weaker(now, before *string) bool { return now == nil && before != nil }

// saveLDAP stores a directory, for which whoever saves it vouches.
func saveLDAP(ctx context.Context, tx store.Conn, row ldapRow, by string) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO auth_ldap_config (tenant_uuid, host, port, protocol_version, protocol_security, bind_dn, bind_password,
		                              user_base_dn, user_login_attribute, user_email_attribute, search_filters, set_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (tenant_uuid) DO UPDATE SET
			host = excluded.host, port = excluded.port, protocol_version = excluded.protocol_version,
			protocol_security = excluded.protocol_security, bind_dn = excluded.bind_dn, bind_password = excluded.bind_password,
			user_base_dn = excluded.user_base_dn, user_login_attribute = excluded.user_login_attribute,
			user_email_attribute = excluded.user_email_attribute, search_filters = excluded.search_filters, set_by = excluded.set_by`,
		row.TenantUUID, row.Host, row.Port, row.ProtocolVersion, row.ProtocolSecurity, row.BindDN, row.Sealed,
		row.UserBaseDN, row.UserLoginAttribute, row.UserEmailAttribute, row.SearchFilters, by)
	return err
}

func (s *Service) deleteLDAP(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	return rest.Reply{}, s.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		scope, err := tenant.Of(ctx, tx, r)
		if err != nil {
			return err
		}
		before, err := storedLDAP(ctx, tx, scope)
		if errors.Is(err, store.ErrNotFound) { // there is none, which is all that was wanted
			return rest.CheckIfMatch(r.HTTP.Header, shownLDAP{TenantUUID: scope})
		}
		if err != nil {
			return err
		}
		if err := rest.CheckIfMatch(r.HTTP.Header, before.LDAPConfig); err != nil {
			return err
		}
		if err := mayActOnLDAPUsers(ctx, tx, r.Principal(), scope); err != nil {
			return err
		}
		// The next directory has entries of its own.
		for _, sql := range []string{
			`DELETE FROM auth_ldap_config WHERE tenant_uuid = $1`,
			`DELETE FROM auth_identity WHERE backend = 'ldap' AND realm = $1`,
		} {
			if _, err := tx.Exec(ctx, sql, scope); err != nil {
				return err
			}
		}
		return audit.Write(ctx, tx, r, audit.Change{Tenant: scope, Resource: "backends", Object: "ldap", Before: before.LDAPConfig})
	})
}

// mayActOnLDAPUsers refuses a caller whom one of the tenant's LDAP users exceeds: who chooses the directory chooses their
// passwords.
func mayActOnLDAPUsers(ctx context.Context, c store.Conn, p *principal.Principal, tenantUUID string) error {
	return mayActOnAll(ctx, c, p, tenantUUID, methodOf+` = 'ldap'`)
}
