package sqlite_test

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/sqlite"
)

// TestWritersTakeTurns: who waits for the writer gets it in the order of asking, so that long work in pieces, which asks again after
// each piece, does not pass the others.
func TestWritersTakeTurns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "turns.sqlite")
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		db, err := sqlite.Open(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		var (
			served []int
			all    sync.WaitGroup
			free   = make(chan struct{})
		)
		const writers = 32
		for i := range writers {
			all.Go(func() {
				err := db.InTx(ctx, func(context.Context, store.Conn) error {
					served = append(served, i) // one at a time, by what is tested
					if i == 0 {
						<-free
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // it has the writer, or waits for it
		}
		close(free)
		all.Wait()
		if !slices.IsSorted(served) || len(served) != writers {
			t.Errorf("served in the order %v, want the order of asking", served)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}
