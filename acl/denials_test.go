package acl_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/acl"
)

func TestDeniedWords(t *testing.T) {
	for _, tc := range []struct {
		patterns []string
		words    []string
		all      bool
	}{
		{[]string{"confd.#"}, nil, false},
		{[]string{"confd.#", "!confd.users.17.read", "!confd.users.me.#", "!confd.users.17.*"}, []string{"17", alice}, false},
		{[]string{"!confd.users.*.read"}, nil, true},
		{[]string{"!confd.users.17.read", "!confd.#.read"}, nil, true},
		{[]string{"!confd.*.17.read", "!#.18.#", "!*.*.19.*"}, []string{"17", "18", "19"}, false},
		{[]string{"!confd.users.17", "!confd.users.17.update", "!confd.users.17.lines.read", "!confd.lines.17.read", "!confd.users.read"}, nil, false},
		{[]string{"!confd.users.#"}, nil, true},
		{[]string{"!#"}, nil, true},
	} {
		words, all := compile(t, tc.patterns...).DeniedWords("confd.users.", ".read", bindAlice)
		slices.Sort(tc.words)
		if !reflect.DeepEqual(words, tc.words) || all != tc.all {
			t.Errorf("%q: %q, %v, want %q, %v", tc.patterns, words, all, tc.words, tc.all)
		}
	}
	for name, s := range map[string]*acl.Set{"nil": nil, "zero": new(acl.Set)} {
		if words, all := s.DeniedWords("a.", ".b", acl.Binding{}); words != nil || all || s.HasDenials() || s.Denies("a.b", acl.Binding{}) {
			t.Errorf("%s: %q, %v", name, words, all)
		}
	}
}

// Of any list, Denies is what Deciding says, and a word is among the denied ones exactly if its access is denied.
func TestDenialsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	letters := []string{"a", "b", "c", alice}
	wild := append(slices.Clone(letters), "*", "#", "me")
	text := func(from []string, most int) string {
		words := make([]string, 1+r.IntN(most))
		for i := range words {
			words[i] = from[r.IntN(len(from))]
		}
		return strings.Join(words, ".")
	}
	for range 500 {
		patterns := make([]string, 1+r.IntN(8))
		for i := range patterns {
			if patterns[i] = text(wild, 5); r.IntN(2) == 0 {
				patterns[i] = "!" + patterns[i]
			}
		}
		s := compile(t, patterns...)
		for range 20 {
			before, after := text(letters, 2)+".", "."+text(letters, 2)
			words, all := s.DeniedWords(before, after, bindAlice)
			for _, word := range append(slices.Clone(letters), "d") {
				access := before + word + after
				denied := s.Denies(access, bindAlice)
				if want := all || slices.Contains(words, word); denied != want {
					t.Fatalf("%q deny %q: %v, but the words are %q, %v", patterns, access, denied, words, all)
				}
				if pattern, _ := s.Deciding(access, bindAlice); denied != strings.HasPrefix(pattern, "!") {
					t.Fatalf("%q deny %q: %v, but %q decides", patterns, access, denied, pattern)
				}
			}
		}
	}
}
