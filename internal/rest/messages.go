package rest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ringfence/ringfence/internal/apierr"
)

// ResourceError is the ID of a refusal because of stored objects rather than of the request: a duplicate, an association. Where
// such a refusal has the status 400, MessageList distinguishes it from the others by this ID.
const ResourceError = "resource-error"

// BareError is the ID of a refusal whose message existing clients know without the words that MessageList puts before others.
const BareError = "bare-error"

// unreadableBody is what confd says of a body that is missing or is no JSON. Existing clients compare it word by word.
const unreadableBody = "The browser (or proxy) sent a request that this server could not understand."

// MessageList is confd's form: a JSON list of sentences, even of one. A sentence about a field of the body has its name and what is wrong
// there, as a Python program writes it: ['Not a valid string.'], or {0: {'start': ['Invalid input.']}} for what is inside it.
func MessageList(e *apierr.Error, _ time.Time) any {
	if errors.Is(e, errUnreadable) {
		return []string{unreadableBody}
	}
	prefix := confdPrefix(e)
	list := make([]string, 0, len(e.Fields)+1)
	body := &wrongValue{}
	for i := range e.Fields {
		f := &e.Fields[i]
		if f.Query {
			list = append(list, prefix+querySentence(f))
			continue
		}
		at := body
		for _, key := range pathKeys(f.Name) {
			at = at.in(key)
		}
		at.sentences = append(at.sentences, fieldSentence(f))
	}
	for _, inside := range body.inside {
		list = append(list, prefix+strings.Trim(inside.key, "'")+": "+inside.String())
	}
	if e.Message != "" || len(list) == 0 {
		list = append(list, prefix+cmp.Or(e.Message, http.StatusText(e.Status())))
	}
	return list
}

func confdPrefix(e *apierr.Error) string {
	switch {
	case e.ID == BareError:
		return ""
	case e.Kind == apierr.Conflict, e.ID == ResourceError:
		return "Resource Error - "
	case e.Kind == apierr.Invalid:
		return "Input Error - "
	case e.Kind == apierr.NotFound:
		return "Resource Not Found - "
	default:
		return ""
	}
}

// wrongValue is what is wrong with a value, and with what is inside it.
type wrongValue struct {
	key       string // as Python writes it
	sentences []string
	inside    []*wrongValue
}

// in returns what is wrong with the value under a key.
func (w *wrongValue) in(key string) *wrongValue {
	i := slices.IndexFunc(w.inside, func(inside *wrongValue) bool { return inside.key == key })
	if i < 0 {
		i, w.inside = len(w.inside), append(w.inside, &wrongValue{key: key})
	}
	return w.inside[i]
}

// String returns a list of sentences, or a dictionary, in which those about the whole are under _schema.
func (w *wrongValue) String() string {
	if len(w.inside) == 0 {
		return pythonText(w.sentences)
	}
	var parts []string
	for _, inside := range w.inside {
		parts = append(parts, inside.key+": "+inside.String())
	}
	if len(w.sentences) > 0 {
		parts = append(parts, "'_schema': "+pythonText(w.sentences))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// pathKeys returns the keys of a path: 'lines', 0, 'context' of lines[0].context. The whole body is '_schema'.
func pathKeys(path string) []string {
	var keys []string
	for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if _, err := strconv.Atoi(part); err == nil && strings.Contains(path, "["+part+"]") {
			keys = append(keys, part)
		} else {
			keys = append(keys, pythonText(part))
		}
	}
	if len(keys) == 0 {
		keys = []string{"'_schema'"}
	}
	return keys
}

// typeSentences are what is said of a value of another type.
var typeSentences = map[string]string{
	"string": "Not a valid string.", "integer": "Not a valid integer.", "boolean": "Not a valid boolean.", "number": "Not a valid number.",
	"array": "Not a valid list.", "object": "Invalid input type.", "email": "Not a valid email address.", "uuid": "Not a valid UUID.",
}

// fieldSentence returns what is wrong with a value, in the words that existing clients know. Without the constraint's own value the message
// says more than they would.
func fieldSentence(f *apierr.Field) string {
	text, _ := f.Value.(string)
	bounds, _ := f.Value.(map[string]any)
	low, high := bounds["min"], bounds["max"]
	switch {
	case f.Value == nil:
	case f.Constraint == "required":
		return "Missing data for required field."
	case f.Constraint == "not_null":
		return "Field may not be null."
	case f.Constraint == "type" && typeSentences[text] != "":
		return typeSentences[text]
	case f.Constraint == "regex" && digitsOnly(text):
		return "Invalid input."
	case f.Constraint == "regex":
		return "String does not match expected pattern."
	case f.Constraint == "enum" && bounds["choices"] != nil:
		choices, _ := bounds["choices"].([]string)
		return "Must be one of: " + strings.Join(choices, ", ") + "."
	case bounds == nil:
	case f.Constraint == "length" && low == high:
		return fmt.Sprintf("Length must be %v.", low)
	case f.Constraint == "length":
		return bounded(low, high, "Length must be between %v and %v.", "Shorter than minimum length %v.", "Longer than maximum length %v.")
	case f.Constraint == "range":
		return bounded(low, high, "Must be greater than or equal to %v and less than or equal to %v.",
			"Must be greater than or equal to %v.", "Must be less than or equal to %v.")
	}
	return f.Message
}

// digitsOnly reports whether a pattern takes digits alone.
func digitsOnly(pattern string) bool {
	rest, ok := strings.CutPrefix(pattern, "^[0-9]")
	return ok && strings.Trim(rest, "+{}0123456789,$") == ""
}

func bounded(low, high any, both, least, most string) string {
	switch {
	case low == nil:
		return fmt.Sprintf(most, high)
	case high == nil:
		return fmt.Sprintf(least, low)
	default:
		return fmt.Sprintf(both, low, high)
	}
}

// querySentence returns what is wrong with a query parameter, which has other forms than a field.
func querySentence(f *apierr.Field) string {
	about := *f
	negative := f.Constraint == "type" && f.Value == "integer" && len(f.Sent) > 1 && f.Sent[0] == '-' && strings.Trim(f.Sent[1:], "0123456789") == ""
	switch {
	case f.Name == "limit" && f.Constraint == "range" && strings.Trim(f.Sent, "0") == "":
		return "field 'limit': wrong type. Should be a positive number"
	case f.Name == "order" && f.Constraint == "enum" && plainName(f.Sent):
		return "order: column '" + f.Sent + "' was not found"
	case f.Name == "order" && f.Constraint == "enum": // what is no name is not repeated
		return "order: column was not found"
	case f.Name == "direction" && f.Constraint == "enum":
		return "direction: must be 'asc' or 'desc'"
	case f.Name == "view" && f.Constraint == "enum":
		return "view '" + f.Sent + "' does not exist"
	case negative:
		about.Constraint, about.Value = "range", map[string]any{"min": 0}
	}
	said, rule, value := pythonText(fieldSentence(&about)), pythonText(about.Constraint), pythonText(about.Value)
	switch about.Constraint {
	case "range", "length":
		return f.Name + ": [{'constraint_id': " + rule + ", 'constraint': " + value + ", 'message': " + said + "}]"
	case "type":
		return f.Name + ": {'message': " + said + ", 'constraint_id': " + rule + ", 'constraint': " + value + "}"
	default:
		return f.Name + ": " + f.Message
	}
}

// pythonText returns a value as Python's repr writes it: existing clients know the messages of a Python program.
func pythonText(value any) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case string:
		return pythonString(v)
	case []string:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = pythonString(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(v))) { // min before max
			parts = append(parts, pythonString(name)+": "+pythonText(v[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case bool:
		if v {
			return "True"
		}
		return "False"
	default:
		return fmt.Sprint(v)
	}
}

func pythonString(text string) string {
	quote := '\''
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		quote = '"'
	}
	var out strings.Builder
	out.WriteRune(quote)
	for _, r := range text {
		switch {
		case r == quote, r == '\\':
			out.WriteRune('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\r':
			out.WriteString(`\r`)
		case r == '\t':
			out.WriteString(`\t`)
		case unicode.IsControl(r):
			fmt.Fprintf(&out, `\x%02x`, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteRune(quote)
	return out.String()
}
