package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
)

// brokenColumns checks that a broken constraint names its table and columns, however it was declared and broken.
func brokenColumns(t *testing.T, db store.DB) {
	for _, statement := range []string{
		`CREATE TABLE st_thing (id integer NOT NULL PRIMARY KEY, tenant integer NOT NULL, name text NOT NULL, email text, "kind" text NOT NULL,
			context text, number text, lower text, CONSTRAINT st_thing_name_key UNIQUE (tenant, name))`,
		`CREATE UNIQUE INDEX st_thing_email ON st_thing (lower(email))`,
		`CREATE UNIQUE INDEX st_thing_number ON st_thing (number, context)`,
		`CREATE UNIQUE INDEX st_thing_fold ON st_thing (fold(lower), tenant)`,
		`CREATE UNIQUE INDEX st_thing_main ON st_thing (context) WHERE kind = 'main name'`,
		`CREATE UNIQUE INDEX st_thing_only ON st_thing ((kind = 'only')) WHERE kind = 'only'`,
		`CREATE TABLE st_pair (thing_id integer NOT NULL REFERENCES st_thing (id) ON DELETE CASCADE, other integer NOT NULL, position integer CHECK (position >= 0),
			PRIMARY KEY (thing_id, other))`,
		`CREATE TABLE st_holder (id integer NOT NULL PRIMARY KEY, thing_id integer NOT NULL REFERENCES st_thing (id) ON DELETE RESTRICT)`,
		`INSERT INTO st_thing (id, tenant, name, email, kind, context, number, lower)
			VALUES (1, 1, 'one', 'a@x', 'main name', 'c', '1', 'Zoé'), (2, 1, 'two', 'b@x', 'only', 'd', NULL, NULL)`,
		`INSERT INTO st_pair (thing_id, other) VALUES (1, 1)`,
		`INSERT INTO st_holder (id, thing_id) VALUES (1, 2)`,
	} {
		do(t, db, statement)
	}
	thing := func(values string) string {
		return "INSERT INTO st_thing (id, tenant, name, email, kind, context, number, lower) VALUES (" + values + ")"
	}
	for _, c := range []struct {
		name, sql string
		kind      store.ConstraintKind
		table     string
		columns   []string
	}{
		{"primary key", thing("1, 2, 'x', NULL, '', NULL, NULL, NULL"), store.Unique, "st_thing", []string{"id"}},
		{"two columns", thing("3, 1, 'one', NULL, '', NULL, NULL, NULL"), store.Unique, "st_thing", []string{"tenant", "name"}},
		{"by an update", "UPDATE st_thing SET name = 'two' WHERE id = 1", store.Unique, "st_thing", []string{"tenant", "name"}},
		{"an index, in the order of the table", thing("3, 2, 'x', NULL, '', 'c', '1', NULL"), store.Unique, "st_thing", []string{"context", "number"}},
		{"an expression", thing("3, 2, 'x', 'A@X', '', NULL, NULL, NULL"), store.Unique, "st_thing", []string{"email"}},
		{"a column with a function's name", thing("3, 1, 'x', NULL, '', NULL, NULL, 'ZOE'"), store.Unique, "st_thing", []string{"tenant", "lower"}},
		{"a condition", thing("3, 2, 'x', NULL, 'main name', 'c', NULL, NULL"), store.Unique, "st_thing", []string{"kind", "context"}},
		{"an expression and a condition", thing("3, 2, 'x', NULL, 'only', NULL, NULL, NULL"), store.Unique, "st_thing", []string{"kind"}},
		{"primary key of two", "INSERT INTO st_pair (thing_id, other) VALUES (1, 1)", store.Unique, "st_pair", []string{"thing_id", "other"}},
		{"not null", "INSERT INTO st_pair (thing_id) VALUES (1)", store.NotNull, "st_pair", []string{"other"}},
		{"foreign key", "INSERT INTO st_pair (thing_id, other) VALUES (9, 1)", store.ForeignKey, "st_pair", []string{"thing_id"}},
		{"foreign key of another table", "DELETE FROM st_thing WHERE id = 2", store.ForeignKey, "st_holder", []string{"thing_id"}},
		{"check", "INSERT INTO st_pair (thing_id, other, position) VALUES (1, 2, -1)", store.Check, "st_pair", []string{"position"}},
	} {
		table, columns := c.table, c.columns
		if db.Engine() == "sqlite" && (c.kind == store.ForeignKey || c.kind == store.Check) {
			table, columns = "", nil
		}
		check := func(how string, err error) {
			t.Helper()
			broken, ok := errors.AsType[*store.ConstraintError](err)
			if !ok || broken.Kind != c.kind || broken.Table != table || !slices.Equal(broken.Columns, columns) {
				t.Errorf("%s by %s: %+v, want %s %v", c.name, how, err, table, columns)
				if ok {
					t.Errorf("it tells %s %v", broken.Table, broken.Columns)
				}
			}
		}
		exec := func(ctx context.Context, conn store.Conn) error {
			_, err := conn.Exec(ctx, c.sql)
			return err
		}
		query := func(ctx context.Context, conn store.Conn) error {
			_, err := store.Select[int](ctx, conn, c.sql+" RETURNING 1 AS one")
			return err
		}
		check("Exec", exec(t.Context(), db))
		check("Select", query(t.Context(), db))
		check("Exec in a transaction", db.InTx(t.Context(), exec))
		check("Select in a transaction", db.InTx(t.Context(), query))
	}
}
