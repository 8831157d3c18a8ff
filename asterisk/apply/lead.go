package apply

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ringfence/ringfence/internal/asterisk/generation"
)

// lead gets the lease, if this node can have it, and does the jobs.
func (s *Service) lead(ctx context.Context) {
	var failing complaint
	var seen waited
	for ctx.Err() == nil {
		may, err := s.mayLead(ctx, &seen)
		if may {
			may, err = s.lease.get(ctx)
		}
		if ctx.Err() == nil {
			failing.about(err, "this node cannot configure Asterisk now; trying again")
		}
		if may {
			s.leading(ctx)
		}
		s.rest(ctx)
	}
}

// rest waits until there may be something to do.
func (s *Service) rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.wake:
	case <-time.After(s.settings.Poll):
	}
}

// waited is a job that another node should do, and since when this one has seen it.
type waited struct {
	job   int64
	since time.Time
}

// mayLead reports whether this node may try to get the lease: nobody had it, this node had it last, who had it has not been heard of for
// long, or leaves a job undone.
func (s *Service) mayLead(ctx context.Context, seen *waited) (bool, error) {
	state, err := s.lease.look(ctx)
	if err != nil || state.none || state.own || state.expired > 2*s.settings.Idle {
		return err == nil, err
	}
	job, err := s.jobs.unfinished(ctx)
	if err != nil {
		return false, err
	}
	if job != seen.job {
		*seen = waited{job, time.Now()}
	}
	return job != 0 && state.expired >= 0 && time.Since(seen.since) >= s.settings.Lease/3, nil
}

// leading does jobs while this node has the lease.
func (s *Service) leading(ctx context.Context) {
	defer s.leaves()
	if err := s.holding(ctx, s.begin); err != nil {
		if ctx.Err() == nil {
			slog.Error("this node cannot configure Asterisk", "error", err)
			if err := s.lease.release(ctx); err != nil { // another node may be able to
				slog.Warn("another node has to wait until this one's right to configure Asterisk has expired", "error", err)
			}
		}
		return
	}
	var failing complaint
	renewed := time.Now()
	for ctx.Err() == nil {
		due, err := s.due(ctx)
		if err == nil && (due || time.Since(renewed) >= s.settings.Idle) {
			err = s.holding(ctx, s.work)
			renewed = time.Now()
		}
		if errors.Is(err, errLeaseLost) {
			slog.Warn("another node configures Asterisk now")
			return
		}
		if ctx.Err() == nil {
			failing.about(err, "Asterisk's configuration waits; trying again")
		}
		s.rest(ctx)
	}
}

// due reports whether there is something to do.
func (s *Service) due(ctx context.Context) (bool, error) {
	if interrupted, err := s.store.Interrupted(); interrupted || err != nil {
		return interrupted, err
	}
	job, err := s.jobs.next(ctx)
	return job != nil, err
}

// holding runs do while the lease is renewed. The context of do ends when the lease is lost.
func (s *Service) holding(ctx context.Context, do func(ctx context.Context) error) error {
	if err := s.stillLeads(ctx); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var renewal sync.WaitGroup
	renewal.Go(func() {
		defer stop()
		s.keepLease(ctx)
	})
	defer renewal.Wait()
	defer stop()
	return do(ctx)
}

func (s *Service) leaves() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
}

// keepLease renews the lease until ctx ends or the lease is lost. An unreachable database loses it when it would have expired.
func (s *Service) keepLease(ctx context.Context) {
	until := time.Now().Add(s.settings.Lease)
	for {
		pause(ctx, s.settings.Lease/3)
		if ctx.Err() != nil {
			return
		}
		asked := time.Now()
		held, err := s.lease.renew(ctx)
		switch {
		case err == nil && !held:
			return
		case err == nil:
			until = asked.Add(s.settings.Lease)
		case ctx.Err() == nil && time.Now().After(until):
			slog.Warn("this node has lost the database, and with it the right to configure Asterisk", "error", err)
			return
		}
	}
}

// begin opens the folder, and ends what was interrupted.
func (s *Service) begin(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store == nil {
		opened, err := generation.Open(ctx, s.settings.Folder, s.settings.Keep)
		if err != nil {
			return err
		}
		s.store = opened
	}
	if err := s.jobs.abandon(ctx); err != nil {
		return err
	}
	s.held = true
	s.compare.Store(true) // another node may have had it
	return nil
}

// close gives up what the service has.
func (s *Service) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.lease.release(ctx); err != nil {
		slog.Warn("another node has to wait until this one's right to configure Asterisk has expired", "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil {
		_ = s.store.Close()
		s.store = nil
	}
}
