package throttle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/store"
)

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
