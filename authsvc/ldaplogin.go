package authsvc

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"

	"github.com/ringfence/ringfence/authsvc/backend/ldap"
	"github.com/ringfence/ringfence/authsvc/password"
	"github.com/ringfence/ringfence/internal/store"
)

// LDAPBackend asks the directory of the tenant that the login names. roots may have signed a directory's certificate; nil is
// whom the system trusts.
func (s *Service) LDAPBackend(roots *x509.CertPool) Backend {
	return &ldapBackend{s: s, roots: roots, asking: map[string]int{}}
}

// maxAsking is how many logins may ask one tenant's directory at once: a directory that hangs costs its own
// tenant some goroutines, and the others nothing.
const maxAsking = 32

type ldapBackend struct {
	s     *Service
	roots *x509.CertPool

	mu     sync.Mutex
	asking map[string]int // by tenant
}

func (*ldapBackend) Name() string { return "ldap" }

func (*ldapBackend) Method() string { return "ldap" }

func (b *ldapBackend) Authenticate(ctx context.Context, a Attempt) (Identity, error) {
	if a.TenantUUID == "" {
		return Identity{}, refusedFor("no tenant was named")
	}
	var entry ldap.Entry
	err := b.ask(ctx, a.TenantUUID, func(c ldap.Config) (err error) {
		entry, err = ldap.Authenticate(ctx, c, a.Login, a.Password)
		return err
	})
	return Identity{TenantUUID: a.TenantUUID, ID: entry.ID, Logins: entry.Emails}, err
}

// Recheck finds the entry again in the directory of its tenant, as the service account.
func (b *ldapBackend) Recheck(ctx context.Context, id Identity) error {
	err := b.ask(ctx, id.TenantUUID, func(c ldap.Config) error { return ldap.Recheck(ctx, c, id.ID, id.Logins) })
	if errors.Is(err, ldap.ErrNoService) {
		err = fmt.Errorf("%w: %w", ErrNoRecheck, err)
	}
	return err
}

// ask asks a tenant's directory, unless too many do already.
func (b *ldapBackend) ask(ctx context.Context, tenantUUID string, question func(ldap.Config) error) error {
	row, err := storedLDAP(ctx, b.s.db, tenantUUID)
	if errors.Is(err, store.ErrNotFound) {
		return refusedFor("the tenant has no directory")
	}
	if err != nil {
		return err
	}
	config, err := b.s.openLDAP(row)
	if err != nil {
		return err
	}
	config.RootCAs = b.roots
	if !b.enter(tenantUUID) {
		return password.ErrBusy
	}
	defer b.leave(tenantUUID)
	err = question(config)
	if errors.Is(err, ldap.ErrRefused) {
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

func (b *ldapBackend) enter(tenantUUID string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asking[tenantUUID] >= maxAsking {
		return false
	}
	b.asking[tenantUUID]++
	return true
}

func (b *ldapBackend) leave(tenantUUID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asking[tenantUUID]--; b.asking[tenantUUID] == 0 {
		delete(b.asking, tenantUUID)
	}
}
