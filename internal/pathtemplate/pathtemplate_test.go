package pathtemplate_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/pathtemplate"
)

func TestParse(t *testing.T) {
	for path, want := range map[string]struct {
		parameters, numbered, repeated string
	}{
		"":                               {},
		"/":                              {},
		"/users":                         {numbered: "/users"},
		"/users/{user_id}":               {"user_id", "/users/{1}", ""},
		"/users/{user_id}/lines/{line}":  {"user_id line", "/users/{1}/lines/{2}", ""},
		"/calls/{id}/legs/{id}":          {"id id", "/calls/{1}/legs/{2}", "id"},
		"/{a}/{b}/{c}/{d}/{e}/{f}/{g}":   {"a b c d e f g", "/{1}/{2}/{3}/{4}/{5}/{6}/{7}", ""},
		"/api/api.yml":                   {numbered: "/api/api.yml"},
		"/users/{a name with a / in it":  {repeated: "!"},
		"users":                          {repeated: "!"},
		"//users":                        {repeated: "!"},
		"/users/":                        {repeated: "!"},
		"/users/{}":                      {repeated: "!"},
		"/users/{id":                     {repeated: "!"},
		"/users/id}":                     {repeated: "!"},
		"/users/x{id}":                   {repeated: "!"},
		"/users/{id}x":                   {repeated: "!"},
		"/users/{a}{b}":                  {repeated: "!"},
		"/users/{a}b}":                   {repeated: "!"},
		"/users/{{id}}":                  {repeated: "!"},
		"/users/..":                      {repeated: "!"},
		"/users/*":                       {repeated: "!"},
		"/users/%41":                     {repeated: "!"},
		"/users?x":                       {repeated: "!"},
		"/users/\n":                      {repeated: "!"},
		"/" + strings.Repeat("a", 1<<12): {repeated: "!"},
	} {
		got, err := pathtemplate.Parse(path)
		if want.repeated == "!" {
			if err == nil {
				t.Errorf("%q is read as %v", path, got)
			}
			continue
		}
		if err != nil || strings.Join(got.Parameters(), " ") != want.parameters || got.Numbered() != want.numbered || got.Repeated() != want.repeated {
			t.Errorf("%q: %v, %v; %q, repeated %q", path, got, err, got.Numbered(), got.Repeated())
		}
	}
	if got := pathtemplate.Segments("/api/confd/1.1"); !reflect.DeepEqual(got, []string{"api", "confd", "1.1"}) {
		t.Errorf("%q", got)
	}
}
