package rest

import "fmt"

// Accesses is a service that only says what its operations need: its Match and
// Access work, but it has no definition and serves nothing. The gate makes one for an upstream
// daemon, from the daemon's own definition. Of the operations, Method, Path, Access, Public and
// Pattern count.
func Accesses(name, prefix string, ops []Operation) (*Service, error) {
	s := &Service{Name: name, Prefix: prefix, Operations: ops}
	routes, err := newRoutes(s, ops)
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", name, err)
	}
	s.routes = routes
	return s, nil
}
