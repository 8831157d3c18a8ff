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

// Backends may hang. Each has places of its own for each tenant, apart from those for hashing, so that one that hangs for a tenant
// holds up nobody but those who log in by it.

const (
	// placesOfBackend is how many may ask a backend at once, for one tenant.
	placesOfBackend = 32
	// backendTimeout is how long an answer is waited for.
	backendTimeout = 10 * time.Second
	// askAgain is how long a client waits whose backend could not be asked.
	askAgain = 10 * time.Second
)

var (
	errFull    = errors.New("as many ask it for this tenant as can find a place")
	errTooLate = fmt.Errorf("it did not answer within %s", backendTimeout)
)

// places are those that are taken. The zero value is ready.
type places struct {
	mu    sync.Mutex
	taken map[string]int
}

// enter takes one of a key's places, and waits for nothing. leave gives it back.
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

// ask puts a question to a backend, on behalf of a tenant. A client that leaves does not end it, because what an attempt counts as
// hangs on how it ends. One that goes on for too long is left to itself, and keeps its place until it has ended.
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
			if r := recover(); r != nil { // it would end the process: there is no handler above
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

// errUndecided says that nobody knows whether a login is right: one backend might have let it in, and could not be asked. What the
// others have said does not show, so that nobody learns from it who is known to which.
func errUndecided(cause error) error {
	return &apierr.Error{
		Kind: apierr.Unavailable, ID: "backend-unavailable", RetryAfter: askAgain, Err: cause,
		Message: "Whether the login is right cannot be asked now; try again shortly",
	}
}

// undecidedGuesses are the logins of one name by one tenant's backends that may end undecided. They are no wrong guesses, and yet other
// backends have looked at the password: without a bound, whoever has a directory that never answers could try out
// on the others as many passwords as they like.
var undecidedGuesses = throttle.Rate{Burst: 100, Every: time.Minute}

func undecidedKey(a Attempt) throttle.Key {
	name, ok := canonical(a.Login)
	if !ok {
		name = a.Login
	}
	return throttle.KeyOf("undecided at "+a.TenantUUID, name)
}

// mayStayUndecided refuses, in the words of errUndecided, a login that has been left undecided too often. Nobody looks at its password.
func (s *Service) mayStayUndecided(ctx context.Context, a Attempt) error {
	err := s.throttle.Left(ctx, undecidedKey(a), undecidedGuesses)
	if e := apierr.As(err); e != nil && e.Kind == apierr.TooMany {
		return errUndecided(nil)
	}
	return err
}

// leaveUndecided counts a login that some backends have refused and others could not decide. It comes before the guess is taken
// back (throttle.Attempt.Try): a node that dies in between has counted too much, never too little.
func (s *Service) leaveUndecided(ctx context.Context, a Attempt) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), backendTimeout)
	defer cancel()
	if err := s.throttle.Spend(ctx, undecidedKey(a), undecidedGuesses); err != nil && apierr.As(err) == nil {
		slog.WarnContext(ctx, "a login that could not be decided was not counted", "error", err)
	}
}
