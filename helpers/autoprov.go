package helpers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// errNothingToDo says why a command was skipped.
var errNothingToDo = errors.New("there is no folder for the autoprovisioning file")

// ownAutoprov gives the autoprovisioning file to the owner of its folder, which is Asterisk's. It makes an empty file if there is none. A
// link is not followed, and a file with two names is left alone: under the other one it could be anybody's.
func ownAutoprov(path string) error {
	dir, err := openFolder(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return errNothingToDo
	}
	if err != nil {
		return fmt.Errorf("the folder of the autoprovisioning file cannot be opened: %w", errors.Unwrap(err))
	}
	defer dir.close()
	of, err := dir.root.Lstat(".")
	if err != nil {
		return fmt.Errorf("reading the owner of the autoprovisioning folder: %w", err)
	}
	name := filepath.Base(path)
	if made, err := dir.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o640); err == nil {
		_ = made.Close() // nothing was written
	}
	before, err := dir.root.Lstat(name)
	if err != nil {
		return errors.New("the autoprovisioning file cannot be made")
	}
	uid, gid := owner(of)
	switch u, g := owner(before); {
	case !before.Mode().IsRegular():
		return errors.New("the autoprovisioning file is a link or no file, and is left alone")
	case before.Sys().(*syscall.Stat_t).Nlink != 1:
		return errors.New("the autoprovisioning file has another name too, and is left alone")
	case u == uid && g == gid:
		return nil
	}
	// Not by name: what was looked at is what is changed.
	f, err := dir.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return errors.New("the autoprovisioning file cannot be opened")
	}
	defer func() { _ = f.Close() }()
	if now, err := f.Stat(); err != nil || !os.SameFile(before, now) {
		return errors.New("the autoprovisioning file was exchanged, and is left alone")
	}
	if err := f.Chown(uid, gid); err != nil {
		return fmt.Errorf("the autoprovisioning file cannot be given to its owner: %w", errors.Unwrap(err))
	}
	return nil
}
