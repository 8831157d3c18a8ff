package rest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ringfence/ringfence/internal/apierr"
)

// MaxLimit is the most items that a list returns when the client sets a limit; a larger
// limit is brought down to it. Without a limit a list returns everything, as existing clients expect.
const MaxLimit = 1000

// MaxSearch is the longest search term, in characters.
const MaxSearch = 200

// MaxSeveral is how many values a filter with several values accepts.
const MaxSeveral = 25

// ListSpec says what a collection's list operation accepts.
type ListSpec struct {
	// Order lists the columns that `order` may name, the default first. It may be empty.
	Order []string
	// Filters lists the parameters that select items with exactly that value.
	Filters []string
	// Docs describe filters that do not compare a column.
	Docs map[string]string
	// Formats of filters refuse other values.
	Formats map[string]string
	// Several lists the filters that accept up to MaxSeveral values, each sent separately or separated by commas.
	Several []string
	// Booleans lists the filters whose value is true or false.
	Booleans []string
	// Recurse adds `recurse`, which includes the tenants below.
	Recurse bool
	// Views lists the values of `view`; nil means that there is no such parameter. ViewItems describes the items of each.
	Views     []string
	ViewItems map[string]*Schema
}

// List is a checked list query.
type List struct {
	Order   string
	Desc    bool
	Limit   int // 0: none
	Offset  int
	Search  string
	Recurse bool
	View    string
	Filters []Filter
}

// Filter selects the items whose column has exactly this value, or one of several separated by commas.
type Filter struct{ Name, Value string }

// Parameters returns the query parameters of a list operation, for its declaration.
func (s ListSpec) Parameters() []Parameter {
	one, zero, longest := int64(1), int64(0), MaxSearch
	var out []Parameter
	if len(s.Order) > 0 {
		out = append(out, Parameter{Name: "order", Description: "The column to sort by.", Schema: &Schema{Type: "string", Enum: s.Order}})
	}
	out = append(out, []Parameter{
		{Name: "direction", Description: "`asc` or `desc`.", Schema: &Schema{Type: "string", Enum: []string{"asc", "desc"}}},
		{Name: "limit", Description: "How many items; more than " + strconv.Itoa(MaxLimit) + " is taken for that.", Schema: &Schema{Type: "integer", Minimum: &one}},
		{Name: "offset", Description: "How many items to skip first.", Schema: &Schema{Type: "integer", Minimum: &zero}},
		{Name: "search", Description: "Only items with a field that contains this, whatever case and accents.", Schema: &Schema{Type: "string", MaxLength: &longest}},
	}...)
	if s.Recurse {
		out = append(out, Parameter{Name: "recurse", Description: "Also the items of the tenants below.", Schema: &Schema{Type: "boolean"}})
	}
	for _, view := range ViewParameter(s.Views, "Another form of the items.") {
		view.Views = s.ViewItems
		for _, name := range slices.Sorted(maps.Keys(s.ViewItems)) {
			view.Description += " `" + name + "`: items with " + strings.Join(s.ViewItems[name].Names(), ", ") + "."
		}
		out = append(out, view)
	}
	for _, f := range s.Filters {
		p := Parameter{Name: f, Description: cmp.Or(s.Docs[f], "Only items with exactly this value."), Schema: &Schema{Type: "string", Format: s.Formats[f]}}
		if slices.Contains(s.Booleans, f) {
			p.Schema.Enum, p.Boolean = []string{"true", "false"}, true
		}
		if slices.Contains(s.Several, f) {
			p.Repeated, p.Schema = true, &Schema{Type: "array", Items: p.Schema}
			p.Description = "Only items with one of at most " + strconv.Itoa(MaxSeveral) + " values: with commas between them, or each sent by itself."
		}
		out = append(out, p)
	}
	return out
}

// InvalidListParam is the ID of a refused list query that existing clients of the authentication service expect.
const InvalidListParam = "invalid-list-param"

// List reads a list query. A bad value is refused with a sentence that says which.
func (r *Request) List(spec ListSpec) (List, error) {
	q, err := r.list(spec)
	if e := apierr.As(err); e != nil {
		e.ID = InvalidListParam
	}
	return q, err
}

func (r *Request) list(spec ListSpec) (q List, err error) {
	if len(spec.Order) > 0 {
		v, _ := r.Query("order")
		if q.Order = cmp.Or(v, spec.Order[0]); !slices.Contains(spec.Order, q.Order) {
			return q, repeating(invalidParameter("order", "enum", map[string]any{"choices": spec.Order}, "Must be one of %s", strings.Join(spec.Order, ", ")), v)
		}
	}
	if v, ok := r.Query("direction"); ok {
		if v != "asc" && v != "desc" {
			return q, invalidParameter("direction", "enum", map[string]any{"choices": []string{"asc", "desc"}}, "Must be asc or desc")
		}
		q.Desc = v == "desc"
	}
	if q.Limit, err = r.count("limit", 1); err != nil {
		return q, err
	}
	q.Limit = min(q.Limit, MaxLimit)
	if q.Offset, err = r.count("offset", 0); err != nil {
		return q, err
	}
	if q.Search, _ = r.Query("search"); utf8.RuneCountInString(q.Search) > MaxSearch {
		return q, invalidParameter("search", "length", map[string]any{"max": MaxSearch}, "Must have at most %d characters", MaxSearch)
	}
	if spec.Recurse {
		q.Recurse = r.Bool("recurse")
	}
	if spec.Views != nil {
		if q.View, err = r.Choice("view"); err != nil {
			return q, err
		}
	}
	for _, f := range spec.Filters {
		values, ok := r.query[f]
		if !ok {
			continue
		}
		joined := strings.Join(values, ",")
		if slices.Contains(spec.Several, f) && strings.Count(joined, ",") >= MaxSeveral {
			return q, invalidParameter(f, "length", map[string]any{"max": MaxSeveral}, "Must have at most %d values", MaxSeveral)
		}
		if err := spec.checkFormat(f, joined); err != nil {
			return q, err
		}
		q.Filters = append(q.Filters, Filter{f, joined})
	}
	return q, nil
}

// checkFormat refuses a filter's value that is not of the filter's format, if it has one.
func (s ListSpec) checkFormat(filter, value string) error {
	format := formats[s.Formats[filter]]
	if format == nil {
		return nil
	}
	fields := format.validate(filter, value)
	if len(fields) == 0 {
		return nil
	}
	fields[0].Query = true
	return &apierr.Error{Kind: apierr.Invalid, Fields: fields}
}

// ViewParameter is the query parameter of an operation that answers in these forms, beside the plain one; none where views is nil.
func ViewParameter(views []string, description string) []Parameter {
	if views == nil {
		return nil
	}
	return []Parameter{{Name: "view", Description: description, Schema: &Schema{Type: "string", Enum: views}}}
}

func invalidParameter(name, constraint string, value any, format string, args ...any) error {
	fields := wrong(name, constraint, value, format, args...)
	fields[0].Query = true
	return &apierr.Error{Kind: apierr.Invalid, Fields: fields}
}

// repeating adds what was sent to the refusal of a parameter.
func repeating(err error, sent string) error {
	apierr.As(err).Fields[0].Sent = sent
	return err
}

// count reads a whole number that consists of digits only: no sign, no fraction.
func (r *Request) count(name string, least int) (int, error) {
	v, ok := r.Query(name)
	if !ok {
		return 0, nil
	}
	if v == "" || strings.Trim(v, "0123456789") != "" {
		return 0, repeating(invalidParameter(name, "type", "integer", "Must be a whole number, in digits alone"), v)
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		return 0, invalidParameter(name, "range", map[string]any{"max": math.MaxInt}, "Is too large")
	}
	if n < least {
		return 0, repeating(invalidParameter(name, "range", map[string]any{"min": least}, "Must be %d or more", least), v)
	}
	return n, nil
}

// Choice returns a query parameter that the operation declares with an Enum, "" if it is absent. Another value is refused.
func (r *Request) Choice(name string) (string, error) {
	v, sent := r.Query(name)
	for _, p := range r.Op().Query {
		if p.Name == name && sent && !slices.Contains(p.Schema.Enum, v) {
			choices := map[string]any{"choices": p.Schema.Enum}
			return "", repeating(invalidParameter(name, "enum", choices, "Must be one of %s", strings.Join(p.Schema.Enum, ", ")), v)
		}
	}
	return v, nil
}

// Bool returns a boolean query parameter that the operation declares as one, false if it is absent. What is not a boolean has been refused before.
func (r *Request) Bool(name string) bool {
	v, _ := r.Query(name)
	value, _ := ParseBool(v)
	return value
}

// ParseBool reads a boolean as a query has it: true, false, 1 or 0, in any case. Every Python client writes `True`.
func ParseBool(typed string) (value, ok bool) {
	switch strings.ToLower(typed) {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	default:
		return false, false
	}
}

// notBool refuses a query parameter that is not a boolean.
func notBool(name string) error {
	e := apierr.InvalidField(name, "type", "Must be true or false")
	e.ID, e.Fields[0].Value, e.Fields[0].Query = InvalidListParam, "boolean", true
	return e
}

// fieldsParameter is the query parameter with which a client chooses the attributes of an object, or of the items of a list.
const fieldsParameter = "fields"

// choosable returns the schema of the objects in a reply: the reply itself, or the items of a list.
func (op *Operation) choosable() (one *Schema, list bool) {
	if op.Reply == nil {
		return nil, false
	}
	if items := op.Reply.Property("items"); items != nil && items.Schema.Items != nil {
		return items.Schema.Items, true
	}
	return op.Reply, false
}

// addChoice adds the parameter `fields` to the query of an operation whose Fields is set.
func (op *Operation) addChoice() error {
	if !op.Fields {
		return nil
	}
	one, _ := op.choosable()
	if one == nil || len(one.Names()) == 0 {
		return fmt.Errorf("it has no attributes to choose")
	}
	op.Query = append(slices.Clone(op.Query), Parameter{
		Name: fieldsParameter, Repeated: true,
		Description: "Only these attributes, with commas between them or each sent by itself. The reply has no others, " +
			"not even those that its schema calls required. The entity tag is that of the whole object.",
		Schema: &Schema{Type: "array", Items: &Schema{Type: "string", Enum: one.Names()}},
	})
	return nil
}

// Fields returns the attributes that the client chose, each once; nil means all.
func (r *Request) Fields() []string { return r.fields }

// readFields reads the query parameter `fields`. It refuses a name that no object has.
func (r *Request) readFields() error {
	values, sent := r.query[fieldsParameter]
	if !sent || !r.match.Op.Fields {
		return nil
	}
	one, _ := r.match.Op.choosable()
	known := one.Names()
	for name := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if !slices.Contains(known, name) {
			return invalidParameter(fieldsParameter, "enum", map[string]any{"choices": known}, "There is no attribute '%s'", name)
		}
		if !slices.Contains(r.fields, name) {
			r.fields = append(r.fields, name)
		}
	}
	return nil
}

func (r *Request) choose(body []byte) ([]byte, error) {
	if r.fields == nil {
		return body, nil
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(body, &whole); err != nil {
		return nil, fmt.Errorf("choosing attributes: %w", err)
	}
	if whole == nil { // JSON null
		return body, nil
	}
	if _, list := r.match.Op.choosable(); !list {
		return Marshal(chosen(whole, r.fields))
	}
	var items []map[string]json.RawMessage
	if err := json.Unmarshal(whole["items"], &items); err != nil {
		return nil, fmt.Errorf("choosing attributes: %w", err)
	}
	out := make([]map[string]json.RawMessage, len(items))
	for i, item := range items {
		out[i] = chosen(item, r.fields)
	}
	text, err := Marshal(out)
	if err != nil {
		return nil, err
	}
	whole["items"] = text
	return Marshal(whole)
}

func chosen(whole map[string]json.RawMessage, fields []string) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(fields))
	for _, name := range fields {
		if value, ok := whole[name]; ok {
			out[name] = value
		}
	}
	return out
}
