package tokens_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/tokens"
)

// crowd is a Source of tokens, each of a different user, in one tenant and with one policy. It makes new strings for each call,
// as a database driver does.
type crowd struct{ acls tokens.ACLs }

func (c *crowd) Shape(token string) bool { return tokens.WellFormed(token) }

func (c *crowd) Load(_ context.Context, _ string, d tokens.Digest) (*principal.Principal, error) {
	set, err := c.acls.Compile([]string{"confd.#", "auth.users.me.#", "!confd.users.*.delete"})
	if err != nil {
		return nil, err
	}
	return &principal.Principal{
		TokenID:     tokens.ID(d),
		UserUUID:    uuid.UUID(d[:16]).String(),
		SessionUUID: uuid.UUID(d[16:]).String(),
		Affiliation: &principal.Affiliation{TenantUUID: uuid.UUID{1}.String(), Purpose: "user"},
		ACL:         set,
		ExpiresAt:   principal.At(time.Now().Add(time.Hour)),
	}, nil
}

const crowdSize = 100_000

// warm makes a cache of the default size that knows the crowd's tokens.
func warm(tb testing.TB, all []string) *tokens.Cache {
	tb.Helper()
	start := time.Now()
	c, err := tokens.NewCache(new(crowd), tokens.Options{Now: func() time.Time {
		// The clock moves, to measure what that costs, but nothing expires.
		return start.Add(time.Since(start) / 1000)
	}})
	if err != nil {
		tb.Fatal(err)
	}
	for range 3 { // ristretto may drop a write
		for _, token := range all {
			if _, err := c.Principal(tb.Context(), token); err != nil {
				tb.Fatal(err)
			}
		}
		c.Settle()
	}
	return c
}

func newTokens(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = tokens.New()
	}
	return all
}

func BenchmarkHit(b *testing.B) {
	all := newTokens(crowdSize)
	c := warm(b, all)
	defer c.Close()
	before := c.Stats()
	// The text of a token has just been read from a connection, so it is in the processor's cache: these copies lie in the order
	// of the requests. The entries of the cache lie in another order.
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i := range all {
		all[i] = strings.Clone(all[i])
	}
	ctx := b.Context()
	ask := func(b *testing.B, token string) {
		if _, err := c.Principal(ctx, token); err != nil {
			b.Error(err)
		}
	}
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			ask(b, all[i%crowdSize])
			i++
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		var from atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			for i := int(from.Add(31337)); pb.Next(); i++ {
				ask(b, all[i%crowdSize])
			}
		})
	})
	b.Run("same token", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				ask(b, all[0])
			}
		})
	})
	if after := c.Stats(); after.Misses != before.Misses {
		b.Logf("%d misses", after.Misses-before.Misses)
	}
}

func BenchmarkMiss(b *testing.B) {
	c, err := tokens.NewCache(new(crowd), tokens.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	c.Distrust()
	token := tokens.New()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Principal(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWellFormed(b *testing.B) {
	token := tokens.New()
	b.ReportAllocs()
	for b.Loop() {
		tokens.WellFormed(token)
	}
}

func BenchmarkDigestOf(b *testing.B) {
	token := tokens.New()
	b.ReportAllocs()
	for b.Loop() {
		tokens.DigestOf(token)
	}
}

func TestHitDoesNotAllocate(t *testing.T) {
	f := newFixture(t, tokens.Options{})
	token := f.issue(alice)
	f.mustKnow(t, token)
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := f.Principal(ctx, token); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a hit allocates %v times", n)
	}
	if got := f.Stats().Misses; got != 1 {
		t.Errorf("%d misses: it was not hits that were measured", got)
	}
}

// BenchmarkMemory prints the memory for each cached token, with everything that the cache holds for it. It is the worst case:
// each token belongs to another user; all have one policy.
func BenchmarkMemory(b *testing.B) {
	all := newTokens(crowdSize)
	empty, err := tokens.NewCache(new(crowd), tokens.Options{})
	if err != nil {
		b.Fatal(err)
	}
	empty.CloseNow()
	start := heap()
	fixed, err := tokens.NewCache(new(crowd), tokens.Options{})
	if err != nil {
		b.Fatal(err)
	}
	base := heap() - start
	fixed.CloseNow()
	fixed = nil
	start = heap()
	c := warm(b, all)
	used := heap() - start
	b.ReportMetric(float64(base), "fixed-B")
	b.ReportMetric(float64(used-base)/crowdSize, "B/token")
	b.ReportMetric(float64(used)/crowdSize, "all-B/token")
	b.ReportMetric(0, "ns/op")
	hits := c.Stats().Hits
	for _, token := range all {
		if _, err := c.Principal(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
	if kept := c.Stats().Hits - hits; kept < crowdSize*99/100 {
		b.Fatalf("only %d tokens were kept", kept)
	}
	runtime.KeepAlive(fixed)
	runtime.KeepAlive(all)
	c.Close()
}

func heap() int64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
