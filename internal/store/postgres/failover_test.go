package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/postgres"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// writers write until stop is called, which returns the acknowledged rows. Meanwhile the only errors allowed are
// store.ErrUnavailable, and a duplicate of a row that was written although its commit was not confirmed.
type writers struct {
	mu           sync.Mutex
	acknowledged []int64
	cancel       context.CancelFunc
	done         chan struct{}
}

func startWriting(t *testing.T, db store.DB) *writers {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &writers{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		storetest.WriteForEver(ctx, db, 1, func(id int64) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.acknowledged = append(w.acknowledged, id)
		}, func(err error) {
			if !errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil {
				t.Errorf("a write was answered %v", err)
			}
		})
	}()
	return w
}

func (w *writers) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acknowledged)
}

// more waits for n more writes.
func (w *writers) more(t *testing.T, n int) {
	t.Helper()
	want := w.count() + n
	eventually(t, func() error {
		if w.count() < want {
			return errors.New("no writes are acknowledged")
		}
		return nil
	})
}

func (w *writers) stop() []int64 {
	w.cancel()
	<-w.done
	return w.acknowledged
}

func TestKilledWriterLosesNothing(t *testing.T) {
	dsn := storetest.PostgresDSN(t)
	db := open(t, dsn, postgres.Options{})
	do(t, db, storetest.CrashTable)
	storetest.AllThere(t, db, storetest.KillWriter(t, childProcess(t, dsn), 300))
}

func TestKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	server := private(t)
	db := open(t, server.DSN("postgres"), postgres.Options{})
	do(t, db, storetest.CrashTable)
	heard := storetest.Listen(t, db, "revoked")
	storetest.Expect(t, heard, storetest.Heard{Event: "ready"})
	w := startWriting(t, db)
	for range 3 {
		w.more(t, 200)
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		storetest.Expect(t, heard, storetest.Heard{Event: "lost"})
		if err := db.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("Ping without a server: %v", err)
		}
		if err := server.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		storetest.Expect(t, heard, storetest.Heard{Event: "ready"})
	}
	w.more(t, 200)
	storetest.AllThere(t, db, w.stop())
}

func TestRestartIsFollowed(t *testing.T) {
	t.Parallel()
	server := private(t)
	db := open(t, server.DSN("postgres"), postgres.Options{})
	do(t, db, storetest.CrashTable)
	w := startWriting(t, db)
	w.more(t, 100)
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := server.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.more(t, 100)
	storetest.AllThere(t, db, w.stop())
}

func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	server := private(t)
	db := open(t, server.DSN("postgres"), postgres.Options{MaxConns: 1})
	do(t, db, storetest.CrashTable)
	do(t, db, "CREATE DATABASE other")
	admin := open(t, server.DSN("other"), postgres.Options{MaxConns: 1})
	turn := func(value string) {
		t.Helper()
		if err := admin.InReadTx(t.Context(), func(context.Context, store.Conn) error { return nil }); err != nil {
			t.Fatal(err)
		}
		do(t, admin, "ALTER SYSTEM SET default_transaction_read_only = "+value)
		do(t, admin, "SELECT pg_reload_conf()")
	}
	before := get[int](t, db, "SELECT pg_backend_pid()")

	turn("on")
	eventually(t, func() error { // the backends read their configuration with some delay
		_, err := db.Exec(t.Context(), "INSERT INTO st_crash DEFAULT VALUES")
		if !errors.Is(err, store.ErrUnavailable) {
			return errors.Join(errors.New("it is not read-only yet"), err)
		}
		if !strings.Contains(err.Error(), "25006") {
			t.Errorf("a write was answered %v", err)
		}
		return nil
	})
	if err := db.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a ping was answered %v", err)
	}
	if got := get[int](t, db, "SELECT count(*) FROM st_crash"); got != 0 {
		t.Errorf("%d rows", got)
	}
	if after := get[int](t, db, "SELECT pg_backend_pid()"); after == before {
		t.Error("the connection to a read-only server was kept")
	}
	err := db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
		_, err := tx.Exec(ctx, "INSERT INTO st_crash (id) VALUES (1)")
		return err
	})
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("InTx answered %v", err)
	}
	if _, err := admin.Exec(t.Context(), "SET default_transaction_read_only = off"); err != nil {
		t.Fatal(err)
	}
	turn("off")
	eventually(t, func() error {
		_, err := db.Exec(t.Context(), "INSERT INTO st_crash (id) VALUES (1) ON CONFLICT DO NOTHING")
		return errors.Join(err, db.Ping(t.Context()))
	})
}

// Two servers; the first one dies and the standby takes over.
func TestFailoverIsFollowed(t *testing.T) {
	t.Parallel()
	primary := private(t)
	standby, err := primary.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, standby) })

	both := strings.Replace(primary.DSN("postgres"), primary.Address(), standby.Address()+","+primary.Address(), 1)
	db := open(t, both, postgres.Options{})
	do(t, db, storetest.CrashTable)
	heard := storetest.Listen(t, db, "revoked")
	storetest.Expect(t, heard, storetest.Heard{Event: "ready"})
	// An acknowledged write is on the standby too.
	do(t, db, "ALTER SYSTEM SET synchronous_standby_names = '*'")
	do(t, db, "SELECT pg_reload_conf()")
	eventually(t, func() error {
		if get[int](t, db, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 0 {
			return errors.New("the standby is not synchronous")
		}
		return nil
	})

	w := startWriting(t, db)
	w.more(t, 200)
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	w.more(t, 200)
	t.Logf("writes went on %v after the promotion", time.Since(began).Round(time.Millisecond))
	storetest.Expect(t, heard, storetest.Heard{Event: "lost"})
	storetest.Expect(t, heard, storetest.Heard{Event: "ready"})
	storetest.AllThere(t, db, w.stop())
	if get[bool](t, db, "SELECT pg_is_in_recovery()") {
		t.Error("the pool is on a standby")
	}

	// A standby of the new primary is not used, even if it is the first of the address.
	third, err := standby.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, third) })
	again := open(t, strings.Replace(both, standby.Address()+","+primary.Address(), third.Address()+","+standby.Address(), 1), postgres.Options{})
	if get[bool](t, again, "SELECT pg_is_in_recovery()") {
		t.Error("a new pool is on a standby")
	}
	only := open(t, third.DSN("postgres"), postgres.Options{})
	if _, err := only.Exec(t.Context(), "INSERT INTO st_crash (id) VALUES (-1)"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a write on a standby was answered %v", err)
	}
}
