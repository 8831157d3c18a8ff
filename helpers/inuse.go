package helpers

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
)

// Asterisk writes a message to the folder tmp of a mailbox while it is recorded, and then moves it into a folder of messages, which it
// locks meanwhile: the lock is a file .lock in that folder, and held for moments.
const (
	lockName      = ".lock"
	recordingName = "tmp"
)

// patience is how mailboxes in use are waited for.
type patience struct {
	// wait is how long an operation waits for a mailbox.
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

// await waits until Asterisk has locked no folder of a mailbox and, if still is set, records no message in it. Only who moves a mailbox needs
// that: Asterisk would not find its recording again. It takes no lock of its own: the caller moves the mailbox as a whole, at once, by its name.
// The error is fs.ErrNotExist or errNotFolder if there is no such mailbox.
func (p patience) await(ctx context.Context, in folder, number string, still bool) error {
	box, err := in.enter(number)
	if err != nil {
		return err
	}
	defer box.close()
	ctx, cancel := context.WithTimeoutCause(ctx, p.wait, errBusy())
	defer cancel()
	for {
		if used, err := p.inUse(box, still); err != nil || !used {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(p.every):
		}
	}
}

// inUse reports whether a folder of a mailbox is locked, or a message is being recorded if still is set. Locks that were left behind are removed.
func (p patience) inUse(box folder, still bool) (bool, error) {
	names, err := box.names()
	if err != nil {
		return false, err
	}
	for _, name := range names {
		f, err := box.enter(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotFolder) {
			continue // what is no folder holds no messages
		}
		if err != nil {
			return false, err
		}
		fresh, err := p.fresh(f, name == recordingName && still)
		f.close()
		if err != nil || fresh {
			return fresh, err
		}
	}
	return false, nil
}

// fresh reports whether a folder has a lock, or any file if all count, that was not left behind.
func (p patience) fresh(f folder, all bool) (bool, error) {
	names := []string{lockName}
	if all {
		var err error
		if names, err = f.names(); err != nil {
			return false, err
		}
	}
	for _, name := range names {
		info, err := f.root.Lstat(name)
		if err == nil && time.Since(info.ModTime()) <= p.stale {
			return true, nil
		}
		if err == nil && name == lockName {
			err = f.root.Remove(name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	return false, nil
}
