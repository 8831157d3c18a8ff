package authsvc

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/ringfence/ringfence/authsvc/backend/ldap"
	"github.com/ringfence/ringfence/internal/store"
)

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
