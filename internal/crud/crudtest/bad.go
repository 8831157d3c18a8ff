package crudtest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// badTexts are bodies that are not an object, whatever the resource is.
var badTexts = map[string]string{
	"blank": " \n", "null": "null", "list": "[]", "text": `"x"`, "number": "1", "true": "true", "truncated": `{"name":`, "two values": `{} {}`,
	"trailing garbage": `{}x`, "byte order mark": "\ufeff{}", "not JSON": `{'a':1}`, "comment": `{/* */}`, "trailing comma": `{"name":"a",}`, "form": "name=x",
	"deep":      strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000),
	"deep list": `{"a":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}",
}

// badBodies: a body that is not an object, or that two readers could read in two ways, is refused and changes nothing.
func (x *trial) badBodies() {
	o := x.make(x.a, nil)
	path := x.at(o)
	field := x.writable()[0].Name
	bodies := map[string]string{
		"duplicate":        fmt.Sprintf(`{"%s":"a","%s":"b"}`, field, field),
		"two spellings":    fmt.Sprintf(`{"%s":"a","%s":"b"}`, field, strings.ToUpper(field)),
		"another spelling": fmt.Sprintf(`{"%s":"b"}`, strings.ToUpper(field)),
	}
	maps.Copy(bodies, badTexts)
	for what, body := range bodies {
		for method, path := range map[string]string{http.MethodPut: path, http.MethodPost: x.fresh()} {
			if method == http.MethodPost && !x.can("create") {
				continue
			}
			if got := x.a.Do(method, path, body); got.Status != http.StatusBadRequest {
				x.Errorf("%s %s: %d %s", method, what, got.Status, got.Body)
			}
		}
	}
	x.a.Do(http.MethodPut, path, nil).Want(http.StatusBadRequest) // no body has no media type either
	x.same("refused updates", x.a.Get(path).Object(), o)
	if x.can("list") {
		x.holds(x.a, x.a.Get(x.all()).List(), o)
	}
}

// wrong are JSON values that a field cannot have.
func wrong(s *rest.Schema) []string {
	all := []string{"true", `{"a":1}`, "1.5", "1e400", "9223372036854775808", "-9223372036854775809", `"\u0000"`, `"\ud800"`, "\"\xff\"", `"a\u001bb"`, "[[[]]]"}
	anything := s.Values == nil || s.Values.Type == ""
	if s.Type == "object" && s.Union == nil && anything && !slices.ContainsFunc(s.Properties, func(p rest.Property) bool { return p.Required }) {
		all = slices.DeleteFunc(all, func(value string) bool { return strings.HasPrefix(value, "{") }) // unknown attributes have no effect, or may be anything
	}
	if s.Type != "array" {
		all = append(all, `["a"]`)
	}
	switch s.Type {
	case "string":
		all = append(all, "1", `"`+strings.Repeat("x", 100_000)+`"`)
		if !s.Multiline {
			all = append(all, `"a\nb"`)
		}
		if s.MaxLength != nil {
			all = append(all, `"`+strings.Repeat("é", *s.MaxLength+1)+`"`)
		}
		if len(s.Enum) > 0 {
			all = append(all, `"`+strings.ToUpper(s.Enum[0])+`x"`, `""`)
		}
	case "integer":
		all = append(all, `"1"`, "1.0", "1e1", "01", "+1", "0x1", "NaN")
		if s.Minimum != nil {
			all = append(all, fmt.Sprint(*s.Minimum-1))
		}
		if s.Maximum != nil {
			all = append(all, fmt.Sprint(*s.Maximum+1))
		}
	case "number":
		all = append(slices.DeleteFunc(all, func(value string) bool { return value == "1.5" }), `"1.5"`, "NaN")
		if s.Minimum != nil {
			all = append(all, fmt.Sprintf("%d.5", *s.Minimum-1))
		}
	case "boolean":
		all = append(all[1:], `"true"`, "1", "0")
	case "array":
		all = append(all, `"x"`, "1", "{}", "["+strings.Repeat("1,", 5_000)+"1]")
	case "object":
		all = append(all, `"x"`, "1", "[]")
	}
	return all
}

// badValues: no field accepts a value that its schema refuses, and none breaks the server.
func (x *trial) badValues() {
	o := x.make(x.a, nil)
	path := x.at(o)
	for i := range x.k.Schema.Properties {
		p := &x.k.Schema.Properties[i]
		if p.ReadOnly {
			continue
		}
		for _, value := range wrong(p.Schema) {
			got := x.a.Do(http.MethodPut, path, fmt.Sprintf(`{"%s":%s}`, p.Name, value))
			if p.Schema.Type == "" && got.Status < http.StatusInternalServerError {
				continue // it accepts any value
			}
			if got.Status != http.StatusBadRequest {
				x.Errorf("%s = %.80s: %d %s", p.Name, value, got.Status, got.Body)
			}
		}
	}
	x.same("refused values", x.a.Get(path).Object(), o)
}

// negotiation: 406 and 415 have an empty body.
func (x *trial) negotiation() {
	accept, content := func(kind string) []resttest.Edit {
		return []resttest.Edit{resttest.Header("Accept", ""), resttest.Header("Accept", kind)}
	}, func(kind string) []resttest.Edit {
		return []resttest.Edit{resttest.Header("Content-Type", ""), resttest.Header("Content-Type", kind)}
	}
	for _, kind := range []string{"", "text/html", "application/vnd.api+json", "application/json;q=0", "garbage"} {
		for operation, method := range map[string]string{"read": http.MethodHead, "delete": http.MethodDelete} {
			if x.can(operation) {
				x.a.Do(method, x.all()+"/1", nil, accept(kind)...).Want(http.StatusNotAcceptable).Empty()
			}
		}
		x.a.Get(x.all(), accept(kind)...).Want(http.StatusNotAcceptable).Empty()
	}
	for _, kind := range []string{"*/*", "application/*", "APPLICATION/JSON", "text/html, application/json;q=0.1"} {
		x.a.Get(x.all(), accept(kind)...).Want(http.StatusOK)
	}
	allow := "GET, HEAD"
	if x.can("create") {
		if !x.named() {
			allow += ", POST"
		}
		x.contentTypes(content)
	}
	got := x.a.Do(http.MethodPatch, x.all(), Object{}).Want(http.StatusMethodNotAllowed)
	if got.Header.Get("Allow") != allow {
		x.Errorf("Allow: %s", got.Header.Get("Allow"))
	}
}

// contentTypes: a body of another type is refused.
func (x *trial) contentTypes(content func(kind string) []resttest.Edit) {
	x.Helper()
	for _, kind := range []string{"", "text/plain", "application/vnd.api+json", "application/json; charset=latin1", "application/x-www-form-urlencoded", "json"} {
		x.a.Do(http.MethodPost, x.fresh(), Object{}, content(kind)...).Want(http.StatusUnsupportedMediaType).Empty()
	}
	for _, kind := range []string{"application/json; charset=utf-8", "APPLICATION/JSON"} {
		x.a.Do(http.MethodPost, x.fresh(), x.minimal(x.a, nil), content(kind)...).Want(x.Described.Style.CreateStatus)
	}
}
