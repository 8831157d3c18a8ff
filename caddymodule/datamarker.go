package caddymodule

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/private"
)

// madeFile is a file in the data folder that names the database files created for it, one per line, relative to the folder where
// they are below it. A gateway that finds such a database missing or empty does not take itself for a new installation that needs
// a new administrator: a volume may not be mounted, or a backup not yet restored.
//
// A name is written once its database has its first administrator. If the process dies before that, the next start finds the
// database and writes the name then; the file never names a database that did not exist. To begin anew, delete the whole folder.
const madeFile = "databases"

// maxMade is the largest size of madeFile, in bytes.
const maxMade = 64 << 10

// madeDatabase is a database file, in a data folder that may name it.
type madeDatabase struct {
	data string
	path string // absolute, without symbolic links; empty for PostgreSQL
}

// name returns the database's line in the file.
func (m madeDatabase) name() string {
	folder, err := filepath.Abs(m.data)
	if err == nil {
		if found, err := filepath.EvalSymlinks(folder); err == nil {
			folder = found
		}
		if relative, err := filepath.Rel(folder, m.path); err == nil && filepath.IsLocal(relative) {
			return relative
		}
	}
	return m.path
}

func (m madeDatabase) file() string { return filepath.Join(m.data, madeFile) }

func (m madeDatabase) names() ([]string, error) {
	text, err := private.Read(m.file(), maxMade)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading which databases the data folder has: %w", err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' }), nil
}

// known reports whether the data folder says that the database was created.
func (m madeDatabase) known() (bool, error) {
	if m.path == "" {
		return false, nil
	}
	names, err := m.names()
	return slices.Contains(names, m.name()), err
}

// check refuses a database that was created and is now missing or empty.
func (m madeDatabase) check(known bool) error {
	if !known {
		return nil
	}
	switch info, err := os.Stat(m.path); {
	case errors.Is(err, fs.ErrNotExist):
		return m.lost("is missing")
	case err != nil:
		return fmt.Errorf("checking the database: %w", err)
	case info.Size() == 0:
		return m.lost("is empty")
	default:
		return nil
	}
}

// lost returns an error that says what to do.
func (m madeDatabase) lost(how string) error {
	return fmt.Errorf("the database file %s %s, and the data folder says that it was made: mount its volume or put a backup in its place; "+
		"to begin anew, with a new administrator, delete %s", m.path, how, m.file())
}

// remember writes into the data folder that the database was created.
func (m madeDatabase) remember(known bool) error {
	if known || m.path == "" {
		return nil
	}
	names, err := m.names()
	if err != nil {
		return err
	}
	if err := private.Replace(m.file(), []byte(strings.Join(append(names, m.name()), "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("writing which databases the data folder has: %w", err)
	}
	return nil
}
