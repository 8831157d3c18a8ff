// Package resttest sends requests to the services, reads what they answer, and checks the definitions that they publish.
package resttest

import (
	"encoding/json"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// CheckDescriptions checks that a definition says of every tag, operation, parameter and field what it is, and that the examples of
// parameters are valid.
func CheckDescriptions(t testing.TB, definition []byte) {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(definition)
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range doc.Tags {
		if tag.Description == "" {
			t.Errorf("the tag %s has no description", tag.Name)
		}
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.Summary == "" || len(op.Tags) != 1 || doc.Tags.Get(op.Tags[0]) == nil {
				t.Errorf("%s %s has the summary %q and the tags %v", method, path, op.Summary, op.Tags)
			}
			for _, p := range op.Parameters {
				checkParameter(t, method+" "+path, p.Value)
			}
		}
	}
	for name, schema := range doc.Components.Schemas {
		for field, property := range schema.Value.Properties {
			if property.Ref == "" && property.Value.Description == "" {
				t.Errorf("%s.%s is not described", name, field)
			}
		}
	}
}

func checkParameter(t testing.TB, where string, p *openapi3.Parameter) {
	t.Helper()
	if p.Description == "" && p.Schema.Value.Description == "" {
		t.Errorf("%s does not describe its parameter %s", where, p.Name)
	}
	if p.In == openapi3.ParameterInPath && (p.Example == nil || p.Schema.Value.VisitJSON(p.Example) != nil) {
		t.Errorf("%s: the parameter %s has the example %v", where, p.Name, p.Example)
	}
}

// CheckExamples checks that a definition is valid, and that every field of every named object has an example that the field's
// schema accepts and a client could send. Objects and unions have none: their fields do.
func CheckExamples(t testing.TB, definition []byte) {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(definition)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	var raw struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]map[string]any `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(definition, &raw); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for name, schema := range raw.Components.Schemas {
		for field, property := range schema.Properties {
			example, ok := property["example"]
			if !ok {
				if property["$ref"] == nil && property["allOf"] == nil && property["properties"] == nil && property["oneOf"] == nil {
					t.Errorf("%s.%s has no example", name, field)
				}
				continue
			}
			checked++
			if example == "text" {
				t.Errorf("%s.%s has an example that no client would send", name, field)
			}
			if err := doc.Components.Schemas[name].Value.Properties[field].Value.VisitJSON(example); err != nil {
				t.Errorf("%s.%s: its example %v is not valid: %v", name, field, example, err)
			}
		}
	}
	if checked == 0 {
		t.Error("there is no example")
	}
}
