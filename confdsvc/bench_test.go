package confdsvc_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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

// BenchmarkCreateNestedUser creates users with a line, a number and a voicemail from 16 clients at once, and reports how many
// statements one takes.
func BenchmarkCreateNestedUser(b *testing.B) {
	databases(b, func(b *testing.B, db store.DB) {
		statements := new(atomic.Int64)
		w := newWorld(b, storetest.Watch(db, func(string, []any) { statements.Add(1) }))
		c := w.as(b, "a")
		in := withRanges(c, "internal", object{"user_ranges": []object{{"start": "1000000", "end": "1999999"}}})
		var n atomic.Int64
		statements.Store(0)
		b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				number := fmt.Sprint(1000000 + n.Add(1))
				if got := c.Do(http.MethodPost, "/users", telephoneUser(in, number)); got.Status != http.StatusCreated {
					b.Error(got.Status, got.Body)
					return
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
		b.ReportMetric(float64(statements.Load())/float64(b.N), "statements/op")
	})
}

// telephoneUser is a user with a line, a number and a voicemail in a context.
func telephoneUser(in, number string) object {
	return object{
		"firstname": "First" + number, "lastname": "Last", "email": "user" + number + "@example.org",
		"voicemail": object{"name": "First" + number, "number": number, "context": in},
		"lines": []object{{
			"context":      in,
			"endpoint_sip": object{"auth_section_options": [][]string{{"username", "user" + number}, {"password", "secret"}}},
			"extensions":   []object{{"exten": number}},
		}},
	}
}

// importedUsers is how many users BenchmarkImport imports.
const importedUsers = 10_000

// BenchmarkImport imports users, each with a line, a SIP endpoint, a number and a voicemail, from one file.
func BenchmarkImport(b *testing.B) {
	databases(b, func(b *testing.B, db store.DB) {
		w := newWorld(b, db)
		c := w.as(b, "a")
		in := c.Create("/contexts", object{"label": "in", "user_ranges": []any{object{"start": "000000", "end": "999999"}}}).Text("name")
		peak := new(atomic.Uint64)
		stop := make(chan struct{})
		defer close(stop)
		go watchHeap(peak, stop)
		n := 0
		for b.Loop() {
			var file strings.Builder
			file.WriteString("firstname,lastname,email,line_protocol,context,exten,voicemail_name,voicemail_number,voicemail_context\n")
			for range importedUsers {
				n++
				fmt.Fprintf(&file, "First%[1]d,Last,user%[1]d@example.org,sip,%[2]s,%06[1]d,Box %[1]d,%06[1]d,%[2]s\n", n, in)
			}
			if got := importUsers(c, file.String()); got.Status != http.StatusCreated {
				b.Fatalf("%d: %.500s", got.Status, got.Body)
			}
		}
		b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/import")
		b.ReportMetric(float64(peak.Load())/(1<<20), "MiB-heap")
	})
}

// watchHeap keeps the largest heap that it sees.
func watchHeap(peak *atomic.Uint64, stop <-chan struct{}) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			peak.Store(max(peak.Load(), stats.HeapAlloc))
		}
	}
}
