// Package open opens a database by its address, which alone chooses the engine (RINGFENCE_DATABASE).
package open

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/postgres"
	"github.com/ringfence/ringfence/internal/store/sqlite"
)

// ErrAddress says that an address has none of the forms that Open accepts. The text never holds the address, which may hold a
// password.
var ErrAddress = errors.New("a database address is sqlite:///absolute/path, sqlite://relative/path, " +
	"or postgres://user@host/database, with a :password behind the user")

// SQLiteScheme begins the address of an SQLite file: its path follows.
const SQLiteScheme = "sqlite://"

// Open opens the database at an address:
//
//	sqlite:///var/lib/ringfence/ringfence.db   a file, made where it is missing
//	sqlite://data/ringfence.db                 relative to the working folder
//	postgres://user:password@host/database     any libpq URL; postgresql:// too
//
// A path is used as it is, without percent-decoding. Open does not migrate (the result is a [store.Migrator]) and does not wait:
// an unreachable PostgreSQL is store.ErrUnavailable after at most 10 s.
func Open(ctx context.Context, address string) (store.DB, error) {
	switch engine, err := engineOf(address); {
	case err != nil:
		return nil, err
	case engine == "sqlite":
		db, err := sqlite.Open(ctx, strings.TrimPrefix(address, SQLiteScheme))
		if err != nil {
			return nil, err // not a nil *sqlite.DB in the interface
		}
		return db, nil
	default:
		db, err := postgres.Open(ctx, address, postgres.Options{})
		if err != nil {
			return nil, err
		}
		return db, nil
	}
}

// Beside opens the database at an address to read it, whether or not gateways use it. It uses one connection, and makes nothing.
func Beside(ctx context.Context, address string) (store.DB, error) {
	switch engine, err := engineOf(address); {
	case err != nil:
		return nil, err
	case engine == "sqlite":
		db, err := sqlite.OpenBeside(ctx, strings.TrimPrefix(address, SQLiteScheme))
		if err != nil {
			return nil, err
		}
		return db, nil
	default:
		db, err := postgres.Open(ctx, address, postgres.Options{MaxConns: 1})
		if err != nil {
			return nil, err
		}
		return db, nil
	}
}

// Key returns a text that two addresses share if one open database can serve both: the file that a path leads to, or a digest of
// a PostgreSQL address. It holds no password.
func Key(address string) (string, error) {
	engine, err := engineOf(address)
	if err != nil {
		return "", err
	}
	if engine == "postgres" {
		sum := sha256.Sum256([]byte(address))
		return "postgres:" + hex.EncodeToString(sum[:]), nil
	}
	path, err := filepath.Abs(strings.TrimPrefix(address, SQLiteScheme))
	if err != nil {
		return "", fmt.Errorf("reading the database's path: %w", err)
	}
	return SQLiteScheme + followLinks(path), nil
}

// followLinks resolves the part of a path that exists.
func followLinks(path string) string {
	if found, err := filepath.EvalSymlinks(path); err == nil {
		return found
	}
	folder := filepath.Dir(path)
	if folder == path {
		return path
	}
	return filepath.Join(followLinks(folder), filepath.Base(path))
}

func engineOf(address string) (string, error) {
	if path, ok := strings.CutPrefix(address, SQLiteScheme); ok {
		switch {
		case path == "" || os.IsPathSeparator(path[len(path)-1]):
			return "", fmt.Errorf("no file is named: %w", ErrAddress)
		case strings.ContainsAny(path, "?#\x00"):
			return "", fmt.Errorf("a path holds no ? or #, and SQLite takes no options: %w", ErrAddress)
		case strings.Contains(path, ":memory:"):
			return "", fmt.Errorf("a database in memory would be lost: %w", ErrAddress)
		}
		return "sqlite", nil
	}
	if strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://") {
		return "postgres", nil
	}
	return "", ErrAddress
}
