package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/migrations"
)

// DB is a SQLite database file, held by this process alone.
type DB struct {
	path           string
	lock           io.Closer
	writer, reader *sql.DB
	turn           chan struct{} // has room for the one call that has the writer; the others wait in the order of their coming
	broken         atomic.Bool   // damage was found
	scratch        bool          // Close removes it

	closing sync.Once
	closed  error
}

// Engine returns "sqlite".
func (db *DB) Engine() string { return "sqlite" }

// Path returns the file, absolute and without links.
func (db *DB) Path() string { return db.path }

// Close folds the write-ahead log into the file and releases it for other processes. A second call returns the result of the
// first.
func (db *DB) Close() error {
	db.closing.Do(func() {
		db.closed = errors.Join(db.reader.Close(), db.writer.Close(), db.lock.Close())
		if db.scratch {
			db.closed = errors.Join(db.closed, removeScratch(db.path))
		}
	})
	return db.closed
}

// Ping returns nil if the database can run a query now.
func (db *DB) Ping(ctx context.Context) error {
	rows, err := db.Query(ctx, "SELECT count(*) FROM sqlite_master")
	if err != nil {
		return err
	}
	return rows.Close()
}

// Query runs a statement that returns rows: on the writer if it writes, otherwise on a reader.
func (db *DB) Query(ctx context.Context, text string, args ...any) (store.Rows, error) {
	args, err := convert(args)
	if err != nil {
		return nil, err
	}
	if err := db.whole(); err != nil {
		return nil, err
	}
	if !writes(text) {
		found, err := db.reader.QueryContext(ctx, text, args...)
		if !readOnly(err) { // WITH may begin a statement that writes
			return wrap(found, err, func(err error) error { return db.translate(ctx, err) }, nil)
		}
	}
	conn, release, err := db.takeWriter(ctx)
	if err != nil {
		return nil, err
	}
	found, err := conn.QueryContext(ctx, text, args...)
	return wrap(found, err, func(err error) error { return db.addColumns(ctx, conn, err) }, release)
}

// Exec runs a statement on the writer and returns how many rows it touched.
func (db *DB) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	args, err := convert(args)
	if err != nil {
		return 0, err
	}
	conn, release, err := db.takeWriter(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = release() }()
	return db.touched(ctx, conn, text, args)
}

// InTx runs fn in one transaction, the only one that writes meanwhile.
func (db *DB) InTx(ctx context.Context, fn func(ctx context.Context, tx store.Conn) error) error {
	conn, release, err := db.takeWriter(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = release() }()
	begun, err := conn.BeginTx(ctx, nil)
	return db.inTx(ctx, begun, err, fn)
}

// InReadTx runs fn on one snapshot, taken at its first statement.
func (db *DB) InReadTx(ctx context.Context, fn func(ctx context.Context, tx store.Conn) error) error {
	if err := db.whole(); err != nil {
		return err
	}
	begun, err := db.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	return db.inTx(ctx, begun, err, fn)
}

func (db *DB) inTx(ctx context.Context, begun *sql.Tx, err error, fn func(ctx context.Context, tx store.Conn) error) error {
	if err != nil {
		return db.translate(ctx, err)
	}
	defer func() { _ = begun.Rollback() }() // no effect after a commit
	t := &tx{db: db, tx: begun, ctx: ctx}
	if err := fn(ctx, t); err != nil {
		return err
	}
	if t.broken != nil {
		return fmt.Errorf("committing after a failed statement: %w", t.broken)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("committing: %w", db.translate(ctx, err))
	}
	if err := db.whole(); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	if err := begun.Commit(); err != nil {
		return fmt.Errorf("committing: %w", db.translate(ctx, err))
	}
	return nil
}

// Notify does nothing: no other process can listen. It refuses what PostgreSQL would refuse.
func (db *DB) Notify(_ context.Context, _ store.Conn, _, payload string) error {
	return store.CheckPayload(payload)
}

// Listen calls ready and waits for the end of ctx, then returns nil.
func (db *DB) Listen(ctx context.Context, _ string, on store.Listener) error {
	on.Ready()
	<-ctx.Done()
	return nil
}

// Migrate brings the schema to this program's.
func (db *DB) Migrate(ctx context.Context) error {
	return db.translate(ctx, migrations.Up(ctx, "sqlite", db.writer, nil))
}

// MigrateTo brings an older schema to that of a version of this program's, such as the one of a backup.
func (db *DB) MigrateTo(ctx context.Context, version int64) error {
	return db.translate(ctx, migrations.UpTo(ctx, "sqlite", db.writer, version))
}

// Version returns the number of the last migration that the database has had.
func (db *DB) Version(ctx context.Context) (int64, error) {
	made, err := store.Get[bool](ctx, db, "SELECT count(*) FROM sqlite_master WHERE name = $1", migrations.Table)
	if err != nil || !made {
		return 0, err
	}
	return store.Get[int64](ctx, db, "SELECT coalesce(max(version_id), 0) FROM "+migrations.Table+" WHERE is_applied")
}

// takeWriter waits for the only connection that writes, for a limited time: a transaction that uses the DB instead of its Conn
// would wait for itself. Who asks first is first, which database/sql does not promise: long work that writes in pieces, and asks again
// after each, keeps nobody waiting for more than one.
func (db *DB) takeWriter(ctx context.Context) (conn *sql.Conn, release func() error, err error) {
	if err := db.whole(); err != nil {
		return nil, nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, writerWait)
	defer cancel()
	select {
	case db.turn <- struct{}{}:
	case <-waiting.Done():
		return nil, nil, db.translate(ctx, waiting.Err())
	}
	conn, err = db.writer.Conn(waiting)
	if err != nil {
		<-db.turn
		return nil, nil, db.translate(ctx, err)
	}
	return conn, func() error {
		defer func() { <-db.turn }()
		return conn.Close()
	}, nil
}

// writes reports a statement that certainly cannot run on a reader.
func writes(text string) bool {
	notLetter := func(r rune) bool { return !unicode.IsLetter(r) }
	text = strings.TrimLeftFunc(text, notLetter)
	if i := strings.IndexFunc(text, notLetter); i >= 0 {
		text = text[:i]
	}
	switch strings.ToUpper(text) {
	case "SELECT", "WITH", "VALUES", "EXPLAIN", "PRAGMA":
		return false
	}
	return true
}

var (
	_ store.DB        = (*DB)(nil)
	_ store.Migrator  = (*DB)(nil)
	_ store.Scratcher = (*DB)(nil)
)
