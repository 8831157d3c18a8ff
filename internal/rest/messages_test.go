package rest_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
)

// compared has a field for each thing that may be wrong.
type compared struct {
	Name   string          `json:"name" required:"true" minLength:"1" maxLength:"128"`
	Code   *string         `json:"code" pattern:"^[0-9]{6}$" example:"123456"`
	Label  *string         `json:"label" pattern:"^[a-z]+$" example:"x"`
	Long   *string         `json:"long" maxLength:"3" example:"x"`
	Short  *string         `json:"short" minLength:"3" example:"xxx"`
	Six    *string         `json:"six" minLength:"6" maxLength:"6" example:"sixsix"`
	Mail   *string         `json:"mail" format:"email"`
	UUID   *string         `json:"uuid" format:"uuid"`
	Kind   *string         `json:"kind" enum:"internal,incall"`
	Age    *int64          `json:"age" minimum:"1" maximum:"20"`
	Many   *int64          `json:"many" minimum:"0"`
	Few    *int64          `json:"few" maximum:"9"`
	Most   *int64          `json:"most" minimum:"0" maximum:"2147483647"`
	On     bool            `json:"on"`
	Ratio  *float64        `json:"ratio"`
	Ranges []comparedRange `json:"user_ranges" maxItems:"3"`
	Pairs  [][]string      `json:"pairs" maxItems:"9" items.minItems:"2" items.maxItems:"2"`
	Inner  *comparedRange  `json:"inner"`
}

type comparedRange struct {
	Start string `json:"start" required:"true" pattern:"^[0-9]{1,16}$" example:"1"`
	End   string `json:"end" maxLength:"16" example:"1"`
}

// What existing clients compare, or look for, is there word by word.
func TestMessagesOfFields(t *testing.T) {
	s := declared(rest.Operation{Method: http.MethodPost, Path: "/x", Body: rest.SchemaOf[compared](), Handle: readBody})
	s.Errors = rest.MessageList
	if err := s.Mount(); err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string][]string{
		`{}`:                                                   {"name: ['Missing data for required field.']"},
		`{"name":null}`:                                        {"name: ['Field may not be null.']"},
		`{"name":5}`:                                           {"name: ['Not a valid string.']"},
		`{"name":""}`:                                          {"name: ['Length must be between 1 and 128.']"},
		`{"name":"a\u0000"}`:                                   {"name: ['May not hold control characters']"},
		`{"name":"a","code":"x"}`:                              {"code: ['Invalid input.']"},
		`{"name":"a","label":"X"}`:                             {"label: ['String does not match expected pattern.']"},
		`{"name":"a","long":"xxxx"}`:                           {"long: ['Longer than maximum length 3.']"},
		`{"name":"a","short":"x"}`:                             {"short: ['Shorter than minimum length 3.']"},
		`{"name":"a","six":"x"}`:                               {"six: ['Length must be 6.']"},
		`{"name":"a","mail":"x"}`:                              {"mail: ['Not a valid email address.']"},
		`{"name":"a","uuid":"x"}`:                              {"uuid: ['Not a valid UUID.']"},
		`{"name":"a","kind":"x"}`:                              {"kind: ['Must be one of: internal, incall.']"},
		`{"name":"a","age":21}`:                                {"age: ['Must be greater than or equal to 1 and less than or equal to 20.']"},
		`{"name":"a","age":"x"}`:                               {"age: ['Not a valid integer.']"},
		`{"name":"a","age":1.5}`:                               {"age: ['Not a valid integer.']"},
		`{"name":"a","many":-1}`:                               {"many: ['Must be greater than or equal to 0.']"},
		`{"name":"a","few":10}`:                                {"few: ['Must be less than or equal to 9.']"},
		`{"name":"a","most":-1}`:                               {"most: ['Must be greater than or equal to 0.']"},
		`{"name":"a","most":2147483648}`:                       {"most: ['Must be greater than or equal to 0 and less than or equal to 2147483647.']"},
		`{"name":"a","on":"true"}`:                             {"on: ['Not a valid boolean.']"},
		`{"name":"a","ratio":true}`:                            {"ratio: ['Not a valid number.']"},
		`{"name":"a","user_ranges":{}}`:                        {"user_ranges: ['Not a valid list.']"},
		`{"name":"a","user_ranges":[5]}`:                       {"user_ranges: {0: ['Invalid input type.']}"},
		`{"name":"a","user_ranges":[{"start":"x"}]}`:           {"user_ranges: {0: {'start': ['Invalid input.']}}"},
		`{"name":"a","user_ranges":[{"start":"1"},{"end":5}]}`: {"user_ranges: {1: {'start': ['Missing data for required field.'], 'end': ['Not a valid string.']}}"},
		`{"name":"a","user_ranges":[{},{"start":"1"},{"start":null}]}`: {"user_ranges: {0: {'start': ['Missing data for required field.']}, 2: {'start': ['Field may not be null.']}}"},
		`{"name":"a","pairs":[["a"],["a",1]]}`:                         {"pairs: {0: ['Length must be 2.'], 1: {1: ['Not a valid string.']}}"},
		`{"name":"a","inner":{"start":"1","End":""},"age":0,"on":null}`: {
			"age: ['Must be greater than or equal to 1 and less than or equal to 20.']", "on: ['Field may not be null.']",
			"inner: {'end': ['Was sent in another spelling; names are case-sensitive']}",
		},
	} {
		w := call(t, s, http.MethodPost, "/x", body)
		wantStatus(t, w, http.StatusBadRequest)
		for i := range want {
			want[i] = "Input Error - " + want[i]
		}
		if got := messages(t, w); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	for _, body := range []string{"", "{", "x=1"} {
		w := call(t, s, http.MethodPost, "/x", body)
		wantStatus(t, w, http.StatusBadRequest)
		if got := messages(t, w); !reflect.DeepEqual(got, []string{"The browser (or proxy) sent a request that this server could not understand."}) {
			t.Errorf("%q: %q", body, got)
		}
	}
}

func TestMessagesOfQueries(t *testing.T) {
	s, _ := listing(t, rest.ListSpec{Order: []string{"name"}, Recurse: true, Views: []string{"summary"}}, rest.MessageList)
	for query, want := range map[string]string{
		"limit=0":                            "field 'limit': wrong type. Should be a positive number",
		"limit=x":                            "limit: {'message': 'Not a valid integer.', 'constraint_id': 'type', 'constraint': 'integer'}",
		"limit=":                             "limit: {'message': 'Not a valid integer.', 'constraint_id': 'type', 'constraint': 'integer'}",
		"limit=-1":                           "limit: [{'constraint_id': 'range', 'constraint': {'min': 0}, 'message': 'Must be greater than or equal to 0.'}]",
		"offset=-1":                          "offset: [{'constraint_id': 'range', 'constraint': {'min': 0}, 'message': 'Must be greater than or equal to 0.'}]",
		"offset=1.5":                         "offset: {'message': 'Not a valid integer.', 'constraint_id': 'type', 'constraint': 'integer'}",
		"recurse=maybe":                      "recurse: {'message': 'Not a valid boolean.', 'constraint_id': 'type', 'constraint': 'boolean'}",
		"order=x":                            "order: column 'x' was not found",
		"order=a'b":                          "order: column was not found",
		"direction=ASC":                      "direction: must be 'asc' or 'desc'",
		"view=x":                             "view 'x' does not exist",
		"search=" + strings.Repeat("a", 201): "search: [{'constraint_id': 'length', 'constraint': {'max': 200}, 'message': 'Longer than maximum length 200.'}]",
		"limit=1&limit=1":                    "limit: Was sent twice",
	} {
		w := call(t, s, http.MethodGet, "/users?"+query, "")
		wantStatus(t, w, http.StatusBadRequest)
		if got := messages(t, w); len(got) != 1 || got[0] != "Input Error - "+want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// A message is what Python would write, whatever is in it.
func TestMessagesAreQuoted(t *testing.T) {
	for said, want := range map[string]string{
		"plain": `'plain'`, "it's": `"it's"`, `"both" it's`: `'"both" it\'s'`, `a\b`: `'a\\b'`, "a\n\t\x00\u0085é": `'a\n\t\x00\x85é'`,
	} {
		for _, f := range []apierr.Field{{Name: "x", Message: said}, {Name: "x", Constraint: "odd", Value: []string{"no", "key"}, Message: said}} {
			got := rest.MessageList(&apierr.Error{Kind: apierr.Invalid, Fields: []apierr.Field{f}}, time.Time{}).([]string)
			if len(got) != 1 || got[0] != "Input Error - x: ["+want+"]" {
				t.Errorf("%q: %q, want %s", said, got, want)
			}
		}
	}
	for name, want := range map[string]string{
		"":        "_schema: ['no']",
		"[2].a":   "2: {'a': ['no']}",
		"a..b":    "a: {'b': ['no']}",
		"a.0":     "a: {'0': ['no']}",
		"a[1][0]": "a: {1: {0: ['no']}}",
	} {
		got := rest.MessageList(&apierr.Error{Kind: apierr.Invalid, Fields: []apierr.Field{{Name: name, Message: "no"}}}, time.Time{}).([]string)
		if got[0] != "Input Error - "+want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	bare := apierr.New(apierr.Invalid, "x")
	bare.ID = rest.BareError
	if got := rest.MessageList(bare, time.Time{}).([]string); got[0] != "x" {
		t.Errorf("%q", got)
	}
	both := &apierr.Error{Kind: apierr.Invalid, Fields: []apierr.Field{{Name: "a", Message: "whole"}, {Name: "b", Message: "b"}, {Name: "a.x", Message: "part"}, {Name: "a", Message: "too"}}}
	if got := rest.MessageList(both, time.Time{}); !reflect.DeepEqual(got, []string{"Input Error - a: {'x': ['part'], '_schema': ['whole', 'too']}", "Input Error - b: ['b']"}) {
		t.Errorf("%q", got)
	}
}
