package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/target"
)

// maxParams is how many parameters one path may have.
const maxParams = 6

// Match is where a request's target leads in a service. The gate makes it, checks
// the access that it requires, and hands it to the service, so that what is
// checked is what is served.
type Match struct {
	Service *Service
	// Op is nil when the service documents nothing for this method on this path.
	Op *Operation
	// Allow lists the methods that the path has, when Op is nil and there are some.
	Allow []string

	values [maxParams]string
}

// Param is the value of a path parameter, or "".
func (m *Match) Param(name string) string {
	if m.Op == nil {
		return ""
	}
	for i, p := range m.Service.routes.params[m.Op] {
		if p == name {
			return m.values[i]
		}
	}
	return ""
}

// Access is the access that the request needs: the operation's, its parameters
// filled in, or "{service}.#" for what is not documented. It is "" on a public operation.
func (m *Match) Access() string {
	if m.Op == nil {
		return m.Service.Name + ".#"
	}
	pieces := m.Service.routes.access[m.Op]
	if len(pieces) == 1 && pieces[0].param < 0 {
		return pieces[0].text
	}
	var b strings.Builder
	b.Grow(128)
	for _, p := range pieces {
		if p.param < 0 {
			b.WriteString(p.text)
		} else {
			WriteWord(&b, m.values[p.param])
		}
	}
	return b.String()
}

// WriteWord writes a path segment as one word of an access. A dot inside the segment must
// not become a boundary between words: it is written %2E, which no canonical segment
// can contain, so two different segments never make the same word.
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

// routes is a service's router: a tree of segments.
type routes struct {
	prefix []string
	root   *node
	params map[*Operation][]string
	access map[*Operation][]piece
}

type node struct {
	static map[string]*node
	param  *node
	ops    map[string]*Operation // by method
	allow  []string
}

// piece is a run of an access template: text, or the value of a parameter.
type piece struct {
	text  string
	param int // -1: text
}

func newRoutes(s *Service, ops []Operation) (*routes, error) {
	r := &routes{
		prefix: segments(s.Prefix),
		root:   &node{},
		params: map[*Operation][]string{},
		access: map[*Operation][]piece{},
	}
	for i := range ops {
		op := &ops[i]
		if err := r.add(s, op); err != nil {
			return nil, fmt.Errorf("%s %s: %w", op.Method, op.Path, err)
		}
	}
	return r, nil
}

func (r *routes) add(s *Service, op *Operation) error {
	n := r.root
	var params []string
	for _, seg := range segments(op.Path) {
		if name, ok := parameter(seg); ok {
			params = append(params, name)
			if n.param == nil {
				n.param = &node{}
			}
			n = n.param
			continue
		}
		if n.static[seg] == nil {
			if n.static == nil {
				n.static = map[string]*node{}
			}
			n.static[seg] = &node{}
		}
		n = n.static[seg]
	}
	if len(params) > maxParams {
		return fmt.Errorf("more than %d parameters", maxParams)
	}
	if n.ops[op.Method] != nil {
		return fmt.Errorf("declared twice")
	}
	if n.ops == nil {
		n.ops = map[string]*Operation{}
	}
	n.ops[op.Method] = op
	n.allow = append(n.allow, op.Method)
	if op.Method == http.MethodGet {
		n.allow = append(n.allow, http.MethodHead)
	}
	slices.Sort(n.allow)
	n.allow = slices.Compact(n.allow)
	r.params[op] = params
	pieces, err := accessPieces(s.RequiredAccess(op), params, op.Pattern)
	r.access[op] = pieces
	return err
}

func accessPieces(access string, params []string, pattern string) ([]piece, error) {
	var out []piece
	for access != "" {
		before, rest, found := strings.Cut(access, "{")
		if before != "" {
			out = append(out, piece{text: before, param: -1})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		i := slices.Index(params, name)
		if !closed || i < 0 || name == pattern {
			return nil, fmt.Errorf("the access names %q, which is not a plain parameter of the path", name)
		}
		out = append(out, piece{param: i})
		access = after
	}
	return out, nil
}

// Match finds the operation for a method and a canonical target. It answers false when the
// target is not below the service's prefix. A segment that holds an ACL pattern's
// signs leads nowhere but to the parameter that its operation declares for one.
func (s *Service) Match(method string, t *target.Target) (Match, bool) {
	m := Match{Service: s}
	r := s.routes
	if t.Len() < len(r.prefix) {
		return m, false
	}
	for i, p := range r.prefix {
		if t.Segment(i) != p {
			return m, false
		}
	}
	n := r.walk(r.root, t, len(r.prefix), &m, 0)
	if n == nil {
		return m, true
	}
	m.Op = n.ops[method]
	if m.Op == nil && method == http.MethodHead {
		m.Op = n.ops[http.MethodGet]
	}
	if m.Op == nil || !r.wildOK(m.Op, t) {
		m.Op, m.Allow = nil, n.allow
	}
	return m, true
}

// walk prefers a literal segment to a parameter, and comes back when the literal leads nowhere.
func (r *routes) walk(n *node, t *target.Target, at int, m *Match, params int) *node {
	if at == t.Len() {
		if n.ops == nil {
			return nil
		}
		return n
	}
	seg := t.Segment(at)
	if next := n.static[seg]; next != nil {
		if found := r.walk(next, t, at+1, m, params); found != nil {
			return found
		}
	}
	if n.param == nil {
		return nil
	}
	m.values[params] = seg
	return r.walk(n.param, t, at+1, m, params+1)
}

// wildOK reports whether every segment with *, # or ! is the operation's pattern parameter.
func (r *routes) wildOK(op *Operation, t *target.Target) bool {
	for i := range t.Len() {
		if !t.Wild(i) {
			continue
		}
		if i < len(r.prefix) || op.Pattern == "" {
			return false
		}
		if name, ok := parameter(segments(op.Path)[i-len(r.prefix)]); !ok || name != op.Pattern {
			return false
		}
	}
	return true
}

// segments splits a template such as "/users/{id}".
func segments(path string) []string {
	path = strings.Trim(path, "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

func parameter(segment string) (string, bool) {
	if len(segment) > 2 && segment[0] == '{' && segment[len(segment)-1] == '}' {
		return segment[1 : len(segment)-1], true
	}
	return "", false
}
