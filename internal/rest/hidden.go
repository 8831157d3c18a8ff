package rest

import (
	"reflect"
	"slices"
	"strings"
)

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
