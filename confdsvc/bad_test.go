package confdsvc_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A bad query is 400, and says which parameter.
func TestBadQueries(t *testing.T) {
	each(t, func(t *testing.T, w *world, k collection) {
		c := w.as(t, "a")
		c.create(k.path, k.minimal(1))
		for _, query := range []string{
			"order=name;drop+table", "order=password_hash", "order=password", "order=(select+pg_sleep(9))", "order=search_text", "order=tenant_uuid",
			"order=ID", "order=id,name", "order=" + url.QueryEscape(`"id"`), "order=1", "order=id--", "order=id&order=id",
			"direction=ASC,--", "direction=ASC", "direction=", "direction=up", "direction=asc&direction=desc",
			"limit=0", "limit=-1", "limit=NaN", "limit=1.5", "limit=%2B5", "limit=0x10", "limit=", "limit=5&limit=6", "limit=9223372036854775808",
			"limit=1e9", "limit=%205", "limit=%D9%A5", "limit=null", "limit=true",
			"offset=-1", "offset=9223372036854775808", "offset=", "offset=abc", "offset=1&offset=2",
			"recurse=maybe", "recurse=", "recurse=true&recurse=false", "recurse=2",
			"search=a&search=b", "search=%00", "search=%FF%FE", "search=" + strings.Repeat("x", 1000),
			"search=%ZZ",
		} {
			got := c.get(k.path + "?" + query).want(http.StatusBadRequest).says("Input Error - ")
			if name, _, _ := strings.Cut(query, "="); !strings.Contains(got.body, name) && !strings.Contains(got.body, "query") {
				t.Errorf("%s: the message does not say which: %s", query, got.body)
			}
			if strings.Contains(got.body, "sleep") || strings.Contains(got.body, "xxxx") {
				t.Errorf("%s: the message repeats it: %s", query, got.body)
			}
		}
		for _, query := range []string{"password_hash=$argon%25", "Name=x", "tenant_uuid=x", "search_text=%25", "x=1&x=2"} {
			if l := c.get(k.path + "?" + query).list(); *l.Total != 1 {
				t.Errorf("%s: total %d", query, *l.Total)
			}
		}
	})
}

// A body that two readers could read in two ways is 400.
func TestBadBodies(t *testing.T) {
	each(t, func(t *testing.T, w *world, k collection) {
		c := w.as(t, "a")
		path := k.one(c.create(k.path, k.minimal(1)), "id")
		before := c.get(path).body
		field, required := k.text, k.required
		for name, body := range map[string]string{
			"empty": "", "blank": " \n", "null": "null", "list": "[]", "text": `"x"`, "number": "1", "true": "true",
			"truncated": `{"` + field + `":`, "two values": `{} {}`, "trailing garbage": `{}x`, "byte order mark": "\ufeff{}",
			"not JSON": `{'a':1}`, "comment": `{/* */}`, "trailing comma": `{"` + field + `":"a",}`, "form": field + "=x",
			"duplicate": `{"` + field + `":"a","` + field + `":"b"}`, "two spellings": `{"` + field + `":"a","` + strings.ToUpper(field) + `":"b"}`,
			"another spelling": `{"` + strings.ToUpper(field) + `":"b"}`,
			"lone surrogate":   `{"` + field + `":"\ud800"}`, "invalid UTF-8": "{\"" + field + "\":\"\xff\"}", "NUL": `{"` + field + `":"a\u0000b"}`,
			"escape character": `{"` + field + `":"a\u001bb"}`, "deep": strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000),
			"number for text": `{"` + field + `":1}`, "list for text": `{"` + field + `":["a"]}`, "object for text": `{"` + field + `":{"a":1}}`,
			"too long": `{"` + field + `":"` + strings.Repeat("x", 5000) + `"}`, "required null": `{"` + required + `":null}`,
			"text for boolean": `{"enabled":"true"}`, "number for boolean": `{"enabled":1}`,
		} {
			got := c.do(http.MethodPut, path, body)
			if body == "" { // no body at all has no media type either
				got = c.do(http.MethodPut, path, nil)
			}
			if got.status != http.StatusBadRequest {
				t.Errorf("PUT %s: %d %s", name, got.status, got.body)
				continue
			}
			got.says("")
			if got := c.do(http.MethodPost, k.path, body); got.status != http.StatusBadRequest {
				t.Errorf("POST %s: %d %s", name, got.status, got.body)
			}
		}
		if after := c.get(path).body; after != before {
			t.Errorf("a refused update changed it from %s to %s", before, after)
		}
		if l := c.get(k.path).list(); *l.Total != 1 {
			t.Errorf("a refused create made something: total %d", *l.Total)
		}
		c.do(http.MethodPost, k.path, object{}).want(http.StatusBadRequest).says(required + ": Is required")
	})
}

func TestBadIntegers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		c := newWorld(t, db).as(t, "a")
		path := "/users/" + c.create("/users", object{"firstname": "Al"}).text("id")
		for _, value := range []string{"1e400", "1e1", "9007199254740993", "9223372036854775808", "1.0", "-0", "NaN", `"17"`, "true", "[]", "-1", "10801", "01", "+1", "0x1"} {
			got := c.do(http.MethodPut, path, `{"ring_seconds":`+value+`}`).want(http.StatusBadRequest)
			if value[0] == '"' || value[0] >= '1' && value[0] <= '9' {
				got.says("ring_seconds")
			}
		}
		c.do(http.MethodPut, path, `{"ring_seconds":0,"simultaneous_calls":20}`).want(http.StatusNoContent)
		c.do(http.MethodPut, path, `{"ring_seconds":null}`).want(http.StatusNoContent)
		if o := c.get(path).object(); o["ring_seconds"] != nil || o.text("simultaneous_calls") != "20" {
			t.Errorf("%v", o)
		}
	})
}

// All that is wrong is said, in the schema's order.
func TestEveryWrongFieldIsNamed(t *testing.T) {
	c := newWorld(t, storetest.SQLite(t)).as(t, "a")
	got := c.do(http.MethodPost, "/users", `{"enabled":1,"email":"x","firstname":null,"ring_seconds":"1"}`).want(http.StatusBadRequest)
	var messages []string
	decode(t, got.body, &messages)
	want := []string{"firstname", "email", "ring_seconds", "enabled"}
	if len(messages) != len(want) {
		t.Fatalf("%q", messages)
	}
	for i, name := range want {
		if !strings.HasPrefix(messages[i], "Input Error - "+name+": ") {
			t.Errorf("message %d is %q", i, messages[i])
		}
	}
}

// 406 and 415 have an empty body.
func TestNegotiation(t *testing.T) {
	each(t, func(t *testing.T, w *world, k collection) {
		c := w.as(t, "a")
		for _, accept := range []string{"", "text/html", "application/vnd.api+json", "application/json;q=0", "garbage"} {
			for method, path := range map[string]string{http.MethodGet: k.path, http.MethodHead: k.path + "/1", http.MethodDelete: k.path + "/1"} {
				c.do(method, path, nil, header("Accept", ""), header("Accept", accept)).want(http.StatusNotAcceptable).empty()
			}
		}
		for _, accept := range []string{"*/*", "application/*", "APPLICATION/JSON", "text/html, application/json;q=0.1"} {
			c.get(k.path, header("Accept", ""), header("Accept", accept)).want(http.StatusOK)
		}
		for _, kind := range []string{"", "text/plain", "application/vnd.api+json", "application/json; charset=latin1", "application/x-www-form-urlencoded", "json"} {
			c.do(http.MethodPost, k.path, k.minimal(1), header("Content-Type", ""), header("Content-Type", kind)).want(http.StatusUnsupportedMediaType).empty()
		}
		c.do(http.MethodPost, k.path, k.minimal(1), header("Content-Type", "text/plain")).want(http.StatusUnsupportedMediaType).empty()
		for n, kind := range []string{"application/json; charset=utf-8", "APPLICATION/JSON"} {
			c.do(http.MethodPost, k.path, k.minimal(n+1), header("Content-Type", ""), header("Content-Type", kind)).want(http.StatusCreated)
		}
		got := c.do(http.MethodPatch, k.path, object{}).want(http.StatusMethodNotAllowed)
		if got.header.Get("Allow") != "GET, HEAD, POST" {
			t.Errorf("Allow: %s", got.header.Get("Allow"))
		}
	})
}
