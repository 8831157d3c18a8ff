package resttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/principal"
)

// Client sends requests to a service and reads the responses. Its methods fail the test if a response cannot be read.
type Client struct {
	T testing.TB
	// Base is what every path begins with: "/api/confd/1.1", or "https://127.0.0.1:9497/api/confd/1.1".
	Base string
	// Principal is the caller, for a service without a gate.
	Principal *principal.Principal
	// Edits change every request, before those of the request itself.
	Edits []Edit

	send func(r *http.Request) (status int, header http.Header, body string, err error)
}

// Edit changes a request before it is sent.
type Edit func(r *http.Request)

// To returns a client of a handler in this process.
func To(tb testing.TB, handler http.Handler, base string, p *principal.Principal) *Client {
	tb.Helper()
	return &Client{T: tb, Base: base, Principal: p, send: func(r *http.Request) (int, http.Header, string, error) {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, r)
		return recorder.Code, recorder.Header(), recorder.Body.String(), nil
	}}
}

// At returns a client of a server elsewhere, which client can reach, and whose certificate it trusts.
func At(tb testing.TB, client *http.Client, base string) *Client {
	tb.Helper()
	return &Client{T: tb, Base: base, send: func(r *http.Request) (int, http.Header, string, error) {
		r.RequestURI = ""
		response, err := client.Do(r)
		if err != nil {
			return 0, nil, "", err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return response.StatusCode, response.Header, string(body), err
	}}
}

// With returns the same client with further edits of every request.
func (c *Client) With(edits ...Edit) *Client {
	other := *c
	other.Edits = append(append([]Edit{}, c.Edits...), edits...)
	return &other
}

// Header adds a header; an empty value removes it.
func Header(name, value string) Edit {
	return func(r *http.Request) {
		if value == "" {
			r.Header.Del(name)
			return
		}
		r.Header.Add(name, value)
	}
}

// Query sets the query to one parameter.
func Query(name, value string) Edit {
	return func(r *http.Request) {
		r.URL.RawQuery = url.Values{name: {value}}.Encode()
		r.RequestURI = r.URL.Path + "?" + r.URL.RawQuery
	}
}

// Do sends a request. A body that is a string is sent as it is, anything else as JSON.
func (c *Client) Do(method, path string, body any, edits ...Edit) Answer {
	c.T.Helper()
	var reader io.Reader = http.NoBody
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			c.T.Fatal(err)
		}
		reader = bytes.NewReader(text)
	}
	r := httptest.NewRequestWithContext(principal.NewContext(c.T.Context(), c.Principal), method, c.Base+path, reader)
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, edit := range append(append([]Edit{}, c.Edits...), edits...) {
		edit(r)
	}
	status, header, text, err := c.send(r)
	if err != nil {
		c.T.Fatal(err)
	}
	return Answer{c.T, method + " " + path, status, header, text}
}

// Get reads a path.
func (c *Client) Get(path string, edits ...Edit) Answer {
	c.T.Helper()
	return c.Do(http.MethodGet, path, nil, edits...)
}

// Create creates an object and returns it. Some services return 200, others 201.
func (c *Client) Create(path string, body any, edits ...Edit) Object {
	c.T.Helper()
	a := c.Do(http.MethodPost, path, body, edits...)
	if a.Status != http.StatusOK && a.Status != http.StatusCreated {
		c.T.Fatalf("POST %s: status %d: %s", path, a.Status, a.Body)
	}
	return a.Object()
}

// Answer is a service's response.
type Answer struct {
	T      testing.TB
	Asked  string // the method and the path
	Status int
	Header http.Header
	Body   string
}

// Want fails the test if the status is another.
func (a Answer) Want(status int) Answer {
	a.T.Helper()
	if a.Status != status {
		a.T.Fatalf("%s: status %d, want %d: %s", a.Asked, a.Status, status, a.Body)
	}
	return a
}

// Says fails the test if no message of an error contains the text. An error is a list of messages, or an object that has one.
func (a Answer) Says(text string) Answer {
	a.T.Helper()
	var messages []string
	var object struct{ Message *string }
	switch {
	case json.Unmarshal([]byte(a.Body), &messages) == nil:
	case json.Unmarshal([]byte(a.Body), &object) == nil && object.Message != nil:
		messages = []string{*object.Message}
	default:
		a.T.Fatalf("%s: the body has no message: %s", a.Asked, a.Body)
	}
	if !strings.Contains(strings.Join(messages, "\n"), text) {
		a.T.Fatalf("%s: %q is not in %q", a.Asked, text, messages)
	}
	return a
}

// Empty fails the test if there is a body.
func (a Answer) Empty() Answer {
	a.T.Helper()
	if a.Body != "" {
		a.T.Fatalf("%s: the body is not empty: %s", a.Asked, a.Body)
	}
	return a
}

// Object returns the body, an object. Numbers are json.Number.
func (a Answer) Object() Object {
	a.T.Helper()
	var o Object
	Decode(a.T, a.Body, &o)
	return o
}

// List returns the body, a list.
func (a Answer) List() List {
	a.T.Helper()
	var l List
	Decode(a.T, a.Want(http.StatusOK).Body, &l)
	if l.Total == nil || l.Items == nil {
		a.T.Fatalf("%s: a list has total and items: %s", a.Asked, a.Body)
	}
	return l
}

// Decode reads JSON. Numbers are json.Number.
func Decode(tb testing.TB, text string, into any) {
	tb.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		tb.Fatalf("body %q: %v", text, err)
	}
}

// Object is a JSON object.
type Object map[string]any

// Text returns an attribute as text; null is "<null>".
func (o Object) Text(name string) string {
	if o[name] == nil {
		return "<null>"
	}
	return fmt.Sprint(o[name])
}

// Same reports whether an attribute has a value, as JSON encodes it.
func (o Object) Same(name string, value any) bool {
	return reflect.DeepEqual(Normal(o[name]), Normal(value))
}

// Normal returns a value as it is after encoding to JSON and decoding.
func Normal(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		return err
	}
	return out
}

// List is the body of a list.
type List struct {
	Total    *int     `json:"total"`
	Filtered *int     `json:"filtered"`
	Items    []Object `json:"items"`
}

// Column returns an attribute of all the items, as text.
func (l List) Column(name string) []string {
	out := make([]string, len(l.Items))
	for i, item := range l.Items {
		out[i] = item.Text(name)
	}
	return out
}
