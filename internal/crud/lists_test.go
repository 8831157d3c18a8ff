package crud_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

func TestCountsInAuthsStyle(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for n := range 9 {
			w.want(200, "POST", "/things", fmt.Sprintf(`{"name":"%c%d","size":%d}`, "xy"[n%2], n, n))
		}
		for _, test := range []struct {
			query                  string
			total, filtered, items float64
		}{
			{"", 9, 9, 9},
			{"?limit=4", 9, 9, 4},
			{"?limit=4&offset=8", 9, 9, 1},
			{"?offset=9", 9, 9, 0},
			{"?offset=4", 9, 9, 5},
			{"?limit=4&offset=20", 9, 9, 0},
			{"?search=x", 9, 5, 5},
			{"?search=x&limit=2", 9, 5, 2},
			{"?search=x&limit=5", 9, 5, 5},
			{"?search=x&limit=2&offset=4", 9, 5, 1},
			{"?search=x&limit=2&offset=5", 9, 5, 0},
			{"?search=x&offset=5", 9, 5, 0},
			{"?search=nothing", 9, 0, 0},
			{"?size=3", 9, 1, 1},
			{"?size=3&search=x&limit=1", 9, 0, 0},
		} {
			l := w.want(200, "GET", "/things"+test.query, "")
			if l["total"] != test.total || l["filtered"] != test.filtered || len(l["items"].([]any)) != int(test.items) {
				t.Errorf("%s: total %v, filtered %v, %d items", test.query, l["total"], l["filtered"], len(l["items"].([]any)))
			}
		}
	})
}

// Text is sorted by its folded bytes on both databases, whatever the column's locale.
func TestOrderIsTheSameOnBoth(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, name := range []string{"a c", "ab", "a-b", "B", "é", "f", "_", "10", "9", "A b"} {
			w.want(200, "POST", "/things", `{"name":"`+name+`"}`)
		}
		want := []string{"10", "9", "_", "A b", "a c", "a-b", "ab", "B", "é", "f"}
		if got := names(w.want(200, "GET", "/things", "")); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		found := slices.DeleteFunc(slices.Clone(want), func(name string) bool { return !strings.ContainsAny(strings.ToLower(name), "b") })
		slices.Reverse(found)
		if got := names(w.want(200, "GET", "/things?search=b&direction=desc&limit=9", "")); !slices.Equal(got, found) {
			t.Errorf("%q", got)
		}
	})
}

func TestSearchInAuthsStyle(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.want(200, "POST", "/things", `{"name":"one two three","size":12345,"note":"100%"}`)
		w.want(200, "POST", "/things", `{"name":"three two one"}`)
		for query, want := range map[string]int{
			"one+three": 1, "three+one": 1, "two": 2, "tWÓ": 2, "234": 1, "100%25": 1, "%25": 1, "_": 0, "one%25three": 0, "+": 2,
		} {
			if got := names(w.want(200, "GET", "/things?search="+strings.ReplaceAll(query, "Ó", "%C3%93"), "")); len(got) != want {
				t.Errorf("search %s: %q", query, got)
			}
		}
	})
}

// A few matches of a search are looked up by their keys; with many, the search runs again. The pages are the same.
func TestSearchOfFewAndOfMany(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const few = 5000
		err := w.db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
			for n := range few {
				if _, err := tx.Exec(ctx, `INSERT INTO thing (uuid, tenant_uuid, name) VALUES ($1, $2, $3)`, uuid.NewString(), w.tenant, fmt.Sprintf("Thing %04d", n)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		check := func(query string, filtered float64, want ...string) {
			t.Helper()
			if l := w.want(200, "GET", "/things?"+query, ""); !slices.Equal(names(l), want) || l["filtered"] != filtered {
				t.Errorf("%s: %q of %v, want %q of %v", query, names(l), l["filtered"], want, filtered)
			}
		}
		for _, more := range []float64{0, 1} {
			check("search=thing&order=name&limit=2", few+more, "Thing 0000", "Thing 0001")
			check("search=thing&order=name&limit=9&offset=4998", few+more, []string{"Thing 4998", "Thing 4999", "Thing 5000"}[:2+int(more)]...)
			check("search=THING&order=name&direction=desc&limit=1&offset=4999", few+more, fmt.Sprintf("Thing 000%v", more))
			check("search=thing&limit=1&offset=5001", few+more)
			check("search=g+499&order=name&direction=desc&limit=2&offset=1", 15, "Thing 4998", "Thing 4997")
			check("search=g+499&name=Thing+4990&limit=2", 1, "Thing 4990")
			check("search=nothing&limit=2", 0)
			if more == 0 {
				w.want(200, "POST", "/things", `{"name":"Thing 5000"}`)
			}
		}
	})
}

func TestFilterByManyUUIDs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var uuids []string
		for n := range 3 {
			uuids = append(uuids, w.want(200, "POST", "/things", fmt.Sprintf(`{"name":"%d"}`, n))["uuid"].(string))
		}
		for query, want := range map[string]int{
			uuids[0]: 1, uuids[0] + "," + uuids[2]: 2, uuids[0] + ",nonsense,," + uuids[0]: 1, "nonsense,": 0, "": 0, "1' OR '1'='1": 0,
		} {
			r := strings.NewReplacer(" ", "%20", "'", "%27").Replace(query)
			if l := w.want(200, "GET", "/things?uuid="+r, ""); len(names(l)) != want {
				t.Errorf("uuid=%s: %q", query, names(l))
			}
		}
	})
}

// A list without a limit is loaded in parts: a statement takes a limited number of arguments.
func TestLongLists(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const many = 2500
		err := w.db.InTx(t.Context(), func(ctx context.Context, tx store.Conn) error {
			for n := range many {
				if _, err := tx.Exec(ctx, `INSERT INTO thing (uuid, tenant_uuid, name) VALUES ($1, $2, $3)`, uuid.NewString(), w.tenant, fmt.Sprint(n)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		w.loads = nil
		if l := w.want(200, "GET", "/things", ""); len(names(l)) != many || l["total"] != float64(many) {
			t.Errorf("%d items, total %v", len(names(l)), l["total"])
		}
		if !slices.Equal(w.loads, []int{1000, 1000, 500}) {
			t.Errorf("loads of %v", w.loads)
		}
		if l := w.want(200, "GET", "/things?limit=5000", ""); len(names(l)) != rest.MaxLimit || l["total"] != float64(many) {
			t.Errorf("%d items, total %v", len(names(l)), l["total"])
		}
	})
}

// SQL of a list that reads a table which nobody declares would find objects by what a caller is denied to read: the start ends.
func TestEveryTableThatListsReadIsDeclared(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for sql, known := range map[string]bool{
			"SELECT p.name FROM {part} p WHERE p.thing_uuid = thing.uuid":                 true,
			"SELECT p.name FROM {part} AS p JOIN {pair} b ON b.one = p.thing_uuid":        true,
			"SELECT p.name FROM {+part} p":                                                true,
			"SELECT p.name FROM {part} p JOIN {stranger} s ON s.uuid = p.thing_uuid":      false,
			"SELECT p.name FROM {part} p JOIN stranger s ON s.uuid = p.thing_uuid":        false,
			"SELECT p.name FROM part p":                                                   false,
			"SELECT name FROM {part} WHERE thing_uuid IS NULL":                            false,
			"SELECT name FROM {part} p, pair WHERE one = thing_uuid":                      false,
			"SELECT name FROM (SELECT p.thing_uuid AS name FROM {part} p) AS inner":       true,
			"SELECT p.name FROM {part} p WHERE p.thing_uuid IN (SELECT one from pair)":    false,
			"SELECT o.name FROM {thing} o WHERE o.uuid = thing.uuid AND thing.name = 'x'": true,
			"SELECT o.name FROM stranger.thing o":                                         false,
		} {
			refused := func() (refused any) {
				defer func() { refused = recover() }()
				e := crud.New(crud.Base{Service: "test", DB: w.db})
				things := w.things
				things.Virtual = map[string]string{"more": sql}
				crud.Collect(e, things)
				crud.Link[Thing, Thing]{Table: "pair", LeftColumn: "one", RightColumn: "other"}.On(e)
				e.Reads(crud.Source{Table: "part", Refers: map[string]string{"thing_uuid": "things"}})
				e.Operations()
				return nil
			}()
			if (refused == nil) != known {
				t.Errorf("%s: %v", sql, refused)
			}
		}
	})
}
