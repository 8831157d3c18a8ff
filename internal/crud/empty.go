package crud

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// noneOfTenantDenied refuses a caller who is denied to delete one of a tenant's objects.
func (k *CollectionOf[T]) noneOfTenantDenied(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error {
	return k.NoneDenied(ctx, c, r, "delete", "tenant_uuid = $1", tenantUUID)
}

// owned reports whether tenants have the objects of a collection, which is a table and not a query.
func owned(t table) bool {
	_, found := t.column("tenant_uuid")
	return found && !strings.Contains(t.tableName(), " ")
}

// Empty deletes all that a tenant has, in the transaction that deletes the tenant itself: hooks do not run, and no object is recorded or
// told of. It refuses a caller who is denied to delete one of the objects.
//
// Links go before what they link, and collections in the reverse order of their paths. Other references must go with what they refer to
// (ON DELETE), or be of a later path: extensions are before their contexts.
func (e *Engine) Empty(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error {
	var statements []string
	for _, link := range e.links {
		if condition := link.(joining).ofTenant(); condition != "" {
			statements = append(statements, "DELETE FROM "+link.(joining).joins()+" WHERE "+condition)
		}
	}
	slices.Sort(statements)
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(e.byPath))) {
		t := e.byPath[path]
		if !owned(t) {
			continue
		}
		if err := t.noneOfTenantDenied(ctx, c, r, tenantUUID); err != nil {
			return err
		}
		statements = append(statements, "DELETE FROM "+t.tableName()+" WHERE tenant_uuid = $1")
	}
	for _, sql := range statements {
		if _, err := c.Exec(ctx, sql, tenantUUID); err != nil {
			return err
		}
	}
	return nil
}

// ofTenant returns the condition for the links of the objects of tenant $1, or "" if tenants do not have them, or nobody makes or ends them.
func (j *joint[L, R]) ofTenant() string {
	if len(j.Only) == 0 || !owned(j.left) {
		return ""
	}
	return j.LeftColumn + " IN (SELECT " + j.left.key().name + " FROM " + j.left.tableName() + " WHERE tenant_uuid = $1)"
}
