package rest

import (
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
)

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
	s.setNull(at, tag)
	s.setDefault(at, tag)
	s.setExample(at, tag)
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
	"doc": nil, "required": nil, "or": nil, "fixed": nil, "deprecated": nil, "readOnly": nil, "writeOnly": nil, "null": nil, "default": nil, "example": nil, "when": nil,
	"minLength": {"string"}, "maxLength": {"string"}, "pattern": {"string"}, "enum": {"string"},
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
	if doc, ok := tag.Lookup("doc"); ok {
		s.Doc = doc
	}
	if f, ok := tag.Lookup("format"); ok {
		if formats[f] == nil {
			at.panicf("there is no format %q", f)
		}
		s.Format = f
	}
	if p := tag.Get("pattern"); p != "" {
		var err error
		if s.re, err = compilePattern(p); err != nil {
			at.panicf("%v", err)
		}
		s.Pattern = p
	}
	if f := formats[s.Format]; f != nil && f.Pattern != "" && s.Pattern != "" {
		at.panicf("it has a pattern beside that of the format %s", s.Format)
	}
	s.Multiline = s.Multiline || boolTag(at, tag, "multiline")
	setBound(&s.MinLength, intTag(at, tag, "minLength"))
	setBound(&s.MaxLength, intTag(at, tag, "maxLength"))
	setBound(&s.MinItems, intTag(at, tag, "minItems"))
	setBound(&s.MaxItems, intTag(at, tag, "maxItems"))
	setBound(&s.Minimum, int64Tag(at, tag, "minimum"))
	setBound(&s.Maximum, int64Tag(at, tag, "maximum"))
	if e := tag.Get("enum"); e != "" {
		s.Enum = strings.Split(e, ",")
	}
}

// setBound keeps the bound of a type that describes itself if the tag has none.
func setBound[N int | int64](bound **N, tagged *N) {
	if tagged != nil {
		*bound = tagged
	}
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
	if s.Minimum == nil {
		s.Minimum = &low
	}
	if s.Maximum == nil {
		s.Maximum = &high
	}
	if *s.Minimum < low || *s.Maximum > high {
		at.panicf("its bounds do not fit into a %s", t)
	}
}

func (s *Schema) setNull(at place, tag reflect.StructTag) {
	switch tag.Get("null") {
	case "":
	case "default":
		s.Nullable, s.NullIsDefault = true, true
	default:
		at.panicf("null is %q, not default", tag.Get("null"))
	}
}

func (s *Schema) setDefault(at place, tag reflect.StructTag) {
	text, ok := tag.Lookup("default")
	if !ok {
		return
	}
	s.Default = s.tagValue(at, "default", text)
}

func (s *Schema) setExample(at place, tag reflect.StructTag) {
	if text, ok := tag.Lookup("example"); ok {
		s.Example = s.tagValue(at, "example", text)
	}
	if !s.hasExample() {
		at.panicf("no example of it follows from its schema: give it one")
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

func intTag(at place, tag reflect.StructTag, key string) *int {
	n := int64Tag(at, tag, key)
	if n == nil {
		return nil
	}
	if *n < 0 || *n > math.MaxInt32 {
		at.panicf("%s cannot be %d", key, *n)
	}
	i := int(*n)
	return &i
}

func int64Tag(at place, tag reflect.StructTag, key string) *int64 {
	text, ok := tag.Lookup(key)
	if !ok {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		at.panicf("%s: %v", key, err)
	}
	return &n
}
