package helpers

import (
	"context"
	"time"
)

// Wait makes operations wait this long for the locks of mailboxes.
func (s *Service) Wait(d time.Duration) { s.patience.wait = d }

// Recovered waits until what interrupted requests have left is removed.
func (s *Service) Recovered() { s.recovery.Wait() }

// Tries makes the queue call pause, and not wait, between the tries of a command.
func (s *Service) Tries(pause func()) {
	s.queue.pause = func(ctx context.Context, _ time.Duration) error {
		pause()
		return ctx.Err()
	}
}

// The bounds of the queue.
const (
	MaxUnfinished = maxUnfinished
	MaxFinished   = maxFinished
	MaxTries      = maxTries
)

// TrashName is the name of the trash folder.
const TrashName = trashName
