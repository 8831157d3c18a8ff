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

// entry is one known token. The principal lies inside it, and its texts in one
// allocation: with the key in ristretto, that is what a cached token costs.
type entry struct {
	principal principal.Principal
	rest      [len(Digest{}) - keyBytes]byte
	loaded    int64         // nanoseconds on the cache's clock, just before the source was asked
	state     atomic.Uint64 // the look-up's number, doubled; odd once a refresh has been started
}

func newEntry(p *principal.Principal, d *Digest, loaded int64, n uint64) *entry {
	e := &entry{principal: *p, loaded: loaded}
	copy(e.rest[:], d[keyBytes:])
	e.state.Store(n << 1)

	text := p.UserUUID + p.SessionUUID + p.TokenID
	u, s := len(p.UserUUID), len(p.UserUUID)+len(p.SessionUUID)
	e.principal.UserUUID, e.principal.SessionUUID, e.principal.TokenID = text[:u], text[u:s], text[s:]
	e.principal.TenantUUID = unique.Make(p.TenantUUID).Value()
	e.principal.Purpose = unique.Make(p.Purpose).Value()
	return e
}

func (e *entry) is(d *Digest) bool { return subtle.ConstantTimeCompare(e.rest[:], d[keyBytes:]) == 1 }

func (e *entry) number() uint64 { return e.state.Load() >> 1 }

// claimRefresh reports, once in the entry's life, that the caller is to ask again.
func (e *entry) claimRefresh() bool {
	s := e.state.Load()
	return s&1 == 0 && e.state.CompareAndSwap(s, s|1)
}
