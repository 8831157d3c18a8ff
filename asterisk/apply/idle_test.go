package apply_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A node keeps its lease while it has nothing to do, and another one writes nothing meanwhile.
func TestIdleNodeKeepsItsLease(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		watch := func(writes, looks *atomic.Int64) store.DB {
			return storetest.Watch(db, func(sql string, _ []any) {
				switch {
				case strings.Contains(sql, "INTO asterisk_lease") || strings.Contains(sql, "UPDATE asterisk_lease"):
					writes.Add(1)
				case strings.Contains(sql, "FROM asterisk_lease"):
					looks.Add(1)
				}
			})
		}
		var renews, writes, looks, none atomic.Int64
		idle := func(s *apply.Settings) { s.Lease, s.Poll = 6*time.Second, time.Millisecond }
		n := start(t, watch(&renews, &none), idle, false)
		do(t, n)
		second := start(t, watch(&writes, &looks), idle, false)
		until := renews.Load() + 2
		eventually(t, "the lease is renewed, and the other node looks for it", func() bool { return renews.Load() > until && looks.Load() > 30 })
		if got := writes.Load(); got != 0 {
			t.Errorf("the other node has written %d times", got)
		}
		wantState(t, do(t, n), jobs.Done, "")
		if second.times() != 0 {
			t.Error("the other node has taken the idle one's lease")
		}
	})
}
