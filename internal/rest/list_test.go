package rest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest"
)

func listing(t *testing.T, spec rest.ListSpec, form rest.ErrorForm) (*rest.Service, *rest.List) {
	t.Helper()
	got := new(rest.List)
	s := declared(rest.Operation{
		Method: http.MethodGet, Path: "/users", Query: spec.Parameters(),
		Handle: func(_ context.Context, r *rest.Request) (_ rest.Reply, err error) {
			*got, err = r.List(spec)
			return rest.Reply{}, err
		},
	})
	s.Errors = form
	if err := s.Mount(); err != nil {
		t.Fatal(err)
	}
	return s, got
}

var userList = rest.ListSpec{Order: []string{"lastname", "firstname"}, Filters: []string{"uuid", "email"}, Recurse: true}

func TestList(t *testing.T) {
	s, got := listing(t, userList, plainMessages)
	term := strings.Repeat("é", rest.MaxSearch)
	for query, want := range map[string]rest.List{
		"":                                {Order: "lastname"},
		"order=firstname&direction=desc":  {Order: "firstname", Desc: true},
		"order=&direction=asc":            {Order: "lastname"},
		"limit=1&offset=0":                {Order: "lastname", Limit: 1},
		"limit=1000":                      {Order: "lastname", Limit: 1000},
		"limit=1001":                      {Order: "lastname", Limit: 1000},
		"limit=1000000000":                {Order: "lastname", Limit: 1000},
		"limit=9223372036854775807":       {Order: "lastname", Limit: 1000},
		"limit=007":                       {Order: "lastname", Limit: 7},
		"offset=9223372036854775807":      {Order: "lastname", Offset: 9223372036854775807},
		"search=":                         {Order: "lastname"},
		"search=%25_%5C'--":               {Order: "lastname", Search: `%_\'--`},
		"search=a+b%2Bc":                  {Order: "lastname", Search: "a b+c"},
		"search=" + url.QueryEscape(term): {Order: "lastname", Search: term},
		"recurse=true":                    {Order: "lastname", Recurse: true},
		"recurse=True":                    {Order: "lastname", Recurse: true},
		"recurse=TRUE":                    {Order: "lastname", Recurse: true},
		"recurse=1":                       {Order: "lastname", Recurse: true},
		"recurse=False":                   {Order: "lastname"},
		"recurse=0":                       {Order: "lastname"},
		"email=a%40b&uuid=":               {Order: "lastname", Filters: []rest.Filter{{Name: "uuid", Value: ""}, {Name: "email", Value: "a@b"}}},
		"unknown=1&unknown=2&Limit=x":     {Order: "lastname"},
		"password_hash=x":                 {Order: "lastname"},
	} {
		t.Run(query, func(t *testing.T) {
			wantStatus(t, call(t, s, http.MethodGet, "/users?"+query, ""), http.StatusOK)
			if !reflect.DeepEqual(*got, want) {
				t.Errorf("got %+v, want %+v", *got, want)
			}
		})
	}
}

func TestListRefuses(t *testing.T) {
	s, _ := listing(t, userList, plainMessages)
	for query, want := range map[string]string{
		"limit=0":                             "limit: Must be 1 or more",
		"limit=00":                            "limit: Must be 1 or more",
		"limit=-1":                            "limit: Must be a whole number",
		"limit=1e9":                           "limit: Must be a whole number",
		"limit=NaN":                           "limit: Must be a whole number",
		"limit=1.5":                           "limit: Must be a whole number",
		"limit=%2B5":                          "limit: Must be a whole number",
		"limit=+5":                            "limit: Must be a whole number",
		"limit=5+":                            "limit: Must be a whole number",
		"limit=0x10":                          "limit: Must be a whole number",
		"limit=1_0":                           "limit: Must be a whole number",
		"limit=":                              "limit: Must be a whole number",
		"limit":                               "limit: Must be a whole number",
		"limit=%D9%A3":                        "limit: Must be a whole number", // an Arabic three
		"limit=9223372036854775808":           "limit: Is too large",
		"limit=5&limit=6":                     "limit: Was sent twice",
		"limit=5&limit=5":                     "limit: Was sent twice",
		"limit=5&l%69mit=5":                   "limit: Was sent twice",
		"offset=-1":                           "offset: Must be a whole number",
		"offset=9223372036854775808":          "offset: Is too large",
		"offset=" + strings.Repeat("9", 1000): "offset: Is too large",
		"offset=":                             "offset: Must be a whole number",
		"order=password_hash":                 "order: Must be one of lastname, firstname",
		"order=LASTNAME":                      "order: Must be one of",
		"order=lastname%3Bdrop+table":         "order: Must be one of",
		"order=(select+pg_sleep(9))":          "order: Must be one of",
		"order=lastname&order=lastname":       "order: Was sent twice",
		"direction=ASC":                       "direction: Must be asc or desc",
		"direction=ASC,--":                    "direction: Must be asc or desc",
		"direction=":                          "direction: Must be asc or desc",
		"direction=descending":                "direction: Must be asc or desc",
		"recurse=maybe":                       "recurse: Must be true or false",
		"recurse=yes":                         "recurse: Must be true or false",
		"recurse=":                            "recurse: Must be true or false",
		"recurse=2":                           "recurse: Must be true or false",
		"search=" + strings.Repeat("a", 201):  "search: Must have at most 200 characters",
		"search=" + strings.Repeat("%C3%A9", 201): "search: Must have at most 200 characters",
		"search=a%0Ab":     "search: Must be UTF-8 text without control characters",
		"email=%C2%85":     "email: Must be UTF-8 text without control characters",
		"uuid=a&uuid=b":    "uuid: Was sent twice",
		"search=%FF":       "UTF-8",
		"search=%00":       "NUL",
		"limit=1%":         "query",
		"limit=1;offset=2": "query",
		"search=%ED%A0%80": "UTF-8",
		strings.Repeat("a=1&", 400) + "limit=1&limit=1": "limit: Was sent twice",
	} {
		t.Run(query, func(t *testing.T) {
			wantMessage(t, call(t, s, http.MethodGet, "/users?"+query, ""), http.StatusBadRequest, want)
		})
	}
}

func TestListRefusesInAuthForm(t *testing.T) {
	s, _ := listing(t, userList, rest.AuthErrors)
	w := call(t, s, http.MethodGet, "/users?limit=0", "")
	wantStatus(t, w, http.StatusBadRequest)
	var got struct {
		ErrorID string         `json:"error_id"`
		Details map[string]any `json:"details"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"limit": map[string]any{"constraint_id": "range", "constraint": map[string]any{"min": 1.0}, "message": "Must be 1 or more"}}
	if got.ErrorID != "invalid-list-param" || !reflect.DeepEqual(got.Details, want) {
		t.Errorf("%+v", got)
	}
}

func TestListWithoutOrderOrRecurse(t *testing.T) {
	s, got := listing(t, rest.ListSpec{}, plainMessages)
	wantStatus(t, call(t, s, http.MethodGet, "/users?recurse=x&limit=2", ""), http.StatusOK)
	if got.Order != "" || got.Recurse || got.Limit != 2 {
		t.Errorf("%+v", *got)
	}
	wantStatus(t, call(t, s, http.MethodGet, "/users?order=name", ""), http.StatusOK) // unknown, as any other
}

func TestQueryParameters(t *testing.T) {
	text := &rest.Schema{Type: "string"}
	s := mounted(t, rest.Operation{
		Method: http.MethodGet, Path: "/x", Query: []rest.Parameter{{Name: "name", Schema: text, Required: true}, {Name: "loud", Schema: &rest.Schema{Type: "boolean"}}},
		Handle: func(_ context.Context, r *rest.Request) (rest.Reply, error) {
			name, _ := r.Query("name")
			return rest.Reply{Body: []any{name, r.Bool("loud")}}, nil
		},
	})
	if w := call(t, s, http.MethodGet, "/x?name=", ""); w.Body.String() != `["",false]` {
		t.Errorf("%s", w.Body)
	}
	wantMessage(t, call(t, s, http.MethodGet, "/x", ""), http.StatusBadRequest, "name: Is required")
	for typed, want := range map[string]string{"true": "true", "True": "true", "TRUE": "true", "1": "true", "false": "false", "False": "false", "0": "false"} {
		if w := call(t, s, http.MethodGet, "/x?name=a&loud="+typed, ""); w.Body.String() != `["a",`+want+`]` {
			t.Errorf("%s: %s", typed, w.Body)
		}
	}
	for _, typed := range []string{"", "x", "yes", "on", "t", "2", "01", "true,false", "%20true"} {
		wantMessage(t, call(t, s, http.MethodGet, "/x?name=a&loud="+typed, ""), http.StatusBadRequest, "loud: Must be true or false")
	}
}

// A gate that passes on a request may have let a malformed query through.
func TestMalformedQuery(t *testing.T) {
	s := mounted(t, rest.Operation{Method: http.MethodGet, Path: "/users", Query: userList.Parameters()})
	m, _ := s.Match(http.MethodGet, parsed(t, prefix+"/users"))
	for query, want := range map[string]string{"a=%zz": "The query string is malformed", "a;b": "The query string is malformed", "search=%FF": "search: Must be UTF-8"} {
		r := request(t, http.MethodGet, "/users", "")
		r.URL.RawQuery = query
		wantMessage(t, answer(s, r.WithContext(rest.NewContext(r.Context(), &m))), http.StatusBadRequest, want)
	}
}

// What cannot be tried is not done instead.
func TestWhatCannotBeTried(t *testing.T) {
	done := 0
	does := func(context.Context, *rest.Request) (rest.Reply, error) { done++; return rest.Reply{}, nil }
	s := mounted(t,
		rest.Operation{Method: http.MethodDelete, Path: "/things/{id}", Handle: does},
		rest.Operation{Method: http.MethodDelete, Path: "/others/{id}", Handle: does, Query: []rest.Parameter{{Name: "dry_run", Schema: &rest.Schema{Type: "boolean"}}}},
		rest.Operation{Method: http.MethodGet, Path: "/things", Handle: does},
	)
	wantMessage(t, call(t, s, http.MethodDelete, "/things/1?dry_run=true", ""), http.StatusBadRequest, "cannot be tried without doing it")
	if done > 0 {
		t.Error("it was done")
	}
	wantStatus(t, call(t, s, http.MethodDelete, "/others/1?dry_run=true", ""), http.StatusOK)
	wantStatus(t, call(t, s, http.MethodGet, "/things?dry_run=true", ""), http.StatusOK)
}
