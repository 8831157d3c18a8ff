package gate

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/pathtemplate"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/target"
)

// Derived is the router of an upstream daemon without a definition. It derives the access: the service's name, each segment after
// the prefix, then read, create, update or delete depending on the method. A dot in a segment is written %2E, so it does not
// separate words. UUIDs are in lower case, as package target writes them.
type Derived struct {
	service  string
	prefix   string
	segments []string
	public   *rest.Service
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
	d := &Derived{service: service, prefix: prefix, segments: pathtemplate.Segments(prefix)}
	if len(ops) > 0 {
		if d.public, err = rest.Accesses(service, prefix, ops); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Prefix returns the common prefix of the daemon's paths.
func (d *Derived) Prefix() string { return d.prefix }

// Route implements [Router]. A method that stands for no action needs "{service}.#".
func (d *Derived) Route(method string, t *target.Target) (Need, bool) {
	if !t.HasPrefix(d.segments) {
		return Need{}, false
	}
	if d.public != nil {
		if m, _ := d.public.Match(method, t); m.Op != nil {
			return Need{Service: d.service, Public: true}, true
		}
	}
	return Need{Service: d.service, Access: d.access(method, t)}, true
}

func (d *Derived) access(method string, t *target.Target) string {
	action := action(method)
	if action == "" {
		return d.service + ".#"
	}
	var b strings.Builder
	b.Grow(len(d.service) + len(t.Path()) + len(action) + 16)
	b.WriteString(d.service)
	for i := len(d.segments); i < t.Len(); i++ {
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
