package tokens

import (
	"crypto/sha256"
	"encoding/binary"
	"runtime"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/principal"
)

// shared are values of which all who need the same one share it. It keeps none alive: the garbage collector frees a value that nobody
// uses. The zero value is ready for use, and safe for concurrent use.
type shared[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]weak.Pointer[V]
}

// find returns the value with a key that somebody uses, or nil.
func (s *shared[K, V]) find(k K) *V {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[k].Value()
}

// share returns the value with a key that others have already, or lets others have this one.
func (s *shared[K, V]) share(k K, v *V) *V {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.known[k].Value(); other != nil {
		return other
	}
	if s.known == nil {
		s.known = make(map[K]weak.Pointer[V])
	}
	s.known[k] = weak.Make(v)
	runtime.AddCleanup(v, s.drop, k)
	return v
}

// drop removes a value that was freed, unless another one has taken its place.
func (s *shared[K, V]) drop(k K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[k].Value() == nil {
		delete(s.known, k)
	}
}

// ACLs lets all tokens with the same patterns share one compiled set, by a hash of the patterns. The zero value is ready for use, and
// safe for concurrent use.
type ACLs struct {
	sets shared[[sha256.Size]byte, acl.Set]
}

// Compile returns the set for these patterns. Their order and repetitions do not matter. The error is acl.Compile's.
func (a *ACLs) Compile(patterns []string) (*acl.Set, error) {
	sorted := slices.Clone(patterns)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	k := keyOf(sorted)
	if set := a.sets.find(k); set != nil {
		return set, nil
	}
	set, err := acl.Compile(sorted)
	if err != nil {
		return nil, err
	}
	return a.sets.share(k, set), nil
}

// Denying returns the set of acl.Set.Denying.
func (a *ACLs) Denying(set *acl.Set, more []string) (*acl.Set, error) {
	denying, err := set.Denying(more)
	if err != nil {
		return nil, err
	}
	return a.sets.share(keyOf(denying.Patterns()), denying), nil
}

// keyOf returns a hash of the list. Each pattern is preceded by its length, so two different lists never give the same bytes.
func keyOf(sorted []string) (k [sha256.Size]byte) {
	h := sha256.New()
	var length [8]byte
	for _, p := range sorted {
		binary.BigEndian.PutUint64(length[:], uint64(len(p)))
		h.Write(length[:])
		h.Write([]byte(p))
	}
	h.Sum(k[:0])
	return k
}

// affiliations lets all principals with the same affiliation share one.
type affiliations struct {
	known shared[principal.Affiliation, principal.Affiliation]
}

func (s *affiliations) share(a *principal.Affiliation) *principal.Affiliation {
	if a == nil {
		a = new(principal.Affiliation)
	}
	if found := s.known.find(*a); found != nil {
		return found
	}
	own := &principal.Affiliation{
		TenantUUID: strings.Clone(a.TenantUUID), Purpose: strings.Clone(a.Purpose), Remote: a.Remote, Master: a.Master,
	}
	return s.known.share(*own, own)
}
