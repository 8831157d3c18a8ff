package tokens

import (
	"encoding/binary"
	"sync/atomic"
	"time"
)

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
