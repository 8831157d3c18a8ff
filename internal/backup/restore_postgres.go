package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/migrations"
	"github.com/ringfence/ringfence/internal/store/open"
	"github.com/ringfence/ringfence/internal/store/sqlite"
)

// intoPostgres puts all rows of a SQLite database into a PostgreSQL database, in one transaction.
func intoPostgres(ctx context.Context, o Options, from string, of int64, replace bool) (err error) {
	lite, err := sqlite.OpenBeside(ctx, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lite.Close()) }()
	tables, err := tablesOf(ctx, lite)
	if err != nil {
		return err
	}
	// One connection: every other one of a program of ours is then another process's.
	db, err := open.Beside(ctx, o.Database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := mayFill(ctx, db, replace); err != nil {
		return err
	}
	if err := foreign(ctx, db, tables); err != nil {
		return err
	}
	if err := db.(store.Migrator).Migrate(ctx); err != nil {
		return fmt.Errorf("making the tables: %w", err)
	}
	return db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if err := begin(ctx, tx, "postgres", tables, "ACCESS EXCLUSIVE"); err != nil {
			return err
		}
		if err := nobodyElse(ctx, tx); err != nil { // one that starts now waits for the tables, and finds the restored ones
			return err
		}
		if !replace {
			if err := emptyTenants(ctx, tx); err != nil {
				return err
			}
		}
		return fillPostgres(ctx, o, tx, tables, lite, of)
	})
}

// mayFill refuses a database that a gateway uses, one that a newer release has migrated, and one that is not empty unless replace is set.
func mayFill(ctx context.Context, db store.DB, replace bool) error {
	if err := nobodyElse(ctx, db); err != nil {
		return err
	}
	have, err := db.(store.Migrator).Version(ctx)
	if err != nil {
		return err
	}
	latest, err := migrations.Latest()
	if err != nil {
		return err
	}
	if have > latest { // the tables that this program does not know would stay
		return fmt.Errorf("a newer release has migrated the database (to version %d, and this program knows up to %d): make an empty database (createdb), "+
			"name that one in RINGFENCE_DATABASE, and restore into it", have, latest)
	}
	if replace {
		return nil
	}
	return empty(ctx, db)
}

// foreign refuses a database in which another program has a table of ours: the migrations would stop at it, half done.
func foreign(ctx context.Context, db store.DB, tables []table) error {
	version, err := db.(store.Migrator).Version(ctx)
	if err != nil || version > 0 {
		return err
	}
	there, err := store.Select[string](ctx, db, "SELECT CAST(relname AS text) FROM pg_class WHERE relnamespace = CAST(current_schema() AS regnamespace)")
	if err != nil {
		return fmt.Errorf("looking for tables of another program: %w", err)
	}
	for _, t := range tables {
		if slices.Contains(there, t.Name) {
			return fmt.Errorf("the database has a table %s that no gateway has made: name an empty database", t.Name)
		}
	}
	return nil
}

// leaving is how long a gateway that was stopped may take to be gone on the server.
const leaving = 3 * time.Second

// nobodyElse refuses a database that a gateway uses: what it has in memory would not be that of the restored one.
func nobodyElse(ctx context.Context, c store.Conn) error {
	for until := time.Now().Add(leaving); ; {
		if _, err := c.Exec(ctx, "SELECT pg_stat_clear_snapshot()"); err != nil { // a transaction would see the same for ever
			return err
		}
		others, err := store.Get[int64](ctx, c, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'ringfence'`)
		switch {
		case err != nil:
			return fmt.Errorf("looking for gateways that use the database: %w", err)
		case others == 0:
			return nil
		case time.Now().After(until):
			return errors.New("gateways use the database: stop all of them first")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(leaving / 30):
		}
	}
}

// fillPostgres writes all rows, without what triggers would add to them. Foreign keys are made anew when all rows are there, since the
// rows of a table may come before those that they refer to: that checks every row.
func fillPostgres(ctx context.Context, o Options, tx store.Conn, tables []table, lite *sqlite.DB, of int64) error {
	keys, err := store.Select[struct{ Of, Name, Definition string }](ctx, tx, `SELECT CAST(conrelid::regclass AS text) AS of, CAST(conname AS text) AS name,
		pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE contype = 'f' AND connamespace = CAST(current_schema() AS regnamespace) ORDER BY 1, 2`)
	if err != nil {
		return err
	}
	var names []string
	ours := make(map[string]bool)
	for _, t := range tables {
		names = append(names, quoted(t.Name))
		ours[t.Name] = true
	}
	var before, after []string
	for _, k := range keys {
		if ours[strings.Trim(k.Of, `"`)] {
			before = append(before, "ALTER TABLE "+k.Of+" DROP CONSTRAINT "+quoted(k.Name))
			after = append(after, "ALTER TABLE "+k.Of+" ADD CONSTRAINT "+quoted(k.Name)+" "+k.Definition)
		}
	}
	before = append(before, "TRUNCATE "+strings.Join(names, ", "))
	for _, name := range names {
		before = append(before, "ALTER TABLE "+name+" DISABLE TRIGGER USER")
		after = append(after, "ALTER TABLE "+name+" ENABLE TRIGGER USER")
	}
	if err := all(ctx, tx, before); err != nil {
		return err
	}
	read := rowsOf("sqlite", lite)
	done := int64(0)
	for _, t := range tables {
		rows, err := t.load(ctx, tx, "postgres", read)
		if err != nil {
			return err
		}
		if t.Numbered {
			n, err := t.lastNumber(ctx, lite, "sqlite")
			if err == nil {
				err = t.setLastNumber(ctx, tx, "postgres", n)
			}
			if err != nil {
				return err
			}
		}
		done += rows
		o.progress(min(done, of), of)
	}
	return all(ctx, tx, after)
}

func all(ctx context.Context, tx store.Conn, statements []string) error {
	for _, s := range statements {
		if _, err := tx.Exec(ctx, s); err != nil {
			return fmt.Errorf("replacing the rows: %w", err)
		}
	}
	return nil
}
