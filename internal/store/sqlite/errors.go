package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/ringfence/ringfence/internal/store"
)

// Extended result codes, https://www.sqlite.org/rescode.html. A RESTRICT that
// stops a delete is reported as a trigger.
var constraints = map[int]store.ConstraintKind{
	lib.SQLITE_CONSTRAINT_UNIQUE:     store.Unique,
	lib.SQLITE_CONSTRAINT_PRIMARYKEY: store.Unique,
	lib.SQLITE_CONSTRAINT_ROWID:      store.Unique,
	lib.SQLITE_CONSTRAINT_FOREIGNKEY: store.ForeignKey,
	lib.SQLITE_CONSTRAINT_TRIGGER:    store.ForeignKey,
	lib.SQLITE_CONSTRAINT_NOTNULL:    store.NotNull,
	lib.SQLITE_CONSTRAINT_CHECK:      store.Check,
}

// The part of a message that names the broken constraint: "UNIQUE constraint failed: t.a, t.b (2067)".
var broke = regexp.MustCompile(`\w constraint failed: (?:index ')?(.+?)'? \(\d+\)$`)

// translate turns an error of the driver into one of the store's, by its code. It returns an unknown error unchanged.
func translate(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, done := errors.AsType[*store.ConstraintError](err); done {
		return err
	}
	var lite *sqlite.Error
	isLite := errors.As(err, &lite)
	if cause := ctx.Err(); cause != nil && (isLite && lite.Code() == lib.SQLITE_INTERRUPT || errors.Is(err, sql.ErrTxDone)) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, store.ErrUnavailable) {
		return err
	}
	if isLite {
		if kind, ok := constraints[lite.Code()]; ok {
			broken := &store.ConstraintError{Kind: kind, Err: err}
			if m := broke.FindStringSubmatch(lite.Error()); m != nil {
				broken.Constraint = m[1]
			}
			return broken
		}
	}
	if unavailable(err, lite) {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}

func unavailable(err error, lite *sqlite.Error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sql.ErrConnDone) || strings.HasSuffix(err.Error(), "sql: database is closed") {
		return true
	}
	if lite == nil {
		return false
	}
	switch lite.Code() & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN,
		lib.SQLITE_NOMEM, lib.SQLITE_READONLY, lib.SQLITE_PROTOCOL, lib.SQLITE_PERM, lib.SQLITE_AUTH, lib.SQLITE_INTERNAL,
		lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_FORMAT, lib.SQLITE_NOLFS:
		return true
	}
	return false
}

// readOnly reports that a reader was given a statement that writes.
func readOnly(err error) bool {
	var lite *sqlite.Error
	return errors.As(err, &lite) && lite.Code() == lib.SQLITE_READONLY
}
