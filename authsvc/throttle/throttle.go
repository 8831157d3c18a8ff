// Package throttle slows down guessing and flooding, with counts in the database, so that all nodes share them.
//
// An attempt is counted before its password is checked: a thousand concurrent guesses are a thousand. After some failures a login
// must wait, twice as long each time up to a limit. Attempts that come too soon are refused unchecked and not counted. A network
// has an allowance of attempts; a successful attempt gives its share back.
//
// The login is counted as it was typed, in its canonical form, whether it belongs to a user or not: the responses are the same,
// and so is the work. A user who has several addresses has a count for each.
//
// A person who keeps guessing at somebody's login must not lock its owner out for ever. So a network from which the login has
// succeeded within TrustFor has its own count, which nobody elsewhere can increase, and does not need its network's allowance.
package throttle

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
)

// Key identifies a count.
type Key [sha256.Size]byte

// KeyOf returns the key of a thing of a kind. The thing itself is never stored: people type passwords where a login belongs.
func KeyOf(kind, thing string) Key { return sha256.Sum256([]byte(kind + "\x00" + thing)) }

// everywhere is the place of a count that is not for one network.
var everywhere = KeyOf("everywhere", "")

// Network returns the network of an address: an IPv4 address itself, or the /64 of an IPv6 address, since every customer has a
// whole /64.
func Network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address // a socket of this machine
	}
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		return ip.String()
	}
	network, err := ip.Prefix(64)
	if err != nil {
		return address
	}
	return network.String()
}

// Throttle keeps the counts. Each statement is its own transaction, on one row: transactions wait for a contended row, and none
// has to be repeated.
type Throttle struct {
	// Now is the clock; nil means the database's, which all nodes share. It is set before the Throttle is used.
	Now func() time.Time
	db  store.DB
}

// New returns a Throttle that keeps the counts in a database.
func New(db store.DB) *Throttle { return &Throttle{db: db} }

// count is a row of auth_limit.
type count struct {
	Now     time.Time `db:"now"`
	Subject []byte    `db:"subject"`
	Place   []byte    `db:"place"`
	OpenAt  *int64    `db:"open_at"`
}

// look returns the time and, by subject and place, when the existing counts of two subjects in two places are open.
func (t *Throttle) look(ctx context.Context, subjects, places [2]Key) (now int64, open map[[2]Key]int64, err error) {
	rows, err := store.Select[count](ctx, t.db, `
		SELECT now_utc() AS now, l.subject, l.place, l.open_at
		FROM (SELECT 1 AS one) always
		LEFT JOIN auth_limit l ON l.subject IN ($1, $2) AND l.place IN ($3, $4)`,
		subjects[0][:], subjects[1][:], places[0][:], places[1][:])
	if err != nil {
		return 0, nil, fmt.Errorf("reading the counts of attempts: %w", err)
	}
	open = make(map[[2]Key]int64, len(rows))
	for _, r := range rows {
		now = r.Now.UnixMicro()
		if r.OpenAt != nil {
			open[[2]Key{Key(r.Subject), Key(r.Place)}] = *r.OpenAt
		}
	}
	if t.Now != nil {
		now = t.Now().UnixMicro()
	}
	return now, open, nil
}

// draw takes one from an allowance, or returns false. An allowance is one number, the moment at which it is full again: each draw
// postpones it by Every (the generic cell rate algorithm of ATM).
func (t *Throttle) draw(ctx context.Context, subject Key, r Rate, now int64) (bool, error) {
	n, err := t.db.Exec(ctx, `
		INSERT INTO auth_limit (subject, place, failures, open_at, expires_at) VALUES ($1, $2, 0, $3, $3)
		ON CONFLICT (subject, place) DO UPDATE SET
			open_at = CASE WHEN auth_limit.open_at > $4 THEN auth_limit.open_at ELSE $4 END + CAST($5 AS bigint),
			expires_at = CASE WHEN auth_limit.open_at > $4 THEN auth_limit.open_at ELSE $4 END + CAST($5 AS bigint)
		WHERE auth_limit.open_at <= CAST($6 AS bigint)`,
		subject[:], everywhere[:], now+r.Every.Microseconds(), now, r.Every.Microseconds(), now+r.window())
	if err != nil {
		return false, fmt.Errorf("drawing on an allowance: %w", err)
	}
	return n == 1, nil
}

func (t *Throttle) giveBack(ctx context.Context, subject Key, r Rate) error {
	if _, err := t.db.Exec(ctx, `UPDATE auth_limit SET open_at = open_at - CAST($3 AS bigint) WHERE subject = $1 AND place = $2`,
		subject[:], everywhere[:], r.Every.Microseconds()); err != nil {
		return fmt.Errorf("giving back to an allowance: %w", err)
	}
	return nil
}

// Left refuses, as Spend does, if an allowance is used up. It takes nothing.
func (t *Throttle) Left(ctx context.Context, subject Key, r Rate) error {
	_, err := t.left(ctx, subject, r)
	return err
}

func (t *Throttle) left(ctx context.Context, subject Key, r Rate) (now int64, err error) {
	now, open, err := t.look(ctx, [2]Key{subject, subject}, [2]Key{everywhere, everywhere})
	if err != nil {
		return 0, err
	}
	if wait := open[[2]Key{subject, everywhere}] - now - r.window(); wait > 0 {
		return 0, tooSoon(wait)
	}
	return now, nil
}

// Spend takes one from an allowance, or refuses until there is another.
func (t *Throttle) Spend(ctx context.Context, subject Key, r Rate) error {
	now, err := t.left(ctx, subject, r)
	if err != nil {
		return err
	}
	allowed, err := t.draw(ctx, subject, r, now)
	if err == nil && !allowed {
		err = tooSoon(r.Every.Microseconds())
	}
	return err
}

// Forgive forgets all failures of the logins, and which networks are trusted for them.
func (t *Throttle) Forgive(ctx context.Context, logins ...Key) error {
	for _, login := range logins {
		if _, err := t.db.Exec(ctx, `DELETE FROM auth_limit WHERE subject = $1`, login[:]); err != nil {
			return fmt.Errorf("forgetting failed guesses: %w", err)
		}
	}
	return nil
}

func tooSoon(microseconds int64) error {
	e := apierr.New(apierr.TooMany, "Too many attempts; wait before the next one")
	e.ID, e.RetryAfter = "too-many-attempts", max(time.Duration(microseconds)*time.Microsecond, time.Second)
	return e
}
