package store_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringfence/ringfence/internal/store"
)

// However many ask, the database is asked once at a time, and not again within a second. Who leaves does not end it for others.
func TestProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		answer := make(chan error)
		p := store.NewProbe(func(ctx context.Context) error {
			asked.Add(1)
			select {
			case err := <-answer:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		leaving, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { left <- p.Ask(leaving) }()
		synctest.Wait()
		var work sync.WaitGroup
		results := make(chan error, 100)
		for range cap(results) {
			work.Go(func() { results <- p.Ask(t.Context()) })
		}
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("who left was told %v", err)
		}
		away := errors.New("away")
		answer <- away
		work.Wait()
		for range cap(results) {
			if err := <-results; !errors.Is(err, away) {
				t.Errorf("told %v", err)
			}
		}
		<-time.After(999 * time.Millisecond) // of the test's own clock
		if err := p.Ask(t.Context()); !errors.Is(err, away) || asked.Load() != 1 {
			t.Errorf("within a second: %v, asked %d times", err, asked.Load())
		}
		<-time.After(time.Millisecond)
		go func() { answer <- nil }()
		if err := p.Ask(t.Context()); err != nil || asked.Load() != 2 {
			t.Errorf("a second later: %v, asked %d times", err, asked.Load())
		}
		<-time.After(time.Second)
		began := time.Now()
		if err := p.Ask(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 2*time.Second {
			t.Errorf("a database that does not answer: %v, after %s", err, time.Since(began))
		}
	})
}

// All that ask a database that was opened late share one question.
func TestLatePingsOnce(t *testing.T) {
	t.Parallel()
	db := &counted{}
	l := store.NewLate()
	if err := l.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("before it is open: %v", err)
	}
	l.Set(db)
	for range 100 {
		if err := l.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n := db.pings.Load(); n < 1 || n > 10 { // one, unless this takes seconds
		t.Errorf("the database was asked %d times", n)
	}
}

type counted struct {
	store.DB

	pings atomic.Int64
}

func (c *counted) Ping(context.Context) error {
	c.pings.Add(1)
	return nil
}
