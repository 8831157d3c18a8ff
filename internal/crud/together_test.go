package crud

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// crowd is an engine whose turn is taken, and requests that wait for theirs.
type crowd struct {
	t            *testing.T
	engine       *Engine
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
	if _, err := db.Exec(t.Context(), `CREATE TABLE st_together (n bigint NOT NULL PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	c := &crowd{t: t, transactions: new(atomic.Int64), leave: make(chan struct{}), first: make(chan error, 1)}
	c.engine = &Engine{DB: counting{db, c.transactions, failed}}
	began := make(chan struct{}, 1)
	go func() {
		c.first <- c.engine.inTurn(context.Background(), func(context.Context, store.Conn) error {
			began <- struct{}{}
			<-c.leave
			return nil
		})
	}()
	<-began
	return c
}

// wait begins a request, and returns when it waits for its turn.
func (c *crowd) wait(ctx context.Context, do func(ctx context.Context, conn store.Conn) error) <-chan error {
	c.t.Helper()
	before := c.waiting()
	result := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				result <- fmt.Errorf("it panicked: %v", p)
			}
		}()
		result <- c.engine.inTurn(ctx, do)
	}()
	for c.waiting() == before {
		time.Sleep(time.Millisecond)
	}
	return result
}

func (c *crowd) waiting() int {
	c.engine.nesting.mu.Lock()
	defer c.engine.nesting.mu.Unlock()
	return len(c.engine.nesting.waiting)
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
		_, err := c.Exec(ctx, `INSERT INTO st_together (n) VALUES ($1)`, n)
		return err
	}
}

func (c *crowd) wantNumbers(want ...int) {
	c.t.Helper()
	got, err := store.Select[int](c.t.Context(), c.engine.DB, `SELECT n FROM st_together ORDER BY n`)
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
func TestTogether(t *testing.T) {
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
		for n := range maxTogether + 2 {
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
func TestTogetherApart(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		for name, wrong := range map[string]func(ctx context.Context, c store.Conn) error{
			"refused": func(context.Context, store.Conn) error { return errors.New("refused") },
			"after a row": func(ctx context.Context, c store.Conn) error {
				return errors.Join(insertNumber(9)(ctx, c), errors.New("no"))
			},
			"constraint": func(ctx context.Context, c store.Conn) error {
				return errors.Join(insertNumber(8)(ctx, c), insertNumber(8)(ctx, c))
			},
			"swallowed error": func(ctx context.Context, c store.Conn) error { _, _ = c.Exec(ctx, `SELECT nothing`); return nil },
			"panics":          func(context.Context, store.Conn) error { panic("a mistake") },
		} {
			t.Run(name, func(t *testing.T) {
				c := newCrowd(t, db, succeeds)
				defer func() { _, _ = db.Exec(t.Context(), `DROP TABLE st_together`) }()
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

// If nobody knows whether a transaction was committed, nothing of it is done again. If it was undone, each is done by itself.
func TestTogetherWithoutResult(t *testing.T) {
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
			if _, err := db.Exec(t.Context(), `DROP TABLE st_together`); err != nil {
				t.Fatal(err)
			}
		}
	})
}
