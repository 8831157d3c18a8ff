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
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
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

// Limits say how guessing and flooding are slowed down. A zero field means its default.
type Limits struct {
	// FreeGuesses is how many wrong passwords a login may have before it must wait. Default: 10.
	FreeGuesses int
	// Delay is the first wait. Each further wrong password doubles it, up to MaxDelay. Default: 1 second, 15 minutes.
	Delay, MaxDelay time.Duration
	// ForgetAfter is how long after its last attempt a login's wrong passwords are forgotten. Default: 2 hours.
	ForgetAfter time.Duration
	// TrustFor is how long a network from which a login has succeeded has its own count. Default: 30 days.
	TrustFor time.Duration
	// NetworkGuesses limits the wrong passwords from one network (an IPv4 address, an IPv6 /64). An office behind one address has
	// many. Default: 200, and one every 5 seconds.
	NetworkGuesses Rate
	// Mails limits the mails to one address. Default: 3, and one every 15 minutes.
	Mails Rate
	// MailRequests limits the requests from one network to reset a password. Default: 20, and one a minute.
	MailRequests Rate
	// Registrations limits the accounts created from one network. Default: 5, and one every 10 minutes.
	Registrations Rate
}

// Rate is an allowance: Burst at once, and one more per Every.
type Rate struct {
	Burst int
	Every time.Duration
}

// WithDefaults replaces zero fields by their defaults.
func (l Limits) WithDefaults() Limits {
	l.FreeGuesses = cmp.Or(l.FreeGuesses, 10)
	l.Delay = cmp.Or(l.Delay, time.Second)
	l.MaxDelay = cmp.Or(l.MaxDelay, 15*time.Minute)
	l.ForgetAfter = cmp.Or(l.ForgetAfter, 2*time.Hour)
	l.TrustFor = cmp.Or(l.TrustFor, 30*24*time.Hour)
	l.NetworkGuesses = cmp.Or(l.NetworkGuesses, Rate{200, 5 * time.Second})
	l.Mails = cmp.Or(l.Mails, Rate{3, 15 * time.Minute})
	l.MailRequests = cmp.Or(l.MailRequests, Rate{20, time.Minute})
	l.Registrations = cmp.Or(l.Registrations, Rate{5, 10 * time.Minute})
	return l
}

// window is how far in the future the next free moment of a rate may be.
func (r Rate) window() int64 { return int64(r.Burst-1) * r.Every.Microseconds() }

// doublings returns how often the delay is doubled until it is the longest.
func (l *Limits) doublings() int {
	n := 0
	for d := l.Delay; d < l.MaxDelay; d *= 2 {
		n++
	}
	return n
}

// Attempt is a guess at a login that did not come too soon.
type Attempt struct {
	throttle       *Throttle
	limits         *Limits
	login, network Key
	trusted        bool  // the network has its own count
	now            int64 // when it began, in microseconds since 1970
}

func (a Attempt) place() Key {
	if a.trusted {
		return a.network
	}
	return everywhere
}

// Admit refuses a guess at a login that comes too soon. It counts nothing.
func (t *Throttle) Admit(ctx context.Context, l *Limits, login Key, network string) (Attempt, error) {
	a := Attempt{throttle: t, limits: l, login: login, network: KeyOf("network", network)}
	now, open, err := t.look(ctx, [2]Key{login, a.network}, [2]Key{everywhere, a.network})
	if err != nil {
		return a, err
	}
	a.now = now
	_, a.trusted = open[[2]Key{login, a.network}]
	if wait := open[[2]Key{login, a.place()}] - now; wait > 0 {
		return a, tooSoon(wait)
	}
	if wait := open[[2]Key{a.network, everywhere}] - now - l.NetworkGuesses.window(); wait > 0 && !a.trusted {
		return a, tooSoon(wait)
	}
	return a, nil
}

// reserve counts a guess as a failure.
func (a Attempt) reserve(ctx context.Context) error {
	l := a.limits
	counted, err := a.countFailure(ctx)
	if err != nil {
		return err
	}
	if !counted { // a concurrent attempt was first, and its result is still unknown
		return tooSoon(l.Delay.Microseconds())
	}
	if a.trusted {
		return nil
	}
	allowed, err := a.throttle.draw(ctx, a.network, l.NetworkGuesses, a.now)
	if err == nil && !allowed {
		err = tooSoon(l.NetworkGuesses.Every.Microseconds())
	}
	if err != nil {
		err = errors.Join(err, a.uncount(ctx))
	}
	return err
}

// countFailure adds one to a login's failures and closes the login for the resulting delay, unless it is closed.
func (a Attempt) countFailure(ctx context.Context) (bool, error) {
	l, place, first := a.limits, a.place(), int64(0)
	if l.FreeGuesses == 1 {
		first = a.now + l.Delay.Microseconds()
	}
	n, err := a.throttle.db.Exec(ctx, `
		INSERT INTO auth_limit (subject, place, failures, open_at, expires_at) VALUES ($1, $2, 1, $3, $4)
		ON CONFLICT (subject, place) DO UPDATE SET
			failures = auth_limit.failures + 1,
			open_at = CASE
				WHEN auth_limit.failures + 1 < $6 THEN 0
				WHEN auth_limit.failures + 1 - $6 >= $7 THEN CAST($5 AS bigint) + CAST($8 AS bigint)
				ELSE CAST($5 AS bigint) + (CAST($9 AS bigint) << CAST(auth_limit.failures + 1 - $6 AS integer)) END,
			expires_at = CASE WHEN auth_limit.expires_at > $4 THEN auth_limit.expires_at ELSE $4 END
		WHERE auth_limit.open_at <= $5`,
		a.login[:], place[:], first, a.now+l.ForgetAfter.Microseconds()+l.MaxDelay.Microseconds(), a.now,
		l.FreeGuesses, l.doublings(), l.MaxDelay.Microseconds(), l.Delay.Microseconds())
	if err != nil {
		return false, fmt.Errorf("counting a guess: %w", err)
	}
	return n == 1, nil
}

// uncount takes back an attempt whose password was not checked.
func (a Attempt) uncount(ctx context.Context) error {
	place := a.place()
	if _, err := a.throttle.db.Exec(ctx, `UPDATE auth_limit SET failures = failures - 1, open_at = 0 WHERE subject = $1 AND place = $2 AND failures > 0`,
		a.login[:], place[:]); err != nil {
		return fmt.Errorf("taking back a guess: %w", err)
	}
	return nil
}

// succeed forgets the failures, gives the network back its allowance, and trusts it for this login.
func (a Attempt) succeed(ctx context.Context) error {
	if !a.trusted {
		if err := a.throttle.giveBack(ctx, a.network, a.limits.NetworkGuesses); err != nil {
			return err
		}
		if _, err := a.throttle.db.Exec(ctx, `DELETE FROM auth_limit WHERE subject = $1 AND place = $2`, a.login[:], everywhere[:]); err != nil {
			return fmt.Errorf("forgetting failed guesses: %w", err)
		}
	}
	now, err := store.Get[time.Time](ctx, a.throttle.db, `SELECT now_utc()`)
	if err == nil {
		_, err = a.throttle.db.Exec(ctx, `
			INSERT INTO auth_limit (subject, place, failures, open_at, expires_at) VALUES ($1, $2, 0, 0, $3)
			ON CONFLICT (subject, place) DO UPDATE SET failures = 0, open_at = 0, expires_at = $3`,
			a.login[:], a.network[:], now.Add(a.limits.TrustFor).UnixMicro())
	}
	if err != nil {
		return fmt.Errorf("forgetting failed guesses: %w", err)
	}
	return nil
}

// settleTimeout bounds what is written after a password was checked, whether the client is still there or not.
const settleTimeout = 5 * time.Second

// Try makes the attempt. It counts a failure before it calls try, and takes it back if try returns nil. The failure stays if try
// returns an error of kind Unauthorized, and if the client left before the end. Any other error means that the password was not
// checked, and so does an error of kind Unavailable, whether the client is there or not: the backend that could decide was
// unreachable. A node that dies in between has counted a failure.
func (a Attempt) Try(ctx context.Context, try func() error) error {
	if err := a.reserve(ctx); err != nil {
		return err
	}
	err := try()
	settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	refusal := apierr.As(err)
	switch {
	case err == nil:
		return a.succeed(settling)
	case refusal != nil && refusal.Kind == apierr.Unavailable:
	case refusal != nil && refusal.Kind == apierr.Unauthorized, ctx.Err() != nil:
		return err
	}
	undone := a.uncount(settling)
	if !a.trusted {
		undone = errors.Join(undone, a.throttle.giveBack(settling, a.network, a.limits.NetworkGuesses))
	}
	return errors.Join(err, undone)
}
