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

// Restless makes the service try files that are in use again without a pause.
func (s *Service) Restless() { s.follower.pause = time.Millisecond }

// Unhurried gives commands all the time that a test takes.
func (s *Service) Unhurried() { s.queue.timeout = time.Hour }

// The bounds of the queue.
const (
	MaxUnfinished = maxUnfinished
	MaxFinished   = maxFinished
	MaxTries      = maxTries
)

// TrashName is the name of the trash folder.
const TrashName = trashName

// Files are the folders of voicemails and of music on hold, with what the endpoints do to them. record stands for the audit.
type Files struct{ Spool, MOH string }

func (f Files) spool(do func(all spool) error) error {
	tree, err := openFolder(f.Spool)
	if err != nil {
		return err
	}
	defer tree.close()
	return do(spool{tree, defaultPatience()})
}

// Move moves a mailbox.
func (f Files) Move(ctx context.Context, context, number, toContext, toNumber string, record func() error) error {
	return f.spool(func(all spool) error {
		return all.relocate(ctx, mailbox{number, context}, mailbox{toNumber, toContext}, record)
	})
}

// Remove deletes a mailbox.
func (f Files) Remove(ctx context.Context, context, number string, record func() error) error {
	return f.spool(func(all spool) error { return all.remove(ctx, mailbox{number, context}, record) })
}

// RemoveContext deletes all mailboxes of a context.
func (f Files) RemoveContext(ctx context.Context, name string, record func() error) error {
	return f.spool(func(all spool) error { return all.removeContext(ctx, name, record) })
}

// RemoveMOH deletes a music on hold.
func (f Files) RemoveMOH(name string, record func() error) error {
	return removeMOH(f.MOH, name, record)
}

// Recover does what a start does.
func (f Files) Recover() {
	leftIn(f.Spool)()
	leftIn(f.MOH)()
}
