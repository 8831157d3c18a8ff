package confdsvc_test

import (
	"fmt"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// manyUsers puts 100,000 users into a tenant. One in a hundred is called Martin.
func manyUsers(b *testing.B, w *world, tenant string) {
	b.Helper()
	const fill = `INSERT INTO confd_user (uuid, tenant_uuid, firstname, lastname, email, caller_id, mobile_fallback_enabled,
		call_record_outgoing_external_enabled, call_record_outgoing_internal_enabled, call_record_incoming_internal_enabled,
		call_record_incoming_external_enabled, subscription_type, enabled)
		WITH RECURSIVE series(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < 100000)
		SELECT %s, $1, 'First' || n, CASE WHEN n %% 100 = 0 THEN 'Martin' ELSE 'Last' END || (n * 7919) %% 100000,
			'user' || n || '@example.org', '"First' || n || '"', false, false, false, false, false, 0, true FROM series`
	uuid := "gen_random_uuid()"
	if w.db.Engine() == "sqlite" {
		uuid = `lower(substr(hex(randomblob(16)), 1, 8) || '-0000-4000-8000-' || substr(hex(randomblob(16)), 1, 12))`
	}
	if _, err := w.db.Exec(b.Context(), fmt.Sprintf(fill, uuid), w.tenants[tenant]); err != nil {
		b.Fatal(err)
	}
	// Each has a line with a number of its own: 100001 is that of the first.
	for _, sql := range []string{
		`INSERT INTO confd_context (uuid, tenant_uuid, name, label, type, user_ranges, group_ranges, queue_ranges, conference_room_ranges, incall_ranges, enabled)
			VALUES ($1, $1, 'many', 'many', 'internal', '[]', '[]', '[]', '[]', '[]', true)`,
		`INSERT INTO confd_extension (tenant_uuid, exten, context, enabled) SELECT tenant_uuid, CAST(100000 + id AS text), 'many', true FROM confd_user WHERE tenant_uuid = $1 ORDER BY id`,
		`INSERT INTO confd_line (tenant_uuid, context, provisioning_code, position, registrar) SELECT tenant_uuid, 'many', CAST(800000 + id AS text), 1, 'default'
			FROM confd_user WHERE tenant_uuid = $1 ORDER BY id`,
		`INSERT INTO confd_line_extension (line_id, extension_id) SELECT l.id, x.id FROM confd_line l
			JOIN confd_extension x ON x.exten = CAST(CAST(l.provisioning_code AS integer) - 700000 AS text) WHERE l.tenant_uuid = $1`,
		`INSERT INTO confd_user_line (user_id, line_id, position) SELECT u.id, l.id, 0 FROM confd_user u
			JOIN confd_line l ON l.provisioning_code = CAST(800000 + u.id AS text) WHERE u.tenant_uuid = $1`,
	} {
		if _, err := w.db.Exec(b.Context(), sql, w.tenants[tenant]); err != nil {
			b.Fatal(err)
		}
	}
	for _, sql := range map[string][]string{"postgres": {"VACUUM ANALYZE"}, "sqlite": {"ANALYZE"}}[w.db.Engine()] {
		if _, err := w.db.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
}

func databases(b *testing.B, bench func(b *testing.B, db store.DB)) {
	b.Helper()
	b.Run("sqlite", func(b *testing.B) { bench(b, storetest.SQLite(b)) })
	b.Run("postgres", func(b *testing.B) { bench(b, storetest.Postgres(b)) })
}

// BenchmarkListUsers answers 100 of 100,000 users.
func BenchmarkListUsers(b *testing.B) {
	databases(b, func(b *testing.B, db store.DB) {
		w := newWorld(b, db)
		manyUsers(b, w, "a")
		c := w.as(b, "a")
		for _, query := range []string{
			"search=martin&order=lastname&limit=100", "search=martin&order=email&limit=100", "search=first123&order=lastname&limit=100",
			"search=150123&order=lastname&limit=100", "search=1501&order=lastname&limit=100", "exten=150123", "provisioning_code=850123",
			"search=user&order=lastname&limit=100", "search=zz&order=lastname&limit=100",
			"order=lastname&limit=100", "order=lastname&limit=100&offset=50000", "order=email&limit=100", "order=lastname&direction=desc&limit=100",
			"email=user500@example.org",
		} {
			b.Run(query, func(b *testing.B) {
				for b.Loop() {
					if got := c.Get("/users?" + query); got.Status != http.StatusOK {
						b.Fatal(got.Body)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/list")
			})
		}
	})
}

// BenchmarkCreateUser is 16 clients at once.
func BenchmarkCreateUser(b *testing.B) {
	databases(b, func(b *testing.B, db store.DB) {
		w := newWorld(b, db)
		c := w.as(b, "a")
		var n atomic.Int64
		b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				i := n.Add(1)
				body := object{"firstname": fmt.Sprintf("First%d", i), "lastname": "Last", "email": fmt.Sprintf("user%d@example.org", i)}
				if got := c.Do(http.MethodPost, "/users", body); got.Status != http.StatusCreated {
					b.Error(got.Status, got.Body)
					return
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
	})
}
