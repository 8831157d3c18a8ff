package crud

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/georgysavva/scany/v2/dbscan"
	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/rest"
)

// kind says how a column's values are compared.
type kind int

const (
	text kind = iota
	integer
	boolean
	identifier // a UUID
	other
)

// postgres returns the PostgreSQL type of a key of that kind.
func (k kind) postgres() string {
	switch k {
	case integer:
		return "bigint"
	case identifier:
		return "uuid"
	default:
		return "text"
	}
}

// fromList returns the expression for such a value at a place of a JSON list.
func (k kind) fromList(list string, at int) string {
	value := list + " ->> " + strconv.Itoa(at)
	switch k {
	case identifier:
		return "as_uuid(" + value + ")"
	case integer:
		return "CAST(" + value + " AS bigint)"
	case boolean:
		return "CAST(" + value + " AS boolean)"
	default:
		return value
	}
}

// column is one field of T that is stored in the table.
type column struct {
	name      string
	scan      string // its name in the result of a SELECT, which maps it to the field
	kind      kind
	index     []int
	generated bool // the database sets it
	computed  bool // an expression of Resource.Virtual: read, never written
	virtual   bool // an expression instead of a name
	reads     seenSQL
	joining   bool // stored in the joining table of a link
	ref       string
	owns      bool // the object belongs to the tenant of what it refers to
	filled    bool // a number or a time of the table, never null
	fixed     bool // set only on create
	of        string
}

// selected returns the column as a SELECT or a RETURNING names it.
func (c column) selected() string {
	if c.scan == c.name { // an expression never is
		return c.name
	}
	return c.name + ` AS "` + c.scan + `"`
}

// columnsOf reads the tags of T.
func columnsOf(t reflect.Type) []column { return columnsWithin(t, "", "", nil) }

// columnsWithin reads the tags of a struct whose column names begin with prefix.
func columnsWithin(t reflect.Type, prefix, scan string, index []int) []column {
	var out []column
	for _, f := range reflect.VisibleFields(t) {
		place := append(slices.Clone(index), f.Index...)
		if inner, ok := f.Tag.Lookup("prefix"); ok {
			out = append(out, columnsWithin(f.Type, prefix+inner, scan+dbscan.SnakeCaseMapper(f.Name)+".", place)...)
			continue
		}
		name := f.Tag.Get("db")
		if name == "" || name == "-" || f.Anonymous {
			continue
		}
		out = append(out, column{
			name: prefix + name, scan: scan + name, kind: kindOf(f), index: place,
			filled:    f.Type.Kind() == reflect.Int64 || f.Type == reflect.TypeFor[time.Time](),
			generated: f.Tag.Get("generated") == "true", computed: f.Tag.Get("computed") == "true", joining: f.Tag.Get("joining") == "true",
			ref: f.Tag.Get("ref"), owns: f.Tag.Get("owner") == "true", fixed: f.Tag.Get("fixed") == "true", of: f.Tag.Get("of"),
		})
	}
	return out
}

func kindOf(f reflect.StructField) kind {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.String && f.Tag.Get("format") == "uuid":
		return identifier
	case t.Kind() == reflect.String:
		return text
	case t.Kind() == reflect.Bool:
		return boolean
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64:
		return integer
	default: // time.Time, store.JSON
		return other
	}
}

// argument turns a client's text into a value to compare the column with. It returns false if no row can have that value.
func (c column) argument(typed string) (any, bool) {
	switch c.kind {
	case text:
		return typed, true
	case integer:
		n, err := strconv.ParseInt(typed, 10, 64)
		return n, err == nil
	case boolean:
		return rest.ParseBool(typed)
	case identifier:
		id, err := uuid.Parse(typed)
		return id.String(), err == nil && len(typed) == 36
	default:
		t, err := time.Parse(time.RFC3339, typed)
		return t, err == nil
	}
}

// typed parses a value of the column that the database wrote as text.
func (c column) typed(text string) any {
	if value, ok := c.argument(text); ok {
		return value
	}
	return text
}

// sorted returns the expression that orders a list: it ignores case and accents.
func (c column) sorted() string {
	if c.kind == text {
		return "fold(" + c.name + ")"
	}
	return c.name
}

// searched returns the expression in which a search term is looked for.
func (c column) searched() string {
	if c.kind == text {
		return "fold(" + c.name + ")"
	}
	return "CAST(" + c.name + " AS text)"
}

// Placeholders returns "$from, $from+1, ..." for n arguments, or NULL for none, which IN never matches.
func Placeholders(from, n int) string {
	if n == 0 {
		return "NULL"
	}
	parts := make([]string, n)
	for i := range parts {
		parts[i] = "$" + strconv.Itoa(from+i)
	}
	return strings.Join(parts, ", ")
}

// arguments collects a statement's values.
type arguments struct{ values []any }

// add appends a value and returns its placeholder.
func (a *arguments) add(v any) string {
	a.values = append(a.values, v)
	return fmt.Sprintf("$%d", len(a.values))
}

// addAll appends texts and returns their placeholders: "$1, $2".
func (a *arguments) addAll(texts []string) string {
	from := len(a.values) + 1
	for _, text := range texts {
		a.add(text)
	}
	return Placeholders(from, len(texts))
}
