package rest

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// hasExample reports whether the example of a value that is neither an object nor a union is valid: not every pattern has one
// that can be guessed.
func (s *Schema) hasExample() bool {
	if s.Type == "object" || s.Example != nil { // which has been checked where it was set
		return true
	}
	return len(s.Validate("", s.Sample())) == 0
}

// needsExample reports whether the schema is a text whose form nothing says.
func (s *Schema) needsExample() bool {
	return s.Type == "string" && s.Name == "" && s.Example == nil && s.Default == nil && len(s.Enum) == 0 && formats[s.Format] == nil && s.Format == ""
}

// Sample returns a value that the schema accepts, in the form of ParseJSON: the declared example, the default, a choice, or the
// simplest value. Of a list it is the shortest one, of an object only what is required.
func (s *Schema) Sample() any {
	for _, declared := range []json.RawMessage{s.Example, s.Default} {
		if declared != nil && string(declared) != "null" {
			return decoded(declared)
		}
	}
	switch s.Type {
	case "string":
		return s.exampleText()
	case "integer", "number":
		return json.Number(strconv.FormatInt(s.exampleNumber(), 10))
	case "boolean":
		return false
	case "array":
		return s.exampleList()
	case "object":
		return s.exampleObject()
	}
	if !s.Nullable {
		return map[string]any{}
	}
	return nil
}

func (s *Schema) exampleText() string {
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	if f := formats[s.Format]; f != nil {
		return f.Example
	}
	text := "text"
	if s.MinLength != nil {
		text = strings.Repeat(text, *s.MinLength/len(text)+1)[:max(*s.MinLength, len(text))]
	}
	if s.MaxLength != nil {
		text = text[:min(*s.MaxLength, len(text))]
	}
	return text
}

func (s *Schema) exampleNumber() int64 {
	n := int64(1)
	if s.Minimum != nil {
		n = max(n, *s.Minimum)
	}
	if s.Maximum != nil {
		n = min(n, *s.Maximum)
	}
	return n
}

func (s *Schema) exampleList() []any {
	list := []any{}
	if s.MinItems == nil {
		return list
	}
	item := cmp.Or(s.Items, &Schema{Nullable: true}).Sample()
	for range *s.MinItems {
		list = append(list, item)
	}
	return list
}

func (s *Schema) exampleObject() map[string]any {
	if s.Union != nil {
		return s.Union.Kinds[0].Schema.exampleObject()
	}
	object := map[string]any{}
	for i := range s.Properties {
		if p := &s.Properties[i]; p.Required && !p.ReadOnly {
			object[p.Name] = p.Schema.Sample()
		}
	}
	return object
}
