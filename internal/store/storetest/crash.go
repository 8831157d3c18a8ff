package storetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
)

// CrashTable is the table that [WriteForEver] writes to.
const CrashTable = "CREATE TABLE st_crash (id bigint PRIMARY KEY)"

// WriteForEver writes rows from several goroutines, in every way that a DB can write, and calls acknowledge with the id of each
// once it is acknowledged. It returns when ctx ends; failed is called with the errors until then. Ids begin at first.
func WriteForEver(ctx context.Context, db store.DB, first int64, acknowledge func(id int64), failed func(error)) {
	const insert = "INSERT INTO st_crash (id) VALUES ($1)"
	ways := []func(id int64) error{
		func(id int64) error { _, err := db.Exec(ctx, insert, id); return err },
		func(id int64) error { _, err := store.Get[int64](ctx, db, insert+" RETURNING id", id); return err },
		func(id int64) error {
			return db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
				_, err := tx.Exec(ctx, insert, id)
				return err
			})
		},
	}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		next = first
	)
	for _, write := range ways {
		wg.Go(func() {
			for ctx.Err() == nil {
				mu.Lock()
				id := next
				next++
				mu.Unlock()
				if err := write(id); err != nil {
					failed(err)
				} else {
					acknowledge(id)
				}
			}
		})
	}
	wg.Wait()
}

// CrashMain is the main function of a process that [KillWriter] starts: it writes, and prints the id of each row that was
// acknowledged. It returns only on an error.
func CrashMain(db store.DB, first int64, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	var mu sync.Mutex
	WriteForEver(ctx, db, first, func(id int64) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintf(out, "%d\n", id)
	}, func(err error) { cancel(err) })
	return context.Cause(ctx)
}

// KillWriter starts a process that runs [CrashMain], kills it with SIGKILL once enough of its rows were acknowledged, and
// returns the ids of all of them.
func KillWriter(t *testing.T, cmd *exec.Cmd, enough int) []int64 {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints strings.Builder
	cmd.Stderr = &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ids []int64
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // the end, perhaps in the middle of a number
			break
		}
		id, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			t.Errorf("the writer printed %q", line)
			break
		}
		if ids = append(ids, id); len(ids) == enough {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if len(ids) < enough {
		t.Fatalf("the writer ended after %d rows: %s", len(ids), complaints.String())
	}
	return ids
}

// AllThere fails the test if an acknowledged row is not in the database.
func AllThere(t *testing.T, db store.DB, acknowledged []int64) {
	t.Helper()
	there := make(map[int64]bool)
	for _, id := range list[int64](t, db, "SELECT id FROM st_crash") {
		there[id] = true
	}
	for _, id := range acknowledged {
		if !there[id] {
			t.Errorf("row %d was acknowledged and is lost", id)
		}
	}
}
