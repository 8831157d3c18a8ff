// Package migrations holds the schema of both databases: one folder an engine,
// with the same file names in both, and what runs them.
//
// A migration that a release has shipped never changes. A schema only grows, so
// that a node of the release before keeps working while the nodes are upgraded
// one by one.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed postgres/*.sql sqlite/*.sql
var files embed.FS

// Table is the table that keeps which migrations a database has had.
const Table = "ringfence_migration"

// ErrNewer says that a database has had migrations that this program does not
// know: it was written by a newer release, and this one must not touch it.
var ErrNewer = errors.New("the database's schema is newer than this program")

// Files is the folder of an engine, "postgres" or "sqlite".
func Files(engine string) fs.FS {
	sub, err := fs.Sub(files, engine)
	if err != nil {
		panic(err) // not a valid path: a constant is wrong
	}
	return sub
}

// Up runs the migrations that a database lacks, in order, each in its own
// transaction. locker keeps other nodes away meanwhile; nil where no other
// process can have the database open.
func Up(ctx context.Context, engine string, db *sql.DB, locker lock.SessionLocker) error {
	options := []goose.ProviderOption{
		goose.WithTableName(Table),
		goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()),
	}
	if locker != nil {
		options = append(options, goose.WithSessionLocker(locker))
	}
	dialect := goose.DialectPostgres
	if engine == "sqlite" {
		dialect = goose.DialectSQLite3
	}
	provider, err := goose.NewProvider(dialect, db, Files(engine), options...)
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}

	// Asking for the version makes goose's table, under the lock. Up asks for what is
	// pending without the lock, and would race for making it.
	have, err := provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("reading the schema's version: %w", err)
	}
	sources := provider.ListSources()
	if want := sources[len(sources)-1].Version; have > want {
		return fmt.Errorf("%w: it is at version %d and this program knows up to %d; "+
			"run the newer release, or restore a backup from before the upgrade", ErrNewer, have, want)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrating the schema: %w", err)
	}
	return nil
}
