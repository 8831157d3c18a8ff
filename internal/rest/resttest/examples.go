// Package resttest sends requests to the services, reads what they answer, and checks the definitions that they publish.
package resttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// checkDescriptions checks that a definition says of every tag, operation, parameter and field what it is, and that the examples of
// parameters are valid.
func checkDescriptions(t *testing.T, doc *openapi3.T) {
	t.Helper()
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

// SendExamples sends each body that the client's service offers as an example, to the path that it offers. Nothing may be wrong with one,
// except that there is no object of that name, or that there is one already.
func SendExamples(c *Client) {
	c.T.Helper()
	d, err := c.definition()
	if err != nil {
		c.T.Fatal(err)
	}
	sent := 0
	for path, item := range d.Paths.Map() {
		for method, op := range item.Operations() {
			if op.RequestBody == nil || slices.ContainsFunc(op.Parameters, func(p *openapi3.ParameterRef) bool { return p.Value.In == "query" && p.Value.Required }) {
				continue
			}
			content := op.RequestBody.Value.Content["application/json"]
			if content == nil || content.Example == nil {
				continue
			}
			for _, p := range op.Parameters {
				path = strings.ReplaceAll(path, "{"+p.Value.Name+"}", fmt.Sprint(p.Value.Example))
			}
			body, err := json.Marshal(content.Example)
			if err != nil {
				c.T.Fatal(err)
			}
			sent++
			a := c.Do(method, path, string(body))
			wrong := a.Status == http.StatusBadRequest && !strings.Contains(a.Body, "was not found") && !strings.Contains(a.Body, "already exists")
			if wrong || a.Status == http.StatusInternalServerError {
				c.T.Errorf("%s %s: the example %s: %d %s", method, path, body, a.Status, a.Body)
			}
		}
	}
	if sent == 0 {
		c.T.Error("there is no example")
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

// checkExamples checks that every field of every named object has an example that the field's
// schema accepts and a client could send. Objects and unions have none: their fields do.
func checkExamples(t *testing.T, doc *openapi3.T, definition []byte) {
	t.Helper()
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
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			checkBody(t, method+" "+path, op)
		}
	}
}

// checkBody checks that the example of an operation's body is valid, and sets no password and no key that need not be set.
func checkBody(t testing.TB, where string, op *openapi3.Operation) {
	t.Helper()
	if op.RequestBody == nil {
		return
	}
	content := op.RequestBody.Value.Content["application/json"]
	if content == nil || content.Example == nil {
		return
	}
	if err := content.Schema.Value.VisitJSON(content.Example, openapi3.VisitAsRequest()); err != nil {
		t.Errorf("%s: the example %v of its body is not valid: %v", where, content.Example, err)
	}
	example, _ := content.Example.(map[string]any)
	for name := range example {
		property := content.Schema.Value.Properties[name]
		if property != nil && !slices.Contains(content.Schema.Value.Required, name) && (property.Value.WriteOnly || property.Value.Format == "uuid") {
			t.Errorf("%s: the example of its body sets %s", where, name)
		}
	}
}
