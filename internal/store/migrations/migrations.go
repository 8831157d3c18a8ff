// Package migrations holds the schema of both databases, in one text, and runs it.
//
// # The text
//
// A migration is a file of SQL that begins with "-- +goose Up". Its number says when it runs; its name says what it is about. It runs
// as a whole, in one transaction, so it may have any statements, such as functions and triggers.
// Both databases run the same file. A statement that only one of them needs, or that they write differently, is in a file of its
// own with the database in its name (00006_audit_keep.postgres.sql); files for both databases may share a number.
//
// SQLite accepts most of PostgreSQL: boolean, bigint and integer, DEFAULT, CHECK, REFERENCES with ON DELETE, indexes that are
// unique, on expressions, or partial. Where the databases differ, the text has a word, which is expanded for each when the
// program starts:
//
//	id          @key               the number that the database gives each row, and the primary key; others refer to it with bigint
//	uuid        @uuid              a UUID
//	name        @text              text that sorts by its bytes, whatever the server's locale is
//	created_at  @time              a moment in UTC, with microseconds
//	digest      @bytes             bytes
//	search_text @search(a b, c)    what a search looks in: a and b with a space between, and c apart from them, folded; columns
//	                               of text and numbers, which may be null
//	@search_index(the_table, id);  after the table: the index that a search for any part of search_text uses, of three characters or
//	                               more; id is the column of @key. Without it, where keys are UUIDs, only PostgreSQL has the index
//	@json(options)                 a column of JSON text, for -> and ->>
//	@counted(the_table);           after the table, if a tenant may have very many rows: row_count has their number, and the
//	                               resource says Counted
//
// A complete resource, and its link with another:
//
//	CREATE TABLE confd_thing (
//	    id          @key,
//	    tenant_uuid @uuid NOT NULL REFERENCES auth_tenant (uuid),
//	    name        @text NOT NULL,
//	    email       @text,
//	    created_at  @time NOT NULL DEFAULT (now_utc()),
//	    search_text @search(name, email)
//	);
//	CREATE UNIQUE INDEX confd_thing_email ON confd_thing (lower(email));
//	CREATE INDEX confd_thing_name ON confd_thing (tenant_uuid, fold(name), id); -- the order of lists
//	@search_index(confd_thing, id);
//
//	CREATE TABLE confd_user_thing (
//	    user_id  bigint NOT NULL REFERENCES confd_user (id) ON DELETE CASCADE,
//	    thing_id bigint NOT NULL REFERENCES confd_thing (id) ON DELETE CASCADE,
//	    position bigint NOT NULL,
//	    PRIMARY KEY (user_id, thing_id)
//	);
//	CREATE INDEX confd_user_thing_thing ON confd_user_thing (thing_id);
//
// Constraints are declared here and nowhere else: a broken constraint tells its columns ([store.ConstraintError]).
// A primary key says NOT NULL too, unless it is a number: SQLite takes NULL otherwise. An expression as a default is in
// parentheses. A test compares the resulting schemas of both databases.
//
// # Releases
//
// A migration that was released never changes. A schema only grows: a node of the previous release keeps working while the nodes
// are upgraded one by one. The only way down is a backup from before the upgrade.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing/fstest" // a file system in memory; it does not import testing

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed *.sql
var texts embed.FS

// Table is the table that records which migrations a database has had.
const Table = "ringfence_migration"

// ErrNewer says that a database has had migrations that this program does not know: a newer release wrote it, and this one must
// not touch it.
var ErrNewer = errors.New("the database's schema is newer than this program")

// Files returns the migrations of an engine, "postgres" or "sqlite", as that engine reads them. fs.Glob lists them.
func Files(engine string) fs.FS { return folder{engine} }

// folder expands the words of a file when it is opened, so a start without anything to migrate costs nothing.
type folder struct{ engine string }

func (f folder) Open(name string) (fs.File, error) {
	text, err := texts.ReadFile(name)
	if err != nil {
		return nil, err
	}
	rendered, err := render(string(text), f.engine)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return fstest.MapFS{name: &fstest.MapFile{Data: []byte(whole(rendered))}}.Open(name)
}

// whole has goose send a file as one text: to find where a statement ends, it takes a buffer of 4 MB for each line.
func whole(text string) string {
	return "-- +goose Up\n-- +goose StatementBegin\n" + strings.TrimPrefix(text, "-- +goose Up\n") + "\n-- +goose StatementEnd\n"
}

func (f folder) Glob(pattern string) ([]string, error) {
	names, err := fs.Glob(texts, pattern)
	return slices.DeleteFunc(names, func(name string) bool {
		part := strings.Split(name, ".")
		return len(part) == 3 && part[1] != f.engine
	}), err
}

// made finds what a migration makes that needs a name which is not in use.
var made = regexp.MustCompile(`\bCREATE (?:UNIQUE )?(?:TABLE|VIEW|INDEX) (?:IF NOT EXISTS )?(\w+)`)

// Names returns the names of the tables, views and indexes that all migrations make for an engine, also of those that later ones remove.
func Names(engine string) ([]string, error) {
	files := Files(engine)
	paths, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, path := range paths {
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return nil, err
		}
		for _, found := range made.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Latest returns the version of this program's schema.
func Latest() (int64, error) {
	names, err := fs.Glob(texts, "*.sql")
	if err != nil || len(names) == 0 {
		return 0, err
	}
	return goose.NumericComponent(slices.Max(names))
}

// Up runs the migrations that a database lacks, in order, each in its own transaction. locker keeps other nodes out meanwhile;
// it is nil if no other process can have the database open.
func Up(ctx context.Context, engine string, db *sql.DB, locker lock.SessionLocker) error {
	provider, err := newProvider(engine, db, locker)
	if err != nil {
		return err
	}
	sources := provider.ListSources()
	want := sources[len(sources)-1].Version
	if upToDate(ctx, db, len(sources), want) {
		return nil
	}

	// Asking for the version creates goose's table, under the lock. Up asks for pending migrations without the lock, so nodes
	// would race to create it.
	have, err := provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("reading the schema's version: %w", err)
	}
	if have > want {
		return fmt.Errorf("%w: it is at version %d and this program knows up to %d; "+
			"run the newer release, or restore a backup from before the upgrade", ErrNewer, have, want)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrating the schema: %w", err)
	}
	return nil
}

// UpTo runs the migrations up to a version on a database that no other process has open. It refuses a version that is not one of this
// program's (ErrNewer if it is later).
func UpTo(ctx context.Context, engine string, db *sql.DB, version int64) error {
	provider, err := newProvider(engine, db, nil)
	if err != nil {
		return err
	}
	sources := provider.ListSources()
	switch last := sources[len(sources)-1].Version; {
	case version > last:
		return fmt.Errorf("%w: it is at version %d and this program knows up to %d", ErrNewer, version, last)
	case !slices.ContainsFunc(sources, func(s *goose.Source) bool { return s.Version == version }):
		return fmt.Errorf("no release had version %d of the schema", version)
	}
	if _, err := provider.UpTo(ctx, version); err != nil {
		return fmt.Errorf("migrating the schema: %w", err)
	}
	return nil
}

func newProvider(engine string, db *sql.DB, locker lock.SessionLocker) (*goose.Provider, error) {
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
		return nil, fmt.Errorf("reading the migrations: %w", err)
	}
	return provider, nil
}

// upToDate reports whether a database has had exactly these migrations. It takes no lock: most starts find nothing to do, and
// nodes that start at once need not wait for each other. On an error goose decides, and says what is wrong.
func upToDate(ctx context.Context, db *sql.DB, migrations int, last int64) bool {
	var n int
	var version int64
	err := db.QueryRowContext(ctx, "SELECT count(*), coalesce(max(version_id), 0) FROM "+Table+" WHERE version_id > 0 AND is_applied").
		Scan(&n, &version)
	return err == nil && n == migrations && version == last
}
