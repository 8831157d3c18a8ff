// Package pathtemplate reads path templates, in which {name} stands for any one segment: /users/{user_id}/lines.
package pathtemplate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/internal/target"
)

// MaxParameters is how many parameters one template may have: a match has room for so many values.
const MaxParameters = 6

// Template is a path's segments.
type Template []Segment

// Segment is one segment of a path: text, or the name of a parameter.
type Segment struct {
	Text  string
	Param bool
}

// Parse reads a template. It refuses one that no canonical target can match. "" and "/" have no segment.
func Parse(path string) (Template, error) {
	if path == "" || path == "/" {
		return nil, nil
	}
	if path[0] != '/' {
		return nil, fmt.Errorf("the path does not start with a slash")
	}
	t := make(Template, 0, strings.Count(path, "/"))
	for text := range strings.SplitSeq(path[1:], "/") {
		if name, ok := Parameter(text); ok {
			t = append(t, Segment{name, true})
		} else if text != "" && Canonical("/"+text) {
			t = append(t, Segment{text, false})
		} else {
			return nil, fmt.Errorf("no request can have the segment %q", text)
		}
	}
	return t, nil
}

// Parameter returns the name in "{name}".
func Parameter(text string) (string, bool) {
	if len(text) < 3 || text[0] != '{' || strings.IndexAny(text[1:], "{}") != len(text)-2 || text[len(text)-1] != '}' {
		return "", false
	}
	return text[1 : len(text)-1], true
}

// Canonical reports whether a request's path can be, or begin with, this text.
func Canonical(path string) bool {
	t, err := target.Parse(path)
	return err == nil && t.Path() == path && !t.HasWild()
}

// Segments returns the segments of a path without parameters, such as a prefix.
func Segments(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// Parameters returns the names of the template's parameters.
func (t Template) Parameters() []string {
	var names []string
	for _, s := range t {
		if s.Param {
			names = append(names, s.Text)
		}
	}
	return names
}

// Repeated returns a parameter that the template has twice, or "".
func (t Template) Repeated() string {
	names := t.Parameters()
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return name
		}
	}
	return ""
}

// Numbered returns the template with the parameters {1}, {2} and so on: templates that match the same paths become equal.
func (t Template) Numbered() string {
	var b strings.Builder
	n := 0
	for _, s := range t {
		if s.Param {
			n++
			b.WriteString("/{" + strconv.Itoa(n) + "}")
		} else {
			b.WriteString("/" + s.Text)
		}
	}
	return b.String()
}
