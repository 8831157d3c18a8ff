package resttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// Answer is a service's response.
type Answer struct {
	T      testing.TB
	Asked  string // the method and the path
	Status int
	Header http.Header
	Body   string
}

// For returns the same answer; its checks fail a subtest instead.
func (a Answer) For(tb testing.TB) Answer {
	tb.Helper()
	a.T = tb
	return a
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

// JSON returns the value at a path such as "data.token" in the body, as encoding/json reads it.
func (a Answer) JSON(path string) any {
	a.T.Helper()
	var v any
	if err := json.Unmarshal([]byte(a.Body), &v); err != nil {
		a.T.Fatalf("%s: body %.500q: %v", a.Asked, a.Body, err)
	}
	for name := range strings.SplitSeq(path, ".") {
		object, _ := v.(map[string]any)
		var ok bool
		if v, ok = object[name]; !ok {
			a.T.Fatalf("%s: no %s in %.500s", a.Asked, path, a.Body)
		}
	}
	return v
}

// Text returns the string at a path in the body.
func (a Answer) Text(path string) string {
	a.T.Helper()
	text, ok := a.JSON(path).(string)
	if !ok {
		a.T.Fatalf("%s: %s is no string in %.500s", a.Asked, path, a.Body)
	}
	return text
}

// Refused fails the test unless the response is a refusal with this status and error_id, in the form of both kinds of client.
func (a Answer) Refused(status int, id string) Answer {
	a.T.Helper()
	a.Want(status)
	if got := a.Text("error_id"); got != id {
		a.T.Fatalf("%s: error_id %q, want %q: %s", a.Asked, got, id, a.Body)
	}
	reason, _ := a.JSON("reason").([]any)
	if a.JSON("status_code") != float64(status) || len(reason) != 1 || reason[0] != a.Text("message") || a.JSON("timestamp") == 0.0 {
		a.T.Fatalf("%s: the refusal is not of the two forms that clients read: %s", a.Asked, a.Body)
	}
	if _, ok := a.JSON("details").(map[string]any); !ok {
		a.T.Fatalf("%s: details are no object: %s", a.Asked, a.Body)
	}
	return a
}

// Lacks fails the test unless the response refuses because this access is missing.
func (a Answer) Lacks(access string) {
	a.T.Helper()
	if got := a.Refused(http.StatusForbidden, "forbidden").Text("details.required_access"); got != access {
		a.T.Fatalf("%s: required_access %q, want %q: %s", a.Asked, got, access, a.Body)
	}
}

// Object returns the body, an object. Numbers are json.Number.
func (a Answer) Object() Object {
	a.T.Helper()
	var o Object
	Decode(a.T, a.Body, &o)
	return o
}

// List returns the body, a list. It fails the test if total or items are missing.
func (a Answer) List() List {
	a.T.Helper()
	l := List{Total: -1, Filtered: -1}
	Decode(a.T, a.Want(http.StatusOK).Body, &l)
	if l.Total < 0 || l.Items == nil {
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

// List is the body of a list. Filtered is -1 if the body does not have it.
type List struct {
	Total    int      `json:"total"`
	Filtered int      `json:"filtered"`
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
