package tokens

import (
	"math/rand/v2"
	"sync/atomic"
)

// Stats counts what a Cache has done since it was made, for metrics. Each number only grows.
type Stats struct {
	Hits         uint64 // found in the cache
	Misses       uint64 // not found: the source was asked, or its last "unknown" was repeated
	NegativeHits uint64 // of the misses: refused from the short memory of unknown tokens
	Throttled    uint64 // of the misses: refused because too many unknown tokens were tried
	Loads        uint64 // look-ups at the source, also those in the background
	LoadErrors   uint64 // of the loads: the source was unreachable or failed
	Unknown      uint64 // of the loads: the source does not know the token
	Refreshes    uint64 // of the loads: started early, in the background
	Retries      uint64 // look-ups repeated because something was forgotten meanwhile
	Forgets      uint64 // calls of the Forget methods, also those for messages of other nodes
}

type counters struct {
	hits spread

	misses, negativeHits, throttled                atomic.Uint64
	loads, loadErrors, unknown, refreshes, retries atomic.Uint64
	forgets                                        atomic.Uint64
}

// spread is a counter in pieces, so that processors that count hits at once do not wait for one another.
type spread [16]struct {
	n atomic.Uint64
	_ [56]byte
}

func (s *spread) add() {
	s[rand.Uint32()%uint32(len(s))].n.Add(1) //nolint:gosec // chooses a piece of a counter, no secret
}

func (s *spread) sum() (n uint64) {
	for i := range s {
		n += s[i].n.Load()
	}
	return n
}

// Stats reads the counters, one by one: sums may be off by what happens meanwhile.
func (c *Cache) Stats() Stats {
	n := &c.count
	return Stats{
		Hits:         n.hits.sum(),
		Misses:       n.misses.Load(),
		NegativeHits: n.negativeHits.Load(),
		Throttled:    n.throttled.Load(),
		Loads:        n.loads.Load(),
		LoadErrors:   n.loadErrors.Load(),
		Unknown:      n.unknown.Load(),
		Refreshes:    n.refreshes.Load(),
		Retries:      n.retries.Load(),
		Forgets:      n.forgets.Load(),
	}
}
