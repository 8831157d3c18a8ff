package callrecords_test

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// fill makes n calls of tenant a, 30 seconds apart: each user has 20,000 in a million, "Support" answers six of ten, one name is in every fortieth,
// one in the oldest tenth alone.
func (w *world) fill(n int) {
	w.tb.Helper()
	at, series := "strftime('%Y-%m-%d %H:%M:%S', 1735689600 + i * 30, 'unixepoch') || '+00:00'", "WITH RECURSIVE n (i) AS (SELECT $FROM UNION ALL SELECT i + 1 FROM n WHERE i < $2)"
	user := func(salt string) string {
		return "'00000000-0000-4000-8000-0000000000' || substr('0' || ((i * " + salt + ") % 50), -2)"
	}
	one := func(sql string, args ...any) {
		w.tb.Helper()
		if _, err := w.db.Exec(w.tb.Context(), sql, args...); err != nil {
			w.tb.Fatal(err)
		}
	}
	if w.db.Engine() == "postgres" {
		at, series = "to_timestamp(1735689600 + i * 30)", "WITH n (i) AS (SELECT generate_series($FROM, CAST($2 AS integer)))"
		user = func(salt string) string {
			return "CAST('00000000-0000-4000-8000-0000000000' || right('0' || ((i * " + salt + ") % 50), 2) AS uuid)"
		}
		one("DROP INDEX call_record_search")
		one("ALTER TABLE call_record DISABLE TRIGGER ALL")
	} else {
		one("DROP TRIGGER call_record_search_insert")
		one("DROP TRIGGER call_record_insert_counted")
	}
	step := n
	if w.db.Engine() == "postgres" {
		step = 50_000 // a statement has a time
	}
	for from := 0; from < n; from += step {
		one(strings.ReplaceAll(series, "$FROM", strconv.Itoa(from+1))+` INSERT INTO call_record (tenant_uuid, asterisk, unique_id, sequence, conversation_id, start_at, answer_at, end_at, duration, direction, status,
			source_name, source_extension, source_user_uuid, destination_name, destination_extension, destination_user_uuid, requested_extension)
		SELECT $1, 'main', 'x', i, 'x', `+at+`, `+at+`, `+at+`, (CAST(i AS bigint) * 7919) % 3600,
			CASE WHEN i % 10 < 5 THEN 'inbound' WHEN i % 10 < 9 THEN 'outbound' ELSE 'internal' END, CASE WHEN i % 7 = 0 THEN 'unanswered' ELSE 'answered' END,
			CASE WHEN i % 10 < 6 THEN 'Support' WHEN i % 40 = 6 THEN 'Medium' WHEN i < 100000 THEN 'Oldest' ELSE 'Ada' END || CASE WHEN i % 10000 = 0 THEN ' Zebra' ELSE '' END,
			'+4930' || (1000000 + (CAST(i AS bigint) * 7919) % 8999999), `+user("3")+`, 'Bob', '102', `+user("7")+`, '102' FROM n`, w.tenants["a"], from+step)
	}
	n = step * ((n + step - 1) / step)
	one("INSERT INTO row_count (table_name, tenant_uuid, n) VALUES ('call_record', $1, $2)", w.tenants["a"], n)
	if w.db.Engine() == "postgres" {
		one("SELECT index_search('call_record')")
		one("VACUUM ANALYZE call_record")
		return
	}
	one("INSERT INTO call_record_search (call_record_search) VALUES ('rebuild')")
}

// BenchmarkMillionCalls asks a call log of a million calls, or of RINGFENCE_BENCH_CALLS, for what is hardest to find. Each should take less than
// 300 ms.
func BenchmarkMillionCalls(b *testing.B) {
	n := 1_000_000
	if text := os.Getenv("RINGFENCE_BENCH_CALLS"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	for name, open := range map[string]func(testing.TB) store.DB{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, open(b))
			w.fill(n)
			deep := strconv.Itoa(min(100_000, n*9/10))
			const user = "00000000-0000-4000-8000-000000000021"
			for _, path := range []string{
				"/cdr", "/cdr?limit=100", "/cdr?limit=100&offset=" + deep, "/cdr?limit=100&recurse=true", "/cdr?limit=100&recurse=true&offset=" + deep,
				"/cdr?limit=100&order=duration", "/cdr?limit=100&order=duration&direction=asc&call_direction=internal", "/cdr?limit=100&order=duration&offset=" + deep,
				"/cdr?limit=100&call_direction=internal", "/cdr?limit=100&call_direction=internal&offset=" + deep, "/cdr?limit=100&call_status=failed", "/cdr?limit=100&order=duration&call_status=unanswered", "/cdr?limit=100&recurse=true&call_status=failed",
				"/cdr?limit=100&order=duration&from=2025-03-01T00:00:00&until=2025-04-01T00:00:00", "/cdr?limit=100&until=2025-02-01T00:00:00&from=2025-01-05T00:00:00",
				"/cdr?limit=100&from_id=" + strconv.Itoa(n-50), "/cdr?limit=100&user_uuid=" + user, "/cdr?limit=100&order=duration&user_uuid=" + user,
				"/cdr?limit=100&user_uuid=" + user + ",00000000-0000-4000-8000-000000000022&offset=10000", "/users/" + user + "/cdr?limit=100",
				"/cdr?limit=100&search=support", "/cdr?limit=100&search=medium", "/cdr?limit=100&search=zebra", "/cdr?limit=100&search=oldest", "/cdr?limit=100&search=nobody",
				"/cdr?limit=100&search=zebra&order=duration", "/cdr?limit=100&search=support&order=duration", "/cdr?limit=100&search=ad", "/cdr?limit=100&search=qq", "/cdr?limit=100&search=support&offset=20000",
				"/cdr?limit=100&search=support&user_uuid=" + user, "/cdr?limit=100&search=zebra&call_direction=internal",
				"/cdr?limit=100&number=_4567", "/cdr?limit=100&number=%2B49301_", "/cdr?limit=100&number=%2B49301007919", "/cdr?limit=100&number=102", "/cdr?limit=100&number=_67",
			} {
				b.Run(strings.ReplaceAll(path, "/", "|"), func(b *testing.B) {
					c := w.as("", "a", "#")
					status := 0
					var before, after syscall.Rusage
					_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
					for b.Loop() {
						if status = c.Get(path).Status; status != http.StatusOK && status != http.StatusBadRequest {
							b.Fatal(status)
						}
					}
					ms := float64(b.Elapsed().Milliseconds()) / float64(b.N)
					_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
					b.ReportMetric(ms, "ms")
					b.ReportMetric(float64((after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano())/1e6)/float64(b.N), "cpu-ms")
					b.ReportMetric(float64(status), "status")
					if ms > 300 {
						b.Logf("%s takes %.0f ms, and should not", path, ms)
					}
				})
			}
		})
	}
}
