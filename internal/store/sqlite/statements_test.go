package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/sqlite"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// More texts are in use at once than are kept prepared, so each is dropped while others begin with it.
func TestStatementsArePushedOutWhileInUse(t *testing.T) {
	db := storetest.SQLite(t)
	var work sync.WaitGroup
	for worker := range 8 {
		work.Go(func() {
			for i := range 1200 {
				n := (i*7 + worker) % 400
				got, err := store.Get[int](t.Context(), db, fmt.Sprintf("SELECT %d + $1", n), i)
				if err != nil || got != n+i {
					t.Errorf("%d + %d is %d: %v", n, i, got, err)
					return
				}
			}
		})
	}
	work.Wait()
}

// A prepared text returns the current rows after the table changed.
func TestStatementAfterTheTableHasChanged(t *testing.T) {
	db := storetest.SQLite(t)
	count := func(want int) {
		t.Helper()
		for range 3 { // the first call does not keep it, the second prepares it, the third uses it
			if got, err := store.Get[int](t.Context(), db, "SELECT count(*) FROM st_changing"); err != nil || got != want {
				t.Errorf("%d rows, want %d: %v", got, want, err)
			}
		}
	}
	for _, step := range []struct {
		sql  string
		rows int
	}{
		{"CREATE TABLE st_changing (a integer)", 0},
		{"INSERT INTO st_changing VALUES (1), (2)", 2},
		{"ALTER TABLE st_changing ADD COLUMN b text", 2},
		{"DROP TABLE st_changing", -1},
		{"CREATE TABLE st_changing (c text)", 0},
	} {
		if _, err := db.Exec(t.Context(), step.sql); err != nil {
			t.Fatal(err)
		}
		if step.rows >= 0 {
			count(step.rows)
		} else if _, err := store.Get[int](t.Context(), db, "SELECT count(*) FROM st_changing"); err == nil {
			t.Error("a table that is gone was counted")
		}
	}
}

// While a query waits for a reader to prepare its text, others with the same text wait for a reader alone, and no longer than they want.
func TestNobodyWaitsForWhoPrepares(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "waiting.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	const text = "SELECT 42"
	if _, err := store.Get[int](t.Context(), db, text); err != nil { // from now on it is worth preparing
		t.Fatal(err)
	}
	var work sync.WaitGroup
	reading, done := make(chan struct{}), make(chan struct{})
	for range db.Readers() {
		work.Go(func() {
			if err := db.InReadTx(t.Context(), func(context.Context, store.Conn) error {
				reading <- struct{}{}
				<-done
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
		<-reading
	}
	work.Go(func() {
		if got, err := store.Get[int](t.Context(), db, text); err != nil || got != 42 {
			t.Errorf("%d, %v", got, err)
		}
	})
	for db.Waited() == 0 {
		runtime.Gosched()
	}
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := store.Get[int](ctx, db, text)
		left <- err
	}()
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who left was told %v", err)
	}
	// Nor does a text that pushes it out.
	for i := range 200 {
		if _, err := store.Get[int](ctx, db, fmt.Sprintf("SELECT %d", i)); !errors.Is(err, context.Canceled) {
			t.Errorf("who left was told %v", err)
		}
	}
	close(done)
	work.Wait()
}
