package confdsvc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A page of a long list does not read the list to tell its total, and the total is right, whatever created or deleted the rows.
func TestTotalsAreKept(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var (
			mu     sync.Mutex
			counts []string
		)
		w := newWorld(t, storetest.Watch(db, func(sql string, _ []any) {
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(sql, "count(*)") {
				counts = append(counts, sql)
			}
		}))
		a, a1 := w.as(t, "a"), w.as(t, "a1")
		var created sync.WaitGroup
		for n := range 4 {
			created.Go(func() { a.Do("POST", "/users", object{"firstname": fmt.Sprint(n)}).Want(201) })
		}
		created.Wait()
		user := a1.Create("/users", object{"firstname": "of a1"})
		a.Do("POST", "/users", object{"firstname": "1", "email": "not an address"}).Want(400)
		gone := a.Create("/users", object{"firstname": "gone"})
		undone := errors.New("undone")
		if err := db.InTx(t.Context(), func(ctx context.Context, c store.Conn) error {
			if _, err := c.Exec(ctx, "DELETE FROM confd_user"); err != nil {
				return err
			}
			return undone
		}); !errors.Is(err, undone) {
			t.Fatal(err)
		}
		a.Do("DELETE", fmt.Sprintf("/users/%v", gone["uuid"]), nil).Want(204)
		for query, want := range map[string]int{"limit=2": 4, "limit=2&recurse=true": 5, "limit=1&offset=9": 4, "limit=2&search=o": 0, "limit=1&firstname=1": 1} {
			counts = nil
			got := a.Get("/users?" + query).List()
			if got.Total != want {
				t.Errorf("%s: a total of %d, want %d", query, got.Total, want)
			}
			if !strings.Contains(query, "name") && !strings.Contains(query, "search") && len(counts) > 0 {
				t.Errorf("%s counts: %q", query, counts)
			}
		}
		if _, err := db.Exec(t.Context(), "DELETE FROM confd_user WHERE id = $1", user["id"]); err != nil {
			t.Fatal(err)
		}
		for range 2 { // adding up changes nothing
			if err := transaction.AddUp(t.Context(), db); err != nil {
				t.Fatal(err)
			}
		}
		if rows, err := store.Get[int](t.Context(), db, "SELECT count(*) FROM row_count"); err != nil || rows != 1 {
			t.Errorf("%d rows, %v", rows, err)
		}
		for tenant, want := range map[string]int{"a": 4, "a1": 0, "b": 0} {
			if got, err := store.Get[int](t.Context(), db, "SELECT CAST(coalesce(sum(n), 0) AS bigint) FROM row_count WHERE table_name = 'confd_user' AND tenant_uuid = $1", w.tenants[tenant]); err != nil || got != want {
				t.Errorf("tenant %s: %d, %v, want %d", tenant, got, err, want)
			}
		}
	})
}
