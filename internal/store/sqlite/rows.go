package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/ringfence/ringfence/internal/store"
)

// rows makes database/sql's rows the store's.
type rows struct {
	*sql.Rows
	failed  func(error) error
	release func() error
}

// wrap returns found as the store's rows. release, if any, is called when they are closed, or at once if there are none.
func wrap(found *sql.Rows, err error, failed func(error) error, release func() error) (store.Rows, error) {
	if release == nil {
		release = func() error { return nil }
	}
	if err != nil {
		err = failed(err) // which may need the connection
		_ = release()
		return nil, err
	}
	return &rows{Rows: found, failed: failed, release: release}, nil
}

func (r *rows) Err() error { return r.failed(r.Rows.Err()) }

func (r *rows) Close() error {
	err := r.failed(r.Rows.Close())
	release := r.release
	r.release = func() error { return nil }
	return errors.Join(err, release())
}

// Scan reads the row. The driver returns a time from an expression as text: it knows only the types of columns.
func (r *rows) Scan(dest ...any) error {
	into := make([]any, len(dest))
	for i, d := range dest {
		switch d := d.(type) {
		case *time.Time:
			into[i] = timeScanner{one: d}
		case **time.Time:
			into[i] = timeScanner{maybe: d}
		default:
			into[i] = d
		}
	}
	if err := r.Rows.Scan(into...); err != nil {
		return r.failed(err)
	}
	return nil
}

// timeScanner reads a time, which may be null, from a time or its text.
type timeScanner struct {
	one   *time.Time
	maybe **time.Time
}

func (s timeScanner) Scan(src any) error {
	var t time.Time
	switch x := src.(type) {
	case nil:
		if s.maybe == nil {
			return errors.New("NULL cannot be read into a time.Time")
		}
		*s.maybe = nil
		return nil
	case time.Time:
		t = x
	case string:
		var err error
		if t, err = time.Parse(timeText, x); err != nil {
			return fmt.Errorf("reading a time: %w", err)
		}
	default:
		return fmt.Errorf("a time cannot be read from %T", src)
	}
	t = t.UTC()
	if s.maybe != nil {
		*s.maybe = &t
	} else {
		*s.one = t
	}
	return nil
}
