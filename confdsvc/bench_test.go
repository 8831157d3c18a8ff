package confdsvc_test

import (
	"fmt"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/ringfence/ringfence/internal/bench/manyusers"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func databases(b *testing.B, bench func(b *testing.B, db store.DB)) {
	b.Helper()
	b.Run("sqlite", func(b *testing.B) { bench(b, storetest.SQLite(b)) })
	b.Run("postgres", func(b *testing.B) { bench(b, storetest.Postgres(b)) })
}

// BenchmarkListUsers lists 100 of 100,000 users.
func BenchmarkListUsers(b *testing.B) {
	databases(b, func(b *testing.B, db store.DB) {
		w := newWorld(b, db)
		if err := manyusers.Add(b.Context(), db, w.tenants["a"]); err != nil {
			b.Fatal(err)
		}
		c := w.as(b, "a")
		for _, query := range []string{
			"search=martin&order=lastname&limit=100", "search=martin&order=email&limit=100", "search=first123&order=lastname&limit=100",
			"search=150123&order=lastname&limit=100", "search=1501&order=lastname&limit=100", "exten=150123", "provisioning_code=850123",
			"search=member&order=lastname&limit=100", "search=zz&order=lastname&limit=100",
			"order=lastname&limit=100", "order=lastname&limit=100&offset=50000", "order=email&limit=100", "order=lastname&direction=desc&limit=100",
			"email=member500@example.org",
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

// BenchmarkCreateUser creates users from 16 clients at once.
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
