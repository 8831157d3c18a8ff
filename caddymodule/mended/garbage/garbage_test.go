package garbage

import (
	"math"
	"testing"
)

func TestMemoryLimitFollowsWhatIsLive(t *testing.T) {
	const mebi = 1 << 20
	for _, c := range []struct {
		name    string
		live    uint64
		ceiling int64
		want    int64
	}{
		{"a small heap has the floor", 20 * mebi, math.MaxInt64, 200 * mebi},
		{"a heap that has grown has twice as much", 150 * mebi, math.MaxInt64, 300 * mebi},
		{"never more than the machine has", 150 * mebi, 256 * mebi, 256 * mebi},
		{"the operator's limit may be below the floor", 20 * mebi, 64 * mebi, 64 * mebi},
		{"no overflow", math.MaxUint64, math.MaxInt64, math.MaxInt64},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := memoryLimit(c.live, c.ceiling); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}
