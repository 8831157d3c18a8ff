package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/ringfence/ringfence/internal/store"
)

// lease is the right to configure an Asterisk, which one node has at a time.
type lease struct {
	db     store.DB
	name   string // of the Asterisk
	holder string // this node's, and nobody else's
	length time.Duration
}

// renew gets the lease, or keeps it for another while, and reports whether this node has it now. The clock is the database's.
func (l *lease) renew(ctx context.Context) (held bool, err error) {
	err = l.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		now, err := store.Get[time.Time](ctx, tx, `SELECT now_utc()`)
		if err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `INSERT INTO asterisk_lease (asterisk, holder, expires_at) VALUES ($1, $2, $3)
			ON CONFLICT (asterisk) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
			WHERE asterisk_lease.holder = excluded.holder OR asterisk_lease.expires_at <= $4`, l.name, l.holder, now.Add(l.length), now)
		held = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("renewing the lease of the Asterisk: %w", err)
	}
	return held, nil
}

// release gives the lease up, if this node has it.
func (l *lease) release(ctx context.Context) error {
	_, err := l.db.Exec(ctx, `DELETE FROM asterisk_lease WHERE asterisk = $1 AND holder = $2`, l.name, l.holder)
	return err
}
