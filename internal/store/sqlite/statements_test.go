package sqlite_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
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

// A text that runs while its own rows are read is another statement.
func TestStatementWithinItself(t *testing.T) {
	db := storetest.SQLite(t)
	const text = "SELECT value FROM json_each($1) ORDER BY value"
	for range 2 { // the second time it is kept
		var sums []int
		err := db.InReadTx(t.Context(), func(ctx context.Context, c store.Conn) error {
			outer, err := c.Query(ctx, text, "[1, 2, 3]")
			if err != nil {
				return err
			}
			defer outer.Close()
			for outer.Next() {
				var n int
				if err := outer.Scan(&n); err != nil {
					return err
				}
				inner, err := store.Select[int](ctx, c, text, "[10, 20]")
				if err != nil {
					return err
				}
				sums = append(sums, n+inner[0]+inner[1])
			}
			return outer.Err()
		})
		if err != nil || !slices.Equal(sums, []int{31, 32, 33}) {
			t.Errorf("%v, %v", sums, err)
		}
	}
}
