package crudtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/rest"
)

func (x *documentTrial) badBodies() {
	before := x.own.Get(x.path)
	texts, name := maps.Clone(badTexts), x.writable()[0].Name
	texts["duplicate"] = fmt.Sprintf(`{"%s":"a","%s":"b"}`, name, name)
	texts["two spellings"] = fmt.Sprintf(`{"%s":"a","%s":"b"}`, name, strings.ToUpper(name))
	texts["another spelling"] = fmt.Sprintf(`{"%s":"b"}`, strings.ToUpper(name))
	refused := func() {
		for what, text := range texts {
			for method, sent := range x.writes(text) {
				if sent == nil {
					continue
				}
				if got := x.own.Do(method, x.path, sent); got.Status != http.StatusBadRequest {
					x.Errorf("%s %s: %d %s", method, what, got.Status, got.Body)
				}
			}
		}
		x.own.Do(http.MethodPut, x.path, nil).Want(http.StatusBadRequest)
	}
	x.audits(0, "refusals", refused)
	if after := x.own.Get(x.path); !alike(after.Body, "", before.Body, "") {
		x.Errorf("%.500s became %.500s", before.Body, after.Body)
	}
	x.set(x.own, nil)
	before = x.own.Get(x.path)
	x.audits(0, "refusals", refused)
	if after := x.own.Get(x.path); after.Body != before.Body {
		x.Errorf("%.500s became %.500s", before.Body, after.Body)
	}
}

func (x *documentTrial) badValues() {
	base := x.set(x.own, nil)
	before := x.own.Get(x.path)
	for i := range x.k.Schema.Properties {
		p := &x.k.Schema.Properties[i]
		if p.ReadOnly || p.Schema.Type == "" {
			continue
		}
		x.audits(0, "wrong values of "+p.Name, func() { x.wrongValues(p, base) })
	}
	if after := x.own.Get(x.path); after.Body != before.Body {
		x.Errorf("%.500s became %.500s", before.Body, after.Body)
	}
}

// wrongValues sends the document with each wrong value of a field.
func (x *documentTrial) wrongValues(p *rest.Property, base Object) {
	x.Helper()
	others := maps.Clone(base)
	delete(others, p.Name)
	text, err := json.Marshal(others)
	if err != nil {
		x.Fatal(err)
	}
	start := strings.TrimSuffix(string(text), "}")
	if len(others) > 0 {
		start += ","
	}
	for _, value := range wrong(p.Schema) {
		if value == `""` && slices.Contains(p.Schema.Enum, "") {
			continue
		}
		got := x.own.Do(http.MethodPut, x.path, fmt.Sprintf(`%s"%s":%s}`, start, p.Name, value))
		largest := x.d.Operations["update"].MaxBody
		tooLarge := got.Status == http.StatusRequestEntityTooLarge && largest > 0 && int64(len(value)) > largest
		if got.Status != http.StatusBadRequest && !tooLarge {
			x.Errorf("%s = %.80s: %d %s", p.Name, value, got.Status, got.Body)
		}
	}
}
