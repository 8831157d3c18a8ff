package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/store"
)

const (
	insertUser = "INSERT INTO st_user (id, name) VALUES ($1, $2)"
	countUsers = "SELECT count(*) FROM st_user"
)

var errTest = errors.New("an error of the test")

func constraintName(err error) string {
	if c, ok := errors.AsType[*store.ConstraintError](err); ok {
		return c.Constraint
	}
	return ""
}

func commit(t *testing.T, db store.DB) {
	err := db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
		if _, err := tx.Exec(ctx, insertUser, 1, "ann"); err != nil {
			return err
		}
		id, err := store.Get[int](ctx, tx, insertUser+" RETURNING id", 2, "bob")
		if err == nil && id != 2 {
			err = fmt.Errorf("RETURNING answered %d", id)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := get[int](t, db, countUsers); got != 2 {
		t.Errorf("%d rows, want 2", got)
	}
}

func rollback(t *testing.T, db store.DB) {
	err := db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
		if _, err := tx.Exec(ctx, insertUser, 1, "ann"); err != nil {
			return err
		}
		return errTest
	})
	if !errors.Is(err, errTest) {
		t.Errorf("InTx answered %v", err)
	}
	if got := get[int](t, db, countUsers); got != 0 {
		t.Errorf("%d rows, want none", got)
	}
}

func rollbackOnPanic(t *testing.T, db store.DB) {
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
			_, _ = tx.Exec(ctx, insertUser, 1, "ann")
			panic("of the test")
		})
	}()
	if got := get[int](t, db, countUsers); got != 0 {
		t.Errorf("%d rows, want none", got)
	}
	commit(t, db) // the connection still works
}

func cancelled(t *testing.T, db store.DB) {
	for what, goOn := range map[string]func(ctx context.Context, tx store.Conn) error{
		"a statement follows": func(ctx context.Context, tx store.Conn) error {
			_, err := tx.Exec(ctx, insertUser, 2, "bob")
			return err
		},
		"a statement with another context follows": func(ctx context.Context, tx store.Conn) error {
			_, err := tx.Exec(context.WithoutCancel(ctx), insertUser, 2, "bob")
			return err
		},
		"nothing follows": func(context.Context, store.Conn) error { return nil },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		err := db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
			if _, err := tx.Exec(ctx, insertUser, 1, "ann"); err != nil {
				return err
			}
			cancel()
			return goOn(ctx, tx)
		})
		if !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: InTx answered %v", what, err)
		}
		if got := get[int](t, db, countUsers); got != 0 {
			t.Errorf("%s: %d rows, want none", what, got)
		}
	}
	commit(t, db)
}

func failedStatement(t *testing.T, db store.DB) {
	addUsers(t, db, "ann")
	err := db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
		if _, err := tx.Exec(ctx, insertUser, 2, "bob"); err != nil {
			return err
		}
		if _, err := store.Select[int](ctx, tx, insertUser+" RETURNING id", 1, "again"); !store.IsConstraint(err, store.Unique) {
			t.Errorf("a duplicate: %v", err)
		}
		if _, err := tx.Exec(ctx, insertUser, 3, "eve"); !store.IsConstraint(err, store.Unique) {
			t.Errorf("a statement after the failed one: %v", err)
		}
		return nil
	})
	if !store.IsConstraint(err, store.Unique) {
		t.Errorf("InTx answered %v", err)
	}
	if got := get[int](t, db, countUsers); got != 1 {
		t.Errorf("%d rows, want 1", got)
	}
}

func attempts(t *testing.T, db store.DB) {
	err := db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
		add := func(id int, name string) error {
			_, err := tx.Exec(ctx, insertUser, id, name)
			return err
		}
		if err := add(1, "ann"); err != nil {
			return err
		}
		for what, c := range map[string]struct {
			fn   func() error
			want func(err error) bool
		}{
			"a failed statement": {
				func() error { return errors.Join(add(2, "bob"), add(1, "again")) },
				func(err error) bool { return store.IsConstraint(err, store.Unique) },
			},
			"a failed query": {func() error {
				_, err := store.Select[int](ctx, tx, insertUser+" RETURNING id", 1, "again")
				return err
			}, func(err error) bool { return store.IsConstraint(err, store.Unique) }},
			"text that cannot be kept": {func() error { return errors.Join(add(3, "cid"), add(4, "\x00")) }, func(err error) bool { return err != nil }},
			"a refusal":                {func() error { return errors.Join(add(5, "dan"), errTest) }, func(err error) bool { return errors.Is(err, errTest) }},
			"one in another": {func() error {
				if err := store.Attempt(ctx, tx, func() error { return add(1, "again") }); err == nil {
					t.Error("an inner attempt did not fail")
				}
				return errors.Join(add(6, "eve"), errTest)
			}, func(err error) bool { return errors.Is(err, errTest) }},
			"success": {func() error { return add(7, "fay") }, func(err error) bool { return err == nil }},
		} {
			if err := store.Attempt(ctx, tx, c.fn); !c.want(err) {
				t.Errorf("%s: %v", what, err)
			}
		}
		return add(8, "guy")
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := list[string](t, db, "SELECT name FROM st_user ORDER BY name"); !slices.Equal(got, []string{"ann", "fay", "guy"}) {
		t.Errorf("%v", got)
	}
}

func isolation(t *testing.T, db store.DB) {
	err := db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
		if _, err := tx.Exec(ctx, insertUser, 1, "ann"); err != nil {
			return err
		}
		if inside, err := store.Get[int](ctx, tx, countUsers); err != nil || inside != 1 {
			t.Errorf("inside: %d, %v", inside, err)
		}
		if outside := get[int](t, db, countUsers); outside != 0 {
			t.Errorf("outside: %d", outside)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func snapshot(t *testing.T, db store.DB) {
	addUsers(t, db, "ann")
	err := db.InReadTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
		if n, err := store.Get[int](ctx, tx, countUsers); err != nil || n != 1 {
			t.Errorf("before: %d, %v", n, err)
		}
		do(t, db, insertUser, 2, "bob")
		if n, err := store.Get[int](ctx, tx, countUsers); err != nil || n != 1 {
			t.Errorf("after another's commit: %d, %v", n, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if got := get[int](t, db, countUsers); got != 2 {
		t.Errorf("%d rows, want 2", got)
	}
}

func readOnly(t *testing.T, db store.DB) {
	err := db.InReadTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
		_, err := tx.Exec(ctx, insertUser, 1, "ann")
		return err
	})
	if err == nil {
		t.Error("InReadTx wrote")
	}
	if got := get[int](t, db, countUsers); got != 0 {
		t.Errorf("%d rows, want none", got)
	}
}

// together runs one function n times at once, and fails the test if one returns an error.
func together(t *testing.T, n int, work func(i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := work(i); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func noLostUpdate(t *testing.T, db store.DB) {
	const workers, each = 16, 20
	addUsers(t, db, "ann")
	together(t, workers, func(int) error {
		for range each {
			err := db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
				score, err := store.Get[int64](ctx, tx, "SELECT score FROM st_user WHERE id = 1")
				if err != nil {
					return err
				}
				_, err = tx.Exec(ctx, "UPDATE st_user SET score = $1 WHERE id = 1", score+1)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if got := get[int](t, db, "SELECT score FROM st_user WHERE id = 1"); got != workers*each {
		t.Errorf("counted %d, want %d", got, workers*each)
	}
}

// noWriteSkew lets two transactions each see the other one's row before both remove their own: one row must stay.
func noWriteSkew(t *testing.T, db store.DB) {
	for range 5 {
		do(t, db, "DELETE FROM st_user")
		addUsers(t, db, "admin", "admin")
		together(t, 2, func(i int) error {
			return db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
				admins, err := store.Get[int](ctx, tx, "SELECT count(*) FROM st_user WHERE name = 'admin'")
				if err != nil || admins < 2 {
					return err
				}
				_, err = tx.Exec(ctx, "UPDATE st_user SET name = 'nobody' WHERE id = $1", i+1)
				return err
			})
		})
		if got := get[int](t, db, "SELECT count(*) FROM st_user WHERE name = 'admin'"); got != 1 {
			t.Fatalf("%d administrators are left, want 1", got)
		}
	}
}

func readersGoOn(t *testing.T, db store.DB) {
	addUsers(t, db, "ann")
	err := db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
		if _, err := tx.Exec(ctx, "UPDATE st_user SET name = 'eve'"); err != nil {
			return err
		}
		reading, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if name, err := store.Get[string](reading, db, "SELECT name FROM st_user"); err != nil || name != "ann" {
			t.Errorf("Query: %q, %v", name, err)
		}
		return db.InReadTx(reading, func(ctx context.Context, tx store.Conn) error {
			name, err := store.Get[string](ctx, tx, "SELECT name FROM st_user")
			if name != "ann" {
				t.Errorf("InReadTx: %q", name)
			}
			return err
		})
	})
	if err != nil {
		t.Error(err)
	}
}

func readYourWrites(t *testing.T, db store.DB) {
	together(t, 4, func(worker int) error {
		for i := range 25 {
			id := worker*100 + i
			if _, err := db.Exec(t.Context(), insertUser, id, "x"); err != nil {
				return err
			}
			if _, err := store.Get[int](t.Context(), db, "SELECT id FROM st_user WHERE id = $1", id); err != nil {
				return fmt.Errorf("reading %d, just written: %w", id, err)
			}
		}
		return nil
	})
}

func contexts(t *testing.T, db store.DB) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for what, call := range map[string]func(ctx context.Context) error{
		"Query":    func(ctx context.Context) error { _, err := store.Select[int](ctx, db, countUsers); return err },
		"Exec":     func(ctx context.Context) error { _, err := db.Exec(ctx, insertUser, 1, "x"); return err },
		"Ping":     db.Ping,
		"InTx":     func(ctx context.Context) error { return db.InTx(ctx, nothing) },
		"InReadTx": func(ctx context.Context) error { return db.InReadTx(ctx, nothing) },
	} {
		if err := call(gone); !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s with a cancelled context: %v", what, err)
		}
		if err := call(late); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s past its deadline: %v", what, err)
		}
	}

	// A running statement is stopped.
	brief, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	const endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
	began := time.Now()
	if _, err := store.Select[int](brief, db, endless); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("an endless query: %v", err)
	}
	if took := time.Since(began); took > patience {
		t.Errorf("an endless query took %v", took)
	}
	if err := db.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func nothing(context.Context, store.Conn) error { return nil }

func afterClose(t *testing.T, db store.DB) {
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Ping: %v", err)
	}
	if _, err := db.Exec(t.Context(), insertUser, 1, "x"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Exec: %v", err)
	}
	if err := db.InTx(t.Context(), nothing); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("InTx: %v", err)
	}
}

func version(t *testing.T, db store.DB) {
	migrator := db.(store.Migrator)
	before, err := migrator.Version(t.Context())
	if err != nil || before < 1 {
		t.Errorf("version %d, %v", before, err)
	}
	if err := migrator.Migrate(t.Context()); err != nil {
		t.Errorf("migrating again: %v", err)
	}
	after, err := migrator.Version(t.Context())
	if err != nil || after != before {
		t.Errorf("version %d after %d, %v", after, before, err)
	}
	versions := list[int64](t, db, "SELECT version_id FROM ringfence_migration ORDER BY version_id")
	if !slices.IsSorted(versions) || versions[len(versions)-1] != after {
		t.Errorf("the table says %v", versions)
	}
}
