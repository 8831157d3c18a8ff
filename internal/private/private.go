// Package private reads, writes and locks files that only their owner may read: keys and passwords.
//
// No file is ever half written, even if the machine loses power: content is written to a temporary file beside its place and
// synced, then renamed, and then the folder is synced. No error holds a file's content.
//
// The owner of a file is not checked: root may run a command on the files of the service's own user. Symbolic links are followed,
// and the file behind the link must be private.
//
// The package needs a Unix, where modes protect files.
package private

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ExposedError says that others than its owner may read, write or run a file. Its text begins with the file's path.
type ExposedError struct {
	Path string
	Mode fs.FileMode // the permissions
}

func (e *ExposedError) Error() string {
	return fmt.Sprintf("%s is open to other users (mode %04o): run \"chmod 600 %s\"", e.Path, e.Mode, e.Path)
}

// Read returns the first bytes of a file, at most limit of them, so that a damaged file is not read completely. It returns an
// [ExposedError] if others have access to the file, and [fs.ErrNotExist] if there is none.
func Read(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, &ExposedError{Path: path, Mode: mode}
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// Temp creates a file with content, mode 0600, in folder, which is created if it is missing, and returns its path. Its name is
// made from pattern as by [os.CreateTemp].
func Temp(folder, pattern string, content []byte) (path string, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(folder, pattern) // mode 0600
	if err != nil {
		return "", err
	}
	return f.Name(), fill(f, writing(content))
}

// Create creates a file with content, mode 0600. If the file exists, it returns [fs.ErrExist] and changes nothing: of several
// concurrent processes, one succeeds. Either way the file is on disk when Create returns. It creates the folder if it is missing.
func Create(path string, content []byte) error { return CreateBy(path, writing(content)) }

// CreateBy is Create of a file of any size, whose content write writes. If write fails, no file is there.
func CreateBy(path string, write func(w io.Writer) error) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	if err := fill(f, write); err != nil {
		return err
	}
	err = os.Link(f.Name(), path) // unlike a rename it replaces nothing
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := syncFolder(folder); err != nil {
		return err
	}
	return err
}

// MakeFolder makes a folder, with those above it, for its owner alone if it is missing. A link that leads nowhere is refused.
func MakeFolder(path string) error {
	err := os.MkdirAll(path, 0o700)
	if failed, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrExist) {
		link := filepath.Clean(failed.Path)
		if to, none := os.Readlink(link); none == nil {
			return fmt.Errorf("%s is a link to %s, which does not exist: make that folder, or remove the link", link, to)
		}
	}
	return err
}

// Rename gives a file, which is on disk, another name in its folder or in another, and replaces the file that had that name.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(to))
}

// Replace writes content to a file, which may exist, with a mode that may give others access. Only one process may do this at a
// time. It removes what an interrupted process has left (path.new).
func Replace(path string, content []byte, mode fs.FileMode) error {
	beside := path + ".new"
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(beside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode) //nolint:gosec // the operator names the folder
	if err != nil {
		return err
	}
	if err := fill(f, writing(content)); err != nil {
		return err
	}
	if err := os.Rename(beside, path); err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	return syncFolder(filepath.Dir(path))
}

func writing(content []byte) func(w io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}
}

// fill writes to a new file, and closes it. If that fails, it removes the file.
func fill(f *os.File, write func(w io.Writer) error) error {
	err := write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func syncFolder(path string) error {
	d, err := os.Open(path) //nolint:gosec // the operator names the folder
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// InUseError says that another process, or another TryLock of this one, holds a lock.
type InUseError struct {
	// Holder is the ID of the process that holds it, as far as the file says.
	Holder string
}

func (e *InUseError) Error() string { return "process " + e.Holder + " has it" }

// TryLock locks a file, which it creates if it is missing, mode 0600, until the result is closed or the process ends in any way:
// no stale lock is ever left. It returns an [InUseError] if the lock is held. The file stays: removing it would let two processes
// lock two files of one name.
func TryLock(path string) (io.Closer, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the operator names the folder
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		holder, _ := io.ReadAll(io.LimitReader(file, 20))
		return nil, errors.Join(&InUseError{Holder: strings.TrimSpace(string(holder))}, file.Close())
	case err != nil:
		return nil, errors.Join(err, file.Close())
	}
	// For the error of others; the lock holds without it.
	if err := file.Truncate(0); err == nil {
		_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return file, nil
}

// LockHolder returns the ID of the process that holds a lock, as far as the file says, or "" if nobody holds it. It changes nothing.
func LockHolder(path string) (string, error) {
	file, err := os.Open(path) //nolint:gosec // the operator names the folder
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return "", err
	}
	holder, err := io.ReadAll(io.LimitReader(file, 20))
	return cmp.Or(strings.TrimSpace(string(holder)), "unknown"), err
}
