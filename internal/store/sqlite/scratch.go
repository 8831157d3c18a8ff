package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ringfence/ringfence/internal/store"
)

// scratchMark is in the names of copies, after that of the database.
const scratchMark = ".scratch-"

// Scratch implements [store.Scratcher]. If the process dies, the next Open removes the copy.
func (db *DB) Scratch(ctx context.Context) (_ store.DB, err error) {
	file, err := os.CreateTemp(filepath.Dir(db.path), filepath.Base(db.path)+scratchMark+"*")
	if err != nil {
		return nil, fmt.Errorf("copying the database: %w", err)
	}
	defer func() {
		if err != nil {
			_ = removeScratch(file.Name())
		}
	}()
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("copying the database: %w", err)
	}
	source, err := pool(db.path, "_pragma=cache_size(100)") // the readers refuse to make a copy
	if err != nil {
		return nil, err
	}
	_, err = source.ExecContext(ctx, "VACUUM INTO $1", file.Name())
	if err = errors.Join(err, source.Close()); err != nil {
		return nil, fmt.Errorf("copying the database: %w", db.translate(ctx, err))
	}
	copied, err := Open(ctx, file.Name())
	if err != nil {
		return nil, err
	}
	copied.scratch = true
	return copied, nil
}

// removeScratch removes a copy, with what belongs to it.
func removeScratch(path string) (err error) {
	for _, name := range []string{path, path + "-wal", path + "-shm", path + ".lock"} {
		if failed := os.Remove(name); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// removeScratches removes the copies of a process that died. Nobody else has them: the lock of the database is held.
func removeScratches(path string) error {
	left, err := filepath.Glob(path + scratchMark + "*")
	for _, name := range left {
		err = errors.Join(err, removeScratch(name))
	}
	return err
}
