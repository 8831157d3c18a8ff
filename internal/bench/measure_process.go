package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/tokens"
)

// microFindings are measured inside one process.
type microFindings struct {
	Allows []allowsFinding `json:"allows"`
	// HitNanoseconds has one value for each of several rounds.
	HitNanoseconds []float64 `json:"hit_nanoseconds"`
	HitAllocs      float64   `json:"hit_allocs"`
	BytesPerToken  float64   `json:"bytes_per_token"`
	FixedBytes     float64   `json:"fixed_bytes"`
}

type allowsFinding struct {
	Patterns    int     `json:"patterns"`
	Access      string  `json:"access"`
	Nanoseconds float64 `json:"nanoseconds"`
	Allocs      float64 `json:"allocs"`
}

const (
	alice = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
	bob   = "6fa459ea-ee8a-4ca4-894e-db77e160355e"
)

// manyPatterns is a policy in which most patterns name one resource, some end in #, some have it in the middle, and some are
// about the user.
func manyPatterns(n int) []string {
	forms := []string{
		"confd.resource%d.read", "confd.resource%d.#", "confd.resource%d.*.update",
		"confd.resource%d.#.read", "confd.users.me.resource%d.#",
	}
	patterns := make([]string, n)
	for i := range patterns {
		patterns[i] = fmt.Sprintf(forms[i%len(forms)], i)
	}
	patterns[0], patterns[n-1] = "confd.users.*.lines.read", "confd.voicemails.*.greetings.*.read"
	return patterns
}

// micro is the role that measures the parts of a decision in isolation.
func micro(tokenFile string, out io.Writer) error {
	all, err := readTokens(tokenFile)
	if err != nil {
		return err
	}
	var f microFindings
	if f.Allows, err = measureAllows(); err != nil {
		return err
	}
	if err := f.measureCache(all); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(f)
}

func measureAllows() ([]allowsFinding, error) {
	var found []allowsFinding
	who := acl.Binding{User: alice, Session: bob}
	for _, n := range []int{10, 100, 1000} {
		set, err := acl.Compile(manyPatterns(n))
		if err != nil {
			return nil, err
		}
		for _, q := range []struct {
			name, access string
			want         bool
		}{
			{"hit", "confd.users." + bob + ".lines.read", true},
			{"last", "confd.voicemails.17.greetings.busy.read", true},
			{"miss", "confd.users." + bob + ".lines.delete", false},
			{"me", "confd.users." + alice + ".resource4.read", true},
		} {
			if set.Allows(q.access, who) != q.want {
				return nil, fmt.Errorf("%d patterns, %s: the wrong answer", n, q.access)
			}
			ask := func() { set.Allows(q.access, who) }
			took, err := perCall(ask)
			if err != nil {
				return nil, err
			}
			found = append(found, allowsFinding{n, q.name, median(took), testing.AllocsPerRun(1000, ask)})
		}
	}
	return found, nil
}

// measureCache measures the memory of a full cache, and the time from a request's header to the principal.
func (f *microFindings) measureCache(all []string) error {
	before := heap()
	empty, err := tokens.NewCache(crowd{}, tokens.Options{})
	if err != nil {
		return err
	}
	f.FixedBytes = float64(heap() - before)
	empty.Close()
	for range 3 { // ristretto's goroutines end, and then what they held goes
		heap()
	}
	before = heap()
	cache, err := fullCache(all, tokens.Options{})
	if err != nil {
		return err
	}
	f.BytesPerToken = (float64(heap()-before) - f.FixedBytes) / float64(len(all))

	// A header has just been read from a connection, so it is in the processor's cache: the strings lie in the order of their
	// use. The gate's data lies in another.
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	texts := strings.Split(strings.Join(all, "\n"), "\n")
	sent := make([]string, 1)
	header := http.Header{"Accept": {"application/json"}, "User-Agent": {"bench"}, "X-Auth-Token": sent}
	next, ctx, missed := 0, context.Background(), cache.Stats().Misses
	ask := func() {
		sent[0] = texts[next]
		if next++; next == len(texts) {
			next = 0
		}
		if _, err := cache.Principal(ctx, header["X-Auth-Token"][0]); err != nil {
			panic(err) // the cache was full of them
		}
	}
	if f.HitNanoseconds, err = perCall(ask); err != nil {
		return err
	}
	f.HitAllocs = testing.AllocsPerRun(1000, ask)
	if misses := cache.Stats().Misses - missed; misses > 0 {
		return fmt.Errorf("%d misses where hits were to be measured", misses)
	}
	return nil
}

// perCall returns the CPU time of one call, in nanoseconds, in each of several rounds.
func perCall(call func()) ([]float64, error) {
	const rounds, atLeast = 9, 60 * time.Millisecond
	var took []float64
	for calls := 10_000; len(took) < rounds; {
		before, err := cpuTime(os.Getpid())
		if err != nil {
			return nil, err
		}
		for range calls {
			call()
		}
		after, err := cpuTime(os.Getpid())
		if err != nil {
			return nil, err
		}
		if after-before < atLeast {
			calls *= 2
			continue
		}
		took = append(took, float64((after-before).Nanoseconds())/float64(calls))
	}
	return took, nil
}

func heap() int64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// microRows measures in a process of its own, built like the release.
func (b *bench) microRows() ([]row, error) {
	out, err := exec.Command(b.self, roleMicro, b.tokenFile).Output()
	if err != nil {
		return nil, fmt.Errorf("measuring inside a process: %w", err)
	}
	var f microFindings
	if err := json.Unmarshal(out, &f); err != nil {
		return nil, err
	}
	return []row{
		f.allowsRow(), f.growthRow(),
		{
			"cache hit: header to principal, 100,000 tokens in random order",
			fmt.Sprintf("%.0f ns (best %.0f), %v allocations", median(f.HitNanoseconds), percentile(f.HitNanoseconds, 0), f.HitAllocs),
			"600 ns, 0 allocations", judge(median(f.HitNanoseconds) < 600 && f.HitAllocs == 0),
		},
		{
			"memory for each cached token, one policy", fmt.Sprintf("%.0f bytes, and %.1f MB for the empty cache", f.BytesPerToken, f.FixedBytes/1e6),
			"300 bytes", judge(f.BytesPerToken < 300),
		},
	}, nil
}

func (f microFindings) allowsRow() row {
	worst := f.Allows[0]
	var allocs float64
	for _, a := range f.Allows {
		allocs = max(allocs, a.Allocs)
		if a.Nanoseconds > worst.Nanoseconds {
			worst = a
		}
	}
	least := worst.Nanoseconds
	for _, a := range f.Allows {
		least = min(least, a.Nanoseconds)
	}
	return row{
		"Allows, 10 to 1000 patterns, hit or miss",
		fmt.Sprintf("%.0f to %.0f ns (%d patterns, %s), %v allocations", least, worst.Nanoseconds, worst.Patterns, worst.Access, allocs),
		"150 ns, 0 allocations", judge(worst.Nanoseconds < 150 && allocs == 0),
	}
}

func (f microFindings) growthRow() row {
	sum := map[int]float64{}
	for _, a := range f.Allows {
		sum[a.Patterns] += a.Nanoseconds
	}
	growth := sum[1000] / sum[10]
	return row{"Allows, 1000 patterns / 10", fmt.Sprintf("%.2f x", growth), "2 x", judge(growth <= 2)}
}
