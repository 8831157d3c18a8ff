package storetest

import (
	"slices"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
)

func returning(t *testing.T, db store.DB) {
	type user struct {
		ID   int    `db:"id"`
		Name string `db:"name"`
	}
	got := list[user](t, db, "INSERT INTO st_user (id, name) VALUES ($1, $2), ($3, $4) RETURNING id, name", 1, "ann", 2, "bob")
	if want := []user{{1, "ann"}, {2, "bob"}}; !slices.Equal(got, want) {
		t.Errorf("INSERT answered %v, want %v", got, want)
	}
	if got := get[int64](t, db, "UPDATE st_user SET score = score + $1 WHERE name = $2 RETURNING score", 5, "bob"); got != 5 {
		t.Errorf("UPDATE answered %d, want 5", got)
	}
	if n := do(t, db, "UPDATE st_user SET score = $1", 1); n != 2 {
		t.Errorf("UPDATE touched %d rows, want 2", n)
	}
	if n := do(t, db, "UPDATE st_user SET score = 2 WHERE id = $1", 99); n != 0 {
		t.Errorf("UPDATE of nothing touched %d rows", n)
	}
	if got := list[int](t, db, "DELETE FROM st_user WHERE id = $1 RETURNING id", 1); !slices.Equal(got, []int{1}) {
		t.Errorf("DELETE answered %v", got)
	}
	// The number of a placeholder counts, not where it is first used.
	if got := get[string](t, db, "SELECT name FROM st_user WHERE id = $2 AND name = $1", "bob", 2); got != "bob" {
		t.Errorf("got %q", got)
	}
}

func onConflict(t *testing.T, db store.DB) {
	addUsers(t, db, "ann")
	if n := do(t, db, "INSERT INTO st_user (id, name) VALUES (1, 'other') ON CONFLICT DO NOTHING"); n != 0 {
		t.Errorf("DO NOTHING touched %d rows", n)
	}
	const upsert = "INSERT INTO st_user (id, name) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING name"
	if got := get[string](t, db, upsert, 1, "eve"); got != "eve" {
		t.Errorf("DO UPDATE answered %q", got)
	}
	if got := list[string](t, db, "SELECT name FROM st_user"); !slices.Equal(got, []string{"eve"}) {
		t.Errorf("the table holds %v", got)
	}
}

func pages(t *testing.T, db store.DB) {
	for i, exten := range []any{"300", nil, "100", nil, "200"} {
		do(t, db, "INSERT INTO st_user (id, name, exten) VALUES ($1, 'x', $2)", i+1, exten)
	}
	const page = "SELECT id FROM st_user ORDER BY exten NULLS LAST, id LIMIT $1 OFFSET $2"
	if got := list[int](t, db, page, 4, 0); !slices.Equal(got, []int{3, 5, 1, 2}) {
		t.Errorf("ascending: %v", got)
	}
	if got := list[int](t, db, "SELECT id FROM st_user ORDER BY exten DESC NULLS LAST, id DESC"); !slices.Equal(got, []int{1, 5, 3, 4, 2}) {
		t.Errorf("descending: %v", got)
	}
	if got := list[int](t, db, page, 4, 10); len(got) != 0 {
		t.Errorf("past the last page: %v", got)
	}
	if got := get[int](t, db, "SELECT count(*) FROM st_user"); got != 5 {
		t.Errorf("counted %d", got)
	}
}

func recursive(t *testing.T, db store.DB) {
	got := list[int](t, db, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) SELECT i FROM n`, 4)
	if !slices.Equal(got, []int{1, 2, 3, 4}) {
		t.Errorf("counted %v", got)
	}
	const write = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3)
		INSERT INTO st_user (id, name) SELECT i, 'x' FROM n WHERE true RETURNING id`
	if got := list[int](t, db, write); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("wrote %v", got)
	}
	if got := get[int](t, db, "\n SELECT\ncount(*)\nFROM st_user"); got != 3 {
		t.Errorf("the table holds %d", got)
	}
}

func like(t *testing.T, db store.DB) {
	addUsers(t, db, "100%", "1000", `a\b`, "a_b", "axb", "É100%")
	for _, c := range []struct {
		pattern string
		want    []int
	}{
		{`%100\%%`, []int{1, 6}},
		{`%100%`, []int{1, 2, 6}},
		{`a\_b`, []int{4}},
		{`a\\b`, []int{3}},
		{`e%`, []int{6}},
	} {
		const search = `SELECT id FROM st_user WHERE fold(name) LIKE fold($1) ESCAPE '\' ORDER BY id`
		if got := list[int](t, db, search, c.pattern); !slices.Equal(got, c.want) {
			t.Errorf("%s found %v, want %v", c.pattern, got, c.want)
		}
	}
}

func constraints(t *testing.T, db store.DB) {
	const tenant = "6f2c0a3e-1d54-4c39-9a42-1f0f6b1f5f6a"
	do(t, db, "INSERT INTO st_tenant (uuid, name) VALUES ($1, 'one')", tenant)
	do(t, db, "INSERT INTO st_user (id, tenant, name, exten) VALUES (1, $1, 'ann', '100')", tenant)
	for _, c := range []struct {
		name, sql        string
		kind             store.ConstraintKind
		postgres, sqlite string
	}{
		{"primary key", "INSERT INTO st_user (id, name) VALUES (1, 'x')", store.Unique, "st_user_pkey", "st_user.id"},
		{
			"unique", "INSERT INTO st_user (id, tenant, name, exten) SELECT 2, tenant, name, exten FROM st_user",
			store.Unique, "st_user_exten", "st_user.tenant, st_user.exten",
		},
		{"foreign key", "INSERT INTO st_child (user_id) VALUES (99)", store.ForeignKey, "st_child_user_id_fkey", ""},
		{"not null", "INSERT INTO st_user (id, name) VALUES (3, NULL)", store.NotNull, "st_user.name", "st_user.name"},
		{"check", "INSERT INTO st_user (id, name, score) VALUES (4, 'x', -1)", store.Check, "st_score", "st_score"},
	} {
		want := map[string]string{"postgres": c.postgres, "sqlite": c.sqlite}[db.Engine()]
		check := func(how string, err error) {
			t.Helper()
			if !store.IsConstraint(err, c.kind) {
				t.Errorf("%s by %s: %v", c.name, how, err)
			} else if got := constraintName(err); got != want {
				t.Errorf("%s by %s: constraint %q, want %q", c.name, how, got, want)
			}
		}
		_, err := db.Exec(t.Context(), c.sql)
		check("Exec", err)
		_, err = store.Select[int](t.Context(), db, c.sql+" RETURNING 1 AS one")
		check("Select", err)
	}
	if got := get[int](t, db, "SELECT count(*) FROM st_user"); got != 1 {
		t.Errorf("%d rows after only refused writes", got)
	}
}

func restrict(t *testing.T, db store.DB) {
	addUsers(t, db, "ann", "bob")
	do(t, db, "INSERT INTO st_child (user_id, label) VALUES (1, 'a'), (2, 'b')")
	do(t, db, "INSERT INTO st_guard (user_id) VALUES (2)")
	do(t, db, "DELETE FROM st_user WHERE id = 1")
	if _, err := db.Exec(t.Context(), "DELETE FROM st_user WHERE id = 2"); !store.IsConstraint(err, store.ForeignKey) {
		t.Errorf("deleting a row that is held: %v", err)
	}
	if got := list[string](t, db, "SELECT label FROM st_child"); !slices.Equal(got, []string{"b"}) {
		t.Errorf("children left: %v", got)
	}
}
