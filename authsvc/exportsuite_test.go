package authsvc

import (
	"slices"

	"github.com/ringfence/ringfence/internal/crud"
)

// Described returns the declarations of the service's collections that belong to tenants, and of their links.
func (s *Service) Described() crud.Described {
	d := s.engine.Described()
	d.Collections = slices.DeleteFunc(d.Collections, func(k crud.DescribedCollection) bool {
		return !slices.Contains([]string{"groups", "policies", "users"}, k.Path)
	})
	return d
}
