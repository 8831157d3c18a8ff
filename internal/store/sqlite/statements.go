package sqlite

import (
	"container/list"
	"context"
	"database/sql"
	"sync"
)

// maxStatements is how many texts are kept prepared.
const maxStatements = 128

// statements keeps the most recently used ones prepared. Parsing and planning a query costs SQLite as much as running it if it
// finds one row. It is safe for concurrent use.
type statements struct {
	db *sql.DB

	mu     sync.Mutex
	byText map[string]*list.Element
	recent *list.List // of *statement, the most recently used first
}

// statement is a prepared text. Its lock is held while a query begins, and while it is closed.
type statement struct {
	text string

	mu       sync.RWMutex
	prepared *sql.Stmt // nil: not yet, or no longer
	dropped  bool
}

func newStatements(db *sql.DB) *statements {
	return &statements{db: db, byText: make(map[string]*list.Element), recent: list.New()}
}

// query runs a text on a connection of the pool.
func (s *statements) query(ctx context.Context, text string, args []any) (*sql.Rows, error) {
	e, known := s.entry(text)
	if !known { // it may be used only once
		return s.db.QueryContext(ctx, text, args...) //nolint:sqlclosecheck // the caller closes the rows
	}
	if err := e.prepare(ctx, s.db); err != nil {
		return nil, err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.dropped {
		return s.db.QueryContext(ctx, text, args...) //nolint:sqlclosecheck // the caller closes the rows
	}
	return e.prepared.QueryContext(ctx, args...) //nolint:sqlclosecheck // the caller closes the rows
}

// entry returns the statement of a text, and whether it was there before.
func (s *statements) entry(text string) (e *statement, known bool) {
	var oldest *statement
	s.mu.Lock()
	if found, ok := s.byText[text]; ok {
		s.recent.MoveToFront(found)
		e, known = found.Value.(*statement), true
	} else {
		e = &statement{text: text}
		s.byText[text] = s.recent.PushFront(e)
	}
	if s.recent.Len() > maxStatements {
		oldest = s.recent.Remove(s.recent.Back()).(*statement)
		delete(s.byText, oldest.text)
	}
	s.mu.Unlock()
	if oldest != nil {
		oldest.drop()
	}
	return e, known
}

// prepare prepares the statement, unless it was dropped.
func (e *statement) prepare(ctx context.Context, db *sql.DB) error {
	e.mu.RLock()
	done := e.prepared != nil || e.dropped
	e.mu.RUnlock()
	if done {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.prepared != nil || e.dropped {
		return nil
	}
	var err error
	e.prepared, err = db.PrepareContext(ctx, e.text)
	return err
}

// drop closes the statement once no query is beginning with it. Rows that are being read keep what they need.
func (e *statement) drop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dropped = true
	if e.prepared != nil {
		_ = e.prepared.Close() // its connections live on
		e.prepared = nil
	}
}
