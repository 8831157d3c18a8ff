package apply_test

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/private"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// logged returns a function that returns what the log has got since.
func logged(t *testing.T) func() string {
	t.Helper()
	var mu sync.Mutex
	var text bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(lockedWriter{&mu, &text}, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return text.String()
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	to io.Writer
}

func (w lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(b)
}

// in makes a node use this folder, and give up soon.
func in(folder string) func(*apply.Settings) {
	return func(s *apply.Settings) { s.Folder, s.Reach = folder, 20*time.Millisecond }
}

func unavailable(err error, why string) bool {
	e := apierr.As(err)
	return e != nil && e.Kind == apierr.Unavailable && strings.Contains(e.Message, why)
}

// A folder that cannot be opened ends the jobs that wait for it, and is said once. When it can be opened, what has changed meanwhile is
// applied.
func TestFolderThatCannotBeOpened(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		plant(t, db)
		log := logged(t)
		place := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(place, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		n := start(t, db, in(filepath.Join(place, "asterisk")), true)
		const why = "the gateway's user must be able to write in "
		for range 3 {
			wantState(t, outcome(t, n), jobs.Failed, why+filepath.Join(place, "asterisk"))
		}
		if err := n.Generate(t.Context(), nil); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("Generate: %v", err)
		}
		if _, err := n.Preview(t.Context()); !unavailable(err, why) {
			t.Errorf("Preview: %v", err)
		}
		if said := strings.Count(log(), "this node cannot configure Asterisk"); said != 1 {
			t.Errorf("it is said %d times: %s", said, log())
		}
		if err := os.Remove(place); err != nil {
			t.Fatal(err)
		}
		n.folder = filepath.Join(place, "asterisk")
		eventually(t, "the change of the start is applied", func() bool { return n.livePJSIP() == telephones("alice") })
		if _, err := n.Preview(t.Context()); err != nil {
			t.Errorf("Preview: %v", err)
		}
	})
}

// outcome applies, and returns the job, which may have ended without having begun.
func outcome(t *testing.T, n *system) jobs.Job {
	t.Helper()
	job, err := n.Apply(t.Context(), jobs.Options{Wait: true})
	if err != nil || !job.Ended() || job.EndedAt == nil {
		t.Fatalf("the job has not ended: %+v, %v", job, err)
	}
	return job
}

// While another process writes in the folder, whoever asks for something gets an answer.
func TestFolderInUse(t *testing.T) {
	db := storetest.SQLite(t)
	folder := filepath.Join(t.TempDir(), "asterisk")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := private.TryLock(filepath.Join(folder, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	n := start(t, db, func(s *apply.Settings) { s.Folder, s.Reach = folder, time.Hour }, false)
	n.folder = folder
	eventually(t, "the node waits for the folder", func() bool {
		held, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM asterisk_lease`)
		return err == nil && held == 1
	})
	for range 100 {
		if _, err := n.Preview(t.Context()); !unavailable(err, "") {
			t.Fatalf("Preview: %v", err)
		}
	}
	job, err := n.Apply(t.Context(), jobs.Options{})
	if err != nil || job.State != jobs.Waiting {
		t.Errorf("Apply: %+v, %v", job, err)
	}
	_ = lock.Close()
	eventually(t, "the job is done", func() bool {
		found, err := n.Job(t.Context(), job.UUID)
		return err == nil && found.State == jobs.Done
	})
}

// One who waits for a folder in vain lets another node do the jobs, and goes on when that one ends.
func TestFolderOfOneNode(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		place := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(place, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		first := start(t, db, func(s *apply.Settings) { s.Folder = filepath.Join(place, "asterisk") }, false)
		eventually(t, "the first node cannot", func() bool {
			_, err := first.Preview(t.Context())
			return unavailable(err, "must be able to write")
		})
		second := start(t, db, nil, false)
		for range 2 {
			wantState(t, do(t, first), jobs.Done, "")
		}
		if first.times() != 0 || second.times() != 2 {
			t.Errorf("generated: %d by the first, %d by the second", first.times(), second.times())
		}
		eventually(t, "the first node knows of the second one", func() bool {
			_, err := first.Preview(t.Context())
			return unavailable(err, "Another node")
		})
	})
}

// A folder that goes bad while a node uses it ends the jobs, too.
func TestFolderThatGoesBad(t *testing.T) {
	n := start(t, storetest.SQLite(t), nil, false)
	do(t, n)
	if err := os.Mkdir(filepath.Join(n.folder, "applying"), 0o700); err != nil {
		t.Fatal(err)
	}
	n.store("extensions.conf", alice, "pjsip.conf", telephones("alice", "bob"))
	wantState(t, do(t, n), jobs.Failed, "is a directory")
	if err := os.Remove(filepath.Join(n.folder, "applying")); err != nil {
		t.Fatal(err)
	}
	wantState(t, do(t, n), jobs.Done, "")
}
