package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ringfence/ringfence/asterisk/generation"
)

// lead gets the lease, if this node can have it, and does the jobs.
func (s *Service) lead(ctx context.Context) {
	var failing, useless complaint
	var seen waited
	var said time.Time
	rest := s.settings.Poll
	for ctx.Err() == nil {
		if s.mute(ctx, &useless) {
			s.rest(ctx, s.settings.Reach/4)
			continue
		}
		s.say(ctx, &said)
		may, err := s.mayLead(ctx, &seen)
		if may {
			may, err = s.lease.get(ctx)
		}
		if ctx.Err() == nil {
			failing.about(err, "this node cannot configure Asterisk now; trying again")
		}
		rest = min(2*rest, s.settings.Reach) // of a node that cannot use its folder
		if !may || s.leading(ctx, &useless) {
			rest = s.settings.Poll
		}
		if !may && err == nil {
			s.cannot(nil) // another node can
		}
		s.rest(ctx, rest)
	}
}

// errMute says that another node can tell Asterisk what this one cannot.
var errMute = errors.New("this node has no manager interface of Asterisk (the option manager), and another one that configures the Asterisk of this name " +
	"had one within the last day: nobody would tell Asterisk. Give this node the same manager, or another name (RINGFENCE_ASTERISK_NAME)")

// mute reports whether this node must leave the Asterisk to others: it could not tell it of its files, and another node can. It ends the
// jobs that have waited for long, and that nobody does.
func (s *Service) mute(ctx context.Context, useless *complaint) bool {
	if s.client != nil {
		return false
	}
	if others, err := s.lease.othersReach(ctx); err != nil || !others {
		return false // without the database it gets no lease, and does no job
	}
	useless.about(errMute, "this node does not configure Asterisk")
	s.cannot(errMute)
	if state, err := s.lease.look(ctx); err == nil && (state.none || state.own || state.expired > 0) {
		if err := s.queue.refuse(ctx, s.settings.Reach, errMute.Error()); err != nil && ctx.Err() == nil {
			slog.Warn("jobs wait for a node that reaches Asterisk", "error", err)
		}
		s.tell()
	}
	return true
}

// say tells nodes that cannot tell Asterisk of their files that this one can, now and then.
func (s *Service) say(ctx context.Context, said *time.Time) {
	if s.client == nil || !said.IsZero() && time.Since(*said) < s.settings.Idle {
		return
	}
	if err := s.lease.reaches(ctx); err != nil {
		if ctx.Err() == nil {
			slog.Warn("a node without a manager interface may configure this Asterisk", "error", err)
		}
		return
	}
	*said = time.Now()
}

// rest waits until there may be something to do, or for so long.
func (s *Service) rest(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-s.wake:
	case <-time.After(length):
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
	job, err := s.queue.unfinished(ctx)
	if err != nil {
		return false, err
	}
	if job != seen.job {
		*seen = waited{job, time.Now()}
	}
	return job != 0 && state.expired >= 0 && time.Since(seen.since) >= s.settings.Lease/3, nil
}

// leading does jobs while this node has the lease. It reports whether it could begin. If not, it has given the lease up.
func (s *Service) leading(ctx context.Context, useless *complaint) (begun bool) {
	defer s.leaves()
	err := s.holding(ctx, s.begin)
	if ctx.Err() != nil || errors.Is(err, errLeaseLost) || errors.Is(err, context.Canceled) { // also lost
		return false
	}
	if useless.about(err, "this node cannot configure Asterisk; trying again"); err != nil {
		s.giveUp(ctx, err)
		return false
	}
	var failing complaint
	renewed, said := time.Now(), time.Now()
	for ctx.Err() == nil {
		s.say(ctx, &said)
		s.readsAgain(ctx)
		due, err := s.due(ctx)
		if err == nil && (due || time.Since(renewed) >= s.settings.Idle) {
			if s.mute(ctx, useless) {
				s.letGo(ctx)
				return true
			}
			err = s.holding(ctx, s.work)
			renewed = time.Now()
		}
		if errors.Is(err, errLeaseLost) {
			slog.Warn("another node configures Asterisk now")
			return true
		}
		if _, other := errors.AsType[*otherFolderError](err); other { // the job and the log say so
			s.letGo(ctx)
			s.leaves()
			s.refused()
			pause(ctx, s.settings.Reach) // the others go first
			return true
		}
		if ctx.Err() == nil {
			failing.about(err, "Asterisk's configuration waits; trying again")
		}
		s.rest(ctx, s.settings.Poll)
	}
	return true
}

// letGo gives the lease up.
func (s *Service) letGo(ctx context.Context) {
	if err := s.lease.release(ctx); err != nil && ctx.Err() == nil {
		slog.Warn("another node has to wait until this one's right to configure Asterisk has expired", "error", err)
	}
}

// giveUp lets another node try what this one cannot begin, for the reason why, and ends the jobs that no node has begun in time.
func (s *Service) giveUp(ctx context.Context, why error) {
	s.cannot(why)
	err := s.queue.refuse(ctx, s.settings.Reach, "no node can configure Asterisk: "+why.Error())
	s.tell()
	if err != nil && ctx.Err() == nil {
		slog.Warn("jobs wait for a node that can configure Asterisk", "error", err)
	}
	s.letGo(ctx)
}

// cannot keeps why this node cannot configure Asterisk; nil if it can, or another one does.
func (s *Service) cannot(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.useless = why
}

// due reports whether there is something to do.
func (s *Service) due(ctx context.Context) (bool, error) {
	if interrupted, err := s.store.Interrupted(); interrupted || err != nil {
		return true, nil //nolint:nilerr // the work fails by it, and so do the jobs that wait
	}
	job, err := s.queue.next(ctx)
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

// begin opens the folder, and ends what was interrupted. Only the goroutine of Run changes the store.
func (s *Service) begin(ctx context.Context) error {
	opened := s.store
	if opened == nil {
		var err error
		if opened, err = s.open(ctx); err != nil {
			return err
		}
	}
	id, err := folderID(s.settings.Folder)
	if err == nil {
		err = s.queue.abandon(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = id
	if s.store, s.held = opened, err == nil; s.useless != nil {
		s.Changed() // jobs have failed since
	}
	if s.held {
		s.useless = nil
	}
	s.compare.Store(true) // another node may have had it
	return err
}

// open opens the folder of the generations.
func (s *Service) open(ctx context.Context) (*generation.Store, error) {
	ctx, cancel := context.WithTimeout(ctx, s.settings.Reach)
	defer cancel()
	opened, err := generation.Open(ctx, s.settings.Folder, s.settings.Keep)
	if err != nil {
		return nil, fmt.Errorf("the gateway's user must be able to write in %s, and no other process may have the file lock there: %w", s.settings.Folder, err)
	}
	return opened, nil
}

// close gives up what the service has.
func (s *Service) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s.letGo(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil {
		_ = s.store.Close()
		s.store = nil
	}
}
