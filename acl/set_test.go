package acl_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/acl"
)

// TestMatch is the truth table of the language.
func TestMatch(t *testing.T) {
	both := acl.Binding{User: alice, Session: session}
	none := acl.Binding{}
	for _, tc := range []struct {
		pattern, access string
		b               acl.Binding
		want            bool
	}{
		// What a telephone user needs for their own things.
		{"confd.users.me.#.read", "confd.users." + alice + ".cti.read", both, true},
		{"confd.users.me.#.read", "confd.users." + alice + ".funckeys.read", both, true},
		{"confd.users.me.#.read", "confd.users." + alice + ".funckeys.3.read", both, true},
		{"confd.users.me.#.read", "confd.users." + alice + ".funckeys.templates.read", both, true},
		{"confd.users.me.#.read", "confd.users." + alice + ".lines.read", both, true},
		{"confd.users.me.#.read", "confd.users." + alice + ".lines.12.read", both, true},
		{"confd.users.me.#.read", "confd.users." + alice + ".voicemail.read", both, true},
		{"confd.users.me.#.read", "confd.users." + alice + ".read", both, false},
		{"confd.users.me.#.read", "confd.users." + alice + ".lines.12.update", both, false},
		{"confd.users.me.#.read", "confd.users." + bob + ".cti.read", both, false},
		{"confd.users.me.funckeys.*.*", "confd.users." + alice + ".funckeys.3.delete", both, true},
		{"confd.users.me.funckeys.*.*", "confd.users." + alice + ".funckeys.3.read", both, true},
		{"confd.users.me.funckeys.*.*", "confd.users." + alice + ".funckeys.3.update", both, true},
		{"confd.users.me.funckeys.*.*", "confd.users." + alice + ".funckeys.templates.read", both, true},
		{"confd.users.me.funckeys.*.*", "confd.users." + alice + ".funckeys.read", both, false},
		{"confd.users.me.funckeys.*.*", "confd.users." + bob + ".funckeys.3.read", both, false},

		// One or more words, none of them empty.
		{"confd.#", "confd", none, false},
		{"confd.#", "confd.", none, false},
		{"confd.#", "confd.users", none, true},
		{"confd.#", "confd.users.17.lines.read", none, true},
		{"confd.#", "confdx.users", none, false},
		{"confd.#", "auth.users", none, false},
		{"confd.#.read", "confd.read", none, false},
		{"confd.#.read", "confd..read", none, false},
		{"confd.#.read", "confd.users.read", none, true},
		{"confd.#.read", "confd.read.read", none, true},
		{"confd.#.read", "confd.users.17.lines.read", none, true},
		{"confd.#.read", "confd.users.read.update", none, false},
		{"#", "confd", none, true},
		{"#", "a.b.c", none, true},
		{"#", "", none, false},
		{"#.#", "a", none, false},
		{"#.#", "a.b", none, true},
		{"#.#", "a.b.c", none, true},
		{"#.*.#", "a.b", none, false},
		{"#.*.#", "a.b.c", none, true},
		{"a.#.b.#.c", "a.b.b.c.c", none, true},
		{"a.#.b.#.c", "a.b.c.c", none, false},
		{"a.#.b.#.c", "a.x.b.x.c", none, true},
		{"a.#.b.#.c", "a.x.b.c", none, false},

		// Exactly one word.
		{"confd.users.*.read", "confd.users.17.read", none, true},
		{"confd.users.*.read", "confd.users.read", none, false},
		{"confd.users.*.read", "confd.users..read", none, false},
		{"confd.users.*.read", "confd.users.17.lines.read", none, false},
		{"*", "confd", none, true},
		{"*", "confd.users", none, false},

		// Literals: the whole word, the same case, nothing else.
		{"confd.users.read", "confd.users.read", none, true},
		{"confd.users.read", "confd.users.read.x", none, false},
		{"confd.users.read", "confd.users", none, false},
		{"confd.users.read", "confd.users.rea", none, false},
		{"confd.users.read", "Confd.users.read", none, false},
		{"confd.users.read", "confd.users.read\n", none, false},
		{"confd.users.#", "confd.users.*", none, false},
		{"confd.users.*", "confd.users.#", none, false},
		{"confd.bücher.*", "confd.bücher.読む", none, true},
		{"confd.u.x", "confd.us.x", none, false},

		// me and my_session, on both sides.
		{"auth.users.me.#", "auth.users.me.tokens.read", both, true},
		{"auth.users.me.#", "auth.users." + alice + ".tokens.read", both, true},
		{"auth.users." + alice + ".#", "auth.users.me.tokens.read", both, true},
		{"auth.users." + bob + ".#", "auth.users.me.tokens.read", both, false},
		{"auth.users.*.tokens.*", "auth.users.me.tokens.read", both, true},
		{"auth.#.read", "auth.users.me.tokens.read", both, true},
		{"auth.sessions.my_session.delete", "auth.sessions." + session + ".delete", both, true},
		{"auth.sessions.my_session.delete", "auth.sessions.my_session.delete", both, true},
		{"auth.sessions." + session + ".delete", "auth.sessions.my_session.delete", both, true},
		{"auth.sessions.my_session.delete", "auth.sessions." + alice + ".delete", both, false},
		{"auth.sessions.me.delete", "auth.sessions.my_session.delete", both, false},
		{"auth.users.my_session.read", "auth.users.me.read", both, false},
		{"a.me.b.me", "a." + alice + ".b.me", both, true},
		{"a.me.b.me", "a." + alice + ".b." + bob, both, false},
		{"a.me", "a.ME", both, false},
		{"a.me", "a." + strings.ToUpper(alice), both, false},

		// An unbound keyword is only itself.
		{"a.me", "a.me", none, true},
		{"a.me", "a." + alice, none, false},
		{"a." + alice, "a.me", none, false},
		{"a.me", "a.my_session", none, false},
		{"a.*", "a.me", none, true},
		{"a.me", "a.", none, false},

		// A Binding's value is never more than one word to compare.
		{"a.me", "a.x", acl.Binding{User: "*"}, false},
		{"a.me", "a.x", acl.Binding{User: "#"}, false},
		{"a.me", "a.x", acl.Binding{User: ".*"}, false},
		{"a.me", "a.x.y", acl.Binding{User: "x.y"}, false},
		{"a.me", "a.me", acl.Binding{User: ".*"}, true},
		{"a.me", "a.my_session", acl.Binding{User: "my_session"}, false},
		{"a.my_session", "a.me", acl.Binding{Session: "me"}, false},
		{"a.me", "a.my_session", acl.Binding{User: "me", Session: "me"}, false},
		{"a.me", "a.my_session", acl.Binding{User: alice, Session: alice}, true},
		{"a.my_session", "a.me", acl.Binding{User: alice, Session: alice}, true},

		// A denial alone grants nothing, and an invalid pattern matches
		// nothing.
		{"!confd.users.read", "confd.users.read", none, false},
		{"!confd.users.read", "confd.users.delete", none, false},
		{"us*", "users", none, false},
		{"", "", none, false},
		{strings.Repeat("#.", 7) + "#.x", strings.Repeat("a.", 31) + "a", none, false},
		{strings.Repeat("#.", 7) + "#.x", strings.Repeat("a.", 31) + "x", none, true},
		{"#", strings.Repeat("a.", 32) + "a", none, false},
	} {
		t.Run(tc.pattern+" "+tc.access, func(t *testing.T) {
			if got := acl.Match(tc.pattern, tc.access, tc.b); got != tc.want {
				t.Errorf("Match: %v, want %v", got, tc.want)
			}
			s, err := acl.Compile([]string{tc.pattern})
			if err != nil {
				return
			}
			if got := s.Allows(tc.access, tc.b); got != tc.want {
				t.Errorf("Allows: %v, want %v", got, tc.want)
			}
			if got := slowAllows([]string{tc.pattern}, tc.access, tc.b); got != tc.want {
				t.Errorf("the oracle of the tests: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestAllowsAndDeciding(t *testing.T) {
	for _, tc := range []struct {
		name     string
		patterns []string
		access   string
		want     bool
		deciding string
	}{
		{"empty list", nil, "confd.users.read", false, ""},
		{"only denials", []string{"!confd.users.read"}, "auth.users.read", false, ""},
		{"only denials, denied", []string{"!confd.#"}, "confd.users.read", false, "!confd.#"},
		{"no pattern matches", []string{"auth.#", "confd.*"}, "confd.users.read", false, ""},
		{"first that grants", []string{"auth.#", "confd.#", "#"}, "confd.users.read", true, "confd.#"},
		{"denial after", []string{"#", "!confd.users.delete"}, "confd.users.delete", false, "!confd.users.delete"},
		{"denial before", []string{"!confd.users.delete", "#"}, "confd.users.delete", false, "!confd.users.delete"},
		{"first that denies", []string{"!a.*", "#", "!a.b"}, "a.b", false, "!a.*"},
		{"beside the denial", []string{"#", "!confd.users.delete"}, "confd.users.read", true, "#"},
		{"denial of a #", []string{"#", "!confd.#"}, "confd.users.read", false, "!confd.#"},
		{"denial of a #, one word short", []string{"#", "!confd.#"}, "confd", true, "#"},
		{"same pattern both ways", []string{"a.b", "!a.b"}, "a.b", false, "!a.b"},
		{"denial that ends deeper", []string{"a.#", "!a.b.c.#"}, "a.b.c", true, "a.#"},
		{"denial in the middle", []string{"a.#", "!a.#.secret.#"}, "a.x.secret.y.z", false, "!a.#.secret.#"},
		{"denial that does not end", []string{"a.#", "!a.#.secret.#"}, "a.x.secret", true, "a.#"},
		{"denial by me, spelt out", []string{"a.#", "!a.me.x"}, "a." + alice + ".x", false, "!a.me.x"},
		{"denial by me, spelt me", []string{"a.#", "!a.me.x"}, "a.me.x", false, "!a.me.x"},
		{"denial by UUID, spelt me", []string{"a.#", "!a." + alice + ".x"}, "a.me.x", false, "!a." + alice + ".x"},
		{"denial by me, other user", []string{"a.#", "!a.me.x"}, "a." + bob + ".x", true, "a.#"},
		{"literal and me", []string{"a." + alice + ".x", "a.me.y"}, "a.me.x", true, "a." + alice + ".x"},
		{"me and literal", []string{"a." + alice + ".x", "a.me.y"}, "a." + alice + ".y", true, "a.me.y"},
		{"duplicates", []string{"a.b", "a.b", "a.b"}, "a.b", true, "a.b"},
		{"invalid access", []string{"#"}, "a..b", false, ""},
		{"invalid after a decision", []string{"a.#"}, "a.b.c..", false, ""},
		{"invalid after a decision, denials", []string{"a.#", "!b"}, "a.b.c d", false, ""},
		{"wildcard asked", []string{"#"}, "a.#", false, ""},
		{"literal ! inside", []string{"a.b!"}, "a.b!", true, "a.b!"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := compile(t, tc.patterns...)
			if got := s.Allows(tc.access, bindAlice); got != tc.want {
				t.Errorf("Allows: %v, want %v", got, tc.want)
			}
			pattern, allowed := s.Deciding(tc.access, bindAlice)
			if pattern != tc.deciding || allowed != tc.want {
				t.Errorf("Deciding: %q, %v; want %q, %v", pattern, allowed, tc.deciding, tc.want)
			}
		})
	}
}

func TestNoSet(t *testing.T) {
	for name, s := range map[string]*acl.Set{"nil": nil, "zero": new(acl.Set)} {
		t.Run(name, func(t *testing.T) {
			if s.Allows("a", acl.Binding{}) || s.Covers("a", acl.Binding{}) || s.Patterns() != nil {
				t.Error("it allows something")
			}
			if pattern, allowed := s.Deciding("a", acl.Binding{}); allowed || pattern != "" {
				t.Errorf("Deciding: %q, %v", pattern, allowed)
			}
		})
	}
}

func TestCompileErrors(t *testing.T) {
	for _, tc := range []struct {
		name     string
		patterns []string
		want     string
	}{
		{"empty pattern", []string{""}, `pattern 1, "": the pattern is empty`},
		{
			"names the first",
			[]string{"a.b", "a..b", "us*"},
			`pattern 2, "a..b": word 2 of the pattern is empty`,
		},
		{
			"shows no raw character",
			[]string{"a\x1b[2J\u202e"},
			`pattern 1, "a\x1b[2J\u202e": ` + odd(1, "pattern"),
		},
		{
			"shows a part of what is long",
			[]string{strings.Repeat("a", 1<<20)},
			`pattern 1, "` + strings.Repeat("a", 80) + `"...: the pattern is longer than 256 bytes`,
		},
		{
			"too many", slices.Repeat(policy(acl.MaxPatterns+1), 2),
			"the list has 4097 different patterns, more than 4096",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := acl.Compile(tc.patterns)
			if err == nil || err.Error() != tc.want || !errors.Is(err, acl.ErrInvalid) {
				t.Errorf("error %v, want %q wrapping ErrInvalid", err, tc.want)
			}
			if s != nil {
				t.Error("a Set beside the error")
			}
		})
	}
	if _, err := acl.Compile(slices.Repeat(policy(acl.MaxPatterns), 2)); err != nil {
		t.Errorf("as many as are allowed: %v", err)
	}
}

func TestPatternsIsACopy(t *testing.T) {
	given := []string{"#", "!a.b", "#"}
	s := compile(t, given...)
	given[0] = "x"
	s.Patterns()[1] = "y"
	if got := s.Patterns(); !slices.Equal(got, []string{"#", "!a.b", "#"}) {
		t.Errorf("Patterns: %q", got)
	}
	if !s.Allows("c", acl.Binding{}) || s.Allows("a.b", acl.Binding{}) {
		t.Error("the Set changed with a slice outside it")
	}
}

// TestAllowsRandomly compares Allows with the oracle on lists made to overlap.
// Some are large and need pooled memory.
func TestAllowsRandomly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	letters := []string{"a", "b", "c", "me", "my_session", alice, session, bob}
	wild := append([]string{"*", "#", "*", "#"}, letters...)
	text := func(from []string, most int) string {
		words := make([]string, 1+r.IntN(most))
		for i := range words {
			words[i] = from[r.IntN(len(from))]
		}
		return strings.Join(words, ".")
	}
	bindings := []acl.Binding{{}, {User: alice}, bindAlice, {User: alice, Session: alice}, {User: "a", Session: "me"}}
	allowed, asked := 0, 0
	for range 400 {
		patterns := make([]string, 1+r.IntN(60))
		for i := range patterns {
			if patterns[i] = text(wild[:6+r.IntN(len(wild)-5)], 7); r.IntN(20) == 0 {
				patterns[i] = "!" + patterns[i]
			}
		}
		s := compile(t, patterns...)
		for range 60 {
			access, b := text(letters[:2+r.IntN(len(letters)-1)], 9), bindings[r.IntN(len(bindings))]
			want := slowAllows(patterns, access, b)
			if got := s.Allows(access, b); got != want {
				t.Fatalf("%q allow %q for %+v: %v, want %v", patterns, access, b, got, want)
			}
			if p, got := s.Deciding(access, b); got != want || want && !acl.Match(p, access, b) {
				t.Fatalf("%q decide %q for %+v: %q, %v, want %v", patterns, access, b, p, got, want)
			}
			if asked++; want {
				allowed++
			}
		}
	}
	if allowed < asked/10 || allowed > asked*9/10 {
		t.Errorf("%d of %d allowed: the lists are too alike to test anything", allowed, asked)
	}
}

// TestAllowsWithEveryPositionOpen puts all nodes of a large trie into the set of
// positions at once.
func TestAllowsWithEveryPositionOpen(t *testing.T) {
	s, access := compile(t, wideList(1000)...), strings.Repeat("a.", 31)
	within(t, 10*time.Millisecond, func() {
		if !s.Allows(access+"a", acl.Binding{}) || s.Allows(access+"x", acl.Binding{}) {
			t.Fatal("wrong answer")
		}
	})
}

// wideList makes patterns that a long run of the word a keeps in as many
// positions as possible.
func wideList(n int) []string {
	r := rand.New(rand.NewPCG(3, 4))
	patterns := make([]string, n)
	for i := range patterns {
		words := []string{"#", "a"}
		for range 29 {
			words = append(words, []string{"a", "*"}[r.IntN(2)])
		}
		patterns[i] = strings.Join(append(words, "a"), ".")
	}
	return patterns
}

// TestAllowsWithManyHashNodes has more nodes to mark than fit on the stack.
func TestAllowsWithManyHashNodes(t *testing.T) {
	var patterns []string
	for i := range 300 {
		patterns = append(patterns, fmt.Sprintf("#.a%d.#.b%d", i, i))
	}
	s := compile(t, patterns...)
	for access, want := range map[string]bool{
		"x.a299.x.b299":          true,
		"x.a299.x.b298":          false,
		"x.a7.a299.a7.x.x.b7":    true,
		"x.a7.a299.x.b7.x.b299":  true,
		"x.a7.a7.a7.b7":          true,
		"x.a7.a7.b8":             false,
		"a7.x.b7":                false,
		"x.a1.a2.a3.a4.a5.a6.b6": false,
	} {
		if got := s.Allows(access, acl.Binding{}); got != want {
			t.Errorf("%s: %v, want %v", access, got, want)
		}
	}
}

// TestAllowsManyHashes relies on the fact that a backtracking matcher never
// finishes here.
func TestAllowsManyHashes(t *testing.T) {
	long := strings.Repeat("a.", 31)
	for _, pattern := range []string{
		strings.Repeat("#.", 31) + "x",
		strings.Repeat("#.a.", 15) + "x",
		strings.Repeat("#.*.a.", 10) + "x",
		strings.Repeat("*.#.", 15) + "x",
	} {
		s := compile(t, pattern)
		if s.Allows(long+"a", acl.Binding{}) {
			t.Errorf("%s allows a", pattern)
		}
		if !s.Allows(long+"x", acl.Binding{}) {
			t.Errorf("%s does not allow x", pattern)
		}
	}
}

func TestAllowsDoesNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("with the race detector a sync.Pool forgets at random, and allocates")
	}
	cases := map[string]struct {
		patterns []string
		access   string
	}{
		"hit":              {policy(1000), "confd.users." + bob + ".lines.read"},
		"miss":             {policy(1000), "confd.users." + bob + ".lines.delete"},
		"me":               {policy(1000), "confd.users.me.resource4.read"},
		"denied":           {append([]string{"!#.delete"}, policy(10)...), "confd.users.delete"},
		"not ASCII":        {[]string{"confd.#.読む"}, "confd.bücher.読む"},
		"invalid":          {[]string{"#"}, "confd..users"},
		"many #":           {[]string{strings.Repeat("#.a.", 15) + "x"}, strings.Repeat("a.", 31) + "x"},
		"pooled positions": {wideList(50), strings.Repeat("a.", 31) + "a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := compile(t, tc.patterns...)
			if n := testing.AllocsPerRun(200, func() { s.Allows(tc.access, bindAlice) }); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// TestConcurrentUse is for the race detector: one Set, many users.
func TestConcurrentUse(t *testing.T) {
	patterns := append(wideList(40), "!confd.users.*.delete", "confd.users.me.#", "confd.users.*.read")
	s := compile(t, patterns...)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			me := acl.Binding{User: fmt.Sprintf("6fa459ea-ee8a-4ca4-894e-db77e160355%x", i)}
			other := fmt.Sprintf("6fa459ea-ee8a-4ca4-894e-db77e160355%x", i+1)
			for range 200 {
				if !s.Allows("confd.users."+me.User+".lines.read", me) ||
					s.Allows("confd.users."+other+".lines.read", me) ||
					s.Allows("confd.users.me.delete", me) ||
					!s.Allows(strings.Repeat("a.", 31)+"a", me) ||
					s.Covers("confd.users.me.#", me) || !s.Covers("confd.users."+other+".read", me) {
					t.Error("wrong answer")
					return
				}
			}
		})
	}
	wg.Wait()
}

// One UUID has two spellings (RFC 9562, section 4). A denial in one holds for the other.
func TestUUIDsInBothCases(t *testing.T) {
	const lower, upper = "8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e", "8A9F6A0E-2B0F-4C1A-9D3E-7F2F0B1C2D3E"
	set, err := acl.Compile([]string{"confd.#", "!confd.users." + upper + ".#"})
	if err != nil {
		t.Fatal(err)
	}
	for _, uuid := range []string{lower, upper} {
		if set.Allows(acl.FoldUUIDs("confd.users."+uuid+".read"), acl.Binding{}) || set.Covers("confd.users."+uuid+".read", acl.Binding{}) {
			t.Errorf("a denial in upper case does not hold for %s", uuid)
		}
	}
	for _, text := range []string{
		"", "confd", "confd.users." + lower, "confd.USERS.read", "!" + lower, "confd." + upper + "x.read", "confd." + upper[:35] + "G.read",
		"confd." + strings.ReplaceAll(upper, "-", "+"),
	} {
		if got := acl.FoldUUIDs(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	for text, want := range map[string]string{
		"!" + upper: "!" + lower, upper + "." + upper: lower + "." + lower, "a." + upper + ".B": "a." + lower + ".B",
	} {
		if got := acl.FoldUUIDs(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
