package acl

import (
	"slices"
	"sync"
)

// The largest set of positions that stays on the stack.
const (
	fewNodes = 32
	fewMarks = 2
)

// memory is the working memory of a walk with large sets of positions. It is
// pooled, so that such a walk does not allocate either.
type memory struct {
	nodes, next []uint32
	marked      []uint64
}

var memories = sync.Pool{New: func() any { return new(memory) }}

// positions makes m large enough for every set of nodes of t, and returns the
// set of the given nodes.
func (m *memory) positions(t *trie, nodes ...uint32) positions {
	m.nodes = slices.Grow(m.nodes[:0], len(t.nodes))
	m.next = slices.Grow(m.next[:0], len(t.nodes))
	marks := int(t.marks/64) + 1
	m.marked = slices.Grow(m.marked[:0], marks)[:marks]
	clear(m.marked)
	p := positions{append(m.nodes, nodes...), m.marked}
	for _, i := range nodes {
		p.mark(t.nodes[i].mark)
	}
	return p
}
