package tokens

import (
	"crypto/subtle"
	"encoding/binary"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ringfence/ringfence/internal/principal"
)

// keyBytes of a digest are ristretto's key; the entry holds the rest, so that
// all of it is compared.
const keyBytes = 8

func key(d *Digest) uint64 { return binary.LittleEndian.Uint64(d[:keyBytes]) }

// entry is one known token, in one allocation of 176 bytes: with what ristretto needs for it, that is what a
// cached token costs. What a hit checks comes first, in one or two lines of the processor's cache; then the principal,
// and the texts that it points to.
type entry struct {
	until     int64         // the last moment, on the cache's clock, before which it may be used
	state     atomic.Uint64 // the look-up's number, the user's slot, and one bit: a refresh has been started
	rest      [len(Digest{}) - keyBytes]byte
	principal principal.Principal
	text      [2 * uuidText]byte // the user's UUID and the session's, if they are of the usual length
}

const uuidText = 36

// newEntry is what was learnt, under number n, of a source that was asked at a moment. It shares no memory with what
// the source answered.
func (c *Cache) newEntry(p *principal.Principal, d *Digest, asked time.Time, n uint64) *entry {
	e := &entry{principal: *p, until: c.until(asked, p.ExpiresAt)}
	copy(e.rest[:], d[keyBytes:])
	e.state.Store(n<<(slotBits+1) | c.marks.userSlot(p.UserUUID)<<1)
	e.principal.Affiliation = c.shared.share(p.Affiliation)
	e.principal.UserUUID = keepText(e.text[:uuidText], p.UserUUID)
	e.principal.SessionUUID = keepText(e.text[uuidText:], p.SessionUUID)
	return e
}

// keepText copies a text, which may be a part of something larger, to where it is kept, if it fits exactly.
func keepText(to []byte, text string) string {
	if len(text) != len(to) {
		return strings.Clone(text)
	}
	copy(to, text)
	return unsafe.String(&to[0], len(to)) //nolint:gosec // written here and never again
}

// is compares what of the digest is not the key.
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
