package tokens_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

// tree is a scripted Tenanted source: a book whose tokens are within the tenants of a map. Nobody can bring a real auth server to
// answer in these ways at these moments.
type tree struct {
	*book
	within map[string]bool
	asks   int
	hold   chan struct{} // if set, an answer waits for it
}

func (s *tree) Within(ctx context.Context, token, tenant string) (bool, error) {
	s.mu.Lock()
	s.asks++
	within, known, err, hold := s.within[tenant], s.known[token] != nil, s.err, s.hold
	s.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	switch {
	case err != nil:
		return false, err
	case tenant == "panic":
		panic("a bug of the source")
	case !known:
		return false, tokens.ErrUnknown
	}
	return within, nil
}

func (s *tree) set(tenant string, within bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.within[tenant] = within
}

func (s *tree) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asks
}

func newTree(t *testing.T, o tokens.Options) (*tree, *fixture) {
	t.Helper()
	f := newFixture(t, o)
	s := &tree{book: f.book, within: map[string]bool{}}
	o.Now = f.clock.Now
	c, err := tokens.NewCache(s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	f.Cache = c
	return s, f
}

func TestWithin(t *testing.T) {
	s, f := newTree(t, tokens.Options{Staleness: 12 * time.Second})
	token, below, beside := f.issue(alice), uuid.NewString(), uuid.NewString()
	s.set(below, true)
	want := func(tenant string, within bool, asks int) {
		t.Helper()
		before := s.asked()
		for range 3 {
			got, err := f.Within(t.Context(), token, tenant)
			if err != nil || got != within {
				t.Errorf("%t, %v", got, err)
			}
		}
		if got := s.asked() - before; got != asks {
			t.Errorf("asked %d times, want %d", got, asks)
		}
	}
	want(below, true, 1)
	want(beside, false, 1)

	// A tenant that moves is followed: out within the staleness, in within two seconds.
	s.set(below, false)
	s.set(beside, true)
	f.clock.forward(2 * time.Second)
	want(beside, true, 1)
	want(below, true, 0)
	f.clock.forward(10 * time.Second)
	want(below, false, 1)

	// Another token's answer is its own.
	other := f.issue(bob)
	s.set(below, true)
	if got, err := f.Within(t.Context(), other, below); err != nil || !got {
		t.Errorf("%t, %v", got, err)
	}
	want(below, false, 0)

	// Nobody is let in while the server is away, beyond the staleness.
	f.book.fail(store.ErrUnavailable)
	if got, err := f.Within(t.Context(), other, below); err != nil || !got {
		t.Errorf("%t, %v", got, err)
	}
	f.clock.forward(12 * time.Second)
	if got, err := f.Within(t.Context(), other, below); !errors.Is(err, store.ErrUnavailable) || got {
		t.Errorf("%t, %v", got, err)
	}
	f.book.fail(nil)
	if got, err := f.Within(t.Context(), other, "panic"); err == nil || got {
		t.Errorf("%t, %v", got, err)
	}
}

// A token that has ended meanwhile is forgotten with the answer.
func TestWithinOfARevokedToken(t *testing.T) {
	s, f := newTree(t, tokens.Options{})
	token, below := f.issue(alice), uuid.NewString()
	s.set(below, true)
	f.mustKnow(t, token)
	f.book.set(token, nil)
	if got, err := f.Within(t.Context(), token, below); !errors.Is(err, tokens.ErrUnknown) || got {
		t.Errorf("%t, %v", got, err)
	}
	f.mustRefuse(t, token, tokens.ErrUnknown)
}

// Questions about one tenant at one time are one; a caller who leaves takes nobody along.
func TestWithinIsAskedOnce(t *testing.T) {
	s, f := newTree(t, tokens.Options{})
	token, below := f.issue(alice), uuid.NewString()
	s.set(below, true)
	s.hold = make(chan struct{})
	impatient, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	left := make(chan error)
	go func() {
		_, err := f.Within(impatient, token, below)
		left <- err
	}()
	for s.asked() == 0 {
		time.Sleep(time.Millisecond)
	}
	for range 20 {
		all.Go(func() {
			if got, err := f.Within(t.Context(), token, below); err != nil || !got {
				t.Errorf("%t, %v", got, err)
			}
		})
	}
	leave()
	if err := <-left; !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	close(s.hold)
	all.Wait()
	if got := s.asked(); got != 1 {
		t.Errorf("asked %d times", got)
	}
}

// Who names one foreign tenant after another is slowed down; tenants that were confirmed are not.
func TestWithinIsRationed(t *testing.T) {
	s, f := newTree(t, tokens.Options{UnknownRate: 40, Staleness: 10 * time.Second})
	token, below := f.issue(alice), uuid.NewString()
	s.set(below, true)
	for asked := -1; s.asked() != asked; { // until the answer is kept: a cache under load may drop one
		asked = s.asked()
		if _, err := f.Within(t.Context(), token, below); err != nil {
			t.Fatal(err)
		}
	}
	f.clock.forward(10 * time.Second)
	// A long flood, in which every place for an answer is asked for, does not make the known tenant an unknown one.
	for i := range 30_000 {
		_, _ = f.Within(t.Context(), token, fmt.Sprint("flood ", i))
		f.clock.forward(15 * time.Millisecond)
	}
	var shed error
	for i := 0; i < 1000 && shed == nil; i++ {
		_, shed = f.Within(t.Context(), token, fmt.Sprint(i))
	}
	if e := apierr.As(shed); e == nil || e.Kind != apierr.TooMany {
		t.Fatalf("%v", shed)
	}
	if got, err := f.Within(t.Context(), token, below); err != nil || !got {
		t.Errorf("%t, %v", got, err)
	}
}

// A source without tenants lets nobody into one.
func TestWithinNobody(t *testing.T) {
	f := newFixture(t, tokens.Options{})
	if got, err := f.Within(t.Context(), f.issue(alice), uuid.NewString()); err == nil || got {
		t.Errorf("%t, %v", got, err)
	}
}
