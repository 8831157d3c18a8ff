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
	err := do(func() error {
		slog.Info("files follow a change of the configuration", "operation", action, "resource", change.Resource, "object", change.Object)
		s.note(action, change)
		return nil
	})
	if isNotFound(err) {
		return nil // there are none
	}
	return err
}

// following returns the operation of the endpoints that does what a change asks for, its entry in the audit, and the work.
func (s *Service) following(ctx context.Context, f Following) (action string, change audit.Change, do func(record func() error) error) {
	from, to := mailbox{f.Number, f.Context}, mailbox{f.ToNumber, f.ToContext}
	switch {
	case f.MOH != "":
		return "delete_moh", mohChange(f.MOH), func(record func() error) error { return removeMOH(s.settings.Load().MOH, f.MOH, record) }
	case f.Sound != "":
		change := audit.Change{Resource: "sounds", Object: f.Sound, Keys: [][]string{{f.Sound}}, Before: map[string]string{"uuid": f.Sound}}
		return "delete_sounds", change, func(record func() error) error { return removeMOH(s.settings.Load().Sounds, f.Sound, record) }
	case f.Number == "":
		return "delete_voicemails_context", contextChange(f.Context), func(record func() error) error {
			return s.withSpool(func(all spool) error { return all.removeContext(ctx, f.Context, record) })
		}
	case f.ToNumber == "":
		return "delete_voicemail", removal(from), func(record func() error) error {
			return s.withSpool(func(all spool) error { return all.remove(ctx, from, record) })
		}
	default:
		return "move_voicemail", relocation(from, to), func(record func() error) error {
			return s.withSpool(func(all spool) error { return all.relocate(ctx, from, to, record) })
		}
	}
}

// removal, relocation, contextChange and mohChange are entries of the audit.
func removal(m mailbox) audit.Change {
	return audit.Change{Resource: "voicemails", Object: m.String(), Keys: [][]string{{m.String()}}, Before: m}
}

func relocation(from, to mailbox) audit.Change {
	return audit.Change{Resource: "voicemails", Object: from.String(), Keys: [][]string{{from.String(), to.String()}}, Before: from, After: to}
}

func contextChange(name string) audit.Change {
	return audit.Change{Resource: "voicemails_context", Object: name, Keys: [][]string{{name}}, Before: map[string]string{"context": name}}
}

func mohChange(name string) audit.Change {
	return audit.Change{Resource: "moh", Object: name, Keys: [][]string{{name}}, Before: map[string]string{"name": name}}
}
