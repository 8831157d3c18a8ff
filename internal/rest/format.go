package rest

import (
	"fmt"
	"net/mail"
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/apierr"
)

// Format is a named form of text: `format:"uuid"` in a struct tag.
type Format struct {
	Name string
	// Doc describes text of this form, for the definition. It follows the field's own description.
	Doc string
	// Pattern is a Go regular expression that begins with ^ and ends with $. It may be empty where there is a Check.
	Pattern string
	// Example has the form, and does no harm if it is sent.
	Example string
	// Check reports whether text has the form, if a pattern cannot express it. Message is the error for clients: "Must be a
	// UUID".
	Check   func(text string) bool
	Message string

	re *regexp.Regexp
}

// formats are the registered formats. Nothing is added after the program's packages are initialised.
var formats = map[string]*Format{}

// RegisterFormats makes formats known to struct tags. It is called when a package is initialised, and panics on a mistake.
func RegisterFormats(all ...Format) {
	for _, f := range all {
		if err := f.register(); err != nil {
			panic(fmt.Sprintf("format %s: %v", f.Name, err))
		}
	}
}

func (f Format) register() error {
	if formats[f.Name] != nil || f.Name == "" {
		return fmt.Errorf("the name is taken")
	}
	if f.Pattern == "" && f.Check == nil || f.Check != nil && f.Message == "" {
		return fmt.Errorf("it has neither a pattern nor a check with a message")
	}
	if f.Pattern != "" {
		var err error
		if f.re, err = compilePattern(f.Pattern); err != nil {
			return err
		}
	}
	if len(f.validate("example", f.Example)) > 0 || hasControl(f.Example, false) {
		return fmt.Errorf("its example %q has another form", f.Example)
	}
	formats[f.Name] = &f
	return nil
}

func (f *Format) validate(path, text string) []apierr.Field {
	if f.re != nil && !f.re.MatchString(text) {
		return wrong(path, "regex", f.Pattern, "Must match %s", f.Pattern)
	}
	if f.Check != nil && !f.Check(text) {
		return wrong(path, "type", f.Name, "%s", f.Message)
	}
	return nil
}

// patterns caches the compiled patterns: each a *regexp.Regexp by its text.
var patterns sync.Map

// compilePattern compiles a pattern, and refuses one that is not anchored at both ends: it would accept anything before or after
// its match. Each pattern is compiled once.
func compilePattern(pattern string) (*regexp.Regexp, error) {
	if re, ok := patterns.Load(pattern); ok {
		return re.(*regexp.Regexp), nil
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	begins := everywhere(parsed, syntax.OpBeginText, func(int) int { return 0 })
	ends := everywhere(parsed, syntax.OpEndText, func(parts int) int { return parts - 1 })
	if !begins || !ends {
		return nil, fmt.Errorf("pattern: %s is not about the whole text; begin it with ^ and end it with $", pattern)
	}
	re, err := regexp.Compile(pattern)
	if err == nil {
		patterns.Store(pattern, re)
	}
	return re, err
}

// everywhere reports whether an operation stands at one end of every alternative of an expression.
func everywhere(re *syntax.Regexp, op syntax.Op, end func(parts int) int) bool {
	switch re.Op {
	case syntax.OpCapture, syntax.OpConcat:
		return everywhere(re.Sub[end(len(re.Sub))], op, end)
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !everywhere(sub, op, end) })
	default:
		return re.Op == op
	}
}

func init() {
	RegisterFormats(
		Format{Name: "uuid", Message: "Must be a UUID", Check: isUUID, Example: "5f9b2a8e-3c1d-4e7a-9b60-2d8f4c6a1e03"},
		Format{Name: "email", Message: "Must be an e-mail address", Check: isEmail, Example: "alice@example.org"},
		Format{Name: "date-time", Message: "Must be a date and time as RFC 3339 writes them", Check: isMoment, Example: "2026-01-31T12:00:00Z"},
	)
}

// isUUID accepts only the usual form, in either case, although uuid.Parse accepts several.
func isUUID(text string) bool {
	_, err := uuid.Parse(text)
	return err == nil && len(text) == 36
}

// isEmail accepts only an address, without a name.
func isEmail(text string) bool {
	a, err := mail.ParseAddress(text)
	return err == nil && a.Address == text && a.Name == ""
}

// isMoment accepts a time that can be both read and written again: package time reads the zone +24:00, but does not write it.
func isMoment(text string) bool {
	var at time.Time
	if at.UnmarshalText([]byte(text)) != nil {
		return false
	}
	_, err := at.MarshalText()
	return err == nil
}
