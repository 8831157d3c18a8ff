package declaration

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/georgysavva/scany/v2/dbscan"
	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/rest"
)

// ColumnKind says how a column's values are compared.
type ColumnKind int

// The kinds of columns.
const (
	Text ColumnKind = iota
	Integer
	Boolean
	Identifier // a UUID
	Other
)

// Postgres returns the PostgreSQL type of a key of that kind.
func (k ColumnKind) Postgres() string {
	switch k {
	case Integer:
		return "bigint"
	case Identifier:
		return "uuid"
	default:
		return "text"
	}
}

// FromList returns the expression for such a value at a place of a JSON list.
func (k ColumnKind) FromList(list string, at int) string {
	value := list + " ->> " + strconv.Itoa(at)
	switch k {
	case Identifier:
		return "as_uuid(" + value + ")"
	case Integer:
		return "CAST(" + value + " AS bigint)"
	case Boolean:
		return "CAST(" + value + " AS boolean)"
	default:
		return value
	}
}

// Column is one field of T that is stored in the table.
type Column struct {
	Name      string
	Scan      string // its name in the result of a SELECT, which maps it to the field
	Kind      ColumnKind
	Index     []int
	Generated bool   // the database sets it
	Computed  bool   // an expression of Resource.Virtual: read, never written
	Virtual   bool   // an expression instead of a name
	Reads     SQL    // the expression
	Joining   bool   // stored in the joining table of a link
	Ref       string // what it refers to, which the engine checks
	Names     string // what it names, which the resource checks
	Owns      bool   // the object belongs to the tenant of what it refers to
	Filled    bool   // a number or a time of the table, never null
	Null      bool   // may be null
	Fixed     bool   // set only on create
	Of        string
}

// Refers returns the collection, and the attribute of its objects, that values of the column are of: "moh.name", or "".
func (c Column) Refers() string { return cmp.Or(c.Ref, c.Names) }

// ColumnsOf reads the tags of T, once. The caller may not change what it returns.
func ColumnsOf(t reflect.Type) []Column {
	read, ok := columns.Load(t)
	if !ok {
		read, _ = columns.LoadOrStore(t, columnsWithin(t, "", "", nil))
	}
	return read.([]Column)
}

// columns are those of types: each a []Column by its reflect.Type.
var columns sync.Map

// columnsWithin reads the tags of a struct whose column names begin with prefix.
func columnsWithin(t reflect.Type, prefix, scan string, index []int) []Column {
	var out []Column
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
		out = append(out, Column{
			Name: prefix + name, Scan: scan + name, Kind: kindOf(f), Index: place,
			Filled:    f.Type.Kind() == reflect.Int64 || f.Type == reflect.TypeFor[time.Time](),
			Null:      f.Type.Kind() == reflect.Pointer,
			Generated: f.Tag.Get("generated") == "true" || f.Type == idType && f.Tag.Get("readOnly") == "true",
			Computed:  f.Tag.Get("computed") == "true", Joining: f.Tag.Get("joining") == "true",
			Ref: f.Tag.Get("ref"), Names: f.Tag.Get("names"), Owns: f.Tag.Get("owner") == "true", Fixed: f.Tag.Get("fixed") == "true", Of: f.Tag.Get("of"),
		})
	}
	return out
}

func kindOf(f reflect.StructField) ColumnKind {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.String && f.Tag.Get("format") == "uuid":
		return Identifier
	case t.Kind() == reflect.String:
		return Text
	case t.Kind() == reflect.Bool:
		return Boolean
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64:
		return Integer
	default: // time.Time, store.JSON
		return Other
	}
}

// Argument turns a client's text into a value to compare the column with. It returns false if no row can have that value.
func (c Column) Argument(typed string) (any, bool) {
	switch c.Kind {
	case Text:
		return typed, true
	case Integer:
		n, err := strconv.ParseInt(typed, 10, 64)
		return n, err == nil
	case Boolean:
		return rest.ParseBool(typed)
	case Identifier:
		id, err := uuid.Parse(typed)
		return id.String(), err == nil && len(typed) == 36
	default:
		t, err := time.Parse(time.RFC3339, typed)
		return t, err == nil
	}
}

// Typed parses a value of the column that the database wrote as text.
func (c Column) Typed(text string) any {
	if value, ok := c.Argument(text); ok {
		return value
	}
	return Text
}

// Sorted returns the expression that orders a list: it ignores case and accents.
func (c Column) Sorted() string {
	if c.Kind == Text {
		return "fold(" + c.Name + ")"
	}
	return c.Name
}

// Searched returns the expression in which a search term is looked for.
func (c Column) Searched() string {
	if c.Kind == Text {
		return "fold(" + c.Name + ")"
	}
	return "CAST(" + c.Name + " AS text)"
}

// ColumnNamed returns the column of a name, or nil.
func ColumnNamed(columns []Column, name string) *Column {
	for i := range columns {
		if columns[i].Name == name {
			return &columns[i]
		}
	}
	return nil
}

// ID is the number by which a client names an object. The database generates one that clients only read; any other refers to an object. No
// number is so large that a program which takes it for a floating-point number changes it.
type ID int64

var idType = reflect.TypeFor[ID]()

// JSONSchema is that of a whole number between its bounds.
func (ID) JSONSchema() *rest.Schema {
	return &rest.Schema{Type: "integer", Minimum: new(int64(0)), Maximum: new(int64(1<<53 - 1))}
}
