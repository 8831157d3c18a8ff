package confdsvc_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
)

// watched records which statements a database runs.
type watched struct {
	store.DB
	seen func(sql string, args []any)
}

func (w watched) Query(ctx context.Context, sql string, args ...any) (store.Rows, error) {
	w.seen(sql, args)
	return w.DB.Query(ctx, sql, args...)
}

func (w watched) InTx(ctx context.Context, fn func(ctx context.Context, tx store.Conn) error) error {
	return w.DB.InTx(ctx, func(ctx context.Context, tx store.Conn) error { return fn(ctx, watchedConn{tx, w.seen}) })
}

func (w watched) InReadTx(ctx context.Context, fn func(ctx context.Context, tx store.Conn) error) error {
	return w.DB.InReadTx(ctx, func(ctx context.Context, tx store.Conn) error { return fn(ctx, watchedConn{tx, w.seen}) })
}

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

// BenchmarkUser reads and changes one user, and reports how many statements that takes.
func BenchmarkUser(b *testing.B) {
	databases(b, func(b *testing.B, db store.DB) {
		statements := new(atomic.Int64)
		w := newWorld(b, watched{db, func(string, []any) { statements.Add(1) }})
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
