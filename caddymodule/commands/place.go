package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/open"
)

// place is where a gateway keeps its things, for the commands that work without it.
type place struct{ data, database string }

func addPlaceFlags(cmd *cobra.Command) {
	cmd.Flags().String("data", "", "The data folder (default: $RINGFENCE_DATA, else ./data)")
	cmd.Flags().String("database", "", "The database's address (default: $RINGFENCE_DATABASE, else ringfence.db in the data folder)")
}

// placeOf returns what the flags and the environment name.
func placeOf(cmd *cobra.Command) place {
	flag := func(name string) string { return cmd.Flags().Lookup(name).Value.String() }
	data := cmp.Or(flag("data"), os.Getenv("RINGFENCE_DATA"), "data")
	return place{data, cmp.Or(flag("database"), os.Getenv("RINGFENCE_DATABASE"), open.SQLiteScheme+filepath.Join(data, "ringfence.db"))}
}

// openTimeout bounds opening and migrating.
const openTimeout = 2 * time.Minute

// openExisting opens a database, which must be one that a gateway has created.
func openExisting(ctx context.Context, address string) (db store.DB, err error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if path, ok := strings.CutPrefix(address, open.SQLiteScheme); ok {
		if _, err := os.Stat(path); err != nil { // opening it would make it
			if errors.Is(err, fs.ErrPermission) {
				return nil, fmt.Errorf("only the user that the gateway runs as can open its database; run this as that user: %w", err)
			}
			return nil, fmt.Errorf("there is no database to change, name another with --data or --database: %w", err)
		}
	}
	if db, err = open.Open(ctx, address); err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	schema := db.(store.Migrator)
	version, err := schema.Version(ctx)
	switch {
	case err != nil:
		err = fmt.Errorf("reading the database's version: %w", err)
	case version == 0:
		err = errors.New("no gateway has ever used this database; name another with --data or --database")
	default:
		if err = schema.Migrate(ctx); err != nil { // as a gateway of this version would when it starts
			err = fmt.Errorf("bringing the database to this version's schema: %w", err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// progressOn returns a function that draws how much is done on a terminal, and writes nothing elsewhere.
func progressOn[N int | int64](w io.Writer, what string) func(done, of N) {
	if !isTerminal(w) {
		return func(N, N) {}
	}
	const width = 40
	return func(done, of N) {
		bar := int(done * width / max(of, 1))
		fmt.Fprintf(w, "\r[%s%s] %d of %d %s", strings.Repeat("#", bar), strings.Repeat(" ", width-bar), done, of, what)
		if done == of {
			fmt.Fprintln(w)
		}
	}
}

// isTerminal reports whether an input or output is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
