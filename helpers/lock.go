package helpers

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
)

// Asterisk writes a message to the folder tmp of a mailbox while it is recorded, and then moves it into a folder of messages, which it
// locks meanwhile: the lock is a file .lock in that folder. A lock is held for moments. Whoever cannot get one within five
// seconds gives up.
const (
	lockName      = ".lock"
	recordingName = "tmp"
)

// messageFolders are the folders of messages that Asterisk makes in a mailbox.
var messageFolders = []string{
	"INBOX", "Old", "Work", "Family", "Friends", "Cust1", "Cust2", "Cust3", "Cust4", "Cust5", "Deleted", "Urgent",
}

// patience is how the locks of mailboxes are waited for.
type patience struct {
	// wait is how long an operation waits for all its locks.
	wait time.Duration
	// every is how long it waits before it looks again.
	every time.Duration
	// stale is the age at which a lock, or a recording that does not grow, was left behind by an Asterisk that died.
	stale time.Duration
}

func defaultPatience() patience {
	return patience{wait: 5 * time.Second, every: 20 * time.Millisecond, stale: time.Minute}
}

func errBusy() error {
	e := apierr.New(apierr.Unavailable, "The mailbox is in use: a message is being left or heard. Try again shortly")
	e.RetryAfter = 5 * time.Second
	return e
}

// lock takes the locks of a mailbox's folders, as Asterisk does, with a file of the journal as each of them. release gives them back, also
// where the mailbox has been moved.
func (p patience) lock(ctx context.Context, mailbox folder, j *journal) (release func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.wait, errBusy())
	defer cancel()
	var held []folder
	release = func() {
		for _, f := range held {
			_ = f.root.Remove(lockName) // a mailbox in the trash may be gone
			f.close()
		}
	}
	for _, name := range messageFolders {
		f, err := mailbox.enter(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotFolder) {
			continue // what is no folder holds no messages
		}
		if err != nil {
			release()
			return nil, err
		}
		if err := p.lockFolder(ctx, f, j); err != nil {
			f.close()
			release()
			return nil, err
		}
		held = append(held, f)
	}
	return release, nil
}

func (p patience) lockFolder(ctx context.Context, f folder, j *journal) error {
	for {
		switch err := j.linkTo(f); {
		case err == nil, errors.Is(err, fs.ErrNotExist):
			return nil // or the folder itself is gone, and nobody can come into it
		case !errors.Is(err, fs.ErrExist):
			return err
		}
		if info, err := f.root.Lstat(lockName); err == nil && time.Since(info.ModTime()) > p.stale {
			if err := f.root.Remove(lockName); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		if err := p.pause(ctx); err != nil {
			return err
		}
	}
}

// quiet waits until no message is being recorded in the mailbox. Only who moves a mailbox needs it: Asterisk would not find its recording
// again.
func (p patience) quiet(ctx context.Context, mailbox folder) error {
	f, err := mailbox.enter(recordingName)
	if err != nil {
		return nil //nolint:nilerr // where there is no such folder, nothing is recorded
	}
	defer f.close()
	ctx, cancel := context.WithTimeoutCause(ctx, p.wait, errBusy())
	defer cancel()
	for {
		names, err := f.names()
		if err != nil {
			return err
		}
		if !p.growing(f, names) {
			return nil
		}
		if err := p.pause(ctx); err != nil {
			return err
		}
	}
}

func (p patience) growing(f folder, names []string) bool {
	for _, name := range names {
		if info, err := f.root.Lstat(name); err == nil && time.Since(info.ModTime()) <= p.stale {
			return true
		}
	}
	return false
}

func (p patience) pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(p.every):
		return nil
	}
}
