// Package manyusers fills a tenant with users, so that searches and lists are measured among as many as a large installation has.
package manyusers

import (
	"context"
	"fmt"

	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/store"
)

// Count is how many users [Add] makes.
const Count = 100_000

// Add makes Count users in a tenant, in one statement for each table, and has the database look at its tables anew, as it does by itself
// sooner or later. The user n, from 1, has the address member<n>@example.org and a line with the number 100000+n. The lines are
// provisioned with 800000+n, in a context that is called many. One user in a hundred has a last name that begins with Martin.
// It can be done once in a database, and only while nobody else makes users there.
func Add(ctx context.Context, db store.DB, tenant string) error {
	uuid, refresh := "gen_random_uuid()", "VACUUM ANALYZE"
	if db.Engine() == "sqlite" {
		uuid = `lower(substr(hex(randomblob(16)), 1, 8) || '-0000-4000-8000-' || substr(hex(randomblob(16)), 1, 12))`
		refresh = "ANALYZE"
	}
	if _, err := db.Exec(ctx, `
		INSERT INTO confd_user (uuid, tenant_uuid, firstname, lastname, email, caller_id, mobile_fallback_enabled,
			call_record_outgoing_external_enabled, call_record_outgoing_internal_enabled, call_record_incoming_internal_enabled,
			call_record_incoming_external_enabled, subscription_type, enabled)
		WITH RECURSIVE series(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < `+fmt.Sprint(Count)+`)
		SELECT `+uuid+`, $1, 'First' || n, CASE WHEN n % 100 = 0 THEN 'Martin' ELSE 'Last' END || ((n * 7919) % 100000),
			'member' || n || '@example.org', '"First' || n || '"', false, false, false, false, false, 0, true FROM series`, tenant); err != nil {
		return fmt.Errorf("making users: %w", err)
	}
	first, err := store.Get[int64](ctx, db, `SELECT id FROM confd_user WHERE email = 'member1@example.org'`)
	if err != nil {
		return fmt.Errorf("looking for the first user: %w", err)
	}
	for _, sql := range []string{
		`INSERT INTO confd_context (uuid, tenant_uuid, name, label, type, user_ranges, group_ranges, queue_ranges, conference_room_ranges, incall_ranges, enabled)
			SELECT uuid, tenant_uuid, 'many', 'many', 'internal', '[{"start": "100000", "end": "999999"}]', '[]', '[]', '[]', '[]', true FROM confd_user WHERE id = $1`,
		`INSERT INTO confd_extension (tenant_uuid, exten, context, enabled)
			SELECT tenant_uuid, CAST(100001 + id - $1 AS text), 'many', true FROM confd_user WHERE id >= $1 ORDER BY id`,
		`INSERT INTO confd_line (tenant_uuid, context, provisioning_code, position, registrar)
			SELECT tenant_uuid, 'many', CAST(800001 + id - $1 AS text), 1, 'default' FROM confd_user WHERE id >= $1 ORDER BY id`,
		`INSERT INTO confd_user_line (user_id, line_id, position)
			SELECT u.id, l.id, 0 FROM confd_user u JOIN confd_line l ON l.provisioning_code = CAST(800001 + u.id - $1 AS text) WHERE u.id >= $1`,
		`INSERT INTO confd_line_extension (line_id, extension_id)
			SELECT ul.line_id, x.id FROM confd_user_line ul JOIN confd_extension x ON x.exten = CAST(100001 + ul.user_id - $1 AS text) WHERE ul.user_id >= $1`,
	} {
		if _, err := db.Exec(ctx, sql, first); err != nil {
			return fmt.Errorf("giving users lines: %w", err)
		}
	}
	if err := transaction.AddUp(ctx, db); err != nil {
		return fmt.Errorf("adding up their number: %w", err)
	}
	if _, err := db.Exec(ctx, refresh); err != nil {
		return fmt.Errorf("counting what the tables have: %w", err)
	}
	return nil
}
