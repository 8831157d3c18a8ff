package authsvc

import "github.com/ringfence/ringfence/internal/crud"

// Described is what the service's collections that tenants have declare.
func (s *Service) Described() crud.Described {
	e := s.engine()
	d := e.Described()
	s.users().Describe(e, &d)
	s.groups().Describe(e, &d)
	s.policies().Describe(e, &d)
	return d
}
