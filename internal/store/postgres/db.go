package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ringfence/ringfence/internal/store"
)

// A transaction that loses against others runs again at most this often. The pauses between are random, and grow to maxPause.
const (
	maxAttempts = 30
	maxPause    = 100 * time.Millisecond
)

const openTimeout = 10 * time.Second

// DB is a PostgreSQL database.
type DB struct {
	pool    *pgxpool.Pool
	config  *pgxpool.Config
	acquire time.Duration
	catalog catalog

	mu    sync.Mutex
	reset time.Time // when the pool was last emptied
}

// Open connects to the database at a libpq address, a URL or keyword=value pairs, and returns once the server has responded. If
// the server is unreachable, or its host unknown, the error is store.ErrUnavailable, after at most 10 s. If it refuses the login
// or does not know the database, the error is ErrRefused, and without the right to connect a RightError: waiting does not help. The text
// names host and database and never the password. Open does not migrate.
func Open(ctx context.Context, address string, o Options) (*DB, error) {
	o = o.withDefaults()
	cfg, err := parseConfig(address, o)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("making the connection pool: %w", err)
	}
	db := &DB{pool: pool, config: cfg, acquire: o.AcquireTimeout}
	connecting, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := pool.Ping(connecting); err != nil {
		pool.Close()
		if says, ok := refusal(cfg.ConnConfig, err); ok {
			return nil, fmt.Errorf("connecting to %s: %w: %s", place(cfg.ConnConfig), ErrRefused, says)
		}
		if lacking := lacksRight(cfg.ConnConfig.User, err); lacking != nil {
			return nil, fmt.Errorf("connecting to %s: %w", place(cfg.ConnConfig), lacking)
		}
		return nil, fmt.Errorf("connecting to %s: %w", place(cfg.ConnConfig), translate(connecting, err))
	}
	return db, nil
}

// Pool returns the pool itself, for features that only PostgreSQL has. Errors of its calls are pgx's, not the store's.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// Engine returns "postgres".
func (db *DB) Engine() string { return "postgres" }

// Close waits for the connections in use and closes all.
func (db *DB) Close() error {
	db.pool.Close()
	return nil
}

// Ping returns nil if the database can run a query now, and the server does not only read.
func (db *DB) Ping(ctx context.Context) error {
	began := time.Now()
	c, err := db.conn(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	var readOnly string
	err = c.QueryRow(ctx, "SELECT current_setting('transaction_read_only')").Scan(&readOnly)
	if err == nil && readOnly == "on" {
		err = &pgconn.PgError{Severity: "ERROR", Code: readOnlyTransaction, Message: "the server accepts no changes"}
	}
	return db.failed(ctx, began, err)
}

// Query runs a statement that returns rows.
func (db *DB) Query(ctx context.Context, sql string, args ...any) (store.Rows, error) {
	if err := store.CheckText(args); err != nil {
		return nil, err
	}
	began := time.Now()
	c, err := db.conn(ctx)
	if err != nil {
		return nil, err
	}
	found, err := c.Query(ctx, sql, args...)
	if err != nil {
		c.Release()
		return nil, db.failed(ctx, began, err)
	}
	return &rows{
		Rows:    found,
		failed:  func(err error) error { return db.failed(ctx, began, err) },
		release: c.Release,
	}, nil
}

// Exec runs a statement and returns how many rows it touched.
func (db *DB) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	if err := store.CheckText(args); err != nil {
		return 0, err
	}
	began := time.Now()
	c, err := db.conn(ctx)
	if err != nil {
		return 0, err
	}
	defer c.Release()
	tag, err := c.Exec(ctx, sql, args...)
	return tag.RowsAffected(), db.failed(ctx, began, err)
}

// InTx runs fn in one serializable transaction.
func (db *DB) InTx(ctx context.Context, fn func(ctx context.Context, tx store.Conn) error) error {
	for attempt := 1; ; attempt++ {
		err := db.inTx(ctx, fn)
		if !retryable(err) || attempt == maxAttempts {
			return err
		}
		if err := pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// InReadTx runs fn on one snapshot.
func (db *DB) InReadTx(ctx context.Context, fn func(ctx context.Context, tx store.Conn) error) error {
	t, end, err := db.begin(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() { go end() }() // what was read is read, however the transaction ends: nobody waits for that
	return run(ctx, t, fn)
}

// begin begins a transaction. end undoes it, unless it was committed, and gives its connection back.
func (db *DB) begin(ctx context.Context, o pgx.TxOptions) (t *tx, end func(), err error) {
	began := time.Now()
	c, err := db.conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	begun, err := c.BeginTx(ctx, o)
	if err != nil {
		c.Release()
		return nil, nil, db.failed(ctx, began, err)
	}
	end = func() {
		defer c.Release()
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = begun.Rollback(undo)
	}
	return &tx{tx: begun, failed: func(err error) error { return db.failed(ctx, began, err) }}, end, nil
}

// run does the work of a transaction, up to the commit.
func run(ctx context.Context, t *tx, fn func(ctx context.Context, tx store.Conn) error) error {
	if err := fn(ctx, t); err != nil {
		return err
	}
	if t.broken != nil {
		return fmt.Errorf("committing after a failed statement: %w", t.broken)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("committing: %w", translate(ctx, err))
	}
	return nil
}

func (db *DB) inTx(ctx context.Context, fn func(ctx context.Context, tx store.Conn) error) error {
	began := time.Now()
	t, end, err := db.begin(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable})
	if err != nil {
		return err
	}
	defer end()
	if err := run(ctx, t, fn); err != nil {
		return err
	}
	if err := t.tx.Commit(ctx); err != nil {
		translated := db.failed(ctx, began, err)
		if !rolledBack(err) && !errors.Is(translated, store.ErrUnavailable) {
			return fmt.Errorf("%w: committing: %w", store.ErrUnavailable, err) // nobody knows whether it was committed
		}
		return fmt.Errorf("committing: %w", translated)
	}
	return nil
}

// pause waits before a transaction runs again.
func pause(ctx context.Context, attempt int) error {
	longest := min(time.Millisecond<<min(attempt, 10), maxPause)
	timer := time.NewTimer(rand.N(longest)) //nolint:gosec // a spread, not a secret
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return translate(ctx, ctx.Err())
	}
}

// Notify queues a payload as part of tx.
func (db *DB) Notify(ctx context.Context, tx store.Conn, channel, payload string) error {
	if err := store.CheckPayload(payload); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "SELECT pg_notify($1, $2)", channel, payload)
	return err
}

// conn takes a connection from the pool, waiting at most AcquireTimeout.
func (db *DB) conn(ctx context.Context) (*pgxpool.Conn, error) {
	waiting, cancel := context.WithTimeout(ctx, db.acquire)
	defer cancel()
	c, err := db.pool.Acquire(waiting)
	if err != nil {
		return nil, translate(ctx, err)
	}
	return c, nil
}

// failed translates the error of a call that began at a time. If it says that the server has changed, the older connections are
// closed; those made since another call noticed are good.
func (db *DB) failed(ctx context.Context, began time.Time, err error) error {
	if err != nil && stale(err) {
		db.mu.Lock()
		if began.After(db.reset) {
			db.reset = time.Now()
			db.pool.Reset()
		}
		db.mu.Unlock()
	}
	err = db.translate(ctx, err)
	if broken, ok := errors.AsType[*store.ConstraintError](err); ok {
		db.addColumns(ctx, broken)
	}
	return err
}

// translate translates an error of pgx, and says which right this database's user lacks.
func (db *DB) translate(ctx context.Context, err error) error {
	if lacking := lacksRight(db.config.ConnConfig.User, err); lacking != nil {
		return lacking
	}
	return translate(ctx, err)
}

var (
	_ store.DB       = (*DB)(nil)
	_ store.Migrator = (*DB)(nil)
)
