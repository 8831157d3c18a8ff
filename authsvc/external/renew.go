package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/ringfence/ringfence/internal/store"
)

// How long one renewal may take, the interval at which waiting nodes check again, and how long one request waits in all.
const (
	renewalTime  = 15 * time.Second
	renewalLease = renewalTime + 5*time.Second
	renewalLook  = 100 * time.Millisecond
	renewalWait  = 2 * renewalLease
)

// Renew returns what is stored, renewed first if it is stale. Only one renewal runs at a time, on all nodes together: an
// external service that rotates refresh tokens treats an old one as stolen. The others wait for it. If renew returns
// ErrGrantRevoked, what is stored is useless and is removed.
func (l *Link) Renew(ctx context.Context, stale func(data json.RawMessage) bool,
	renew func(ctx context.Context, data json.RawMessage) (any, error),
) (json.RawMessage, error) {
	found, err := l.load(ctx)
	if err != nil || !stale(found.data) {
		return found.data, err
	}
	done := l.Host.renewals.DoChan(linkRow(l.UserUUID, l.Type), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewalWait)
		defer cancel()
		return l.renewInTurn(ctx, stale, renew)
	})
	select {
	case result := <-done:
		data, _ := result.Val.(json.RawMessage)
		return data, result.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// renewInTurn renews, or waits for the node that does. If that node dies, it waits until the lease ends.
func (l *Link) renewInTurn(ctx context.Context, stale func(data json.RawMessage) bool,
	renew func(ctx context.Context, data json.RawMessage) (any, error),
) (json.RawMessage, error) {
	again := time.NewTicker(renewalLook)
	defer again.Stop()
	for {
		found, err := l.load(ctx)
		if err != nil || !stale(found.data) {
			return found.data, err
		}
		mine, err := l.lease(ctx, found.sealed)
		if err != nil {
			return nil, err
		}
		if mine {
			data, stored, err := l.renewNow(ctx, found, renew)
			if err != nil || stored {
				return data, err
			}
			continue // it was removed or authorized anew meanwhile
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// lease takes the lease, unless another node has it or the row has changed.
func (l *Link) lease(ctx context.Context, before []byte) (mine bool, err error) {
	now, err := store.Get[time.Time](ctx, l.Host.db, `SELECT now_utc()`)
	if err != nil {
		return false, err
	}
	n, err := l.Host.db.Exec(ctx, `
		UPDATE auth_external SET renewing_until = $4
		WHERE user_uuid = $1 AND auth_type = $2 AND sealed = $3 AND (renewing_until IS NULL OR renewing_until <= $5)`,
		l.UserUUID, l.Type, before, now.Add(renewalLease), now)
	return n == 1, err
}

func (l *Link) renewNow(ctx context.Context, found storedLink,
	renew func(ctx context.Context, data json.RawMessage) (any, error),
) (data json.RawMessage, stored bool, err error) {
	limited, cancel := context.WithTimeout(ctx, renewalTime)
	defer cancel()
	var fresh any
	err = guarded(l.Type, func() (err error) {
		fresh, err = renew(limited, found.data)
		return err
	})
	switch {
	case errors.Is(err, ErrGrantRevoked):
		_, dropErr := l.renewed(ctx, nil, `DELETE FROM auth_external WHERE user_uuid = $1 AND auth_type = $2 AND sealed = $3`, found.sealed)
		return nil, false, errors.Join(err, dropErr)
	case err != nil:
		_, freeErr := l.Host.db.Exec(ctx, `UPDATE auth_external SET renewing_until = NULL WHERE user_uuid = $1 AND auth_type = $2 AND sealed = $3`,
			l.UserUUID, l.Type, found.sealed)
		return nil, false, errors.Join(err, freeErr)
	}
	if data, err = json.Marshal(fresh); err != nil {
		return nil, false, fmt.Errorf("writing external credentials: %w", err)
	}
	blob, err := l.Host.seal(data, linkRow(l.UserUUID, l.Type))
	if err != nil {
		return nil, false, err
	}
	stored, err = l.renewed(ctx, l.state(true), replaceSQL, found.sealed, blob)
	return data, stored, err
}

// guarded runs a plugin's code on a goroutine outside of a server's handler, where a panic would end the process.
func guarded(authType string, run func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("an external authentication plugin panicked", "type", authType, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the plugin %s panicked", authType)
		}
	}()
	return run()
}
