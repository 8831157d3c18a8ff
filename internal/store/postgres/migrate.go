package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3/lock"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/migrations"
)

// migrationLock is the advisory lock of Ringfence's migrations, "ringfenc" in ASCII: every program that uses goose shares
// goose's own number.
const migrationLock int64 = 0x72696e6766656e63

// A node that finds the lock taken tries again each second, at most so many times.
const lockSeconds = 300

// ErrTaken says that a database in which this program would make its tables has some of the same names, which it has not made.
var ErrTaken = errors.New("somebody else has tables in the database that are called like those of this program")

// Migrate brings the schema to this program's. It uses its own connection, without the statement timeout of the pool. That must
// be to the server itself or to a session pooler: the lock belongs to the session.
func (db *DB) Migrate(ctx context.Context) error {
	cfg := db.config.ConnConfig.Copy()
	cfg.RuntimeParams["statement_timeout"] = "0"
	cfg.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
	direct := stdlib.OpenDB(*cfg)
	defer direct.Close()
	direct.SetMaxOpenConns(2)

	if err := suitable(ctx, direct); err != nil {
		return db.translate(ctx, err)
	}
	if err := vacant(ctx, direct); err != nil {
		return db.translate(ctx, err)
	}
	locker, err := lock.NewPostgresSessionLocker(
		lock.WithLockID(migrationLock), lock.WithLockTimeout(1, lockSeconds), lock.WithUnlockTimeout(1, 5))
	if err != nil {
		return fmt.Errorf("making the lock of the migrations: %w", err)
	}
	return db.translate(ctx, migrations.Up(ctx, "postgres", direct, locker))
}

// Version returns the number of the last migration that the database has had.
func (db *DB) Version(ctx context.Context) (int64, error) {
	version, err := store.Get[int64](ctx, db,
		"SELECT coalesce(max(version_id), 0) FROM "+migrations.Table+" WHERE is_applied")
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == undefinedTable {
		return 0, nil
	}
	return version, err
}

// vacant refuses a database that has had no migration, and in which somebody else has made what a migration would make: the first ones
// would be done, and the others not. A node that migrates makes the migrations' table before anything else, so both are seen at one moment.
func vacant(ctx context.Context, db *sql.DB) error {
	names, err := migrations.Names("postgres")
	if err != nil {
		return err
	}
	var schema, taken string
	if err := db.QueryRowContext(ctx, `SELECT coalesce(CAST(current_schema() AS text), ''),
		coalesce(string_agg(CAST(c.relname AS text), ', ' ORDER BY c.relname), '') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = current_schema() AND c.relname = ANY (CAST($1 AS text[]))
		  AND NOT EXISTS (SELECT FROM pg_class m WHERE m.relnamespace = n.oid AND m.relname = $2)`, names, migrations.Table).Scan(&schema, &taken); err != nil {
		return fmt.Errorf("looking for tables of somebody else: %w", err)
	}
	if taken != "" {
		return fmt.Errorf("%w: the schema %s has %s; nothing was changed: give this program a database or a schema of its own", ErrTaken, schema, taken)
	}
	return nil
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
