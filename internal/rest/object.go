package rest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// Object is a JSON object as a client sent it: parsed strictly and checked against a schema.
type Object struct {
	schema *Schema
	values map[string]any
}

// Has reports whether the client sent the field, null included.
func (o Object) Has(name string) bool {
	_, ok := o.values[name]
	return ok
}

// Value is what was sent: nil, bool, string, json.Number, []any or map[string]any.
func (o Object) Value(name string) any { return o.values[name] }

// Into sets the fields of *dst, a struct of the type that the schema was made from, that were sent
// and are not read-only; the others keep what they hold. A slice or map is replaced, never merged.
func (o Object) Into(dst any) error {
	v := reflect.ValueOf(dst).Elem()
	for i := range o.schema.Properties {
		p := &o.schema.Properties[i]
		value, sent := o.values[p.Name]
		if !sent || p.ReadOnly {
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("reading %s: %w", p.Name, err)
		}
		field := v.FieldByIndex(p.index)
		field.SetZero()
		if err := json.Unmarshal(text, field.Addr().Interface()); err != nil {
			return fmt.Errorf("reading %s: %w", p.Name, err)
		}
	}
	return nil
}

// SetDefaults gives the fields of *dst their defaults, as the schema has them.
func (s *Schema) SetDefaults(dst any) error {
	v := reflect.ValueOf(dst).Elem()
	for i := range s.Properties {
		p := &s.Properties[i]
		if p.Schema.Default == nil {
			continue
		}
		if err := json.Unmarshal(p.Schema.Default, v.FieldByIndex(p.index).Addr().Interface()); err != nil {
			return fmt.Errorf("default of %s: %w", p.Name, err)
		}
	}
	return nil
}

// foldName maps names that encoding/json or another reader could take for each other to one text.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		// The smallest of the runes that fold to each other: 's', 'S' and U+017F are one.
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, name)
}
