package rest

import (
	"context"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/pathtemplate"
)

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

// With returns the match with another value of a path parameter: another of an object's keys.
func (m *Match) With(param, value string) Match {
	other := *m
	if m.route != nil {
		if i := slices.Index(m.route.params, param); i >= 0 {
			other.values[i] = value
		}
	}
	return other
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
