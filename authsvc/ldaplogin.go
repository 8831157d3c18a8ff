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
	row, err := storedLDAP(ctx, b.s.db, a.TenantUUID)
	if errors.Is(err, store.ErrNotFound) {
		return Identity{}, refusedFor("the tenant has no directory")
	}
	if err != nil {
		return Identity{}, err
	}
	config, err := b.s.openLDAP(row)
	if err != nil {
		return Identity{}, err
	}
	config.RootCAs = b.roots
	if !b.enter(a.TenantUUID) {
		return Identity{}, password.ErrBusy
	}
	defer b.leave(a.TenantUUID)
	entry, err := ldap.Authenticate(ctx, config, a.Login, a.Password)
	if errors.Is(err, ldap.ErrRefused) {
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return Identity{TenantUUID: a.TenantUUID, ID: entry.ID, Logins: entry.Emails}, err
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
