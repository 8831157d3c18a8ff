package sealed

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ringfence/ringfence/internal/private"
)

// maxFile is the largest key file, in bytes.
const maxFile = 16 << 10

// readFile reads a key file. It returns fs.ErrNotExist if there is none, and refuses one that others can read. Its errors never
// hold the file's content.
func readFile(path string) (*Keys, error) {
	text, err := private.Read(path, maxFile)
	if exposed, ok := errors.AsType[*private.ExposedError](err); ok {
		return nil, fmt.Errorf("the key file %w, and put a new key before the one in it if somebody may have read it", exposed)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the key file: %w", err)
	}
	keys, err := ParseKeys(string(text))
	if err != nil {
		return nil, fmt.Errorf("the key file %s is damaged: %w; restore it from a backup or from another node", path, err)
	}
	return keys, nil
}

// makeFile creates a key file with a new key, and returns the keys that the file finally holds: of several concurrent processes
// one creates it, completely. It is on disk when makeFile returns.
func makeFile(path string) (*Keys, error) {
	err := private.Create(path, fmt.Appendf(nil,
		"# The key of what ringfence keeps encrypted in its database. All nodes on that database need this file.\n%s\n", newKey()))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("making the key file: %w", err)
	}
	return readFile(path)
}
