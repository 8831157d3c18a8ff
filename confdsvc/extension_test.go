package confdsvc_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	samples["extensions"] = crudtest.Resource{
		Minimal: func(c *crudtest.Client, n int) object {
			return object{"exten": fmt.Sprintf("%05d", n), "context": contextOf(c)}
		},
		Values: func(n int) object { return object{"exten": fmt.Sprint(90000 + n)} },
		Except: []string{"commented"}, // the opposite of enabled
		Follow: map[string][]string{"enabled": {"commented"}},
	}
}

// A search finds numbers by their digits, and all those of a context by its name and type, as it is written.
func TestNumbersAreFoundByTheirContext(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		in := withRanges(c, "internal", object{"user_ranges": []object{{"start": "1000000000", "end": "1999999999"}}})
		did := withRanges(c, "incall", object{"incall_ranges": []object{{"start": "1000000000", "end": "1999999999"}}})
		// Numbers of ten digits: the name of a context is random, and has any two digits now and then.
		for _, x := range []object{{"exten": "1001001001", "context": in}, {"exten": "1001001002", "context": in}, {"exten": "1203120312", "context": did}} {
			c.Create("/extensions", x)
		}
		for term, want := range map[string]int{
			"1": 3, "0010010": 2, "12031203": 1, "internal": 2, "INCALL": 1, in: 2, did[:len(did)-1]: 1,
			"outcall": 0, "in ternal": 0, "100100 001": 0, "%": 0, "_001001001": 0,
		} {
			if got := c.Get("/extensions?search=" + url.QueryEscape(term)).List(); got.Total != want || len(got.Items) != want {
				t.Errorf("%q finds %d numbers, want %d", term, got.Total, want)
			}
		}
		denied := w.holding(t, "confd.#", "!confd.contexts."+fmt.Sprint(c.Get("/contexts?name=" + did).List().Items[0]["id"])+".read")
		for who, nothing := range map[string]string{
			"another tenant":                   w.as(t, "b").Get("/extensions?search=internal").Body,
			"who may not know of it, by type,": denied.Get("/extensions?search=incall").Body,
			"who may not know of it, by name,": denied.Get("/extensions?search=" + did).Body,
		} {
			if nothing != `{"items":[],"total":0}` {
				t.Errorf("%s finds %s", who, nothing)
			}
		}
	})
}
