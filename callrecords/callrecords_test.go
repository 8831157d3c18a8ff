package callrecords_test

import (
	"encoding/csv"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/asterisk/cdr"
	"github.com/ringfence/ringfence/callrecords"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The definition is the contract: a change of it must show in a review.
func TestGoldenDefinition(t *testing.T) {
	service, err := callrecords.New(callrecords.Options{})
	if err != nil {
		t.Fatal(err)
	}
	resttest.CheckDefinition(t, service.REST().Definition(), *update)
}

// Nobody reads calls of another tenant, nor of others without the access for them.
func TestWhoReadsWhat(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.keep(w.call("a", "ada", "bob"), w.call("b", "301", "302"), w.call("c", "cem", "102"), w.call("a", "0301234567", "bob"))
		mine := w.as("ada", "a", "call-logd.users.me.cdr.read")
		lists(t, mine, "/users/me/cdr", "101>102")
		lists(t, mine, "/users/"+w.users["ada"].UUID+"/cdr", "101>102")
		for _, path := range []string{"/cdr", "/cdr/1", "/users/" + w.users["bob"].UUID + "/cdr", "/retention"} {
			mine.Get(path).Want(http.StatusForbidden)
		}
		all := w.as("", "a", "call-logd.#")
		lists(t, all, "/cdr", "0301234567>102", "101>102")
		lists(t, all, "/cdr?recurse=true", "0301234567>102", "301>302", "101>102")
		lists(t, all.With(resttest.In(w.tenants["b"])), "/cdr", "301>302")
		lists(t, all, "/users/"+w.users["bob"].UUID+"/cdr", "0301234567>102", "101>102")
		lists(t, all, "/cdr?user_uuid="+w.users["ada"].UUID+","+w.users["cem"].UUID, "101>102")
		lists(t, all, "/users/"+w.users["cem"].UUID+"/cdr")
		lists(t, w.as("cem", "a", "call-logd.users.me.cdr.read"), "/users/me/cdr") // who was in another tenant
		ids := w.as("", "master", "#").Get("/cdr?recurse=true&search=302").List().Column("id")
		if len(ids) != 1 {
			t.Fatalf("one call to 302, and not %q", ids)
		}
		all.Get("/cdr/" + ids[0]).Want(http.StatusOK)
		w.as("", "b", "#").Get("/cdr/" + ids[0]).Want(http.StatusOK)
		w.as("", "c", "#").Get("/cdr/" + ids[0]).Want(http.StatusNotFound)
		all.Get("/cdr/0" + ids[0]).Want(http.StatusNotFound)
		all.Get("/cdr", resttest.In(w.tenants["c"])).Want(http.StatusUnauthorized)
		resttest.At(t, w.gate.Client(), w.gate.URL+prefix).Get("/cdr").Want(http.StatusUnauthorized)
	})
}

// Who is denied a user, or a record, sees none of the user's calls: not in a list, a search, a file or a number of calls.
func TestDenials(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.keep(w.call("a", "ada", "bob"), w.call("a", "201", "202"), w.call("a", "201", "bob"))
		bob := w.users["bob"].UUID
		id := w.as("", "a", "#").Get("/cdr?search=lovelace").List().Column("id")[0]
		for _, denial := range []string{"confd.users." + bob + ".#", "auth.users." + bob + ".read", "call-logd.users." + bob + ".cdr.read", "confd.users.#", "call-logd.users.#"} {
			c := w.as("", "a", "#", "!"+denial)
			lists(t, c, "/cdr", "201>202")
			lists(t, c, "/cdr?search=20", "201>202")
			lists(t, c, "/cdr?user_uuid="+bob)
			c.Get("/cdr/" + id).Want(http.StatusNotFound)
			if page := c.Get("/cdr"); page.JSON("total") != 1.0 || page.JSON("filtered") != 1.0 {
				t.Errorf("!%s tells of others: %s", denial, page.Body)
			}
			if file := c.Get("/cdr", resttest.Header("Accept", ""), resttest.Header("Accept", "text/csv")).Body; strings.Count(file, "\n") != 2 {
				t.Errorf("!%s: the file is %s", denial, file)
			}
		}
		lists(t, w.as("", "a", "#", "!call-logd.cdr."+id+".read"), "/cdr", "201>102", "201>202")
	})
}

func TestFilters(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.keep(
			w.call("a", "ada", "bob"),
			w.call("a", "+49301234567", "ada", func(r *cdr.Record) { r.Direction, r.Name, r.Billed = "inbound", "Zoë 100%_\\", 99 }),
			w.call("a", "bob", "0891234", func(r *cdr.Record) { r.Direction, r.Disposition = "outbound", "BUSY" }),
			w.call("a", "201", "bob", func(r *cdr.Record) { r.Disposition, r.Billed = "NO ANSWER", 0 }),
		)
		c := w.as("", "a", "#")
		const (
			first, second, third, fourth = "101>102", "+49301234567>101", "102>0891234", "201>102"
		)
		at := func(minutes int) string {
			return url.QueryEscape(base().Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339))
		}
		for query, want := range map[string][]string{
			"":                        {fourth, third, second, first},
			"direction=asc":           {first, second, third, fourth},
			"order=duration":          {second, third, first, fourth},
			"call_direction=outbound": {third},
			"call_status=unanswered":  {fourth},
			"call_status=busy&call_direction=internal": {},
			"search=zoe":                           {second},
			"search=" + url.QueryEscape("100%_\\"): {second},
			"search=" + url.QueryEscape("1_1"):     {},
			"search=ueller":                        {},
			"search=muller":                        {fourth, third, first},
			"search=%25":                           {second},
			"number=102":                           {fourth, third, first},
			"number=_234":                          {third},
			"number=089_":                          {third},
			"number=_1234_":                        {third, second},
			"number=" + url.QueryEscape("%"):       {},
			"number=02":                            {},
			"from=" + at(3):                        {fourth, third},
			"until=" + at(3):                       {second, first},
			"from=" + at(2) + "&until=" + at(3):    {second},
			"limit=1&offset=1":                     {third},
			"limit=2&offset=3":                     {first},
			"offset=90000":                         {},
			"search=bob&order=duration&limit=1":    {third},
			"user_uuid=" + w.users["ada"].UUID + "&user_uuid=" + w.users["bob"].UUID: {fourth, third, second, first},
			"user_uuid=" + w.users["ada"].UUID + "&order=duration&direction=asc":     {first, second},
		} {
			lists(t, c, "/cdr?"+query, want...)
		}
		page := c.Get("/cdr?search=muller&limit=1")
		if page.JSON("total") != 4.0 || page.JSON("filtered") != 3.0 {
			t.Errorf("a page of a search tells %v of %v", page.JSON("filtered"), page.JSON("total"))
		}
		if page := c.Get("/cdr?search=muller&offset=7"); page.JSON("filtered") != 3.0 {
			t.Errorf("beyond the end of a search: %s", page.Body)
		}
		one := c.Get("/cdr?number=0891234").List().Items[0]
		for name, want := range map[string]any{"call_status": "busy", "answer": nil, "source_name": "Bob Müller", "source_user_uuid": w.users["bob"].UUID, "destination_user_uuid": nil} {
			if one[name] != want {
				t.Errorf("%s is %v, and not %v", name, one[name], want)
			}
		}
	})
}

// What cannot be read, or would take too long, is a 400 that says why; nothing is an error of ours.
func TestHostileQueries(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.keep(w.call("a", "ada", "bob"))
		c := w.as("", "a", "#")
		for _, query := range []string{
			"from=yesterday", "from=2026-13-01T00:00:00", "from=0000-01-01T00:00:00Z", "until=99999-01-01T00:00:00Z", "until=", "limit=0", "limit=-1", "offset=-1", "offset=100001",
			"offset=99999999999999999999999", "order=id;drop", "order=search_text", "direction=up", "from_id=x", "from_id=-1", "from_id=99999999999999999999", "call_direction=up",
			"user_uuid=me", "user_uuid=' OR 1=1", "user_uuid=", "number=", "number=_", "number=__", "number=1_2", "search=" + strings.Repeat("x", 201), "search=%00", "number=%ff",
			"search=a&search=b", "call_status=dead", "recurse=maybe",
		} {
			path := "/cdr?" + strings.ReplaceAll(query, " ", "%20")
			if a := c.Get(path, resttest.In(w.tenants["a"])); a.Status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", query, a.Status, a.Body)
			}
		}
		for _, path := range []string{"/cdr/0", "/cdr/x", "/cdr/-1", "/cdr/99999999999999999999", "/users/x/cdr"} {
			c.Get(path).Want(http.StatusNotFound)
		}
		for _, search := range []string{`"`, `' OR 1=1 --`, `* OR "a`, `\`, "日本語", "a\tb"} {
			if a := c.Get("/cdr?search=" + url.QueryEscape(search)); a.Status >= 500 || len(a.Body) > 0 && strings.Contains(a.Body, "Lovelace") {
				t.Errorf("a search for %q: %d %s", search, a.Status, a.Body)
			}
		}
		for _, body := range []string{`{"cdr_days": 0}`, `{"cdr_days": 99999}`, `{"cdr_days": "1"}`, `{"hidden_digits": -1}`, `{"hidden_digits": null}`, `[]`, `{"hidden_digits": 21}`} {
			c.Do(http.MethodPut, "/retention", body).Want(http.StatusBadRequest)
		}
	})
}

// What somebody is called in a file of calls is no formula for a spreadsheet.
func TestFile(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for range 3 {
			w.keep(w.call("a", "+4930", "bob", func(r *cdr.Record) { r.Name = `=HYPERLINK("http://x";"y")` }))
		}
		c := w.as("", "a", "#").With(resttest.Header("Accept", ""), resttest.Header("Accept", "text/csv; charset=utf-8"))
		a := c.Get("/cdr?search=hyper").Want(http.StatusOK)
		rows, err := csv.NewReader(strings.NewReader(a.Body)).ReadAll()
		if err != nil || len(rows) != 4 || rows[0][0] != "id" || a.Header.Get("Content-Type") != "text/csv; charset=utf-8" {
			t.Fatalf("%v, %v: %s", err, a.Header, a.Body)
		}
		if name, number := rows[1][slices.Index(rows[0], "source_name")], rows[1][slices.Index(rows[0], "source_extension")]; name[0] != '\'' || number != "'+4930" {
			t.Errorf("a spreadsheet is given %s, %s", name, number)
		}
		if a := c.Get("/cdr?limit=2"); strings.Count(a.Body, "\n") != 3 {
			t.Errorf("two calls are %s", a.Body)
		}
	})
}

// A record is stored once, by whichever way it comes and however often, and none is lost when the file is rotated or not yet whole.
func TestRecordsComeOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		file := filepath.Join(t.TempDir(), cdr.File)
		from := callrecords.Settings{Asterisk: "main", File: file}
		read := func() {
			t.Helper()
			if err := w.service.ReadFile(t.Context(), from); err != nil {
				t.Fatal(err)
			}
		}
		c := w.as("", "a", "#")
		total := func(want float64) {
			t.Helper()
			if got := c.Get("/cdr").JSON("total"); got != want {
				t.Fatalf("there are %v calls, and not %v", got, want)
			}
		}
		read() // there is none yet
		write := func(name, text string) {
			t.Helper()
			f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err == nil {
				_, err = f.WriteString(text)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		line := func(n int) string {
			at := float64(time.Now().Add(-time.Hour).Unix()) + 0.25
			return fmt.Sprintf(`"17.%d","%d","17.1","PJSIP/ada-00000001","","%s","%s","","internal","102","101","""A ""b"""" <101>","%f","","%f","0","NO ANSWER"`+"\n",
				n, n, w.tenants["a"], w.users["ada"].UUID, at, at+1)
		}
		write(file, line(1))
		read()
		total(1)
		read()
		record, err := cdr.Parse(strings.TrimSuffix(line(2), "\n"))
		if err != nil || record.Name != `A "b"` {
			t.Fatalf("%v, %+v", err, record)
		}
		w.keep(record) // it is heard, and is in the file
		half := line(3)
		write(file, line(2)+"junk\n"+half[:40])
		read()
		total(2)
		if w.unreadable != 1 {
			t.Errorf("%d lines are unreadable, and not one", w.unreadable)
		}
		write(file, half[40:]+line(4))
		if err := os.Rename(file, file+".1"); err != nil {
			t.Fatal(err)
		}
		write(file, line(5))
		read()
		total(5)
		if err := os.Remove(file + ".1"); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, 0); err != nil { // copytruncate
			t.Fatal(err)
		}
		write(file, line(6))
		read()
		total(6)
		stranger := w.call(uuid.NewString(), "1", "2") // of no tenant
		w.keep(stranger)
		total(6)
		w.service.Hear(func(string) string { return "" })
		if w.unreadable != 2 {
			t.Errorf("an event without a record is not counted")
		}
	})
}

// A tenant says how long its records stay, and how many digits of numbers outside nobody ever learns.
func TestRetention(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		c := w.as("", "a", "#")
		if a := c.Get("/retention").Want(http.StatusOK); a.JSON("cdr_days") != nil || a.JSON("default_cdr_days") != 365.0 || a.JSON("hidden_digits") != 0.0 {
			t.Errorf("the defaults are %s", a.Body)
		}
		old := func(days int) func(r *cdr.Record) {
			return func(r *cdr.Record) {
				r.Start = time.Now().AddDate(0, 0, -days)
				r.Answer, r.End = r.Start, r.Start
			}
		}
		ancient, week := w.call("a", "1", "2", old(400)), w.call("a", "3", "4", old(7))
		w.keep(ancient, week, w.call("c", "5", "6", old(7)), w.call("a", "7", "8"))
		lists(t, c, "/cdr", "7>8", "3>4")
		w.as("", "a", "call-logd.#.read").Do(http.MethodPut, "/retention", `{"cdr_days": 5}`).Want(http.StatusForbidden)
		c.Do(http.MethodPut, "/retention", `{"cdr_days": 5, "hidden_digits": 3}`).Want(http.StatusNoContent)
		c.Do(http.MethodPut, "/retention", `{}`).Want(http.StatusNoContent)
		if n, err := store.Get[int](t.Context(), w.db, `SELECT count(*) FROM audit WHERE action = 'update_retention' AND tenant_uuid = $1`, w.tenants["a"]); err != nil || n != 2 {
			t.Errorf("the audit has %d changes, %v", n, err)
		}
		sweep := func() {
			t.Helper()
			if err := w.service.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		sweep()
		lists(t, c, "/cdr", "7>8")
		w.keep(week) // which the file has still
		lists(t, c, "/cdr", "7>8")
		lists(t, w.as("", "c", "#"), "/cdr", "5>6")
		w.keep(
			w.call("a", "+4930123456", "bob", func(r *cdr.Record) { r.Direction, r.Name = "inbound", "+4930123456" }),
			w.call("a", "ada", "0891234", func(r *cdr.Record) { r.Direction = "outbound" }),
			w.call("a", "ada", "11", func(r *cdr.Record) { r.Direction = "outbound" }),
		)
		lists(t, c, "/cdr", "101>XX", "101>0891XXX", "+4930123XXX>102", "7>8")
		if all := storetest.Contents(t, w.db)(); strings.Contains(all, "123456") || strings.Contains(all, "0891234") {
			t.Error("hidden digits are stored")
		}
		if _, err := w.db.Exec(t.Context(), `DELETE FROM auth_tenant WHERE uuid = $1`, w.tenants["c"]); err != nil {
			t.Fatal(err)
		}
		sweep()
		if n, err := store.Get[int](t.Context(), w.db, `SELECT count(*) FROM call_record WHERE tenant_uuid = $1`, w.tenants["c"]); err != nil || n != 0 {
			t.Errorf("%d calls of a tenant that is gone, %v", n, err)
		}
	})
}
