package callrecords_test

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// fill makes n calls, 30 seconds apart. Eight of eleven are of tenant a, and the others of three below and beside it. Of every second one the users
// are two of fifty, of the others two of 5,000; "Support" answers six of ten, one name is in every fortieth, one in the oldest tenth alone.
func (w *world) fill(n int) {
	w.tb.Helper()
	at, series := "strftime('%Y-%m-%d %H:%M:%S', 1735689600 + i * 30, 'unixepoch') || '+00:00'", "WITH RECURSIVE n (i) AS (SELECT $FROM UNION ALL SELECT i + 1 FROM n WHERE i < $1)"
	who := func(salt string) string {
		return "(CASE WHEN i % 2 = 0 THEN (i * " + salt + ") % 50 ELSE (i * " + salt + ") % 5000 END)"
	}
	user := func(salt string) string {
		return "'00000000-0000-4000-8000-00000000' || substr('000' || " + who(salt) + ", -4)"
	}
	one := func(sql string, args ...any) {
		w.tb.Helper()
		if _, err := w.db.Exec(w.tb.Context(), sql, args...); err != nil {
			w.tb.Fatal(err)
		}
	}
	if w.db.Engine() == "postgres" {
		at, series = "to_timestamp(1735689600 + i * 30)", "WITH n (i) AS (SELECT generate_series($FROM, CAST($1 AS integer)))"
		user = func(salt string) string {
			return "CAST('00000000-0000-4000-8000-00000000' || right('000' || " + who(salt) + ", 4) AS uuid)"
		}
		one("DROP INDEX call_record_search")
		one("ALTER TABLE call_record DISABLE TRIGGER ALL")
	} else {
		one("DROP TRIGGER call_record_search_insert")
		one("DROP TRIGGER call_record_insert_counted")
	}
	tenant := "CASE i % 11 WHEN 7 THEN '" + w.tenants["master"] + "' WHEN 8 THEN '" + w.tenants["b"] + "' WHEN 9 THEN '" + w.tenants["c"] + "' ELSE '" + w.tenants["a"] + "' END"
	if w.db.Engine() == "postgres" {
		tenant = "CAST(" + tenant + " AS uuid)"
	}
	step := n
	if w.db.Engine() == "postgres" {
		step = 50_000 // a statement has a time
	}
	for from := 0; from < n; from += step {
		one(strings.ReplaceAll(series, "$FROM", strconv.Itoa(from))+` INSERT INTO call_record (tenant_uuid, asterisk, unique_id, sequence, conversation_id, start_at, answer_at, end_at, duration, direction, status,
			source_name, source_extension, source_user_uuid, destination_name, destination_extension, destination_user_uuid, requested_extension)
		SELECT `+tenant+`, 'main', 'x', i, 'x', `+at+`, `+at+`, `+at+`, (CAST(i AS bigint) * 7919) % 3600,
			CASE WHEN i % 10 < 5 THEN 'inbound' WHEN i % 10 < 9 THEN 'outbound' ELSE 'internal' END, CASE WHEN i % 7 = 0 THEN 'unanswered' ELSE 'answered' END,
			CASE WHEN i % 10 < 6 THEN 'Support' WHEN i % 40 = 6 THEN 'Medium' WHEN i < 100000 THEN 'Oldest' ELSE 'Ada' END || CASE WHEN i % 10000 = 0 THEN ' Zebra' ELSE '' END,
			'+4930' || (1000000 + (CAST(i AS bigint) * 7919) % 8999999), `+user("3")+`, 'Bob', '102', `+user("7")+`, '102' FROM n`, from+step-1)
	}
	one("INSERT INTO row_count (table_name, tenant_uuid, n) SELECT 'call_record', tenant_uuid, count(*) FROM call_record GROUP BY tenant_uuid")
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
			const user = "00000000-0000-4000-8000-000000000021" // of the fifty
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
				"/cdr?limit=1000#csv", "/cdr?from=2025-02-01T00:00:00&until=2025-02-04T00:00:00#csv", "/users/" + user + "/cdr?limit=5000#csv",
			} {
				for _, readers := range []int{1, 2} {
					b.Run(strings.ReplaceAll(path, "/", "|")+"|readers="+strconv.Itoa(readers), func(b *testing.B) { w.ask(b, path, readers) })
				}
			}
		})
	}
}

// ask measures how long a path takes if several ask at once, until the last of them has its whole reply.
func (w *world) ask(b *testing.B, path string, readers int) {
	var status atomic.Int64
	c := w.as("", "a", "#")
	path, isFile := strings.CutSuffix(path, "#csv")
	if isFile {
		c = c.With(resttest.Header("Accept", "text/csv"))
	}
	for b.Loop() {
		var all sync.WaitGroup
		for range readers {
			all.Go(func() { status.Store(int64(c.Get(path).Status)) })
		}
		all.Wait()
	}
	if got := status.Load(); got != http.StatusOK && got != http.StatusBadRequest {
		b.Fatal(got)
	}
	ms := float64(b.Elapsed().Milliseconds()) / float64(b.N)
	b.ReportMetric(ms, "ms")
	b.ReportMetric(float64(status.Load()), "status")
	if ms > 300 {
		b.Logf("%s takes %.0f ms, and should not", path, ms)
	}
}
