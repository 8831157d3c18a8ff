package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/pathtemplate"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/target"
)

// Need is what a request needs, as found by a [Router].
type Need struct {
	// Service names the service in metrics; it is from the configuration, never from a request.
	Service string
	// Access is the access that the token must hold, or a pattern such as "confd.#" that it must cover. It is empty only if
	// Public is true.
	Access string
	// Public requests need no token.
	Public bool
	// Pattern is set if one segment of the path may hold the characters of an ACL pattern; the router has checked that no other
	// segment does.
	Pattern bool
	// Errors is the form of the service's refusals; nil is rest.AuthErrors.
	Errors rest.ErrorForm
	// Match says where the request leads, in our own service; nil for an upstream.
	Match *rest.Match
}

// Router says what the requests to one service need. It is safe for concurrent use.
type Router interface {
	// Prefix returns the common prefix of the service's paths: "/api/confd/1.1".
	Prefix() string
	// Route returns false for a target that is not below the prefix. Every other target has a need, whether the service documents
	// it or not: nothing below the prefix goes unchecked.
	Route(method string, t *target.Target) (Need, bool)
}

// Route is a method on a path, as in the Caddyfile's `public`.
type Route struct {
	Method string
	// Path is the whole path as a client sends it; {name} stands for any one segment.
	Path string
}

// Services returns the routers of our own services, which must be mounted.
func Services(services []*rest.Service) []Router {
	routers := make([]Router, 0, len(services))
	for _, s := range services {
		routers = append(routers, inTree{s})
	}
	return routers
}

// inTree is the router of our own service. An undocumented operation needs "{service}.#".
type inTree struct{ service *rest.Service }

func (s inTree) Prefix() string { return s.service.Prefix }

func (s inTree) Route(method string, t *target.Target) (Need, bool) {
	m, ok := s.service.Match(method, t)
	if !ok {
		return Need{}, false
	}
	need := needOf(&m)
	kept := m // on the heap only now: most requests are for other services
	need.Errors, need.Match = s.service.Errors, &kept
	return need, true
}

func needOf(m *rest.Match) Need {
	need := Need{Service: m.Service.Name, Access: m.Access()}
	if m.Op != nil {
		need.Public, need.Pattern = m.Op.Public, m.Op.Pattern != ""
	}
	return need
}

// byPrefix sorts the routers with the longest prefix first, so that the first match is the right one.
func byPrefix(routers []Router) ([]Router, error) {
	routers = slices.Clone(routers)
	seen := map[string]bool{}
	for _, r := range routers {
		prefix := r.Prefix()
		if err := checkPrefix(prefix); err != nil {
			return nil, err
		}
		if seen[prefix] {
			return nil, fmt.Errorf("two services are below %s", prefix)
		}
		seen[prefix] = true
	}
	slices.SortStableFunc(routers, func(a, b Router) int {
		return cmp.Compare(len(pathtemplate.Segments(b.Prefix())), len(pathtemplate.Segments(a.Prefix())))
	})
	return routers, nil
}

// checkPrefix checks that a canonical target can be below the prefix.
func checkPrefix(prefix string) error {
	t, err := target.Parse(prefix)
	if err != nil {
		return fmt.Errorf("prefix %q: %w", prefix, err)
	}
	if t.Path() != prefix || t.HasWild() {
		return fmt.Errorf("prefix %q is not a plain path", prefix)
	}
	return nil
}

// below cuts the prefix from a path, at a boundary between segments.
func below(prefix, path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(prefix, "/"))
	return rest, ok && (rest == "" || rest[0] == '/')
}
