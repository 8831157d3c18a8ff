package crudtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
)

// awkward are texts that a careless search, order or statement takes for something else.
var awkward = []string{"Éléonore", "100%", "a_b", `back\slash`, "axb", "O'Brien", "plain", "STRASSE", "two  words", "10", "9", "ÆON", "aeon"}

// texts are the fields that may have any text of one line, first those that a list can be ordered by.
func (x *trial) texts() []string {
	if !x.can("create") {
		return nil
	}
	var out []string
	special := x.values()
	for _, p := range x.writable() {
		if _, ok := special[p.Name]; ok || p.Schema.Type != "string" || x.refers(p.Name) {
			continue
		}
		if !slices.ContainsFunc(awkward, func(text string) bool { return len(p.Schema.Validate("", text)) > 0 }) {
			out = append(out, p.Name)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int {
		return strings.Compare(fmt.Sprint(!slices.Contains(x.k.List.Order, a)), fmt.Sprint(!slices.Contains(x.k.List.Order, b)))
	})
	return out
}

// searched is a field with any text in which a search looks, or "". An object with the text is made in b, or for a moment where nothing is b's.
func (x *trial) searched() string {
	in := x.b
	if x.k.Scope != crud.PerTenant {
		in = x.a
	}
	for _, name := range x.texts() {
		word := fmt.Sprintf("needle%dneedle", x.next())
		o := x.make(in, Object{name: word})
		found := x.count(in.Get(x.all()+"?search="+word).List()) == 1
		if in == x.a {
			x.a.Do(http.MethodDelete, x.at(o), nil).Want(http.StatusNoContent)
		}
		if found {
			return name
		}
		if slices.Contains(x.k.Search, name) {
			x.Errorf("a search does not look in %s", name)
		}
	}
	return ""
}

func (x *trial) pages() {
	for range 7 {
		x.make(x.a, nil)
	}
	all := x.a.Get(x.all()).List()
	n := len(all.Items)
	for _, page := range []struct {
		query    string
		from, to int
	}{
		{"limit=3", 0, 3},
		{"limit=3&offset=3", 3, 6},
		{"limit=3&offset=6", 6, 9},
		{fmt.Sprintf("limit=3&offset=%d", n-1), n - 1, n},
		{fmt.Sprintf("limit=3&offset=%d", n), n, n},
		{"limit=3&offset=7000", n, n},
		{"limit=7", 0, 7},
		{"offset=5", 5, n},
		{"offset=0", 0, n},
		{"limit=1000000000", 0, n},
		{"limit=9223372036854775807&offset=2", 2, n},
		{"offset=9223372036854775807", n, n},
		{"recurse=False", 0, n},
		{"order=", 0, n},
		{"Limit=1&no_such=2&password=x", 0, n},
	} {
		got := x.a.Get(x.all() + "?" + page.query).List()
		if got.Total != n || !reflect.DeepEqual(got.Items, all.Items[min(page.from, n):min(page.to, n)]) {
			x.Errorf("%s: total %d, %v", page.query, got.Total, got.Column(x.k.Keys[0]))
		}
	}
}

func (x *trial) order() {
	texts := x.texts()
	for n, text := range awkward[:7] {
		more := Object{}
		if len(texts) > 0 {
			more[texts[0]] = text
			if second := texts[len(texts)-1]; n%3 == 0 && second != texts[0] { // the others have none, if they may
				more[second] = text
			}
		}
		x.make(x.a, more)
	}
	for _, column := range x.k.List.Order {
		for _, direction := range []string{"asc", "desc"} {
			query := x.all() + "?order=" + column + "&direction=" + direction
			all := x.a.Get(query).List()
			n := all.Total
			if len(all.Items) != n || x.can("create") && n != 7+len(x.before[x.a.Tenant]) {
				x.Fatalf("%s: %d of %d", query, len(all.Items), n)
			}
			var paged []Object
			for offset := 0; offset < n; offset += 4 {
				paged = append(paged, x.a.Get(fmt.Sprintf("%s&limit=4&offset=%d", query, offset)).List().Items...)
			}
			if !reflect.DeepEqual(paged, all.Items) {
				x.Errorf("%s: its pages are not the list", query)
			}
			if _, there := all.Items[0][column]; there {
				x.ordered(query, all.Items, column, direction == "desc")
			}
		}
	}
}

// ordered compares with Go's idea of the order: text folded, numbers as numbers, null last, and then the key.
func (x *trial) ordered(query string, items []Object, column string, desc bool) {
	x.Helper()
	direction := 1
	if desc {
		direction = -1
	}
	compare := func(a, b Object) int {
		switch v, w := a[column], b[column]; {
		case v == nil && w == nil:
		case v == nil:
			return 1
		case w == nil:
			return -1
		default:
			if n := compareValues(v, w); n != 0 {
				return n * direction
			}
		}
		return compareValues(a[x.k.Keys[0]], b[x.k.Keys[0]]) * direction
	}
	if !slices.IsSortedFunc(items, compare) {
		x.Errorf("%s: %v", query, resttest.List{Items: items}.Column(column))
	}
}

func compareValues(v, w any) int {
	if a, ok := v.(json.Number); ok {
		m, _ := a.Int64()
		n, _ := w.(json.Number).Int64()
		return int(m - n)
	}
	if at, err := time.Parse(time.RFC3339, fmt.Sprint(v)); err == nil {
		if other, err := time.Parse(time.RFC3339, fmt.Sprint(w)); err == nil {
			return at.Compare(other)
		}
	}
	return strings.Compare(store.Fold(fmt.Sprint(v)), store.Fold(fmt.Sprint(w)))
}

func (x *trial) search() {
	if !x.k.Searches {
		return
	}
	for _, term := range []string{strings.Repeat("x", 201), "%01", "%00", "%FF"} {
		x.a.Get(x.all() + "?search=" + term).Want(http.StatusBadRequest)
	}
	o := x.make(x.a, nil)
	for _, name := range x.k.Search { // what an object has in a searched column finds it
		if value, ok := o[name].(string); ok && value != "" {
			if l := x.a.Get(x.all() + "?search=" + url.QueryEscape(value)).List(); !slices.Contains(l.Column(x.k.Keys[0]), o.Text(x.k.Keys[0])) {
				x.Errorf("search %s: %v", value, l.Items)
			}
		}
	}
	name := x.searched()
	if name == "" {
		return
	}
	for _, text := range awkward {
		x.make(x.a, Object{name: text})
	}
	for term, want := range map[string][]string{
		"eleon": {"Éléonore"}, "ÉLÉO": {"Éléonore"}, "e\u0301le": {"Éléonore"}, "%": {"100%"}, "%%": nil, "_": {"a_b"}, `\`: {`back\slash`},
		"a_b": {"a_b"}, `\%`: nil, "o'b": {"O'Brien"}, "' or 1=1--": nil, "straße": {"STRASSE"}, "needleneedle": nil, "two  wo": {"two  words"},
		strings.Repeat("x", 200): nil, strings.Repeat("é", 200): nil,
	} {
		got := x.a.Get(x.all() + "?search=" + url.QueryEscape(term)).List()
		names := slices.Sorted(slices.Values(got.Column(name)))
		if !slices.Equal(names, want) || x.count(got) != len(want) {
			x.Errorf("search %q: %d, %q, want %q", term, x.count(got), names, want)
		}
	}
	past := x.a.Get(x.all() + "?search=eleon&limit=5&offset=50").List()
	if x.count(past) != 1 || len(past.Items) != 0 {
		x.Errorf("past the end: %d, %d items", x.count(past), len(past.Items))
	}
	if l := x.a.Get(x.all() + "?search=").List(); l.Total != len(awkward)+1+len(x.before[x.a.Tenant]) {
		x.Errorf("an empty term: total %d", l.Total)
	}
}

// count is how many objects the filters and the search leave.
func (x *trial) count(l resttest.List) int {
	x.Helper()
	if !x.Described.Style.Filtered {
		return l.Total
	}
	if l.Filtered < 0 {
		x.Fatal("no filtered in a list")
	}
	return l.Filtered
}

func (x *trial) filters() {
	more := Object{}
	for _, name := range x.texts() {
		more[name] = "O'Hara é%"
	}
	o := x.make(x.a, more)
	x.make(x.a, nil)
	for _, column := range x.k.List.Filters {
		if x.k.List.Formats[column] != "" {
			x.noMoments(column)
			continue
		}
		value, there := o[column]
		if !there || value == nil {
			if got := x.a.Get(x.all() + "?" + column + "=nobody%20has%20this").List(); x.count(got) != 0 || len(got.Items) != 0 {
				x.Errorf("filter %s: %d", column, x.count(got))
			}
			continue
		}
		got := x.a.Get(x.all() + "?" + column + "=" + url.QueryEscape(fmt.Sprint(value))).List()
		if !slices.Contains(got.Column(x.k.Keys[0]), o.Text(x.k.Keys[0])) || x.count(got) != len(got.Items) {
			x.Errorf("filter %s=%v does not find the object", column, value)
		}
		for _, item := range got.Items {
			if item[column] != value {
				x.Errorf("filter %s=%v found %v", column, value, item[column])
			}
		}
		if _, whole := value.(json.Number); whole {
			x.noNumbers(column)
		}
	}
}

// noMoments: a filter by a moment refuses what is none.
func (x *trial) noMoments(column string) {
	x.Helper()
	for _, value := range []string{"nobody%20has%20this", "2026-01-31", "2026-01-31T12:00:00", ""} {
		if got := x.a.Get(x.all() + "?" + column + "=" + value); got.Status != http.StatusBadRequest {
			x.Errorf("filter %s=%s: %d", column, value, got.Status)
		}
	}
}

// noNumbers: a number's filter by what is none finds nothing.
func (x *trial) noNumbers(column string) {
	x.Helper()
	for _, value := range []string{"abc", "1.5", "99999999999999999999", "", "0%20"} {
		if got := x.a.Get(x.all() + "?" + column + "=" + value).List(); x.count(got) != 0 {
			x.Errorf("%s=%s: %d", column, value, x.count(got))
		}
	}
}

// recurses reports whether a list shows what the tenants below have when it is asked to.
func (x *trial) recurses() bool { return x.k.List.Recurse }

// badQueries: a bad query is 400, and the message names the parameter.
func (x *trial) badQueries() {
	o, all := x.make(x.a, nil), x.a.Get(x.all()).List()
	x.holds(x.a, all, o)
	total := all.Total
	for _, query := range []string{
		"order=name;drop+table", "order=password_hash", "order=password", "order=(select+pg_sleep(9))", "order=search_text", "order=tenant_uuid",
		"order=ID", "order=id,name", "order=" + url.QueryEscape(`"id"`), "order=1", "order=id--", "order=id&order=id",
		"direction=ASC,--", "direction=ASC", "direction=", "direction=up", "direction=asc&direction=desc",
		"limit=0", "limit=-1", "limit=NaN", "limit=1.5", "limit=%2B5", "limit=0x10", "limit=", "limit=5&limit=6", "limit=9223372036854775808",
		"limit=1e9", "limit=%205", "limit=%D9%A5", "limit=null", "limit=true",
		"offset=-1", "offset=9223372036854775808", "offset=", "offset=abc", "offset=1&offset=2",
		"recurse=maybe", "recurse=", "recurse=true&recurse=false", "recurse=2",
		"search=a&search=b", "search=%00", "search=%FF%FE", "search=" + strings.Repeat("x", 1000), "search=%ZZ",
	} {
		name, _, _ := strings.Cut(query, "=")
		if name == "recurse" && !x.recurses() {
			x.a.Get(x.all() + "?" + query).Want(http.StatusOK) // it is no parameter of the list
			continue
		}
		got := x.a.Get(x.all() + "?" + query).Want(http.StatusBadRequest)
		if !strings.Contains(got.Body, name) && !strings.Contains(got.Body, "query") {
			x.Errorf("%s: the message does not say which: %s", query, got.Body)
		}
		if strings.Contains(got.Body, "sleep") || strings.Contains(got.Body, "xxxx") {
			x.Errorf("%s: the message repeats it: %s", query, got.Body)
		}
	}
	for _, query := range []string{"password_hash=$argon%25", "NAME=x", "tenant_uuid=x", "search_text=%25", "x=1&x=2"} {
		if name, _, _ := strings.Cut(query, "="); slices.Contains(x.k.List.Filters, name) {
			continue
		}
		if l := x.a.Get(x.all() + "?" + query).List(); l.Total != total {
			x.Errorf("%s: total %d, want %d", query, l.Total, total)
		}
	}
}
