package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ringfence/ringfence/internal/private"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/migrations"
	"github.com/ringfence/ringfence/internal/store/open"
	"github.com/ringfence/ringfence/internal/store/sqlite"
)

// ErrNotEmpty says that a gateway has used the database that a backup would replace.
var ErrNotEmpty = errors.New("the database is not empty; make a backup of it, and say --replace to throw away what it has")

// Unfinished is the folder, in the data folder, of files that a restore has not put into their places: it runs, or was interrupted.
const Unfinished = "restore.new"

// Check refuses what Restore would refuse, as far as it is seen without the backup: a data folder or a database that a gateway uses, a
// database that cannot be reached, and one that is not empty unless replace is set. It changes nothing, and spares an operator the reading
// of a large backup for an address that is wrong.
func Check(ctx context.Context, o Options, replace bool) (err error) {
	if _, err := open.Key(o.Database); err != nil {
		return err
	}
	if _, err := os.Stat(o.Data); err == nil {
		if err := ownData(o.Data); err != nil {
			return err
		}
	}
	if holder, err := private.LockHolder(filepath.Join(o.Data, "lock")); err == nil && holder != "" {
		return inUse(o.Data, holder)
	}
	db, err := open.Beside(ctx, o.Database)
	if err != nil {
		if strings.HasPrefix(o.Database, open.SQLiteScheme) { // a file may be missing; what becomes of a damaged one, Restore decides
			return nil
		}
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if !strings.HasPrefix(o.Database, open.SQLiteScheme) {
		return mayFill(ctx, db, replace)
	}
	if replace {
		return nil
	}
	return empty(ctx, db)
}

func inUse(data, holder string) error {
	return fmt.Errorf("the data folder %s is in use by process %s: stop that one first", data, holder)
}

// Restore makes the installation that o names the one of the backup. It refuses a data folder or a database that a gateway uses, and a
// database that is not empty unless replace is set. It returns the number of the rows.
//
// If it fails, nothing was changed, except that PostgreSQL may have got its empty tables. The files are written beside their places
// before the database changes, and renamed after: if the process is interrupted in between, the database is the one of the backup and
// files are those from before. The gateway then says that the key is missing. Restoring once more, with replace, completes it.
func (f *File) Restore(ctx context.Context, o Options, replace bool) (n int64, err error) {
	lock, err := lockData(o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := f.checkKeys(o); err != nil {
		return 0, err
	}
	// What is restored is made beside its place, to be renamed.
	path, isSQLite := strings.CutPrefix(o.Database, open.SQLiteScheme)
	files, databases := filepath.Join(o.Data, Unfinished), path+".restore.new"
	if !isSQLite {
		databases = filepath.Join(o.Data, "restore.database.new")
	}
	for _, folder := range []string{files, databases} {
		if err := os.RemoveAll(folder); err != nil { // an interrupted process has left it; the lock of the data folder keeps others out
			return 0, err
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return 0, fmt.Errorf("making a folder for what is restored: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	}
	if err := f.stageFiles(files); err != nil {
		return 0, err
	}
	made := filepath.Join(databases, "ringfence.db")
	if n, err = f.stage(ctx, o, made); err != nil {
		return 0, err
	}
	if isSQLite {
		err = sqlite.Replace(ctx, path, made, func(ctx context.Context, old *sqlite.DB, broken error) error {
			return mayReplace(ctx, o, path, old, broken, replace)
		})
	} else {
		err = intoPostgres(ctx, o, made, n, replace)
	}
	if err != nil {
		return 0, err
	}
	if err := o.putFiles(files, f.Manifest.Files); err != nil {
		return n, fmt.Errorf("the database was restored, and not all files; restore once more, with --replace: %w", err)
	}
	return n, nil
}

// lockData makes the data folder if it is missing, and keeps gateways out of it.
func lockData(o Options) (io.Closer, error) {
	if _, err := open.Key(o.Database); err != nil {
		return nil, err
	}
	if err := private.MakeFolder(o.Data); err != nil {
		return nil, fmt.Errorf("making the data folder: %w", err)
	}
	if err := ownData(o.Data); err != nil {
		return nil, err
	}
	lock, err := private.TryLock(filepath.Join(o.Data, "lock"))
	if held, ok := errors.AsType[*private.InUseError](err); ok {
		return nil, inUse(o.Data, held.Holder)
	}
	if err != nil {
		return nil, fmt.Errorf("locking the data folder: %w", err)
	}
	return lock, nil
}

// ownData refuses to let root put files that only root can read into the data folder of a gateway that runs as another user: the user of the
// folder, or of the lock that the gateway has made in it.
func ownData(data string) error {
	info, err := os.Stat(filepath.Join(data, "lock"))
	if errors.Is(err, fs.ErrNotExist) {
		info, err = os.Stat(data)
	}
	if err != nil {
		return fmt.Errorf("examining the data folder: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 || stat.Uid == 0 {
		return nil
	}
	name := "#" + strconv.FormatUint(uint64(stat.Uid), 10) // as sudo wants it
	if owner, err := user.LookupId(name[1:]); err == nil {
		name = owner.Username
	}
	return fmt.Errorf("the folder %s is %s's, whose gateway could not read what root restores: run this command as that user (sudo -u '%[2]s')", data, name)
}

// putFiles renames files, in a folder by the last part of their names, to their places in the data folder.
func (o Options) putFiles(folder string, names []string) error {
	for _, name := range names {
		place := filepath.Join(o.Data, name)
		if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
			return err
		}
		if err := private.Rename(filepath.Join(folder, filepath.Base(name)), place); err != nil {
			return err
		}
	}
	return nil
}

// checkKeys refuses a backup whose secrets the restored gateway could not read.
func (f *File) checkKeys(o Options) error {
	keys, err := f.sealingKeys()
	if err != nil {
		return err
	}
	const set = "set RINGFENCE_SEALING_KEYS to the keys of the gateway that the backup is of"
	from, advice := "the backup", set
	if keys == "" {
		from, advice = "the file "+keyFile+" in the data folder", "copy the file "+keyFile+" from a node that has it to the data folder, or "+set
		text, err := private.Read(filepath.Join(o.Data, keyFile), maxFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		keys = string(text)
	}
	if o.SealingKeys != "" { // the gateway reads no file then
		keys, from, advice = o.SealingKeys, "RINGFENCE_SEALING_KEYS", set
	}
	return o.checkKeys(f.Manifest.Keys, keys, from, advice)
}

// stageFiles writes the files of the backup into a folder.
func (f *File) stageFiles(folder string) error {
	for _, name := range f.Manifest.Files {
		content, err := f.content(name)
		if err != nil {
			return err
		}
		if err := private.Create(filepath.Join(folder, filepath.Base(name)), content); err != nil {
			return fmt.Errorf("writing what is restored: %w", err)
		}
	}
	return nil
}

// stage makes a SQLite database of the backup, with the schema of this program. The file is on disk, and no other file belongs to it.
func (f *File) stage(ctx context.Context, o Options, path string) (n int64, err error) {
	lite, err := sqlite.Open(ctx, path)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err = errors.Join(err, lite.Close()); err == nil {
			err = os.Remove(path + ".lock")
		}
	}()
	if err := lite.MigrateTo(ctx, f.Manifest.Schema); err != nil {
		return 0, err
	}
	// The rows of a table may come before those that they refer to.
	if _, err := lite.Exec(ctx, "PRAGMA foreign_keys(0)"); err != nil {
		return 0, err
	}
	err = lite.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		n, err = f.fillSQLite(ctx, o, tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	if _, err := lite.Exec(ctx, "PRAGMA foreign_keys(1)"); err != nil {
		return 0, err
	}
	return n, lite.Migrate(ctx)
}

// fillSQLite writes all rows of the backup, without what triggers would add to them: those of the indexes of searches alone stay.
func (f *File) fillSQLite(ctx context.Context, o Options, tx store.Conn) (n int64, err error) {
	triggers, err := store.Select[struct{ Name, SQL string }](ctx, tx, `SELECT name, sql FROM sqlite_master
		WHERE type = 'trigger' AND name NOT LIKE '%\_search\_%' ESCAPE '\'`)
	if err != nil {
		return 0, err
	}
	for _, t := range triggers {
		if _, err := tx.Exec(ctx, "DROP TRIGGER "+quoted(t.Name)); err != nil {
			return 0, err
		}
	}
	for _, t := range f.tables {
		if _, err := tx.Exec(ctx, "DELETE FROM "+quoted(t.Name)); err != nil { // what the migrations have put there
			return 0, err
		}
		rows, err := t.load(ctx, tx, "sqlite", f.counted(o, n))
		if err == nil && t.Numbered {
			err = t.setLastNumber(ctx, tx, "sqlite", f.Manifest.table(t.Name).LastNumber)
		}
		if err != nil {
			return 0, err
		}
		n += rows
	}
	broken, err := store.Select[string](ctx, tx, `SELECT DISTINCT "table" FROM pragma_foreign_key_check`)
	if err == nil && len(broken) > 0 {
		err = fmt.Errorf("%w: rows of %s refer to rows that are not in it", ErrDamaged, strings.Join(broken, ", "))
	}
	if err != nil {
		return 0, err
	}
	for _, t := range triggers {
		if _, err := tx.Exec(ctx, t.SQL); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// counted returns the rows of the backup, and tells the progress. before is how many rows came before.
func (f *File) counted(o Options, before int64) rows {
	of := f.Manifest.Rows()
	return func(ctx context.Context, t table, fn func(row []any) error) error {
		done := before
		return f.rows(ctx, t, func(row []any) error {
			if done++; done%1000 == 0 || done == of {
				o.progress(done, of)
			}
			return fn(row)
		})
	}
}

// mayReplace refuses a file that no gateway has made, one that a gateway has used unless replace is set, and one that is damaged
// likewise. old is nil where there is no file, or, with the error broken, one that cannot be read.
func mayReplace(ctx context.Context, o Options, path string, old *sqlite.DB, broken error, replace bool) error {
	switch {
	case old == nil && errors.Is(broken, sqlite.ErrDamaged) && replace:
		// Of a damaged file only its place and its beginning say whose it is.
		if lite, err := sqlite.IsDatabase(path); err != nil || lite || filepath.Clean(filepath.Dir(path)) == filepath.Clean(o.Data) {
			return err
		}
		return fmt.Errorf("%s is no database, and is not in the data folder: name another file, or move it away", path)
	case old == nil:
		return broken
	}
	ours, err := ofGateway(ctx, old)
	if err != nil {
		return err
	}
	if !ours {
		return fmt.Errorf("%s is the database of another program: name another file, or move it away", path)
	}
	if replace {
		return nil
	}
	return empty(ctx, old)
}

// ofGateway reports whether a SQLite database is a gateway's, or has nothing.
func ofGateway(ctx context.Context, old *sqlite.DB) (bool, error) {
	ours, err := store.Get[bool](ctx, old, "SELECT count(*) = 0 OR sum(name = $1) > 0 FROM sqlite_master", migrations.Table)
	if err != nil {
		return false, fmt.Errorf("looking for tables of another program: %w", err)
	}
	return ours, nil
}

// empty refuses a database that a gateway has used: each has a tenant.
func empty(ctx context.Context, db store.DB) error {
	version, err := db.(store.Migrator).Version(ctx)
	if err != nil || version == 0 {
		return err
	}
	return emptyTenants(ctx, db)
}

func emptyTenants(ctx context.Context, c store.Conn) error {
	used, err := store.Get[bool](ctx, c, "SELECT count(*) > 0 FROM auth_tenant")
	if err == nil && used {
		return ErrNotEmpty
	}
	return err
}

// intoPostgres puts all rows of a SQLite database into a PostgreSQL database, in one transaction.
func intoPostgres(ctx context.Context, o Options, from string, of int64, replace bool) (err error) {
	lite, err := sqlite.OpenBeside(ctx, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lite.Close()) }()
	tables, err := tablesOf(ctx, lite)
	if err != nil {
		return err
	}
	// One connection: every other one of a program of ours is then another process's.
	db, err := open.Beside(ctx, o.Database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := mayFill(ctx, db, replace); err != nil {
		return err
	}
	if err := db.(store.Migrator).Migrate(ctx); err != nil {
		return fmt.Errorf("making the tables: %w", err)
	}
	return db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if err := begin(ctx, tx, "postgres", tables, "ACCESS EXCLUSIVE"); err != nil {
			return err
		}
		if err := nobodyElse(ctx, tx); err != nil { // one that starts now waits for the tables, and finds the restored ones
			return err
		}
		if !replace {
			if err := emptyTenants(ctx, tx); err != nil {
				return err
			}
		}
		return fillPostgres(ctx, o, tx, tables, lite, of)
	})
}

// mayFill refuses a database that a gateway uses, one that a newer release has migrated, and one that is not empty unless replace is set.
func mayFill(ctx context.Context, db store.DB, replace bool) error {
	if err := nobodyElse(ctx, db); err != nil {
		return err
	}
	have, err := db.(store.Migrator).Version(ctx)
	if err != nil {
		return err
	}
	latest, err := migrations.Latest()
	if err != nil {
		return err
	}
	if have > latest { // the tables that this program does not know would stay
		return fmt.Errorf("a newer release has migrated the database (to version %d, and this program knows up to %d): make an empty database (createdb), "+
			"name that one in RINGFENCE_DATABASE, and restore into it", have, latest)
	}
	if replace {
		return nil
	}
	return empty(ctx, db)
}

// leaving is how long a gateway that was stopped may take to be gone on the server.
const leaving = 3 * time.Second

// nobodyElse refuses a database that a gateway uses: what it has in memory would not be that of the restored one.
func nobodyElse(ctx context.Context, c store.Conn) error {
	for until := time.Now().Add(leaving); ; {
		if _, err := c.Exec(ctx, "SELECT pg_stat_clear_snapshot()"); err != nil { // a transaction would see the same for ever
			return err
		}
		others, err := store.Get[int64](ctx, c, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'ringfence'`)
		switch {
		case err != nil:
			return fmt.Errorf("looking for gateways that use the database: %w", err)
		case others == 0:
			return nil
		case time.Now().After(until):
			return errors.New("gateways use the database: stop all of them first")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(leaving / 30):
		}
	}
}

// fillPostgres writes all rows, without what triggers would add to them. Foreign keys are made anew when all rows are there, since the
// rows of a table may come before those that they refer to: that checks every row.
func fillPostgres(ctx context.Context, o Options, tx store.Conn, tables []table, lite *sqlite.DB, of int64) error {
	keys, err := store.Select[struct{ Of, Name, Definition string }](ctx, tx, `SELECT CAST(conrelid::regclass AS text) AS of, CAST(conname AS text) AS name,
		pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE contype = 'f' AND connamespace = CAST(current_schema() AS regnamespace) ORDER BY 1, 2`)
	if err != nil {
		return err
	}
	var names []string
	ours := make(map[string]bool)
	for _, t := range tables {
		names = append(names, quoted(t.Name))
		ours[t.Name] = true
	}
	var before, after []string
	for _, k := range keys {
		if ours[strings.Trim(k.Of, `"`)] {
			before = append(before, "ALTER TABLE "+k.Of+" DROP CONSTRAINT "+quoted(k.Name))
			after = append(after, "ALTER TABLE "+k.Of+" ADD CONSTRAINT "+quoted(k.Name)+" "+k.Definition)
		}
	}
	before = append(before, "TRUNCATE "+strings.Join(names, ", "))
	for _, name := range names {
		before = append(before, "ALTER TABLE "+name+" DISABLE TRIGGER USER")
		after = append(after, "ALTER TABLE "+name+" ENABLE TRIGGER USER")
	}
	if err := all(ctx, tx, before); err != nil {
		return err
	}
	read := rowsOf("sqlite", lite)
	done := int64(0)
	for _, t := range tables {
		rows, err := t.load(ctx, tx, "postgres", read)
		if err != nil {
			return err
		}
		if t.Numbered {
			n, err := t.lastNumber(ctx, lite, "sqlite")
			if err == nil {
				err = t.setLastNumber(ctx, tx, "postgres", n)
			}
			if err != nil {
				return err
			}
		}
		done += rows
		o.progress(min(done, of), of)
	}
	return all(ctx, tx, after)
}

func all(ctx context.Context, tx store.Conn, statements []string) error {
	for _, s := range statements {
		if _, err := tx.Exec(ctx, s); err != nil {
			return fmt.Errorf("replacing the rows: %w", err)
		}
	}
	return nil
}
