package acl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/acl"
)

const (
	alice   = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
	bob     = "6fa459ea-ee8a-4ca4-894e-db77e160355e"
	session = "16fd2706-8baf-433b-82eb-8c7fada847da"
)

var bindAlice = acl.Binding{User: alice, Session: session}

// policy is a list as policies have them: most patterns name one resource, some
// end in #, some have it in the middle, some are about the user.
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

func compile(tb testing.TB, patterns ...string) *acl.Set {
	tb.Helper()
	s, err := acl.Compile(patterns)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// BenchmarkAllowsMany is the pattern that a backtracking matcher does not
// finish (THREATS 4.5), against the longest access.
func BenchmarkAllowsMany(b *testing.B) {
	for _, q := range []struct {
		name     string
		patterns []string
		access   string
	}{
		{"run", []string{strings.Repeat("#.", 8) + "x"}, strings.Repeat("a.", 31) + "a"},
		{"apart", []string{strings.Repeat("#.a.", 15) + "x"}, strings.Repeat("a.", 31) + "a"},
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
