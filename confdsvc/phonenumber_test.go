package confdsvc_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/crud/crudtest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func init() {
	samples["phone-numbers"] = crudtest.Resource{
		Minimal: func(_ *crudtest.Client, n int) object { return object{"number": fmt.Sprintf("+1555%06d", n)} },
	}
}

func TestMainPhoneNumber(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		const main = "/phone-numbers/main"
		first, second := c.Create("/phone-numbers", object{"number": "+1"}), c.Create("/phone-numbers", object{"number": "2"})
		w.as(t, "b").Create("/phone-numbers", object{"number": "+1"}) // each tenant may have it
		c.Do(http.MethodPost, "/phone-numbers", object{"number": "+1"}).Want(http.StatusBadRequest).Says("already exists ('number': '+1')")
		c.Get(main).Want(http.StatusNotFound)
		choose := func(o object) answer { return c.Do(http.MethodPut, main, object{"phone_number_uuid": o["uuid"]}) }
		if got := choose(first).Want(http.StatusNoContent).Header.Get("Location"); got != prefix+"/phone-numbers/"+first.Text("uuid") {
			t.Errorf("Location %s", got)
		}
		choose(second).Want(http.StatusNoContent)
		choose(second).Want(http.StatusNoContent)
		read := c.Get(main).Want(http.StatusOK)
		if o := read.Object(); o["uuid"] != second["uuid"] || o["main"] != true || o["shared"] != true || read.Body != c.Get("/phone-numbers/"+second.Text("uuid")).Body {
			t.Errorf("the main number is %v", o)
		}
		if o := c.Get("/phone-numbers/" + first.Text("uuid")).Object(); o["main"] != false || o["shared"] != true {
			t.Errorf("the number before is %v", o)
		}
		for query, want := range map[string]int{"main=true": 1, "main=False": 1, "shared=true": 2, "number=2": 1, "search=2": 1} {
			if l := c.Get("/phone-numbers?" + query).List(); l.Total != want {
				t.Errorf("%s: %d, want %d", query, l.Total, want)
			}
		}
		c.Do(http.MethodPut, "/phone-numbers/"+second.Text("uuid"), object{"shared": false}).Want(http.StatusBadRequest).Says("shared")
		c.Do(http.MethodPut, "/phone-numbers/"+second.Text("uuid"), object{"main": false, "number": "22"}).Want(http.StatusNoContent)

		// A number that does not exist, another tenant's, or one of a tenant below is not the tenant's own.
		for _, of := range []string{"b", "a1"} {
			foreign := w.as(t, of).Create("/phone-numbers", object{"number": "99"})
			choose(foreign).Want(http.StatusBadRequest).Says("Input Error - field 'phone_number_uuid': PhoneNumber was not found ('phone_number_uuid': '" + foreign.Text("uuid") + "')")
			w.as(t, of).Get(main).Want(http.StatusNotFound)
		}
		for _, bad := range []any{
			object{"phone_number_uuid": "00000000-0000-4000-8000-000000000000"},
			object{"phone_number_uuid": nil},
			object{"phone_number_uuid": "x"},
			object{},
			"[]", "null", "",
		} {
			c.Do(http.MethodPut, main, bad).Want(http.StatusBadRequest)
		}
		// A caller who is denied the number is denied it as the main number too.
		set, err := acl.Compile([]string{"confd.#", "!confd.phone-numbers." + second.Text("uuid") + ".*"})
		if err != nil {
			t.Fatal(err)
		}
		narrow := w.as(t, "a")
		narrow.Principal.ACL = set
		narrow.Get(main).Want(http.StatusForbidden)
		narrow.Do(http.MethodPut, main, object{"phone_number_uuid": first["uuid"]}).Want(http.StatusForbidden)
		if o := c.Get(main).Object(); o["uuid"] != second["uuid"] || o["number"] != "22" {
			t.Errorf("after what was refused it is %v", o)
		}
		c.Do(http.MethodDelete, "/phone-numbers/"+second.Text("uuid"), nil).Want(http.StatusNoContent)
		c.Get(main).Want(http.StatusNotFound)
	})
}

// Two hundred numbers of a range are one statement that looks for them, and one that makes them, in a transaction of their own: others write
// between two. Each number is in the audit.
func TestLongPhoneNumberRange(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var made, looked int
		w := newWorld(t, storetest.Watch(db, func(sql string, _ []any) {
			if strings.HasPrefix(sql, "INSERT INTO confd_phone_number") {
				made++
			} else if strings.Contains(sql, "FROM confd_phone_number") {
				looked++
			}
		}))
		c := w.as(t, "a")
		o := c.Do(http.MethodPost, "/phone-numbers/ranges", object{"start_number": "+10000", "end_number": "+11499"}).Want(http.StatusCreated).Object()
		if n := len(o["created"].([]any)); n != 1500 || made != 8 || looked != 8 {
			t.Errorf("%d numbers, made by %d statements after %d", n, made, looked)
		}
		if l := c.Get("/phone-numbers?limit=1&order=number&direction=desc&search=149").List(); l.Total != 12 || l.Items[0]["number"] != "+11499" || l.Items[0]["shared"] != false {
			t.Errorf("the last is one of %d: %v", l.Total, l.Items)
		}
		if n, err := store.Get[int](t.Context(), db, "SELECT count(*) FROM audit WHERE resource = 'phone-numbers' AND after LIKE '%+11%'"); err != nil || n != 500 {
			t.Errorf("the audit has %d of the last 500: %v", n, err)
		}
	})
}

func TestPhoneNumberRanges(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		c := w.as(t, "a")
		there := c.Create("/phone-numbers", object{"number": "+0099", "caller_id_name": "stays"})
		create := func(start, end any) answer {
			return c.Do(http.MethodPost, "/phone-numbers/ranges", object{"start_number": start, "end_number": end})
		}
		for n, created := range []int{2, 0} { // the second time all exist
			o := create("+0098", "0100").Want(http.StatusCreated).Object()
			made, links := o["created"].([]any), o["links"].([]any)
			if len(made) != created || len(links) != 3 || fmt.Sprint(o["total"]) != "3" {
				t.Errorf("time %d: %v", n, o)
			}
			if second := fmt.Sprint(links[1]); second != "map[href:"+prefix+"/phone-numbers/"+there.Text("uuid")+" rel:phone_numbers]" {
				t.Errorf("the one that was there is %s", second)
			}
		}
		if got := strings.Join(c.Get("/phone-numbers").List().Column("number"), " "); got != "+0098 +0099 +0100" {
			t.Errorf("numbers %s", got)
		}
		create("7", "7").Want(http.StatusCreated)
		create("99", "101").Want(http.StatusCreated)
		long := strings.Repeat("9", 127)
		create(long, "1"+strings.Repeat("0", 127)).Want(http.StatusCreated)
		total := c.Get("/phone-numbers").List().Total
		for _, bad := range [][2]any{
			{"100", "099"},
			{"101", "100"},
			{"1", "10001"},
			{"1", long},
			{"0099", "101"},
			{"", "1"},
			{"1", "x"},
			{"1", "1\n"},
			{"++1", "2"},
			{1, 2},
			{"1", nil},
			{"1", strings.Repeat("9", 129)},
		} {
			create(bad[0], bad[1]).Want(http.StatusBadRequest)
		}
		create("1", "10001").Says("range size must be between 1 and 10000")
		create("101", "100").Says("start phone number must precede end phone number")
		if now := c.Get("/phone-numbers").List().Total; now != total {
			t.Errorf("%d numbers, and %d before what was refused", now, total)
		}
	})
}
