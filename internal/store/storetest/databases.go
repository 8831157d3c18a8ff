package storetest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/migrations"
	"github.com/ringfence/ringfence/internal/store/postgres"
	"github.com/ringfence/ringfence/internal/store/sqlite"
)

// Variable names the address of a PostgreSQL server for tests.
const Variable = "TEST_POSTGRES_DSN"

// Each runs a test on a fresh database of each engine.
func Each(t *testing.T, test func(t *testing.T, db store.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, Postgres(t)) })
}

// SQLite opens a fresh migrated database in a temporary file.
func SQLite(tb testing.TB) store.DB {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "test.db")
	SQLiteFile(tb, file)
	db, err := sqlite.Open(tb.Context(), file)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

// SQLiteFile makes a file with a migrated database, and its folder, which only their owner may read.
func SQLiteFile(tb testing.TB, file string) {
	tb.Helper()
	template, err := sqliteTemplate()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = os.WriteFile(file, template, 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// sqliteTemplate returns the content of a migrated file. It is made once: the migrations take longer than most tests.
var sqliteTemplate = sync.OnceValues(func() (_ []byte, err error) {
	folder, err := os.MkdirTemp("", "ringfence-template-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	file := filepath.Join(folder, "template.db")
	db, err := sqlite.Open(context.Background(), file)
	if err != nil {
		return nil, err
	}
	// Closing leaves one file: the last connection writes back the files beside it.
	if err := errors.Join(db.Migrate(context.Background()), db.Close()); err != nil {
		return nil, fmt.Errorf("migrating the template: %w", err)
	}
	return os.ReadFile(file) //nolint:gosec // the path is this function's own
})

// Postgres opens a fresh migrated database on the server of TEST_POSTGRES_DSN. It is named after the test, and dropped at its
// end.
func Postgres(tb testing.TB) store.DB {
	tb.Helper()
	db, err := postgres.Open(tb.Context(), PostgresDSN(tb), postgres.Options{MaxConns: 8})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// PostgresDSN returns the address of a fresh migrated database; see [Postgres].
func PostgresDSN(tb testing.TB) string {
	tb.Helper()
	return NewDatabase(tb, Server(tb), true)
}

// Server returns the address of the PostgreSQL server for tests. Without one it skips the test.
func Server(tb testing.TB) string {
	tb.Helper()
	address := os.Getenv(Variable)
	if address == "" {
		tb.Skip(Variable + " is not set")
	}
	return address
}

// NewDatabase creates a database on a server, migrated or empty, and returns its address. It is named after the test, and
// dropped at its end.
func NewDatabase(tb testing.TB, server string, migrated bool) string {
	tb.Helper()
	admin, template, err := connect(server, migrated)
	if err != nil {
		tb.Fatal(err)
	}
	name := databaseName(tb.Name())
	// A server that does not wait for its disk copies files four times faster than it logs each page of the copy.
	copies, err := store.Get[bool](tb.Context(), admin,
		"SELECT current_setting('fsync') = 'off' AND CAST(current_setting('server_version_num') AS integer) >= 150000")
	if err != nil {
		tb.Fatal(err)
	}
	strategy := ""
	if copies {
		strategy = " STRATEGY file_copy"
	}
	if _, err := admin.Exec(tb.Context(), fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s%s", name, template, strategy)); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := admin.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			tb.Error(err)
		}
	})
	return onDatabase(server, name)
}

// connected are this process's connections to the servers, by their addresses. They stay: to connect takes a third of the time of making a database.
var connected = struct {
	sync.Mutex
	to map[string]*postgres.DB
}{to: map[string]*postgres.DB{}}

// connect returns a connection to a server, and the name of a database to copy, migrated or empty.
func connect(server string, migrated bool) (admin *postgres.DB, template string, err error) {
	connected.Lock()
	defer connected.Unlock()
	if admin = connected.to[server]; admin == nil {
		if admin, err = postgres.Open(context.Background(), server, postgres.Options{MaxConns: 8}); err != nil {
			return nil, "", err
		}
		connected.to[server] = admin
	}
	if !migrated {
		return admin, "template0", nil
	}
	template, err = ensureTemplate(context.Background(), admin, server)
	return admin, template, err
}

// databaseName returns a test's name as an identifier that needs no quotes.
func databaseName(test string) string {
	word := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, test)
	return "t_" + word[:min(len(word), 40)] + "_" + strings.ToLower(rand.Text()[:10])
}

// onDatabase returns the address of another database of the same server.
func onDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil || u.Scheme == "" { // several hosts, or keyword=value pairs: the last one wins
		if strings.Contains(server, "://") {
			separator := "?"
			if strings.Contains(server, "?") {
				separator = "&"
			}
			return server + separator + "dbname=" + name
		}
		return server + " dbname=" + name
	}
	u.Path = "/" + name
	return u.String()
}

// templateLock is the advisory lock for making the template.
const templateLock = 0x72696e6774657374

// ensureTemplate returns the name of a migrated database to copy. The first process makes it, under another name until it is
// complete.
func ensureTemplate(ctx context.Context, admin *postgres.DB, server string) (string, error) {
	name, err := templateName()
	if err != nil {
		return "", err
	}
	const exists = "SELECT count(*) > 0 FROM pg_database WHERE datname = $1"
	if done, err := store.Get[bool](ctx, admin, exists, name); err != nil || done {
		return name, err
	}
	return name, admin.InReadTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(templateLock)); err != nil {
			return err
		}
		if done, err := store.Get[bool](ctx, admin, exists, name); err != nil || done {
			return err
		}
		making := databaseName("template")
		if _, err := admin.Exec(ctx, "CREATE DATABASE "+making+" TEMPLATE template0"); err != nil {
			return err
		}
		db, err := postgres.Open(ctx, onDatabase(server, making), postgres.Options{MaxConns: 2})
		if err != nil {
			return err
		}
		err = db.Migrate(ctx)
		_ = db.Close()
		if err != nil {
			_, _ = admin.Exec(ctx, "DROP DATABASE "+making+" WITH (FORCE)")
			return fmt.Errorf("migrating the template: %w", err)
		}
		_, err = admin.Exec(ctx, "ALTER DATABASE "+making+" RENAME TO "+name)
		return err
	})
}

// templateName holds a hash of the migrations: a changed schema has another template.
func templateName() (string, error) {
	files := migrations.Files("postgres")
	names, err := fs.Glob(files, "*")
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(text), text)
	}
	return "ringfence_test_template_" + hex.EncodeToString(hash.Sum(nil)[:6]), nil
}
