package authsvc

import (
	"slices"

	"github.com/ringfence/ringfence/internal/crud"
)

// Described is what the service's collections that tenants have declare, and what joins them.
func (s *Service) Described() crud.Described {
	d := s.engine.Described()
	d.Collections = slices.DeleteFunc(d.Collections, func(k crud.DescribedCollection) bool {
		return !slices.Contains([]string{"groups", "policies", "users"}, k.Path)
	})
	d.Links = nil // each takes rights, and has tests of its own
	return d
}
