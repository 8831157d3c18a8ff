package transaction

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// crowd is an engine whose turn is taken, and requests that wait for theirs.
type crowd struct {
	t            *testing.T
	engine       *Runner
	transactions *atomic.Int64
	leave        chan struct{}
	first        chan error
}

// counting counts the transactions that write, from 1, and lets one fail after its work.
type counting struct {
	store.DB

	n      *atomic.Int64
	failed func(n int64) error
}

func (d counting) InTx(ctx context.Context, fn func(ctx context.Context, c store.Conn) error) error {
	n := d.n.Add(1)
	return d.DB.InTx(ctx, func(ctx context.Context, c store.Conn) error { return errors.Join(fn(ctx, c), d.failed(n)) })
}

func newCrowd(t *testing.T, db store.DB, failed func(n int64) error) *crowd {
	t.Helper()
	if _, err := db.Exec(t.Context(), `CREATE TABLE st_batch (n bigint NOT NULL PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	c := &crowd{t: t, transactions: new(atomic.Int64), leave: make(chan struct{}), first: make(chan error, 1)}
	c.engine = &Runner{Base: declaration.Base{DB: counting{db, c.transactions, failed}}}
	began := make(chan struct{}, 1)
	go func() {
		c.first <- c.engine.InBatch(context.Background(), func(context.Context, store.Conn) error {
			began <- struct{}{}
			<-c.leave
			return nil
		}, nil)
	}()
	<-began
	return c
}

// wait begins a request, and returns when it waits for its turn.
func (c *crowd) wait(ctx context.Context, do func(ctx context.Context, conn store.Conn) error) <-chan error {
	c.t.Helper()
	return c.waitToRead(ctx, do, nil)
}

// waitToRead is wait of a request that reads something afterwards.
func (c *crowd) waitToRead(ctx context.Context, do func(ctx context.Context, conn store.Conn) error, after Reading) <-chan error {
	c.t.Helper()
	before := c.waiting()
	result := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				result <- fmt.Errorf("it panicked: %v", p)
			}
		}()
		result <- c.engine.InBatch(ctx, do, after)
	}()
	for c.waiting() == before {
		time.Sleep(time.Millisecond)
	}
	return result
}

// waiting returns how many goroutines wait for their turn, in InBatch itself.
func (c *crowd) waiting() (n int) {
	all := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(all[:runtime.Stack(all, true)]), "\n\n") {
		lines := strings.SplitN(stack, "\n", 3)
		if len(lines) > 1 && strings.Contains(lines[0], "[select") && strings.Contains(lines[1], ".InBatch(") {
			n++
		}
	}
	return n
}

// begin ends the first turn.
func (c *crowd) begin() {
	c.t.Helper()
	close(c.leave)
	if err := <-c.first; err != nil {
		c.t.Error(err)
	}
}

func insertNumber(n int) func(ctx context.Context, c store.Conn) error {
	return func(ctx context.Context, c store.Conn) error {
		_, err := c.Exec(ctx, `INSERT INTO st_batch (n) VALUES ($1)`, n)
		return err
	}
}

func (c *crowd) wantNumbers(want ...int) {
	c.t.Helper()
	got, err := store.Select[int](c.t.Context(), c.engine.DB, `SELECT n FROM st_batch ORDER BY n`)
	if err != nil || !slices.Equal(got, want) {
		c.t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// wantTransactions checks how many there were after the first.
func (c *crowd) wantTransactions(want int64) {
	c.t.Helper()
	if got := c.transactions.Load() - 1; got != want {
		c.t.Errorf("%d transactions, want %d", got, want)
	}
}

func succeeds(int64) error { return nil }

// Requests that wait share transactions, and each has the values of its own context. One that left is not done.
func TestBatch(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		type key struct{}
		c := newCrowd(t, db, succeeds)
		leaving, leave := context.WithCancel(t.Context())
		left := c.wait(leaving, insertNumber(100))
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		var results []<-chan error
		var want []int
		for n := range maxBatch + 2 {
			want = append(want, n)
			results = append(results, c.wait(context.WithValue(t.Context(), key{}, n), func(ctx context.Context, conn store.Conn) error {
				if ctx.Value(key{}) != n {
					return errors.New("another request's context")
				}
				return insertNumber(n)(ctx, conn)
			}))
		}
		c.begin()
		for _, r := range results {
			if err := <-r; err != nil {
				t.Error(err)
			}
		}
		c.wantNumbers(want...)
		c.wantTransactions(2)
	})
}

// A request that is refused, or panics, does not undo what others do.
func TestBatchApart(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		for name, wrong := range map[string]func(ctx context.Context, c store.Conn) error{
			"refused": func(context.Context, store.Conn) error { return errors.New("refused") },
			"after a row": func(ctx context.Context, c store.Conn) error {
				return errors.Join(insertNumber(9)(ctx, c), errors.New("no"))
			},
			"constraint": func(ctx context.Context, c store.Conn) error {
				return errors.Join(insertNumber(8)(ctx, c), insertNumber(8)(ctx, c))
			},
			"unavailable": func(ctx context.Context, c store.Conn) error {
				late, cancel := context.WithTimeout(ctx, 0)
				defer cancel()
				return insertNumber(9)(late, c)
			},
			"swallowed error": func(ctx context.Context, c store.Conn) error { _, _ = c.Exec(ctx, `SELECT nothing`); return nil },
			"panics":          func(context.Context, store.Conn) error { panic("a mistake") },
		} {
			t.Run(name, func(t *testing.T) {
				c := newCrowd(t, db, succeeds)
				defer func() { _, _ = db.Exec(t.Context(), `DROP TABLE st_batch`) }()
				one, two, three := c.wait(t.Context(), insertNumber(1)), c.wait(t.Context(), wrong), c.wait(t.Context(), insertNumber(3))
				c.begin()
				if err := errors.Join(<-one, <-three); err != nil {
					t.Error(err)
				}
				if err := <-two; err == nil {
					t.Error("it was not refused")
				}
				c.wantNumbers(1, 3)
			})
		}
	})
}

// If the commit fails, and nobody knows whether it was, nothing is done again. If it was undone, each is done by itself.
func TestBatchWithoutResult(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		for _, step := range []struct {
			fails        error
			wrong        error
			numbers      []int
			transactions int64
		}{
			{store.ErrUnavailable, store.ErrUnavailable, nil, 1},
			{errors.New("some other error"), nil, []int{1, 2, 3}, 4},
		} {
			c := newCrowd(t, db, func(n int64) error {
				if n == 2 { // the one that they share
					return step.fails
				}
				return nil
			})
			var results []<-chan error
			for n := range 3 {
				results = append(results, c.wait(t.Context(), insertNumber(n+1)))
			}
			c.begin()
			for _, r := range results {
				if err := <-r; !errors.Is(err, step.wrong) {
					t.Errorf("%v, want %v", err, step.wrong)
				}
			}
			c.wantNumbers(step.numbers...)
			c.wantTransactions(step.transactions)
			if _, err := db.Exec(t.Context(), `DROP TABLE st_batch`); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A panic after the commit does nothing twice, and the log does not tell what the request contains.
func TestBatchPanicsAfterCommit(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	storetest.Each(t, func(t *testing.T, db store.DB) {
		for name, register := range map[string]func(ctx context.Context){
			"after the commit": func(ctx context.Context) { AfterCommit(ctx, func() { panic("the PIN is 4711") }) },
			"notify":           func(ctx context.Context) { Emit(ctx, Event{Resource: "numbers"}) },
		} {
			t.Run(name, func(t *testing.T) {
				log.Reset()
				c := newCrowd(t, db, succeeds)
				defer func() { _, _ = db.Exec(t.Context(), `DROP TABLE st_batch`) }()
				c.engine.Notify = func([]Event) { panic("the PIN is 4711") }
				var results []<-chan error
				for n := range 3 {
					results = append(results, c.wait(t.Context(), func(ctx context.Context, conn store.Conn) error {
						register(ctx)
						return insertNumber(n+1)(ctx, conn)
					}))
				}
				c.begin()
				for _, r := range results {
					if err := <-r; !errors.Is(err, store.ErrUnavailable) {
						t.Errorf("%v, want %v", err, store.ErrUnavailable)
					}
				}
				c.wantNumbers(1, 2, 3)
				c.wantTransactions(1)
				if got := log.String(); !strings.Contains(got, "batch.go") || strings.Contains(got, "4711") {
					t.Errorf("the log: %s", got)
				}
			})
		}
	})
}

// silent is a database whose transactions wait for an answer until their context ends: at once, or when they are used.
type silent struct {
	store.DB

	atOnce bool
	n      *atomic.Int64
}

func (d silent) Exec(context.Context, string, ...any) (int64, error) { return 0, nil }

func (d silent) InTx(ctx context.Context, fn func(ctx context.Context, c store.Conn) error) error {
	if d.n.Add(1) > 1 && d.atOnce {
		return d.wait(ctx)
	}
	return fn(ctx, nil)
}

func (d silent) wait(ctx context.Context) error {
	<-ctx.Done()
	return fmt.Errorf("%w: %w", store.ErrUnavailable, ctx.Err())
}

// A database that is silent does not hold up for ever those who wait.
func TestBatchSilence(t *testing.T) {
	for _, atOnce := range []bool{true, false} {
		t.Run(fmt.Sprintf("at once %t", atOnce), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := silent{atOnce: atOnce, n: new(atomic.Int64)}
				c := newCrowd(t, db, succeeds)
				var results []<-chan error
				for range 3 {
					results = append(results, c.wait(t.Context(), func(ctx context.Context, _ store.Conn) error { return db.wait(ctx) }))
				}
				began := time.Now()
				c.begin()
				for _, r := range results {
					if err := <-r; !errors.Is(err, store.ErrUnavailable) {
						t.Errorf("%v, want %v", err, store.ErrUnavailable)
					}
				}
				if took := time.Since(began); took > 4*turnFor {
					t.Errorf("it took %v, want one turn together and one of each", took)
				}
			})
		})
	}
}

// relative is a reading that is done together with those of the same family.
type relative struct {
	family string
	fails  func() error
	read   bool
	// times is how many readings there were.
	times *int
}

func (r *relative) WasRead() bool { return r.read }

func (r *relative) ReadAll(_ context.Context, others []Reading) error {
	*r.times++
	if err := r.fails(); err != nil {
		return err
	}
	for _, s := range others {
		if o := s.(*relative); o.family == r.family {
			o.read = true
		}
	}
	return nil
}

// What requests read after their shared commit is read once for each kind of reply. If that fails, or panics, no request does.
func TestBatchReading(t *testing.T) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(before) })
	storetest.Each(t, func(t *testing.T, db store.DB) {
		for name, step := range map[string]struct {
			fails func() error
			read  bool
			times int
		}{
			"once for each kind": {func() error { return nil }, true, 2},
			"fails":              {func() error { return store.ErrUnavailable }, false, 1},
			"panics":             {func() error { panic("a mistake") }, false, 1},
		} {
			t.Run(name, func(t *testing.T) {
				c := newCrowd(t, db, succeeds)
				defer func() { _, _ = db.Exec(t.Context(), `DROP TABLE st_batch`) }()
				times := 0
				readings, results := []*relative{}, []<-chan error{}
				for n := range 6 {
					r := &relative{family: fmt.Sprint(n % 2), fails: step.fails, times: &times}
					readings, results = append(readings, r), append(results, c.waitToRead(t.Context(), insertNumber(n), r))
				}
				c.begin()
				for i, r := range results {
					if err := <-r; err != nil {
						t.Error(err)
					}
					if readings[i].read != step.read {
						t.Errorf("%d was read: %t", i, readings[i].read)
					}
				}
				if times != step.times {
					t.Errorf("read %d times, want %d", times, step.times)
				}
				c.wantNumbers(0, 1, 2, 3, 4, 5)
				c.wantTransactions(1)
			})
		}
	})
}

// What could not be added up is added up the next time.
func TestBatchAddUp(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		e := &Runner{Base: declaration.Base{DB: db}}
		gone, leave := context.WithCancel(t.Context())
		leave()
		e.addUp(gone, addUpAfter)
		if got := e.uncounted.Load(); got != addUpAfter {
			t.Errorf("%d changes after a failure, want %d", got, addUpAfter)
		}
		e.addUp(t.Context(), 1)
		if got := e.uncounted.Load(); got != 0 {
			t.Errorf("%d changes after a success", got)
		}
	})
}
