package wazo

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/acl"
)

// The platform compares accesses by regular expressions: * is any text without a dot, also within a word and also empty, # is any text at all,
// `edit` also means `update`, and `{{ entry_uuid }}` is the user. Ours compares whole words (docs/acl.md).

// self stands for the user in an access of the platform.
var self = regexp.MustCompile(`^\{\{ *(entry_uuid|uuid|user_uuid) *\}\}$`)

// Translate returns the patterns of ours that stand for what a pattern of the platform's stands for, and why they are not exactly it, or are none.
// What is given is never more than it was, and what is denied never less. documented are the accesses of our own services.
func Translate(old string, documented []string) (patterns []string, reason string) {
	pattern, denied := strings.CutPrefix(old, "!")
	words := strings.Split(pattern, ".")
	within, empty := false, pattern == ""
	for i, w := range words {
		if self.MatchString(w) {
			words[i] = "me"
		}
		within = within || w != "*" && w != "#" && strings.ContainsAny(w, "*#")
		empty = empty || w == ""
	}
	switch {
	case empty:
		if denied {
			return []string{}, ""
		}
		return []string{}, "an empty word matches no access"
	case within && denied:
		words, reason = wider(words), "a wildcard is within a word: the whole word is denied"
	case within:
		return writtenOut(words, documented)
	}
	for _, w := range spellings(words, denied) {
		p := strings.Join(w, ".")
		if denied {
			p = "!" + p
		}
		err := acl.ParsePattern(p)
		if err != nil && denied { // without it, more would be allowed
			p, reason = "!"+strings.Join(wider(w), "."), "it is no pattern, and denies: each word that cannot be one is any word now"
			if acl.ParsePattern(p) != nil {
				return []string{"!#"}, "it is no pattern, and denies: everything is denied instead"
			}
		} else if err != nil {
			return []string{}, "it is no pattern: " + err.Error()
		}
		patterns = append(patterns, p)
	}
	return patterns, reason
}

// spellings are the words and, as `edit` there also means `update`, the words with that.
func spellings(words []string, denied bool) [][]string {
	out := [][]string{words}
	for i, w := range words {
		if w == "edit" && (denied || i == len(words)-1) {
			other := slices.Clone(words)
			other[i] = "update"
			out = append(out, other)
		}
	}
	return out
}

// wider replaces words with wildcards in them, and those that are none, by wildcards.
func wider(words []string) (out []string) {
	for _, w := range words {
		switch {
		case strings.Contains(w, "#"):
			w = "#"
		case strings.Contains(w, "*") || acl.ParsePattern(w) != nil:
			w = "*"
		}
		if w != "#" || len(out) == 0 || out[len(out)-1] != "#" {
			out = append(out, w)
		}
	}
	return out
}

// writtenOut returns the documented accesses that a pattern with wildcards within words matches. One that has a variable word where the pattern
// has a part of a word cannot be said.
func writtenOut(words, documented []string) ([]string, string) {
	pattern, _ := matcher(words, `[^.]*`)
	found, missed := []string{}, false
	for _, access := range documented {
		switch concrete := strings.Contains(access, "{"); {
		case !concrete && pattern.MatchString(access):
			found = append(found, access)
		case concrete:
			p, ok := alongside(words, strings.Split(access, "."))
			if missed = missed || !ok; p != "" {
				found = append(found, p)
			}
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	switch {
	case len(found) == 0:
		return found, "a wildcard is within a word, and no access of this gateway was found that it matches"
	case missed:
		return found, "a wildcard is within a word: written out over the accesses that it matches, but for parts of names and numbers"
	default:
		return found, "a wildcard is within a word: written out over the accesses that it matches"
	}
}

func matcher(words []string, star string) (*regexp.Regexp, error) {
	text := regexp.QuoteMeta(strings.Join(words, "."))
	text = strings.ReplaceAll(strings.ReplaceAll(text, `\*`, star), "#", `.*`)
	return regexp.Compile("^" + text + "$")
}

// alongside goes through a pattern and an access with variable words, word by word, and returns the pattern of what both stand for, or nothing.
// It does not say what would need a part of a variable word, or # beside a part of a word.
func alongside(pattern, access []string) (both string, ok bool) {
	if len(pattern) != len(access) || slices.ContainsFunc(pattern, func(w string) bool { return strings.Contains(w, "#") }) {
		return "", !slices.ContainsFunc(pattern, func(w string) bool { return strings.Contains(w, "#") })
	}
	var out []string
	for i, w := range pattern {
		variable := strings.HasPrefix(access[i], "{")
		m, err := matcher([]string{w}, `[^.]*`)
		switch {
		case err != nil:
			return "", false
		case variable && w != "*" && strings.Contains(w, "*"):
			return "", false
		case variable:
			out = append(out, w)
		case m.MatchString(access[i]):
			out = append(out, access[i])
		default:
			return "", true
		}
	}
	return strings.Join(out, "."), true
}
