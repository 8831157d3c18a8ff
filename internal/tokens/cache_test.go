package tokens_test

import (
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

func TestPrincipal(t *testing.T) {
	bothWays(t, tokens.Options{}, func(t *testing.T, f *fixture) {
		token := f.issue(alice)
		f.asks(t, 1, 3, func() {
			for range 3 {
				p := f.mustKnow(t, token)
				if want := f.principal(token, alice); !reflect.DeepEqual(p, want) {
					t.Errorf("got %+v of %+v, want %+v of %+v", p, p.Affiliation, want, want.Affiliation)
				}
			}
		})
	})
}

func TestShapeAsksNobody(t *testing.T) {
	bothWays(t, tokens.Options{}, func(t *testing.T, f *fixture) {
		f.asks(t, 0, 0, func() {
			for _, token := range []string{"", "x", " " + tokens.New(), tokens.New() + ", " + tokens.New(), string(make([]byte, 100<<10))} {
				if f.Shape(token) {
					t.Errorf("%.20q has the shape of a token", token)
				}
				f.mustRefuse(t, token, tokens.ErrMalformed)
			}
		})
	})
}

// A token is known at once, although ristretto's writes are late.
func TestKnownAtOnce(t *testing.T) {
	f := newFixture(t, tokens.Options{})
	for range 100 {
		token := f.issue(alice)
		f.asks(t, 1, 0, func() {
			for range 20 {
				if _, err := f.Principal(t.Context(), token); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Tokens that evict each other from the table of recent tokens are still in ristretto.
func TestDisplaced(t *testing.T) {
	f := newFixture(t, tokens.Options{Capacity: 64})
	var all []string
	for range 60 {
		all = append(all, f.issue(alice))
	}
	f.asks(t, len(all), 0, func() {
		for range 20 {
			for _, token := range all {
				f.mustKnow(t, token)
			}
		}
	})
}

func TestForget(t *testing.T) {
	for name, forget := range map[string]func(f *fixture, token string){
		"token":   func(f *fixture, token string) { f.ForgetToken(tokens.DigestOf(token)) },
		"user":    func(f *fixture, _ string) { f.ForgetUser(alice) },
		"all":     func(f *fixture, _ string) { f.ForgetAll() },
		"deaf":    func(f *fixture, _ string) { f.Distrust() },
		"hearing": func(f *fixture, _ string) { f.Trust() },
		"asleep": func(f *fixture, _ string) {
			f.Sleep(time.Minute)
			f.clock.forward(time.Millisecond)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, tokens.Options{}, func(t *testing.T, f *fixture) {
				token := f.issue(alice)
				f.mustKnow(t, token)

				restricted := f.principal(token, alice)
				restricted.Purpose = "internal"
				f.book.set(token, restricted)
				forget(f, token)
				if p := f.mustKnow(t, token); p.Purpose != "internal" {
					t.Error("a change was not seen")
				}
				f.book.set(token, nil)
				forget(f, token)
				f.mustRefuse(t, token, tokens.ErrUnknown)

				f.book.set(token, f.principal(token, alice))
				forget(f, token)
				f.mustKnow(t, token)
			})
		})
	}
}

// TestForgetIsNarrow checks that forgetting one token or user leaves the others known.
func TestForgetIsNarrow(t *testing.T) {
	f := newFixture(t, tokens.Options{})
	mine, other, bobs := f.issue(alice), f.issue(alice), f.issue(bob)
	know := func() {
		f.mustKnow(t, mine)
		f.mustKnow(t, other)
		f.mustKnow(t, bobs)
	}
	f.asks(t, 3, 0, know)
	f.asks(t, 0, 0, know)
	f.ForgetToken(tokens.DigestOf(mine))
	f.asks(t, 1, 0, know)
	f.ForgetUser(alice)
	f.asks(t, 2, 0, know)
	f.ForgetAll()
	f.asks(t, 3, 0, know)
}

// TestDeaf checks that nothing cached is used while this node cannot hear of revocations.
func TestDeaf(t *testing.T) {
	f := newFixture(t, tokens.Options{})
	token := f.issue(alice)
	know := func() {
		for range 3 {
			f.mustKnow(t, token)
		}
	}
	f.asks(t, 1, 0, know)
	f.Distrust()
	f.asks(t, 3, 0, know)
	f.Trust()
	f.asks(t, 1, 0, know)
}

func TestExpiry(t *testing.T) {
	bothWays(t, tokens.Options{}, func(t *testing.T, f *fixture) {
		token := tokens.New()
		p := f.principal(token, alice)
		p.ExpiresAt = principal.At(f.clock.Now().Add(5 * time.Second))
		f.book.set(token, p)
		f.mustKnow(t, token)
		f.clock.forward(5*time.Second - 1)
		f.mustKnow(t, token)
		f.clock.forward(1)
		f.mustRefuse(t, token, tokens.ErrUnknown)

		// By its own clock, the source still accepts it.
		f.clock.forward(time.Minute)
		f.mustRefuse(t, token, tokens.ErrUnknown)

		none := tokens.New()
		p = f.principal(none, alice)
		p.ExpiresAt = principal.At(time.Time{})
		f.book.set(none, p)
		f.mustRefuse(t, none, tokens.ErrUnknown)
	})
}

func TestStaleness(t *testing.T) {
	cachedInBubble(t, tokens.Options{Staleness: 9 * time.Second}, func(t *testing.T, f *fixture) {
		token := f.issue(alice)
		know := func() {
			f.mustKnow(t, token)
			synctest.Wait()
		}
		f.asks(t, 1, 0, know)
		f.clock.forward(4500*time.Millisecond - 1)
		f.asks(t, 0, 0, know)
		f.book.fail(store.ErrUnavailable) // so the refresh changes nothing
		f.clock.forward(4500 * time.Millisecond)
		f.asks(t, 1, 0, know)
		f.asks(t, 0, 0, know)
		f.clock.forward(1)
		f.mustRefuse(t, token, store.ErrUnavailable)
		f.book.fail(nil)
		f.asks(t, 1, 0, know)
	})
}

func TestRefreshAhead(t *testing.T) {
	cachedInBubble(t, tokens.Options{}, func(t *testing.T, f *fixture) {
		token := f.issue(alice)
		f.mustKnow(t, token)
		f.clock.forward(20 * time.Second)
		release := f.hold()
		f.asks(t, 1, 0, func() {
			for range 10 {
				f.mustKnow(t, token) // returned at once, while the look-up that the first one started is held
				synctest.Wait()
			}
		})
		release()
		synctest.Wait()
		f.settle()
		f.clock.forward(14 * time.Second) // the first result is too old, the second is not
		f.asks(t, 0, 0, func() { f.mustKnow(t, token) })
		if s := f.Stats(); s.Refreshes != 1 || s.Loads != 2 || s.Misses != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// Tokens that became known at one time are not all refreshed at one time.
func TestRefreshesAreSpread(t *testing.T) {
	cachedInBubble(t, tokens.Options{}, func(t *testing.T, f *fixture) {
		const n = 200
		var all []string
		for range n {
			all = append(all, f.issue(alice))
			f.mustKnow(t, all[len(all)-1])
		}
		f.clock.forward(14 * time.Second)
		var before uint64
		for second := range 7 {
			for _, token := range all {
				f.mustKnow(t, token)
			}
			synctest.Wait()
			now := f.Stats().Refreshes
			if due := now - before; due > n/2 {
				t.Errorf("%d refreshes in second %d", due, 14+second)
			}
			before = now
			f.clock.forward(time.Second)
		}
		if before != n {
			t.Errorf("%d refreshes after 20 s", before)
		}
	})
}

// TestRevokedWhileRefreshing is TestRevokedWhileLoading for a look-up in the background.
func TestRevokedWhileRefreshing(t *testing.T) {
	cachedInBubble(t, tokens.Options{}, func(t *testing.T, f *fixture) {
		token := f.issue(alice)
		f.mustKnow(t, token)
		f.clock.forward(20 * time.Second)
		release := f.hold()
		f.mustKnow(t, token)
		synctest.Wait()
		f.book.set(token, nil)
		f.ForgetToken(tokens.DigestOf(token))
		release()
		synctest.Wait()
		f.settle()
		f.mustRefuse(t, token, tokens.ErrUnknown)
	})
}

// TestRefreshFindsTokenGone checks that a token that ended without a message is refused as soon as the refresh finds that out.
func TestRefreshFindsTokenGone(t *testing.T) {
	cachedInBubble(t, tokens.Options{}, func(t *testing.T, f *fixture) {
		token := f.issue(alice)
		f.mustKnow(t, token)
		f.book.set(token, nil)
		f.clock.forward(20 * time.Second)
		f.mustKnow(t, token)
		synctest.Wait()
		f.mustRefuse(t, token, tokens.ErrUnknown)
	})
}

// TestSourceUnavailable: an unreachable source is no refusal.
func TestSourceUnavailable(t *testing.T) {
	cachedInBubble(t, tokens.Options{}, func(t *testing.T, f *fixture) {
		token, other := f.issue(alice), f.issue(bob)
		f.mustKnow(t, token)
		f.book.fail(store.ErrUnavailable)

		f.clock.forward(tokens.MaxStaleness - 1)
		f.mustKnow(t, token)
		f.mustRefuse(t, other, store.ErrUnavailable)
		f.mustRefuse(t, tokens.New(), store.ErrUnavailable)
		synctest.Wait()
		if got := f.Stats().LoadErrors; got != 3 { // one of them is the first one's refresh
			t.Errorf("%d errors", got)
		}

		f.clock.forward(1)
		f.mustRefuse(t, token, store.ErrUnavailable)
		if _, err := f.Principal(t.Context(), token); errors.Is(err, tokens.ErrUnknown) {
			t.Error("a client would log out")
		}
		f.book.fail(nil)
		f.mustKnow(t, token)
		f.mustKnow(t, other)
	})
}

func TestSourceFaults(t *testing.T) {
	fault := errors.New("a fault")
	bothWays(t, tokens.Options{}, func(t *testing.T, f *fixture) {
		token := f.issue(alice)
		f.book.fail(fault)
		f.mustRefuse(t, token, fault)
		f.book.fail(nil)
		f.mustKnow(t, token)
	})
}

// TestFull checks that all good tokens work when there are more than the cache has room for.
func TestFull(t *testing.T) {
	f := newFixture(t, tokens.Options{Capacity: 10})
	all := make([]string, 200)
	for i := range all {
		all[i] = f.issue(alice)
	}
	for range 3 {
		for _, token := range all {
			f.mustKnow(t, token)
		}
	}
	f.book.set(all[7], nil)
	f.ForgetToken(tokens.DigestOf(all[7]))
	f.mustRefuse(t, all[7], tokens.ErrUnknown)
}

// TestCollision: another token has the same key in ristretto.
func TestCollision(t *testing.T) {
	f := newFixture(t, tokens.Options{})
	token := f.issue(alice)
	twin := tokens.DigestOf(token)
	twin[31] ^= 1
	f.Plant(twin, f.principal(tokens.New(), bob))
	if p := f.mustKnow(t, token); p.UserUUID != alice {
		t.Errorf("the principal is that of user %s", p.UserUUID)
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]tokens.Options{
		"capacity":      {Capacity: -1},
		"staleness":     {Staleness: -1},
		"timeout":       {LoadTimeout: -1},
		"rate":          {UnknownRate: -1},
		"over the most": {Staleness: tokens.MaxStaleness + 1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tokens.NewCache(newBook(), o); err == nil {
				t.Error("accepted")
			}
		})
	}
}

type boundedBook struct {
	*book
	bound time.Duration
}

func (b boundedBook) Staleness() time.Duration { return b.bound }

func TestBounded(t *testing.T) {
	tests := []struct {
		name                     string
		source, configured, want time.Duration
	}{
		{"source is stricter", 10 * time.Second, 0, 10 * time.Second},
		{"configuration is stricter", 10 * time.Second, 4 * time.Second, 4 * time.Second},
		{"source allows more than the most", time.Hour, 0, tokens.MaxStaleness},
		{"source forgot to say", 0, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := tokens.NewCache(boundedBook{newBook(), tt.source}, tokens.Options{Staleness: tt.configured})
			if tt.want == 0 {
				if err == nil {
					t.Error("accepted")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if c.Staleness() != tt.want {
				t.Errorf("staleness %s, want %s", c.Staleness(), tt.want)
			}
		})
	}
}
