package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/migrations"
)

// migrationLock is the advisory lock of Ringfence's migrations, "ringfenc" in
// ASCII: goose's own number is shared by every program that uses goose.
const migrationLock int64 = 0x72696e6766656e63

// How long a node waits for another one that migrates, and how often it looks.
const (
	lockWait = 2 * time.Minute
	lockPoll = 100 * time.Millisecond
)

// Migrate brings the schema to this program's. It works on a connection of its
// own, without the statement timeout of the pool, which must be the server itself
// or a session pooler: the lock belongs to the session.
func (db *DB) Migrate(ctx context.Context) error {
	cfg := db.config.ConnConfig.Copy()
	cfg.RuntimeParams["statement_timeout"] = "0"
	cfg.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
	direct := stdlib.OpenDB(*cfg)
	defer direct.Close()
	direct.SetMaxOpenConns(2)

	if err := suitable(ctx, direct); err != nil {
		return translate(ctx, err)
	}
	return translate(ctx, migrations.Up(ctx, "postgres", direct, sessionLock{}))
}

// Version is the number of the last migration that the database has had.
func (db *DB) Version(ctx context.Context) (int64, error) {
	version, err := store.Get[int64](ctx, db,
		"SELECT coalesce(max(version_id), 0) FROM "+migrations.Table+" WHERE is_applied")
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == undefinedTable {
		return 0, nil
	}
	return version, err
}

// suitable refuses a database on which the schema cannot work, with a reason.
func suitable(ctx context.Context, db *sql.DB) error {
	var version, encoding string
	if err := db.QueryRowContext(ctx,
		"SELECT current_setting('server_version_num'), current_setting('server_encoding')").Scan(&version, &encoding); err != nil {
		return fmt.Errorf("asking the server for its version: %w", err)
	}
	number, err := strconv.Atoi(version)
	if err != nil {
		return fmt.Errorf("reading the server's version: %w", err)
	}
	if number < 13_00_00 {
		return fmt.Errorf("PostgreSQL %d is too old: 13 or newer is needed", number/10_000)
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the database's encoding is %s: create it with ENCODING 'UTF8' TEMPLATE template0", encoding)
	}
	return nil
}

// sessionLock keeps other nodes from migrating. It asks again and again instead
// of waiting in the server: a session that waits in a statement would hold up
// CREATE INDEX CONCURRENTLY in the session that it waits for.
type sessionLock struct{}

func (sessionLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	for {
		var got bool
		if err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", migrationLock).Scan(&got); err != nil {
			return fmt.Errorf("locking the schema: %w", err)
		}
		if got {
			return nil
		}
		timer := time.NewTimer(lockPoll/2 + rand.N(lockPoll)) //nolint:gosec // a spread, not a secret
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("waiting for another node that migrates the schema: %w", ctx.Err())
		}
	}
}

func (sessionLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", migrationLock)
	if errors.Is(err, pgx.ErrTxClosed) || errors.Is(err, pgconn.ErrConnClosed) {
		return nil // the lock ended with its session
	}
	return err
}
