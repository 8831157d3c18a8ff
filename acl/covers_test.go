package acl_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/acl"
)

func TestCovers(t *testing.T) {
	for _, tc := range []struct {
		name    string
		holder  []string
		covered []string
		refused []string
	}{
		{
			name:    "a denial is part of what is held",
			holder:  []string{"#", "!confd.users.delete"},
			covered: []string{"confd.users.read", "confd.users.*.delete", "confd.users.*.*", "auth.#", "confd.users"},
			refused: []string{"#", "confd.#", "confd.users.*", "confd.users.#", "confd.users.delete", "*.*.*", "#.delete", "#.#"},
		},
		{
			name:    "* is less than #",
			holder:  []string{"confd.*.read"},
			covered: []string{"confd.*.read", "confd.users.read", "confd.me.read"},
			refused: []string{"confd.#.read", "confd.#", "confd.*.*", "confd.users.17.read", "confd.read"},
		},
		{
			name:    "me is the receiver",
			holder:  []string{"confd.users.me.#"},
			covered: []string{"confd.users.me.#", "confd.users.me.read", "confd.users.me.*.read", "confd.users." + alice + ".read"},
			refused: []string{
				"confd.users." + bob + ".read", "confd.users.*.read", "confd.users.#", "confd.users.x.read",
				"confd.users.me", "confd.users.my_session.read",
			},
		},
		{
			name:    "the receiver's me is nobody's UUID",
			holder:  []string{"confd.users." + alice + ".#", "confd.users." + bob + ".#"},
			covered: []string{"confd.users." + alice + ".read"},
			refused: []string{"confd.users.me.read", "confd.users.*.read"},
		},
		{
			name:    "my_session is the receiver's",
			holder:  []string{"auth.sessions.my_session.*", "auth.users.*.read"},
			covered: []string{"auth.sessions.my_session.delete", "auth.sessions." + session + ".read", "auth.users.my_session.read"},
			refused: []string{"auth.sessions.me.delete", "auth.sessions." + alice + ".delete", "auth.sessions.*.delete"},
		},
		{
			name:    "me beside wildcards",
			holder:  []string{"a.*.read", "b.#"},
			covered: []string{"a.me.read", "b.me", "b.me.me.x", "b.my_session"},
			refused: []string{"a.me.update", "a.me.me.read"},
		},
		{
			name:    "the receiver may be whoever is denied by UUID",
			holder:  []string{"confd.users.#", "!confd.users." + bob + ".#"},
			covered: []string{"confd.users." + alice + ".read", "confd.users.import.create"},
			refused: []string{"confd.users.me.read", "confd.users.*.read", "confd.users.my_session.x", "confd.users." + bob + ".read"},
		},
		{
			name:    "a denied word that is no UUID is not the receiver",
			holder:  []string{"confd.users.#", "!confd.users.import.#", notUUID(0), notUUID(1), notUUID(2)},
			covered: []string{"confd.users.me.read"},
			refused: []string{"confd.users.*.read", "confd.users.import.create"},
		},
		{
			name:    "a denied UUID in capitals may be the receiver",
			holder:  []string{"a.*", "!a." + strings.ToUpper(bob)},
			covered: []string{"a.x"},
			refused: []string{"a.me", "a." + bob, "a." + strings.ToUpper(bob)},
		},
		{
			name:    "the holder is denied over themselves",
			holder:  []string{"confd.users.#", "!confd.users.me.delete"},
			covered: []string{"confd.users." + bob + ".delete", "confd.users.me.read", "confd.users.x.*"},
			refused: []string{"confd.users." + alice + ".delete", "confd.users.me.delete", "confd.users.*.delete", "confd.users.me.*"},
		},
		{
			name:    "denials that meet wildcards with wildcards",
			holder:  []string{"#", "!a.#.b.*"},
			covered: []string{"a.*.b", "a.b.*", "a.#.c.b", "b.#", "a.*.*"},
			refused: []string{"a.#", "a.*.*.*", "#.b.c", "a.#.c", "*.*.b.x", "a.x.b.b"},
		},
		{
			name:    "positives add up",
			holder:  []string{"a.*", "a.*.#"},
			covered: []string{"a.#", "a.*", "a.*.*", "a.#.x"},
			refused: []string{"#", "a"},
		},
		{
			name:    "positives add up, one by length and one by word",
			holder:  []string{"a.*.x", "a.#.*.x", "a.x"},
			covered: []string{"a.#.x", "a.*.x", "a.x", "a.*.*.*.x"},
			refused: []string{"a.#", "a.x.*"},
		},
		{
			name:    "literals never add up to a wildcard",
			holder:  []string{"a.b", "a.c", "a.me", "a." + alice},
			covered: []string{"a.b", "a.c", "a.me"},
			refused: []string{"a.*", "a.#"},
		},
		{
			name:    "lengths one by one, the rest with #",
			holder:  []string{"*", "*.*", "*.*.*", "*.*.*.#"},
			covered: []string{"#", "*", "*.*", "*.#", "x", "x.y.z", "#.a.#.b"},
		},
		{
			name:    "lengths with a gap",
			holder:  []string{"*", "*.*.*.#"},
			covered: []string{"*", "*.*.*.*", "*.#.*.#.*", "a"},
			refused: []string{"#", "*.#", "a.#", "*.*.*"},
		},
		{
			name:    "runs of wildcards",
			holder:  []string{"#.#", "a"},
			covered: []string{"*.#", "#.*", "#.*.#", "*.*", "a", "a.#"},
			refused: []string{"#", "*", "b"},
		},
		{
			name:    "# after # (sets of positions repeat, so that the search ends)",
			holder:  []string{"#.a.#.b"},
			covered: []string{"#.a.#.b", "#.a.#.a.#.b", "#.#.a.*.b", "x.a.a.a.b"},
			refused: []string{"#.b", "#.a.b", "#.a.#", "#.a.#.*"},
		},
		{
			name:    "the required access of an undocumented resource",
			holder:  []string{"confd.#", "auth.users.#", "calld.#", "!calld.x"},
			covered: []string{"confd.#"},
			refused: []string{"auth.#", "calld.#", "agentd.#"},
		},
		{
			name:    "who takes a right away from others is not giving",
			holder:  []string{"a.b"},
			covered: []string{"!a.b", "!#", "!c"},
			refused: []string{"!", "!!a", "", "us*", "a..b", "!a..b"},
		},
		{name: "nothing held", covered: []string{"!a"}, refused: []string{"a", "#", "me"}},
		{name: "only denials", holder: []string{"!a"}, covered: []string{"!a"}, refused: []string{"b", "#"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := compile(t, tc.holder...)
			for _, p := range tc.covered {
				if !s.Covers(p, bindAlice) {
					t.Errorf("does not cover %s", p)
				}
			}
			for _, p := range tc.refused {
				if s.Covers(p, bindAlice) {
					t.Errorf("covers %s", p)
				}
			}
		})
	}
}

// TestCoversWithoutUUIDs: where users have names of another form, at least the
// holder's is known.
func TestCoversWithoutUUIDs(t *testing.T) {
	s := compile(t, "a.*", "!a.alice", "b.*", "!b.bob", "c.*", "!c.desk7")
	b := acl.Binding{User: "alice", Session: "desk7"}
	for pattern, want := range map[string]bool{"a.me": false, "b.me": true, "c.me": false, "c.my_session": false} {
		if got := s.Covers(pattern, b); got != want {
			t.Errorf("%s: %v, want %v", pattern, got, want)
		}
	}
}

// notUUID returns words that are almost UUIDs.
func notUUID(i int) string {
	return "!confd.users." + []string{bob[1:], "g" + bob[1:], bob[:23] + "0" + bob[24:]}[i] + ".#"
}

func TestCoversUnbound(t *testing.T) {
	for _, tc := range []struct {
		holder  []string
		pattern string
		want    bool
	}{
		{[]string{"a.me"}, "a.me", true},
		{[]string{"a.me"}, "a." + alice, false},
		{[]string{"a.*", "!a.me"}, "a.*", false},
		{[]string{"a.*", "!a.me"}, "a.me", false},
		{[]string{"a.*", "!a.me"}, "a." + alice, true},
	} {
		if got := compile(t, tc.holder...).Covers(tc.pattern, acl.Binding{}); got != tc.want {
			t.Errorf("%q cover %s: %v, want %v", tc.holder, tc.pattern, got, tc.want)
		}
	}
}

// universe is every sequence of letters up to some length. The sequences are
// accesses as Covers sees them, with one letter for the receiver, whose UUID is
// not known.
type universe struct {
	accesses [][]string
	asked    map[string][]uint64 // which of them a pattern stands for, asked about,
	granted  map[string][]uint64 // granted to the holder,
	denied   map[string][]uint64 // or denied to the holder
}

// receiver is the letter for the UUID of the receiver of a pattern.
const receiver = "<receiver>"

func newUniverse(letters []string, length int) *universe {
	u := &universe{asked: map[string][]uint64{}, granted: map[string][]uint64{}, denied: map[string][]uint64{}}
	for last := [][]string{nil}; length > 0; length-- {
		var next [][]string
		for _, access := range last {
			for _, letter := range letters {
				next = append(next, append(slices.Clip(access), letter))
			}
		}
		u.accesses = append(u.accesses, next...)
		last = next
	}
	return u
}

// set returns the accesses of a pattern, as bits. It takes them from known, or
// computes them with one of the three readings of a word.
func (u *universe) set(pattern string, known map[string][]uint64, reads func(word, letter string) bool) []uint64 {
	bits, ok := known[pattern]
	if !ok {
		bits = make([]uint64, (len(u.accesses)+63)/64)
		words := strings.Split(pattern, ".")
		for i, access := range u.accesses {
			if readsAll(words, access, reads) {
				bits[i/64] |= 1 << (i % 64)
			}
		}
		known[pattern] = bits
	}
	return bits
}

// readsAll is slowMatch with its own reading of words.
func readsAll(pattern, access []string, reads func(word, letter string) bool) bool {
	if len(pattern) == 0 || len(access) == 0 {
		return len(pattern) == len(access)
	}
	switch first := pattern[0]; {
	case first == "#" && readsAll(pattern, access[1:], reads):
		return true
	case first == "#" || first == "*" || reads(first, access[0]):
		return readsAll(pattern[1:], access[1:], reads)
	default:
		return false
	}
}

// covers returns what Covers must return to a holder whose user is alice, with
// a counterexample if that is false.
func (u *universe) covers(holder []string, pattern string) (bool, []string) {
	rest := append([]uint64(nil), u.set(pattern, u.asked, func(word, letter string) bool {
		return word == letter || word == "me" && letter == receiver
	})...)
	all := append([]uint64(nil), rest...)
	for _, p := range holder {
		if p, denies := strings.CutPrefix(p, "!"); denies {
			for i, bits := range u.set(p, u.denied, func(word, letter string) bool {
				if letter == receiver {
					return word == "me" || word == alice || word == bob
				}
				return word == letter || word == "me" && letter == alice
			}) {
				if bits &= all[i]; bits != 0 {
					return false, u.access(i, bits)
				}
			}
			continue
		}
		for i, bits := range u.set(p, u.granted, func(word, letter string) bool {
			return word == letter || word == "me" && (letter == alice || letter == receiver)
		}) {
			rest[i] &^= bits
		}
	}
	for i, bits := range rest {
		if bits != 0 {
			return false, u.access(i, bits)
		}
	}
	return true, nil
}

func (u *universe) access(block int, bits uint64) []string {
	for i := range 64 {
		if bits&(1<<i) != 0 {
			return u.accesses[block*64+i]
		}
	}
	return nil
}

// check compares Covers with the universe and returns the result. A universe of
// sequences of 6 letters holds a counterexample to every wrong true. It holds
// one to every right false if patterns have 3 words and pattern has at most one
// #: after 4 words that no pattern names, nothing changes any more.
func (u *universe) check(t *testing.T, holder []string, pattern string) bool {
	t.Helper()
	got := compile(t, holder...).Covers(pattern, bindAlice)
	want, counterexample := u.covers(holder, pattern)
	if got && !want || want && !got && strings.Count(pattern, "#") < 2 {
		t.Fatalf("%q cover %s: %v, want %v: %q", holder, pattern, got, want, counterexample)
	}
	return got
}

// patternsOf lists all patterns of up to length words.
func patternsOf(words []string, length int) []string {
	var all []string
	for _, p := range newUniverse(words, length).accesses {
		all = append(all, strings.Join(p, "."))
	}
	return all
}

// TestCoversExhaustively asks every question about two or three short patterns,
// denials among them. The letter z is in none of them.
func TestCoversExhaustively(t *testing.T) {
	u := newUniverse([]string{"a", "z"}, 9)
	patterns := patternsOf([]string{"a", "*", "#"}, 3)
	var holders [][]string
	for i, first := range patterns {
		for j, second := range patterns {
			holders = append(holders, []string{first, "!" + second})
			if j > i {
				continue
			}
			for _, third := range patterns[:j+1] {
				holders = append(holders, []string{first, second, third})
			}
		}
	}
	covered := 0
	for _, holder := range holders {
		s := compile(t, holder...)
		for _, pattern := range patterns {
			got := s.Covers(pattern, bindAlice)
			want, counterexample := u.covers(holder, pattern)
			if got != want {
				t.Fatalf("%q cover %s: %v, want %v: %q", holder, pattern, got, want, counterexample)
			}
			if got {
				covered++
			}
		}
	}
	t.Logf("%d of %d covered", covered, len(holders)*len(patterns))
}

// TestCoversRandomly adds keywords, UUIDs and longer lists.
func TestCoversRandomly(t *testing.T) {
	u := newUniverse([]string{"a", "z", alice, bob, receiver}, 6)
	patterns := patternsOf([]string{"a", "*", "#", "me", alice, bob}, 3)
	wide := patternsOf([]string{"a", "*", "#", "me"}, 3)
	r := rand.New(rand.NewPCG(5, 6))
	covered := 0
	const questions = 20_000
	for range questions {
		from := patterns
		if r.IntN(2) == 0 {
			from = wide
		}
		holder := make([]string, 1+r.IntN(6))
		for i := range holder {
			if holder[i] = from[r.IntN(len(from))]; r.IntN(8) == 0 {
				holder[i] = "!" + holder[i]
			}
		}
		if u.check(t, holder, from[r.IntN(len(from))]) {
			covered++
		}
	}
	if covered < questions/50 {
		t.Errorf("%d of %d covered: too few to test anything", covered, questions)
	}
}

// What a Set grants is what it covers without its denials, and what meets a denial it does not cover.
func TestGrantsAndMeet(t *testing.T) {
	t.Parallel()
	set, err := acl.Compile([]string{"confd.#", "!confd.users.17.#", "!confd.users.me.read"})
	if err != nil {
		t.Fatal(err)
	}
	b := acl.Binding{User: "1b4e28ba-2fa1-41d2-883f-0016d3cca427"}
	for _, c := range []struct {
		pattern     string
		grants, all bool
	}{
		{"confd.users.read", true, true},
		{"confd.users.*.read", true, false},
		{"confd.users.17.read", true, false},
		{"confd.users.1B4E28BA-2FA1-41D2-883F-0016D3CCA427.read", true, false},
		{"confd.users.18.#", true, true},
		{"auth.users.read", false, false},
		{"!auth.users.read", true, true},
		{"confd..read", false, false},
	} {
		if grants, covers := set.Grants(c.pattern, b), set.Covers(c.pattern, b); grants != c.grants || covers != c.all {
			t.Errorf("%s: granted %t, covered %t", c.pattern, grants, covers)
		}
	}
	if none := new(acl.Set); none.Grants("confd.read", b) || none.Denials() != nil {
		t.Error("an empty set grants or denies something")
	}
}
