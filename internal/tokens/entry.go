package tokens

import (
	"crypto/subtle"
	"encoding/binary"
	"sync/atomic"
	"unique"

	"github.com/ringfence/ringfence/internal/principal"
)

// keyBytes of a digest are ristretto's key; the entry holds the rest, so that
// all of it is compared (THREATS 6.7).
const keyBytes = 8

func key(d *Digest) uint64 { return binary.LittleEndian.Uint64(d[:keyBytes]) }

// entry is one known token. What a hit checks comes first, in one or two lines of
// the processor's cache; then the principal itself. Its texts are one allocation:
// with the key in ristretto, that is what a cached token costs.
type entry struct {
	until     int64         // the last moment, on the cache's clock, before which it may be used
	state     atomic.Uint64 // the look-up's number, the user's slot, and one bit: a refresh has been started
	rest      [len(Digest{}) - keyBytes]byte
	principal principal.Principal
}

func newEntry(p *principal.Principal, d *Digest, until int64, n, userSlot uint64) *entry {
	e := &entry{principal: *p, until: until}
	copy(e.rest[:], d[keyBytes:])
	e.state.Store(n<<(slotBits+1) | userSlot<<1)

	text := p.UserUUID + p.SessionUUID + p.TokenID
	u, s := len(p.UserUUID), len(p.UserUUID)+len(p.SessionUUID)
	e.principal.UserUUID, e.principal.SessionUUID, e.principal.TokenID = text[:u], text[u:s], text[s:]
	e.principal.TenantUUID = unique.Make(p.TenantUUID).Value()
	e.principal.Purpose = unique.Make(p.Purpose).Value()
	return e
}

func (e *entry) is(d *Digest) bool { return subtle.ConstantTimeCompare(e.rest[:], d[keyBytes:]) == 1 }

// learnt is the number under which it was learnt, and the slot of its user's marks.
func (e *entry) learnt() (n, userSlot uint64) {
	s := e.state.Load()
	return s >> (slotBits + 1), s >> 1 & (slots - 1)
}

// claimRefresh reports, once in the entry's life, that the caller is to ask again.
func (e *entry) claimRefresh() bool {
	s := e.state.Load()
	return s&1 == 0 && e.state.CompareAndSwap(s, s|1)
}
