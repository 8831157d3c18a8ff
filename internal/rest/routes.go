package rest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/pathtemplate"
	"github.com/ringfence/ringfence/internal/target"
)

// routes is a service's router: a tree of segments.
type routes struct {
	prefix []string
	root   node
	// undocumented is the access of undocumented operations.
	undocumented string
}

type node struct {
	static map[string]*node
	param  *node
	routes []*route // one for each method: a handful
	allow  []string
}

// route is one operation, with what a match needs prepared.
type route struct {
	op     *Operation
	params []string
	access []piece
	// size is the length of the access without its parameters.
	size int
	// pattern is the segment, counted after the prefix, that may hold an ACL pattern; -1 means none.
	pattern int
}

// piece is a run of an access template: text, or the value of a parameter.
type piece struct {
	text  string
	param int // -1: text
}

func newRoutes(s *Service, ops []Operation) (*routes, error) {
	r := &routes{prefix: pathtemplate.Segments(s.Prefix), undocumented: s.Name + ".#"}
	for i := range ops {
		if err := r.add(s, &ops[i]); err != nil {
			return nil, fmt.Errorf("%s %s: %w", ops[i].Method, ops[i].Path, err)
		}
	}
	return r, nil
}

func (r *routes) add(s *Service, op *Operation) error {
	template, err := pathtemplate.Parse(op.Path)
	if err != nil {
		return err
	}
	if name := template.Repeated(); name != "" {
		return fmt.Errorf("the path has the parameter %q twice", name)
	}
	added := &route{op: op, pattern: -1, params: template.Parameters()}
	switch {
	case len(added.params) > pathtemplate.MaxParameters:
		return fmt.Errorf("more than %d parameters", pathtemplate.MaxParameters)
	case op.Pattern != "" && !slices.Contains(added.params, op.Pattern):
		return fmt.Errorf("pattern parameter %q is not in the path", op.Pattern)
	}
	n := &r.root
	for i, segment := range template {
		if !segment.Param {
			n = n.literal(segment.Text)
			continue
		}
		if segment.Text == op.Pattern {
			added.pattern = i
		}
		if n.param == nil {
			n.param = &node{}
		}
		n = n.param
	}
	if n.route(op.Method) != nil {
		return fmt.Errorf("declared twice")
	}
	n.routes = append(n.routes, added)
	n.allow = append(n.allow, op.Method)
	if op.Method == http.MethodGet {
		n.allow = append(n.allow, http.MethodHead)
	}
	slices.Sort(n.allow)
	n.allow = slices.Compact(n.allow)
	return added.setAccess(s.RequiredAccess(op))
}

func (n *node) literal(segment string) *node {
	if n.static == nil {
		n.static = map[string]*node{}
	}
	if n.static[segment] == nil {
		n.static[segment] = &node{}
	}
	return n.static[segment]
}

func (n *node) route(method string) *route {
	for _, r := range n.routes {
		if r.op.Method == method {
			return r
		}
	}
	return nil
}

func (rt *route) setAccess(access string) error {
	for access != "" {
		before, rest, found := strings.Cut(access, "{")
		if before != "" {
			rt.access = append(rt.access, piece{text: before, param: -1})
			rt.size += len(before)
		}
		if !found {
			return nil
		}
		name, after, closed := strings.Cut(rest, "}")
		i := slices.Index(rt.params, name)
		if !closed || i < 0 || name == rt.op.Pattern {
			return fmt.Errorf("the access names %q, which is not a plain parameter of the path", name)
		}
		rt.access = append(rt.access, piece{param: i})
		access = after
	}
	return nil
}

// Match finds the operation for a method and a canonical target. It returns false when the
// target is not below the service's prefix. A segment that holds an ACL pattern's
// signs leads nowhere but to the parameter that its operation declares for one.
// A literal segment goes before a parameter, whatever the method: where /users/import
// takes POST alone, GET /users/import is not GET /users/{user_id}. It does not allocate.
func (s *Service) Match(method string, t *target.Target) (m Match, ok bool) {
	r := s.routes
	m.Service = s
	if !t.HasPrefix(r.prefix) {
		return m, false
	}
	n := walk(&r.root, t, len(r.prefix), &m, 0)
	if n == nil {
		return m, true
	}
	found := n.route(method)
	if found == nil && method == http.MethodHead {
		found = n.route(http.MethodGet)
	}
	switch {
	case found == nil:
		m.Allow = n.allow
	case !t.HasWild() || found.takesWild(t, len(r.prefix)):
		m.Op, m.route = found.op, found
	}
	return m, true
}

// walk backtracks when a literal leads nowhere. It visits no node twice.
func walk(n *node, t *target.Target, at int, m *Match, params int) *node {
	if at == t.Len() {
		if n.routes == nil {
			return nil
		}
		return n
	}
	seg := t.Segment(at)
	if next := n.static[seg]; next != nil {
		if found := walk(next, t, at+1, m, params); found != nil {
			return found
		}
	}
	if n.param == nil {
		return nil
	}
	m.values[params] = seg
	return walk(n.param, t, at+1, m, params+1)
}

// takesWild reports whether only the operation's pattern parameter holds *, # or !.
func (rt *route) takesWild(t *target.Target, prefix int) bool {
	for i := range t.Len() {
		if t.Wild(i) && (rt.pattern < 0 || i != prefix+rt.pattern) {
			return false
		}
	}
	return true
}

// Match says where a request's target leads in a service. The gate makes it, checks the access that it requires, and passes it to
// the service, so that the service serves what was checked.
type Match struct {
	Service *Service
	// Op is nil if the service documents nothing for this method on this path.
	Op *Operation
	// Allow lists the methods of the path, if Op is nil and there are some.
	Allow []string

	route  *route
	values [pathtemplate.MaxParameters]string
}

// Param returns the value of a path parameter, or "".
func (m *Match) Param(name string) string {
	if m.route == nil {
		return ""
	}
	for i, p := range m.route.params {
		if p == name {
			return m.values[i]
		}
	}
	return ""
}

// Access returns the access that the request needs: the operation's, with its parameters filled in, or "{service}.#" for an
// undocumented one. It is "" for a public operation. Filling in parameters is its one allocation.
func (m *Match) Access() string {
	if m.route == nil {
		return m.Service.routes.undocumented
	}
	pieces := m.route.access
	switch {
	case len(pieces) == 0:
		return ""
	case len(pieces) == 1 && pieces[0].param < 0:
		return pieces[0].text
	}
	size := m.route.size
	for _, p := range pieces {
		if p.param >= 0 {
			size += len(m.values[p.param]) + 2*strings.Count(m.values[p.param], ".")
		}
	}
	var b strings.Builder
	b.Grow(size)
	for _, p := range pieces {
		if p.param < 0 {
			b.WriteString(p.text)
		} else {
			WriteWord(&b, m.values[p.param])
		}
	}
	return b.String()
}

// WriteWord writes a path segment as one word of an access. A dot inside the segment must not separate words: it is written %2E,
// which no canonical segment can contain, so two different segments never make the same word.
func WriteWord(b *strings.Builder, segment string) {
	for {
		before, after, dotted := strings.Cut(segment, ".")
		b.WriteString(before)
		if !dotted {
			return
		}
		b.WriteString("%2E")
		segment = after
	}
}

type matchKey struct{}

// NewContext returns a context that holds the match of a request. The gate calls it, after it has checked the access that the
// match requires.
func NewContext(ctx context.Context, m *Match) context.Context {
	return context.WithValue(ctx, matchKey{}, m)
}

// FromContext returns what NewContext put there, or nil.
func FromContext(ctx context.Context) *Match {
	m, _ := ctx.Value(matchKey{}).(*Match)
	return m
}
