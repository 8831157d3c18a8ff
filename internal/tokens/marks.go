package tokens

import (
	"encoding/binary"
	"hash/maphash"
	"sync/atomic"
)

// slots is the size of the tables of marks. With 100,000 cached tokens a Forget
// makes about three others be asked for again.
const (
	slotBits = 15
	slots    = 1 << slotBits
)

// marks says which of the things that were learnt still count (see the package
// comment). It does not grow, and nothing in it waits.
type marks struct {
	seq atomic.Uint64
	_   [56]byte // the counter moves with each look-up; what follows is read by each hit

	floor        atomic.Uint64 // nothing learnt before it counts
	unknownFloor atomic.Uint64 // nor does any "unknown" learnt before it
	tokens       [slots]atomic.Uint64
	users        [slots]atomic.Uint64
	seed         maphash.Seed
}

func newMarks() *marks { return &marks{seed: maphash.MakeSeed()} }

// next takes a number: for a look-up before it asks, for a Forget after the
// change that it follows.
func (m *marks) next() uint64 { return m.seq.Add(1) }

func (m *marks) token(d *Digest) *atomic.Uint64 {
	return &m.tokens[binary.LittleEndian.Uint32(d[8:])%slots]
}

// userSlot is where a user's marks are.
func (m *marks) userSlot(uuid string) uint64 { return maphash.String(m.seed, uuid) % slots }

// holds reports whether a principal that was learnt under number n still counts.
func (m *marks) holds(n uint64, d *Digest, userSlot uint64) bool {
	return n >= m.floor.Load() && n >= m.token(d).Load() && n >= m.users[userSlot%slots].Load()
}

// holdsUnknown reports whether "unknown" still counts. Whose such a token would
// be nobody can tell, so that any change to a user ends it.
func (m *marks) holdsUnknown(n uint64, d *Digest) bool {
	return n >= m.floor.Load() && n >= m.unknownFloor.Load() && n >= m.token(d).Load()
}

// raise writes n down, unless something later is written there already.
func raise(slot *atomic.Uint64, n uint64) {
	for {
		old := slot.Load()
		if old >= n || slot.CompareAndSwap(old, n) {
			return
		}
	}
}
