package confdsvc_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// collection is what the suite must know of a collection beyond its definition.
type collection struct {
	path string
	// keys are the fields that a path may name an object by.
	keys []string
	// minimal is the smallest body of the nth object; every one makes another object.
	minimal func(n int) object
	// text is a text field that the search looks in and a list can be ordered by; nullable is one that may be null;
	// whole is an integer that a list can be filtered by, if there is one.
	text, nullable, whole string
	// required is a field that may not be null.
	required string
	// readOnly are fields that a body may hold and that change nothing.
	readOnly object
}

var collections = []collection{
	{
		path: "/users", keys: []string{"id", "uuid"}, minimal: func(n int) object { return object{"firstname": fmt.Sprintf("First%d", n)} },
		text: "description", nullable: "lastname", whole: "subscription_type", required: "firstname",
		readOnly: object{"id": 99, "uuid": "00000000-0000-4000-8000-000000000000", "created_at": "2000-01-01T00:00:00Z", "country": "FR", "links": []any{}},
	},
	{
		path: "/voicemails", keys: []string{"id"},
		minimal: func(n int) object {
			return object{"name": fmt.Sprintf("Name%d", n), "number": fmt.Sprintf("%d", 1000+n), "context": "default"}
		},
		text: "name", nullable: "email", required: "name",
		readOnly: object{"id": 99, "users": []any{object{"uuid": "x"}}, "links": nil},
	},
}

// each runs a test for every collection on both databases, each time in a new world.
func each(t *testing.T, test func(t *testing.T, w *world, k collection)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w := newWorld(t, db)
		for _, k := range collections {
			t.Run(strings.Trim(k.path, "/"), func(t *testing.T) { test(t, w, k) })
		}
	})
}

func (k collection) with(n int, more object) object {
	body := k.minimal(n)
	maps.Copy(body, more)
	return body
}

func (k collection) one(o object, key string) string { return k.path + "/" + o.text(key) }

// operation is the service's own description of an operation.
func (w *world) operation(t *testing.T, method, path string) *rest.Operation {
	t.Helper()
	for i := range w.svc.Operations {
		if op := &w.svc.Operations[i]; op.Method == method && op.Path == path {
			return op
		}
	}
	t.Fatalf("no operation %s %s", method, path)
	return nil
}

func orders(op *rest.Operation) []string {
	for _, p := range op.Query {
		if p.Name == "order" {
			return p.Schema.Enum
		}
	}
	return nil
}

func TestEveryCollectionIsInTheSuite(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	for _, op := range w.svc.Operations {
		if op.Method == http.MethodPost && strings.Count(op.Path, "/") == 1 &&
			!slices.ContainsFunc(collections, func(k collection) bool { return k.path == op.Path }) {
			t.Errorf("%s is a collection that the suite does not try", op.Path)
		}
	}
}

func TestCreateAndRead(t *testing.T) {
	each(t, func(t *testing.T, w *world, k collection) {
		c := w.as(t, "a")
		made := c.do(http.MethodPost, k.path, k.with(1, k.readOnly)).want(http.StatusCreated)
		o := made.object()
		for name := range k.readOnly {
			if reflect.DeepEqual(o[name], k.readOnly[name]) {
				t.Errorf("the body set %s", name)
			}
		}
		if got, want := made.header.Get("Location"), prefix+k.one(o, k.keys[0]); got != want {
			t.Errorf("Location %q, want %q", got, want)
		}
		if got, want := fmt.Sprint(o["links"]), fmt.Sprintf("[map[href:%s rel:%s]]", made.header.Get("Location"), k.path[1:]); got != want {
			t.Errorf("links %s, want %s", got, want)
		}
		for _, key := range k.keys {
			read := c.get(k.one(o, key)).want(http.StatusOK)
			if read.body != made.body {
				t.Errorf("created %s\nread    %s", made.body, read.body)
			}
			if read.header.Get("ETag") == "" || read.header.Get("ETag") != made.header.Get("ETag") {
				t.Errorf("ETag %q when created, %q when read", made.header.Get("ETag"), read.header.Get("ETag"))
			}
			if head := c.do(http.MethodHead, k.one(o, key), nil).want(http.StatusOK).empty(); head.header.Get("ETag") != read.header.Get("ETag") {
				t.Error("HEAD has another ETag than GET")
			}
		}
		for _, p := range w.operation(t, http.MethodPost, k.path).Body.Properties {
			if _, there := o[p.Name]; there == p.WriteOnly {
				t.Errorf("attribute %s: in the object %t", p.Name, there)
			}
		}
		listed := c.get(k.path).list()
		if *listed.Total != 1 || !reflect.DeepEqual(listed.Items, []object{o}) {
			t.Errorf("the list is %v", listed)
		}
	})
}

func TestKeysHaveOneSpelling(t *testing.T) {
	each(t, func(t *testing.T, w *world, k collection) {
		c := w.as(t, "a")
		o := c.create(k.path, k.minimal(1))
		id := o.text("id")
		for _, typed := range []string{"0" + id, "+" + id, id + ".0", "-" + id, "abc", "9999999999999999999999", "999999"} {
			c.get(k.path + "/" + typed).want(http.StatusNotFound).says("was not found")
		}
		if u, ok := o["uuid"].(string); ok {
			for _, typed := range []string{"urn:uuid:" + u, strings.ReplaceAll(u, "-", "")} {
				if typed != u {
					c.get(k.path + "/" + url.PathEscape(typed)).want(http.StatusNotFound).says("was not found")
				}
			}
		}
	})
}

func TestPartialUpdate(t *testing.T) {
	each(t, func(t *testing.T, w *world, k collection) {
		c := w.as(t, "a")
		before := c.create(k.path, k.minimal(1))
		path := k.one(before, k.keys[0])
		update := func(body any) object {
			t.Helper()
			c.do(http.MethodPut, path, body).want(http.StatusNoContent).empty()
			return c.get(path).want(http.StatusOK).object()
		}
		same := func(got object, but ...string) {
			t.Helper()
			for name := range before {
				if !slices.Contains(but, name) && !reflect.DeepEqual(got[name], before[name]) {
					t.Errorf("%s became %v from %v", name, got[name], before[name])
				}
			}
		}

		same(update(object{}))
		if after := update(object{k.nullable: "x@example.org"}); after[k.nullable] != "x@example.org" {
			t.Errorf("%s is %v", k.nullable, after[k.nullable])
		} else {
			same(after, k.nullable)
		}
		same(update(object{k.nullable: nil})) // as when it was created
		same(update(k.readOnly))
		same(update(object{"tenant_uuid": w.tenants["b"], "no_such_attribute": 1}))
		same(update(before)) // what was read can be sent back
		c.do(http.MethodPut, path, object{k.required: nil}).want(http.StatusBadRequest).says(k.required + ": May not be null")
		same(c.get(path).object())
		c.do(http.MethodPut, k.path+"/999999", object{}).want(http.StatusNotFound)
	})
}

func TestDelete(t *testing.T) {
	each(t, func(t *testing.T, w *world, k collection) {
		c := w.as(t, "a")
		o, other := c.create(k.path, k.minimal(1)), c.create(k.path, k.minimal(2))
		c.do(http.MethodDelete, k.one(o, k.keys[0]), nil).want(http.StatusNoContent).empty()
		for _, method := range []string{http.MethodDelete, http.MethodGet, http.MethodHead} {
			c.do(method, k.one(o, k.keys[0]), nil).want(http.StatusNotFound)
		}
		if l := c.get(k.path).list(); len(l.Items) != 1 || !reflect.DeepEqual(l.Items[0], other) {
			t.Errorf("what is left: %v", l.Items)
		}
		c.do(http.MethodDelete, k.one(other, k.keys[0]), nil).want(http.StatusNoContent)
		again := c.create(k.path, k.minimal(3))
		if again.text("id") == other.text("id") {
			t.Errorf("the id %s was given a second time", again.text("id"))
		}
	})
}

func TestPages(t *testing.T) {
	each(t, func(t *testing.T, w *world, k collection) {
		c := w.as(t, "a")
		for n := range 7 {
			c.create(k.path, k.minimal(n))
		}
		whole := c.get(k.path + "?order=id")
		if whole.status == http.StatusBadRequest { // not every collection can be ordered by id
			whole = c.get(k.path)
		}
		all := whole.list()
		for _, page := range []struct {
			query    string
			from, to int
		}{
			{"limit=3", 0, 3},
			{"limit=3&offset=3", 3, 6},
			{"limit=3&offset=6", 6, 7},
			{"limit=3&offset=7", 7, 7},
			{"limit=3&offset=700", 7, 7},
			{"offset=5", 5, 7},
			{"offset=0", 0, 7},
			{"limit=1000000000", 0, 7},
			{"limit=9223372036854775807&offset=2", 2, 7},
			{"offset=9223372036854775807", 7, 7},
			{"recurse=False", 0, 7},
			{"Limit=1&no_such=2&password=x", 0, 7},
		} {
			got := c.get(k.path + "?" + page.query).list()
			if *got.Total != 7 || !reflect.DeepEqual(got.Items, all.Items[page.from:page.to]) {
				t.Errorf("%s: total %d, ids %v", page.query, *got.Total, got.column("id"))
			}
		}
	})
}

func TestOrder(t *testing.T) {
	each(t, func(t *testing.T, w *world, k collection) {
		c := w.as(t, "a")
		texts := []any{"zeta", "Éclair", "eclair", "alpha", "Ångström", "ÆON", "aeon", "straße", "strasse", "10", "9", "a_b", "B"}
		for n, text := range texts {
			more := object{k.text: text}
			if n%3 == 0 {
				more[k.nullable] = fmt.Sprintf("n%d@example.org", n%2*10+n)
			}
			c.create(k.path, k.with(n, more))
		}
		for _, column := range orders(w.operation(t, http.MethodGet, k.path)) {
			for _, direction := range []string{"asc", "desc"} {
				query := k.path + "?order=" + column + "&direction=" + direction
				all := c.get(query).list()
				if *all.Total != len(texts) || len(all.Items) != len(texts) {
					t.Fatalf("%s: %d of %d", query, len(all.Items), *all.Total)
				}
				var paged []object
				for offset := range len(texts) {
					paged = append(paged, c.get(fmt.Sprintf("%s&limit=1&offset=%d", query, offset)).list().Items...)
				}
				if !reflect.DeepEqual(paged, all.Items) {
					t.Errorf("%s: its pages are not the list", query)
				}
				if _, there := all.Items[0][column]; there {
					wantOrdered(t, query, all.Items, column, direction == "desc")
				}
			}
		}
		if got := c.get(k.path + "?order=").list(); !reflect.DeepEqual(got, c.get(k.path).list()) {
			t.Error("an empty order is not the default one")
		}
	})
}

// wantOrdered compares with Go's idea of the order: text folded, numbers as numbers, null last, and then the id.
func wantOrdered(t *testing.T, query string, items []object, column string, desc bool) {
	t.Helper()
	compare := func(a, b object) int {
		x, y := a[column], b[column]
		switch {
		case x == nil && y == nil:
		case x == nil:
			return 1
		case y == nil:
			return -1
		default:
			if n := compareValues(x, y); n != 0 {
				if desc {
					return -n
				}
				return n
			}
		}
		n := compareValues(a["id"], b["id"])
		if desc {
			return -n
		}
		return n
	}
	if !slices.IsSortedFunc(items, compare) {
		t.Errorf("%s: %v", query, list{Items: items}.column(column))
	}
}

func compareValues(x, y any) int {
	if a, ok := x.(json.Number); ok {
		m, _ := a.Int64()
		n, _ := y.(json.Number).Int64()
		return int(m - n)
	}
	return strings.Compare(store.Fold(fmt.Sprint(x)), store.Fold(fmt.Sprint(y)))
}

func TestSearch(t *testing.T) {
	each(t, func(t *testing.T, w *world, k collection) {
		c := w.as(t, "a")
		texts := []string{"Éléonore", "100%", "a_b", `back\slash`, "axb", "O'Brien", "plain", "STRASSE", "two  words"}
		for n, text := range texts {
			c.create(k.path, k.with(n, object{k.text: text}))
		}
		for term, want := range map[string][]string{
			"eleon": {"Éléonore"}, "ÉLÉO": {"Éléonore"}, "e\u0301le": {"Éléonore"},
			"%": {"100%"}, "%%": nil, "_": {"a_b"}, `\`: {`back\slash`}, "a_b": {"a_b"}, `\%`: nil, "o'b": {"O'Brien"},
			"' or 1=1--": nil, "straße": {"STRASSE"}, "nn": nil, "o  w": {"two  words"}, "o w": nil,
			strings.Repeat("x", 200): nil, strings.Repeat("é", 200): nil, "": texts,
		} {
			got := c.get(k.path + "?search=" + url.QueryEscape(term)).list()
			names := slices.Sorted(slices.Values(got.column(k.text)))
			if !slices.Equal(names, slices.Sorted(slices.Values(want))) || *got.Total != len(want) {
				t.Errorf("search %q: total %d, %q, want %q", term, *got.Total, names, want)
			}
		}
		past := c.get(k.path + "?search=eleon&limit=5&offset=50").list()
		if *past.Total != 1 || len(past.Items) != 0 {
			t.Errorf("past the end: total %d, %d items", *past.Total, len(past.Items))
		}
		for _, term := range []string{strings.Repeat("x", 201), "%01", "%00", "%FF"} {
			c.get(k.path + "?search=" + term).want(http.StatusBadRequest).says("Input Error - ")
		}
	})
}

func TestFilters(t *testing.T) {
	each(t, func(t *testing.T, w *world, k collection) {
		c := w.as(t, "a")
		o := c.create(k.path, k.with(1, object{k.text: "O'Hara é%"}))
		c.create(k.path, k.with(2, object{k.text: "another"}))
		op := w.operation(t, http.MethodGet, k.path)
		for _, column := range orders(op) { // what a list can be ordered by it can be filtered by
			value, there := o[column]
			if !there || value == nil {
				if got := c.get(k.path + "?" + column + "=nobody%20has%20this").list(); *got.Total != 0 || len(got.Items) != 0 {
					t.Errorf("filter %s: total %d", column, *got.Total)
				}
				continue
			}
			got := c.get(k.path + "?" + column + "=" + url.QueryEscape(fmt.Sprint(value))).list()
			if !slices.ContainsFunc(got.Items, func(item object) bool { return reflect.DeepEqual(item, o) }) || *got.Total != len(got.Items) {
				t.Errorf("filter %s=%v does not find the object", column, value)
			}
			for _, item := range got.Items {
				if item[column] != value {
					t.Errorf("filter %s=%v found %v", column, value, item[column])
				}
			}
		}
		if k.whole != "" {
			for _, value := range []string{"abc", "1.5", "99999999999999999999", "", "0%20"} {
				if got := c.get(k.path + "?" + k.whole + "=" + value).list(); *got.Total != 0 {
					t.Errorf("%s=%s: total %d", k.whole, value, *got.Total)
				}
			}
		}
	})
}
