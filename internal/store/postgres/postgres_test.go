package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/postgres"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/internal/store/storetest/pgserver"
)

// With this variable the test binary is another node on the database that it names: one that migrates it, and then writes.
const childDSN = "RINGFENCE_TEST_CHILD_DSN"

func TestMain(m *testing.M) {
	if dsn := os.Getenv(childDSN); dsn != "" {
		if err := child(dsn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func child(dsn string) error {
	ctx := context.Background()
	db, err := postgres.Open(ctx, dsn, postgres.Options{})
	if err != nil {
		return err
	}
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	made, err := store.Get[bool](ctx, db, "SELECT count(*) > 0 FROM pg_class WHERE relname = 'st_crash'")
	if err != nil || !made {
		return err
	}
	first, err := store.Get[int64](ctx, db, "SELECT coalesce(max(id), 0) + 1 FROM st_crash")
	if err != nil {
		return err
	}
	return storetest.CrashMain(db, first, os.Stdout)
}

func childProcess(t *testing.T, dsn string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childDSN+"="+dsn)
	return cmd
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.DB {
		t.Helper()
		return storetest.Postgres(t)
	})
}

// patience is how long a test waits for an event.
const patience = time.Minute

func open(t *testing.T, dsn string, o postgres.Options) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), dsn, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func do(t *testing.T, c store.Conn, sql string) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func get[T any](t *testing.T, c store.Conn, sql string, args ...any) T {
	t.Helper()
	v, err := store.Get[T](t.Context(), c, sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// eventually calls try until it returns nil.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("after %v still: %v", patience, err)
		}
	}
}

// private is a server of the test's own, which it may stop and kill.
func private(t *testing.T) *pgserver.Server {
	t.Helper()
	server, err := pgserver.Start(t.Context(), false)
	if errors.Is(err, pgserver.ErrNoPrograms) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, server) })
	return server
}

func remove(t *testing.T, server *pgserver.Server) {
	t.Helper()
	if t.Failed() {
		t.Log(server.Log())
	}
	if err := server.Remove(); err != nil {
		t.Error(err)
	}
}

func TestSettings(t *testing.T) {
	dsn := storetest.PostgresDSN(t)
	settings := func(db *postgres.DB) string {
		var all []string
		for _, name := range []string{"application_name", "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "jit"} {
			all = append(all, get[string](t, db, "SELECT current_setting($1)", name))
		}
		return strings.Join(all, " ")
	}
	if got, want := settings(open(t, dsn, postgres.Options{})), "ringfence 30s 10s 30s off"; got != want {
		t.Errorf("by default %s, want %s", got, want)
	}
	if got, want := settings(open(t, dsn, postgres.Options{StatementTimeout: time.Minute, LockTimeout: time.Second, IdleInTxTimeout: time.Hour})), "ringfence 1min 1s 1h off"; got != want {
		t.Errorf("by Options %s, want %s", got, want)
	}
	db := open(t, dsn+"&statement_timeout=7000&application_name=mine&pool_max_conns=3&options=-c%20lock_timeout%3D2000", postgres.Options{StatementTimeout: time.Minute, MaxConns: 9})
	if got, want := settings(db), "mine 7s 2s 30s off"; got != want {
		t.Errorf("by the address %s, want %s", got, want)
	}
	if got := db.Pool().Config().MaxConns; got != 3 {
		t.Errorf("a pool of %d, want 3", got)
	}
}

func TestLimits(t *testing.T) {
	dsn := storetest.PostgresDSN(t)
	slow := open(t, dsn, postgres.Options{MaxConns: 1, StatementTimeout: 50 * time.Millisecond})
	if _, err := slow.Exec(t.Context(), "SELECT pg_sleep(600)"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a slow statement: %v", err)
	}
	busy := open(t, dsn, postgres.Options{MaxConns: 1, AcquireTimeout: 50 * time.Millisecond})
	eventually(t, func() error { // the first connection too must succeed in this time
		var inner error
		err := busy.InTx(t.Context(), func(ctx context.Context, _ store.Conn) error {
			_, inner = busy.Exec(ctx, "SELECT 1")
			return nil
		})
		if err == nil && !errors.Is(inner, store.ErrUnavailable) {
			t.Errorf("a busy pool: %v", inner)
		}
		return err
	})
	for _, db := range []*postgres.DB{slow, busy} { // neither is harmed
		eventually(t, func() error { return db.Ping(t.Context()) })
	}
}

func TestCancellingKeepsTheConnection(t *testing.T) {
	db := open(t, storetest.PostgresDSN(t), postgres.Options{MaxConns: 1})
	eventually(t, func() error { // a server that takes a second to cancel a statement loses the connection
		before := get[int](t, db, "SELECT pg_backend_pid()")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, nil)
		defer cancel()
		if _, err := db.Exec(ctx, "SELECT pg_sleep(600)"); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a statement past its deadline: %v", err)
		}
		if after := get[int](t, db, "SELECT pg_backend_pid()"); after != before {
			return errors.New("the connection was lost")
		}
		return nil
	})
}

// A transaction is undone although its caller has gone: otherwise its connection is lost with it.
func TestUndoingOutlivesTheCaller(t *testing.T) {
	db := open(t, storetest.PostgresDSN(t), postgres.Options{MaxConns: 1})
	before := get[int](t, db, "SELECT pg_backend_pid()")
	for what, in := range map[string]func(ctx context.Context, fn func(ctx context.Context, tx store.Conn) error) error{"InTx": db.InTx, "InReadTx": db.InReadTx} {
		ctx, cancel := context.WithCancel(t.Context())
		err := in(ctx, func(ctx context.Context, tx store.Conn) error {
			if _, err := store.Get[int](ctx, tx, "SELECT 1"); err != nil {
				return err
			}
			cancel()
			return ctx.Err()
		})
		if after := get[int](t, db, "SELECT pg_backend_pid()"); !errors.Is(err, context.Canceled) || after != before {
			t.Errorf("%s: %v, and the connection is another: %t", what, err, after != before)
		}
	}
}

func TestDeadlockRunsAgain(t *testing.T) {
	db := open(t, storetest.PostgresDSN(t), postgres.Options{})
	do(t, db, "CREATE TABLE d (id int PRIMARY KEY, n int NOT NULL)")
	do(t, db, "INSERT INTO d VALUES (1, 0), (2, 0)")
	first := [2]chan struct{}{make(chan struct{}), make(chan struct{})} // closed when that transaction has its first lock
	answers := make(chan error, 2)
	runs := make(chan int, 100)
	for i := range 2 {
		go func() {
			met := false
			answers <- db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
				runs <- i
				if _, err := tx.Exec(ctx, "UPDATE d SET n = n + 1 WHERE id = $1", i+1); err != nil {
					return err
				}
				if !met {
					met = true
					close(first[i])
					<-first[1-i]
				}
				_, err := tx.Exec(ctx, "UPDATE d SET n = n + 1 WHERE id = $1", 2-i)
				return err
			})
		}()
	}
	for range 2 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if got := get[int](t, db, "SELECT sum(n) FROM d"); got != 4 {
		t.Errorf("counted %d, want 4", got)
	}
	if len(runs) < 3 {
		t.Errorf("%d runs: nothing collided", len(runs))
	}
}

// The columns of a constraint are found even if transactions hold all connections of the pool.
func TestColumnsOfAConstraintWithABusyPool(t *testing.T) {
	const conns = 4
	db := open(t, storetest.PostgresDSN(t), postgres.Options{MaxConns: conns})
	do(t, db, "CREATE TABLE a (b integer, c integer, UNIQUE (b, c))")
	do(t, db, "INSERT INTO a (b, c) VALUES (1, 1)")
	var all, done sync.WaitGroup
	all.Add(conns)
	for range conns {
		done.Go(func() {
			var once sync.Once // a transaction may run again
			err := db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
				if _, err := tx.Exec(ctx, "SELECT 1"); err != nil {
					return err
				}
				once.Do(all.Done)
				all.Wait()
				_, err := tx.Exec(ctx, "INSERT INTO a (b, c) VALUES (1, 1)")
				return err
			})
			broken, ok := errors.AsType[*store.ConstraintError](err)
			if !ok || !slices.Equal(broken.Columns, []string{"b", "c"}) {
				t.Errorf("%v, %+v", err, broken)
			}
		})
	}
	done.Wait()
}

// The outcome of a commit whose connection is lost is unknown: it does not run again.
func TestLostCommitIsUnavailable(t *testing.T) {
	db := open(t, storetest.PostgresDSN(t), postgres.Options{})
	do(t, db, "CREATE TABLE c (id int)")
	do(t, db, "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END'")
	do(t, db, "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON c DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()")
	runs := 0
	answer := make(chan error, 1)
	go func() {
		answer <- db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
			runs++
			_, err := tx.Exec(ctx, "INSERT INTO c VALUES (1)")
			return err
		})
	}()
	eventually(t, func() error {
		if get[int](t, db, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()") == 0 {
			return errors.New("nothing sleeps in its commit")
		}
		return nil
	})
	if err := <-answer; !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("InTx answered %v", err)
	}
	if runs != 1 {
		t.Errorf("fn ran %d times", runs)
	}
	eventually(t, func() error { return db.Ping(t.Context()) })
}

func TestListenerComesBack(t *testing.T) {
	db := open(t, storetest.PostgresDSN(t), postgres.Options{})
	heard := storetest.Listen(t, db, "revoked")
	for range 3 {
		storetest.Expect(t, heard, storetest.Heard{Event: "ready"})
		if err := db.Notify(t.Context(), db, "revoked", "x"); err != nil {
			t.Fatal(err)
		}
		storetest.Expect(t, heard, storetest.Heard{Event: "payload", Payload: "x"})
		if n := get[int](t, db, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()`); n != 1 {
			t.Fatalf("%d listening connections", n)
		}
		storetest.Expect(t, heard, storetest.Heard{Event: "lost"})
	}
	storetest.Expect(t, heard, storetest.Heard{Event: "ready"})
}

func BenchmarkCreate(b *testing.B) { storetest.BenchmarkCreate(b, storetest.Postgres(b)) }
