package acl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/acl"
)

// hugeQuestion gives Covers as many sets of positions as possible.
type hugeQuestion struct {
	holder  []string
	pattern string
	want    bool
}

func hugeQuestions() map[string]hugeQuestion {
	// Each #.a.*.*...x remembers, for one distance, whether a word was a.
	var memory []string
	for i := range 29 {
		memory = append(slices.Clip(memory), "#.a."+strings.Repeat("*.", i)+"x")
	}
	var denials []string
	for i := range 1000 {
		denials = append(denials, fmt.Sprintf("!%sa%d", strings.Repeat("#.a.", 14), i))
	}
	return map[string]hugeQuestion{
		"memory":            {memory, strings.Repeat("#.a.", 15) + "#", false},
		"memory, never a":   {memory, strings.Repeat("#.b.", 15) + "#", false},
		"memory of the end": {memory, strings.Repeat("#.a.", 15) + "x", false},
		// True, but far too long to find out.
		"memory, held": {append(slices.Clip(memory), "#.a.#.x"), strings.Repeat("#.a.", 15) + "x", false},
		// True, and found soon.
		"memory, held by #":     {append(slices.Clip(memory), "#.a.#"), strings.Repeat("#.a.", 15) + "x", true},
		"many positions":        {wideList(1000), strings.Repeat("#.a.", 15) + "a", false},
		"most positions":        {wideList(acl.MaxPatterns), strings.Repeat("#.a.", 15) + "a", false},
		"most positions, short": {wideList(acl.MaxPatterns), strings.Repeat("a.", 31) + "x", false},
		"many denials":          {append(slices.Clip(denials), "#"), strings.Repeat("#.a.", 15) + "a", true},
		"most denials":          {append(repeat(denials, 5)[:acl.MaxPatterns-1], "#"), strings.Repeat("#.*.a.", 10) + "a", true},
	}
}

func repeat(patterns []string, n int) []string {
	var all []string
	for i := range n {
		for _, p := range patterns {
			all = append(all, p+fmt.Sprint(i))
		}
	}
	return all
}

func TestCoversRefusesWhatIsHuge(t *testing.T) {
	for name, q := range hugeQuestions() {
		t.Run(name, func(t *testing.T) {
			s := compile(t, q.holder...)
			within(t, 100*time.Millisecond, func() {
				if got := s.Covers(q.pattern, bindAlice); got != q.want {
					t.Errorf("Covers: %v, want %v", got, q.want)
				}
			})
		})
	}
}
