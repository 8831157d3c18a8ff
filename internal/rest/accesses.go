package rest

import "fmt"

// Accesses returns a service that only knows what its operations need: its Match and Access work, but it has no definition and
// serves nothing. The gate makes one for an upstream daemon, from the daemon's own definition. It uses only Method, Path, Access,
// Public and Pattern of the operations.
func Accesses(name, prefix string, ops []Operation) (*Service, error) {
	s := &Service{Name: name, Prefix: prefix, Operations: ops}
	routes, err := newRoutes(s, ops)
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", name, err)
	}
	s.routes = routes
	return s, nil
}
