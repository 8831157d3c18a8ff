package helpers

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audit"
)

// Following is what files have to follow: a voicemail, a music on hold or a category of sounds of the configuration was moved or deleted.
type Following struct {
	// Context and Number name the voicemail; without a Number all voicemails of the context are meant, which was deleted.
	Context, Number string
	// ToContext and ToNumber are the voicemail's new place; without them it was deleted.
	ToContext, ToNumber string
	// MOH is the name of a music on hold that was deleted.
	MOH string
	// Sound is the UUID of a category of sounds that was deleted.
	Sound string
}

// String names what follows what.
func (f Following) String() string {
	if name := cmp.Or(f.MOH, f.Sound); name != "" {
		return name
	}
	text := mailbox{f.Number, f.Context}.String()
	if f.ToNumber != "" {
		text += " to " + mailbox{f.ToNumber, f.ToContext}.String()
	}
	return text
}

// followTries is how often files that are in use are tried, each time after a pause.
const (
	followTries = 10
	followPause = 2 * time.Second
)

// follower makes files follow one change after the other, in the order in which they came.
type follower struct {
	pause   time.Duration
	mu      sync.Mutex
	waiting []Following
	running bool
}

// Follow makes the files follow a change, soon. It returns at once. What is at the new place of a voicemail is kept, and so are then the
// files at the old one; the log says so.
func (s *Service) Follow(f Following) {
	s.follower.mu.Lock()
	defer s.follower.mu.Unlock()
	s.follower.waiting = append(s.follower.waiting, f)
	if !s.follower.running {
		s.follower.running = true
		s.recovery.Go(s.followAll)
	}
}

func (s *Service) followAll() {
	for {
		s.follower.mu.Lock()
		if len(s.follower.waiting) == 0 {
			s.follower.running = false
			s.follower.mu.Unlock()
			return
		}
		f := s.follower.waiting[0]
		s.follower.waiting = s.follower.waiting[1:]
		s.follower.mu.Unlock()
		if err := s.followPatiently(f); err != nil {
			const message = "files did not follow a change of the configuration: move or delete them by the helper endpoints"
			slog.Error(message, "context", f.Context, "number", f.Number, "to_context", f.ToContext, "to_number", f.ToNumber,
				"moh", f.MOH, "sound", f.Sound, "error", err)
			ctx, cancel := context.WithTimeout(context.Background(), noteTimeout)
			if err := s.undone(ctx, fmt.Sprintf("%s (%s): %s", message, f, err)); err != nil {
				slog.Warn("no job tells of it", "error", err)
			}
			cancel()
		}
	}
}

// followPatiently tries again while files are in use or the database is away, until the service is closed.
func (s *Service) followPatiently(f Following) error {
	for try := 1; ; try++ {
		err := s.followOnce(f)
		if e := apierr.As(err); err == nil || try == followTries || e != nil && e.Kind != apierr.Unavailable {
			return err
		}
		select {
		case <-s.closing.Done():
			return err
		case <-time.After(s.follower.pause):
		}
	}
}

func (s *Service) followOnce(f Following) error {
	ctx, cancel := context.WithTimeout(context.Background(), noteTimeout)
	defer cancel()
	if on, err := s.follows(ctx); err != nil || !on {
		return err
	}
	action, change, do := s.following(ctx, f)
	return unlessMissing(do(func() error {
		slog.Info("files follow a change of the configuration", "operation", action, "resource", change.Resource, "object", change.Object)
		s.note(action, change)
		return nil
	}))
}

// following returns the operation of the endpoints that does what a change asks for, its entry in the audit, and the work. It is no error if there is
// nothing to move, or nothing in a context or for a music on hold to delete.
func (s *Service) following(ctx context.Context, f Following) (action string, change audit.Change, do func(record func() error) error) {
	from, to := mailbox{f.Number, f.Context}, mailbox{f.ToNumber, f.ToContext}
	switch {
	case f.MOH != "":
		return "delete_moh", entry("moh", f.MOH, map[string]string{"name": f.MOH}), func(record func() error) error {
			return removeMOH(s.settings.Load().MOH, f.MOH, record)
		}
	case f.Sound != "":
		return "delete_sounds", entry("sounds", f.Sound, map[string]string{"uuid": f.Sound}), func(record func() error) error {
			return removeMOH(s.settings.Load().Sounds, f.Sound, record)
		}
	case f.Number == "":
		return "delete_voicemails_context", entry("voicemails_context", f.Context, map[string]string{"context": f.Context}), func(record func() error) error {
			return unlessMissing(s.withSpool(func(all spool) error { return all.removeContext(ctx, f.Context, record) }))
		}
	case f.ToNumber == "":
		return "delete_voicemail", entry("voicemails", from.String(), from), func(record func() error) error {
			return s.withSpool(func(all spool) error { return all.remove(ctx, from, record) })
		}
	default:
		change = entry("voicemails", from.String(), from)
		change.Keys, change.After = [][]string{{from.String(), to.String()}}, to
		return "move_voicemail", change, func(record func() error) error {
			return unlessMissing(s.withSpool(func(all spool) error { return all.relocate(ctx, from, to, record) }))
		}
	}
}

// entry is the audit's entry of what is deleted.
func entry(resource, object string, before any) audit.Change {
	return audit.Change{Resource: resource, Object: object, Keys: [][]string{{object}}, Before: before}
}

// unlessMissing returns an error, unless it says that there is no such thing.
func unlessMissing(err error) error {
	if e := apierr.As(err); e != nil && e.Kind == apierr.NotFound {
		return nil
	}
	return err
}
