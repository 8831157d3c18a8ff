package store

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Late is a DB that can be passed on before it is open, so that its users can be created without touching a disk or a network.
// Until Set is called its methods wait, at most for the context and lateWait, and then return ErrUnavailable.
type Late struct {
	once  sync.Once
	set   chan struct{}
	db    DB
	probe *Probe
}

// lateWait covers the start: requests wait this long while the database is being opened.
const lateWait = 5 * time.Second

var errNotOpen = errors.Join(ErrUnavailable, errors.New("it has not been opened yet"))

// NewLate returns a DB to be set later.
func NewLate() *Late {
	l := &Late{set: make(chan struct{})}
	l.probe = NewProbe(func(ctx context.Context) error { return l.db.Ping(ctx) })
	return l
}

// Set sets the open database. Only the first call counts; it reports whether it was the first.
func (l *Late) Set(db DB) bool {
	first := false
	l.once.Do(func() {
		l.db, first = db, true
		close(l.set)
	})
	return first
}

// Open returns the database if it has been set, or nil.
func (l *Late) Open() DB {
	select {
	case <-l.set:
		return l.db
	default:
		return nil
	}
}

func (l *Late) wait(ctx context.Context) (DB, error) {
	select {
	case <-l.set:
		return l.db, nil
	default:
	}
	timer := time.NewTimer(lateWait)
	defer timer.Stop()
	select {
	case <-l.set:
		return l.db, nil
	case <-timer.C:
		return nil, errNotOpen
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Query waits for the database, as do the other methods.
func (l *Late) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	db, err := l.wait(ctx)
	if err != nil {
		return nil, err
	}
	return db.Query(ctx, sql, args...)
}

// Exec implements DB.
func (l *Late) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	db, err := l.wait(ctx)
	if err != nil {
		return 0, err
	}
	return db.Exec(ctx, sql, args...)
}

// Engine returns "" until the database is open.
func (l *Late) Engine() string {
	if db := l.Open(); db != nil {
		return db.Engine()
	}
	return ""
}

// InTx implements DB.
func (l *Late) InTx(ctx context.Context, fn func(ctx context.Context, tx Conn) error) error {
	db, err := l.wait(ctx)
	if err != nil {
		return err
	}
	return db.InTx(ctx, fn)
}

// InReadTx implements DB.
func (l *Late) InReadTx(ctx context.Context, fn func(ctx context.Context, tx Conn) error) error {
	db, err := l.wait(ctx)
	if err != nil {
		return err
	}
	return db.InReadTx(ctx, fn)
}

// Ping does not wait: a database that is not open is unreachable. Strangers may cause it as often as they like (see Probe).
func (l *Late) Ping(ctx context.Context) error {
	if l.Open() == nil {
		return errNotOpen
	}
	return l.probe.Ask(ctx)
}

// Notify implements DB.
func (l *Late) Notify(ctx context.Context, tx Conn, channel, payload string) error {
	db, err := l.wait(ctx)
	if err != nil {
		return err
	}
	return db.Notify(ctx, tx, channel, payload)
}

// Listen waits until the database is open, however long that takes.
func (l *Late) Listen(ctx context.Context, channel string, on Listener) error {
	select {
	case <-l.set:
		return l.db.Listen(ctx, channel, on)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes the database if it was opened.
func (l *Late) Close() error {
	if db := l.Open(); db != nil {
		return db.Close()
	}
	return nil
}

var _ DB = (*Late)(nil)
