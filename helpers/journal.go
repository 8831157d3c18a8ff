package helpers

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
)

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
	bin, err := j.bin.root.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = bin.Close() }()
	into, err := f.root.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = into.Close() }()
	return unix.Linkat(int(bin.Fd()), j.name, int(into.Fd()), lockName, 0)
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
