package rest

import (
	"cmp"
	"encoding/json"
	"maps"
	"strconv"
	"strings"
)

// schema returns the schema itself, or a reference to it if it has a name. What the place of use says about it stands beside the
// reference.
func (d *definer) schema(s *Schema) object {
	if s.Name == "" {
		return d.inline(s)
	}
	d.component(s)
	ref := object{"$ref": "#/components/schemas/" + s.Name}
	beside := object{}
	if s.Doc != "" {
		beside["description"] = s.Doc
	}
	if s.Nullable {
		beside["nullable"] = true
	}
	if s.Default != nil {
		beside["default"] = decoded(s.Default)
	}
	if s.Example != nil {
		beside["example"] = decoded(s.Example)
	}
	if len(beside) == 0 {
		return ref
	}
	beside["allOf"] = []object{ref} // in OpenAPI 3.0 nothing can stand beside $ref itself
	return beside
}

// component writes a named schema once.
func (d *definer) component(s *Schema) {
	if _, ok := d.schemas[s.Name]; ok {
		return
	}
	d.schemas[s.Name] = object{} // while it is being written
	d.schemas[s.Name] = d.inline(s.bare())
}

// bare returns what a schema says wherever it is used.
func (s *Schema) bare() *Schema {
	bare := *s
	bare.Doc, bare.Nullable, bare.Default, bare.Example = "", false, nil, nil
	return &bare
}

func (d *definer) inline(s *Schema) object {
	out := object{}
	set := func(key string, value any, present bool) {
		if present {
			out[key] = value
		}
	}
	set("type", s.Type, s.Type != "")
	set("format", s.Format, s.Format != "")
	set("description", s.doc(), s.doc() != "")
	set("nullable", true, s.Nullable)
	set("pattern", s.pattern(), s.pattern() != "")
	set("default", decoded(s.Default), s.Default != nil)
	set("minLength", s.MinLength, s.MinLength != nil)
	set("maxLength", s.MaxLength, s.MaxLength != nil)
	set("minimum", s.Minimum, s.Minimum != nil)
	set("maximum", s.Maximum, s.Maximum != nil)
	set("minItems", s.MinItems, s.MinItems != nil)
	set("maxItems", s.MaxItems, s.MaxItems != nil)
	set("additionalProperties", true, s.Open)
	set("enum", enum(s), len(s.Enum) > 0)
	if s.Type == "array" {
		items := object{}
		if s.Items != nil {
			items = d.schema(s.Items)
		}
		out["items"] = items
	}
	switch {
	case s.Union != nil:
		d.union(s, out)
	case s.Values != nil:
		out["additionalProperties"] = d.schema(s.Values)
	case s.Type == "object":
		d.properties(s, out)
	}
	if s.Example != nil || len(s.Properties) == 0 && s.Union == nil && s.hasExample() { // an object's properties have their own
		out["example"] = d.example(s)
	}
	return out
}

// union writes the kinds of an object, each under a name, since a discriminator can only map to names.
func (d *definer) union(s *Schema, out object) {
	kinds, mapping := []object{}, object{}
	for _, k := range s.Union.Kinds {
		ref := d.schema(k.Schema)
		kinds = append(kinds, ref)
		mapping[k.Value] = ref["$ref"]
	}
	out["oneOf"] = kinds
	out["discriminator"] = object{"propertyName": s.Union.By, "mapping": mapping}
}

func (d *definer) example(s *Schema) any {
	text, err := Marshal(s.example())
	if err != nil {
		d.fail(err)
	}
	return decoded(text)
}

// doc returns a schema's description, followed by its format's.
func (s *Schema) doc() string {
	if f := formats[s.Format]; f != nil && f.Doc != "" {
		return strings.TrimSpace(s.Doc + " " + f.Doc)
	}
	return s.Doc
}

func (s *Schema) pattern() string {
	if f := formats[s.Format]; f != nil && f.Pattern != "" {
		return f.Pattern
	}
	return s.Pattern
}

// decoded returns a JSON value in a form that JSON and YAML encode alike.
func decoded(text json.RawMessage) any {
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return n
	}
	var v any
	_ = json.Unmarshal(text, &v) // a default or an example: SchemaOf has read it
	return v
}

// enum lists the choices; an allowed null must be among them (OpenAPI 3.0.3, clarified).
func enum(s *Schema) []any {
	var out []any
	for _, e := range s.Enum {
		out = append(out, e)
	}
	if s.Nullable {
		out = append(out, nil)
	}
	return out
}

func (d *definer) properties(s *Schema, out object) {
	props, required := object{}, []string{}
	for i := range s.Properties {
		p := &s.Properties[i]
		schema := d.schema(p.Schema)
		if example, ok := d.examples[p.Name]; ok && p.Schema.needsExample() {
			schema["example"] = example
		}
		beside := object{}
		if _, ok := schema["description"]; !ok {
			if doc := cmp.Or(d.docs[s.Name+"."+p.Name], d.docs[p.Name]); doc != "" {
				beside["description"] = doc
			}
		}
		if p.ReadOnly {
			beside["readOnly"] = true
		}
		if p.WriteOnly {
			beside["writeOnly"] = true
		}
		if p.Ref != "" {
			beside["x-ref"] = p.Ref
		}
		if labels := d.labels(s.Name, p.Name, p.Schema.Enum); len(labels) > 0 {
			beside["x-enum-labels"] = labels
		}
		if label := d.label(s.Name, p.Name); label != "" {
			beside["title"] = label
		}
		if _, ref := schema["$ref"]; ref && len(beside) > 0 {
			schema = object{"allOf": []object{schema}}
		}
		maps.Copy(schema, beside)
		props[p.Name] = schema
		if p.Required {
			required = append(required, p.Name)
		}
	}
	out["properties"] = props
	if len(required) > 0 {
		out["required"] = required
	}
}
