package tokens

import (
	"runtime"
	"strings"
	"sync"
	"weak"

	"github.com/ringfence/ringfence/internal/principal"
)

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
