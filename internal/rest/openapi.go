package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// definition is the OpenAPI document of a service, in both its forms.
type definition struct{ json, yaml []byte }

// definitionOperations serve the definition itself, to everybody: a console needs it before login.
func (s *Service) definitionOperations() []Operation {
	serve := func(pick func() []byte) Handler {
		return func(context.Context, *Request) (Reply, error) {
			return Reply{Body: pick(), Header: http.Header{"Cache-Control": {"no-cache"}}}, nil
		}
	}
	return []Operation{
		{
			Method: http.MethodGet, Path: "/api/openapi.json", Public: true, ID: "get_definition_json", Tag: "definition",
			Summary: "This definition, as JSON", Success: http.StatusOK, Produces: "application/json",
			Conditional: true, Handle: serve(func() []byte { return s.spec.json }),
		},
		{
			Method: http.MethodGet, Path: "/api/api.yml", Public: true, ID: "get_definition_yaml", Tag: "definition",
			Summary: "This definition, as YAML", Success: http.StatusOK, Produces: "application/yaml",
			Conditional: true, Handle: serve(func() []byte { return s.spec.yaml }),
		},
	}
}

// Definition is the service's OpenAPI 3.0 document, as JSON.
func (s *Service) Definition() []byte { return s.spec.json }

type object = map[string]any

func newDefinition(s *Service) (*definition, error) {
	d := definer{service: s, schemas: object{}}
	paths := object{}
	for i := range s.Operations {
		op := &s.Operations[i]
		item, ok := paths[op.Path].(object)
		if !ok {
			item = object{}
			paths[op.Path] = item
		}
		item[strings.ToLower(op.Method)] = d.operation(op)
	}
	if d.err != nil {
		return nil, d.err
	}
	version := s.Version
	if version == "" {
		version = "1.0"
	}
	doc := object{
		"openapi": "3.0.3",
		"info":    object{"title": s.Title, "version": version, "description": s.Description},
		"servers": []object{{"url": s.Prefix}},
		"paths":   paths,
		"components": object{
			"schemas": d.schemas,
			"securitySchemes": object{"token": object{
				"type": "apiKey", "in": "header", "name": "X-Auth-Token",
				"description": "An access token, from POST /token of the authentication service.",
			}},
		},
	}
	text, err := Marshal(doc)
	if err != nil {
		return nil, err
	}
	yml, err := yaml.Marshal(doc)
	if err != nil {
		return nil, err
	}
	return &definition{json: text, yaml: yml}, nil
}

type definer struct {
	service *Service
	schemas object
	err     error
}

func (d *definer) operation(op *Operation) object {
	out := object{
		"operationId": op.ID,
		"summary":     op.Summary,
		"description": d.description(op),
		"parameters":  d.parameters(op),
		"responses":   d.responses(op),
	}
	if op.Tag != "" {
		out["tags"] = []string{op.Tag}
	}
	if op.Public {
		out["security"] = []object{}
	} else {
		out["security"] = []object{{"token": []string{}}}
		out["x-required-acl"] = d.service.RequiredAccess(op)
	}
	if op.Body != nil {
		out["requestBody"] = object{
			"required": !op.BodyOptional,
			"content":  object{"application/json": object{"schema": d.schema(op.Body)}},
		}
	}
	return out
}

func (d *definer) description(op *Operation) string {
	parts := []string{}
	if access := d.service.RequiredAccess(op); access != "" {
		parts = append(parts, "**Required ACL:** `"+access+"`")
	}
	if op.Description != "" {
		parts = append(parts, op.Description)
	}
	return strings.Join(parts, "\n\n")
}

func (d *definer) parameters(op *Operation) []object {
	out := []object{}
	for _, seg := range segments(op.Path) {
		if name, ok := parameter(seg); ok {
			p := object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}}
			if name == op.Pattern {
				p["description"] = "An ACL pattern, percent-encoded: `#` as `%23`."
			}
			out = append(out, p)
		}
	}
	for _, q := range op.Query {
		p := object{"name": q.Name, "in": "query", "schema": d.schema(q.Schema)}
		if q.Description != "" {
			p["description"] = q.Description
		}
		if q.Required {
			p["required"] = true
		}
		out = append(out, p)
	}
	if op.Tenanted {
		out = append(out, object{
			"name": "Wazo-Tenant", "in": "header", "schema": object{"type": "string", "format": "uuid"},
			"description": "The tenant to act in: the token's own or one below it. The token's own by default.",
		})
	}
	return out
}

func (d *definer) responses(op *Operation) object {
	success := object{"description": http.StatusText(op.Success)}
	produces := op.Produces
	if produces == "" {
		produces = "application/json"
	}
	switch {
	case op.Reply != nil:
		success["content"] = object{produces: object{"schema": d.schema(op.Reply)}}
	case op.Produces != "":
		success["content"] = object{produces: object{"schema": object{}}}
	}
	if op.Conditional {
		success["headers"] = object{"ETag": object{
			"description": "Changes whenever the object does; send it back in If-Match to change only what you have read.",
			"schema":      object{"type": "string"},
		}}
	}
	out := object{strconv.Itoa(op.Success): success}
	for _, status := range d.refusals(op) {
		out[strconv.Itoa(status)] = object{"description": http.StatusText(status)}
	}
	return out
}

func (d *definer) refusals(op *Operation) []int {
	all := append([]int{http.StatusInternalServerError, http.StatusServiceUnavailable}, op.Statuses...)
	if !op.Public {
		all = append(all, http.StatusUnauthorized, http.StatusForbidden)
	}
	if op.Produces == "" {
		all = append(all, http.StatusNotAcceptable)
	}
	if op.Body != nil {
		all = append(all, http.StatusBadRequest, http.StatusUnsupportedMediaType)
	}
	if len(op.Query) > 0 {
		all = append(all, http.StatusBadRequest)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// schema answers the schema itself, or a reference to it when it has a name.
func (d *definer) schema(s *Schema) object {
	if s.Name == "" {
		return d.inline(s)
	}
	if _, known := d.schemas[s.Name]; !known {
		d.schemas[s.Name] = object{} // ends recursion
		d.schemas[s.Name] = d.inline(s)
	} else if full, ok := d.schemas[s.Name].(object); ok && len(full) > 0 && len(full["properties"].(object)) != len(s.Properties) && d.err == nil {
		d.err = fmt.Errorf("two schemas are called %q", s.Name)
	}
	ref := object{"$ref": "#/components/schemas/" + s.Name}
	if s.Nullable {
		return object{"nullable": true, "allOf": []object{ref}}
	}
	return ref
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
	set("nullable", true, s.Nullable && s.Name == "" && s.Type != "")
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
	if s.Type == "object" {
		d.properties(s, out)
	}
	return out
}

// defaultValue is the default as a value, which both JSON and YAML can write.
func defaultValue(s *Schema) any {
	var v any
	_ = json.Unmarshal(s.Default, &v) // checked when the schema was made
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
