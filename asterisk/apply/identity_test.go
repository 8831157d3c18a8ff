package apply_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A node keeps its name when it starts again; nobody else ever has it.
func TestIdentity(t *testing.T) {
	base := t.TempDir()
	folder := filepath.Join(base, "a")
	name := func(folder string) (string, func()) {
		t.Helper()
		holder, release, err := apply.Identify(folder)
		if err != nil || len(holder) != 36 {
			t.Fatalf("%q, %v", holder, err)
		}
		return holder, release
	}
	first, release := name(folder)
	if same, _ := name(folder); same == first {
		t.Error("two processes have one name at a time")
	}
	release()
	again, release := name(folder)
	if again != first {
		t.Errorf("it was %s, and is %s", first, again)
	}
	if err := os.CopyFS(filepath.Join(base, "copy"), os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"node", "node.lock"} {
		if err := os.Chmod(filepath.Join(base, "copy", file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	copied, done := name(filepath.Join(base, "copy"))
	done()
	if kept, done := name(filepath.Join(base, "copy")); copied == first || kept != copied {
		t.Errorf("a copy of %s is called %s, then %s", first, copied, kept)
	} else {
		done()
	}
	release()
	at := filepath.Join(folder, "node")
	text, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	for what, changed := range map[string]string{
		"another start of the machine": strings.Replace(string(text), `"boot":"`, `"boot":"x`, 1),
		"another disk":                 strings.Replace(string(text), `"device":`, `"device":9`, 1),
		"no UUID":                      strings.Replace(string(text), first, "everybody", 1),
		"half a file":                  string(text[:len(text)/2]),
		"nothing":                      "",
	} {
		if err := os.WriteFile(at, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		holder, done := name(folder)
		done()
		if holder == first || holder == "everybody" {
			t.Errorf("%s: the name is %s still", what, holder)
		}
	}
	if err := os.Chmod(at, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, done, err := apply.Identify(folder); err == nil {
		t.Error("a file that everybody may read is taken")
	} else {
		done()
	}
}

// A node that was killed has its lease again at once; one with a copy of its folder waits.
func TestKilledNodeStartsAgain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		folder := filepath.Join(t.TempDir(), "asterisk")
		holder, release, err := apply.Identify(folder)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(t.Context(), `INSERT INTO asterisk_lease (asterisk, holder, expires_at) VALUES ('main', $1, $2)`, holder, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		other := start(t, db, func(s *apply.Settings) { s.Folder = filepath.Join(t.TempDir(), "copy") }, false)
		beside := start(t, db, func(s *apply.Settings) { s.Folder = folder }, false) // while the first one lives
		job, err := other.Apply(t.Context(), jobs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []*system{other, beside} {
			if _, err := n.Preview(t.Context()); err == nil || n.times() != 0 {
				t.Errorf("another node configures: %v", err)
			}
			n.stop()
		}
		release() // by the end of its process
		n := start(t, db, func(s *apply.Settings) { s.Folder = folder }, false)
		eventually(t, "the job is done", func() bool {
			found, err := n.Job(t.Context(), job.UUID)
			return err == nil && found.State == jobs.Done
		})
	})
}

// A node that has nothing to do writes nothing; when it has, it has the lease.
func TestIdleNodeWritesNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var writes, looks atomic.Int64
		watched := storetest.Watch(db, func(sql string, _ []any) {
			switch {
			case strings.Contains(sql, "INTO asterisk_lease") || strings.Contains(sql, "UPDATE asterisk_lease"):
				writes.Add(1)
			case strings.Contains(sql, "FROM asterisk_job"):
				looks.Add(1)
			}
		})
		n := start(t, watched, func(s *apply.Settings) { s.Lease, s.Poll = 3*time.Millisecond, time.Millisecond }, false)
		do(t, n)
		second := start(t, db, func(s *apply.Settings) { s.Poll = time.Millisecond }, false)
		looksMore := func() {
			until := looks.Load() + 30
			eventually(t, "it looks for jobs many times", func() bool { return looks.Load() > until })
		}
		looksMore() // so that what the job began has ended
		before := writes.Load()
		looksMore()
		if got := writes.Load() - before; got != 0 {
			t.Errorf("%d writes while nothing was to do", got)
		}
		wantState(t, do(t, n), jobs.Done, "")
		if second.times() != 0 {
			t.Error("the other node has taken the idle one's lease")
		}
	})
}
