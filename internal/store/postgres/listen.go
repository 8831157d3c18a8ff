package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"github.com/ringfence/ringfence/internal/store"
)

// A listener checks the server after this long without a notification, and waits at most this long between attempts to connect.
const (
	listenIdle  = 20 * time.Second
	listenPing  = 5 * time.Second
	listenPause = 5 * time.Second
)

// Listen delivers payloads on its own connection, outside the pool, and makes a new one whenever it is lost. It returns nil once
// ctx has ended. It calls Lost once at the beginning of each time without a connection.
func (db *DB) Listen(ctx context.Context, channel string, on store.Listener) error {
	if err := store.CheckText([]any{channel}); err != nil {
		return err
	}
	down := false
	for attempt := 0; ; attempt++ {
		err := db.listen(ctx, channel, on, func() { attempt, down = 0, false })
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end that the caller asked for
		}
		if !down {
			down = true
			on.Lost(translate(ctx, err))
		}
		longest := min(100*time.Millisecond<<min(attempt, 10), listenPause)
		timer := time.NewTimer(longest/2 + rand.N(longest/2)) //nolint:gosec // a spread, not a secret
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

// listen uses one connection until it fails. It calls up when it listens.
func (db *DB) listen(ctx context.Context, channel string, on store.Listener, up func()) error {
	cfg := db.config.ConnConfig.Copy()
	// If the wait times out, pgx must not cancel a statement: there is none.
	cfg.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.DeadlineContextWatcherHandler{Conn: c.Conn()}
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	up()
	on.Ready()
	for {
		waiting, cancel := context.WithTimeout(ctx, listenIdle)
		n, err := conn.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil:
			on.Deliver(n.Payload)
		case ctx.Err() != nil:
			return ctx.Err()
		case !conn.IsClosed() && pgconn.Timeout(err):
			asking, cancel := context.WithTimeout(ctx, listenPing)
			err := conn.Ping(asking)
			cancel()
			if err != nil {
				return fmt.Errorf("asking an idle connection: %w", err)
			}
		default:
			return fmt.Errorf("waiting for a notification: %w", err)
		}
	}
}
