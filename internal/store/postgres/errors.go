package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/ringfence/ringfence/internal/store"
)

// SQLSTATE codes, https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	notNullViolation     = "23502"
	foreignKeyViolation  = "23503"
	uniqueViolation      = "23505"
	checkViolation       = "23514"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	readOnlyTransaction  = "25006"
	idleInTransaction    = "25P03"
	characterNotInRepert = "22021"
	untranslatableChar   = "22P05"
	lockNotAvailable     = "55P03"
	queryCanceled        = "57014"
	adminShutdown        = "57P01"
	crashShutdown        = "57P02"
	cannotConnectNow     = "57P03"
	classConnection      = "08"
	classResources       = "53"
	classSystem          = "58"
	undefinedTable       = "42P01"
	insufficientRight    = "42501"
	noSuchDatabase       = "3D000"
	classAuthorization   = "28"
)

// ErrRefused says that the server responds but refuses this login, or does not have this database.
var ErrRefused = errors.New("PostgreSQL refuses the connection; the user, the password or the database in its address is wrong")

// refusal reports an error that the same server would repeat. Another of several hosts may be the right one.
func refusal(config *pgx.ConnConfig, err error) (string, bool) {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || pg.Code != noSuchDatabase && !strings.HasPrefix(pg.Code, classAuthorization) {
		return "", false
	}
	for _, other := range config.Fallbacks {
		if other.Host != config.Host || other.Port != config.Port {
			return "", false
		}
	}
	return pg.Message, true
}

// A RightError says that the user of the database's address may not do what a gateway must.
type RightError struct {
	User string
	Err  *pgconn.PgError
}

func (e *RightError) Error() string {
	return fmt.Sprintf("the database user %s lacks a right: %s; %s, as a superuser or as the owner of the database", e.User, e.Err.Message, e.repair())
}

func (e *RightError) Unwrap() error { return e.Err }

// The server says this if its messages are in English.
var (
	deniedTo = regexp.MustCompile(`^permission denied for (schema|table|view|sequence|function|database) "?(.+?)"?$`)
	ownerOf  = regexp.MustCompile(`^must be owner of (table|view|sequence|function|schema) "?(.+?)"?$`)
)

// repair returns what gives the right.
func (e *RightError) repair() string {
	quoted := func(name string) string { return pgx.Identifier{name}.Sanitize() }
	if m := deniedTo.FindStringSubmatch(e.Err.Message); m != nil {
		kind := strings.ToUpper(m[1])
		if kind == "VIEW" {
			kind = "TABLE"
		}
		return fmt.Sprintf("run GRANT ALL ON %s %s TO %s", kind, quoted(m[2]), quoted(e.User))
	}
	if m := ownerOf.FindStringSubmatch(e.Err.Message); m != nil {
		return fmt.Sprintf("run ALTER %s %s OWNER TO %s", strings.ToUpper(m[1]), quoted(m[2]), quoted(e.User))
	}
	return "give it that right"
}

// lacksRight returns the error for a user without a right, or nil.
func lacksRight(user string, err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == insufficientRight {
		return &RightError{user, pg}
	}
	return nil
}

var constraints = map[string]store.ConstraintKind{
	uniqueViolation: store.Unique, foreignKeyViolation: store.ForeignKey,
	notNullViolation: store.NotNull, checkViolation: store.Check,
}

// translate turns an error of pgx into one of the store's, by its code. It returns an unknown error unchanged.
func translate(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) && stopped(err) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	var pg *pgconn.PgError
	isPg := errors.As(err, &pg)
	if isPg {
		if kind, ok := constraints[pg.Code]; ok {
			name := pg.ConstraintName
			if kind == store.NotNull {
				name = pg.TableName + "." + pg.ColumnName
			}
			return &store.ConstraintError{Kind: kind, Constraint: name, Err: err}
		}
		if pg.Code == characterNotInRepert || pg.Code == untranslatableChar {
			return fmt.Errorf("%w: %w", store.ErrInvalidText, err)
		}
	}
	if errors.Is(err, store.ErrUnavailable) || !unavailable(err, pg) {
		return err
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		err = unconnected{err}
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// unconnected is an error of a connection, in one line. pgx's has a line for each way to connect, and most say the same.
type unconnected struct{ error }

func (u unconnected) Unwrap() error { return u.error }

func (u unconnected) Error() string {
	var said []string
	for line := range strings.Lines(u.error.Error()) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	return strings.ReplaceAll(strings.Join(said, "; "), ":; ", ": ")
}

// stopped reports an error that the end of a context may have caused.
func stopped(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == queryCanceled
	}
	return broken(err)
}

func unavailable(err error, pg *pgconn.PgError) bool {
	if pg == nil {
		return broken(err)
	}
	switch pg.Code {
	case serializationFailure, deadlockDetected, lockNotAvailable, queryCanceled, idleInTransaction:
		return true
	}
	var connect *pgconn.ConnectError
	return moved(pg) || strings.HasPrefix(pg.Code, classResources) || strings.HasPrefix(pg.Code, classSystem) || errors.As(err, &connect)
}

// moved reports that the server that responded is not, or not for long, the right one.
func moved(pg *pgconn.PgError) bool {
	switch pg.Code {
	case readOnlyTransaction, adminShutdown, crashShutdown, cannotConnectNow:
		return true
	}
	return strings.HasPrefix(pg.Code, classConnection)
}

// broken reports an error of the connection to the server rather than of the server.
func broken(err error) bool {
	var (
		connect *pgconn.ConnectError
		network net.Error
	)
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.Timeout(err) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, puddle.ErrClosedPool)
}

// stale reports an error after which the pool's other connections cannot be trusted either.
func stale(err error) bool {
	var (
		pg      *pgconn.PgError
		connect *pgconn.ConnectError
	)
	if errors.As(err, &connect) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, puddle.ErrClosedPool) {
		return false // no connection was taken, or the caller has left
	}
	if errors.As(err, &pg) {
		return moved(pg)
	}
	return broken(err)
}

// retryable reports that a transaction was undone because of another one, so it may succeed now.
func retryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == serializationFailure || pg.Code == deadlockDetected)
}

// rolledBack reports that a commit undid the transaction.
func rolledBack(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && !moved(pg) || errors.Is(err, pgx.ErrTxCommitRollback)
}
