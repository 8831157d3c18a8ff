package tokens

import (
	"crypto/subtle"
	"encoding/binary"
	"math/bits"
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

const (
	unknownSlots = 1 << 12
	// unknownLife is how long "unknown" is remembered: a token that another node issues is refused here no longer than this.
	unknownLife = 2 * time.Second

	seenSlots = 1 << 15
)

// refused is a token that the source did not know.
type refused struct {
	digest Digest
	until  int64 // on the cache's clock
	number uint64
}

// unknowns remembers tokens that the source did not know, in a table in which a newer one replaces an older one. It holds 256 KB
// at most.
type unknowns [unknownSlots]atomic.Pointer[refused]

func (u *unknowns) slot(d *Digest) *atomic.Pointer[refused] {
	return &u[binary.LittleEndian.Uint32(d[12:])%unknownSlots]
}

func (u *unknowns) add(r *refused) { u.slot(&r.digest).Store(r) }

func (u *unknowns) find(d *Digest, now int64) *refused {
	r := u.slot(d).Load()
	if r == nil || r.digest != *d || now >= r.until {
		return nil
	}
	return r
}

// seen remembers, by 64 bits of their digests, tokens that were good here or were issued here. It may forget any of them.
type seen [seenSlots]atomic.Uint64

func (s *seen) slot(d *Digest) (*atomic.Uint64, uint64) {
	return &s[binary.LittleEndian.Uint32(d[16:])%seenSlots], binary.LittleEndian.Uint64(d[24:])
}

func (s *seen) add(d *Digest) {
	if slot, mark := s.slot(d); slot.Load() != mark {
		slot.Store(mark)
	}
}

func (s *seen) has(d *Digest) bool {
	slot, mark := s.slot(d)
	return slot.Load() == mark
}
