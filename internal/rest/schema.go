package rest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"github.com/ringfence/ringfence/internal/apierr"
)

// Schema describes the JSON values that are allowed. It both documents and validates.
//
// [SchemaOf] makes it from a Go type's struct tags:
//
//	json       the name; "-" leaves the field out
//	doc        what it is
//	required   "true": must be sent on create
//	or         "name": on create, name is taken for it if that is sent alone
//	fixed      "true": set on create and never changed; a value sent later is ignored
//	deprecated "true": clients should not send it
//	readOnly   "true": ignored when sent
//	writeOnly  "true": never answered
//	null       "default": null is taken on create alone, where it stands for the default or, without one, for what is not sent
//	default    the value on create when it is not sent, as JSON, or as plain text for a string
//	minLength, maxLength   in characters
//	pattern    a Go regular expression from ^ to $
//	enum       choices, separated by commas
//	minimum, maximum       of numbers
//	format     of text: email, uuid, date-time, or one that a service has given to [RegisterFormats]
//	ref        "contexts.name": the value is the name of a context that must exist; package crud checks it
//	example    a value that is valid and does no harm, written as a default is; needed only where none follows from the rest
//	multiline  "true": line breaks and tabs are allowed; other control characters never are
//	minItems, maxItems     of lists
//	items.X    X of the items of a list: items.maxLength, items.pattern, items.minItems...
//
// A pointer may be null; nothing else may, but a field that may be anything (any, json.RawMessage).
// A type whose JSON is not what its Go form says is a [Described] or a [Wrapper].
//
// A schema that is in use is never changed: many operations share it.
type Schema struct {
	Name     string // of a named object, for references between definitions
	Type     string // object, array, string, integer, number, boolean; "" is anything
	Format   string
	Doc      string
	Nullable bool
	// NullIsDefault says that null is taken on create alone, where it stands for Default.
	NullIsDefault bool
	Multiline     bool
	Default       json.RawMessage
	Example       json.RawMessage
	MinLength     *int
	MaxLength     *int
	Pattern       string
	Enum          []string
	Minimum       *int64
	Maximum       *int64
	MinItems      *int
	MaxItems      *int
	Items         *Schema
	Properties    []Property
	// Values is what an object's values may be that has any names, not Properties.
	Values *Schema
	// Open says that an object may have other properties beside Properties.
	Open bool
	// Union is set if an object is of one of several kinds, whose Properties replace the object's.
	Union *Union
	// Check finds further errors of a value that is not null and that the rest of the schema accepts. The names of the fields
	// that it returns are relative to the value: "timeout", "[2].exten", or "" for the value itself.
	Check func(value any) []apierr.Field

	// Key is the property by which an object stands for one that exists: nothing else is required beside it. "" is none.
	Key string

	re   *regexp.Regexp
	made reflect.Type // the struct that SchemaOf made it from
}

// Property is one property of an object.
type Property struct {
	Name     string
	Required bool
	// Or is the attribute that is taken for this one on create, if it is sent alone; "" is none. It is always an older name.
	Or string
	// Fixed says that it is set on create and never changed. This package does not enforce it.
	Fixed      bool
	Deprecated bool
	ReadOnly   bool
	WriteOnly  bool
	// Ref is what the value refers to: "contexts.name" is the name of a context. This package does not check it.
	Ref string
	// When says when the value counts: while one of these attributes, of what stands beside it, has one of these values.
	// "destination.type" is an attribute of an attribute. It is nil if the value always counts. This package does not enforce it.
	When   map[string][]string
	Schema *Schema

	index []int // of the struct field
}

// Index returns the index, for reflect's FieldByIndex, of the struct field that the property was made from; nil if it was made by
// hand.
func (p *Property) Index() []int { return p.index }

// in returns what an object was sent with for the property.
func (p *Property) in(object map[string]any) (value any, sent bool) {
	value, sent = object[p.Name]
	if !sent && p.Or != "" {
		value, sent = object[p.Or]
	}
	return value, sent
}

// Property returns the property of that name, or nil.
func (s *Schema) Property(name string) *Property {
	for i := range s.Properties {
		if s.Properties[i].Name == name {
			return &s.Properties[i]
		}
	}
	return nil
}

// Names returns the names of an object's properties that a client can read.
func (s *Schema) Names() []string {
	var names []string
	for i := range s.Properties {
		if p := &s.Properties[i]; !p.WriteOnly {
			names = append(names, p.Name)
		}
	}
	return names
}

// Partial returns the schema of an update: nothing is required at the first level, and nothing there has a default, since what is
// not sent stays as it is.
func (s *Schema) Partial() *Schema {
	p := *s
	if p.Name != "" {
		p.Name += "Update"
	}
	p.Properties = slices.Clone(s.Properties)
	for i := range p.Properties {
		property := &p.Properties[i]
		property.Required, property.Or = false, ""
		if property.Schema.Default != nil || property.Schema.NullIsDefault {
			schema := *property.Schema
			schema.Default = nil
			if schema.NullIsDefault {
				schema.Nullable, schema.NullIsDefault = false, false
			}
			property.Schema = &schema
		}
	}
	return &p
}

// Exemplified returns the schema with an example of the whole, as JSON, where what is made of the parts' examples is not a good one.
func (s *Schema) Exemplified(example string) *Schema {
	e := *s
	e.Example = json.RawMessage(example)
	return &e
}

// ListOf returns the schema of a list's body. filtered says that the service's lists also count the items that match the filters.
func ListOf(item *Schema, filtered bool) *Schema {
	count := func(doc string) *Schema { return &Schema{Type: "integer", Doc: doc} }
	s := &Schema{Type: "object", Properties: []Property{
		{Name: "items", Schema: &Schema{Type: "array", Items: item}},
		{Name: "total", Schema: count("How many there are")},
	}}
	if filtered {
		s.Properties = append(s.Properties, Property{Name: "filtered", Schema: count("How many of them the filters and the search leave")})
	}
	return s
}

// Listed returns a list's body, as ListOf describes it: all items there are.
func Listed[T any](items []T) any {
	return map[string]any{"items": append([]T{}, items...), "total": len(items)}
}

// compile prepares a schema that was written by hand for validation. SchemaOf's schemas are prepared already.
func (s *Schema) compile() error {
	if s == nil || s.made != nil {
		return nil
	}
	if _, known := formats[s.Format]; !known && s.Format != "" {
		return fmt.Errorf("there is no format %q", s.Format)
	}
	if s.Pattern != "" && s.re == nil {
		var err error
		if s.re, err = compilePattern(s.Pattern); err != nil {
			return err
		}
	}
	if s.Union != nil {
		for _, k := range s.Union.Kinds {
			if err := k.Schema.compile(); err != nil {
				return fmt.Errorf("%s: %w", k.Value, err)
			}
		}
	}
	for i := range s.Properties {
		if err := s.Properties[i].Schema.compile(); err != nil {
			return fmt.Errorf("%s: %w", s.Properties[i].Name, err)
		}
	}
	if err := s.Values.compile(); err != nil {
		return err
	}
	return s.Items.compile()
}
