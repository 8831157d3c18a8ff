package tokens_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/tokens"
)

// book is a Source whose tokens are in a map. It reads the map first and then calls pause: a test can change the map while a
// look-up that has already read it is running.
type book struct {
	mu    sync.Mutex
	known map[string]*principal.Principal
	err   error
	loads int
	pause func(ctx context.Context, token string) error
}

func newBook() *book { return &book{known: make(map[string]*principal.Principal)} }

func (b *book) Shape(token string) bool { return tokens.WellFormed(token) }

func (b *book) Load(ctx context.Context, token string, _ tokens.Digest) (*principal.Principal, error) {
	b.mu.Lock()
	b.loads++
	p, err, pause := b.known[token], b.err, b.pause
	b.mu.Unlock()
	if pause != nil {
		if err := pause(ctx, token); err != nil {
			return nil, err
		}
	}
	switch {
	case err != nil:
		return nil, err
	case p == nil:
		return nil, tokens.ErrUnknown
	}
	return p, nil
}

func (b *book) set(token string, p *principal.Principal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known[token] = p
}

func (b *book) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *book) setPause(pause func(ctx context.Context, token string) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pause = pause
}

func (b *book) asked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.loads
}

// clock stands still until the test moves it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fixture is a cache of a book, with a clock that the test moves.
type fixture struct {
	*tokens.Cache
	book  *book
	clock *clock
	acl   *acl.Set
	// cached is false if the case runs on a cache that keeps nothing.
	cached bool
}

func newFixture(t *testing.T, o tokens.Options) *fixture {
	t.Helper()
	f := &fixture{book: newBook(), clock: newClock(), cached: true}
	o.Now = f.clock.Now
	if o.Capacity == 0 {
		o.Capacity = 1000
	}
	c, err := tokens.NewCache(f.book, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	f.Cache = c
	if f.acl, err = acl.Compile([]string{"confd.#"}); err != nil {
		t.Fatal(err)
	}
	return f
}

// bothWays runs a case with a cache, and with one that keeps nothing: the results are the same, only the number of look-ups
// differs.
func bothWays(t *testing.T, o tokens.Options, run func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Run("cached", func(t *testing.T) { run(t, newFixture(t, o)) })
	t.Run("uncached", func(t *testing.T) {
		f := newFixture(t, o)
		f.Close()
		f.cached = false
		run(t, f)
	})
}

// inBubble is bothWays in a bubble: time stands still unless all goroutines wait, and a test can wait until they do.
func inBubble(t *testing.T, o tokens.Options, run func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Run("cached", func(t *testing.T) { cachedInBubble(t, o, run) })
	t.Run("uncached", func(t *testing.T) {
		cachedInBubble(t, o, func(t *testing.T, f *fixture) {
			f.CloseNow()
			f.cached = false
			run(t, f)
		})
	})
}

func cachedInBubble(t *testing.T, o tokens.Options, run func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, o)
		defer f.CloseNow()
		run(t, f)
	})
}

// issue makes a token of a user that lives for an hour.
func (f *fixture) issue(user string) string {
	token := tokens.New()
	f.book.set(token, f.principal(token, user))
	return token
}

func (f *fixture) principal(token, user string) *principal.Principal {
	return &principal.Principal{
		TokenID:     tokens.ID(tokens.DigestOf(token)),
		UserUUID:    user,
		SessionUUID: "5e5510ff-0000-4000-8000-000000000000",
		Affiliation: &principal.Affiliation{TenantUUID: "7e9a9700-0000-4000-8000-000000000000", Purpose: "user"},
		ACL:         f.acl,
		ExpiresAt:   principal.At(f.clock.Now().Add(time.Hour)),
	}
}

// settle waits for ristretto, if there is one.
func (f *fixture) settle() {
	if f.cached {
		f.Settle()
	}
}

// mustKnow asks for a good token, returns its principal, and waits until ristretto has it.
func (f *fixture) mustKnow(t *testing.T, token string) *principal.Principal {
	t.Helper()
	p, err := f.Principal(t.Context(), token)
	if err != nil {
		t.Fatalf("a good token is refused: %v", err)
	}
	if p.TokenID != tokens.ID(tokens.DigestOf(token)) {
		t.Fatalf("the principal is that of token %s", p.TokenID)
	}
	f.settle()
	return p
}

// mustRefuse asks for a token and expects the error.
func (f *fixture) mustRefuse(t *testing.T, token string, want error) {
	t.Helper()
	p, err := f.Principal(t.Context(), token)
	if p != nil || !errors.Is(err, want) {
		t.Fatalf("got principal %v and error %v, want %v", p != nil, err, want)
	}
}

// asks runs f and fails unless the book was asked so many times meanwhile; without a cache each call asks.
func (f *fixture) asks(t *testing.T, cached, uncached int, run func()) {
	t.Helper()
	before := f.book.asked()
	run()
	want := uncached
	if f.cached {
		want = cached
	}
	if got := f.book.asked() - before; got != want {
		t.Errorf("the source was asked %d times, want %d", got, want)
	}
}

const (
	alice = "a11ce000-0000-4000-8000-000000000000"
	bob   = "b0b00000-0000-4000-8000-000000000000"
)
