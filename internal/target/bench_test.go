package target_test

import (
	"testing"

	"github.com/ringfence/ringfence/internal/target"
)

var benchmarks = []struct {
	name, in string
	allocs   float64
}{
	{"short", "/api/confd/1.1/users", 0},
	{"user", "/api/confd/1.1/users/8a9f6a0e-2b0f-4c1a-9d3e-7f2f0b1c2d3e/lines/42", 0},
	{"query", "/api/confd/1.1/users?limit=100&offset=200&order=lastname&search=smith", 0},
	{"escaped query", "/api/confd/1.1/users?search=%C3%A9", 0},
	{"escaped", "/api/auth/0.1/policies/8a9f6a0e/acl/confd.users.%23", 2},
	{"refused", "/api/confd/1.1/../users", 0},
}

func TestParseAllocates(t *testing.T) {
	for _, bb := range benchmarks {
		got := testing.AllocsPerRun(100, func() { _, _ = target.Parse(bb.in) })
		if got > bb.allocs {
			t.Errorf("%s: %v allocations, want at most %v", bb.name, got, bb.allocs)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, bb := range benchmarks {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = target.Parse(bb.in)
			}
		})
	}
}
