package confdsvc_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
)

// counted counts the statements that a database is asked to run.
type counted struct {
	store.DB
	statements *atomic.Int64
}

func (c counted) Query(ctx context.Context, sql string, args ...any) (store.Rows, error) {
	c.statements.Add(1)
	return c.DB.Query(ctx, sql, args...)
}

func (c counted) InTx(ctx context.Context, fn func(ctx context.Context, tx store.Conn) error) error {
	return c.DB.InTx(ctx, func(ctx context.Context, tx store.Conn) error { return fn(ctx, countedConn{tx, c.statements}) })
}

func (c counted) InReadTx(ctx context.Context, fn func(ctx context.Context, tx store.Conn) error) error {
	return c.DB.InReadTx(ctx, func(ctx context.Context, tx store.Conn) error { return fn(ctx, countedConn{tx, c.statements}) })
}

type countedConn struct {
	store.Conn
	statements *atomic.Int64
}

func (c countedConn) Query(ctx context.Context, sql string, args ...any) (store.Rows, error) {
	c.statements.Add(1)
	return c.Conn.Query(ctx, sql, args...)
}

func (c countedConn) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	c.statements.Add(1)
	return c.Conn.Exec(ctx, sql, args...)
}

// BenchmarkUser reads and changes one user, and tells how many statements that takes.
func BenchmarkUser(b *testing.B) {
	databases(b, func(b *testing.B, db store.DB) {
		statements := new(atomic.Int64)
		w := newWorld(b, counted{db, statements})
		c := w.as(b, "a")
		path := "/users/" + c.Create("/users", object{"firstname": "Al"}).Text("id")
		for name, do := range map[string]func(i int) int{
			"read":   func(int) int { return c.Get(path).Status },
			"update": func(i int) int { return c.Do(http.MethodPut, path, object{"subscription_type": i % 10}).Status },
		} {
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				statements.Store(0)
				i := 0
				for b.Loop() {
					if status := do(i); status >= 300 {
						b.Fatal(status)
					}
					i++
				}
				b.ReportMetric(float64(statements.Load())/float64(i), "statements/op")
			})
		}
	})
}
