package rest_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
)

func TestParseJSON(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want any
	}{
		"null":          {`null`, nil},
		"true":          {` true `, true},
		"string":        {`"a\u00e9\n"`, "aé\n"},
		"pair":          {`"\ud83d\ude00"`, "😀"},
		"escaped NUL":   {`"\u0000"`, "\x00"}, // Validate refuses it, with the field's name
		"big integer":   {`9007199254740993`, json.Number("9007199254740993")},
		"fraction":      {`1.0`, json.Number("1.0")},
		"exponent":      {`1e400`, json.Number("1e400")},
		"negative zero": {`-0`, json.Number("-0")},
		"empty object":  {`{}`, map[string]any{}},
		"empty list":    {`[]`, []any{}},
		"nested":        {`{"a":[1,{"b":null}],"":false}`, map[string]any{"a": []any{json.Number("1"), map[string]any{"b": nil}}, "": false}},
		"similar names": {`{"a":1,"b":1,"ab":1}`, map[string]any{"a": json.Number("1"), "b": json.Number("1"), "ab": json.Number("1")}},
		"same name elsewhere": {`[{"a":1},{"A":1}]`, []any{
			map[string]any{"a": json.Number("1")}, map[string]any{"A": json.Number("1")},
		}},
		"deepest": {strings.Repeat("[", rest.MaxDepth) + strings.Repeat("]", rest.MaxDepth), nested(rest.MaxDepth)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := rest.ParseJSON([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %#v, want %#v", got, c.want)
			}
		})
	}
}

func nested(depth int) any {
	if depth == 0 {
		return nil
	}
	if depth == 1 {
		return []any{}
	}
	return []any{nested(depth - 1)}
}

func TestParseJSONRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, field, message string }{
		"nothing":                {``, "", "A JSON body is required"},
		"white space":            {" \n", "", "A JSON body is required"},
		"twice":                  {`{"a":1,"a":2}`, "a", "Was sent twice"},
		"twice, nested":          {`{"b":{"a":1,"a":2}}`, "b.a", "Was sent twice"},
		"twice, in a list":       {`{"b":[{},{"a":1,"a":2}]}`, "b[1].a", "Was sent twice"},
		"twice, escaped":         {`{"a":1,"\u0061":2}`, "a", "Was sent twice"},
		"twice, not plain":       {`{"secret value!":1,"secret value!":2}`, "", "A name in the body was sent twice"},
		"another case":           {`{"acl":[],"ACL":["#"]}`, "ACL", "two spellings"},
		"long s":                 {`{"search":1,"ſearch":2}`, "search", "two spellings"},
		"long s first":           {`{"ſearch":1,"search":2}`, "search", "two spellings"},
		"Kelvin":                 {"{\"key\":1,\"\u212aey\":2}", "key", "two spellings"},
		"another case, nested":   {`{"b":[{"x":1,"X":2}]}`, "b[0].X", "two spellings"},
		"another case, foreign":  {`{"é":1,"É":2}`, "", "A name in the body was sent in two spellings"},
		"after the value":        {`{} {}`, "", "something follows the value"},
		"garbage after":          {`{}x`, "", "something follows the value"},
		"NUL after":              {"{}\x00", "", "something follows the value"},
		"number after zero":      {`01`, "", "something follows the value"},
		"byte order mark":        {"\ufeff{}", "", "not valid JSON, at byte 0"},
		"UTF-16":                 {"{\x00}\x00", "", "not valid JSON"},
		"invalid UTF-8":          {"{\"a\":\"\xff\"}", "a", "not valid JSON"},
		"invalid UTF-8 in name":  {"{\"\xff\":1}", "", "not valid JSON"},
		"overlong UTF-8":         {"{\"a\":\"\xc0\xaf\"}", "a", "not valid JSON"},
		"surrogate in UTF-8":     {"{\"a\":\"\xed\xa0\x80\"}", "a", "not valid JSON"},
		"lone high surrogate":    {`{"a":"\ud800"}`, "a", "not valid JSON"},
		"lone low surrogate":     {`{"a":["\udc00"]}`, "a[0]", "not valid JSON"},
		"NaN":                    {`{"a":NaN}`, "a", "not valid JSON"},
		"Infinity":               {`{"a":-Infinity}`, "a", "not valid JSON"},
		"leading zero":           {`{"a":01}`, "a", "not valid JSON"},
		"plus":                   {`{"a":+1}`, "a", "not valid JSON"},
		"hexadecimal":            {`{"a":0x10}`, "a", "not valid JSON"},
		"single quotes":          {`{'a':1}`, "", "not valid JSON"},
		"comment":                {`{/**/}`, "", "not valid JSON"},
		"comma at the end":       {`{"a":[1,]}`, "a[1]", "not valid JSON"},
		"no value":               {`{"a":}`, "a", "not valid JSON"},
		"no colon":               {`{"a"}`, "a", "not valid JSON"},
		"cut off":                {`{"a":"b`, "a", "not valid JSON"},
		"cut off after an item":  {`[1`, "[1]", "not valid JSON"},
		"cut off after a colon":  {`{"a":`, "a", "not valid JSON"},
		"raw control character":  {"{\"a\":\"\n\"}", "a", "not valid JSON"},
		"the wrong bracket":      {`[}`, "[0]", "not valid JSON"},
		"only a closing bracket": {`}`, "", "not valid JSON"},
		"too deep":               {strings.Repeat("[", rest.MaxDepth+1) + strings.Repeat("]", rest.MaxDepth+1), "", "nests deeper than 32 levels"},
		"too deep, objects":      {strings.Repeat(`{"a":`, rest.MaxDepth+1), "", "nests deeper than 32 levels"},
		"far too deep":           {strings.Repeat("[", 1<<20), "", "nests deeper than 32 levels"},
		"a long name":            {`{"` + strings.Repeat("a", 65) + `":x}`, "", "not valid JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := rest.ParseJSON([]byte(c.text))
			e := apierr.As(err)
			if e == nil {
				t.Fatalf("got %#v and %v, want a refusal", got, err)
			}
			if e.Kind != apierr.Invalid {
				t.Errorf("kind %d", e.Kind)
			}
			field := ""
			if len(e.Fields) > 0 {
				field = e.Fields[0].Name
			}
			if field != c.field {
				t.Errorf("it names %q, want %q", field, c.field)
			}
			if s := e.Sentence(); !strings.Contains(s, c.message) {
				t.Errorf("it says %q, want %q", s, c.message)
			}
		})
	}
}

func TestParseJSONKeepsSecrets(t *testing.T) {
	for _, text := range []string{
		`{"password":"hunter2\ud800"}`, `{"password":hunter2}`, `{"hunter2 is it":1,"hunter2 is it":2}`, `{"hunter2 is it":x}`,
	} {
		_, err := rest.ParseJSON([]byte(text))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzParseJSON checks ParseJSON against what every reader of JSON must agree on.
func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5,-0,1e400,"\ud83d\ude00",null,true,{"b":{}}]}`, `{"a":1,"A":2}`, `[[[]]]`, ` "x" `, `{"a":1}{`, "\ufeff1", `"\ud800"`, `}`, `{"":[}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		input := bytes.Clone(text)
		got, err := rest.ParseJSON(text)
		if !bytes.Equal(input, text) {
			t.Fatal("the input was changed")
		}
		if err != nil {
			if e := apierr.As(err); e == nil || e.Kind != apierr.Invalid || e.Sentence() == "" {
				t.Fatalf("refused with %#v", err)
			}
			return
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("encoding/json refuses %q: %v", text, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %#v, encoding/json %#v", text, got, want)
		}
		if out, err := rest.Marshal(got); err != nil || !json.Valid(out) {
			t.Fatalf("%q: written again: %s, %v", text, out, err)
		}
	})
}

// Attributes are added, or stand in place of the object's own; what is in them stays as it is.
func TestWithAttributes(t *testing.T) {
	for _, tt := range []struct {
		object     string
		attributes map[string]any
		want       string
	}{
		{`{}`, nil, `{}`},
		{`{}`, map[string]any{"b": 1, "a": []string{}}, `{"a":[],"b":1}`},
		{`{"a":1,"b":{"a":2},"c":null}`, map[string]any{"b": nil, "a\"": "<"}, `{"a":1,"c":null,"a\"":"<","b":null}`},
		{`{"a\"":"é\n","z":[{"a":1}]}`, map[string]any{"a": true}, `{"a\"":"é\n","z":[{"a":1}],"a":true}`},
		{`{"a":1}`, map[string]any{"a": 2}, `{"a":2}`},
	} {
		if got, err := rest.WithAttributes([]byte(tt.object), tt.attributes); err != nil || string(got) != tt.want {
			t.Errorf("%s: %v\n%s, want\n%s", tt.object, err, got, tt.want)
		}
	}
	for _, wrong := range []string{``, `{"a":1`, `{"a"}`} {
		if got, err := rest.WithAttributes([]byte(wrong), map[string]any{"b": 1}); err == nil {
			t.Errorf("%s: %s", wrong, got)
		}
	}
}
