package sqlite

import (
	"errors"
	"fmt"
	"io"

	"github.com/ringfence/ringfence/internal/private"
)

// ErrInUse says that another Open holds the file.
var ErrInUse = errors.New("the database file is in use")

// takeLock locks `<path>.lock` until its result is closed or the process ends.
func takeLock(path string) (io.Closer, error) {
	lock, err := private.TryLock(path + ".lock")
	if held, ok := errors.AsType[*private.InUseError](err); ok {
		return nil, fmt.Errorf("%w: %s is open in process %s; stop that one first, "+
			"give this one another file, or use PostgreSQL, which several can share",
			ErrInUse, path, held.Holder)
	}
	if err != nil {
		return nil, fmt.Errorf("locking the database: %w", err)
	}
	return lock, nil
}
