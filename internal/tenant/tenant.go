// Package tenant says in which tenant a request acts, and what that tenant can see (docs/api.md, Tenants). Tenants form a tree:
// a user sees their own tenant and those below it.
package tenant

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Header names the tenant to act in.
const Header = "Wazo-Tenant"

// subtree is the query of a tenant and all below it; %s is the root's placeholder.
const subtree = `WITH RECURSIVE below (uuid) AS (
	SELECT uuid FROM auth_tenant WHERE uuid = %s
	UNION SELECT t.uuid FROM auth_tenant t JOIN below b ON t.parent_uuid = b.uuid
) SELECT uuid FROM below`

// Below returns a condition that holds for rows of the tenant and of all below it. placeholder is the tenant's ("$2").
func Below(column, placeholder string) string {
	return fmt.Sprintf("(%s = %s OR %s IN (%s))", column, placeholder, column, fmt.Sprintf(subtree, placeholder))
}

// Subtree returns the UUIDs of a tenant and of all below it.
func Subtree(ctx context.Context, c store.Conn, root string) ([]string, error) {
	return store.Select[string](ctx, c, `SELECT CAST(uuid AS text) FROM (`+fmt.Sprintf(subtree, "$1")+`) AS t`, root)
}

// Above returns a query of a tenant and all above it. placeholder is the tenant's.
func Above(placeholder string) string {
	return fmt.Sprintf(`WITH RECURSIVE up (uuid, parent_uuid) AS (
	SELECT uuid, parent_uuid FROM auth_tenant WHERE uuid = %s
	UNION SELECT t.uuid, t.parent_uuid FROM auth_tenant t JOIN up u ON t.uuid = u.parent_uuid
) SELECT uuid FROM up`, placeholder)
}

// Within reports whether the tenant exists and is root or below it. Both are canonical UUIDs.
func Within(ctx context.Context, c store.Conn, tenant, root string) (bool, error) {
	n, err := store.Get[int](ctx, c, `SELECT count(*) FROM (`+Above("$1")+`) a WHERE uuid = $2`, tenant, root)
	return n > 0, err
}

// IsMaster reports whether the tenant, in which the caller of ctx acts, has the rights of the master tenant: it is the root of the tree,
// or the master tenant of the auth server that has issued the caller's token, if the operator has named it. A text that is no UUID names
// no tenant: another auth server's own daemons may have none.
func IsMaster(ctx context.Context, c store.Conn, tenant string) (bool, error) {
	if p := principal.FromContext(ctx); p != nil && p.Affiliation != nil && p.Remote && p.Master && tenant == p.TenantUUID {
		return true, nil
	}
	if !isUUID(tenant) {
		return false, nil
	}
	n, err := store.Get[int](ctx, c, `SELECT count(*) FROM auth_tenant WHERE uuid = $1 AND parent_uuid = uuid`, tenant)
	return n > 0, err
}

// Master returns the root of the tree.
func Master(ctx context.Context, c store.Conn) (string, error) {
	return store.Get[string](ctx, c, `SELECT uuid FROM auth_tenant WHERE uuid = parent_uuid`)
}

// Slug returns the tenant's short name, which is the prefix of some of its objects' names.
func Slug(ctx context.Context, c store.Conn, tenant string) (string, error) {
	return store.Get[string](ctx, c, `SELECT slug FROM auth_tenant WHERE uuid = $1`, tenant)
}

// Slugs returns the short names of all tenants, by UUID.
func Slugs(ctx context.Context, c store.Conn) (map[string]string, error) {
	rows, err := store.Select[struct {
		UUID string `db:"uuid"`
		Slug string `db:"slug"`
	}](ctx, c, `SELECT CAST(uuid AS text) AS uuid, slug FROM auth_tenant`)
	slugs := make(map[string]string, len(rows))
	for _, row := range rows {
		slugs[row.UUID] = row.Slug
	}
	return slugs, err
}

// Of returns the tenant in which the request acts: the one that its header names, which must be the principal's or below it,
// otherwise the principal's. A header that names no such tenant is refused in one way, whether the tenant exists or not, and
// never ignored.
//
// For a principal from another auth server the gate has asked that server. Of adds that principal's tenant, and the one in which
// the request acts, so c is the database itself or a transaction that may write.
func Of(ctx context.Context, c store.Conn, r *rest.Request) (string, error) {
	p := r.Principal()
	if p == nil {
		return "", errors.New("a tenanted operation has no principal: no gate is in front of it")
	}
	if p.Remote {
		return ofRemote(ctx, c, p, r.HTTP.Header.Values(Header))
	}
	return Named(ctx, c, p, r.HTTP.Header.Values(Header))
}

// Named returns the tenant that the header lines of a request choose for a principal of this auth server, as [Of] does. The result
// is canonical.
func Named(ctx context.Context, c store.Conn, p *principal.Principal, lines []string) (string, error) {
	asked, err := Asked(p, lines)
	if err != nil || asked == p.TenantUUID {
		return asked, err
	}
	ok, err := Within(ctx, c, asked, p.TenantUUID)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", Unauthorized()
	}
	return asked, nil
}

// Asked returns the tenant that the header lines of a request name, by default the principal's own, whether or not the principal
// may act there.
func Asked(p *principal.Principal, lines []string) (string, error) {
	switch {
	case len(lines) == 0:
		return p.TenantUUID, nil
	case len(lines) > 1:
		return "", apierr.New(apierr.Invalid, "The header %s was sent twice", Header)
	case lines[0] == p.TenantUUID:
		return p.TenantUUID, nil
	}
	asked, err := uuid.Parse(lines[0])
	if err != nil || len(lines[0]) != uuidLength {
		return "", Unauthorized()
	}
	return asked.String(), nil
}

// uuidLength is the length of the one spelling that is taken.
const uuidLength = 36

// Unauthorized refuses a tenant in which a caller may not act, in one way whether it exists or not.
func Unauthorized() error {
	return apierr.New(apierr.Unauthorized, "Unauthorized tenant: the header %s must name the token's tenant or one below it", Header).
		Named("unauthorized-tenant")
}
