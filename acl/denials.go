package acl

import "slices"

// HasDenials reports whether some pattern denies anything.
func (s *Set) HasDenials() bool { return s != nil && s.denials != nil }

// Denials returns the patterns that deny, without their !. The list must not be
// changed.
func (s *Set) Denials() []string {
	if !s.HasDenials() {
		return nil
	}
	return s.denials.patterns
}

// Denies reports whether some pattern denies access, whatever grants it. It
// costs what Allows costs, and nothing if no pattern denies anything.
func (s *Set) Denies(access string, b Binding) bool {
	return s.HasDenials() && s.denials.Allows(access, b)
}

// DeniedWords returns the words that make an access denied in the place between
// before and after, as in "confd.users." and ".read": sorted, each once. all is
// true if every word does. It tries the denying patterns one by one.
func (s *Set) DeniedWords(before, after string, b Binding) (words []string, all bool) {
	if !s.HasDenials() {
		return nil, false
	}
	const other = "\x00" // a word that no pattern contains
	b = b.normal()
	var buf [MaxWords]string
	for _, pattern := range s.denials.patterns {
		if matchWords(pattern, before+other+after, b) {
			return nil, true
		}
		for _, word := range splitWords(buf[:0], pattern) {
			if word = b.value(word); word != wordAny && word != wordMany && matchWords(pattern, before+word+after, b) {
				words = append(words, word)
			}
		}
	}
	slices.Sort(words)
	return slices.Compact(words), false
}
