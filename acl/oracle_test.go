package acl_test

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ringfence/ringfence/acl"
)

// within fails the test if every one of many calls of ask takes ten times its
// budget, so that neither another process nor a slow machine can fail the test: a
// matcher that backtracks takes thousands of times as long. The instrumented code
// of the race detector and of go test -fuzz may take longer.
func within(t *testing.T, budget time.Duration, ask func()) {
	t.Helper()
	budget *= 10
	if fuzz := flag.Lookup("test.fuzz"); raceDetector || fuzz != nil && fuzz.Value.String() != "" {
		budget *= 5
	}
	var took time.Duration
	for range 100 {
		start := time.Now()
		ask()
		if took = time.Since(start); took <= budget {
			return
		}
	}
	t.Errorf("it took %v, more than %v", took, budget)
}

// The other functions of this file are the slow, obvious reading of the
// language. They share no code with the package.

// slowAllows returns what Set.Allows must return.
func slowAllows(patterns []string, access string, b acl.Binding) bool {
	if !slowValid(access, false) {
		return false
	}
	allowed := false
	for _, pattern := range patterns {
		positive, denies := strings.CutPrefix(pattern, "!")
		if !slowMatch(strings.Split(positive, "."), strings.Split(access, "."), b) {
			continue
		}
		if denies {
			return false
		}
		allowed = true
	}
	return allowed
}

// slowMatch is plain recursion over the words of a pattern and of an access.
func slowMatch(pattern, access []string, b acl.Binding) bool {
	if len(pattern) == 0 || len(access) == 0 {
		return len(pattern) == len(access)
	}
	switch first := pattern[0]; {
	case first == "#" && slowMatch(pattern, access[1:], b):
		return true
	case first == "#" || first == "*" || slowSame(first, access[0], b):
		return slowMatch(pattern[1:], access[1:], b)
	default:
		return false
	}
}

// slowSame compares a word of a pattern with one of an access, after replacing
// me and my_session by what they stand for.
func slowSame(p, w string, b acl.Binding) bool {
	reserved := []string{"", "me", "my_session"}
	value := func(word string) string {
		if word == "me" && !slices.Contains(reserved, b.User) {
			return b.User
		}
		if word == "my_session" && !slices.Contains(reserved, b.Session) {
			return b.Session
		}
		return word
	}
	return value(p) == value(w)
}

// slowValid reports whether text is a valid access, or a valid pattern.
func slowValid(text string, pattern bool) bool {
	if pattern {
		text = strings.TrimPrefix(text, "!")
	}
	words := strings.Split(text, ".")
	if len(text) > 256 || len(words) > 32 || !utf8.ValidString(text) {
		return false
	}
	for _, word := range words {
		if pattern && (word == "*" || word == "#") {
			continue
		}
		if word == "" || strings.HasPrefix(word, "!") || strings.ContainsAny(word, "*#") {
			return false
		}
		for _, r := range word {
			if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Z) {
				return false
			}
		}
	}
	return true
}
