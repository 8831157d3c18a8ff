package acl

import "slices"

// trie holds patterns that share their beginnings. Its nodes are positions in
// the patterns. Node 0 is the root and nobody's child, so 0 also means "no such
// child".
//
// Patterns are added in canonical order (see canonical), so that the node of a
// # never has a * or another # below it.
type trie struct {
	nodes []node
	last  uint32 // the node added last
	marks uint32 // how many nodes have a mark
}

func newTrie() *trie { return &trie{nodes: make([]node, 1)} }

// node is one position: what can be read next, and whether a pattern ends here.
type node struct {
	any, many, me, session uint32            // children by *, #, me and my_session
	few                    []edge            // children by literal words, where they are few
	lots                   map[string]uint32 // the same where they are more than that
	mark                   uint32            // numbers, from 1, the nodes of a # that have another # above
	stays                  bool              // a # leads here, and can take more words
	recurs                 bool              // this node or one above stays
	ends                   bool              // whether a pattern ends here
}

// edge leads to a child by a literal word.
type edge struct {
	word string
	to   uint32
}

// fewEdges is the number of literal words up to which comparing is faster than
// hashing.
const fewEdges = 4

// letter is one word of an access, as a trie tells words apart: the literal
// that it equals (empty for a word that no pattern names), and the keywords
// that mean the same.
type letter struct {
	literal     string
	me, session bool
}

// child returns the node reached from n by a literal word, or 0.
func (n *node) child(literal string) uint32 {
	if n.lots != nil {
		return n.lots[literal]
	}
	for i := range n.few {
		if n.few[i].word == literal {
			return n.few[i].to
		}
	}
	return 0
}

// sole returns the only child of n that the word leads to, 0 if there is none.
// ok is false if there are more, or if one of them is a #.
func (n *node) sole(l *letter) (kid uint32, ok bool) {
	if n.many != 0 {
		return 0, false
	}
	kid, ok = n.child(l.literal), true
	if n.any != 0 {
		kid, ok = n.any, kid == 0
	}
	if l.me && n.me != 0 {
		kid, ok = n.me, ok && kid == 0
	}
	if l.session && n.session != 0 {
		kid, ok = n.session, ok && kid == 0
	}
	return kid, ok
}

// positions is a set of nodes: those that an access, read so far, may be in. No
// node is in it twice. A plain node has one parent, and one way to be reached
// from it. The node of a # stays in the set for good; if it can be reached more
// than once, it is marked the first time.
type positions struct {
	nodes  []uint32
	marked []uint64 // bit set of marks
}

// maxSteps is the number of nodes that one word can lead to from one node.
const maxSteps = 5

// mark reports whether mark is new to p, and notes it. Mark 0 is always new.
func (p *positions) mark(mark uint32) bool {
	if mark == 0 {
		return true
	}
	bit := uint64(1) << (mark % 64)
	isNew := p.marked[mark/64]&bit == 0
	p.marked[mark/64] |= bit
	return isNew
}

// step reads one word. It appends the nodes reached from those of p to next,
// and says whether a pattern ends in a # that is reached: it matches whatever
// follows.
func (t *trie) step(l *letter, p *positions, next []uint32) (nodes []uint32, met bool) {
	for _, i := range p.nodes {
		n := &t.nodes[i]
		if kid := n.child(l.literal); kid != 0 {
			next = append(next, kid)
		}
		if l.me && n.me != 0 {
			next = append(next, n.me)
		}
		if l.session && n.session != 0 {
			next = append(next, n.session)
		}
		if n.any != 0 {
			next = append(next, n.any)
		}
		if n.stays {
			next = append(next, i)
		}
		if n.many != 0 {
			many := &t.nodes[n.many]
			met = met || many.ends
			if p.mark(many.mark) {
				next = append(next, n.many)
			}
		}
	}
	return next, met
}

// met reports whether a pattern ends at one of nodes.
func (t *trie) met(nodes []uint32) bool {
	return slices.ContainsFunc(nodes, func(i uint32) bool { return t.nodes[i].ends })
}

// add puts a valid pattern without a ! into t.
func (t *trie) add(pattern string) {
	at := uint32(0)
	for _, word := range canonical(splitWords(nil, pattern)) {
		at = t.grow(at, word)
	}
	t.nodes[at].ends = true
}

// grow returns the child of the node at by word, and adds it if need be.
func (t *trie) grow(at uint32, word string) uint32 {
	n := &t.nodes[at]
	keyword := n.keyword(word)
	switch {
	case keyword != nil && *keyword != 0:
		return *keyword
	case keyword == nil && n.child(word) != 0:
		return n.child(word)
	}
	t.last++
	added := node{stays: word == wordMany, recurs: n.recurs || word == wordMany}
	if n.recurs && word == wordMany {
		t.marks++
		added.mark = t.marks
	}
	if keyword != nil {
		*keyword = t.last
	} else {
		n.link(word, t.last)
	}
	t.nodes = append(t.nodes, added)
	return t.last
}

// keyword returns where n keeps its child by a special word, or nil for a
// literal.
func (n *node) keyword(word string) *uint32 {
	switch word {
	case wordAny:
		return &n.any
	case wordMany:
		return &n.many
	case wordMe:
		return &n.me
	case wordSession:
		return &n.session
	default:
		return nil
	}
}

// link adds a child by a literal word.
func (n *node) link(word string, to uint32) {
	if n.lots == nil && len(n.few) < fewEdges {
		n.few = append(n.few, edge{word, to})
		return
	}
	if n.lots == nil {
		n.lots = make(map[string]uint32)
		for _, e := range n.few {
			n.lots[e.word] = e.to
		}
		n.few = nil
	}
	n.lots[word] = to
}

// canonical reorders each run of wildcards in place: all the * first, then at
// most one #. A run that contains # stands for as many words as it has, or
// more, whatever its order: #.# and #.* and *.# are one language. So a run of #
// costs as much as a single #.
func canonical(words []string) []string {
	for i, word := range words {
		if i > 0 && words[i-1] == wordMany && isWildcard(word) {
			words[i-1], words[i] = wordAny, wordMany
		}
	}
	return words
}
