package storetest

import (
	"testing"

	"github.com/ringfence/ringfence/internal/store"
)

// Run runs the conformance suite. open returns a fresh migrated database.
func Run(t *testing.T, open func(t *testing.T) store.DB) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(t *testing.T, db store.DB)
	}{
		{"writes answer rows and counts", returning},
		{"ON CONFLICT", onConflict},
		{"NULLS LAST, LIMIT and OFFSET", pages},
		{"a recursive WITH reads and writes", recursive},
		{"LIKE with ESCAPE", like},
		{"every type comes back", types},
		{"NULL into pointers", nulls},
		{"types of expressions", expressions},
		{"times keep microseconds and order", times},
		{"JSON text", jsonText},
		{"Select and Get", selectAndGet},
		{"broken constraints have a kind and a name", constraints},
		{"broken constraints tell their columns", brokenColumns},
		{"deleting a row in use", restrict},
		{"text that cannot be kept", invalidText},
		{"now_utc is the clock", nowUTC},
		{"a JSON list is many rows", manyRows},
		{"fold", fold},
		{"has_line", hasLine},
		{"an index on fold", foldIndex},
		{"InTx commits", commit},
		{"InTx rolls back on an error", rollback},
		{"InTx rolls back on a panic", rollbackOnPanic},
		{"InTx ends with a cancelled context", cancelled},
		{"InTx is over after a failed statement", failedStatement},
		{"InTx goes on after an attempt that failed", attempts},
		{"InTx sees its own writes, others do not", isolation},
		{"a snapshot stays as it is", snapshot},
		{"InReadTx does not write", readOnly},
		{"no update is lost", noLostUpdate},
		{"no decision on old facts", noWriteSkew},
		{"readers do not wait for a writer", readersGoOn},
		{"a write is read by the next query", readYourWrites},
		{"a context ends a call", contexts},
		{"after Close", afterClose},
		{"Listen begins and ends", listen},
		{"Notify is part of the transaction", notify},
		{"the schema's version", version},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := open(t)
			makeTables(t, db)
			c.test(t, db)
		})
	}
}

// makeTables creates the suite's own tables, beside those of the schema.
func makeTables(t *testing.T, db store.DB) {
	t.Helper()
	blob, moment, id := "bytea", "timestamptz", "uuid"
	if db.Engine() == "sqlite" {
		blob, moment, id = "blob", "timestamp", "text"
	}
	for _, statement := range []string{
		`CREATE TABLE st_tenant (uuid ` + id + ` PRIMARY KEY, name text NOT NULL UNIQUE)`,
		`CREATE TABLE st_user (
			id integer PRIMARY KEY,
			tenant ` + id + ` REFERENCES st_tenant (uuid),
			name text NOT NULL,
			exten text,
			score bigint NOT NULL DEFAULT 0 CONSTRAINT st_score CHECK (score >= 0),
			CONSTRAINT st_user_exten UNIQUE (tenant, exten)
		)`,
		`CREATE TABLE st_child (user_id integer NOT NULL REFERENCES st_user (id) ON DELETE CASCADE, label text)`,
		`CREATE TABLE st_guard (user_id integer NOT NULL REFERENCES st_user (id) ON DELETE RESTRICT)`,
		`CREATE TABLE st_types (
			id integer PRIMARY KEY, yes boolean, big bigint, ratio double precision,
			words text, digest ` + blob + `, at ` + moment + `, list text, ref ` + id + `)`,
	} {
		do(t, db, statement)
	}
}

func do(t *testing.T, c store.Conn, sql string, args ...any) int64 {
	t.Helper()
	n, err := c.Exec(t.Context(), sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func get[T any](t *testing.T, c store.Conn, sql string, args ...any) T {
	t.Helper()
	v, err := store.Get[T](t.Context(), c, sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func list[T any](t *testing.T, c store.Conn, sql string, args ...any) []T {
	t.Helper()
	v, err := store.Select[T](t.Context(), c, sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func addUsers(t *testing.T, db store.DB, names ...string) {
	t.Helper()
	for i, name := range names {
		do(t, db, "INSERT INTO st_user (id, name) VALUES ($1, $2)", i+1, name)
	}
}
