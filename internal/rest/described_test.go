package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
)

func init() {
	rest.RegisterFormats(
		rest.Format{Name: "test-number", Pattern: `^(_[0-9X]{1,4}|[0-9]{1,4})$`, Example: "100", Doc: "A number."},
		rest.Format{Name: "test-even", Check: func(text string) bool { return len(text)%2 == 0 }, Message: "Must have an even length", Example: "ab"},
	)
}

// goal is a union, and one of its kinds is a union too.
type goal struct {
	Type   string
	Fields map[string]any
}

type (
	toUser struct {
		UserID int64   `json:"user_id" required:"true" ref:"users.id"`
		Time   *int64  `json:"time" minimum:"0" default:"5"`
		Name   *string `json:"name" readOnly:"true"`
	}
	toNumber struct {
		Number string `json:"number" required:"true" format:"test-number"`
	}
	toCustom struct {
		UUID string `json:"uuid" required:"true" format:"uuid"`
		Note string `json:"note" multiline:"true"`
	}
)

// kindOf is the kind whose properties are T's.
func kindOf[T any](value string) rest.Kind {
	return rest.Kind{Value: value, Schema: rest.SchemaOf[T]()}
}

func (goal) JSONSchema() *rest.Schema {
	application := rest.UnionOf("x", "application", kindOf[toNumber]("call_back"), kindOf[toCustom]("custom"))
	s := rest.UnionOf("Goal", "type",
		kindOf[struct{}]("none"), kindOf[toUser]("user"), rest.Kind{Value: "application", Schema: application})
	s.Check = func(value any) []apierr.Field {
		if n, _ := value.(map[string]any)["user_id"].(json.Number); n == "13" {
			return []apierr.Field{{Name: "user_id", Constraint: "unlucky", Message: "Is unlucky"}}
		}
		return nil
	}
	return s
}

func (g *goal) UnmarshalJSON(text []byte) error {
	g.Fields = nil
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&g.Fields); err != nil {
		return err
	}
	g.Type, _ = g.Fields["type"].(string)
	return nil
}

// span has a schema by a method of its pointer, and its error is about itself.
type span struct{ Text string }

func (*span) JSONSchema() *rest.Schema {
	return &rest.Schema{Type: "string", Format: "test-number", Doc: "Of itself.", Check: func(value any) []apierr.Field {
		if value == "_X" {
			return []apierr.Field{{Constraint: "empty", Message: "Holds nothing"}}
		}
		return nil
	}}
}

func (s *span) UnmarshalText(text []byte) error { s.Text = string(text); return nil }

// careless types say as little about themselves as they can.
type (
	carelessAny    struct{ V any }
	carelessList   []any
	carelessObject map[string]any
)

func (carelessAny) JSONSchema() *rest.Schema           { return &rest.Schema{} }
func (carelessList) JSONSchema() *rest.Schema          { return &rest.Schema{Type: "array"} }
func (carelessObject) JSONSchema() *rest.Schema        { return &rest.Schema{Type: "object"} }
func (c *carelessAny) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &c.V) }

type plan struct {
	Goal    goal           `json:"goal"`
	Other   *goal          `json:"other" doc:"Or this."`
	Goals   []goal         `json:"goals"`
	Span    span           `json:"span" example:"7"`
	Spans   []span         `json:"spans" items.maxLength:"3"`
	Context *string        `json:"context" ref:"contexts.name" doc:"Where." format:"test-number"`
	Music   string         `json:"music" names:"moh.name" when:"goal.type=user,none;span=1"`
	Even    string         `json:"even" format:"test-even"`
	Any     carelessAny    `json:"any"`
	List    carelessList   `json:"list"`
	Object  carelessObject `json:"object"`
}

func plans(t testing.TB) *rest.Service {
	t.Helper()
	return mounted(t,
		rest.Operation{Method: http.MethodPost, Path: "/plans", Body: rest.SchemaOf[plan](), Handle: echo[plan]},
		rest.Operation{Method: http.MethodPut, Path: "/plans/{id}", Body: rest.SchemaOf[plan]().Partial(), Reply: rest.SchemaOf[plan](), Handle: echo[plan]},
	)
}

func TestTypesThatKnowTheirSchema(t *testing.T) {
	s := plans(t)
	const id = "0F6DD0C5-6AE3-44AB-9D44-7A63B8AB9E1C"
	for name, c := range map[string]struct{ body, want string }{
		"null":                    {`{"goal":null}`, "goal: May not be null"},
		"not an object":           {`{"goal":"none"}`, "goal: Must be an object"},
		"no type":                 {`{"goal":{"user_id":1}}`, "goal.type: Is required"},
		"null type":               {`{"goal":{"type":null}}`, "goal.type: May not be null"},
		"a number as type":        {`{"goal":{"type":1}}`, "goal.type: Must be a string"},
		"unknown type":            {`{"goal":{"type":"User"}}`, "goal.type: Must be one of none, user, application"},
		"a type's line break":     {`{"goal":{"type":"user\n"}}`, "goal.type: May not hold control characters"},
		"type in another case":    {`{"goal":{"Type":"user"}}`, "goal.type: Is required"},
		"missing key":             {`{"goal":{"type":"user"}}`, "goal.user_id: Is required"},
		"wrong key":               {`{"goal":{"type":"user","user_id":"1"}}`, "goal.user_id: Must be an integer"},
		"bounds":                  {`{"goal":{"type":"user","user_id":1,"time":-1}}`, "goal.time: Must be 0 or more"},
		"key in another case":     {`{"goal":{"type":"user","User_id":1}}`, "goal.user_id: Is required|Input Error - goal.user_id: Was sent in another spelling"},
		"beyond the schema":       {`{"goal":{"type":"user","user_id":13}}`, "goal.user_id: Is unlucky"},
		"in a list":               {`{"goals":[{"type":"none"},{"type":"user","user_id":13}]}`, "goals[1].user_id: Is unlucky"},
		"may be null":             {`{"other":null,"goal":{"type":"x"}}`, "goal.type: Must be one of"},
		"no inner type":           {`{"goal":{"type":"application"}}`, "goal.application: Is required"},
		"unknown inner type":      {`{"goal":{"type":"application","application":"user"}}`, "goal.application: Must be one of call_back, custom"},
		"inner key":               {`{"goal":{"type":"application","application":"custom"}}`, "goal.uuid: Is required"},
		"inner format":            {`{"goal":{"type":"application","application":"call_back","number":"12345"}}`, "goal.number: Must match"},
		"a key of another kind":   {`{"goal":{"type":"application","application":"custom","number":"1"}}`, "goal.uuid: Is required"},
		"own schema":              {`{"span":"x"}`, "span: Must match"},
		"own schema, in a list":   {`{"spans":["1","_12345"]}`, "spans[1]: Must have at most 3 characters"},
		"about itself":            {`{"span":"_X"}`, "span: Holds nothing"},
		"about itself, in a list": {`{"spans":["1","_X"]}`, "spans[1]: Holds nothing"},
		"a check's format":        {`{"even":"abc"}`, "even: Must have an even length"},

		"control: union":        {`{"goal":{"type":"application","application":"call_back","number":"1\n"}}`, "goal.number: May not hold control"},
		"control: long text":    {`{"goal":{"type":"application","application":"custom","uuid":"` + id + `","note":"a\nb\u0000"}}`, "goal.note: May not hold control"},
		"control: own schema":   {`{"span":"1\n"}`, "span: May not hold control"},
		"control: anything":     {`{"any":"a\nb"}`, "any: May not hold control"},
		"control: nested":       {`{"any":{"x":["a\tb"]}}`, "any.x[0]: May not hold control"},
		"control: a name":       {`{"any":{"a\nb":1}}`, "any: A name in it may not hold control"},
		"control: list":         {`{"list":[1,{"x":"\u0007"}]}`, "list[1].x: May not hold control"},
		"control: line in list": {`{"list":["a\nb"]}`, "list[0]: May not hold control"},
	} {
		t.Run(name, func(t *testing.T) {
			wantMessage(t, call(t, s, http.MethodPost, "/plans", c.body), http.StatusBadRequest, c.want)
		})
	}
	for sent, want := range map[string]string{
		`{"type":"none","user_id":"x"}`:                                                   `map[type:none]`,
		`{"type":"user","user_id":1,"name":7,"acl":["#"]}`:                                `map[time:5 type:user user_id:1]`,
		`{"type":"user","user_id":1,"time":null}`:                                         `map[time:<nil> type:user user_id:1]`,
		`{"type":"application","application":"custom","uuid":"` + id + `","note":"a\nb"}`: `map[application:custom note:a` + "\n" + `b type:application uuid:` + strings.ToLower(id) + `]`,
	} {
		w := call(t, s, http.MethodPost, "/plans", `{"goal":`+sent+`,"goals":[`+sent+`],"object":{"dropped":"\u0000"}}`)
		wantStatus(t, w, http.StatusOK)
		var got struct {
			Goal   goal
			Goals  []goal
			Object map[string]any
		}
		var echoed map[string]json.RawMessage
		if err := json.Unmarshal(w.Body.Bytes(), &echoed); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if g := fmt.Sprint(got.Goal.Fields["Fields"]); g != want {
			t.Errorf("%s is taken as %s, want %s", sent, g, want)
		}
		if len(got.Goals) != 1 || fmt.Sprint(got.Goals[0].Fields["Fields"]) != want || len(got.Object) != 0 {
			t.Errorf("%s: %s", sent, w.Body)
		}
	}
}

func TestDefinitionOfTypesThatKnowTheirSchema(t *testing.T) {
	doc := loaded(t, plans(t).Definition())
	all := doc.Components.Schemas
	for _, name := range []string{"Goal", "GoalNone", "GoalUser", "GoalApplication", "GoalApplicationCallBack", "GoalApplicationCustom"} {
		if all[name] == nil {
			t.Errorf("no component %s", name)
		}
	}
	union := all["Goal"].Value
	if union.Discriminator.PropertyName != "type" || len(union.OneOf) != 3 {
		t.Errorf("%+v", union)
	}
	for text, ok := range map[string]bool{
		`{"type":"none"}`: true, `{"type":"user","user_id":1}`: true, `{"type":"user"}`: false, `{"type":"x"}`: false, `{}`: false, `"x"`: false,
		`{"type":"application","application":"call_back","number":"1"}`: true, `{"type":"application","application":"call_back"}`: false,
		`{"type":"application"}`: false, `{"type":"application","application":"user","user_id":1}`: false,
	} {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if err := union.VisitJSON(value); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
	properties := all["plan"].Value.Properties
	if p := properties["other"].Value; !p.Nullable || p.Description != "Or this." || p.AllOf[0].Ref != "#/components/schemas/Goal" {
		t.Errorf("other: %+v", p)
	}
	if p := properties["context"].Value; p.Extensions["x-ref"] != "contexts.name" || p.Description != "Where. A number." || p.Example != "100" || p.Pattern != `^(_[0-9X]{1,4}|[0-9]{1,4})$` || p.Format != "test-number" {
		t.Errorf("context: %+v", p)
	}
	if got := fmt.Sprint(properties["music"].Value.Extensions["x-when"]); got != "map[goal.type:[user none] span:[1]]" {
		t.Errorf("music counts when %s", got)
	}
	if p := properties["span"].Value; p.Description != "Of itself. A number." || p.Example != "7" {
		t.Errorf("span: %+v", p)
	}
	if p := all["GoalUser"].Value.Properties["user_id"].Value; p.Extensions["x-ref"] != "users.id" {
		t.Errorf("user_id: %+v", p)
	}
	s := rest.SchemaOf[plan]()
	if s.Property("context").Ref != "contexts.name" || s.Property("music").Ref != "moh.name" || s.Property("even").Ref != "" {
		t.Error("references")
	}
}

// A schema is made once, and none of its uses changes it for the others.
func TestSchemaOfIsShared(t *testing.T) {
	if first, second := rest.SchemaOf[plan](), rest.SchemaOf[plan](); first != second {
		t.Error("the schema of a type was made twice")
	}
	before := fmt.Sprintf("%+v", *rest.SchemaOf[toUser]())
	_, _, _ = rest.SchemaOf[plan](), rest.SchemaOf[toUser]().Partial(), plans(t).Definition()
	rest.UnionOf("Another", "kind", kindOf[toUser]("user"))
	if after := fmt.Sprintf("%+v", *rest.SchemaOf[toUser]()); after != before {
		t.Errorf("it was\n%s, is\n%s", before, after)
	}
	one, other := rest.SchemaOf[plan]().Property("goal").Schema, rest.SchemaOf[plan]().Property("other").Schema
	if one.Nullable || !other.Nullable || one.Doc != "" || one.Union != other.Union {
		t.Error("the fields of one type share too much, or too little")
	}
}

func TestFormatsPanic(t *testing.T) {
	ok := rest.Format{Name: "test-new", Pattern: "^a$", Example: "a"}
	for name, c := range map[string]struct {
		change func(*rest.Format)
		want   string
	}{
		"no name":           {func(f *rest.Format) { f.Name = "" }, "the name is taken"},
		"a name twice":      {func(f *rest.Format) { f.Name = "uuid" }, "the name is taken"},
		"nothing":           {func(f *rest.Format) { f.Pattern = "" }, "neither a pattern nor a check"},
		"no message":        {func(f *rest.Format) { f.Check = func(string) bool { return true } }, "neither a pattern nor a check with a message"},
		"not a pattern":     {func(f *rest.Format) { f.Pattern = "(" }, "error parsing regexp"},
		"no beginning":      {func(f *rest.Format) { f.Pattern = "a$" }, "begin it with ^"},
		"no end":            {func(f *rest.Format) { f.Pattern = "^a" }, "end it with $"},
		"an end for one":    {func(f *rest.Format) { f.Pattern = "^b$|a$" }, "begin it with ^"},
		"a beginning alone": {func(f *rest.Format) { f.Pattern = "^(a|b$)" }, "end it with $"},
		"ends of lines":     {func(f *rest.Format) { f.Pattern = "(?m)^a$" }, "begin it with ^"},
		"its end may lack":  {func(f *rest.Format) { f.Pattern = "^a(b$)?" }, "end it with $"},
		"its example":       {func(f *rest.Format) { f.Example = "b" }, "has another form"},
		"a line's example":  {func(f *rest.Format) { f.Pattern, f.Example = "^a\n$", "a\n" }, "has another form"},
	} {
		t.Run(name, func(t *testing.T) {
			f := ok
			c.change(&f)
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, c.want) {
					t.Errorf("panic %q, want %q", got, c.want)
				}
			}()
			rest.RegisterFormats(f)
		})
	}
}

type badType struct{}

func (badType) JSONSchema() *rest.Schema { return &rest.Schema{Type: "string", Format: "nope"} }

func TestDeclarationsPanic(t *testing.T) {
	for name, c := range map[string]struct {
		make func()
		want string
	}{
		"a pattern without an end": {func() {
			rest.SchemaOf[struct {
				F string `json:"f" pattern:"^a" example:"a"`
			}]()
		}, "F: pattern: ^a is not about the whole text"},
		"a pattern beside a format's": {func() {
			rest.SchemaOf[struct {
				F string `json:"f" pattern:"^1$" format:"test-number"`
			}]()
		}, "a pattern beside that of the format"},
		"no example": {func() {
			rest.SchemaOf[struct {
				F string `json:"f" pattern:"^[0-9]+$"`
			}]()
		}, "F: no example of it follows"},
		"a format's example is too long": {func() {
			rest.SchemaOf[struct {
				F string `json:"f" format:"uuid" maxLength:"3"`
			}]()
		}, "F: no example of it follows"},
		"a wrong example": {func() {
			rest.SchemaOf[struct {
				F int `json:"f" maximum:"3" example:"4"`
			}]()
		}, "example: Must be 3 or less"},
		"an example that is not JSON": {func() {
			rest.SchemaOf[struct {
				F []string `json:"f" example:"a"`
			}]()
		}, "its example is not JSON"},
		"a reference to nothing": {func() {
			rest.SchemaOf[struct {
				F string `json:"f" ref:"contexts"`
			}]()
		}, "ref is a collection and one of its attributes"},
		"names of nothing": {func() {
			rest.SchemaOf[struct {
				F string `json:"f" names:"contexts"`
			}]()
		}, "names is a collection and one of its attributes"},
		"a reference that is checked and is not": {func() {
			rest.SchemaOf[struct {
				F string `json:"f" ref:"contexts.name" names:"contexts.name"`
			}]()
		}, "it has both ref and names"},
		"a reference of a boolean": {func() {
			rest.SchemaOf[struct {
				F bool `json:"f" ref:"contexts.name"`
			}]()
		}, "ref does not go with type boolean"},
		"a reference of items": {func() {
			rest.SchemaOf[struct {
				F []string `json:"f" items.ref:"contexts.name"`
			}]()
		}, "ref is about a field"},
		"values that count when nobody knows": {func() {
			rest.SchemaOf[struct {
				F bool `json:"f" when:"kind"`
			}]()
		}, "when is attributes with values"},
		"a type's unknown format": {func() {
			rest.SchemaOf[struct {
				F badType `json:"f"`
			}]()
		}, `F: there is no format "nope"`},
		"a kind that is no object": {func() { rest.UnionOf("U", "type", kindOf[string]("x")) }, `"x" of a union is no object`},
		"a kind with the union's property": {func() {
			rest.UnionOf("U", "user_id", kindOf[toUser]("x"))
		}, `has a property user_id of its own`},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, c.want) {
					t.Errorf("panic %q, want %q", got, c.want)
				}
			}()
			c.make()
		})
	}
}

func TestExamples(t *testing.T) {
	type texts struct {
		Plain    string   `json:"plain"`
		Short    string   `json:"short" maxLength:"2"`
		Long     string   `json:"long" minLength:"10" maxLength:"11"`
		Choice   string   `json:"choice" enum:"a,b"`
		Default  string   `json:"default" enum:"a,b" default:"b"`
		Given    string   `json:"given" example:"x\"y" default:"z"`
		Format   *string  `json:"format" format:"email"`
		Number   int      `json:"number"`
		Small    int      `json:"small" maximum:"-3"`
		Large    *float64 `json:"large" minimum:"3"`
		Null     *int     `json:"null" default:"null" minimum:"7"`
		On       bool     `json:"on" default:"true"`
		List     []string `json:"list"`
		Two      []string `json:"two" minItems:"2" items.format:"uuid"`
		Anything any      `json:"anything"`
	}
	want := map[string]any{
		"plain": "text", "short": "te", "long": "texttextte", "choice": "a", "default": "b", "given": `x"y`, "format": "alice@example.org",
		"number": 1.0, "small": -3.0, "large": 3.0, "null": 7.0, "on": true, "list": []any{}, "anything": nil,
		"two": []any{"5f9b2a8e-3c1d-4e7a-9b60-2d8f4c6a1e03", "5f9b2a8e-3c1d-4e7a-9b60-2d8f4c6a1e03"},
	}
	s := mounted(t, rest.Operation{Method: http.MethodPut, Path: "/x", Body: rest.SchemaOf[texts](), Handle: echo[texts]})
	properties := loaded(t, s.Definition()).Components.Schemas["texts"].Value.Properties
	body := map[string]any{}
	for name, p := range properties {
		body[name] = p.Value.Example
	}
	if !reflect.DeepEqual(body, want) {
		t.Errorf("%v\nwant %v", body, want)
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, call(t, s, http.MethodPut, "/x", string(text)), http.StatusOK)
}

// The large definition is written on the first request for it: a mount, and so a reload, is cheap.
func TestDefinitionIsWrittenOnce(t *testing.T) {
	written := 0
	s := declared(op("GET", "/x", ""))
	s.Errors = func(e *apierr.Error, now time.Time) any {
		written++
		return rest.MessageList(e, now)
	}
	if err := s.Mount(); err != nil {
		t.Fatal(err)
	}
	if written != 0 {
		t.Errorf("it was written %d times by the mount", written)
	}
	for range 3 {
		wantStatus(t, call(t, s, http.MethodGet, "/api/openapi.json", ""), http.StatusOK)
		s.Definition()
	}
	if written != 1 {
		t.Errorf("it was written %d times", written)
	}
}
