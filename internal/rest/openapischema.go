package rest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
)

// schema answers the schema itself, or a reference to it when it has a name. What the place where
// it is used says of it stands beside the reference.
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
		beside["default"] = defaultValue(s)
	}
	if len(beside) == 0 {
		return ref
	}
	beside["allOf"] = []object{ref} // in OpenAPI 3.0 nothing can stand beside $ref itself
	return beside
}

// component writes a named schema once, and makes sure that nothing else has its name.
func (d *definer) component(s *Schema) {
	bare := *s
	bare.Doc, bare.Nullable, bare.Default = "", false, nil
	written := d.inline(&bare)
	if known, ok := d.schemas[s.Name]; !ok {
		d.schemas[s.Name] = written
	} else if !reflect.DeepEqual(known, written) && d.err == nil {
		d.err = fmt.Errorf("two schemas are called %q", s.Name)
	}
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
	set("description", s.Doc, s.Doc != "")
	set("nullable", true, s.Nullable)
	set("pattern", s.Pattern, s.Pattern != "")
	set("default", defaultValue(s), s.Default != nil)
	set("minLength", s.MinLength, s.MinLength != nil)
	set("maxLength", s.MaxLength, s.MaxLength != nil)
	set("minimum", s.Minimum, s.Minimum != nil)
	set("maximum", s.Maximum, s.Maximum != nil)
	set("minItems", s.MinItems, s.MinItems != nil)
	set("maxItems", s.MaxItems, s.MaxItems != nil)
	set("enum", enum(s), len(s.Enum) > 0)
	if s.Type == "array" {
		items := object{}
		if s.Items != nil {
			items = d.schema(s.Items)
		}
		out["items"] = items
	}
	switch {
	case s.Values != nil:
		out["additionalProperties"] = d.schema(s.Values)
	case s.Type == "object":
		d.properties(s, out)
	}
	return out
}

// defaultValue is the default as a value that JSON and YAML write alike. SchemaOf has checked it.
func defaultValue(s *Schema) any {
	if n, err := strconv.ParseInt(string(s.Default), 10, 64); err == nil {
		return n
	}
	var v any
	_ = json.Unmarshal(s.Default, &v)
	return v
}

// enum lists the choices; a null that is allowed must be among them (OpenAPI 3.0.3, clarified).
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
		if p.ReadOnly || p.WriteOnly {
			if _, ref := schema["$ref"]; ref {
				schema = object{"allOf": []object{schema}}
			}
			if p.ReadOnly {
				schema["readOnly"] = true
			} else {
				schema["writeOnly"] = true
			}
		}
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
