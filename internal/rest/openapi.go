package rest

import (
	"cmp"
	"context"
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

// definition is the OpenAPI document of a service, in both its forms, each written on the first request.
type definition struct{ json, yaml func() ([]byte, error) }

// definitionOperations serve the definition itself, to everybody: a console needs it before login.
func (s *Service) definitionOperations() []Operation {
	serve := func(write func() ([]byte, error)) Handler {
		return func(context.Context, *Request) (Reply, error) {
			text, err := write()
			return Reply{Body: text, Header: http.Header{"Cache-Control": {"no-cache"}}}, err
		}
	}
	return []Operation{
		{
			Method: http.MethodGet, Path: "/api/openapi.json", Public: true, ID: "get_definition_json", Tag: "definition",
			Summary: "This definition, as JSON", Success: http.StatusOK, Produces: "application/json",
			Conditional: true, Handle: serve(func() ([]byte, error) { return s.spec.json() }),
		},
		{
			Method: http.MethodGet, Path: "/api/api.yml", Public: true, ID: "get_definition_yaml", Tag: "definition",
			Summary: "This definition, as YAML", Success: http.StatusOK, Produces: "application/yaml",
			Conditional: true, Handle: serve(func() ([]byte, error) { return s.spec.yaml() }),
		},
	}
}

// Definition returns the service's OpenAPI 3.0 document, as JSON. Mount has checked that it can be written.
func (s *Service) Definition() []byte {
	text, err := s.spec.json()
	if err != nil {
		panic(fmt.Sprintf("writing the definition of the service %s: %v", s.Name, err))
	}
	return text
}

type object = map[string]any

func newDefinition(s *Service, ops []Operation) *definition {
	write := func(marshal func(any) ([]byte, error)) func() ([]byte, error) {
		return sync.OnceValues(func() ([]byte, error) {
			doc, err := document(s, ops)
			if err != nil {
				return nil, err
			}
			return marshal(doc)
		})
	}
	return &definition{json: write(Marshal), yaml: write(yaml.Marshal)}
}

func document(s *Service, ops []Operation) (object, error) {
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
	parameters, responses := d.share(all)
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
	}, d.err
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

// definer writes one definition. It keeps the first error.
type definer struct {
	*Service

	schemas object
	err     error
}

func (d *definer) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// refusal returns the schema of the service's refusals, from the form that makes them.
func (d *definer) refusal() *Schema {
	body := d.Errors(&apierr.Error{Kind: apierr.Invalid, Message: "What was refused, and why"}, time.Time{})
	t := reflect.TypeOf(body)
	s := *SchemaFor(t)
	s.Name = ""
	if len(s.Properties) == 0 { // otherwise each property has an example of its own
		text, err := Marshal(body)
		if err != nil {
			d.fail(err)
		}
		s.Example = text
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
			out["example"] = d.plain(sent)
		}
		return out
	}
	schema := *op.Body
	schema.Example = nil
	return object{"schema": d.schema(&schema), "example": decoded(op.Body.Example)}
}

func (d *definer) description(op *Operation) string {
	parts := []string{}
	if access := d.RequiredAccess(op); access != "" {
		parts = append(parts, "**Required ACL:** `"+access+"`")
	}
	if op.Description != "" {
		parts = append(parts, op.Description)
	}
	return strings.Join(parts, "\n\n")
}

func (d *definer) parameters(op *Operation) []object {
	out := []object{}
	template, err := pathtemplate.Parse(op.Path)
	if err != nil {
		d.fail(err)
	}
	for _, name := range template.Parameters() {
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
	if op.Idempotent {
		out = append(out, object{
			"name": "Idempotency-Key", "in": "header", "schema": object{"type": "string", "minLength": 1, "maxLength": 255},
			"description": "Any text that no other request of the caller has. A request that is sent again with it does nothing, and gets the same response, for a day.",
		})
	}
	if op.Conditional {
		out = append(out, object{
			"name": "If-None-Match", "in": "header", "schema": object{"type": "string"},
			"description": "The entity tag of what the client has: while that is what there is, the response is 304.",
		})
	}
	if op.Method != http.MethodGet && slices.Contains(op.Statuses, http.StatusPreconditionFailed) && op.honoursIfMatch() {
		out = append(out, object{
			"name": "If-Match", "in": "header", "schema": object{"type": "string"},
			"description": "The entity tag of what the client has read: if that has changed since, nothing is done, and the response is 412.",
		})
	}
	if op.Tenanted {
		out = append(out, object{
			"name": "Wazo-Tenant", "in": "header", "schema": object{"type": "string", "format": "uuid"},
			"description": "The tenant to act in: the token's own or one below it. The token's own by default.",
		})
	}
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
