package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// longest is how long a statement of CopyOut may take.
const longest = 24 * time.Hour

// CopyOut writes the rows of all tables of the schema public of another program's database as pg_dump --data-only does, as text, of one snapshot in
// which nothing can be written. Tables that are not wanted have an empty line for each row.
func CopyOut(ctx context.Context, address string, wanted func(table string) bool, w io.Writer) (err error) {
	cfg, err := parseConfig(address, Options{StatementTimeout: longest, IdleInTxTimeout: longest}.withDefaults())
	if err != nil {
		return err
	}
	maps.Copy(cfg.ConnConfig.RuntimeParams, map[string]string{ // as pg_dump sets them, whatever the server or its user has
		"client_encoding": "UTF8", "datestyle": "ISO", "bytea_output": "hex", "timezone": "UTC", "extra_float_digits": "3",
	})
	conn, err := pgx.ConnectConfig(ctx, cfg.ConnConfig)
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", place(cfg.ConnConfig), translate(ctx, err))
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	rows, err := tx.Query(ctx, `SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE n.nspname = 'public' AND c.relkind = 'r' GROUP BY c.relname ORDER BY c.relname`)
	if err != nil {
		return err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct {
		Name    string
		Columns []string
	}])
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, "--\n-- PostgreSQL database dump\n--\n"); err != nil {
		return err
	}
	for _, t := range tables {
		quoted := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			quoted[i] = pgx.Identifier{c}.Sanitize()
		}
		columns, of := strings.Join(quoted, ", "), pgx.Identifier{"public", t.Name}.Sanitize()
		if _, err := fmt.Fprintf(w, "\nCOPY public.%s (%s) FROM stdin;\n", pgx.Identifier{t.Name}.Sanitize(), columns); err != nil {
			return err
		}
		if !wanted(t.Name) {
			columns = ""
		}
		if _, err := conn.PgConn().CopyTo(ctx, w, "COPY (SELECT "+columns+" FROM "+of+") TO STDOUT"); err != nil {
			return fmt.Errorf("reading the table %s: %w", t.Name, err)
		}
		if _, err := io.WriteString(w, "\\.\n"); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, "\n-- PostgreSQL database dump complete\n")
	return err
}
