package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/singleflight"

	"github.com/ringfence/ringfence/internal/store"
)

// constraint is a constraint of the schema, or a unique index, as an error names it.
type constraint struct{ schema, table, name string }

// catalog knows the columns of constraints. It asks the server when it meets an unknown one.
type catalog struct {
	asking singleflight.Group

	mu      sync.Mutex
	columns map[constraint][]string
}

const catalogTimeout = 3 * time.Second

// addColumns adds the table and the columns to a broken constraint. If the server does not respond, the columns stay empty, and the
// next broken constraint asks again.
func (db *DB) addColumns(ctx context.Context, broken *store.ConstraintError) {
	var pg *pgconn.PgError
	if !errors.As(broken, &pg) {
		return
	}
	broken.Table = pg.TableName
	if broken.Kind == store.NotNull {
		broken.Columns = []string{pg.ColumnName}
		return
	}
	var err error
	broken.Columns, err = db.catalog.of(ctx, db.config.ConnConfig, constraint{pg.SchemaName, pg.TableName, pg.ConstraintName})
	if err != nil { // for the log only: it must not replace the error
		broken.Err = fmt.Errorf("%w (its columns are unknown: %v)", broken.Err, err) //nolint:errorlint // see above
	}
}

func (k *catalog) of(ctx context.Context, config *pgx.ConnConfig, of constraint) ([]string, error) {
	if columns, known := k.known(of); known {
		return columns, nil
	}
	_, err, _ := k.asking.Do("", func() (any, error) { // for all waiting calls, so it does not end with the first one's request
		found, err := readCatalog(context.WithoutCancel(ctx), config)
		if err != nil {
			return nil, err
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.columns = found
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, there := k.columns[of]; !there {
		k.columns[of] = nil // do not ask for it again
	}
	return k.columns[of], nil
}

func (k *catalog) known(of constraint) (columns []string, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	columns, known = k.columns[of]
	return columns, known
}

// readCatalog uses its own connection: transactions that wait for it may hold all those of the pool.
func readCatalog(ctx context.Context, config *pgx.ConnConfig) (map[constraint][]string, error) {
	ctx, cancel := context.WithTimeout(ctx, catalogTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", translate(ctx, err))
	}
	defer func() { _ = conn.Close(ctx) }()
	// A unique index depends on the columns of its key, its expressions and its condition; if it belongs to a constraint, the
	// constraint does.
	rows, err := conn.Query(ctx, `
		SELECT n.nspname::text, t.relname::text, b.name::text, array_agg(a.attname::text ORDER BY a.attnum)
		FROM (
			SELECT conrelid AS rel, conname AS name, unnest(conkey)::int AS number FROM pg_constraint
			UNION
			SELECT i.indrelid, x.relname, d.refobjsubid
			FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
			JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
				AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid AND d.refobjsubid > 0
			WHERE i.indisunique
		) AS b
		JOIN pg_class t ON t.oid = b.rel JOIN pg_namespace n ON n.oid = t.relnamespace
		JOIN pg_attribute a ON a.attrelid = b.rel AND a.attnum = b.number
		WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
		GROUP BY 1, 2, 3`)
	if err != nil {
		return nil, translate(ctx, err)
	}
	found := make(map[constraint][]string)
	var of constraint
	var columns []string
	_, err = pgx.ForEachRow(rows, []any{&of.schema, &of.table, &of.name, &columns}, func() error {
		found[of], columns = columns, nil
		return nil
	})
	return found, translate(ctx, err)
}
