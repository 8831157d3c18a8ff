package acl

import "strings"

// Binding says which UUIDs the words me and my_session stand for. Its values
// are compared as whole words and never interpreted, so nothing in them can act
// as a wildcard. They are compared byte by byte: a UUID in capitals is a
// different word from the same UUID in small letters, so a caller that makes an
// access from a request must put UUIDs into one spelling (see FoldUUIDs).
//
// An empty value leaves its word unbound: the word then equals only itself on
// the other side. In particular an unbound me in a granted pattern matches the
// access word me and no UUID. The values "me" and "my_session" count as empty.
// A value that could not be a word of an access never matches a literal word.
type Binding struct{ User, Session string }

// normal drops the values that would make one keyword mean the other.
func (b Binding) normal() Binding {
	if b.User == wordMe || b.User == wordSession {
		b.User = ""
	}
	if b.Session == wordMe || b.Session == wordSession {
		b.Session = ""
	}
	return b
}

// value returns what a word stands for: a UUID for a bound keyword, the word
// itself otherwise.
func (b Binding) value(word string) string {
	switch {
	case word == wordMe && b.User != "":
		return b.User
	case word == wordSession && b.Session != "":
		return b.Session
	default:
		return word
	}
}

// Match reports whether pattern alone allows access. It is a convenience for a
// single question; for more than one, a Set is faster. Like a Set of this one
// pattern, it returns false for a pattern that denies, since that grants
// nothing, and for an invalid pattern or access.
func Match(pattern, access string, b Binding) bool {
	return ParsePattern(pattern) == nil && ParseAccess(access) == nil &&
		pattern[0] != '!' && matchWords(pattern, access, b.normal())
}

// matchWords reports whether a valid pattern, without its !, stands for a valid
// access. It reads the access once. Bit i of the states says that i words of
// the pattern are read, so many # in one pattern cost no more than one.
func matchWords(pattern, access string, b Binding) bool {
	var buf [MaxWords]string
	words := splitWords(buf[:0], pattern)
	states := uint64(1)
	for word := range strings.SplitSeq(access, ".") {
		next := uint64(0)
		for i, p := range words {
			here, one := states&(1<<i) != 0, uint64(1)<<(i+1)
			if here && (p == wordAny || p == wordMany || b.value(p) == b.value(word)) {
				next |= one
			}
			if p == wordMany {
				next |= states & one
			}
		}
		if states = next; states == 0 {
			return false
		}
	}
	return states&(1<<len(words)) != 0
}

// splitWords appends the words of text to words.
func splitWords(words []string, text string) []string {
	for word := range strings.SplitSeq(text, ".") {
		words = append(words, word)
	}
	return words
}
