package resttest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Breaks lists what a definition takes away from clients of an older one: operations, parameters, fields, and choices that are gone,
// or have another type, and what has become required.
func Breaks(older, newer []byte) ([]string, error) {
	was, err := openapi3.NewLoader().LoadFromData(older)
	if err != nil {
		return nil, fmt.Errorf("reading the older definition: %w", err)
	}
	is, err := openapi3.NewLoader().LoadFromData(newer)
	if err != nil {
		return nil, fmt.Errorf("reading the newer definition: %w", err)
	}
	b := &breaks{}
	for path, item := range was.Paths.Map() {
		for method, op := range item.Operations() {
			where := method + " " + path
			now := is.Paths.Value(path)
			if now == nil || now.GetOperation(method) == nil {
				b.add(where, "is gone")
				continue
			}
			b.operation(where, op, now.GetOperation(method))
		}
	}
	slices.Sort(b.found)
	return slices.Compact(b.found), nil
}

type breaks struct {
	found []string
	// reply says that it is a reply that is compared: it may promise more.
	reply bool
	// path are the schemas that are being compared, for those that hold themselves.
	path []*openapi3.Schema
}

func (b *breaks) add(where, what string) { b.found = append(b.found, where+" "+what) }

func (b *breaks) operation(where string, was, is *openapi3.Operation) {
	if was.OperationID != is.OperationID {
		b.add(where, "has another operationId")
	}
	for _, p := range was.Parameters {
		now := is.Parameters.GetByInAndName(p.Value.In, p.Value.Name)
		if now == nil {
			b.add(where, "has no parameter "+p.Value.Name)
			continue
		}
		b.schema(where+", parameter "+p.Value.Name, p.Value.Schema, now.Schema)
	}
	for _, p := range is.Parameters {
		if before := was.Parameters.GetByInAndName(p.Value.In, p.Value.Name); p.Value.Required && (before == nil || !before.Required) {
			b.add(where, "requires the parameter "+p.Value.Name)
		}
	}
	if was.RequestBody != nil {
		if is.RequestBody == nil {
			b.add(where, "takes no body")
		} else {
			b.content(where+", body", was.RequestBody.Value.Content, is.RequestBody.Value.Content)
		}
	}
	for status, response := range was.Responses.Map() {
		now := is.Responses.Value(status)
		switch {
		case now == nil && status < fmt.Sprint(http.StatusBadRequest):
			b.add(where, "does not answer "+status)
		case now != nil:
			b.reply = true
			b.content(where+", "+status, response.Value.Content, now.Value.Content)
			b.reply = false
		}
	}
}

func (b *breaks) content(where string, was, is openapi3.Content) {
	for kind, media := range was {
		if is[kind] == nil {
			b.add(where, "is no "+kind)
			continue
		}
		b.schema(where, media.Schema, is[kind].Schema)
	}
}

func (b *breaks) schema(where string, was, is *openapi3.SchemaRef) {
	if was == nil || was.Value == nil || is == nil || is.Value == nil {
		return
	}
	older, newer := whole(was.Value), whole(is.Value)
	if slices.Contains(b.path, older) {
		return
	}
	if was.Ref != "" && slices.ContainsFunc(newer.OneOf, func(k *openapi3.SchemaRef) bool { return k.Ref == was.Ref }) {
		return // there is another form beside it
	}
	b.path = append(b.path, older)
	defer func() { b.path = b.path[:len(b.path)-1] }()
	if b.reply && older.Format == "" && older.Type.Is("string") && newer.Type.Is("string") {
		older, newer = unformatted(older), unformatted(newer)
	}
	if types(older) != types(newer) || older.Format != newer.Format && older.Format != "" {
		b.add(where, fmt.Sprintf("was %s and is %s", types(older), types(newer)))
		return
	}
	for _, choice := range older.Enum {
		if len(newer.Enum) > 0 && !slices.Contains(newer.Enum, choice) {
			b.add(where, fmt.Sprintf("does not know %v", choice))
		}
	}
	for name, property := range older.Properties {
		if newer.Properties[name] == nil {
			b.add(where+": "+name, "is gone")
			continue
		}
		b.schema(where+": "+name, property, newer.Properties[name])
	}
	for _, name := range newer.Required {
		if !b.reply && !slices.Contains(older.Required, name) {
			b.add(where+": "+name, "has become required")
		}
	}
	b.schema(where+": items", older.Items, newer.Items)
	b.schema(where+": values", older.AdditionalProperties.Schema, newer.AdditionalProperties.Schema)
	for _, kind := range older.OneOf {
		i := slices.IndexFunc(newer.OneOf, func(k *openapi3.SchemaRef) bool { return k.Ref == kind.Ref })
		if i < 0 {
			b.add(where, "may not be "+kind.Ref)
			continue
		}
		b.schema(where, kind, newer.OneOf[i])
	}
}

// whole returns the schema to which others stand beside a reference.
func whole(s *openapi3.Schema) *openapi3.Schema {
	if len(s.AllOf) == 1 && len(s.Properties) == 0 {
		return s.AllOf[0].Value
	}
	return s
}

// unformatted returns the schema of a text without its format.
func unformatted(s *openapi3.Schema) *openapi3.Schema {
	out := *s
	out.Format = ""
	return &out
}

func types(s *openapi3.Schema) string {
	if s.Type == nil || len(*s.Type) == 0 {
		return "anything"
	}
	return strings.TrimSpace(strings.Join(*s.Type, " ") + " " + s.Format)
}
