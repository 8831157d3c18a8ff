package storetest

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/store"
)

// BenchmarkCreate does what an API does to create a row, from 16 clients at once: in one transaction it checks for duplicates,
// writes, and reads back.
func BenchmarkCreate(b *testing.B, db store.DB) {
	const tenants = 4
	if _, err := db.Exec(b.Context(), `CREATE TABLE st_bench (
		uuid text PRIMARY KEY, tenant integer NOT NULL, name text NOT NULL, UNIQUE (tenant, name))`); err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n := next.Add(1)
			name := uuid.NewString()
			err := db.InTx(b.Context(), func(ctx context.Context, tx store.Conn) error {
				found, err := store.Get[int](ctx, tx, "SELECT count(*) FROM st_bench WHERE tenant = $1 AND name = $2", n%tenants, name)
				if err != nil || found > 0 {
					return err
				}
				_, err = store.Get[string](ctx, tx, "INSERT INTO st_bench (uuid, tenant, name) VALUES ($1, $2, $3) RETURNING uuid",
					uuid.NewString(), n%tenants, name)
				return err
			})
			if err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
}
