package rest

import (
	"encoding/json"
	"fmt"
	"math"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
)

// Validate checks a strictly parsed JSON value (see ParseJSON) and answers all that is wrong with
// it, in the schema's order. Unknown keys are ignored, as existing clients expect, except
// those that differ from a known one only in case. A property that is read-only is not looked at.
func (s *Schema) Validate(path string, value any) []apierr.Field {
	if value == nil {
		if s.Nullable {
			return nil
		}
		return wrong(path, "not_null", "not_null", "May not be null")
	}
	switch s.Type {
	case "object":
		object, ok := value.(map[string]any)
		if !ok {
			return wrong(path, "type", "object", "Must be an object")
		}
		return s.validateObject(path, object)
	case "array":
		list, ok := value.([]any)
		if !ok {
			return wrong(path, "type", "array", "Must be a list")
		}
		return s.validateList(path, list)
	case "string":
		text, ok := value.(string)
		if !ok {
			return wrong(path, "type", "string", "Must be a string")
		}
		return s.validateString(path, text)
	case "integer":
		number, ok := value.(json.Number)
		if !ok {
			return wrong(path, "type", "integer", "Must be an integer")
		}
		return s.validateInteger(path, number.String())
	case "number":
		number, ok := value.(json.Number)
		if !ok {
			return wrong(path, "type", "number", "Must be a number")
		}
		if f, err := number.Float64(); err != nil || math.IsInf(f, 0) {
			return wrong(path, "type", "number", "Must be a number that a 64-bit float can hold")
		}
	case "boolean":
		if _, ok := value.(bool); !ok {
			return wrong(path, "type", "boolean", "Must be true or false")
		}
	}
	return nil
}

func wrong(path, constraint string, value any, format string, args ...any) []apierr.Field {
	return []apierr.Field{{Name: path, Constraint: constraint, Value: value, Message: fmt.Sprintf(format, args...)}}
}

func (s *Schema) validateObject(path string, object map[string]any) []apierr.Field {
	var out []apierr.Field
	for i := range s.Properties {
		p := &s.Properties[i]
		if p.ReadOnly {
			continue
		}
		value, sent := object[p.Name]
		switch {
		case sent:
			out = append(out, p.Schema.Validate(join(path, p.Name), value)...)
		case p.Required:
			out = append(out, wrong(join(path, p.Name), "required", "required", "Is required")...)
		}
	}
	for _, name := range slices.Sorted(mapKeys(object)) {
		if s.Property(name) != nil {
			continue
		}
		for i := range s.Properties {
			if strings.EqualFold(name, s.Properties[i].Name) {
				out = append(out, wrong(join(path, s.Properties[i].Name), "case", s.Properties[i].Name,
					"Was sent in another spelling; names are case-sensitive")...)
			}
		}
	}
	return out
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (s *Schema) validateList(path string, list []any) []apierr.Field {
	if f := s.checkRange(path, len(list), s.MinItems, s.MaxItems, "items"); f != nil {
		return f
	}
	var out []apierr.Field
	for i, item := range list {
		if s.Items != nil {
			out = append(out, s.Items.Validate(path+"["+strconv.Itoa(i)+"]", item)...)
		}
	}
	return out
}

// checkRange checks a length against bounds of which either may be absent.
func (s *Schema) checkRange(path string, n int, low, high *int, unit string) []apierr.Field {
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
	for _, r := range text {
		if unicode.IsControl(r) && (!s.Multiline || r == 0 || (r != '\n' && r != '\r' && r != '\t')) {
			return wrong(path, "control", "control", "May not hold control characters")
		}
	}
	if f := s.checkRange(path, utf8.RuneCountInString(text), s.MinLength, s.MaxLength, "characters"); f != nil {
		return f
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, text) {
		return wrong(path, "enum", map[string]any{"choices": s.Enum}, "Must be one of %s", strings.Join(s.Enum, ", "))
	}
	if s.re != nil && !s.re.MatchString(text) {
		return wrong(path, "regex", s.Pattern, "Must match %s", s.Pattern)
	}
	switch s.Format {
	case "uuid":
		if _, err := uuid.Parse(text); err != nil || len(text) != 36 {
			return wrong(path, "type", "uuid", "Must be a UUID")
		}
	case "email":
		a, err := mail.ParseAddress(text)
		if err != nil || a.Address != text || a.Name != "" {
			return wrong(path, "type", "email", "Must be an e-mail address")
		}
	case "date-time":
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return wrong(path, "type", "date-time", "Must be a date and time as RFC 3339 writes them")
		}
	}
	return nil
}

// validateInteger takes decimal digits only: no float path, so nothing is rounded.
func (s *Schema) validateInteger(path, text string) []apierr.Field {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || text == "-0" {
		return wrong(path, "type", "integer", "Must be an integer of at most 64 bits, without fraction or exponent")
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil && (n < *s.Minimum || n > *s.Maximum):
		return wrong(path, "range", map[string]any{"min": *s.Minimum, "max": *s.Maximum}, "Must be between %d and %d", *s.Minimum, *s.Maximum)
	case s.Minimum != nil && n < *s.Minimum:
		return wrong(path, "range", map[string]any{"min": *s.Minimum}, "Must be %d or more", *s.Minimum)
	case s.Maximum != nil && n > *s.Maximum:
		return wrong(path, "range", map[string]any{"max": *s.Maximum}, "Must be %d or less", *s.Maximum)
	}
	return nil
}
