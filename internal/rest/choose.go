package rest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

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
