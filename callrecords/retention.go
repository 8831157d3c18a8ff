package callrecords

import (
	"context"
	"net/http"
	"time"

	"github.com/ringfence/ringfence/internal/audit"
	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// defaultDays is how long records are kept where the tenant does not say.
const defaultDays = 365

// Retention is what a tenant says of its records.
type Retention struct {
	TenantUUID   string `json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Days         *int64 `json:"cdr_days" minimum:"1" maximum:"36500" doc:"For how many days records are kept; null is the default."`
	DefaultDays  int64  `json:"default_cdr_days" readOnly:"true" doc:"For how many days they are kept where the tenant does not say."`
	HiddenDigits int64  `json:"hidden_digits" minimum:"0" maximum:"20" doc:"How many of the last digits of numbers outside are hidden in later calls."`
}

func (s *Service) retentionOperations() []rest.Operation {
	return []rest.Operation{
		{
			Method: http.MethodGet, Path: "/retention", Access: "call-logd.retention.read", ID: "read_retention", Tag: "retention",
			Summary: "How long records are kept", Success: http.StatusOK, Reply: rest.SchemaOf[Retention](), Conditional: true, Tenanted: true,
			Handle: func(ctx context.Context, r *rest.Request) (reply rest.Reply, err error) {
				scope, err := tenant.Of(ctx, s.db, r)
				if err != nil {
					return reply, err
				}
				reply.Body, err = retentionOf(ctx, s.db, scope)
				return reply, err
			},
		},
		{
			Method: http.MethodPut, Path: "/retention", Access: "call-logd.retention.update", ID: "update_retention", Tag: "retention",
			Summary: "Say how long records are kept", Description: "Records that are older go within minutes, and do not come back.",
			Body: rest.SchemaOf[Retention](), Success: http.StatusNoContent, Tenanted: true, Handle: s.update,
		},
	}
}

func retentionOf(ctx context.Context, c store.Conn, tenantUUID string) (Retention, error) {
	found, err := store.Select[setting](ctx, c, `SELECT tenant_uuid, days, hidden_digits FROM call_record_setting WHERE tenant_uuid = $1`, tenantUUID)
	r := Retention{TenantUUID: tenantUUID, DefaultDays: defaultDays}
	if len(found) > 0 {
		r.Days, r.HiddenDigits = found[0].Days, found[0].Hidden
	}
	return r, err
}

func (s *Service) update(ctx context.Context, r *rest.Request) (reply rest.Reply, err error) {
	sent, err := r.Object()
	if err != nil {
		return reply, err
	}
	scope, err := tenant.Of(ctx, s.db, r)
	if err != nil {
		return reply, err
	}
	return reply, s.db.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		before, err := retentionOf(ctx, c, scope)
		if err != nil {
			return err
		}
		now := before
		if err := sent.Into(&now); err != nil {
			return err
		}
		if _, err := c.Exec(ctx, `INSERT INTO call_record_setting (tenant_uuid, days, hidden_digits) VALUES ($1, $2, $3)
			ON CONFLICT (tenant_uuid) DO UPDATE SET days = excluded.days, hidden_digits = excluded.hidden_digits`, scope, now.Days, now.HiddenDigits); err != nil {
			return err
		}
		return audit.Write(ctx, c, r, audit.Change{Tenant: scope, Resource: "retention", Object: scope, Before: before, After: now})
	})
}

// setting is a tenant's row.
type setting struct {
	Tenant string `db:"tenant_uuid"`
	Days   *int64 `db:"days"`
	Hidden int64  `db:"hidden_digits"`
}

// since returns from when on records are kept.
func (s setting) since(now time.Time) time.Time {
	days := int64(defaultDays)
	if s.Days != nil {
		days = *s.Days
	}
	return now.AddDate(0, 0, -int(days))
}

// settingsOf returns what all tenants say that are there.
func settingsOf(ctx context.Context, c store.Conn) (map[string]setting, error) {
	rows, err := store.Select[setting](ctx, c, `SELECT t.uuid AS tenant_uuid, s.days, coalesce(s.hidden_digits, 0) AS hidden_digits
		FROM auth_tenant t LEFT JOIN call_record_setting s ON s.tenant_uuid = t.uuid`)
	all := make(map[string]setting, len(rows))
	for _, row := range rows {
		all[row.Tenant] = row
	}
	return all, err
}

// removed is how many records one transaction removes, and sweeps how many of these there are at a time for a tenant.
const removed, sweeps = 500, 20

// Sweep removes records that are older than their tenant keeps them, and those of tenants that are gone: some of them, so that nobody waits.
func (s *Service) Sweep(ctx context.Context) error {
	settings, err := settingsOf(ctx, s.db)
	if err != nil {
		return err
	}
	tenants, err := store.Select[string](ctx, s.db, `SELECT DISTINCT tenant_uuid FROM row_count WHERE table_name = 'call_record'`)
	if err != nil {
		return err
	}
	for _, one := range tenants {
		before := time.Now().AddDate(1, 0, 0)
		if its, is := settings[one]; is {
			before = its.since(time.Now())
		}
		for range sweeps {
			n, err := s.db.Exec(ctx, `DELETE FROM call_record WHERE id IN (
				SELECT id FROM call_record WHERE tenant_uuid = $1 AND start_at < $2 ORDER BY start_at LIMIT $3)`, one, before, removed)
			if err != nil {
				return err
			}
			if n < removed {
				break
			}
		}
	}
	rows, err := store.Get[int](ctx, s.db, `SELECT count(*) FROM row_count WHERE table_name = 'call_record'`)
	if err == nil && rows > len(tenants)+removed {
		err = transaction.AddUp(ctx, s.db)
	}
	return err
}
