package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// The rows of a transaction arrive whole and in order, however many they are, without those of a part that was undone.
func TestBatch(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var want []string
		err := db.InTx(t.Context(), func(ctx context.Context, c store.Conn) error {
			want = nil // the transaction may run again
			ctx, b := Collecting(ctx)
			add := func(object string) error {
				return b.add(ctx, c, []any{uuid.Nil.String(), nil, nil, "", "confd", "create", "users", object, "", nil, nil, "", ""})
			}
			refused := errors.New("refused")
			part := func(n int, fail error) error {
				return b.Attempt(func() error {
					return store.Attempt(ctx, c, func() error {
						for i := range n {
							object := fmt.Sprint(len(want))
							if fail != nil {
								object = fmt.Sprintf("undone %d", i)
							} else {
								want = append(want, object)
							}
							if err := add(object); err != nil {
								return err
							}
						}
						return fail
					})
				})
			}
			for _, n := range []int{full - 1, 1, 3, full, 2*full + 1} {
				if err := part(n, nil); err != nil {
					return err
				}
				if err := part(full+1, refused); !errors.Is(err, refused) {
					return err
				}
				want = append(want, fmt.Sprint(len(want)))
				if err := add(want[len(want)-1]); err != nil {
					return err
				}
			}
			return b.Flush(ctx, c)
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := store.Select[string](t.Context(), db, `SELECT object FROM audit ORDER BY id`)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: the audit has %d rows, want %d:\n%v", err, len(got), len(want), got)
		}
	})
}
