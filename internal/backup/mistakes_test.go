package backup_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ringfence/ringfence/internal/backup"
	"github.com/ringfence/ringfence/internal/private"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/migrations"
	"github.com/ringfence/ringfence/internal/store/open"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A backup is read more than once: a pipe would be waited for, and then be found empty.
func TestAPipeIsNoBackup(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/null"} {
		if _, err := backup.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "to a file first") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// What root restores only root can read, which stops a gateway that runs as another user.
func TestRootDoesNotRestoreForOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root could do that")
	}
	const nobody = 65534
	file, _ := sample(t)
	target := engines["sqlite"](t)
	lock := filepath.Join(target.data, "lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{lock, target.data} {
		if err := os.Chown(path, nobody, -1); err != nil {
			t.Fatal(err)
		}
		if err := target.restore(t, file, false); err == nil || !strings.Contains(err.Error(), "run this command as that user (sudo -u '") {
			t.Errorf("%s: %v", path, err)
		}
		if err := os.Remove(lock); err != nil && path == lock {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(target.data); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	if err := os.Chown(target.data, 0, -1); err != nil {
		t.Fatal(err)
	}
	if err := target.restore(t, file, false); err != nil {
		t.Error(err)
	}
}

// What would stop a restore is found without the backup, whose reading takes its time.
func TestCheck(t *testing.T) {
	file, _ := sample(t)
	for engine, prepare := range engines {
		t.Run(engine, func(t *testing.T) {
			target := prepare(t)
			check := func(want string, replace bool) {
				t.Helper()
				if err := backup.Check(t.Context(), target.options(), replace); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("it says %v, and not %q", err, want)
				}
			}
			check("", false)
			if left, err := os.ReadDir(target.data); err != nil || len(left) > 0 {
				t.Errorf("it left %v, %v", left, err)
			}
			if err := target.restore(t, file, false); err != nil {
				t.Fatal(err)
			}
			check("the database is not empty", false)
			check("", true)
			lock, err := private.TryLock(filepath.Join(target.data, "lock"))
			if err != nil {
				t.Fatal(err)
			}
			check("is in use by process", true)
			_ = lock.Close()
			if engine == "postgres" {
				target.opened(t)
				check("gateways use the database", true)
				target.address = "postgres://nobody@127.0.0.1:1/none"
				check("connecting to database", true)
			}
			target.address = "mysql://x"
			check("a database address is", true)
		})
	}
}

// Who rolls back restores over what a newer release has migrated. A file is replaced; of a PostgreSQL database, this program does not know all
// tables, and says to use an empty one.
func TestOverANewerSchema(t *testing.T) {
	file, _ := sample(t)
	for engine, prepare := range engines {
		t.Run(engine, func(t *testing.T) {
			target := prepare(t)
			if err := target.restore(t, file, false); err != nil {
				t.Fatal(err)
			}
			db, err := open.Open(t.Context(), target.address)
			if err != nil {
				t.Fatal(err)
			}
			execute(t, db, "INSERT INTO "+migrations.Table+" (version_id, is_applied) VALUES (99999, true)")
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			for _, err := range []error{backup.Check(t.Context(), target.options(), true), target.restore(t, file, true)} {
				if engine == "sqlite" && err != nil || engine == "postgres" && (err == nil || !strings.Contains(err.Error(), "make an empty database")) {
					t.Errorf("it says %v", err)
				}
			}
		})
	}
}

// A database of another program, with a table that has a name of ours, stays what it is.
func TestDatabaseOfAnotherProgram(t *testing.T) {
	file, _ := sample(t)
	target := installation{t.TempDir(), storetest.NewDatabase(t, storetest.Server(t), false)}
	use := func(f func(db store.DB)) {
		db, err := open.Open(t.Context(), target.address)
		if err != nil {
			t.Fatal(err)
		}
		f(db)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	use(func(db store.DB) { execute(t, db, "CREATE TABLE confd_user (name text)") })
	if err := target.restore(t, file, true); err == nil || !strings.Contains(err.Error(), "the schema public has confd_user; nothing was changed") {
		t.Errorf("it says %v", err)
	}
	use(func(db store.DB) {
		tables, err := store.Select[string](t.Context(), db, "SELECT CAST(tablename AS text) FROM pg_tables WHERE schemaname = current_schema()")
		if err != nil || len(tables) != 1 {
			t.Errorf("the tables are %v, %v", tables, err)
		}
	})
}
