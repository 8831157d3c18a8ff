package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/ringfence/ringfence/internal/store"
)

// ErrDamaged says that the file is no longer a database, or not a complete one. The start finds that out, before anything is
// served from it.
var ErrDamaged = errors.New("the database file is damaged")

const (
	// checkTime is how long the check at the start may take. In a second it reads some 100 MiB from a disk cache.
	checkTime = 2 * time.Second
	// wholeCheck is the largest file, in bytes, whose indexes are compared with the tables too, which takes ten times as long.
	wholeCheck = 4 << 20
)

// check looks for damage: in small files thoroughly, in large ones for at most checkTime. Damage that it misses, or that comes
// later, ends the use of the file when it is found (see translate).
func (db *DB) check(ctx context.Context) error {
	pragma := "PRAGMA quick_check(1)"
	if info, err := os.Stat(db.path); err == nil && info.Size() <= wholeCheck {
		pragma = "PRAGMA integrity_check(1)"
	}
	limited, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	found, err := store.Get[string](limited, db, pragma)
	switch {
	case err != nil && damaged(err):
		return db.damage(err.Error())
	case err != nil && limited.Err() != nil && ctx.Err() == nil:
		slog.Info("the database is large: the check at the start ended early, and found no damage", "file", db.path, "after", checkTime)
		return nil
	case err != nil:
		return fmt.Errorf("checking the database %s: %w", db.path, err)
	case found != "ok":
		return db.damage(found)
	}
	return nil
}

func (db *DB) damage(what string) error { return damage(db.path, what) }

// damage makes an ErrDamaged, not a store.ErrUnavailable: waiting does not repair a file.
func damage(path, what string) error {
	return fmt.Errorf("%w: %s: %s; it was left as it is: put a backup in its place, "+
		"or save what can still be read with \"sqlite3 %s .recover | sqlite3 recovered.db\", and look at what is lost before you use that",
		ErrDamaged, path, what, path)
}

// translate calls the function of this name. After an error that means damage, every statement is store.ErrUnavailable. Reads
// may return half of what was written, and writes may be lost with the file.
func (db *DB) translate(ctx context.Context, err error) error {
	if err != nil && damaged(err) && db.broken.CompareAndSwap(false, true) {
		slog.ErrorContext(ctx, "the database file is damaged: nothing is read or written until the next start", "error", db.damage(err.Error()))
	}
	return translate(ctx, err)
}

// whole returns nil as long as no damage was found.
func (db *DB) whole() error {
	if db.broken.Load() {
		return fmt.Errorf("%w: %w: %s", store.ErrUnavailable, ErrDamaged, db.path)
	}
	return nil
}

func damaged(err error) bool {
	lite, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	code := lite.Code() & 0xff
	return code == lib.SQLITE_CORRUPT || code == lib.SQLITE_NOTADB
}
