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
// finds one row. It is safe for concurrent use. Its lock is never held while something waits for a connection.
type statements struct {
	db *sql.DB

	mu     sync.Mutex
	byText map[string]*list.Element
	recent *list.List // of *statement, the most recently used first
}

// statement is a prepared text, guarded by the lock of the statements.
type statement struct {
	text      string
	prepared  *sql.Stmt // nil: not yet
	preparing bool      // by a query; meanwhile others run the text as it is
	using     int       // how many queries prepare it or begin with it
	dropped   bool      // it is closed when none does
}

func newStatements(db *sql.DB) *statements {
	return &statements{db: db, byText: make(map[string]*list.Element), recent: list.New()}
}

// query runs a text on a connection of the pool.
func (s *statements) query(ctx context.Context, text string, args []any) (*sql.Rows, error) {
	e, prepared := s.begin(text)
	if e == nil {
		return s.db.QueryContext(ctx, text, args...) //nolint:sqlclosecheck // the caller closes the rows
	}
	defer s.end(e)
	if prepared == nil {
		var err error
		if prepared, err = s.prepare(ctx, e); err != nil {
			return nil, err
		}
	}
	return prepared.QueryContext(ctx, args...) //nolint:sqlclosecheck // the caller closes the rows
}

// begin returns the statement of a text, for the caller to prepare unless it is, and to end. It returns nil for a text to be run as it is:
// it is new, and may be used only once, or another query is preparing it.
func (s *statements) begin(text string) (*statement, *sql.Stmt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.byText[text]
	if !ok {
		s.byText[text] = s.recent.PushFront(&statement{text: text})
		if s.recent.Len() > maxStatements {
			oldest := s.recent.Remove(s.recent.Back()).(*statement)
			delete(s.byText, oldest.text)
			oldest.dropped = true
			oldest.close()
		}
		return nil, nil
	}
	s.recent.MoveToFront(found)
	e := found.Value.(*statement)
	if e.preparing {
		return nil, nil
	}
	e.using++
	e.preparing = e.prepared == nil
	return e, e.prepared
}

func (s *statements) prepare(ctx context.Context, e *statement) (*sql.Stmt, error) {
	prepared, err := s.db.PrepareContext(ctx, e.text)
	s.mu.Lock()
	defer s.mu.Unlock()
	e.prepared, e.preparing = prepared, false
	return prepared, err
}

func (s *statements) end(e *statement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.using--
	e.close()
}

// close closes a statement that was dropped and that no query uses. Rows that are being read keep what they need.
func (e *statement) close() {
	if e.dropped && e.using == 0 && e.prepared != nil {
		_ = e.prepared.Close() // its connections live on
		e.prepared = nil
	}
}
