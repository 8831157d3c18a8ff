package gate

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/acl"
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

// Derived is the router of an upstream daemon without a definition. It derives the access: the service's name, each segment after
// the prefix, then read, create, update or delete depending on the method. A dot in a segment is written %2E, so it does not
// separate words. UUIDs are in lower case, as package target writes them.
type Derived struct {
	service *rest.Service // with the public routes
	prefix  int           // how many segments it has
}

// NewDerived makes the router. The prefix includes the version, if the daemon has one: it is not part of any access. The public
// routes are below the prefix; a route for GET is also for HEAD.
func NewDerived(service, prefix string, public []Route) (*Derived, error) {
	if err := checkService(service, prefix); err != nil {
		return nil, err
	}
	ops, err := publicOperations(prefix, public)
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", service, err)
	}
	s, err := rest.Accesses(service, prefix, ops)
	return &Derived{s, len(pathtemplate.Segments(prefix))}, err
}

// Prefix returns the common prefix of the daemon's paths.
func (d *Derived) Prefix() string { return d.service.Prefix }

// Route implements [Router]. A method that stands for no action needs "{service}.#".
func (d *Derived) Route(method string, t *target.Target) (Need, bool) {
	m, ok := d.service.Match(method, t)
	if !ok {
		return Need{}, false
	}
	need := needOf(&m)
	if action := action(method); m.Op == nil && action != "" {
		need.Access = d.access(action, t)
	}
	return need, true
}

func (d *Derived) access(action string, t *target.Target) string {
	var b strings.Builder
	b.Grow(len(d.service.Name) + len(t.Path()) + len(action) + 16)
	b.WriteString(d.service.Name)
	for i := d.prefix; i < t.Len(); i++ {
		b.WriteByte('.')
		rest.WriteWord(&b, t.Segment(i))
	}
	b.WriteByte('.')
	b.WriteString(action)
	return b.String()
}

// action returns the last word of an access.
func action(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead:
		return "read"
	case http.MethodPost:
		return "create"
	case http.MethodPut, http.MethodPatch:
		return "update"
	case http.MethodDelete:
		return "delete"
	default:
		return ""
	}
}

func checkService(service, prefix string) error {
	if err := acl.ParseAccess(service); err != nil {
		return fmt.Errorf("service %q: %w", service, err)
	}
	if strings.Contains(service, ".") {
		return fmt.Errorf("service %q: a service's name is one word", service)
	}
	return checkPrefix(prefix)
}

// publicOperations turns routes into operations below the prefix.
func publicOperations(prefix string, routes []Route) ([]rest.Operation, error) {
	var ops []rest.Operation
	for _, r := range routes {
		if action(r.Method) == "" {
			return nil, fmt.Errorf("public %s %s: no such method; choose from %s", r.Method, r.Path, allowedMethods)
		}
		path, ok := below(prefix, r.Path)
		if !ok {
			return nil, fmt.Errorf("public %s %s: the path is not below %s", r.Method, r.Path, prefix)
		}
		if _, err := pathtemplate.Parse(path); err != nil || path == "/" {
			return nil, fmt.Errorf("public %s %s: no request can have this path", r.Method, r.Path)
		}
		ops = append(ops, rest.Operation{Method: r.Method, Path: path, Public: true})
	}
	return ops, nil
}
