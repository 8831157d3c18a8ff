package authsvc

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
)

// Guessing is slowed down by counts in the database, so that all nodes slow it down together (THREATS 7.4, 7.5).
//
// An attempt is counted before its password is looked at: a thousand guesses at once are a thousand. After some that
// fail, a login has to wait, twice as long each time up to a limit; attempts that come too soon are refused
// unseen and not counted. A network has an allowance of attempts, which those that succeed give back.
//
// What is counted is the login as it was typed, in its canonical form, whether it is anybody's or not: the answers are
// the same, and so is the work. A user who has several addresses has a count for each.
//
// Who keeps guessing at somebody's login must not lock its owner out for ever. So a network from which the
// login has succeeded within TrustFor has a count of its own there, which nobody elsewhere can drive up, and does not
// need its network's allowance.

// Limits say how guessing and flooding are slowed down. A field that is zero has its default.
type Limits struct {
	// FreeGuesses is how many wrong passwords a login may have before it must wait. Default: 10.
	FreeGuesses int
	// Delay is the first wait. Each further wrong password doubles it, up to MaxDelay. Default: 1 second, 15 minutes.
	Delay, MaxDelay time.Duration
	// ForgetAfter is how long after its last attempt a login's wrong passwords are forgotten. Default: 2 hours.
	ForgetAfter time.Duration
	// TrustFor is how long a network from which a login has succeeded has a count of its own. Default: 30 days.
	TrustFor time.Duration
	// NetworkGuesses are the wrong passwords from one network (an IPv4 address, an IPv6 /64), of which an office
	// behind one address has many. Default: 200, and one every 5 seconds.
	NetworkGuesses Rate
	// Mails are those to one address. Default: 3, and one every 15 minutes.
	Mails Rate
	// MailRequests are the requests from one network to reset a password. Default: 20, and one a minute.
	MailRequests Rate
	// Registrations are the accounts made from one network. Default: 5, and one every 10 minutes.
	Registrations Rate
}

// Rate is an allowance: Burst at once, and one more every Every.
type Rate struct {
	Burst int
	Every time.Duration
}

func (l Limits) withDefaults() (Limits, error) {
	fill(&l.FreeGuesses, 10)
	fill(&l.Delay, time.Second)
	fill(&l.MaxDelay, 15*time.Minute)
	fill(&l.ForgetAfter, 2*time.Hour)
	fill(&l.TrustFor, 30*24*time.Hour)
	fill(&l.NetworkGuesses, Rate{200, 5 * time.Second})
	fill(&l.Mails, Rate{3, 15 * time.Minute})
	fill(&l.MailRequests, Rate{20, time.Minute})
	fill(&l.Registrations, Rate{5, 10 * time.Minute})
	if l.FreeGuesses < 1 || l.Delay < time.Millisecond || l.MaxDelay < l.Delay || l.ForgetAfter < l.MaxDelay || l.TrustFor < l.ForgetAfter {
		return l, errors.New("limits of guesses: at least one is free, and the delays are in the order delay, max delay, forget after, trust for")
	}
	for _, r := range []Rate{l.NetworkGuesses, l.Mails, l.MailRequests, l.Registrations} {
		if r.Burst < 1 || r.Every < time.Millisecond {
			return l, errors.New("a rate allows less than one at once, or more than one a millisecond")
		}
	}
	return l, nil
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// key is what a count is found by.
type key [sha256.Size]byte

// keyOf is the key of a thing of a kind. The thing itself is stored nowhere: people type passwords where a login belongs.
func keyOf(kind, thing string) key { return sha256.Sum256([]byte(kind + "\x00" + thing)) }

// everywhere is the place of a count that is for no network in particular.
var everywhere = keyOf("everywhere", "")

func networkKey(network string) key { return keyOf("network", network) }

// loginKey is the key of a login as it was typed.
func loginKey(login string) key {
	if name, ok := canonical(login); ok {
		return keyOf("login", name)
	}
	return keyOf("no login", strings.ToLower(login))
}

// networkOf is the network of an address: an IPv4 address itself, an IPv6 address's /64, of which every customer has all.
func networkOf(address string) string {
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

// throttle keeps the counts. Its statements are their own transactions, one row each: rows that many want at once are
// waited for, and nothing has to run again.
type throttle struct{ db store.DB }

// count is a row of auth_limit.
type count struct {
	Now     time.Time `db:"now"`
	Subject []byte    `db:"subject"`
	Place   []byte    `db:"place"`
	OpenAt  *int64    `db:"open_at"`
}

// look answers the time and, by subject and place, when the counts that there are of two subjects in two places are open.
func (t throttle) look(ctx context.Context, subjects, places [2]key) (now int64, open map[[2]key]int64, err error) {
	rows, err := store.Select[count](ctx, t.db, `
		SELECT now_utc() AS now, l.subject, l.place, l.open_at
		FROM (SELECT 1 AS one) always
		LEFT JOIN auth_limit l ON l.subject IN ($1, $2) AND l.place IN ($3, $4)`,
		subjects[0][:], subjects[1][:], places[0][:], places[1][:])
	if err != nil {
		return 0, nil, fmt.Errorf("looking how often this was tried: %w", err)
	}
	open = make(map[[2]key]int64, len(rows))
	for _, r := range rows {
		now = r.Now.UnixMicro()
		if r.OpenAt != nil {
			open[[2]key{key(r.Subject), key(r.Place)}] = *r.OpenAt
		}
	}
	return now, open, nil
}

// attempt is a guess at a login.
type attempt struct {
	login, network key
	trusted        bool  // the network has a count of its own
	now            int64 // when it began, in microseconds since 1970
}

func (a attempt) place() key {
	if a.trusted {
		return a.network
	}
	return everywhere
}

// admit refuses a guess at a login that comes too soon. It counts nothing.
func (t throttle) admit(ctx context.Context, l *Limits, login, network key) (attempt, error) {
	a := attempt{login: login, network: network}
	now, open, err := t.look(ctx, [2]key{login, network}, [2]key{everywhere, network})
	if err != nil {
		return a, err
	}
	a.now = now
	_, a.trusted = open[[2]key{login, network}]
	if wait := open[[2]key{login, a.place()}] - now; wait > 0 {
		return a, tooSoon(wait)
	}
	if wait := open[[2]key{network, everywhere}] - now - l.NetworkGuesses.window(); wait > 0 && !a.trusted {
		return a, tooSoon(wait)
	}
	return a, nil
}

// reserve counts a guess as a failure.
func (t throttle) reserve(ctx context.Context, l *Limits, a attempt) error {
	counted, err := t.countFailure(ctx, l, a)
	if err != nil {
		return err
	}
	if !counted { // another attempt was quicker, and nobody knows yet how it ends
		return tooSoon(l.Delay.Microseconds())
	}
	if a.trusted {
		return nil
	}
	allowed, err := t.draw(ctx, a.network, l.NetworkGuesses, a.now)
	if err == nil && !allowed {
		err = tooSoon(l.NetworkGuesses.Every.Microseconds())
	}
	if err != nil {
		err = errors.Join(err, t.uncount(ctx, a))
	}
	return err
}

// countFailure adds one to a login's failures and closes it for as long as they cost, unless it is closed.
func (t throttle) countFailure(ctx context.Context, l *Limits, a attempt) (bool, error) {
	place, first := a.place(), int64(0)
	if l.FreeGuesses == 1 {
		first = a.now + l.Delay.Microseconds()
	}
	n, err := t.db.Exec(ctx, `
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

// doublings is how often the delay is doubled before it is the longest.
func (l *Limits) doublings() int {
	n := 0
	for d := l.Delay; d < l.MaxDelay; d *= 2 {
		n++
	}
	return n
}

// uncount takes back an attempt whose password nobody has looked at.
func (t throttle) uncount(ctx context.Context, a attempt) error {
	place := a.place()
	if _, err := t.db.Exec(ctx, `UPDATE auth_limit SET failures = failures - 1, open_at = 0 WHERE subject = $1 AND place = $2 AND failures > 0`,
		a.login[:], place[:]); err != nil {
		return fmt.Errorf("taking back a guess: %w", err)
	}
	return nil
}

// succeed forgets the failures, gives the network back its allowance, and trusts it for this login.
func (t throttle) succeed(ctx context.Context, l *Limits, a attempt) error {
	if !a.trusted {
		if err := t.giveBack(ctx, a.network, l.NetworkGuesses); err != nil {
			return err
		}
		if _, err := t.db.Exec(ctx, `DELETE FROM auth_limit WHERE subject = $1 AND place = $2`, a.login[:], everywhere[:]); err != nil {
			return fmt.Errorf("forgetting failed guesses: %w", err)
		}
	}
	now, err := store.Get[time.Time](ctx, t.db, `SELECT now_utc()`)
	if err == nil {
		_, err = t.db.Exec(ctx, `
			INSERT INTO auth_limit (subject, place, failures, open_at, expires_at) VALUES ($1, $2, 0, 0, $3)
			ON CONFLICT (subject, place) DO UPDATE SET failures = 0, open_at = 0, expires_at = $3`,
			a.login[:], a.network[:], now.Add(l.TrustFor).UnixMicro())
	}
	if err != nil {
		return fmt.Errorf("forgetting failed guesses: %w", err)
	}
	return nil
}

// window is how far ahead of the time the next free moment of a rate may be.
func (r Rate) window() int64 { return int64(r.Burst-1) * r.Every.Microseconds() }

// draw takes one from an allowance, or answers false. An allowance is one number, the moment at which it is full
// again: each that is taken puts it off by Every (the generic cell rate algorithm of ATM).
func (t throttle) draw(ctx context.Context, subject key, r Rate, now int64) (bool, error) {
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

func (t throttle) giveBack(ctx context.Context, subject key, r Rate) error {
	if _, err := t.db.Exec(ctx, `UPDATE auth_limit SET open_at = open_at - CAST($3 AS bigint) WHERE subject = $1 AND place = $2`,
		subject[:], everywhere[:], r.Every.Microseconds()); err != nil {
		return fmt.Errorf("giving back to an allowance: %w", err)
	}
	return nil
}

// spend takes one from an allowance, or refuses until there is another.
func (t throttle) spend(ctx context.Context, subject key, r Rate) error {
	now, open, err := t.look(ctx, [2]key{subject, subject}, [2]key{everywhere, everywhere})
	if err != nil {
		return err
	}
	if wait := open[[2]key{subject, everywhere}] - now - r.window(); wait > 0 {
		return tooSoon(wait)
	}
	allowed, err := t.draw(ctx, subject, r, now)
	if err == nil && !allowed {
		err = tooSoon(r.Every.Microseconds())
	}
	return err
}

// forgive forgets all that is counted against the logins, and which networks they are trusted from.
func (t throttle) forgive(ctx context.Context, logins []string) error {
	for _, login := range logins {
		subject := loginKey(login)
		if _, err := t.db.Exec(ctx, `DELETE FROM auth_limit WHERE subject = $1`, subject[:]); err != nil {
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

// settleTimeout bounds what is written after a password was looked at, whether the client is still there or not.
const settleTimeout = 5 * time.Second

// guarded makes an attempt at a password, unless it comes too soon, or more are being made than can find a place: those cost
// nothing but a look. It is a failure when try is unauthorized, and when the client has gone before the end; any other
// error is that nobody has looked at the password.
func (s *Service) guarded(ctx context.Context, subject key, network string, try func() error) error {
	limits, t := &s.settings.Load().Limits, throttle{s.db}
	a, err := t.admit(ctx, limits, subject, networkKey(network))
	if err != nil {
		return err
	}
	leave, err := s.hasher.Enter()
	if err != nil {
		return err
	}
	defer leave()
	if err := t.reserve(ctx, limits, a); err != nil {
		return err
	}
	err = try()
	settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	refusal := apierr.As(err)
	switch {
	case err == nil:
		return t.succeed(settling, limits, a)
	case refusal != nil && refusal.Kind == apierr.Unauthorized, ctx.Err() != nil:
		return err
	}
	undone := t.uncount(settling, a)
	if !a.trusted {
		undone = errors.Join(undone, t.giveBack(settling, a.network, limits.NetworkGuesses))
	}
	return errors.Join(err, undone)
}
