package backup

import (
	"bytes"
	"context"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// Every value of every type comes back as it was, from each database and through the file, also those at the ends.
func TestValues(t *testing.T) {
	values := table{Name: "a_value", Columns: []column{
		{"id", "integer", 1}, {"t", "text", 0}, {"u", "text", 0}, {"n", "bigint", 0}, {"b", "boolean", 0}, {"x", "blob", 0}, {"at", "timestamp", 0}, {"f", "double precision", 0},
	}}
	id := "00000000-0000-4000-8000-00000000000a"
	var want [][]any
	for i, row := range [][]any{
		{"", id, int64(0), false, []byte{}, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), 0.0},
		{"a'\"\\\n\t\u2028é😀</script>\x7f", id, int64(math.MaxInt64), true, []byte{0, 255, '\n'}, time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC), 1.5},
		{" ", id, int64(math.MinInt64), true, []byte("null"), time.Date(2026, 11, 22, 16, 0, 0, 0, time.UTC), -math.MaxFloat64},
		{"null", id, int64(1) << 53, false, []byte{}, time.Date(1969, 12, 31, 23, 59, 59, 1000, time.UTC), 0.1},
		{nil, nil, nil, nil, nil, nil, nil},
	} {
		want = append(want, append([]any{int64(i + 1)}, row...))
	}
	storetest.Each(t, func(t *testing.T, db store.DB) {
		ddl := map[string]string{
			"sqlite":   "CREATE TABLE a_value (id integer PRIMARY KEY AUTOINCREMENT, t text, u text, n bigint, b boolean, x blob, at timestamp, f double precision)",
			"postgres": "CREATE TABLE a_value (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, t text, u uuid, n bigint, b boolean, x bytea, at timestamptz, f double precision)",
		}
		if _, err := db.Exec(t.Context(), ddl[db.Engine()]); err != nil {
			t.Fatal(err)
		}
		err := db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
			n, err := values.load(ctx, tx, db.Engine(), func(_ context.Context, _ table, fn func([]any) error) error {
				decoded := make([]any, len(values.Columns))
				for _, row := range want {
					line, err := values.encode(row)
					if err != nil || bytes.Count(line, []byte("\n")) != 1 {
						t.Errorf("%q, %v", line, err)
					}
					if err := values.decode(line, decoded); err != nil {
						return err
					}
					if err := fn(decoded); err != nil {
						return err
					}
				}
				return nil
			})
			if n != int64(len(want)) {
				t.Errorf("%d rows", n)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		err = rowsOf(db.Engine(), db)(t.Context(), values, func(row []any) error {
			if !reflect.DeepEqual(row, want[i]) {
				t.Errorf("%#v came back as %#v", want[i], row)
			}
			i++
			return nil
		})
		if err != nil || i != len(want) {
			t.Errorf("%d rows, %v", i, err)
		}
	})
}
