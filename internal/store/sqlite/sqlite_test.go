package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/migrations"
	"github.com/ringfence/ringfence/internal/store/sqlite"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// With this variable the test binary is another process that opens the file it names.
const childFile = "RINGFENCE_TEST_SQLITE_FILE"

func TestMain(m *testing.M) {
	if file := os.Getenv(childFile); file != "" {
		if err := child(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func child(file string) error {
	db, err := sqlite.Open(context.Background(), file)
	if err != nil {
		return err
	}
	first, err := store.Get[int64](context.Background(), db, "SELECT coalesce(max(id), 0) + 1 FROM st_crash")
	if err != nil {
		return err
	}
	return storetest.CrashMain(db, first, os.Stdout)
}

func childProcess(t *testing.T, file string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childFile+"="+file)
	return cmd
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.DB {
		t.Helper()
		return storetest.SQLite(t)
	})
}

func open(t *testing.T, file string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func do(t *testing.T, db store.DB, text string) {
	t.Helper()
	if _, err := db.Exec(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

func TestFileModes(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "data")
	file := filepath.Join(folder, "x.db")
	check := func() {
		t.Helper()
		for name, want := range map[string]os.FileMode{
			folder: 0o700 | os.ModeDir, file: 0o600, file + "-wal": 0o600, file + "-shm": 0o600, file + ".lock": 0o600,
		} {
			if info, err := os.Stat(name); err != nil || info.Mode() != want {
				t.Errorf("%s: %v, %v; want mode %v", name, info.Mode(), err, want)
			}
		}
	}
	db := open(t, file)
	do(t, db, "CREATE TABLE a (b text)")
	check()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	db = open(t, file)
	do(t, db, "INSERT INTO a (b) VALUES ('x')")
	check()
}

// A mistyped path must not take another program's file from it.
func TestFileOfAnotherProgramStaysAsItIs(t *testing.T) {
	for name, text := range map[string]string{"text": "root:x:0:0:root:/root:/bin/bash\n", "short": "x"} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
		if db, err := sqlite.Open(t.Context(), file); !errors.Is(err, sqlite.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
			if db != nil {
				_ = db.Close()
			}
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if now, err := os.ReadFile(file); err != nil || string(now) != text || info.Mode() != 0o644 {
			t.Errorf("%s: mode %v, %d bytes, %v", name, info.Mode(), len(now), err)
		}
	}
}

func TestSecondOpenIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	first := open(t, file)
	do(t, first, "CREATE TABLE a (b text)")
	for _, name := range []string{file, link} {
		_, err := sqlite.Open(t.Context(), name)
		if !errors.Is(err, sqlite.ErrInUse) {
			t.Fatalf("a second Open of %s: %v", name, err)
		}
		if text := err.Error(); !strings.Contains(text, "process "+strconv.Itoa(os.Getpid())+";") || !strings.Contains(text, "stop") {
			t.Errorf("the refusal says %q", text)
		}
	}
	said, err := childProcess(t, file).CombinedOutput()
	if err == nil || !strings.Contains(string(said), sqlite.ErrInUse.Error()) {
		t.Errorf("a second process answered %v: %s", err, said)
	}
	do(t, first, "INSERT INTO a (b) VALUES ('still here')")

	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	do(t, open(t, link), "INSERT INTO a (b) VALUES ('after')")
}

func TestPragmas(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "x.db"))
	check := func(where string, c store.Conn, queryOnly string) {
		t.Helper()
		for pragma, want := range map[string]string{
			"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000", "query_only": queryOnly,
		} {
			if got, err := store.Get[string](t.Context(), c, "PRAGMA "+pragma); err != nil || got != want {
				t.Errorf("%s of the %s is %q, %v; want %q", pragma, where, got, err, want)
			}
		}
	}
	check("reader", db, "1")
	err := db.InTx(t.Context(), func(_ context.Context, tx store.Conn) error {
		check("writer", tx, "0")
		check("reader beside it", db, "1") // a different connection
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestKilledWriterLosesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	db := open(t, file)
	do(t, db, storetest.CrashTable)
	var acknowledged []int64
	for round := range 3 {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		acknowledged = append(acknowledged, storetest.KillWriter(t, childProcess(t, file), 100+50*round)...)
		db = open(t, file)
		storetest.AllThere(t, db, acknowledged)
		if got, err := store.Get[string](t.Context(), db, "PRAGMA integrity_check"); err != nil || got != "ok" {
			t.Fatalf("integrity: %q, %v", got, err)
		}
	}
}

func TestManyMigrate(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "x.db"))
	if version, err := db.Version(t.Context()); err != nil || version != 0 {
		t.Errorf("the version of a new file is %d, %v", version, err)
	}
	answers := make(chan error, 10)
	for range cap(answers) {
		go func() { answers <- db.Migrate(t.Context()) }()
	}
	for range cap(answers) {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	db := open(t, file)
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	do(t, db, "INSERT INTO "+migrations.Table+" (version_id, is_applied) VALUES (9999, true)")
	err := db.Migrate(t.Context())
	if !errors.Is(err, migrations.ErrNewer) || !strings.Contains(err.Error(), "9999") {
		t.Errorf("migrating answered %v", err)
	}
}

// Another program, such as a backup, may have the file open: a transaction takes its lock at the beginning, and is not undone in
// the middle.
// its lock from the beginning, and is not undone in the middle.
func TestOtherProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	db := open(t, file)
	do(t, db, "CREATE TABLE a (b text)")
	other, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	insert := func() error {
		_, err := other.ExecContext(t.Context(), "INSERT INTO a (b) VALUES ('other')")
		return err
	}

	err = db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
		if _, err := store.Get[int](ctx, tx, "SELECT count(*) FROM a"); err != nil {
			return err
		}
		if err := insert(); err == nil {
			t.Error("another program wrote inside a transaction")
		}
		_, err := tx.Exec(ctx, "INSERT INTO a (b) VALUES ('mine')")
		return err
	})
	if err != nil {
		t.Errorf("InTx answered %v", err)
	}
	if err := insert(); err != nil {
		t.Error(err)
	}
	if got, err := store.Get[int](t.Context(), db, "SELECT count(*) FROM a"); err != nil || got != 2 {
		t.Errorf("%d rows, %v; want 2", got, err)
	}
}

func TestFullDiskIsUnavailable(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "x.db"))
	do(t, db, "CREATE TABLE a (b text)")
	do(t, db, "PRAGMA max_page_count = 10")
	_, err := db.Exec(t.Context(), "INSERT INTO a (b) VALUES ($1)", strings.Repeat("x", 1<<20))
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("writing more than there is room for: %v", err)
	}
	do(t, db, "INSERT INTO a (b) VALUES ('little')")
}

// damage overwrites the pages of the table or the index in the file, except for the first bytes of each.
func damage(t *testing.T, file, name string, with byte) {
	t.Helper()
	db := open(t, file)
	root, err := store.Get[int64](t.Context(), db, "SELECT rootpage FROM sqlite_master WHERE name = $1", name)
	if err != nil {
		t.Fatal(err)
	}
	size, err := store.Get[int64](t.Context(), db, "PRAGMA page_size")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(bytes.Repeat([]byte{with}, int(size)), (root-1)*size); err != nil {
		t.Fatal(err)
	}
}

// Opening the file finds the damage, and leaves the file as it is.
func TestDamageIsFoundAtTheStart(t *testing.T) {
	for _, c := range []struct {
		name, part string
		with       byte
	}{{"zeros in a table", "a", 0}, {"junk in a table", "a", 0xa5}, {"zeros in an index", "a_b", 0}, {"junk in an index", "a_b", 0xff}} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.db")
			db := open(t, file)
			do(t, db, "CREATE TABLE a (b text)")
			do(t, db, "CREATE INDEX a_b ON a (b)")
			do(t, db, "INSERT INTO a (b) VALUES ('x'), ('y')")
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			damage(t, file, c.part, c.with)
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := sqlite.Open(t.Context(), file); !errors.Is(err, sqlite.ErrDamaged) || errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "backup") {
				t.Errorf("Open: %v", err)
			}
			if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

// Damage that is found later is neither "no such row" nor an error of the caller's.
func TestDamageThatIsMetLaterIsUnavailable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.db")
	first := open(t, file)
	do(t, first, "CREATE TABLE a (b text)")
	do(t, first, "INSERT INTO a (b) VALUES ('x')")
	do(t, first, "CREATE TABLE c (d text)")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	db := open(t, file)
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xa5}, int(info.Size())-4096), 4096); err != nil {
		t.Fatal(err)
	}
	do(t, db, "CREATE TABLE e (f text)") // invalidates what a connection has in its memory
	var errs []error
	for _, table := range []string{"a", "c"} {
		_, err := store.Get[int](t.Context(), db, "SELECT count(*) FROM "+table)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("reading what is damaged: %v", err)
	}
	if _, err := db.Exec(t.Context(), "INSERT INTO e (f) VALUES ('x')"); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, sqlite.ErrDamaged) {
		t.Errorf("writing what would be lost: %v", err)
	}
}

func TestNestedTransactionDoesNotWaitForEver(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for a limit of five seconds")
	}
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "x.db"))
	err := db.InTx(t.Context(), func(ctx context.Context, _ store.Conn) error {
		_, err := db.Exec(ctx, "CREATE TABLE a (b text)")
		return err
	})
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("using the DB inside InTx: %v", err)
	}
	do(t, db, "CREATE TABLE a (b text)")
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	folder := t.TempDir()
	junk := filepath.Join(folder, "junk.db")
	if err := os.WriteFile(junk, []byte(strings.Repeat("not a database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"a folder": folder, "not a database": junk, "below a file": filepath.Join(junk, "x.db")} {
		db, err := sqlite.Open(t.Context(), path)
		if err == nil {
			_ = db.Close()
			t.Errorf("%s was opened", name)
		} else if !strings.Contains(err.Error(), filepath.Base(path)) && !strings.Contains(err.Error(), junk) {
			t.Errorf("%s: the error does not name it: %v", name, err)
		}
	}
}

func BenchmarkCreate(b *testing.B) { storetest.BenchmarkCreate(b, storetest.SQLite(b)) }
