package store

import "context"

// A Migrator brings its database to the schema of this program. Both engines'
// databases are one; opening a database does not migrate it.
type Migrator interface {
	// Migrate runs the migrations that are missing. It is safe when many nodes
	// call it at once: one of them works and the others wait. It refuses a database
	// whose schema is newer than this program (migrations.ErrNewer).
	Migrate(ctx context.Context) error
	// Version is the number of the last migration that the database has had, 0 when
	// it has had none.
	Version(ctx context.Context) (int64, error)
}
