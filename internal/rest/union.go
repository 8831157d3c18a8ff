package rest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
)

// Union is what is particular to an object that is of one of several kinds: a property that all of them have says which.
type Union struct {
	// By is the name of that property.
	By    string
	Kinds []Kind

	by *Schema
}

// Kind is one kind of a union's objects.
type Kind struct {
	// Value is what the union's property says: "user".
	Value string
	// Schema is that of the other properties, or of a union in its turn. UnionOf adds the union's own property.
	Schema *Schema
}

// UnionOf makes the schema of a union, for the method JSONSchema of the type that holds one. name is that of the union
// in the definition, where each kind is called after it; by is the property that says which kind an object is of.
// It panics on a mistake in the declaration.
func UnionOf(name, by string, kinds ...Kind) *Schema {
	u := &Union{By: by, by: &Schema{Type: "string"}}
	for _, k := range kinds {
		u.by.Enum = append(u.by.Enum, k.Value)
		k.Schema = k.Schema.kindOf(by, k.Value, name+CamelCase(k.Value))
		u.Kinds = append(u.Kinds, k)
	}
	return &Schema{Name: name, Type: "object", Union: u}
}

// kindOf is the schema by another name and with one more property, which always has this value. Of a union it is each kind that has it, and
// is called after the union.
func (s *Schema) kindOf(by, value, name string) *Schema {
	out := *s
	out.Name = name
	if s.Union != nil {
		union := *s.Union
		union.Kinds = slices.Clone(union.Kinds)
		for i, k := range union.Kinds {
			union.Kinds[i].Schema = k.Schema.kindOf(by, value, name+CamelCase(k.Value))
		}
		out.Union = &union
		return &out
	}
	if s.Type != "object" || s.Values != nil || s.Property(by) != nil {
		panic(fmt.Sprintf("the kind %q of a union is no object, or has a property %s of its own", value, by))
	}
	constant := Property{Name: by, Required: true, Schema: &Schema{Type: "string", Enum: []string{value}}}
	out.Properties = append([]Property{constant}, s.Properties...)
	return &out
}

// CamelCase makes a part of a component's name: fax_to_mail is FaxToMail.
func CamelCase(value string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == '_' || r == '-' || r == ' ' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// kind is the schema of the kind that an object says it is of, or nil.
func (u *Union) kind(object map[string]any) *Schema {
	value, _ := object[u.By].(string)
	for i := range u.Kinds {
		if u.Kinds[i].Value == value {
			return u.Kinds[i].Schema
		}
	}
	return nil
}

func (u *Union) validate(path string, object map[string]any) []apierr.Field {
	at := join(path, u.By)
	value, sent := object[u.By]
	if !sent {
		return wrong(at, "required", "required", "Is required")
	}
	if f := u.by.Validate(at, value); f != nil {
		return f
	}
	return u.kind(object).Validate(path, object)
}
