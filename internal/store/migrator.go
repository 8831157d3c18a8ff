package store

import "context"

// A Migrator brings its database to the schema of this program. The databases of both engines implement it; opening a database
// does not migrate it.
type Migrator interface {
	// Migrate runs the missing migrations. Many nodes may call it at once: one of them works and the others wait. It refuses a
	// database whose schema is newer than this program (migrations.ErrNewer).
	Migrate(ctx context.Context) error
	// Version returns the number of the last migration that the database has had, or 0.
	Version(ctx context.Context) (int64, error)
}
