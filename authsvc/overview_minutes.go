package authsvc

import (
	"sync/atomic"
	"time"
)

// shownMinutes is how many minutes are remembered.
const shownMinutes = 60

// minutes counts events by the minute, for the last hour. A slot holds the number of its minute since 1970 in its upper half, and
// the count in its lower half, so that one atomic step counts or begins a new minute.
type minutes struct{ slots [shownMinutes]atomic.Uint64 }

// add counts one event.
func (m *minutes) add(now time.Time) {
	minute := minuteOf(now)
	slot := &m.slots[minute%shownMinutes]
	for {
		old := slot.Load()
		next := old + 1
		if old>>32 != minute {
			next = minute<<32 | 1
		}
		if slot.CompareAndSwap(old, next) {
			return
		}
	}
}

// last returns the counts of the last minutes, the oldest first; the last one is of the minute that has begun.
func (m *minutes) last(now time.Time) []int {
	counts := make([]int, shownMinutes)
	newest := minuteOf(now)
	for i := range counts {
		minute := newest - shownMinutes + 1 + uint64(i)
		if slot := m.slots[minute%shownMinutes].Load(); slot>>32 == minute {
			counts[i] = int(uint32(slot)) //nolint:gosec // the lower half is the count
		}
	}
	return counts
}

// minuteOf returns the number of the minutes since 1970. A clock that stands before it is taken for one that stands an hour after.
func minuteOf(now time.Time) uint64 {
	return uint64(max(now.Unix()/60, shownMinutes))
}
