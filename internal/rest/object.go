package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
)

// Object is a JSON object as a client sent it: parsed strictly and checked against a schema.
type Object struct {
	schema *Schema
	values map[string]any
}

// Object wraps a part of a body that was parsed strictly, and checked against this schema.
func (s *Schema) Object(values map[string]any) Object { return Object{s, values} }

// Has reports whether the client sent the field, even as null.
func (o Object) Has(name string) bool {
	_, ok := o.values[name]
	return ok
}

// Values returns everything that was sent, by name.
func (o Object) Values() map[string]any { return o.values }

// Value returns what was sent: nil, bool, string, json.Number, []any or map[string]any.
func (o Object) Value(name string) any { return o.values[name] }

// Without returns what was sent but for one field.
func (o Object) Without(name string) Object {
	values := maps.Clone(o.values)
	delete(values, name)
	return Object{o.schema, values}
}

// Into sets the fields of *dst, a struct of the schema's type, that were sent and are not read-only; the others keep their
// values. A slice, map or nested object is replaced, never merged: fields of a nested object that were not sent get their
// defaults, or are zero. A number in a field of type any becomes a json.Number. A UUID becomes lower case, whatever the client
// wrote.
func (o Object) Into(dst any) error {
	v, err := o.schema.target(dst)
	if err != nil {
		return err
	}
	for i := range o.schema.Properties {
		p := &o.schema.Properties[i]
		value, sent := p.in(o.values)
		if !sent || p.ReadOnly || p.index == nil {
			continue
		}
		if err := setField(v.FieldByIndex(p.index), p.Schema.taken(value)); err != nil {
			// The schema accepts more than the type can hold, but the fault is still the client's value.
			return &apierr.Error{Kind: apierr.Invalid, Err: fmt.Errorf("reading %s: %w", p.Name, err), Fields: []apierr.Field{{
				Name: p.Name, Constraint: "type", Value: p.Schema.Type, Message: "Is not of the form that it must have",
			}}}
		}
	}
	return nil
}

// SetDefaults sets the fields of *dst, a struct of the schema's type, to the defaults in the schema.
func (s *Schema) SetDefaults(dst any) error {
	v, err := s.target(dst)
	if err != nil {
		return err
	}
	for i := range s.Properties {
		p := &s.Properties[i]
		if p.Schema.Default == nil || p.index == nil {
			continue
		}
		if err := setField(v.FieldByIndex(p.index), p.Schema.Default); err != nil {
			return fmt.Errorf("default of %s: %w", p.Name, err)
		}
	}
	return nil
}

// target returns the struct behind dst, which must be of the schema's own type: its fields are found by their positions.
func (s *Schema) target(dst any) (reflect.Value, error) {
	v := reflect.ValueOf(dst)
	if s.made == nil || v.Kind() != reflect.Pointer || v.IsNil() || v.Type().Elem() != s.made {
		return v, fmt.Errorf("a %T was given to the schema of %v", dst, s.made)
	}
	return v.Elem(), nil
}

func setField(field reflect.Value, value any) error {
	text, err := Marshal(value)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	field.SetZero()
	return dec.Decode(field.Addr().Interface())
}

// taken returns what the schema takes of a checked value: no unknown names, nothing that is read-only, UUIDs in lower case, and
// the defaults of what was not sent.
func (s *Schema) taken(value any) any {
	switch v := value.(type) {
	case nil:
		if s.NullIsDefault && s.Default != nil {
			return s.Default
		}
	case string:
		if s.Format == "uuid" {
			return strings.ToLower(v)
		}
	case []any:
		if s.Items == nil {
			return v
		}
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = s.Items.taken(item)
		}
		return out
	case map[string]any:
		switch {
		case s.Union != nil:
			if kind := s.Union.kind(v); kind != nil {
				return kind.taken(v)
			}
		case s.Values != nil:
			out := make(map[string]any, len(v))
			for name, item := range v {
				out[name] = s.Values.taken(item)
			}
			return out
		case s.Type == "object":
			return s.takenObject(v)
		}
	}
	return value
}

func (s *Schema) takenObject(sent map[string]any) map[string]any {
	out := make(map[string]any, len(s.Properties))
	for i := range s.Properties {
		p := &s.Properties[i]
		if value, ok := p.in(sent); ok && !p.ReadOnly {
			out[p.Name] = p.Schema.taken(value)
		} else if p.Schema.Default != nil {
			out[p.Name] = p.Schema.Default
		}
	}
	return out
}

// Without returns a value in the form of ParseJSON as it is for a reader to whom some objects are hidden. hidden reports whether a value that a
// tag ref or names declares, such as "contexts.name", is that of one. Such an attribute is null, if it can be. An object that has another's
// key by the key's own name stands for that one: it is no item of a list, and null elsewhere. What cannot be null stays, without what an object
// of a union shows of the hidden one beside its key. The value that is given may be changed.
func (s *Schema) Without(value any, hidden func(ref string, value any) bool) any {
	value, _ = s.without(value, hidden)
	return value
}

// without is Without, and reports whether the value stands for a hidden object.
func (s *Schema) without(value any, hidden func(ref string, value any) bool) (shown any, gone bool) {
	switch v := value.(type) {
	case []any:
		if s.Items == nil {
			return value, false
		}
		out := make([]any, 0, len(v))
		for _, item := range v {
			if item, gone := s.Items.without(item, hidden); !gone {
				out = append(out, item)
			}
		}
		return out, false
	case map[string]any:
		switch {
		case s.Union != nil:
			if kind := s.Union.kind(v); kind != nil {
				kind.withoutShown(v, hidden)
				return kind.without(v, hidden)
			}
		case s.Values != nil:
			for name, item := range v {
				if v[name], gone = s.Values.without(item, hidden); gone {
					delete(v, name)
				}
			}
			return v, false
		default:
			for i := range s.Properties {
				gone = s.Properties[i].without(v, hidden) || gone
			}
			return v, gone
		}
	}
	return value, false
}

// withoutShown hides what one of a union's objects shows of a hidden object that it keeps the key of.
func (s *Schema) withoutShown(object map[string]any, hidden func(ref string, value any) bool) {
	if !slices.ContainsFunc(s.Properties, func(p Property) bool {
		return p.Required && p.Ref != "" && object[p.Name] != nil && hidden(p.Ref, object[p.Name])
	}) {
		return
	}
	for i := range s.Properties {
		if p := &s.Properties[i]; p.ReadOnly && object[p.Name] != nil {
			object[p.Name] = nil
		}
	}
}

// without hides the property of an object, and reports whether it is the key by which the object stands for a hidden one.
func (p *Property) without(object map[string]any, hidden func(ref string, value any) bool) bool {
	value := object[p.Name]
	if value == nil {
		return false
	}
	shown, gone := p.Schema.without(value, hidden)
	if p.Ref != "" && hidden(p.Ref, value) {
		if strings.HasSuffix(p.Ref, "."+p.Name) {
			return true
		}
		gone = true
	}
	if object[p.Name] = shown; gone && p.Schema.Nullable {
		object[p.Name] = nil
	}
	return false
}

// Writes reports whether two values that the schema accepts, in the form of ParseJSON, are the same to who writes them.
func (s *Schema) Writes(value, other any) bool {
	return reflect.DeepEqual(s.taken(value), s.taken(other))
}
