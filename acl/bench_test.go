package acl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/acl"
)

const (
	alice   = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
	bob     = "6fa459ea-ee8a-4ca4-894e-db77e160355e"
	session = "16fd2706-8baf-433b-82eb-8c7fada847da"
)

var bindAlice = acl.Binding{User: alice, Session: session}

// policy returns a list like those of real policies: most patterns name one
// resource, some end in #, some have it in the middle, some are about the user.
func policy(n int) []string {
	forms := []string{
		"confd.resource%d.read",
		"confd.resource%d.#",
		"confd.resource%d.*.update",
		"confd.resource%d.#.read",
		"confd.users.me.resource%d.#",
	}
	patterns := make([]string, n)
	for i := range patterns {
		patterns[i] = fmt.Sprintf(forms[i%len(forms)], i)
	}
	patterns[0] = "confd.users.*.lines.read"
	patterns[n-1] = "confd.voicemails.*.greetings.*.read"
	return patterns
}

func BenchmarkAllows(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		patterns := policy(n)
		denying := append([]string{"!confd.users.*.delete", "!auth.#.delete"}, patterns...)
		branching := append([]string{"#.read", "*.users.me.#", "confd.#.create"}, patterns...)
		for _, q := range []struct {
			name, access string
			patterns     []string
			want         bool
		}{
			{"hit-first", "confd.users." + bob + ".lines.read", patterns, true},
			{"hit-last", "confd.voicemails.17.greetings.busy.read", patterns, true},
			{"miss", "confd.users." + bob + ".lines.delete", patterns, false},
			{"miss-service", "auth.users." + bob + ".policies.read", patterns, false},
			{"me", "confd.users." + alice + ".resource4.read", patterns, true},
			{"many", "confd.resource3.17.lines.read", patterns, true},
			{"branches", "confd.users." + bob + ".lines.delete", branching, false},
			{"denials-hit", "confd.users." + bob + ".lines.read", denying, true},
			{"denials-miss", "confd.users." + bob + ".delete", denying, false},
		} {
			b.Run(fmt.Sprintf("%s/%d", q.name, n), func(b *testing.B) {
				s := compile(b, q.patterns...)
				b.ReportAllocs()
				for b.Loop() {
					if s.Allows(q.access, bindAlice) != q.want {
						b.Fatal("wrong answer")
					}
				}
			})
		}
	}
}

// BenchmarkAllowsGrowth compares the cost of a list of 1000 patterns with that
// of a list of 10, in alternating rounds.
func BenchmarkAllowsGrowth(b *testing.B) {
	accesses := []string{
		"confd.users." + bob + ".lines.read", "confd.voicemails.17.greetings.busy.read",
		"confd.users." + bob + ".lines.delete", "confd.users." + alice + ".resource4.read",
	}
	sets := []*acl.Set{compile(b, policy(10)...), compile(b, policy(1000)...)}
	took := make([][]float64, len(sets))
	for b.Loop() {
		for i, s := range sets {
			start := time.Now()
			for range 1000 {
				for _, access := range accesses {
					s.Allows(access, bindAlice)
				}
			}
			took[i] = append(took[i], float64(time.Since(start).Nanoseconds()))
		}
	}
	ratios := make([]float64, len(took[0]))
	for i := range ratios {
		ratios[i] = took[1][i] / took[0][i]
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "1000/10")
}

func compile(tb testing.TB, patterns ...string) *acl.Set {
	tb.Helper()
	s, err := acl.Compile(patterns)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// BenchmarkAllowsMany matches the longest access against a pattern that a
// backtracking matcher would never finish.
func BenchmarkAllowsMany(b *testing.B) {
	for _, q := range []struct {
		name     string
		patterns []string
		access   string
	}{
		{"run", []string{strings.Repeat("#.", 8) + "x"}, strings.Repeat("a.", 31) + "a"},
		{"apart", []string{strings.Repeat("#.a.", 15) + "x"}, strings.Repeat("a.", 31) + "a"},
		{"wide", wideList(1000), strings.Repeat("a.", 31) + "x"},
		{"widest", wideList(acl.MaxPatterns), strings.Repeat("a.", 31) + "x"},
	} {
		b.Run(q.name, func(b *testing.B) {
			s := compile(b, q.patterns...)
			b.ReportAllocs()
			for b.Loop() {
				if s.Allows(q.access, bindAlice) {
					b.Fatal("wrong answer")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/32, "ns/word")
		})
	}
}

func BenchmarkCovers(b *testing.B) {
	for _, n := range []int{10, 1000} {
		s := compile(b, append(policy(n), "!confd.users.*.delete", "calld.#")...)
		for pattern, want := range map[string]bool{
			"calld.#": true, "confd.#": false, "confd.users.me.resource4.read": true, "confd.users.#": false,
		} {
			b.Run(fmt.Sprintf("%s/%d", pattern, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if s.Covers(pattern, bindAlice) != want {
						b.Fatal("wrong answer")
					}
				}
			})
		}
	}
	for name, q := range hugeQuestions() {
		b.Run("huge/"+name, func(b *testing.B) {
			s := compile(b, q.holder...)
			for b.Loop() {
				if s.Covers(q.pattern, bindAlice) != q.want {
					b.Fatal("wrong answer")
				}
			}
		})
	}
}
