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

// ACLs lets all tokens with the same patterns share one compiled set. It keeps no set alive: the garbage collector frees a set
// that no token uses. The zero value is ready for use, and safe for concurrent use.
type ACLs struct {
	mu   sync.Mutex
	sets map[[sha256.Size]byte]weak.Pointer[acl.Set]
}

// Compile returns the set for these patterns. Their order and repetitions do not matter. The error is acl.Compile's.
func (a *ACLs) Compile(patterns []string) (*acl.Set, error) {
	sorted := slices.Clone(patterns)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	k := keyOf(sorted)
	if set := a.find(k, sorted); set != nil {
		return set, nil
	}
	set, err := acl.Compile(sorted)
	if err != nil {
		return nil, err
	}
	return a.share(k, sorted, set), nil
}

// Denying returns the set of acl.Set.Denying.
func (a *ACLs) Denying(set *acl.Set, more []string) (*acl.Set, error) {
	denying, err := set.Denying(more)
	if err != nil {
		return nil, err
	}
	patterns := denying.Patterns()
	return a.share(keyOf(patterns), patterns, denying), nil
}

// share returns the set with these patterns that others have already, or keeps this one.
func (a *ACLs) share(k [sha256.Size]byte, sorted []string, set *acl.Set) *acl.Set {
	a.mu.Lock()
	defer a.mu.Unlock()
	if other := a.sets[k].Value(); other != nil && slices.Equal(other.Patterns(), sorted) {
		return other
	}
	if a.sets == nil {
		a.sets = make(map[[sha256.Size]byte]weak.Pointer[acl.Set])
	}
	a.sets[k] = weak.Make(set)
	runtime.AddCleanup(set, a.drop, k)
	return set
}

// Len returns how many different sets are in use.
func (a *ACLs) Len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.sets)
}

func (a *ACLs) find(k [sha256.Size]byte, sorted []string) *acl.Set {
	a.mu.Lock()
	defer a.mu.Unlock()
	if set := a.sets[k].Value(); set != nil && slices.Equal(set.Patterns(), sorted) {
		return set
	}
	return nil
}

// drop removes a set that was freed, unless another one has taken its place.
func (a *ACLs) drop(k [sha256.Size]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sets[k].Value() == nil {
		delete(a.sets, k)
	}
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

// affiliations lets all principals with the same affiliation share one. It keeps none alive. The zero value is ready for use,
// and safe for concurrent use.
type affiliations struct {
	mu    sync.Mutex
	known map[principal.Affiliation]weak.Pointer[principal.Affiliation]
}

// share returns the shared affiliation that equals a.
func (s *affiliations) share(a *principal.Affiliation) *principal.Affiliation {
	if a == nil {
		a = new(principal.Affiliation)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if shared := s.known[*a].Value(); shared != nil {
		return shared
	}
	shared := &principal.Affiliation{
		TenantUUID: strings.Clone(a.TenantUUID), Purpose: strings.Clone(a.Purpose), Remote: a.Remote, Master: a.Master,
	}
	if s.known == nil {
		s.known = make(map[principal.Affiliation]weak.Pointer[principal.Affiliation])
	}
	s.known[*shared] = weak.Make(shared)
	runtime.AddCleanup(shared, s.drop, *shared)
	return shared
}

// drop removes an affiliation that was freed, unless another one has taken its place.
func (s *affiliations) drop(a principal.Affiliation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[a].Value() == nil {
		delete(s.known, a)
	}
}
