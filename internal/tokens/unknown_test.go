package tokens_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/tokens"
)

func TestUnknownIsRemembered(t *testing.T) {
	bothWays(t, tokens.Options{}, func(t *testing.T, f *fixture) {
		token := tokens.New()
		refuse := func() {
			for range 5 {
				f.mustRefuse(t, token, tokens.ErrUnknown)
			}
		}
		f.asks(t, 1, 1, refuse)
		f.clock.forward(2 * time.Second)
		f.asks(t, 1, 1, refuse)
		if got := f.Stats().NegativeHits; got != 8 {
			t.Errorf("%d negative hits", got)
		}
	})
}

// TestIssuedAfterUnknown: a token is tried before it exists.
func TestIssuedAfterUnknown(t *testing.T) {
	bothWays(t, tokens.Options{}, func(t *testing.T, f *fixture) {
		token := tokens.New()
		f.mustRefuse(t, token, tokens.ErrUnknown)
		f.book.set(token, f.principal(token, alice))
		f.Issued(tokens.DigestOf(token))
		f.mustKnow(t, token)

		elsewhere := tokens.New() // issued by another node, which says nothing
		f.mustRefuse(t, elsewhere, tokens.ErrUnknown)
		f.book.set(elsewhere, f.principal(elsewhere, alice))
		f.clock.forward(2 * time.Second)
		f.mustKnow(t, elsewhere)
	})
}

func TestShed(t *testing.T) {
	bothWays(t, tokens.Options{UnknownRate: 5}, func(t *testing.T, f *fixture) {
		known, issued, newcomer := f.issue(alice), f.issue(bob), f.issue(bob)
		f.mustKnow(t, known)
		f.Issued(tokens.DigestOf(issued))
		for range 5 {
			f.mustRefuse(t, tokens.New(), tokens.ErrUnknown)
		}
		for range 3 {
			_, err := f.Principal(t.Context(), tokens.New())
			refusal := apierr.As(err)
			if refusal == nil || refusal.Status() != http.StatusTooManyRequests || refusal.RetryAfter != time.Second {
				t.Fatalf("got %v, want 429", err)
			}
		}
		if got := f.Stats().Throttled; got != 3 {
			t.Errorf("%d throttled", got)
		}
		f.mustKnow(t, known)
		f.ForgetAll()
		f.mustKnow(t, known) // looked up although others are refused: it was seen before
		f.mustKnow(t, issued)
		if _, err := f.Principal(t.Context(), newcomer); apierr.As(err) == nil {
			t.Errorf("a token that was never seen: %v", err)
		}
		f.clock.forward(time.Second)
		f.mustKnow(t, newcomer)
	})
}

// TestNewcomersAreNotRationed checks that good tokens use up no allowance: a node that restarts meets all its clients at once.
func TestNewcomersAreNotRationed(t *testing.T) {
	bothWays(t, tokens.Options{UnknownRate: 5}, func(t *testing.T, f *fixture) {
		for range 100 {
			f.mustKnow(t, f.issue(alice))
		}
	})
}

// TestFlood: unknown tokens do not evict known ones.
func TestFlood(t *testing.T) {
	flood := 200_000
	if testing.Short() {
		flood = 20_000
	}
	f := newFixture(t, tokens.Options{Capacity: 600, UnknownRate: 1_000_000})
	idle := make([]string, 500)
	for i := range idle {
		idle[i] = f.issue(alice)
		f.mustKnow(t, idle[i])
	}
	kept := 0
	for _, token := range idle {
		before := f.book.asked()
		f.mustKnow(t, token)
		if f.book.asked() == before {
			kept++
		}
	}
	if kept < len(idle)*9/10 {
		t.Fatalf("only %d of %d tokens were kept at all", kept, len(idle))
	}
	for range flood {
		f.mustRefuse(t, tokens.New(), tokens.ErrUnknown)
	}
	f.asks(t, len(idle)-kept, 0, func() {
		for _, token := range idle {
			f.mustKnow(t, token)
		}
	})
}
