// Package made keeps, in a data folder, which SQLite databases were made for it. A gateway that finds such a database missing or empty does
// not take itself for a new installation that needs a new administrator: a volume may not be mounted, or a backup not yet restored.
package made

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/private"
	"github.com/ringfence/ringfence/internal/store/open"
)

// fileName is the file in the data folder that names the databases, one per line, relative to the folder where they are below it.
//
// A name is written once its database has its first administrator. If the process dies before that, the next start finds the
// database and writes the name then; the file never names a database that did not exist. To begin anew, delete the whole folder.
const fileName = "databases"

// maxSize is the largest size of the file, in bytes.
const maxSize = 64 << 10

// Database is a database, of a data folder that may name it. PostgreSQL's are never named, nor missed.
type Database struct {
	data string
	path string // absolute, without symbolic links; empty for PostgreSQL
}

// Of returns the database at an address. Its error says what is wrong with the address.
func Of(data, address string) (Database, error) {
	key, err := open.Key(address)
	if err != nil {
		return Database{}, err
	}
	path, isFile := strings.CutPrefix(key, open.SQLiteScheme)
	if !isFile {
		path = ""
	}
	return Database{data, path}, nil
}

// LostError says that a database that was made is not there.
type LostError struct {
	Path string // of the database
	How  string // "is missing", say
	File string // that says that it was made
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the database file %s %s, and the data folder says that it was made: mount its volume or put a backup in its place; "+
		"to begin anew, with a new administrator, delete %s", e.Path, e.How, e.File)
}

// name returns the database's line in the file.
func (d Database) name() string {
	folder, err := filepath.Abs(d.data)
	if err == nil {
		if found, err := filepath.EvalSymlinks(folder); err == nil {
			folder = found
		}
		if relative, err := filepath.Rel(folder, d.path); err == nil && filepath.IsLocal(relative) {
			return relative
		}
	}
	return d.path
}

func (d Database) file() string { return filepath.Join(d.data, fileName) }

func (d Database) names() ([]string, error) {
	text, err := private.Read(d.file(), maxSize)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading which databases the data folder has: %w", err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' }), nil
}

// Known reports whether the data folder says that the database was created.
func (d Database) Known() (bool, error) {
	if d.path == "" {
		return false, nil
	}
	names, err := d.names()
	return slices.Contains(names, d.name()), err
}

// Check refuses, with a *[LostError], a database that was created and is now missing or empty.
func (d Database) Check(known bool) error {
	if !known {
		return nil
	}
	switch info, err := os.Stat(d.path); {
	case errors.Is(err, fs.ErrNotExist):
		return d.Lost("is missing")
	case err != nil:
		return fmt.Errorf("checking the database: %w", err)
	case info.Size() == 0:
		return d.Lost("is empty")
	default:
		return nil
	}
}

// Lost returns the error for a database that was made, and that the caller found like this.
func (d Database) Lost(how string) error { return &LostError{d.path, how, d.file()} }

// Remember writes into the data folder that the database was created.
func (d Database) Remember(known bool) error {
	if known || d.path == "" {
		return nil
	}
	names, err := d.names()
	if err != nil {
		return err
	}
	if err := private.Replace(d.file(), []byte(strings.Join(append(names, d.name()), "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("writing which databases the data folder has: %w", err)
	}
	return nil
}
