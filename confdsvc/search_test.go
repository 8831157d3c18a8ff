package confdsvc_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A search is expensive. It runs once, and its matches are looked up by their keys.
func TestSearchIsMadeOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		var searches []string
		w := newWorld(t, storetest.Watch(db, func(sql string, _ []any) {
			if strings.Contains(sql, "LIKE") {
				searches = append(searches, sql)
			}
		}))
		c := w.as(t, "a")
		for _, name := range []string{"Martin", "Martina", "Alice"} {
			c.Create("/users", object{"firstname": name})
		}
		for query, want := range map[string]int{"search=martin&limit=10": 2, "search=martin&order=firstname&direction=desc&limit=1&offset=1": 1, "search=zz&limit=10": 0} {
			searches = nil
			if got := c.Get("/users?" + query).List(); len(got.Items) != want || len(searches) != 1 {
				t.Errorf("%s: %d users, with %d searches: %q", query, len(got.Items), len(searches), searches)
			}
		}
	})
}

// A search looks for a number where the term may be one, and only there.
func TestSearchForNumbers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		looked := 0
		w := newWorld(t, storetest.Watch(db, func(sql string, _ []any) {
			if strings.Contains(sql, "confd_extension x") && strings.Contains(sql, "LIKE") {
				looked++
			}
		}))
		c := newCompany(w.as(t, "a"))
		c.Create("/users", c.user("1234"))
		for query, want := range map[string]struct{ users, looked int }{
			"123": {1, 1}, "12%2034": {0, 1}, "1%2B2": {0, 1}, "N": {1, 1}, "_X": {0, 1}, "123a": {0, 0}, "al": {1, 0}, "%C3%A9": {1, 0},
		} {
			looked = 0
			if got := c.Get("/users?search=" + query + "&limit=10").List(); len(got.Items) != want.users || looked != want.looked {
				t.Errorf("%s: %d users, looked for numbers %d times, want %v", query, len(got.Items), looked, want)
			}
		}
	})
}

// SQLite finds the users of a number from the number, and those of a name from an index, without reading all users, or the lines of all.
func TestUsersAreFoundFromTheirNumber(t *testing.T) {
	db := storetest.SQLite(t)
	var plans []string
	w := newWorld(t, storetest.Watch(db, func(sql string, args []any) {
		if !strings.Contains(sql, "confd_extension x") && !strings.Contains(sql, "confd_user_number") && !strings.Contains(sql, "LIKE") {
			return
		}
		plan, err := store.Select[struct {
			ID, Parent, Notused int
			Detail              string
		}](t.Context(), db, "EXPLAIN QUERY PLAN "+sql, args...)
		if err != nil {
			t.Error(err)
		}
		for _, step := range plan {
			plans = append(plans, step.Detail)
		}
	}))
	w.as(t, "a").Get("/users?exten=1000").Want(200)
	w.as(t, "a").Get("/users?exten=1000,1001").Want(200)
	if len(plans) == 0 || slices.ContainsFunc(plans, func(step string) bool { return strings.HasPrefix(step, "SCAN ") }) {
		t.Errorf("it reads whole tables: %q", plans)
	}
	plans = nil
	for _, term := range []string{"martin", "100", "mar%20tin", "%22%22%22"} {
		w.as(t, "a").Get("/users?limit=10&search=" + term).Want(200)
	}
	if len(plans) == 0 || slices.ContainsFunc(plans, func(step string) bool {
		return strings.HasPrefix(step, "SCAN confd_") && !strings.Contains(step, "VIRTUAL TABLE") || strings.Contains(step, "(tenant_uuid=?)")
	}) {
		t.Errorf("it reads whole tables:\n%s", strings.Join(plans, "\n"))
	}
}

// Both databases find the same, whatever the term is and however the rows came to be what they are.
func TestSearchFindsTheSame(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		long := strings.Repeat("abcdefghij", 12)
		ids := map[string]string{}
		for _, name := range []string{"Søren Ångström", `a"b%c_d\e`, "Ελένη", "中文名字", "Straße", long + "x", "old", "gone"} {
			ids[name] = c.Create("/users", object{"firstname": name}).Text("id")
		}
		c.Do("PUT", "/users/"+ids["old"], object{"firstname": "fresh", "lastname": "Zweig"}).Want(204)
		c.Do("PUT", "/users/"+ids["Straße"], object{"language": "de_DE"}).Want(204) // not searched
		c.Do("DELETE", "/users/"+ids["gone"], nil).Want(204)
		for term, want := range map[string]string{
			"soren": "Søren Ångström", "ÅNGSTROM": "Søren Ångström", "ren ang": "Søren Ångström", "sør str": "",
			`"b%`: `a"b%c_d\e`, `_d\`: `a"b%c_d\e`, "%c_": `a"b%c_d\e`, "b_c": "", `"b%c*`: "", "ΕΛΈΝΗ": "Ελένη", "文名字": "中文名字", "文名": "中文名字", "名字中": "",
			"strasse": "Straße", long: long + "x", long + "y": "", "old": "fresh" /* its caller ID */, "fresh zwe": "fresh", "gone": "", "AND": "", "fre OR": "", "eig": "fresh", "ei": "fresh",
		} {
			got := strings.Join(c.Get("/users?limit=10&search="+url.QueryEscape(term)).List().Column("firstname"), " ")
			if got != want {
				t.Errorf("%s: %q, want %q", term, got, want)
			}
			if got := strings.Join(c.Get("/users?search="+url.QueryEscape(term)).List().Column("firstname"), " "); got != want {
				t.Errorf("all of %s: %q, want %q", term, got, want)
			}
		}
	})
}

// An extension has no characters that a search does not look for.
func TestExtenCharacters(t *testing.T) {
	for r := range rune(0x3000) {
		for _, text := range []string{string(r), "_" + string(r), "+" + string(r), "_+" + string(r)} {
			if folded := store.Fold(string(r)); confdsvc.IsExten(text) && !strings.Contains(confdsvc.ExtenCharacters, folded) {
				t.Errorf("%q is missing", folded)
			}
		}
	}
}
