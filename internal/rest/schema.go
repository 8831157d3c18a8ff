package rest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Schema is what a JSON value may be. It both documents and validates.
//
// [SchemaOf] makes it from a Go type's struct tags:
//
//	json       the name; "-" leaves the field out
//	doc        what it is
//	required   "true": must be sent on create
//	readOnly   "true": ignored when sent
//	writeOnly  "true": never answered
//	default    the value on create when it is not sent, as JSON, or as plain text for a string
//	minLength, maxLength   in characters
//	pattern    a Go regular expression
//	enum       choices, separated by commas
//	minimum, maximum       of integers
//	format     email, uuid, date-time
//	multiline  "true": line breaks and tabs are allowed; other control characters never are
//	minItems, maxItems     of lists
//	items.X    X of the items of a list: items.maxLength, items.pattern, items.minItems...
//
// A pointer may be null; nothing else may.
type Schema struct {
	Name       string // of a named object, for references between definitions
	Type       string // object, array, string, integer, number, boolean; "" is anything
	Format     string
	Doc        string
	Nullable   bool
	Multiline  bool
	Default    json.RawMessage
	MinLength  *int
	MaxLength  *int
	Pattern    string
	Enum       []string
	Minimum    *int64
	Maximum    *int64
	MinItems   *int
	MaxItems   *int
	Items      *Schema
	Properties []Property

	re *regexp.Regexp
}

// Property is one property of an object.
type Property struct {
	Name      string
	Required  bool
	ReadOnly  bool
	WriteOnly bool
	Schema    *Schema

	index []int // of the struct field
}

// Property answers the property of that name, or nil.
func (s *Schema) Property(name string) *Property {
	for i := range s.Properties {
		if s.Properties[i].Name == name {
			return &s.Properties[i]
		}
	}
	return nil
}

// Partial is the schema of an update: nothing is required at the first level.
func (s *Schema) Partial() *Schema {
	p := *s
	if p.Name != "" {
		p.Name += "Update"
	}
	p.Properties = append([]Property(nil), s.Properties...)
	for i := range p.Properties {
		p.Properties[i].Required = false
	}
	return &p
}

// SchemaOf makes the schema of a type from its struct tags. It panics on a tag that makes no
// sense: a mistake in the declaration, seen when the program starts and by every test.
func SchemaOf[T any]() *Schema {
	return schemaOf(reflect.TypeFor[T](), "")
}

// ListOf is the schema of a list answer. filtered says that the service's lists count the
// items that the filters left, too (DESIGN section 2, "Lists, objects, updates").
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

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

func schemaOf(t reflect.Type, tag reflect.StructTag) *Schema {
	s := &Schema{}
	if t.Kind() == reflect.Pointer {
		s.Nullable = true
		t = t.Elem()
	}
	if inner, ok := jsonColumn(t); ok {
		t = inner
	}
	switch {
	case t == timeType:
		s.Type, s.Format = "string", "date-time"
	case t == rawType || t.Kind() == reflect.Interface:
		s.Nullable = true
	case t.Kind() == reflect.Struct:
		s.Type, s.Name = "object", t.Name()
		s.Properties = propertiesOf(t, nil)
	case t.Kind() == reflect.Map:
		s.Type = "object"
	case t.Kind() == reflect.Slice:
		s.Type = "array"
		s.Items = schemaOf(t.Elem(), itemTag(tag))
	case t.Kind() == reflect.String:
		s.Type = "string"
	case t.Kind() == reflect.Bool:
		s.Type = "boolean"
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64:
		s.Type = "integer"
	case t.Kind() == reflect.Float64:
		s.Type = "number"
	default:
		panic(fmt.Sprintf("no JSON schema for %s", t))
	}
	s.constrain(tag)
	return s
}

// jsonColumn answers T of a store.JSON[T].
func jsonColumn(t reflect.Type) (reflect.Type, bool) {
	if t.Kind() != reflect.Struct || !strings.HasPrefix(t.Name(), "JSON[") || t.NumField() != 1 {
		return nil, false
	}
	return t.Field(0).Type, true
}

func propertiesOf(t reflect.Type, index []int) []Property {
	var out []Property
	for f := range t.Fields() {
		at := append(append([]int(nil), index...), f.Index...)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			out = append(out, propertiesOf(f.Type, at)...)
			continue
		}
		if name == "-" || name == "" || !f.IsExported() {
			continue
		}
		out = append(out, Property{
			Name:      name,
			Required:  f.Tag.Get("required") == "true",
			ReadOnly:  f.Tag.Get("readOnly") == "true",
			WriteOnly: f.Tag.Get("writeOnly") == "true",
			Schema:    schemaOf(f.Type, f.Tag),
			index:     at,
		})
	}
	return out
}

func (s *Schema) constrain(tag reflect.StructTag) {
	s.Doc = tag.Get("doc")
	if f := tag.Get("format"); f != "" {
		s.Format = f
	}
	s.Multiline = tag.Get("multiline") == "true"
	s.MinLength, s.MaxLength = intTag(tag, "minLength"), intTag(tag, "maxLength")
	s.MinItems, s.MaxItems = intTag(tag, "minItems"), intTag(tag, "maxItems")
	s.Minimum, s.Maximum = int64Tag(tag, "minimum"), int64Tag(tag, "maximum")
	if p := tag.Get("pattern"); p != "" {
		s.Pattern, s.re = p, regexp.MustCompile(p)
	}
	if e := tag.Get("enum"); e != "" {
		s.Enum = strings.Split(e, ",")
	}
	if d, ok := tag.Lookup("default"); ok {
		s.Default = defaultOf(s, d)
	}
}

func defaultOf(s *Schema, text string) json.RawMessage {
	if s.Type == "string" && text != "null" {
		quoted, err := json.Marshal(text)
		if err != nil {
			panic(err)
		}
		return quoted
	}
	if !json.Valid([]byte(text)) {
		panic(fmt.Sprintf("default %q is not JSON", text))
	}
	return json.RawMessage(text)
}

// itemTag makes the tag of a list's items from the list's: items.X becomes X.
func itemTag(tag reflect.StructTag) reflect.StructTag {
	var b strings.Builder
	for rest := string(tag); ; {
		_, after, found := strings.Cut(rest, "items.")
		if !found {
			return reflect.StructTag(b.String())
		}
		key, quoted, _ := strings.Cut(after, ":")
		value, err := strconv.QuotedPrefix(quoted)
		if err != nil {
			panic(fmt.Sprintf("struct tag %s: %v", tag, err))
		}
		fmt.Fprintf(&b, "%s:%s ", key, value)
		rest = quoted[len(value):]
	}
}

func intTag(tag reflect.StructTag, key string) *int {
	n := int64Tag(tag, key)
	if n == nil {
		return nil
	}
	i := int(*n)
	return &i
}

func int64Tag(tag reflect.StructTag, key string) *int64 {
	text, ok := tag.Lookup(key)
	if !ok {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("struct tag %s: %v", key, err))
	}
	return &n
}
