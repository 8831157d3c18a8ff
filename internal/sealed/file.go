package sealed

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxFile is the largest key file, in bytes: a damaged one is not read whole.
const maxFile = 16 << 10

// readFile reads a key file. It answers fs.ErrNotExist when there is none, and refuses one that others can read. Its
// errors never hold the file's content.
func readFile(path string) (*Keys, error) {
	f, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("opening the key file: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("looking at the key file: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("the key file %s is open to other users (mode %04o): run \"chmod 600 %s\", "+
			"and put a new key before the one in it if somebody may have read it", path, mode, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, fmt.Errorf("reading the key file: %w", err)
	}
	keys, err := ParseKeys(string(text))
	if err != nil {
		return nil, fmt.Errorf("the key file %s is damaged: %w; restore it from a backup or from another node", path, err)
	}
	return keys, nil
}

// makeFile makes a key file with a new key, and answers what is in it in the end: of several processes
// that make it at once, one does, whole. It is on disk when makeFile returns.
func makeFile(path string) (*Keys, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the key file: %w", err)
	}
	beside, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("making the key file: %w", err)
	}
	defer func() { _ = os.Remove(beside.Name()) }()
	_, err = fmt.Fprintf(beside, "# The key of what ringfence keeps encrypted in its database. All nodes on that database need this file.\n%s\n", newKey())
	err = errors.Join(err, beside.Sync(), beside.Close())
	if err == nil {
		err = os.Link(beside.Name(), path) // unlike a rename it replaces nothing
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("making the key file: %w", err)
	}
	if err := syncFolder(dir); err != nil {
		return nil, fmt.Errorf("making the key file: %w", err)
	}
	return readFile(path)
}

func syncFolder(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // the operator names the folder
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
