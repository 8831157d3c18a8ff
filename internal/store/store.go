package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/georgysavva/scany/v2/dbscan"

	"github.com/ringfence/ringfence/internal/apierr"
)

// Rows is the result of a query. Only this package and the engines iterate over rows; everybody else calls [Select], [Get] or
// [Each].
type Rows = dbscan.Rows

// Conn runs one SQL text on either engine: `$1` placeholders and the subset
// that PostgreSQL and SQLite share (RETURNING, ON CONFLICT, NULLS LAST, WITH
// RECURSIVE), plus functions that both engines define: `fold(text)`, which
// drops case and accents; `now_utc()`, the database's clock; and for many rows
// in one argument `json_each(text)`, whose column `value` has the items of a
// JSON list, such as lists of values, and `as_uuid(text)`, for a UUID in them:
// SELECT as_uuid(e.value ->> 0), e.value ->> 1 FROM json_each(CAST($1 AS text)) AS e.
type Conn interface {
	// Query runs a statement that returns rows. The caller closes them.
	Query(ctx context.Context, sql string, args ...any) (Rows, error)
	// Exec runs a statement and returns how many rows it touched.
	Exec(ctx context.Context, sql string, args ...any) (int64, error)
}

// DB is one open, migrated database. It is safe for concurrent use.
//
// Every error of a DB and of its Conns is either one of this package's (test
// with errors.Is and errors.As) or the cause of a plain 500.
type DB interface {
	Conn

	// Engine returns "postgres" or "sqlite".
	Engine() string
	// InTx runs fn in one transaction and commits if fn returns nil. The commit is on disk when InTx returns nil. Transactions
	// are serializable, and end with the first statement that fails: InTx then returns that error even if fn does not. fn uses
	// only the Conn that it is given: on SQLite it holds the only writer, and another Conn would wait for ever. fn may run again
	// after a serialization failure or a deadlock, so it has no effect outside the database; work for after the commit is done
	// after InTx.
	InTx(ctx context.Context, fn func(ctx context.Context, tx Conn) error) error
	// InReadTx runs fn on one consistent snapshot. A writer does not block it.
	InReadTx(ctx context.Context, fn func(ctx context.Context, tx Conn) error) error
	// Ping returns nil if the database can run a query now. A server that can only be read, such as one that was the primary, is unavailable.
	Ping(ctx context.Context) error

	// Notify queues a payload (under 8,000 bytes) on a channel, as part of tx: listeners on every node get it once tx has
	// committed, and never if it has not.
	Notify(ctx context.Context, tx Conn, channel, payload string) error
	// Listen delivers payloads of a channel until ctx ends, and then returns nil. It calls ready each time that it begins to
	// listen, also the first time, and before it delivers anything. Notifications from before that call may have been missed, so
	// the caller forgets what it cached. It calls lost when it may miss notifications from now on. Only one process can open
	// SQLite, so there is nobody to hear from: ready is called once and nothing is delivered.
	Listen(ctx context.Context, channel string, on Listener) error

	Close() error
}

// Listener has the functions that Listen calls, from one goroutine.
type Listener struct {
	Ready   func()
	Lost    func(err error)
	Deliver func(payload string)
}

// The kinds of failure that callers handle.
var (
	// ErrNotFound says that Get found no row.
	ErrNotFound = errors.New("not found")
	// ErrUnavailable says that the database cannot be used now: it is unreachable, starting, failing over, read-only, or out of
	// connections. Nothing was decided; the caller returns 503 and the client tries again. A commit with an unknown outcome is
	// ErrUnavailable too.
	ErrUnavailable = apierr.Sentinel("database unavailable", apierr.DatabaseUnavailable)
)

// A ConstraintError says that a write broke a constraint and was undone.
type ConstraintError struct {
	Kind ConstraintKind
	// Constraint names the broken constraint: its name on PostgreSQL, "table.column, table.column" on SQLite. It may be empty for
	// foreign keys on SQLite. It is not for clients.
	Constraint string
	// Table is the table of the constraint, and Columns are the columns that the constraint uses, in the order of the table:
	// those of the key, whether plain or in an expression, and of the condition of a partial index. Both are empty if the
	// database does not say: SQLite, for foreign keys and checks.
	Table   string
	Columns []string
	Err     error
}

// ConstraintKind tells one broken constraint from another.
type ConstraintKind int

// The kinds of constraint.
const (
	Unique ConstraintKind = iota + 1
	ForeignKey
	NotNull
	Check
)

func (e *ConstraintError) Error() string {
	return fmt.Sprintf("constraint %q: %v", e.Constraint, e.Err)
}

func (e *ConstraintError) Unwrap() error { return e.Err }

// IsConstraint reports whether err is a broken constraint of this kind.
func IsConstraint(err error, kind ConstraintKind) bool {
	var c *ConstraintError
	return errors.As(err, &c) && c.Kind == kind
}

// A Migrator brings its database to the schema of this program. The databases of both engines implement it; opening a database
// does not migrate it.
type Migrator interface {
	// Migrate runs the missing migrations. Many nodes may call it at once: one of them works and the others wait. It refuses a
	// database whose schema is newer than this program (migrations.ErrNewer).
	Migrate(ctx context.Context) error
	// Version returns the number of the last migration that the database has had, or 0.
	Version(ctx context.Context) (int64, error)
}

// A Scratcher makes copies of its database. SQLite is one: who tries something long in the database itself keeps all others from writing.
type Scratcher interface {
	// Scratch returns a copy of the database as it is now, beside it, of which nobody else knows. Close removes it. Nobody waits for it.
	Scratch(ctx context.Context) (DB, error)
}

// Scratch returns a copy of a database, or nil if its engine needs none.
func Scratch(ctx context.Context, db DB) (DB, error) {
	if late, ok := db.(*Late); ok {
		db = late.Open()
	}
	if s, ok := db.(Scratcher); ok {
		return s.Scratch(ctx)
	}
	return nil, nil //nolint:nilnil // it says so
}
