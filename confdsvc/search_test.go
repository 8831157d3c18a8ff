package confdsvc_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A search is expensive. It runs once, and its matches are looked up by their keys.
func TestSearchIsMadeOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var searches []string
		w := newWorld(t, storetest.Watch(db, func(sql string, _ []any) {
			if strings.Contains(sql, "LIKE") {
				searches = append(searches, sql)
			}
		}))
		c := w.as(t, "a")
		for _, name := range []string{"Martin", "Martina", "Alice"} {
			c.Create("/users", object{"firstname": name})
		}
		for query, want := range map[string]int{"search=martin&limit=10": 2, "search=martin&order=firstname&direction=desc&limit=1&offset=1": 1, "search=zz&limit=10": 0} {
			searches = nil
			if got := c.Get("/users?" + query).List(); len(got.Items) != want || len(searches) != 1 {
				t.Errorf("%s: %d users, with %d searches: %q", query, len(got.Items), len(searches), searches)
			}
		}
	})
}

// SQLite finds the users of a number from the number, without reading the lines of all users.
func TestUsersAreFoundFromTheirNumber(t *testing.T) {
	db := storetest.SQLite(t)
	var plans []string
	w := newWorld(t, storetest.Watch(db, func(sql string, args []any) {
		if !strings.Contains(sql, "confd_extension x") && !strings.Contains(sql, "confd_user_number") {
			return
		}
		plan, err := store.Select[struct {
			ID, Parent, Notused int
			Detail              string
		}](t.Context(), db, "EXPLAIN QUERY PLAN "+sql, args...)
		if err != nil {
			t.Error(err)
		}
		for _, step := range plan {
			plans = append(plans, step.Detail)
		}
	}))
	w.as(t, "a").Get("/users?exten=1000").Want(200)
	w.as(t, "a").Get("/users?exten=1000,1001").Want(200)
	if len(plans) == 0 || slices.ContainsFunc(plans, func(step string) bool { return strings.HasPrefix(step, "SCAN ") }) {
		t.Errorf("it reads whole tables: %q", plans)
	}
}
