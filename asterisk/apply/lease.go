package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/ringfence/ringfence/internal/store"
)

// lease is the right to configure an Asterisk, which one node has at a time. While there is something to do, its holder renews it, or
// stops. While there is nothing to do, it may expire: then its holder is still the one who gets it next, as long as it is there.
type lease struct {
	db     store.DB
	name   string // of the Asterisk
	holder string // this node's, and nobody else's
	length time.Duration
}

// remembered is for how long a node that can tell the Asterisk keeps those that cannot from getting the lease, after it has stopped.
const remembered = 24 * time.Hour

// leaseState is what is known of a lease.
type leaseState struct {
	// own is set if this node had it last, none if nobody had.
	own, none bool
	// expired is for how long it has not been valid; negative while it is.
	expired time.Duration
}

// look reads the state of the lease.
func (l *lease) look(ctx context.Context) (leaseState, error) {
	rows, err := store.Select[struct {
		Holder  string    `db:"holder"`
		Expires time.Time `db:"expires_at"`
		Now     time.Time `db:"now"`
	}](ctx, l.db, `SELECT holder, expires_at, now_utc() AS now FROM asterisk_lease WHERE asterisk = $1`, l.name)
	if err != nil {
		return leaseState{}, fmt.Errorf("reading the lease of the Asterisk: %w", err)
	}
	if len(rows) == 0 {
		return leaseState{none: true}, nil
	}
	return leaseState{own: rows[0].Holder == l.holder, expired: rows[0].Now.Sub(rows[0].Expires)}, nil
}

// write runs a statement with what args are at a time, and reports whether it has written a row. The clock is the database's.
func (l *lease) write(ctx context.Context, doing, sql string, args func(now time.Time) []any) (written bool, err error) {
	err = l.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		now, err := store.Get[time.Time](ctx, tx, `SELECT now_utc()`)
		if err != nil {
			return err
		}
		n, err := tx.Exec(ctx, sql, args(now)...)
		written = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("%s: %w", doing, err)
	}
	return written, nil
}

const takeLease = `INSERT INTO asterisk_lease (asterisk, holder, expires_at) VALUES ($1, $2, $3)
	ON CONFLICT (asterisk) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at`

// get gets the lease, if nobody else has a valid one, and reports whether this node has it now.
func (l *lease) get(ctx context.Context) (held bool, err error) {
	return l.write(ctx, "getting the lease of the Asterisk", takeLease+" WHERE asterisk_lease.holder = excluded.holder OR asterisk_lease.expires_at <= $4",
		func(now time.Time) []any { return []any{l.name, l.holder, now.Add(l.length), now} })
}

// renew keeps the lease for another while, if nobody else has got it since, and reports whether this node has it now.
func (l *lease) renew(ctx context.Context) (held bool, err error) {
	return l.write(ctx, "renewing the lease of the Asterisk", `UPDATE asterisk_lease SET expires_at = $3 WHERE asterisk = $1 AND holder = $2`,
		func(now time.Time) []any { return []any{l.name, l.holder, now.Add(l.length)} })
}

// reach returns the row that says which node last could tell the Asterisk. No Asterisk has a name with a blank.
func (l *lease) reach() string { return l.name + " manager" }

// reaches tells the other nodes that this one can tell the Asterisk, now and until it says so again.
func (l *lease) reaches(ctx context.Context) error {
	_, err := l.write(ctx, "saying that this node reaches the Asterisk", takeLease,
		func(now time.Time) []any { return []any{l.reach(), l.holder, now.Add(remembered)} })
	return err
}

// othersReach reports whether another node has said so.
func (l *lease) othersReach(ctx context.Context) (bool, error) {
	said := *l
	said.name = l.reach()
	state, err := said.look(ctx)
	return !state.none && !state.own && state.expired < 0, err
}

// release gives the lease up, if this node has it.
func (l *lease) release(ctx context.Context) error {
	_, err := l.db.Exec(ctx, `DELETE FROM asterisk_lease WHERE asterisk = $1 AND holder = $2`, l.name, l.holder)
	return err
}
