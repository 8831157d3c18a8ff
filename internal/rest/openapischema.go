package rest

import (
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
		beside["nullable"], beside["type"] = true, s.Type // of which OpenAPI 3.0.3 wants both in one place
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
	// Of what may be anything OpenAPI 3.0.3 takes null without it, but validators do not; a union of all types would take its type from generated clients.
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

func (d *definer) example(s *Schema) any { return d.plain(s.example()) }

// plain returns an example in a form that JSON and YAML encode alike.
func (d *definer) plain(example any) any {
	text, err := Marshal(example)
	if err != nil {
		d.fail(err)
	}
	return decoded(text)
}

// sent returns a value that can be sent as it stands: what is required, and texts. It chooses no key and no password, and names no object
// that need not be named, since that one may not exist.
func (d *definer) sent(s *Schema) any {
	switch {
	case s.Example == nil && s.Union != nil:
		return d.sent(s.Union.Kinds[0].Schema)
	case s.Example != nil || s.Type != "object" || s.Values != nil:
		return s.example()
	}
	out := object{}
	for i := range s.Properties {
		p := &s.Properties[i]
		text, ok := d.Examples[p.Name]
		switch {
		case p.ReadOnly || !p.Required && !p.isText():
		case ok && p.Schema.needsExample():
			out[p.Name] = text
		default:
			out[p.Name] = d.sent(p.Schema)
		}
	}
	return out
}

// isText reports whether a property is a text that means nothing but itself.
func (p *Property) isText() bool {
	s := p.Schema
	return s.Type == "string" && s.Default == nil && len(s.Enum) == 0 && s.Format != "uuid" && p.Ref == "" && !p.WriteOnly && !strings.Contains(p.Name, "password")
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

// described returns what a property of an object says about itself, where that is not what its schema says: the description, to which how
// it is sent belongs, and what people at a form read instead (x-help).
func (d *definer) described(of string, p *Property, schema object) object {
	said, _ := schema["description"].(string)
	from := of + "." + p.Name // what says it
	if said == "" {
		said, from = told(d.Docs, of, p.Name)
	}
	whole := strings.TrimSpace(said + p.rules())
	help, key := told(d.Helps, of, p.Name)
	if key == "" || key == p.Name && from != p.Name { // there is none, or it is of other attributes that have this name
		help = said
	}
	out := object{}
	if whole != schema["description"] && whole != "" {
		out["description"] = whole
	}
	if help != whole && !p.ReadOnly {
		out["x-help"] = help
	}
	return out
}

// told returns what a table has about an attribute of an object, or else about any attribute of that name. What is sent of an object is
// described as what is read of it. It returns the key as well, "" if there is none.
func told(table map[string]string, of, name string) (text, key string) {
	for _, key := range []string{of + "." + name, kind(of) + "." + name, name} {
		if text, ok := table[key]; ok {
			return text, key
		}
	}
	return "", ""
}

// rules are sentences on how a client sends the property, each with a space before it.
func (p *Property) rules() string {
	var rules string
	if p.Or != "" {
		rules += " Must be sent on create; the " + p.Or + " is taken for it, if that is sent alone."
	}
	if p.Fixed {
		if p.WriteOnly {
			rules += " Taken on create alone."
		} else {
			rules += " It never changes."
		}
	}
	if p.Schema.NullIsDefault {
		rules += " On create null stands for the default; an update refuses it."
	}
	return rules
}

func (p *Property) mark(out object) {
	for key, is := range map[string]bool{"x-fixed": p.Fixed, "deprecated": p.Deprecated, "readOnly": p.ReadOnly, "writeOnly": p.WriteOnly} {
		if is {
			out[key] = true
		}
	}
	if p.Or != "" {
		out["x-or"] = p.Or
	}
	if p.When != nil {
		out["x-when"] = p.When
	}
}

func (d *definer) properties(s *Schema, out object) {
	props, required := object{}, []string{}
	for i := range s.Properties {
		p := &s.Properties[i]
		schema := d.schema(p.Schema)
		if example, ok := d.Examples[p.Name]; ok && p.Schema.needsExample() {
			schema["example"] = example
		}
		beside := d.described(s.Name, p, schema)
		p.mark(beside)
		switch {
		case s.Key == "":
		case p.Name == s.Key:
			beside["x-key"] = true
		case p.Required && p.Or == "":
			beside["x-or"] = s.Key
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
		if p.Required && p.Or == "" && s.Key == "" {
			required = append(required, p.Name)
		}
	}
	out["properties"] = props
	if len(required) > 0 {
		out["required"] = required
	}
}
