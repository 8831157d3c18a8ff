package backup

import (
	"context"
	"fmt"

	"github.com/ringfence/ringfence/internal/store"
)

// lastNumber returns the last number that the database gave a row, which may be deleted, or 0.
func (t table) lastNumber(ctx context.Context, tx store.Conn, engine string) (int64, error) {
	if engine == "sqlite" {
		return store.Get[int64](ctx, tx, "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = $1", t.Name)
	}
	sequence, err := store.Get[string](ctx, tx, "SELECT pg_get_serial_sequence($1, $2)", quoted(t.Name), t.key()[0].Name)
	if err != nil {
		return 0, err
	}
	return store.Get[int64](ctx, tx, "SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM "+sequence)
}

// setLastNumber makes the database give the next row a higher number. Unlike setval, ALTER is undone with the transaction.
func (t table) setLastNumber(ctx context.Context, tx store.Conn, engine string, n int64) error {
	if engine == "postgres" {
		_, err := tx.Exec(ctx, fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s RESTART WITH %d", quoted(t.Name), quoted(t.key()[0].Name), n+1))
		return err
	}
	if _, err := tx.Exec(ctx, "INSERT INTO sqlite_sequence (name, seq) SELECT $1, 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = $1)", t.Name); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "UPDATE sqlite_sequence SET seq = max(seq, $2) WHERE name = $1", t.Name, n)
	return err
}
