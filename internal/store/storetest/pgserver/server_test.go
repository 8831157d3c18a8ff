package pgserver_test

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/postgres"
	"github.com/ringfence/ringfence/internal/store/storetest/pgserver"
)

// A busy backend does not notice at once that its server was killed. Kill waits for it.
func TestKillLeavesNobody(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/statm"); err != nil {
		t.Skip(err)
	}
	server, err := pgserver.Start(t.Context(), false)
	if errors.Is(err, pgserver.ErrNoPrograms) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Remove(); err != nil {
			t.Error(err)
		}
	})
	db, err := postgres.Open(t.Context(), server.DSN("postgres"), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	const work = `SELECT count(*) FROM generate_series(1, 5000000)`
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = store.Get[int](t.Context(), db, work)
	}()
	pid := 0
	for pid == 0 {
		pid, err = store.Get[int](t.Context(), db, `SELECT COALESCE(max(pid), 0) FROM pg_stat_activity WHERE state = 'active' AND query = $1`, work)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-done:
			t.Fatal("the query has ended already")
		default:
		}
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	memory, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm") // a process without memory has ended
	if err == nil && !strings.HasPrefix(string(memory), "0 ") {
		t.Errorf("a backend lives on, with %s pages", memory)
	}
	if err := db.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Ping without a server: %v", err)
	}
	<-done
}
