package tenant_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/internal/tenant"
)

// plant makes a tree of tenants, each given as its name and its parent's, parents first.
func plant(t *testing.T, db store.DB, tree [][2]string) map[string]string {
	t.Helper()
	uuids := map[string]string{}
	for _, pair := range tree {
		uuids[pair[0]] = uuid.NewString()
		if _, err := db.Exec(t.Context(), `INSERT INTO auth_tenant (uuid, parent_uuid, slug) VALUES ($1, $2, $3)`,
			uuids[pair[0]], uuids[pair[1]], pair[0]); err != nil {
			t.Fatal(err)
		}
	}
	return uuids
}

func TestWithin(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		uuids := plant(t, db, [][2]string{{"master", "master"}, {"a", "master"}, {"b", "master"}, {"a1", "a"}, {"a2", "a"}, {"deep", "a1"}})
		uuids["nobody"] = uuid.NewString()
		below := map[string]string{"master": "", "a": "master", "b": "master", "a1": "a", "a2": "a", "deep": "a1"}
		for one := range uuids {
			for root := range uuids {
				want := false
				for at := one; at != "" && at != "nobody"; at = below[at] {
					want = want || at == root
				}
				got, err := tenant.Within(t.Context(), db, uuids[one], uuids[root])
				if err != nil || got != want {
					t.Errorf("%s within %s: %t, %v, want %t", one, root, got, err, want)
				}
			}
		}
	})
}

// The condition and the query agree with Within, whatever precedes their placeholder.
func TestBelowAndAbove(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		uuids := plant(t, db, [][2]string{{"master", "master"}, {"a", "master"}, {"b", "master"}, {"a1", "a"}, {"deep", "a1"}})
		for root := range uuids {
			below, err := store.Select[string](t.Context(), db,
				`SELECT slug FROM auth_tenant WHERE slug <> $1 AND `+tenant.Below("uuid", "$2")+` ORDER BY slug`, "none", uuids[root])
			if err != nil {
				t.Fatal(err)
			}
			above, err := store.Select[string](t.Context(), db, `SELECT slug FROM auth_tenant WHERE uuid IN (`+tenant.Above("$1")+`)`, uuids[root])
			if err != nil {
				t.Fatal(err)
			}
			for one := range uuids {
				for _, test := range []struct {
					tenant, root string
					in           []string
				}{{one, root, below}, {root, one, above}} {
					want, err := tenant.Within(t.Context(), db, uuids[test.tenant], uuids[test.root])
					if err != nil {
						t.Fatal(err)
					}
					got := false
					for _, slug := range test.in {
						got = got || slug == one
					}
					if got != want {
						t.Errorf("%s within %s: %t, want %t", test.tenant, test.root, got, want)
					}
				}
			}
		}
	})
}
