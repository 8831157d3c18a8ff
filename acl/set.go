package acl

import (
	"fmt"
	"slices"
	"sync"
)

// Set is a compiled list of patterns. It is immutable and safe for concurrent
// use. It knows no user: the Binding of each question names the user, so that
// all tokens with the same patterns can share one Set.
//
// A nil Set denies everything, and so does the zero Set.
type Set struct {
	patterns []string
	granting *trie // the patterns that grant
	denials  *Set  // the patterns that deny, without their !; nil if none does
}

// Compile makes a Set of patterns. Duplicates do no harm, and the order has no
// effect on what is allowed. An empty list allows nothing, and neither does one
// that only denies.
//
// The error wraps ErrInvalid. It names the first invalid pattern (as
// ParsePattern says), or says that there are more than MaxPatterns.
func Compile(patterns []string) (*Set, error) {
	if len(patterns) > MaxPatterns {
		if n := len(slices.Compact(slices.Sorted(slices.Values(patterns)))); n > MaxPatterns {
			return nil, invalid("the list has %d different patterns, more than %d", n, MaxPatterns)
		}
	}
	return compile(slices.Clone(patterns))
}

// Denying returns a Set that also denies what these patterns, without a !, stand
// for. MaxPatterns does not limit it: they say more of what the Set denies.
func (s *Set) Denying(more []string) (*Set, error) {
	patterns := s.Patterns()
	for _, pattern := range more {
		patterns = append(patterns, "!"+pattern)
	}
	return compile(patterns)
}

func compile(patterns []string) (*Set, error) {
	s := &Set{patterns: patterns, granting: newTrie()}
	var denials []string
	for i, pattern := range patterns {
		pattern = FoldUUIDs(pattern)
		if err := ParsePattern(pattern); err != nil {
			return nil, fmt.Errorf("pattern %d, %s: %w", i+1, quote(pattern), err)
		}
		if denies, positive := cutDenial(pattern); denies {
			denials = append(denials, positive)
		} else {
			s.granting.add(pattern)
		}
		patterns[i] = pattern
	}
	var err error
	if denials != nil {
		s.denials, err = compile(denials)
	}
	return s, err
}

// quote makes an arbitrary pattern fit for an error text.
func quote(pattern string) string {
	const most = 80
	if len(pattern) > most {
		return fmt.Sprintf("%+q...", pattern[:most])
	}
	return fmt.Sprintf("%+q", pattern)
}

// Patterns returns a copy of the list that the Set was compiled from.
func (s *Set) Patterns() []string {
	if s == nil {
		return nil
	}
	return slices.Clone(s.patterns)
}

// Allows reports whether some pattern grants access and none denies it, for a
// token with this Binding. An access that ParseAccess refuses is not allowed.
//
// It does not allocate. Its time grows with the number of words and with the
// number of positions that the patterns may be in at once, which for ordinary
// lists of any length is a handful.
func (s *Set) Allows(access string, b Binding) bool {
	return s.grants(access, b) && !s.Denies(access, b)
}

// grants is Allows without the denials.
func (s *Set) grants(access string, b Binding) bool {
	if s == nil || s.granting == nil || len(access) > MaxBytes {
		return false
	}
	b = b.normal()
	at := uint32(0)
	for words, start := 0, 0; start <= len(access); words++ {
		stop := wordEnd(access, start)
		if stop < 0 || words == MaxWords {
			return false
		}
		l := b.letter(access[start:stop])
		kid, ok := s.granting.nodes[at].sole(&l)
		if !ok {
			return s.branch(access, b, at, words, start)
		}
		if kid == 0 {
			return false
		}
		at, start = kid, stop+1
	}
	return s.granting.nodes[at].ends
}

// branch continues grants where there is more than one node to follow, from the
// node at and the byte start of access.
func (s *Set) branch(access string, b Binding, at uint32, words, start int) bool {
	if s.granting.marks < 64*fewMarks {
		var nodes, next [fewNodes]uint32
		var marked [fewMarks]uint64
		nodes[0] = at
		granted, fits := s.walk(access, b, positions{nodes[:1], marked[:]}, next[:0], words, start)
		if fits {
			return granted
		}
	}
	m := memories.Get().(*memory)
	p := m.positions(s.granting, at)
	granted, _ := s.walk(access, b, p, m.next, words, start)
	memories.Put(m)
	return granted
}

// walk computes grants within the given memory. It gives up if that is too
// small.
func (s *Set) walk(access string, b Binding, p positions, next []uint32, words, start int) (granted, fits bool) {
	for ; start <= len(access); words++ {
		stop := wordEnd(access, start)
		if stop < 0 || words == MaxWords {
			return false, true
		}
		if !granted { // afterwards only the form of the access counts
			if min(maxSteps*len(p.nodes), len(s.granting.nodes)) > cap(next) {
				return false, false
			}
			l := b.letter(access[start:stop])
			var nodes []uint32
			nodes, granted = s.granting.step(&l, &p, next[:0])
			p.nodes, next = nodes, p.nodes
			if !granted && len(nodes) == 0 {
				return false, true
			}
		}
		start = stop + 1
	}
	return granted || s.granting.met(p.nodes), true
}

// letter returns a word of an access as the tries know it.
func (b Binding) letter(word string) letter {
	switch word {
	case wordMe:
		return letter{b.User, true, b.User != "" && b.User == b.Session}
	case wordSession:
		return letter{b.Session, b.Session != "" && b.User == b.Session, true}
	default:
		return letter{word, word == b.User, word == b.Session}
	}
}

// Deciding explains the result of Allows. It returns the first pattern of the
// list that denies access, with its !; if there is none, the first pattern that
// grants it; if there is none either, or access is not valid, an empty string.
// It tries the patterns one by one.
func (s *Set) Deciding(access string, b Binding) (pattern string, allowed bool) {
	if s == nil || ParseAccess(access) != nil {
		return "", false
	}
	b = b.normal()
	for _, p := range s.patterns {
		denies, positive := cutDenial(p)
		if (allowed && !denies) || !matchWords(positive, access, b) {
			continue
		}
		if denies {
			return p, false
		}
		pattern, allowed = p, true
	}
	return pattern, allowed
}

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
