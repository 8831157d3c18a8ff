package rest

import "context"

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
