package tokens_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

// library answers batches with the number of the question. Each question waits until it is released.
type library struct {
	tokens.Batches[int]

	mu      sync.Mutex
	asked   [][]tokens.Digest
	unknown map[tokens.Digest]bool
	fail    func(some []tokens.Digest) error
	release chan struct{} // closed: questions do not wait
}

func newLibrary() *library {
	l := &library{unknown: make(map[tokens.Digest]bool), release: make(chan struct{})}
	l.Ask = func(ctx context.Context, some []tokens.Digest) (map[tokens.Digest]int, error) {
		l.mu.Lock()
		l.asked = append(l.asked, some)
		n, fail, release := len(l.asked), l.fail, l.release
		l.mu.Unlock()
		select {
		case <-release:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if fail != nil {
			if err := fail(some); err != nil {
				return nil, err
			}
		}
		found := make(map[tokens.Digest]int)
		for _, d := range some {
			if !l.unknown[d] {
				found[d] = n
			}
		}
		return found, nil
	}
	return l
}

func (l *library) questions() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.asked)
}

type numbered struct {
	question int
	err      error
}

func (l *library) get(ctx context.Context, d tokens.Digest, urgent bool) <-chan numbered {
	ch := make(chan numbered, 1)
	go func() {
		n, err := l.Get(ctx, d, urgent)
		ch <- numbered{n, err}
	}()
	return ch
}

func digest(n int) (d tokens.Digest) {
	d[0], d[1] = byte(n), byte(n>>8)
	return d
}

// A lone look-up is asked about at once. Those that come meanwhile share the next question, equal ones a place in it.
func TestBatchesGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, began := newLibrary(), time.Now()
		first := l.get(t.Context(), digest(0), true)
		synctest.Wait()
		if l.questions() != 1 {
			t.Fatal("the first look-up waits")
		}
		l.unknown[digest(5)] = true
		var later []<-chan numbered
		for i := range 30 {
			later = append(later, l.get(t.Context(), digest(i%10), true))
		}
		synctest.Wait()
		close(l.release)
		if r := <-first; r.question != 1 || r.err != nil {
			t.Errorf("the first: %+v", r)
		}
		for i, ch := range later {
			r := <-ch
			if i%10 == 5 != errors.Is(r.err, tokens.ErrUnknown) || r.err == nil && r.question != 2 {
				t.Errorf("look-up %d: %+v", i, r)
			}
		}
		if l.questions() != 2 || len(l.asked[1]) != 10 {
			t.Errorf("%d questions, the last about %d tokens", l.questions(), len(l.asked[len(l.asked)-1]))
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %s", took)
		}
	})
}

// Look-ups that may wait begin a question after 20 ms, or when they are many, or when one comes that may not.
func TestBatchesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLibrary()
		close(l.release)
		began := time.Now()
		a, b := l.get(t.Context(), digest(1), false), l.get(t.Context(), digest(2), false)
		if ra, rb := <-a, <-b; ra.question != 1 || rb.question != 1 {
			t.Errorf("%+v, %+v", ra, rb)
		}
		if took := time.Since(began); took != 20*time.Millisecond {
			t.Errorf("after %s", took)
		}

		began = time.Now()
		a = l.get(t.Context(), digest(3), false)
		synctest.Wait()
		b = l.get(t.Context(), digest(4), true)
		if ra, rb := <-a, <-b; ra.question != 2 || rb.question != 2 {
			t.Errorf("%+v, %+v", ra, rb)
		}
		var all []<-chan numbered
		for i := range 3 * tokens.MaxBatch {
			all = append(all, l.get(t.Context(), digest(i), false))
		}
		for _, ch := range all {
			if r := <-ch; r.err != nil {
				t.Error(r.err)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %s", took)
		}
		if l.questions() != 5 {
			t.Errorf("%d questions", l.questions())
		}
	})
}

// A question that hangs holds nobody else up for long, ends by its own timeout, and says that the source is unreachable.
func TestBatchesPassOneThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, began := newLibrary(), time.Now()
		hangs := l.get(t.Context(), digest(1), true)
		synctest.Wait()
		l.mu.Lock()
		l.release = make(chan struct{}) // the first question still waits for the old one
		close(l.release)
		l.mu.Unlock()
		if r := <-l.get(t.Context(), digest(2), true); r.err != nil {
			t.Error(r.err)
		}
		if took := time.Since(began); took != 20*time.Millisecond {
			t.Errorf("it waited %s", took)
		}
		if r := <-hangs; !errors.Is(r.err, store.ErrUnavailable) || errors.Is(r.err, tokens.ErrUnknown) {
			t.Errorf("got %+v", r)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it hung for %s", took)
		}
	})
}

// Who leaves takes nobody else along.
func TestBatchesLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLibrary()
		ctx, leave := context.WithCancel(t.Context())
		var left, stayed []<-chan numbered
		for i := range 4 { // the first of them begins a question, the others gather
			left = append(left, l.get(ctx, digest(i), true))
			stayed = append(stayed, l.get(t.Context(), digest(i), true))
			synctest.Wait()
		}
		leave()
		for _, ch := range left {
			if r := <-ch; !errors.Is(r.err, context.Canceled) || !errors.Is(r.err, store.ErrUnavailable) {
				t.Errorf("who left: %+v", r)
			}
		}
		close(l.release)
		for _, ch := range stayed {
			if r := <-ch; r.err != nil {
				t.Errorf("who stayed: %v", r.err)
			}
		}
	})
}

// An unreachable source is an error for all. Any other error fails only the tokens that cause it, also if it is a panic.
func TestBatchesFail(t *testing.T) {
	for name, c := range map[string]struct {
		fail func() error
		all  bool
	}{
		"unreachable": {func() error { return store.ErrUnavailable }, true},
		"fault":       {func() error { return errors.New("damaged") }, false},
		"panic":       {func() error { panic("damaged") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLibrary()
				close(l.release)
				l.fail = func(some []tokens.Digest) error {
					for _, d := range some {
						if d == digest(2) {
							return c.fail()
						}
					}
					return nil
				}
				var all []<-chan numbered
				for i := range 5 {
					all = append(all, l.get(t.Context(), digest(i), false))
				}
				for i, ch := range all {
					r := <-ch
					if (r.err != nil) != (c.all || i == 2) || errors.Is(r.err, tokens.ErrUnknown) {
						t.Errorf("token %d: %+v", i, r)
					}
				}
				if want := map[bool]int{true: 1, false: 6}[c.all]; l.questions() != want {
					t.Errorf("%d questions", l.questions())
				}
			})
		})
	}
}
