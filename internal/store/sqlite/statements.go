package sqlite

import (
	"container/list"
	"context"
	"database/sql/driver"
	"errors"
)

// maxStatements is how many statements each connection keeps prepared.
const maxStatements = 128

// keeping makes the connections of the driver keep their statements.
type keeping struct{ driver.Connector }

// Connect implements driver.Connector.
func (k keeping) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := k.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{driverConn: opened.(driverConn), byText: make(map[string]*list.Element), recent: list.New()}, nil
}

// driverConn is what the driver's connections can do.
type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// conn keeps the statements that it used most recently prepared, inside and outside of transactions: parsing and planning a query costs
// SQLite more than running it if it finds one row. Only one goroutine uses it at a time.
type conn struct {
	driverConn
	byText map[string]*list.Element
	recent *list.List // of statement, the most recently used first
}

// driverStmt is what the driver's statements can do.
type driverStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// statement is a prepared text.
type statement struct {
	driverStmt
	text string
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	found, err := s.QueryContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &keptRows{found, c, s}, nil
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	result, err := s.ExecContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return result, c.keep(s)
}

// Close implements driver.Conn.
func (c *conn) Close() (err error) {
	for e := c.recent.Front(); e != nil; e = e.Next() {
		err = errors.Join(err, e.Value.(statement).Close())
	}
	return errors.Join(err, c.driverConn.Close())
}

// take returns the statement of a text. Nobody else has it until it is kept: the same text, run while its rows are read, is another one.
func (c *conn) take(ctx context.Context, text string) (s statement, err error) {
	if kept, ok := c.byText[text]; ok {
		delete(c.byText, text)
		return c.recent.Remove(kept).(statement), nil
	}
	prepared, err := c.PrepareContext(ctx, text)
	if err != nil {
		return s, err
	}
	return statement{prepared.(driverStmt), text}, nil
}

// keep keeps a statement that ran, for the next who takes it.
func (c *conn) keep(s statement) error {
	if _, same := c.byText[s.text]; same {
		return s.Close()
	}
	c.byText[s.text] = c.recent.PushFront(s)
	if c.recent.Len() <= maxStatements {
		return nil
	}
	oldest := c.recent.Remove(c.recent.Back()).(statement)
	delete(c.byText, oldest.text)
	return oldest.Close()
}

// keptRows are the rows of a statement that is kept when they have been read.
type keptRows struct {
	driver.Rows
	of   *conn
	kept statement
}

// Close implements driver.Rows.
func (r *keptRows) Close() error {
	if err := r.Rows.Close(); err != nil {
		return errors.Join(err, r.kept.Close())
	}
	return r.of.keep(r.kept)
}
