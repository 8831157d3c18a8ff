package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ErrInUse says that another Open holds the file.
var ErrInUse = errors.New("the database file is in use")

// takeLock locks `<path>.lock` until the file that it answers is closed or the
// process ends, however it ends. The lock file stays: removing it would let two
// processes lock two files of one name.
func takeLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the operator's own path
	if err != nil {
		return nil, fmt.Errorf("locking the database: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		holder, _ := io.ReadAll(io.LimitReader(file, 20))
		_ = file.Close()
		return nil, fmt.Errorf("%w: %s is open in process %s; stop that one first, "+
			"give this one another file, or use PostgreSQL, which several can share",
			ErrInUse, path, strings.TrimSpace(string(holder)))
	case err != nil:
		_ = file.Close()
		return nil, fmt.Errorf("locking the database %s: %w", path, err)
	}
	// For the message above; the lock holds without it.
	if err := file.Truncate(0); err == nil {
		_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return file, nil
}
