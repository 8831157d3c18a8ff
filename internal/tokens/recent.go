package tokens

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
)

// recent is a table of known tokens in front of ristretto, in which a newer one takes the place of an older one. To
// find a token in it takes no lock, and fewer reads of memory than a map: with many tokens in use that
// is most of what a hit costs. What it holds is judged like what ristretto holds, and bounded by its size. Like
// ristretto it answers only "perhaps", and what it loses is still found there.
type recent struct{ sets []placeSet }

// placeSet are the places where a token can be. They are one line of the processor's cache.
type placeSet [4]place

// place holds a token. A reader may see the key of one token and the entry of another, which the entry tells.
type place struct {
	key   atomic.Uint64
	entry atomic.Pointer[entry]
}

const maxRecent = 1 << 17

// newRecent makes a table for a cache of this capacity.
func newRecent(capacity int) recent {
	size := 1 << bits.Len(uint(min(max(capacity, 2), maxRecent)-1))
	return recent{make([]placeSet, max(1, size/len(placeSet{})))}
}

func (r *recent) set(d *Digest) *placeSet {
	return &r.sets[binary.LittleEndian.Uint32(d[20:])&uint32(len(r.sets)-1)] //nolint:gosec // at most maxRecent
}

func (r *recent) find(d *Digest) *entry {
	k, set := key(d), r.set(d)
	for i := range set {
		if set[i].key.Load() == k {
			if e := set[i].entry.Load(); e != nil && e.is(d) {
				return e
			}
		}
	}
	return nil
}

// add puts an entry in the place of an older one for the same token, else of any other.
func (r *recent) add(d *Digest, e *entry) {
	k, set := key(d), r.set(d)
	to := &set[d[24]%uint8(len(set))]
	for i := range set {
		if set[i].key.Load() == k {
			to = &set[i]
			break
		}
		if set[i].entry.Load() == nil {
			to = &set[i]
		}
	}
	to.key.Store(k)
	to.entry.Store(e)
}

func (r *recent) drop(d *Digest) {
	k, set := key(d), r.set(d)
	for i := range set {
		if set[i].key.Load() == k {
			set[i].entry.Store(nil)
		}
	}
}
