package authsvc

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"github.com/ringfence/ringfence/authsvc/backend/ldap"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// LDAPConfig is a tenant's directory.
type LDAPConfig struct {
	TenantUUID         string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Host               string  `db:"host" json:"host" required:"true" minLength:"1" maxLength:"512" doc:"A name or an IP address, as in the certificate."`
	Port               int     `db:"port" json:"port" required:"true" minimum:"1" maximum:"65535" example:"636"`
	ProtocolVersion    int     `db:"protocol_version" json:"protocol_version" minimum:"2" maximum:"3" default:"3"`
	ProtocolSecurity   *string `db:"protocol_security" json:"protocol_security" enum:",tls,ldaps" doc:"tls: StartTLS. null: passwords travel unencrypted."`
	BindDN             *string `db:"bind_dn" json:"bind_dn" maxLength:"256"`
	UserBaseDN         string  `db:"user_base_dn" json:"user_base_dn" required:"true" minLength:"1" maxLength:"256"`
	UserLoginAttribute string  `db:"user_login_attribute" json:"user_login_attribute" required:"true" minLength:"1" maxLength:"64"`
	UserEmailAttribute string  `db:"user_email_attribute" json:"user_email_attribute" required:"true" minLength:"1" maxLength:"64"`
	SearchFilters      *string `db:"search_filters" json:"search_filters" maxLength:"4096"`

	Sealed []byte `db:"bind_password" json:"-"` // the encrypted password

	BindPassword *string `json:"bind_password,omitempty" writeOnly:"true" maxLength:"1024"`
}

// shownLDAP is an LDAPConfig as clients read it: all fields are null if the tenant has no directory.
type shownLDAP struct {
	TenantUUID         string  `json:"tenant_uuid" format:"uuid"`
	Host               *string `json:"host" doc:"The directory's name or address."`
	Port               *int    `json:"port"`
	ProtocolVersion    *int    `json:"protocol_version"`
	ProtocolSecurity   *string `json:"protocol_security"`
	BindDN             *string `json:"bind_dn" doc:"The entry as which the gateway searches the directory."`
	UserBaseDN         *string `json:"user_base_dn"`
	UserLoginAttribute *string `json:"user_login_attribute"`
	UserEmailAttribute *string `json:"user_email_attribute"`
	SearchFilters      *string `json:"search_filters"`
}

func (s *Service) declareDirectories(e *crud.Engine) {
	s.directories = crud.Document[LDAPConfig]{
		Resource: crud.Resource[LDAPConfig]{
			Path: "backends/ldap", Singular: "ldap_config", Table: "auth_ldap_config",
			Prepare: s.prepareLDAP, Validate: s.validateLDAP, Save: vouchForDirectory, Changed: s.forgetEntries,
			Describe: describeLDAP,
		},
		Blank: func(fresh *LDAPConfig) any { return shownLDAP{TenantUUID: fresh.TenantUUID} },
		Allow: s.mayActOnLDAPUsers,
	}.On(e)
}

func describeLDAP(action string, op *rest.Operation) {
	switch action {
	case "read":
		op.Summary, op.Description = "Read a tenant's directory", "All is null where the tenant has none."
		op.Reply = rest.SchemaOf[shownLDAP]()
	case "update":
		op.Summary, op.Description = "Set a tenant's directory", "Of an existing one, what is not sent and not required stays as it is."
	case "delete":
		op.Summary = "Forget a tenant's directory, and which of its entries are which users"
	}
}

func ldapContext(tenantUUID string) []byte { return []byte("auth_ldap_config." + tenantUUID) }

// openLDAP returns the configuration for queries to the directory.
func (s *Service) openLDAP(kept *LDAPConfig) (ldap.Config, error) {
	c := kept.config("")
	if kept.Sealed == nil {
		return c, nil
	}
	password, err := s.sealer.Open(kept.Sealed, ldapContext(kept.TenantUUID))
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

// check refuses a configuration that no directory can be queried with.
func (c *LDAPConfig) check() error {
	err := c.config(orEmpty(c.BindPassword)).Check()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	refused := &apierr.Error{Kind: apierr.Invalid, Err: err}
	for _, one := range joined.Unwrap() {
		field, ok := errors.AsType[*ldap.FieldError](one)
		if !ok {
			return err
		}
		refused.Fields = append(refused.Fields, apierr.Field{
			Name: field.Field, Constraint: "form", Message: strings.ToUpper(field.Reason[:1]) + field.Reason[1:],
		})
	}
	return refused
}

func (s *Service) prepareLDAP(_ context.Context, _ store.Conn, change *crud.Change[LDAPConfig]) error {
	c := change.New
	for _, text := range []**string{&c.ProtocolSecurity, &c.BindDN, &c.SearchFilters, &c.BindPassword} {
		if orEmpty(*text) == "" {
			*text = nil // an empty text counts as none
		}
	}
	if !change.Sent.Has("bind_password") {
		return nil
	}
	return s.sealLDAP(c)
}

// validateLDAP refuses a configuration that no directory can be queried with. It also refuses to send the stored password to a
// server that it was not meant for: a user who may change the configuration may not read it, and could otherwise have the
// password sent to themselves.
func (s *Service) validateLDAP(_ context.Context, _ store.Conn, change *crud.Change[LDAPConfig]) error {
	before, c := change.Old, change.New
	if err := c.check(); err != nil {
		return err
	}
	if before == nil || c.Host != before.Host {
		if err := s.settings.Load().Directories.CheckHost(c.Host); err != nil { // every login would fail
			return apierr.InvalidField("host", "reach", "Is refused: %v", err)
		}
	}
	if c.Sealed == nil || change.Sent.Has("bind_password") {
		return nil
	}
	if c.Host != before.Host || c.Port != before.Port || different(c.BindDN, before.BindDN) || weaker(c.ProtocolSecurity, before.ProtocolSecurity) {
		return apierr.InvalidField("bind_password", "required", "Must be sent again with another host, port or bind_dn, and when protocol_security is given up")
	}
	return nil
}

// weaker reports whether a password that was sent over TLS no longer would be.
func weaker(now, before *string) bool { return now == nil && before != nil }

func (s *Service) sealLDAP(c *LDAPConfig) (err error) {
	c.Sealed = nil
	if c.BindPassword == nil {
		return nil
	}
	if c.Sealed, err = s.sealer.Seal([]byte(*c.BindPassword), ldapContext(c.TenantUUID)); err != nil {
		err = &apierr.Error{Kind: apierr.Unavailable, Message: "This node has no key to keep bind_password with; ask another node", Err: err}
	}
	return err
}

// vouchForDirectory records who vouches for the directory: those who have saved it last.
func vouchForDirectory(ctx context.Context, tx store.Conn, change *crud.Change[LDAPConfig]) error {
	by, err := vouchersBy(ctx, tx, change.Request.Principal(), "")
	if err != nil {
		return err
	}
	return vouchForTenant(ctx, tx, change.Tenant, vouchDirectory, by)
}

// forgetEntries forgets whose the entries of a removed directory were, and ends the sessions that began by it: the next directory
// has its own entries.
func (s *Service) forgetEntries(ctx context.Context, tx store.Conn, change *crud.Change[LDAPConfig]) error {
	if change.New != nil {
		return nil
	}
	if err := vouchForTenant(ctx, tx, change.Tenant, vouchDirectory, nil); err != nil {
		return err
	}
	if _, err := forgetEntry(ctx, tx, ldapUsersOf(change.Tenant), ldapName); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM auth_identity WHERE backend = $2 AND realm = $1`, change.Tenant, ldapName); err != nil {
		return err
	}
	return s.announce(ctx, tx, forgetAll())
}

// mayActOnLDAPUsers refuses a caller if one of the tenant's LDAP users holds more than they do: control over the directory is
// control over its users' passwords.
func (s *Service) mayActOnLDAPUsers(ctx context.Context, tx store.Conn, change *crud.Change[LDAPConfig]) error {
	return s.mayActOnAll(ctx, tx, change.Request.Principal(), ldapUsersOf(change.Tenant))
}

func ldapUsersOf(tenantUUID string) users { return usersWhere(tenantUUID, methodOf+` = 'ldap'`) }

// LDAPBackend returns the backend that asks the directory of the tenant that the login names. roots are the authorities that may
// sign a directory's certificate; nil means those of the system.
func (s *Service) LDAPBackend(roots *x509.CertPool) Backend {
	return &ldapBackend{s: s, roots: roots}
}

type ldapBackend struct {
	s     *Service
	roots *x509.CertPool
}

const ldapName = "ldap"

func (*ldapBackend) Name() string { return ldapName }

func (*ldapBackend) Method() string { return "ldap" }

func (b *ldapBackend) Authenticate(ctx context.Context, a Attempt) (Identity, error) {
	if a.TenantUUID == "" {
		return Identity{}, refusedFor("no tenant was named")
	}
	var entry ldap.Entry
	by, err := b.ask(ctx, a.TenantUUID, func(ctx context.Context, c ldap.Config) (err error) {
		entry, err = ldap.Authenticate(ctx, c, a.Login, a.Password)
		return err
	})
	return Identity{TenantUUID: a.TenantUUID, ID: entry.ID, Logins: entry.Emails, by: by}, err
}

// Recheck finds the entry again in the directory of its tenant, as the service account.
func (b *ldapBackend) Recheck(ctx context.Context, id Identity) error {
	_, err := b.ask(ctx, id.TenantUUID, func(ctx context.Context, c ldap.Config) error { return ldap.Recheck(ctx, c, id.ID, id.Logins) })
	if errors.Is(err, ldap.ErrNoService) {
		err = fmt.Errorf("%w: %w", ErrNoRecheck, err)
	}
	return err
}

// ask asks a tenant's directory, and returns who vouches for that one: another may be configured before it answers. A directory
// that cannot be asked always takes the whole time limit: a tenant that chooses the address cannot tell a closed port from a
// silent one, or from one that speaks another protocol.
func (b *ldapBackend) ask(ctx context.Context, tenantUUID string, question func(context.Context, ldap.Config) error) ([]voucher, error) {
	var kept *LDAPConfig
	var by []voucher
	err := b.s.db.InReadTx(ctx, func(ctx context.Context, c store.Conn) (err error) {
		if kept, err = b.s.directories.Of(ctx, c, tenantUUID); err != nil || kept == nil {
			return err
		}
		by, err = vouchersOfTenant(ctx, c, tenantUUID, vouchDirectory)
		return err
	})
	if err != nil {
		return nil, err
	}
	if kept == nil {
		return nil, refusedFor("the tenant has no directory")
	}
	config, err := b.s.openLDAP(kept)
	if err != nil {
		return nil, err
	}
	config.RootCAs, config.Reach = b.roots, &b.s.settings.Load().Directories
	ctx, cancel := context.WithTimeout(ctx, b.s.directoryTimeout)
	defer cancel()
	err = question(ctx, config)
	switch {
	case errors.Is(err, ldap.ErrRefused):
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	case err != nil && !errors.Is(err, ldap.ErrNoService):
		<-ctx.Done()
	}
	return by, err
}
