package crud

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"

	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/crud/query"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Empty deletes all that a tenant has, in the transaction that deletes the tenant itself. Hooks do not run, and nobody is told of an object;
// the audit has each. It refuses a caller who is denied to delete one of the objects.
//
// Collections go in the reverse order of their paths, and links before what they link. Other references must go with what they refer to
// (ON DELETE), or be of a later path: extensions are before their contexts. Settings go with the row of the tenant.
func (e *Engine) Empty(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error {
	all := slices.Concat(e.Owned(), e.Settings())
	if err := all.MayDelete(ctx, c, r, tenantUUID); err != nil {
		return err
	}
	gone, err := all.RecordGone(ctx, c, r, tenantUUID) // before anything is gone: an object is shown with what it has in other tables
	if err != nil {
		return err
	}
	for _, t := range gone {
		if t.entity().Document {
			continue
		}
		if err := t.erase(ctx, c, "tenant_uuid = $1", tenantUUID); err != nil {
			return err
		}
	}
	return nil
}

// EmptySome deletes a few of the objects that Empty would delete, as Empty does, and returns how many. It does not ask whether it may.
func (e *Engine) EmptySome(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) (int, error) {
	for _, t := range e.Owned() {
		if n, err := t.EraseWhere(ctx, c, r, tenantUUID, "tenant_uuid = $1 LIMIT $2", tenantUUID, ErasedAtOnce); err != nil || n > 0 {
			return n, err
		}
	}
	return 0, nil
}

// Contents are collections, or documents, of which the objects of a tenant go with it, in this order.
type Contents []table

// Owned returns the collections whose objects belong to tenants, in the reverse order of their paths.
func (e *Engine) Owned() (out Contents) {
	for _, t := range slices.Backward(e.tables()) {
		if t.entity().Owned() {
			out = append(out, t)
		}
	}
	return out
}

// Settings returns the documents.
func (e *Engine) Settings() Contents { return e.documents }

// MayDelete refuses a caller who is denied to delete one of the objects that a tenant has.
func (all Contents) MayDelete(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) error {
	for _, t := range all {
		if err := t.NoneDenied(ctx, c, r, "delete", "tenant_uuid = $1", tenantUUID); err != nil {
			return err
		}
	}
	return nil
}

// Kind says how many objects of a collection a tenant has.
type Kind struct {
	Service  string `json:"service"`
	Resource string `json:"resource" doc:"The collection, as the audit names it, or settings of the tenant by their path."`
	Count    int    `json:"count" doc:"How many objects of the collection the tenant has."`
}

// Count returns how many objects a tenant has, without what it has none of.
func (all Contents) Count(ctx context.Context, c store.Conn, tenantUUID string) (out []Kind, err error) {
	for _, k := range entitiesOf(all) {
		n, err := store.Get[int](ctx, c, "SELECT count(*) FROM "+k.Table+" WHERE tenant_uuid = $1", tenantUUID)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			out = append(out, Kind{k.Service, pathParameters.ReplaceAllString(k.Path, ""), n})
		}
	}
	return out, nil
}

// pathParameters are those of a path, with their slashes.
var pathParameters = regexp.MustCompile(`/\{[^}]*\}`)

// RecordGone writes to the audit that all objects of a tenant are deleted, for who deletes them by one statement. It returns those of which there
// are some.
func (all Contents) RecordGone(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) (gone Contents, err error) {
	for _, t := range all {
		n, err := t.recordAll(ctx, c, r, tenantUUID)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			gone = append(gone, t)
		}
	}
	return gone, nil
}

func (k *CollectionOf[T]) recordAll(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string) (int, error) {
	objects, err := k.Rows(ctx, c, "tenant_uuid = $1", tenantUUID)
	if err != nil {
		return 0, err
	}
	return len(objects), k.recordSome(ctx, c, r, tenantUUID, objects)
}

func (k *CollectionOf[T]) recordSome(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID string, gone []T) error {
	if k.document == nil { // whose own data is its row; what is sealed there stays so, and needs no key
		if err := k.LoadOwn(ctx, c, gone); err != nil {
			return err
		}
	}
	for _, o := range gone {
		a := audit.Change{Tenant: tenantUUID, Service: k.Service, Resource: k.Path, Before: k.auditData(o)}
		k.identify(&a, o)
		if k.Audited != nil {
			k.Audited(o, &a)
		}
		if err := audit.Write(ctx, c, r, a); err != nil {
			return err
		}
	}
	return nil
}

// ErasedAtOnce is how many objects are deleted at once, of many that are deleted in pieces.
const ErasedAtOnce = 100

// EraseWhere deletes the objects of a tenant that a condition selects, at most 1000, and returns how many there were. Hooks do not run, and
// nobody is told of an object; the audit has each.
func (k *CollectionOf[T]) EraseWhere(ctx context.Context, c store.Conn, r *rest.Request, tenantUUID, condition string, args ...any) (int, error) {
	objects, err := store.Select[T](ctx, c, "SELECT "+k.Selected()+" FROM "+k.Table+" WHERE "+condition, args...)
	if err != nil || len(objects) == 0 {
		return 0, err
	}
	if err := k.recordSome(ctx, c, r, tenantUUID, objects); err != nil {
		return 0, err
	}
	list, err := k.listOf(objects)
	if err != nil {
		return 0, err
	}
	return len(objects), k.erase(ctx, c, k.isListed(), list)
}

// erase deletes the rows for which a condition holds, and before them the links of their objects.
func (k *CollectionOf[T]) erase(ctx context.Context, c store.Conn, condition string, arg any) error {
	var statements []string
	for _, s := range k.sides {
		if len(s.relation.Only) > 0 {
			statements = append(statements, "DELETE FROM "+s.Joining+" WHERE "+s.Refers+" IN (SELECT "+k.Keys[0]+" FROM "+k.Table+" WHERE "+condition+")")
		}
	}
	slices.Sort(statements)
	for _, sql := range append(slices.Compact(statements), "DELETE FROM "+k.Table+" WHERE "+condition) {
		if _, err := c.Exec(ctx, sql, arg); err != nil {
			return err
		}
	}
	return nil
}

// listOf returns the keys of objects as a JSON list, and isListed the condition for the objects whose keys are in the list $1.
func (k *CollectionOf[T]) listOf(objects []T) (string, error) {
	keys := make([]any, len(objects))
	for i, o := range objects {
		keys[i] = k.Key(o)
	}
	list, err := json.Marshal(keys)
	return string(list), err
}

func (k *CollectionOf[T]) isListed() string {
	return query.Listed(k.DB, k.Keys[0], k.KeyColumn().Kind, "$1")
}
