package helpers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

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

// journalPrefix begins the names of journals in the trash.
const journalPrefix = "lock-"

// journal is a file in the trash that names the mailboxes of one operation, and that is itself the lock in their folders, under another name.
// Asterisk would wait for ever for a lock whose owner has died: the next start finds the journal, and removes the
// lock. Whoever is alive holds an advisory lock on the journal.
type journal struct {
	bin  trash
	name string
	file *os.File
}

func (t trash) begin(boxes ...mailbox) (*journal, error) {
	name := journalPrefix + uuid.NewString()
	file, err := t.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making a lock: %w", err)
	}
	j := &journal{t, name, file}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	for _, box := range boxes {
		if err == nil {
			_, err = fmt.Fprintf(file, "%s/%s\n", box.Context, box.Number)
		}
	}
	if err != nil {
		j.end()
		return nil, fmt.Errorf("writing a lock: %w", err)
	}
	return j, nil
}

// end removes the journal. The locks have been removed.
func (j *journal) end() {
	_ = j.bin.root.Remove(j.name) // else the next start does it
	_ = j.file.Close()
}

// linkTo makes the journal the lock of a folder. The error is fs.ErrExist if the folder has a lock, and fs.ErrNotExist if it is gone.
func (j *journal) linkTo(f folder) error {
	return j.bin.with(f, func(bin, into int) error { return unix.Linkat(bin, j.name, into, lockName, 0) })
}

const maxJournal = 1 << 10

// recover removes the locks that a dead process has left in the mailboxes of its journal, and then the journal.
func (t trash) recover(tree folder, name string) {
	info, err := t.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		t.remove(name)
		return
	}
	file, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return // its process is alive
	}
	text, err := io.ReadAll(io.LimitReader(file, maxJournal))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		context, number, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "/")
		if err := unlock(tree, context, number, info); err != nil {
			slog.Warn("a lock that was left in a voicemail cannot be removed", "context", context, "mailbox", number, "error", err)
			return
		}
	}
	t.remove(name)
}

// unlock removes the locks of a mailbox that are the file that info is of.
func unlock(tree folder, context, number string, info fs.FileInfo) error {
	if !contextPattern.MatchString(context) || strings.Contains(number, "/") || !filepath.IsLocal(number) {
		return nil
	}
	in, err := tree.enter(context)
	if err != nil {
		return ignoreMissing(err)
	}
	defer in.close()
	box, err := in.enter(number)
	if err != nil {
		return ignoreMissing(err)
	}
	defer box.close()
	for _, name := range messageFolders {
		f, err := box.enter(name)
		if err != nil {
			continue
		}
		lock, err := f.root.Lstat(lockName)
		if err == nil && os.SameFile(lock, info) {
			err = f.root.Remove(lockName)
		}
		f.close()
		if err := ignoreMissing(err); err != nil {
			return err
		}
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotFolder) {
		return nil
	}
	return err
}
