package authsvc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ringfence/ringfence/authsvc/throttle"
	"github.com/ringfence/ringfence/internal/apierr"
)

// Backends may hang. Each has its own places for each tenant, separate from those for hashing, so that a backend that hangs for a
// tenant holds up only the logins that use it.

const (
	// placesOfBackend is how many logins of one tenant may ask a backend at once.
	placesOfBackend = 32
	// backendTimeout is how long to wait for a backend.
	backendTimeout = 10 * time.Second
	// askAgain is how long a client should wait after a backend could not be asked.
	askAgain = 10 * time.Second
)

var (
	errFull    = errors.New("too many logins of this tenant are asking it")
	errTooLate = fmt.Errorf("it did not answer within %s", backendTimeout)
)

// places counts the places in use. The zero value is ready.
type places struct {
	mu    sync.Mutex
	taken map[string]int
}

// enter takes one of a key's places without waiting. leave gives it back.
func (p *places) enter(key string) (leave func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[key] >= placesOfBackend {
		return nil, false
	}
	if p.taken == nil {
		p.taken = map[string]int{}
	}
	p.taken[key]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.taken[key]--; p.taken[key] == 0 {
			delete(p.taken, key)
		}
	}, true
}

// ask puts a question to a backend, on behalf of a tenant. It does not stop when the client leaves, because the result decides
// how the attempt is counted. A question that takes too long is abandoned, and keeps its place until it ends.
func ask[T any](ctx context.Context, p *places, b Backend, tenantUUID string, question func(context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	leave, ok := p.enter(b.Name() + " " + tenantUUID)
	if !ok {
		return none, errFull
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), backendTimeout)
	defer cancel()
	answered := make(chan answer, 1)
	go func() {
		defer leave()
		defer func() {
			if r := recover(); r != nil { // no handler is above to recover, so the process would end
				answered <- answer{err: fmt.Errorf("it panicked: %v", r)}
			}
		}()
		value, err := question(ctx)
		answered <- answer{value, err}
	}()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
		return none, errTooLate
	}
}

// errUndecided says that the login cannot be decided: one backend might have let it in, and could not be asked. The response does
// not depend on what the other backends said, so that it reveals to nobody which of them knows the login.
func errUndecided(cause error) error {
	return &apierr.Error{
		Kind: apierr.Unavailable, ID: "backend-unavailable", RetryAfter: askAgain, Err: cause,
		Message: "The login cannot be checked now; try again shortly",
	}
}

// undecidedGuesses limits the undecided logins of one name by one tenant's backends. They do not count as wrong guesses, although
// other backends have checked the password. Without a limit, the owner of a directory that never responds could try any number of
// passwords on the other backends.
var undecidedGuesses = throttle.Rate{Burst: 100, Every: time.Minute}

func undecidedKey(a Attempt) throttle.Key {
	name, ok := canonical(a.Login)
	if !ok {
		name = a.Login
	}
	return throttle.KeyOf("undecided at "+a.TenantUUID, name)
}

// mayStayUndecided refuses, with errUndecided, a login that was left undecided too often. No backend checks its password.
func (s *Service) mayStayUndecided(ctx context.Context, a Attempt) error {
	err := s.throttle.Left(ctx, undecidedKey(a), undecidedGuesses)
	if e := apierr.As(err); e != nil && e.Kind == apierr.TooMany {
		return errUndecided(nil)
	}
	return err
}

// leaveUndecided counts a login that some backends have refused and others could not decide. It runs before the guess is taken
// back (throttle.Attempt.Try): a node that dies in between has counted too much, never too little.
func (s *Service) leaveUndecided(ctx context.Context, a Attempt) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), backendTimeout)
	defer cancel()
	if err := s.throttle.Spend(ctx, undecidedKey(a), undecidedGuesses); err != nil && apierr.As(err) == nil {
		slog.WarnContext(ctx, "a login that could not be decided was not counted", "error", err)
	}
}
