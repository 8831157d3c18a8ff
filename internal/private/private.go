// Package private reads, writes and locks files that are for their owner alone: keys and passwords.
//
// Nothing is ever half there, also when the machine loses power: content is written to a file beside its place and
// synced, takes its place in one step, and then the folder is synced. No error holds a file's content.
//
// Who owns a file is not asked: root may run a command on the files of the service's own user. A symbolic link is followed,
// and it is the file behind it that must be private.
//
// The package needs a Unix, where modes protect files.
package private

import (
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

// ExposedError is that of a file that others than its owner may read, write or run. Its text begins with the file's path.
type ExposedError struct {
	Path string
	Mode fs.FileMode // the permissions
}

func (e *ExposedError) Error() string {
	return fmt.Sprintf("%s is open to other users (mode %04o): run \"chmod 600 %s\"", e.Path, e.Mode, e.Path)
}

// Read returns the first bytes of a file, at most limit of them: a damaged file is not read whole. It answers an
// [ExposedError] for a file that is open to others, and [fs.ErrNotExist] when there is none.
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

// Temp makes a new file with content, mode 0600, below folder, which is made if it is missing, and answers its path. Its
// name is made of pattern as that of [os.CreateTemp].
func Temp(folder, pattern string, content []byte) (path string, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(folder, pattern) // mode 0600
	if err != nil {
		return "", err
	}
	return f.Name(), fill(f, content)
}

// Create makes a file with content, mode 0600, where there is none, else it answers [fs.ErrExist] and changes
// nothing: of several processes that do it at once, one succeeds. Either way the file is on disk when Create returns. The
// folder is made if it is missing.
func Create(path string, content []byte) error {
	folder := filepath.Dir(path)
	beside, err := Temp(folder, "."+filepath.Base(path)+"-*", content)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(beside) }()
	err = os.Link(beside, path) // unlike a rename it replaces nothing
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := syncFolder(folder); err != nil {
		return err
	}
	return err
}

// Replace puts content in a file, whether it is there or not, with a mode that may give it to others. Only one process
// may do it at a time. What an interrupted one has left (path.new) is removed.
func Replace(path string, content []byte, mode fs.FileMode) error {
	beside := path + ".new"
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(beside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode) //nolint:gosec // the operator names the folder
	if err != nil {
		return err
	}
	if err := fill(f, content); err != nil {
		return err
	}
	if err := os.Rename(beside, path); err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	return syncFolder(filepath.Dir(path))
}

// fill writes to a new file, and closes it. If that fails there is no file.
func fill(f *os.File, content []byte) error {
	_, err := f.Write(content)
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

// InUseError is that of a lock that another process, or another TryLock of this one, holds.
type InUseError struct {
	// Holder is the number of the process that holds it, as far as the file says.
	Holder string
}

func (e *InUseError) Error() string { return "process " + e.Holder + " has it" }

// TryLock locks a file, which it makes if it is missing, mode 0600, until the answer is closed or the process ends, however it
// ends: nothing stale is ever left. It answers an [InUseError] when somebody has it. The file stays: removing it would let two
// processes lock two files of one name.
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
