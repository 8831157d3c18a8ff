package tokens_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

// waitFor waits for a condition that becomes true in the background.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !done() {
		if ctx.Err() != nil {
			t.Fatal("it never happened")
		}
		runtime.Gosched()
	}
}

type result struct {
	p   *principal.Principal
	err error
}

// request asks for a token in the background.
func (f *fixture) request(ctx context.Context, token string) <-chan result {
	ch := make(chan result, 1)
	go func() {
		p, err := f.Principal(ctx, token)
		ch <- result{p, err}
	}()
	return ch
}

// hold blocks look-ups that have read the book until they are released.
func (f *fixture) hold() (release func()) {
	gate := make(chan struct{})
	f.book.setPause(func(ctx context.Context, _ string) error {
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return sync.OnceFunc(func() {
		f.book.setPause(nil)
		close(gate)
	})
}

// TestRevokedWhileLoading: the look-up read the token before the revocation; its result and its write to ristretto come
// afterwards.
func TestRevokedWhileLoading(t *testing.T) {
	for name, forget := range map[string]func(f *fixture, token string){
		"token": func(f *fixture, token string) { f.ForgetToken(tokens.DigestOf(token)) },
		"user":  func(f *fixture, _ string) { f.ForgetUser(alice) },
		"all":   func(f *fixture, _ string) { f.ForgetAll() },
		"lost":  func(f *fixture, _ string) { f.Distrust() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, tokens.Options{}, func(t *testing.T, f *fixture) {
				token := f.issue(alice)
				release := f.hold()
				before := f.request(t.Context(), token)
				synctest.Wait()
				f.book.set(token, nil)
				forget(f, token)
				after := f.request(t.Context(), token) // joins the look-up that has read the old state
				synctest.Wait()
				release()
				for _, ch := range []<-chan result{before, after} {
					if r := <-ch; !errors.Is(r.err, tokens.ErrUnknown) {
						t.Errorf("got %v, want unknown", r.err)
					}
				}
				if f.Stats().Retries == 0 {
					t.Error("nobody asked again")
				}
				f.settle() // the late write is in ristretto now
				f.mustRefuse(t, token, tokens.ErrUnknown)
			})
		})
	}
}

// TestLateWrite is ristretto's worst case: a result from before a revocation is written, or found again, after it.
func TestLateWrite(t *testing.T) {
	for name, revoke := range map[string]func(f *fixture, token string){
		"token": func(f *fixture, token string) { f.ForgetToken(tokens.DigestOf(token)) },
		"user":  func(f *fixture, _ string) { f.ForgetUser(alice) },
		"all":   func(f *fixture, _ string) { f.ForgetAll() },
		"lost and found": func(f *fixture, _ string) {
			f.Distrust()
			f.Trust()
		},
		"found out by a refresh": func(f *fixture, token string) {
			f.clock.forward(20 * time.Second)
			if _, err := f.Principal(t.Context(), token); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			cachedInBubble(t, tokens.Options{}, func(t *testing.T, f *fixture) {
				token := f.issue(alice)
				f.mustKnow(t, token)
				write := f.LateWrite(tokens.DigestOf(token))
				f.book.set(token, nil)
				revoke(f, token)
				for range 3 {
					write()
					f.mustRefuse(t, token, tokens.ErrUnknown)
				}
				f.clock.forward(3 * time.Second) // "unknown" ends before the old entry would be too old
				f.mustRefuse(t, token, tokens.ErrUnknown)
			})
		})
	}
}

// TestIssuedWhileLoading is the reverse: the look-up missed the token.
func TestIssuedWhileLoading(t *testing.T) {
	inBubble(t, tokens.Options{}, func(t *testing.T, f *fixture) {
		token := tokens.New()
		release := f.hold()
		before := f.request(t.Context(), token)
		synctest.Wait()
		f.book.set(token, f.principal(token, alice))
		f.Issued(tokens.DigestOf(token))
		after := f.request(t.Context(), token)
		synctest.Wait()
		release()
		<-before
		if r := <-after; r.err != nil {
			t.Errorf("a token that was issued is refused: %v", r.err)
		}
	})
}

// TestAlwaysForgotten checks that a request gives up if each of its look-ups is overtaken.
func TestAlwaysForgotten(t *testing.T) {
	bothWays(t, tokens.Options{}, func(t *testing.T, f *fixture) {
		token := f.issue(alice)
		f.book.setPause(func(context.Context, string) error {
			f.ForgetUser(alice)
			return nil
		})
		f.mustRefuse(t, token, store.ErrUnavailable)
		f.book.setPause(nil)
		f.mustKnow(t, token)
	})
}

// TestFirstCallerLeaves: the first caller may leave, and the others still get their result.
func TestFirstCallerLeaves(t *testing.T) {
	inBubble(t, tokens.Options{}, func(t *testing.T, f *fixture) {
		token := f.issue(alice)
		release := f.hold()
		ctx, leave := context.WithCancel(t.Context())
		first := f.request(ctx, token)
		synctest.Wait()
		second := f.request(t.Context(), token)
		synctest.Wait()
		leave()
		if r := <-first; !errors.Is(r.err, context.Canceled) || errors.Is(r.err, tokens.ErrUnknown) {
			t.Errorf("who left got %v", r.err)
		}
		release()
		if r := <-second; r.err != nil {
			t.Errorf("who stayed got %v", r.err)
		}
		if got := f.book.asked(); got != 1 {
			t.Errorf("%d look-ups", got)
		}
	})
}

func TestCoalesced(t *testing.T) {
	inBubble(t, tokens.Options{}, func(t *testing.T, f *fixture) {
		token := f.issue(alice)
		release := f.hold()
		var all []<-chan result
		for range 50 {
			all = append(all, f.request(t.Context(), token))
		}
		synctest.Wait()
		release()
		for _, ch := range all {
			if r := <-ch; r.err != nil {
				t.Error(r.err)
			}
		}
		if got := f.book.asked(); got != 1 {
			t.Errorf("%d look-ups for one token", got)
		}
	})
}

// TestSourceHangs checks that a look-up ends by its own timeout, and that the error then says that the source is unreachable,
// not that the token is unknown.
func TestSourceHangs(t *testing.T) {
	inBubble(t, tokens.Options{LoadTimeout: 3 * time.Second}, func(t *testing.T, f *fixture) {
		token := f.issue(alice)
		release := f.hold()
		start := time.Now()
		r := <-f.request(t.Context(), token)
		if !errors.Is(r.err, store.ErrUnavailable) || errors.Is(r.err, tokens.ErrUnknown) {
			t.Errorf("got %v", r.err)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("it took %s", took)
		}
		release()
		f.mustKnow(t, token)
	})
}

// TestUnseenWaitTheirTurn checks how many look-ups of new tokens a slow source gets at once, that a token seen before passes
// them, and when waiting ends.
func TestUnseenWaitTheirTurn(t *testing.T) {
	inBubble(t, tokens.Options{LoadTimeout: 3 * time.Second}, func(t *testing.T, f *fixture) {
		seen := f.issue(alice)
		f.mustKnow(t, seen)
		f.ForgetAll()
		release := f.hold()
		before := f.book.asked()
		var waiting []<-chan result
		for range 16 + 4096 {
			waiting = append(waiting, f.request(t.Context(), tokens.New()))
		}
		synctest.Wait()
		if got := f.book.asked() - before; got != 16 {
			t.Errorf("%d look-ups at once", got)
		}
		r := <-f.request(t.Context(), tokens.New())
		if r.err == nil || errors.Is(r.err, tokens.ErrUnknown) || errors.Is(r.err, store.ErrUnavailable) {
			t.Errorf("one too many got %v", r.err)
		}
		known := f.request(t.Context(), seen)
		synctest.Wait()
		if got := f.book.asked() - before; got != 17 {
			t.Errorf("the token that was seen before is not looked up")
		}
		time.Sleep(3 * time.Second) // in the bubble's time
		for _, ch := range waiting {
			if r := <-ch; !errors.Is(r.err, store.ErrUnavailable) {
				t.Errorf("got %v", r.err)
			}
		}
		<-known
		release()
		f.mustKnow(t, seen)
	})
}

func TestSourcePanics(t *testing.T) {
	bothWays(t, tokens.Options{}, func(t *testing.T, f *fixture) {
		token := f.issue(alice)
		f.book.setPause(func(context.Context, string) error { panic("a fault") })
		if _, err := f.Principal(t.Context(), token); err == nil || errors.Is(err, tokens.ErrUnknown) {
			t.Errorf("got %v", err)
		}
		f.book.setPause(nil)
		f.mustKnow(t, token)
	})
}

// TestCloseInUse closes a cache while it is read. The readers do not notice; then ristretto's goroutines end.
func TestCloseInUse(t *testing.T) {
	running := goleak.IgnoreCurrent()
	f := newFixture(t, tokens.Options{})
	token := f.issue(alice)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 2000 {
				if _, err := f.Principal(t.Context(), token); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	f.Close()
	f.Close()
	group.Wait()
	f.cached = false
	f.asks(t, 0, 2, func() {
		f.mustKnow(t, token)
		f.mustKnow(t, token)
	})
	waitFor(t, func() bool {
		runtime.GC()
		return goleak.Find(running) == nil
	})
}
