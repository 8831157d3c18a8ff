package rest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

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

// At returns the property that was made from a struct field, or nil.
func (s *Schema) At(index []int) *Property {
	if i := slices.IndexFunc(s.Properties, func(p Property) bool { return slices.Equal(p.index, index) }); i >= 0 {
		return &s.Properties[i]
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

// SchemaOf returns the schema of a type, from its struct tags. It is made once for each type, and must not be changed. SchemaOf
// panics on a tag that makes no sense: a mistake in the declaration, which shows when the program starts and in every test.
func SchemaOf[T any]() *Schema { return SchemaFor(reflect.TypeFor[T]()) }

// SchemaFor is [SchemaOf] for a type that is known as a value.
func SchemaFor(t reflect.Type) *Schema {
	return once(t, func() *Schema { return schemaOf(place{text: t.String()}, t, "") })
}

// schemas caches the schemas of types, without a field's tag: each a *Schema by its reflect.Type.
var schemas sync.Map

// once makes the schema of a type, unless that was done. Two that are made concurrently are alike; the first is kept.
func once(t reflect.Type, schema func() *Schema) *Schema {
	if s, ok := schemas.Load(t); ok {
		return s.(*Schema)
	}
	s, _ := schemas.LoadOrStore(t, schema())
	return s.(*Schema)
}

// Described is a type that describes its own JSON: a union, a pair, a range. JSONSchema is called on a zero value. The tags of a
// field of the type add to the description, as for other fields.
type Described interface{ JSONSchema() *Schema }

// Wrapper is a type whose JSON is that of another type, which it holds. It need not know this package.
type Wrapper interface{ JSONType() reflect.Type }

// place is where in a declaration a schema is made.
type place struct {
	text string // for the panic
	in   []reflect.Type
}

func (p place) field(name string) place { return place{p.text + "." + name, p.in} }

func (p place) panicf(format string, args ...any) {
	panic(fmt.Sprintf("schema of %s: %s", p.text, fmt.Sprintf(format, args...)))
}

var (
	timeType      = reflect.TypeFor[time.Time]()
	rawType       = reflect.TypeFor[json.RawMessage]()
	describedType = reflect.TypeFor[Described]()
	wrapperType   = reflect.TypeFor[Wrapper]()
)

func schemaOf(at place, t reflect.Type, tag reflect.StructTag) *Schema {
	nullable := t.Kind() == reflect.Pointer
	if nullable {
		t = t.Elem()
	}
	s := baseOf(at, t, tag)
	s.Nullable = s.Nullable || nullable
	s.constrain(at, tag)
	s.bound(at, t)
	switch null := tag.Get("null"); null {
	case "":
	case "default":
		s.Nullable, s.NullIsDefault = true, true
	default:
		at.panicf("null is %q, not default", null)
	}
	if text, ok := tag.Lookup("default"); ok {
		s.Default = s.tagValue(at, "default", text)
	}
	if text, ok := tag.Lookup("example"); ok {
		s.Example = s.tagValue(at, "example", text)
	}
	if !s.hasExample() {
		at.panicf("no example of it follows from its schema: give it one")
	}
	return s
}

// baseOf returns the schema of a type, without the tag of a field. The caller may change it, but not what it points to.
func baseOf(at place, t reflect.Type, tag reflect.StructTag) *Schema {
	s := &Schema{}
	switch kind := t.Kind(); {
	case t == timeType:
		s.Type, s.Format = "string", "date-time"
	case t == rawType || kind == reflect.Interface:
		s.Nullable, s.Multiline = true, true
	case reflect.PointerTo(t).Implements(describedType):
		*s = *once(t, func() *Schema { return described(at, t) })
	case reflect.PointerTo(t).Implements(wrapperType):
		return baseOf(at, reflect.New(t).Interface().(Wrapper).JSONType(), tag)
	case kind == reflect.Struct:
		if slices.Contains(at.in, t) {
			at.panicf("%s holds itself", t)
		}
		at.in = append(slices.Clone(at.in), t)
		*s = *once(t, func() *Schema {
			return &Schema{Type: "object", Name: componentName(t.Name()), Properties: propertiesOf(at, t, nil), made: t}
		})
	case kind == reflect.Map && t.Key().Kind() == reflect.String:
		s.Type, s.Values = "object", schemaOf(at.field("values"), t.Elem(), "")
	case kind == reflect.Slice:
		s.Type, s.Items = "array", schemaOf(at.field("items"), t.Elem(), itemTag(at, tag))
	case kind == reflect.String:
		s.Type = "string"
	case kind == reflect.Bool:
		s.Type = "boolean"
	case reflect.Int <= kind && kind <= reflect.Int64:
		s.Type = "integer"
	case kind == reflect.Float64:
		s.Type = "number"
	default:
		at.panicf("there is none for a %s", t)
	}
	return s
}

func described(at place, t reflect.Type) *Schema {
	s := *reflect.New(t).Interface().(Described).JSONSchema()
	s.made = nil // so that Object.Into refuses it: its properties are not at the type's fields
	if err := s.compile(); err != nil {
		at.panicf("%v", err)
	}
	return &s
}

// componentName makes a component name for the definition from the name of a Go type: Page[example.org/a.User] becomes PageUser.
func componentName(name string) string {
	var b strings.Builder
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return strings.ContainsRune("[],*· ", r) }) {
		part = part[strings.LastIndexAny(part, "./")+1:]
		b.WriteString(part)
	}
	return b.String()
}

func propertiesOf(at place, t reflect.Type, index []int) []Property {
	var out []Property
	add := func(p Property) {
		i := slices.IndexFunc(out, func(q Property) bool { return q.Name == p.Name })
		switch {
		case i < 0:
			out = append(out, p)
		case len(out[i].index) == len(p.index):
			at.panicf("two fields are called %s", p.Name)
		case len(out[i].index) > len(p.index):
			out[i] = p // as in encoding/json: the field nearest to the top wins
		}
	}
	for f := range t.Fields() {
		at := at.field(f.Name)
		place := append(slices.Clone(index), f.Index...)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			if f.Type.Kind() != reflect.Struct {
				at.panicf("only a struct can be embedded, not a %s", f.Type)
			}
			for _, p := range propertiesOf(at, f.Type, place) {
				add(p)
			}
		case !f.IsExported():
		case name == "":
			at.panicf(`it has no json tag; one of "-" leaves it out`)
		default:
			add(Property{
				Name:       name,
				Required:   boolTag(at, f.Tag, "required"),
				Or:         orTag(at, f.Tag),
				Fixed:      boolTag(at, f.Tag, "fixed"),
				Deprecated: boolTag(at, f.Tag, "deprecated"),
				ReadOnly:   boolTag(at, f.Tag, "readOnly"),
				WriteOnly:  boolTag(at, f.Tag, "writeOnly"),
				Ref:        refTag(at, f.Tag),
				When:       whenTag(at, f.Tag),
				Schema:     schemaOf(at, f.Type, f.Tag),
				index:      place,
			})
		}
	}
	return out
}

// tagTypes lists the JSON types for which a tag means something; none: all.
var tagTypes = map[string][]string{
	"doc": nil, "required": nil, "or": nil, "fixed": nil, "deprecated": nil, "readOnly": nil, "writeOnly": nil, "null": nil, "default": nil,
	"example": nil, "when": nil, "minLength": {"string"}, "maxLength": {"string"}, "pattern": {"string"}, "enum": {"string"},
	"format": {"string"}, "multiline": {"string"},
	"minimum": {"integer", "number"}, "maximum": {"integer", "number"},
	"minItems": {"array"}, "maxItems": {"array"}, "ref": {"string", "integer", "array"}, "names": {"string", "integer", "array"},
}

func (s *Schema) constrain(at place, tag reflect.StructTag) {
	for key := range tagPairs(at, tag) {
		types, known := tagTypes[key]
		switch {
		case known && types != nil && !slices.Contains(types, s.Type):
			at.panicf("%s does not go with %s", key, typeText(s.Type))
		case strings.HasPrefix(key, "items.") && s.Type != "array":
			at.panicf("%s does not go with %s", key, typeText(s.Type))
		case !known:
			for name := range tagTypes {
				if strings.EqualFold(name, key) { // of items, the items' own schema says it
					at.panicf("the tag %s is spelt %s", key, name)
				}
			}
		}
	}
	s.Doc = cmp.Or(tag.Get("doc"), s.Doc)
	s.Format = cmp.Or(tag.Get("format"), s.Format)
	if p := tag.Get("pattern"); p != "" {
		s.Pattern, s.re = p, nil
	}
	if err := s.compile(); err != nil {
		at.panicf("%v", err)
	}
	if f := formats[s.Format]; f != nil && f.Pattern != "" && s.Pattern != "" {
		at.panicf("it has a pattern beside that of the format %s", s.Format)
	}
	s.Multiline = s.Multiline || boolTag(at, tag, "multiline")
	setBound(at, tag, "minLength", &s.MinLength, 0)
	setBound(at, tag, "maxLength", &s.MaxLength, 0)
	setBound(at, tag, "minItems", &s.MinItems, 0)
	setBound(at, tag, "maxItems", &s.MaxItems, 0)
	setBound(at, tag, "minimum", &s.Minimum, math.MinInt64)
	setBound(at, tag, "maximum", &s.Maximum, math.MinInt64)
	if e := tag.Get("enum"); e != "" {
		s.Enum = strings.Split(e, ",")
	}
}

// setBound sets a bound from a tag. Without one, that of a type that describes itself stays.
func setBound[N int | int64](at place, tag reflect.StructTag, key string, bound **N, least int64) {
	text, ok := tag.Lookup(key)
	if !ok {
		return
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		at.panicf("%s: %v", key, err)
	case n < least:
		at.panicf("%s cannot be %d", key, n)
	}
	*bound = new(N(n))
}

func typeText(jsonType string) string {
	if jsonType == "" {
		return "anything"
	}
	return "type " + jsonType
}

// bound ensures that what the schema accepts fits into the integer type.
func (s *Schema) bound(at place, t reflect.Type) {
	if s.Type != "integer" || t.Bits() == 64 {
		return
	}
	low, high := int64(math.MinInt64)>>(64-t.Bits()), int64(math.MaxInt64)>>(64-t.Bits())
	s.Minimum, s.Maximum = cmp.Or(s.Minimum, &low), cmp.Or(s.Maximum, &high)
	if *s.Minimum < low || *s.Maximum > high {
		at.panicf("its bounds do not fit into a %s", t)
	}
}

// tagValue returns the value of a tag, which is JSON or, for a string, plain text.
func (s *Schema) tagValue(at place, key, text string) json.RawMessage {
	raw := json.RawMessage(text)
	if s.Type == "string" && text != "null" {
		quoted, err := Marshal(text)
		if err != nil {
			at.panicf("%s: %v", key, err)
		}
		raw = quoted
	}
	value, err := ParseJSON(raw)
	if err != nil {
		at.panicf("its %s is not JSON: %v", key, err)
	}
	if wrong := s.Validate(key, value); len(wrong) > 0 {
		at.panicf("%s: %s", wrong[0].Name, wrong[0].Message)
	}
	return raw
}

func tagPairs(at place, tag reflect.StructTag) func(func(key, value string) bool) {
	return func(yield func(key, value string) bool) {
		rest := strings.TrimLeft(string(tag), " ")
		for rest != "" {
			key, quoted, ok := strings.Cut(rest, ":")
			text, err := strconv.QuotedPrefix(quoted)
			if !ok || err != nil {
				at.panicf("its tag is malformed: %s", tag)
			}
			value, err := strconv.Unquote(text)
			if err != nil {
				at.panicf("its tag is malformed: %s", tag)
			}
			if !yield(key, value) {
				return
			}
			rest = strings.TrimLeft(quoted[len(text):], " ")
		}
	}
}

// itemTag makes the tag of a list's items from the list's: items.X becomes X.
func itemTag(at place, tag reflect.StructTag) reflect.StructTag {
	var b strings.Builder
	for key, value := range tagPairs(at, tag) {
		if name, ok := strings.CutPrefix(key, "items."); ok {
			if slices.Contains([]string{"required", "readOnly", "writeOnly", "ref"}, name) {
				at.panicf("%s is about a field, not about what is in a list", name)
			}
			fmt.Fprintf(&b, "%s:%q ", name, value)
		}
	}
	return reflect.StructTag(b.String())
}

var refForm = regexp.MustCompile(`^[a-z_]+(/[a-z_]+)*\.[a-z_]+$`)

// refTag returns what a value refers to. The tag ref says that the engine checks it, names that it does not.
func refTag(at place, tag reflect.StructTag) string {
	found := ""
	for _, key := range []string{"ref", "names"} {
		ref, ok := tag.Lookup(key)
		switch {
		case ok && !refForm.MatchString(ref):
			at.panicf("%s is a collection and one of its attributes, as in contexts.name, not %q", key, ref)
		case ok && found != "":
			at.panicf("it has both ref and names")
		case ok:
			found = ref
		}
	}
	return found
}

var whenForm = regexp.MustCompile(`^[a-z_.]+=[a-z0-9_,]+$`)

// whenTag returns when a value counts.
func whenTag(at place, tag reflect.StructTag) map[string][]string {
	text, ok := tag.Lookup("when")
	if !ok {
		return nil
	}
	when := map[string][]string{}
	for part := range strings.SplitSeq(text, ";") {
		if !whenForm.MatchString(part) {
			at.panicf("when is attributes with values, as in kind=one,other;target.kind=one, not %q", text)
		}
		name, values, _ := strings.Cut(part, "=")
		when[name] = strings.Split(values, ",")
	}
	return when
}

func orTag(at place, tag reflect.StructTag) string {
	other, ok := tag.Lookup("or")
	if ok && (other == "" || !boolTag(at, tag, "required")) {
		at.panicf("or names an attribute that is taken for one that is required")
	}
	return other
}

func boolTag(at place, tag reflect.StructTag, key string) bool {
	text, ok := tag.Lookup(key)
	if ok && text != "true" && text != "false" {
		at.panicf("%s is true or false, not %q", key, text)
	}
	return text == "true"
}
