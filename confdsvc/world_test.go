package confdsvc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

const prefix = "/api/confd/1.1"

// world is the service on a database with these tenants: master, a and b below it, a1 below a.
type world struct {
	svc     *rest.Service
	db      store.DB
	tenants map[string]string
}

func newWorld(tb testing.TB, db store.DB) *world {
	tb.Helper()
	svc, err := confdsvc.New(confdsvc.Options{DB: db})
	if err != nil {
		tb.Fatal(err)
	}
	w := &world{svc: svc, db: db, tenants: map[string]string{}}
	for _, tenant := range [][2]string{{"master", "master"}, {"a", "master"}, {"b", "master"}, {"a1", "a"}} {
		w.tenants[tenant[0]] = uuid.NewString()
		if _, err := db.Exec(tb.Context(), `INSERT INTO auth_tenant (uuid, parent_uuid, name, slug) VALUES ($1, $2, $3, $3)`,
			w.tenants[tenant[0]], w.tenants[tenant[1]], tenant[0]); err != nil {
			tb.Fatal(err)
		}
	}
	return w
}

// client is somebody of a tenant who may do everything that confd has.
type client struct {
	t testing.TB
	w *world
	p *principal.Principal
}

func (w *world) as(tb testing.TB, tenant string) client {
	tb.Helper()
	set, err := acl.Compile([]string{"confd.#"})
	if err != nil {
		tb.Fatal(err)
	}
	return client{tb, w, &principal.Principal{
		UserUUID: uuid.NewString(), ACL: set,
		Affiliation: &principal.Affiliation{TenantUUID: w.tenants[tenant], Purpose: "external_api"},
	}}
}

type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   string
}

// edit changes a request before it is sent.
type edit func(r *http.Request)

// header adds a header; an empty value removes it.
func header(name, value string) edit {
	return func(r *http.Request) {
		if value == "" {
			r.Header.Del(name)
			return
		}
		r.Header.Add(name, value)
	}
}

// do sends a request. A body that is a string is sent as it is, anything else as JSON.
func (c client) do(method, path string, body any, edits ...edit) answer {
	c.t.Helper()
	var reader io.Reader = http.NoBody
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			c.t.Fatal(err)
		}
		reader = bytes.NewReader(text)
	}
	r := httptest.NewRequestWithContext(principal.NewContext(c.t.Context(), c.p), method, prefix+path, reader)
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, e := range edits {
		e(r)
	}
	recorder := httptest.NewRecorder()
	c.w.svc.ServeHTTP(recorder, r)
	return answer{c.t, recorder.Code, recorder.Header(), recorder.Body.String()}
}

func (c client) get(path string, edits ...edit) answer {
	c.t.Helper()
	return c.do(http.MethodGet, path, nil, edits...)
}

// create makes an object and answers it.
func (c client) create(path string, body any, edits ...edit) object {
	c.t.Helper()
	return c.do(http.MethodPost, path, body, edits...).want(http.StatusCreated).object()
}

// want fails the test when the status is another.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// says fails the test when no message of an error holds the text.
func (a answer) says(text string) answer {
	a.t.Helper()
	var messages []string
	if err := json.Unmarshal([]byte(a.body), &messages); err != nil {
		a.t.Fatalf("the body is not a list of messages: %s", a.body)
	}
	if !strings.Contains(strings.Join(messages, "\n"), text) {
		a.t.Fatalf("%q is not in %q", text, messages)
	}
	return a
}

// empty fails the test when there is a body.
func (a answer) empty() answer {
	a.t.Helper()
	if a.body != "" {
		a.t.Fatalf("the body is not empty: %s", a.body)
	}
	return a
}

type object map[string]any

func (a answer) object() object {
	a.t.Helper()
	var o object
	decode(a.t, a.body, &o)
	return o
}

type list struct {
	Total *int     `json:"total"`
	Items []object `json:"items"`
}

func (a answer) list() list {
	a.t.Helper()
	var l list
	decode(a.t, a.want(http.StatusOK).body, &l)
	if l.Total == nil || l.Items == nil {
		a.t.Fatalf("a list has total and items: %s", a.body)
	}
	return l
}

func decode(tb testing.TB, text string, into any) {
	tb.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		tb.Fatalf("body %q: %v", text, err)
	}
}

// column is a field of all the items, as text; null is "<null>".
func (l list) column(name string) []string {
	out := make([]string, len(l.Items))
	for i, item := range l.Items {
		out[i] = item.text(name)
	}
	return out
}

func (o object) text(name string) string {
	if o[name] == nil {
		return "<null>"
	}
	return fmt.Sprint(o[name])
}

// query adds a parameter to the target.
func query(name, value string) edit {
	return func(r *http.Request) {
		q := url.Values{name: {value}}
		r.URL.RawQuery = q.Encode()
		r.RequestURI = r.URL.Path + "?" + r.URL.RawQuery
	}
}
