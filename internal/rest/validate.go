package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ringfence/ringfence/internal/apierr"
)

// maxFields is about how many wrong fields one refusal lists: a long list of wrong items would
// make an answer many times longer than the body.
const maxFields = 100

// Validate checks a strictly parsed JSON value (see ParseJSON) and returns what is wrong with
// it, in the schema's order. Unknown keys are ignored, as existing clients expect, except
// those that differ from a known one only in case. A property that is read-only is not looked at.
// Where anything may be, text still may not hold control characters, and a number must fit a 64-bit float.
func (s *Schema) Validate(path string, value any) []apierr.Field {
	if value == nil {
		if s.Nullable {
			return nil
		}
		return wrong(path, "not_null", "not_null", "May not be null")
	}
	fields := s.validate(path, value)
	if len(fields) > 0 || s.Check == nil {
		return fields
	}
	fields = s.Check(value)
	for i := range fields {
		fields[i].Name = join(path, fields[i].Name)
	}
	return fields
}

// typeNames are how refusals call values of the JSON types.
var typeNames = map[string]string{
	"object": "an object", "array": "a list", "string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false",
}

func (s *Schema) validate(path string, value any) []apierr.Field {
	if s.Type == "" {
		return s.validateAny(path, value)
	}
	switch v := value.(type) {
	case map[string]any:
		if s.Type == "object" {
			return s.validateObject(path, v)
		}
	case []any:
		if s.Type == "array" {
			return s.validateList(path, v)
		}
	case string:
		if s.Type == "string" {
			return s.validateString(path, v)
		}
	case json.Number:
		switch s.Type {
		case "integer":
			return s.validateInteger(path, v.String())
		case "number":
			return s.validateNumber(path, v)
		}
	case bool:
		if s.Type == "boolean" {
			return nil
		}
	}
	return wrong(path, "type", s.Type, "Must be %s", typeNames[s.Type])
}

func wrong(path, constraint string, value any, format string, args ...any) []apierr.Field {
	return []apierr.Field{{Name: path, Constraint: constraint, Value: value, Message: fmt.Sprintf(format, args...)}}
}

func (s *Schema) validateObject(path string, object map[string]any) []apierr.Field {
	switch {
	case s.Values != nil:
		return s.validateValues(path, object)
	case s.Union != nil:
		return s.Union.validate(path, object)
	}
	var out []apierr.Field
	known := 0
	for i := range s.Properties {
		p := &s.Properties[i]
		if _, own := object[p.Name]; own {
			known++
		}
		if p.ReadOnly {
			continue
		}
		value, sent := p.in(object)
		switch {
		case sent:
			out = append(out, p.Schema.Validate(join(path, p.Name), value)...)
		case p.Required && (s.Key == "" || object[s.Key] == nil):
			out = append(out, wrong(join(path, p.Name), "required", "required", "Is required")...)
		}
	}
	if known == len(object) {
		return out
	}
	return append(out, s.misspelt(path, object)...)
}

// misspelt finds names that differ from a known one only in case.
func (s *Schema) misspelt(path string, object map[string]any) []apierr.Field {
	known := make(map[string]string, len(s.Properties))
	for i := range s.Properties {
		known[foldName(s.Properties[i].Name)] = s.Properties[i].Name
	}
	var out []apierr.Field
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if similar, ok := known[foldName(name)]; ok && similar != name {
			out = append(out, wrong(join(path, similar), "case", similar, "Was sent in another spelling; names are case-sensitive")...)
		}
	}
	return out
}

// validateValues checks an object whose names the client chooses.
func (s *Schema) validateValues(path string, object map[string]any) []apierr.Field {
	var out []apierr.Field
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if len(out) >= maxFields {
			break
		}
		at := path
		if plainName(name) {
			at = join(path, name)
		}
		if strings.ContainsFunc(name, unicode.IsControl) {
			out = append(out, wrong(path, "control", "control", "A name in it may not hold control characters")...)
		}
		out = append(out, s.Values.Validate(at, object[name])...)
	}
	return out
}

// validateAny checks a value that may be anything. It may hold line breaks if the schema says so.
func (s *Schema) validateAny(path string, value any) []apierr.Field {
	anything := &Schema{Nullable: true, Multiline: s.Multiline}
	switch v := value.(type) {
	case string:
		return anything.validateString(path, v)
	case json.Number:
		return anything.validateNumber(path, v)
	case []any:
		return (&Schema{Items: anything}).validateList(path, v)
	case map[string]any:
		return (&Schema{Values: anything}).validateValues(path, v)
	}
	return nil
}

func join(path, name string) string {
	if path == "" || name == "" || name[0] == '[' {
		return path + name
	}
	return path + "." + name
}

func (s *Schema) validateList(path string, list []any) []apierr.Field {
	if f := checkLength(path, len(list), s.MinItems, s.MaxItems, "items"); f != nil {
		return f
	}
	items := s.Items
	if items == nil {
		items = &Schema{Nullable: true, Multiline: s.Multiline}
	}
	var out []apierr.Field
	for i, item := range list {
		if len(out) >= maxFields {
			break
		}
		out = append(out, items.Validate(path+"["+strconv.Itoa(i)+"]", item)...)
	}
	return out
}

func checkLength(path string, n int, low, high *int, unit string) []apierr.Field {
	switch {
	case low != nil && high != nil && (n < *low || n > *high):
		return wrong(path, "length", map[string]any{"min": *low, "max": *high}, "Must have between %d and %d %s", *low, *high, unit)
	case low != nil && n < *low:
		return wrong(path, "length", map[string]any{"min": *low}, "Must have at least %d %s", *low, unit)
	case high != nil && n > *high:
		return wrong(path, "length", map[string]any{"max": *high}, "Must have at most %d %s", *high, unit)
	}
	return nil
}

func (s *Schema) validateString(path, text string) []apierr.Field {
	if hasControl(text, s.Multiline) {
		return wrong(path, "control", "control", "May not hold control characters")
	}
	if f := checkLength(path, utf8.RuneCountInString(text), s.MinLength, s.MaxLength, "characters"); f != nil {
		return f
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, text) {
		return wrong(path, "enum", map[string]any{"choices": s.Enum}, "Must be one of %s", strings.Join(s.Enum, ", "))
	}
	if s.re != nil && !s.re.MatchString(text) {
		return wrong(path, "regex", s.Pattern, "Must match %s", s.Pattern)
	}
	if f := formats[s.Format]; f != nil {
		return f.validate(path, text)
	}
	return nil
}

// hasControl reports whether text holds a control character. In text of several lines, line breaks and tabs are none.
func hasControl(text string, multiline bool) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && (!multiline || (r != '\n' && r != '\r' && r != '\t'))
	})
}

// validateInteger takes decimal digits only: no float path, so nothing is rounded.
func (s *Schema) validateInteger(path, text string) []apierr.Field {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || text == "-0" {
		return wrong(path, "type", "integer", "Must be an integer of at most 64 bits, without fraction or exponent")
	}
	if s.Minimum != nil && n < *s.Minimum || s.Maximum != nil && n > *s.Maximum {
		return s.outOfRange(path, s.Minimum != nil && n < *s.Minimum)
	}
	return nil
}

func (s *Schema) validateNumber(path string, number json.Number) []apierr.Field {
	f, err := number.Float64()
	if err != nil || math.IsInf(f, 0) {
		return wrong(path, "type", "number", "Must be a number that a 64-bit float can hold")
	}
	if s.Minimum != nil && f < float64(*s.Minimum) || s.Maximum != nil && f > float64(*s.Maximum) {
		return s.outOfRange(path, s.Minimum != nil && f < float64(*s.Minimum))
	}
	return nil
}

// outOfRange refuses a number. Of one that is below its range a maximum that only bounds what can be stored is not told.
func (s *Schema) outOfRange(path string, below bool) []apierr.Field {
	switch {
	case s.Maximum == nil || below && *s.Maximum >= math.MaxInt32:
		return wrong(path, "range", map[string]any{"min": *s.Minimum}, "Must be %d or more", *s.Minimum)
	case s.Minimum == nil:
		return wrong(path, "range", map[string]any{"max": *s.Maximum}, "Must be %d or less", *s.Maximum)
	default:
		return wrong(path, "range", map[string]any{"min": *s.Minimum, "max": *s.Maximum}, "Must be between %d and %d", *s.Minimum, *s.Maximum)
	}
}
