package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/pathtemplate"
)

// definitionOperations serve the definition itself, to everybody: a console needs it before login. It is written on the first request.
func (s *Service) definitionOperations() []Operation {
	serve := func(path, form string, written func() []byte) Operation {
		return Operation{
			Method: http.MethodGet, Path: path, Public: true, ID: "get_definition_" + form, Tag: "definition",
			Summary: "This definition, as " + strings.ToUpper(form), Success: http.StatusOK, Produces: "application/" + form, Conditional: true,
			Handle: func(context.Context, *Request) (Reply, error) {
				return Reply{Body: written(), Header: http.Header{"Cache-Control": {"no-cache"}}}, nil
			},
		}
	}
	inYAML := sync.OnceValue(func() []byte {
		var read any // YAML has all of JSON
		if err := yaml.Unmarshal(s.spec(), &read); err != nil {
			panic(fmt.Sprintf("reading a definition: %v", err))
		}
		return must(yaml.Marshal(read))
	})
	return []Operation{serve("/api/openapi.json", "json", s.Definition), serve("/api/api.yml", "yaml", inYAML)}
}

// Definition returns the service's OpenAPI 3.0 document, as JSON. It panics on a mistake in the declaration that Mount does not find: a value
// that JSON does not have, or a column that no object has.
func (s *Service) Definition() []byte { return s.spec() }

type object = map[string]any

func must[T any](value T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("writing a definition: %v", err))
	}
	return value
}

func document(s *Service, ops []Operation) object {
	d := definer{Service: s, schemas: object{}}
	d.schemas["Error"], d.schemas["Problem"] = d.inline(d.refusal()), d.inline(SchemaOf[problem]())
	paths, all := object{}, []object{}
	for i := range ops {
		op := &ops[i]
		item, ok := paths[op.Path].(object)
		if !ok {
			item = object{}
			paths[op.Path] = item
		}
		one := d.operation(op)
		item[strings.ToLower(op.Method)], all = one, append(all, one)
	}
	d.columns()
	parameters, responses := share(all)
	schemes := object{"token": object{
		"type": "apiKey", "in": "header", "name": "X-Auth-Token",
		"description": "An access token, from POST /token of the authentication service.",
	}}
	if slices.ContainsFunc(ops, func(op Operation) bool { return op.Basic }) {
		schemes["basic"] = object{"type": "http", "scheme": "basic", "description": "A user's name or confirmed address, and the password."}
	}
	info := object{"title": cmp.Or(s.Title, s.Name), "version": cmp.Or(s.Version, "1.0"), "description": s.Description}
	if s.Contact != "" {
		info["contact"] = object{"name": s.Contact}
	}
	return object{
		"openapi":    "3.0.3",
		"info":       info,
		"servers":    []object{{"url": cmp.Or(s.Prefix, "/")}},
		"tags":       tagsOf(s, ops),
		"paths":      paths,
		"components": object{"schemas": d.schemas, "parameters": parameters, "responses": responses, "securitySchemes": schemes},
	}
}

// tagsOf lists the operations' tags, in the order in which a reader meets them.
func tagsOf(s *Service, ops []Operation) []object {
	seen, out := map[string]bool{"": true}, []object{}
	for i := range ops {
		name := ops[i].Tag
		if seen[name] {
			continue
		}
		seen[name] = true
		tag := object{"name": name}
		if doc := s.Tags[name]; doc != "" {
			tag["description"] = doc
		}
		out = append(out, tag)
	}
	return out
}

// definer writes one definition.
type definer struct {
	*Service

	schemas    object
	namesAlone bool // named schemas are referred to, and not written
}

// refusal returns the schema of the service's refusals, from the form that makes them.
func (d *definer) refusal() *Schema {
	body := d.Errors(&apierr.Error{Kind: apierr.Invalid, Message: "What was refused, and why"}, time.Time{})
	t := reflect.TypeOf(body)
	s := *SchemaFor(t)
	s.Name = ""
	if len(s.Properties) == 0 { // otherwise each property has an example of its own
		s.Example = must(Marshal(body))
	}
	return &s
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
	if title := d.title(op.Path); title != "" {
		out["x-title"] = title
	}
	if op.Master == InMaster {
		out["x-master-tenant"] = true
	}
	if op.Unimplemented {
		out["x-unimplemented"] = true
	}
	if op.Public {
		out["security"] = []object{}
		if op.Basic {
			out["security"] = []object{{"basic": []string{}}, {}}
		}
		if op.Instead != "" {
			out["x-instead-acl"] = op.Instead
		}
	} else {
		out["security"] = []object{{"token": []string{}}}
		out["x-required-acl"] = d.RequiredAccess(op)
	}
	if op.Body != nil {
		out["requestBody"] = object{
			"required": !op.BodyOptional,
			"content":  object{cmp.Or(op.Consumes, jsonType): d.body(op)},
		}
	}
	return out
}

// body returns a body's schema, and the example of it that a console offers to send.
func (d *definer) body(op *Operation) object {
	if op.Body.Name == "" || op.Body.Example == nil {
		out := object{"schema": d.schema(op.Body)}
		if sent, ok := d.sent(op.Body).(object); ok && len(sent) > 0 {
			out["example"] = sent
		}
		return out
	}
	schema := *op.Body
	schema.Example = nil
	return object{"schema": d.schema(&schema), "example": decoded(op.Body.Example)}
}

func (d *definer) description(op *Operation) string {
	access := d.RequiredAccess(op)
	if access == "" {
		return op.Description
	}
	return strings.TrimSuffix("**Required ACL:** `"+access+"`\n\n"+op.Description, "\n\n")
}

func (d *definer) parameters(op *Operation) []object {
	out := []object{}
	for _, name := range must(pathtemplate.Parse(op.Path)).Parameters() {
		p := object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}, "example": d.pathExample(name)}
		if doc := d.Docs["{"+name+"}"]; doc != "" {
			p["description"] = doc
		}
		if name == op.Pattern {
			p["description"] = "An ACL pattern, percent-encoded: # as %23."
			p["x-acl-pattern"] = true
		}
		out = append(out, p)
	}
	for _, q := range op.Query {
		schema := d.schema(q.Schema)
		delete(schema, "example") // a console sends the example, and a filter by one finds nothing
		p := object{"name": q.Name, "in": "query", "schema": schema}
		if q.Description != "" {
			p["description"] = q.Description
		}
		if q.Required {
			p["required"] = true
		}
		if len(q.Views) > 0 {
			views := object{}
			for _, name := range slices.Sorted(maps.Keys(q.Views)) { // names of components must not depend on chance
				views[name] = d.schema(q.Views[name])
			}
			p["x-views"] = views
		}
		out = append(out, p)
	}
	sends := func(when bool, header string, schema object, description string) {
		if when {
			schema["type"] = "string"
			out = append(out, object{"name": header, "in": "header", "schema": schema, "description": description})
		}
	}
	sends(op.Idempotent, "Idempotency-Key", object{"minLength": 1, "maxLength": 255},
		"Any text that no other request of the caller has. A request that is sent again with it does nothing, and gets the same response, for a day.")
	sends(op.Conditional, "If-None-Match", object{}, "The entity tag of what the client has: while that is what there is, the response is 304.")
	changes := op.Method != http.MethodGet && slices.Contains(op.Statuses, http.StatusPreconditionFailed) && op.honoursIfMatch()
	sends(changes, "If-Match", object{},
		"The entity tag of what the client has read: if that has changed since, nothing is done, and the response is 412.")
	sends(op.Tenanted, "Wazo-Tenant", object{"format": "uuid"}, "The tenant to act in: the token's own or one below it. The token's own by default.")
	return out
}

// pathExample returns an example of a path parameter. A console sends it: what is a key names no object that anybody has.
func (d *definer) pathExample(name string) string {
	switch example, ok := d.Examples["{"+name+"}"]; {
	case ok:
		return example
	case strings.HasSuffix(name, "_id"):
		return "2147483647"
	default:
		return formats["uuid"].Example
	}
}

func (d *definer) responses(op *Operation) object {
	success := object{"description": statusText(op.Success)}
	switch {
	case op.Reply != nil:
		success["content"] = object{cmp.Or(op.Produces, jsonType): object{"schema": d.schema(op.Reply)}}
	case op.Produces != "":
		success["content"] = object{op.Produces: object{"schema": object{}}}
	}
	if op.Also != "" {
		content, ok := success["content"].(object)
		if !ok {
			content = object{}
			success["content"] = content
		}
		content[op.Also] = object{"schema": object{"type": "string"}}
	}
	out := object{strconv.Itoa(op.Success): success}
	headers := object{}
	if op.Conditional || op.Tagged {
		headers["ETag"] = header("Changes whenever the object does; send it back in If-Match to change only what you have read.")
	}
	if op.Conditional {
		out["304"] = object{"description": "The object has still the entity tag that If-None-Match names", "headers": headers}
	}
	if op.Located {
		headers["Location"] = header("Where what was made is, or where to go on.")
	}
	if len(headers) > 0 {
		success["headers"] = headers
	}
	for _, status := range d.refusals(op) {
		refusal := object{"description": statusText(status)}
		if status != http.StatusNotAcceptable && status != http.StatusUnsupportedMediaType { // which have an empty body
			content := object{
				jsonType:    object{"schema": object{"$ref": "#/components/schemas/Error"}},
				problemType: object{"schema": object{"$ref": "#/components/schemas/Problem"}},
			}
			if strings.HasPrefix(op.Produces, htmlType) { // a person reads it
				content[op.Produces] = object{"schema": object{}}
			}
			refusal["content"] = content
		}
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == http.StatusConflict && op.Idempotent {
			refusal["headers"] = object{"Retry-After": header("In how many seconds to try again.")}
		}
		out[strconv.Itoa(status)] = refusal
	}
	for status, schema := range op.Replies {
		body := d.schema(schema)
		if status >= http.StatusBadRequest {
			body = object{"oneOf": []object{{"$ref": "#/components/schemas/Error"}, body}}
		}
		out[strconv.Itoa(status)] = object{"description": statusText(status), "content": object{jsonType: object{"schema": body}}}
	}
	return out
}

func header(description string) object {
	return object{"description": description, "schema": object{"type": "string"}}
}

// statusText is never empty: a response must have a description.
func statusText(status int) string { return cmp.Or(http.StatusText(status), "Success") }

func (d *definer) refusals(op *Operation) []int {
	// Every target can be malformed, or too long.
	all := append([]int{http.StatusBadRequest, http.StatusRequestURITooLong, http.StatusInternalServerError, http.StatusServiceUnavailable}, op.Statuses...)
	if !op.Public {
		all = append(all, http.StatusUnauthorized, http.StatusForbidden)
	}
	if op.Produces == "" && !op.Unimplemented {
		all = append(all, http.StatusNotAcceptable)
	}
	if !op.Unimplemented { // a body that the operation does not take is refused all the same
		all = append(all, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if op.Conditional {
		all = append(all, http.StatusPreconditionFailed)
	}
	if strings.Contains(op.Path, "{") {
		all = append(all, http.StatusNotFound)
	}
	if op.Method != http.MethodGet && op.Method != http.MethodHead && !op.Public {
		all = append(all, http.StatusConflict)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

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
	if _, ok := d.schemas[s.Name]; ok || d.namesAlone {
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
		out["example"] = s.Sample()
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

// sent returns a value that can be sent as it stands: what is required, and texts. It chooses no key and no password, and names no object
// that need not be named, since that one may not exist.
func (d *definer) sent(s *Schema) any {
	switch {
	case s.Example == nil && s.Union != nil:
		return d.sent(s.Union.Kinds[0].Schema)
	case s.Example != nil || s.Type != "object" || s.Values != nil:
		return s.Sample()
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

// decoded returns a default or an example: SchemaOf, or Mount, has read it.
func decoded(text json.RawMessage) any {
	value, _ := ParseJSON(text)
	return value
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

// share replaces the parameters and responses that several operations have by references to components, and returns these.
func share(ops []object) (parameters, responses object) {
	named, answers := shared{}, shared{}
	for _, op := range ops {
		for _, p := range op["parameters"].([]object) {
			named.add(p["in"].(string)+"."+p["name"].(string), p)
		}
		all := op["responses"].(object)
		for _, code := range slices.Sorted(maps.Keys(all)) {
			status, _ := strconv.Atoi(code)
			answers.add(strings.ReplaceAll(http.StatusText(status), " ", ""), all[code].(object))
		}
	}
	return named.components("parameters"), answers.components("responses")
}

// shared is what operations have under a name: its forms, each as often as there are operations that have it.
type shared map[string][][]object

func (s shared) add(name string, part object) {
	i := slices.IndexFunc(s[name], func(form []object) bool { return reflect.DeepEqual(form[0], part) })
	if i < 0 {
		i, s[name] = len(s[name]), append(s[name], nil)
	}
	s[name][i] = append(s[name][i], part)
}

// components returns the most frequent form of each name, if several operations have it, and makes what they have a reference to it.
func (s shared) components(kind string) object {
	out := object{}
	for name, forms := range s {
		most := slices.MaxFunc(forms, func(a, b []object) int { return len(a) - len(b) })
		if len(most) < 2 {
			continue
		}
		out[name] = maps.Clone(most[0])
		for _, part := range most {
			clear(part)
			part["$ref"] = "#/components/" + kind + "/" + name
		}
	}
	return out
}
