package tokens

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
)

// recent is a table of known tokens in front of ristretto, in which a newer token replaces an older one. Finding a token in it
// takes no lock, and fewer memory reads than a map: with many tokens in use, these are most of the cost of a hit. Its entries
// are checked like ristretto's, and its size is bounded. Like ristretto it gives only hints, and ristretto still has what it
// loses.
type recent struct{ sets []placeSet }

// placeSet holds the places where a token can be. It fills one cache line.
type placeSet [4]place

// place holds a token. A reader may see the key of one token and the entry of another; the entry shows that.
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

// add puts an entry in the place of an older one for the same token, otherwise of any other.
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
