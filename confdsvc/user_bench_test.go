package confdsvc_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// BenchmarkUser reads and changes one user, and reports how many statements that takes.
func BenchmarkUser(b *testing.B) {
	databases(b, func(b *testing.B, db store.DB) {
		statements := new(atomic.Int64)
		w := newWorld(b, storetest.Watch(db, func(string, []any) { statements.Add(1) }))
		c := w.as(b, "a")
		path := "/users/" + c.Create("/users", object{"firstname": "Al"}).Text("id")
		for name, do := range map[string]func(i int) int{
			"read":   func(int) int { return c.Get(path).Status },
			"update": func(i int) int { return c.Do(http.MethodPut, path, object{"subscription_type": i % 10}).Status },
		} {
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				statements.Store(0)
				i := 0
				for b.Loop() {
					if status := do(i); status >= 300 {
						b.Fatal(status)
					}
					i++
				}
				b.ReportMetric(float64(statements.Load())/float64(i), "statements/op")
			})
		}
	})
}
