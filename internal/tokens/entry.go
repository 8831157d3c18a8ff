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

// keyBytes of a digest are ristretto's key. The entry holds the rest, so the whole digest is compared.
const keyBytes = 8

func key(d *Digest) uint64 { return binary.LittleEndian.Uint64(d[:keyBytes]) }

// entry is one known token, in one allocation of 176 bytes: together with ristretto's share, that is the cost of a cached token.
// The fields that a hit checks come first, in one or two cache lines; then the principal, and the texts that it points to.
type entry struct {
	until     int64         // the time, on the cache's clock, until which it may be used
	state     atomic.Uint64 // the look-up's number, the user's slot, and one bit: a refresh has been started
	rest      [len(Digest{}) - keyBytes]byte
	principal principal.Principal
	text      [2 * uuidText]byte // the user's UUID and the session's, if they are of the usual length
}

const uuidText = 36

// newEntry makes an entry from a result of the source that was asked at a moment, under number n. It shares no memory with the
// result.
func (c *Cache) newEntry(p *principal.Principal, d *Digest, asked time.Time, n uint64) *entry {
	e := &entry{principal: *p, until: c.until(asked, p.ExpiresAt)}
	copy(e.rest[:], d[keyBytes:])
	e.state.Store(n<<(slotBits+1) | c.marks.userSlot(p.UserUUID)<<1)
	e.principal.Affiliation = c.shared.share(p.Affiliation)
	e.principal.UserUUID = keepText(e.text[:uuidText], p.UserUUID)
	e.principal.SessionUUID = keepText(e.text[uuidText:], p.SessionUUID)
	return e
}

// keepText copies a text, which may be part of a larger one, to the buffer if it fits exactly.
func keepText(to []byte, text string) string {
	if len(text) != len(to) {
		return strings.Clone(text)
	}
	copy(to, text)
	return unsafe.String(&to[0], len(to)) //nolint:gosec // written here and never again
}

// is compares the rest of the digest, without the key.
func (e *entry) is(d *Digest) bool { return subtle.ConstantTimeCompare(e.rest[:], d[keyBytes:]) == 1 }

// learnt returns the number of the look-up and the slot of its user's marks.
func (e *entry) learnt() (n, userSlot uint64) {
	s := e.state.Load()
	return s >> (slotBits + 1), s >> 1 & (slots - 1)
}

// claimRefresh reports, once in the entry's life, that the caller should refresh it.
func (e *entry) claimRefresh() bool {
	s := e.state.Load()
	return s&1 == 0 && e.state.CompareAndSwap(s, s|1)
}
