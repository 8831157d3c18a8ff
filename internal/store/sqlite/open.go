package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"modernc.org/sqlite"

	"github.com/ringfence/ringfence/internal/private"
)

// How long a call waits for the writer, and SQLite for another program's lock.
const (
	writerWait  = 5 * time.Second
	busyTimeout = "busy_timeout(5000)"
)

// Open opens the database file at a path. It creates the file and its folder if they are missing: the folder 0700, the file and
// SQLite's files beside it 0600. It refuses a file that another Open holds, in this process or any other. It refuses a damaged
// file too (ErrDamaged), as far as it can tell within two seconds. Open does not migrate.
func Open(ctx context.Context, path string) (_ *DB, err error) {
	path, err = resolve(path)
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	lock, err := takeLock(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = lock.Close()
		}
	}()
	if err := errors.Join(removeScratches(path), makePrivate(path)); err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}

	writer, err := pool(path, "_txlock=immediate")
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	reader, err := pool(path, "_pragma=query_only(1)")
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	readers := max(4, 2*runtime.NumCPU())
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)

	db := &DB{path: path, lock: lock, writer: writer, reader: reader, turn: make(chan struct{}, 1)}
	// The first read of the file, by the connection that may recover it after a crash.
	_, err = db.Exec(ctx, "SELECT count(*) FROM sqlite_master")
	switch {
	case err == nil:
		err = db.check(ctx)
	case damaged(err):
		err = db.damage(err.Error())
	default:
		err = fmt.Errorf("opening the database %s: %w", path, err)
	}
	if err != nil {
		_ = reader.Close()
		_ = writer.Close()
		return nil, err
	}
	return db, nil
}

// OpenBeside opens an existing file to read it only, whether or not another process has it open: what that process commits is seen by
// the next transaction, and is never waited for.
func OpenBeside(ctx context.Context, path string) (*DB, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path) // fails where no file is
	}
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	reader, err := pool(path, "mode=rw&_pragma=query_only(1)")
	if err != nil {
		return nil, err
	}
	db := &DB{path: path, lock: io.NopCloser(nil), writer: reader, reader: reader, turn: make(chan struct{}, 1)}
	if err := db.check(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Replace puts the file at beside in the place of the file at path, which may not exist, if allowed returns nil. No process may have
// either open. The database in the place is open while allowed looks at it; it is nil where there is none, or none that can be read.
//
// What the old file's write-ahead log has is first moved into it, or thrown away with a file that cannot be read: SQLite would take a log
// that is left for one of the new file. If the process is interrupted, the place has the old file or the new one.
func Replace(ctx context.Context, path, beside string, allowed func(ctx context.Context, old *DB, broken error) error) (err error) {
	if path, err = resolve(path); err != nil {
		return fmt.Errorf("replacing the database: %w", err)
	}
	lock, err := takeLock(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		old, broken := OpenBeside(ctx, path)
		err := allowed(ctx, old, broken)
		if old != nil {
			err = errors.Join(err, old.Close())
		}
		if err != nil {
			return err
		}
	} else if err := allowed(ctx, nil, nil); err != nil {
		return err
	}
	for _, name := range []string{path + "-wal", path + "-shm"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("replacing the database: %w", err)
		}
	}
	if err := private.Rename(beside, path); err != nil {
		return fmt.Errorf("replacing the database: %w", err)
	}
	return nil
}

// pool opens the connections of one kind. The pragmas in the DSN apply to every connection; the driver itself runs busy_timeout
// first.
func pool(path, own string) (*sql.DB, error) {
	file := url.URL{Scheme: "file", OmitHost: true, Path: path}
	connector, err := sqlite.NewConnector(file.String() + "?" +
		"_pragma=" + busyTimeout +
		"&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
		"&_pragma=foreign_keys(1)" +
		"&_pragma=temp_store(MEMORY)" +
		"&_pragma=journal_size_limit(67108864)" + // a grown WAL gives its disk space back
		"&_time_format=sqlite&_dqs=0&_defensive=1&_error_rc=1&" + own)
	if err != nil {
		return nil, fmt.Errorf("opening the database %s: %w", path, err)
	}
	return sql.OpenDB(keeping{connector}), nil
}

// resolve creates the folder of a path and returns the path that identifies the file, whatever link led to it.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o700); err != nil {
		return "", err
	}
	found, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) { // the file is to be created
		folder, err := filepath.EvalSymlinks(filepath.Dir(abs))
		return filepath.Join(folder, filepath.Base(abs)), err
	}
	return found, err
}

// header is how every database of SQLite begins.
const header = "SQLite format 3\x00"

// IsDatabase reports whether a file begins as every database of SQLite does.
func IsDatabase(path string) (bool, error) {
	file, err := os.Open(path) //nolint:gosec // the operator's own path
	if err != nil {
		return false, err
	}
	begin, err := io.ReadAll(io.LimitReader(file, int64(len(header))))
	return string(begin) == header, errors.Join(err, file.Close())
}

// makePrivate creates the file if it is missing, and keeps others from it and its companions. SQLite gives new companions the
// file's mode. It refuses a file that is no database: it is somebody else's, and SQLite would take a short one for an empty database.
func makePrivate(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the operator's own path
	if err != nil {
		return err
	}
	begin, err := io.ReadAll(io.LimitReader(file, int64(len(header))))
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if len(begin) > 0 && string(begin) != header {
		if _, err := os.Lstat(path + "-journal"); err != nil { // which mends a file whose making was interrupted
			return damage(path, "file is not a database")
		}
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Chmod(name, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// ErrInUse says that another Open holds the file.
var ErrInUse = errors.New("the database file is in use")

// takeLock locks `<path>.lock` until its result is closed or the process ends.
func takeLock(path string) (io.Closer, error) {
	lock, err := private.TryLock(path + ".lock")
	if held, ok := errors.AsType[*private.InUseError](err); ok {
		return nil, fmt.Errorf("%w: %s is open in process %s; stop that one first, "+
			"give this one another file, or use PostgreSQL, which several can share",
			ErrInUse, path, held.Holder)
	}
	if err != nil {
		return nil, fmt.Errorf("locking the database: %w", err)
	}
	return lock, nil
}
