package tokens

import (
	"encoding/binary"
	"hash/maphash"
	"sync/atomic"
)

// slots is the size of the tables of marks. With 100,000 cached tokens, one Forget causes about three other tokens to be looked
// up again.
const (
	slotBits = 15
	slots    = 1 << slotBits
)

// marks says which results still count (see the package comment). It does not grow, and it never blocks.
type marks struct {
	seq atomic.Uint64
	_   [56]byte // the counter changes with each look-up; each hit reads the fields below

	floor        atomic.Uint64 // no older result counts
	unknownFloor atomic.Uint64 // nor does any older "unknown"
	tokens       [slots]atomic.Uint64
	users        [slots]atomic.Uint64
	seed         maphash.Seed
}

func newMarks() *marks { return &marks{seed: maphash.MakeSeed()} }

// next takes a number: for a look-up before it asks, for a Forget after its change was committed.
func (m *marks) next() uint64 { return m.seq.Add(1) }

func (m *marks) token(d *Digest) *atomic.Uint64 {
	return &m.tokens[binary.LittleEndian.Uint32(d[8:])%slots]
}

// userSlot returns the slot of a user's marks.
func (m *marks) userSlot(uuid string) uint64 { return maphash.String(m.seed, uuid) % slots }

// holds reports whether a principal that was loaded under number n still counts.
func (m *marks) holds(n uint64, d *Digest, userSlot uint64) bool {
	return n >= m.floor.Load() && n >= m.token(d).Load() && n >= m.users[userSlot%slots].Load()
}

// holdsUnknown reports whether "unknown" still counts. Nobody knows to which user such a token would belong, so any change to a
// user ends it.
func (m *marks) holdsUnknown(n uint64, d *Digest) bool {
	return n >= m.floor.Load() && n >= m.unknownFloor.Load() && n >= m.token(d).Load()
}

// raise records n, unless a later number is there already.
func raise(slot *atomic.Uint64, n uint64) {
	for {
		old := slot.Load()
		if old >= n || slot.CompareAndSwap(old, n) {
			return
		}
	}
}
