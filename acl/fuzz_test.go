package acl_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/acl"
)

func FuzzAllows(f *testing.F) {
	f.Add("confd.users.me.#.read\n!confd.#.delete", "confd.users."+alice+".lines.read", alice, session)
	f.Add("#\n!a.*", "a.b", "", "")
	f.Add("#.#.#.#.#.#.#.#.x", strings.Repeat("a.", 11)+"x", "a", "a")
	f.Add("#.a.#.a\n#.a.*.a\n!*.me", "a.a.a.me", "a", "me")
	f.Add("a.é", "a.é", "é", "")
	f.Fuzz(func(t *testing.T, list, access, user, session string) {
		patterns := strings.Split(list, "\n")
		s, err := acl.Compile(patterns)
		if err != nil {
			t.Skip("not a list of patterns")
		}
		b := acl.Binding{User: user, Session: session}
		var got bool
		within(t, 10*time.Millisecond, func() { got = s.Allows(access, b) })
		if _, allowed := s.Deciding(access, b); allowed != got {
			t.Errorf("Allows: %v, Deciding: %v", got, allowed)
		}
		if strings.Count(list, "#") > 12 && strings.Count(access, ".") > 12 {
			return // too slow for the oracle
		}
		if want := slowAllows(patterns, access, b); got != want {
			t.Errorf("Allows: %v, want %v", got, want)
		}
	})
}

// carol is a user whom no pattern names.
const carol = "7d444840-9dc0-11d1-b245-5ffdce74fad2"

// FuzzCovers reads short patterns from bytes. The last one is the pattern of
// the question.
func FuzzCovers(f *testing.F) {
	u := newUniverse([]string{"a", "z", alice, bob, receiver}, 6)
	f.Add([]byte{0, 1, 7, 0, 1, 2, 7, 0, 2}, uint64(1))
	f.Add([]byte{2, 7, 6, 0, 3, 0, 7, 0, 1}, uint64(2))
	f.Add([]byte{0, 3, 2, 7, 6, 0, 4, 7, 0, 3, 0}, uint64(3))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		holder, pattern, longest := readQuestion(data)
		if pattern == "" {
			t.Skip("nothing asked")
		}
		if longest <= 3 {
			u.check(t, holder, pattern)
		}
		s := compile(t, holder...)
		var covered bool
		within(t, 50*time.Millisecond, func() { covered = s.Covers(pattern, bindAlice) })
		if !covered {
			return
		}
		// The receiver holds what was handed out, under their own name.
		b := bindAlice
		if strings.Contains(pattern, "me") {
			if b.User = carol; strings.Contains(pattern, alice) {
				return // two people in one question: the universe has checked it
			}
		}
		r := rand.New(rand.NewPCG(seed, 0))
		for range 20 {
			access := strings.Join(expand(r, strings.Split(pattern, "."), b.User), ".")
			if acl.ParseAccess(access) == nil && !s.Allows(access, b) {
				t.Errorf("%q cover %s, but do not allow %s", holder, pattern, access)
			}
		}
	})
}

// readQuestion reads a word, a denial or the end of a pattern from each byte.
// It also returns the number of words of the longest pattern.
func readQuestion(data []byte) (holder []string, pattern string, longest int) {
	words := []string{"a", "*", "#", "me", alice, bob}
	list := []string{""}
	for _, b := range data[:min(len(data), 60)] {
		last := &list[len(list)-1]
		switch n := int(b % 8); {
		case n == 7 && strings.Trim(*last, "!") != "":
			list = append(list, "")
		case n == 6 && *last == "":
			*last = "!"
		case n < 6 && (*last == "" || *last == "!"):
			*last += words[n]
		case n < 6 && len(*last) < 200 && strings.Count(*last, ".") < acl.MaxWords-1:
			*last += "." + words[n]
		}
		longest = max(longest, strings.Count(*last, ".")+1)
	}
	return list[:len(list)-1], strings.Trim(list[len(list)-1], "!"), longest
}

// expand makes up an access that a pattern stands for.
func expand(r *rand.Rand, pattern []string, me string) (access []string) {
	letters := []string{"a", "b", "z", alice, bob, me, "me"}
	for _, word := range pattern {
		switch word {
		case "#":
			for range r.IntN(4) {
				access = append(access, letters[r.IntN(len(letters))])
			}
			fallthrough
		case "*":
			access = append(access, letters[r.IntN(len(letters))])
		case "me":
			access = append(access, []string{me, "me"}[r.IntN(2)])
		default:
			access = append(access, word)
		}
	}
	return access
}
