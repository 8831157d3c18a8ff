package storetest

import (
	"context"

	"github.com/ringfence/ringfence/internal/store"
)

// Watch returns a database that calls seen before each statement, also those of transactions. seen must be safe for concurrent use
// if the database is used so.
func Watch(db store.DB, seen func(sql string, args []any)) store.DB { return watched{db, seen} }

type watched struct {
	store.DB

	seen func(sql string, args []any)
}

func (w watched) Query(ctx context.Context, sql string, args ...any) (store.Rows, error) {
	return w.in(w.DB).Query(ctx, sql, args...)
}

func (w watched) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	return w.in(w.DB).Exec(ctx, sql, args...)
}

func (w watched) InTx(ctx context.Context, fn func(ctx context.Context, tx store.Conn) error) error {
	return w.DB.InTx(ctx, func(ctx context.Context, tx store.Conn) error { return fn(ctx, w.in(tx)) })
}

func (w watched) InReadTx(ctx context.Context, fn func(ctx context.Context, tx store.Conn) error) error {
	return w.DB.InReadTx(ctx, func(ctx context.Context, tx store.Conn) error { return fn(ctx, w.in(tx)) })
}

// Scratch makes a copy that nobody watches.
func (w watched) Scratch(ctx context.Context) (store.DB, error) { return store.Scratch(ctx, w.DB) }

// Notify needs the engine's own transaction.
func (w watched) Notify(ctx context.Context, tx store.Conn, channel, payload string) error {
	w.seen("NOTIFY", []any{channel, payload})
	return w.DB.Notify(ctx, tx.(watchedConn).Conn, channel, payload)
}

func (w watched) in(c store.Conn) watchedConn { return watchedConn{c, w.seen} }

type watchedConn struct {
	store.Conn

	seen func(sql string, args []any)
}

func (c watchedConn) Query(ctx context.Context, sql string, args ...any) (store.Rows, error) {
	c.seen(sql, args)
	return c.Conn.Query(ctx, sql, args...)
}

func (c watchedConn) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	c.seen(sql, args)
	return c.Conn.Exec(ctx, sql, args...)
}
