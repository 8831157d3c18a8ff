package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest"
)

// least is a body that is right, to which one field is added.
func with(field string) string {
	if field == "" {
		return `{"name":"ann"}`
	}
	return `{"name":"ann",` + field + `}`
}

func people(t testing.TB) *rest.Service {
	t.Helper()
	return mounted(t,
		rest.Operation{Method: http.MethodPost, Path: "/people", Body: rest.SchemaOf[person](), Handle: echo[person]},
		rest.Operation{Method: http.MethodPut, Path: "/people/{id}", Body: rest.SchemaOf[person]().Partial(), Handle: echo[person]},
	)
}

func TestValidate(t *testing.T) {
	s := people(t)
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct{ body, want string }{
		"null":              {`null`, "The body must be a JSON object"},
		"a list":            {`[]`, "The body must be a JSON object"},
		"a string":          {`"x"`, "The body must be a JSON object"},
		"a number":          {`1`, "The body must be a JSON object"},
		"required":          {`{}`, "Input Error - name: Is required"},
		"not null":          {`{"name":null}`, "name: May not be null"},
		"not text":          {`{"name":1}`, "name: Must be a string"},
		"an object as text": {`{"name":{}}`, "name: Must be a string"},
		"too short":         {`{"name":""}`, "name: Must have between 1 and 5 characters"},
		"too long":          {`{"name":"éééééé"}`, "name: Must have between 1 and 5 characters"},
		"NUL":               {`{"name":"a\u0000"}`, "name: May not hold control characters"},
		"a line break":      {`{"name":"a\nb"}`, "name: May not hold control characters"},
		"DEL":               {`{"name":"a\u007f"}`, "name: May not hold control characters"},
		"C1":                {`{"name":"a\u0085"}`, "name: May not hold control characters"},
		"NUL in long text":  {with(`"notes":"\u0000"`), "notes: May not hold control characters"},
		"bell in long text": {with(`"notes":"a\nb\u0007"`), "notes: May not hold control characters"},

		"another case":         {`{"Name":"ann","name":"ann"}`, "name: Was sent in two spellings"},
		"only another case":    {`{"Name":"ann"}`, "name: Is required|Input Error - name: Was sent in another spelling"},
		"long s":               {with(`"note\u017f":""`), "notes: Was sent in another spelling"},
		"Kelvin":               {with(`"lin\u212a":{}`), "link: Was sent in another spelling"}, // though it is read-only
		"another case, nested": {with(`"address":{"code":"x","City":"y"}`), "address.city: Was sent in another spelling"},
		"in a list":            {with(`"addresses":[{"code":"x"},{"Code":"x"}]`), "addresses[1].code: Is required|Input Error - addresses[1].code: Was sent in another"},

		"integer: 1e400":      {with(`"age":1e400`), "age: Must be an integer"},
		"integer: 1.0":        {with(`"age":1.0`), "age: Must be an integer"},
		"integer: -0":         {with(`"age":-0`), "age: Must be an integer"},
		"integer: 1e1":        {with(`"age":1e1`), "age: Must be an integer"},
		"integer: text":       {with(`"age":"17"`), "age: Must be an integer"},
		"integer: true":       {with(`"age":true`), "age: Must be an integer"},
		"integer: NaN":        {with(`"age":NaN`), "The browser (or proxy) sent a request that this server could not understand."},
		"integer: 2^63":       {with(`"at_least":9223372036854775808`), "at_least: Must be an integer of at most 64 bits"},
		"integer: 1 MB":       {with(`"at_least":1` + strings.Repeat("0", 1<<19)), "at_least: Must be an integer"},
		"integer: above 2^53": {with(`"at_most":9007199254740994`), "at_most: Must be 9007199254740993 or less"},
		"integer: low":        {with(`"age":0`), "age: Must be between 1 and 150"},
		"integer: high":       {with(`"age":151`), "age: Must be between 1 and 150"},
		"integer: below":      {with(`"at_least":-4`), "at_least: Must be -3 or more"},
		"integer: 8 bits":     {with(`"level":128`), "level: Must be between -128 and 127"},
		"number: 1e400":       {with(`"ratio":1e400`), "ratio: Must be a number that a 64-bit float can hold"},
		"number: text":        {with(`"ratio":"0.5"`), "ratio: Must be a number"},
		"number: high":        {with(`"ratio":1.0000001`), "ratio: Must be between 0 and 1"},
		"boolean: 1":          {with(`"enabled":1`), "enabled: Must be true or false"},
		"boolean: text":       {with(`"enabled":"true"`), "enabled: Must be true or false"},
		"boolean: null":       {with(`"enabled":null`), "enabled: May not be null"},

		"enum":                {with(`"role":"root"`), "role: Must be one of user, admin"},
		"pattern":             {with(`"code":"abc\u0041"`), "code: Must match ^[a-z]+$"},
		"e-mail":              {with(`"email":"ann"`), "email: Must be an e-mail address"},
		"e-mail with a name":  {with(`"email":"Ann <ann@example.com>"`), "email: Must be an e-mail address"},
		"two e-mails":         {with(`"email":"a@example.com, b@example.com"`), "email: Must be an e-mail address"},
		"UUID":                {with(`"uuid":"x"`), "uuid: Must be a UUID"},
		"UUID in braces":      {with(`"uuid":"{0f6dd0c5-6ae3-44ab-9d44-7a63b8ab9e1c}"`), "uuid: Must be a UUID"},
		"UUID of digits":      {with(`"uuid":"0f6dd0c56ae344ab9d447a63b8ab9e1c"`), "uuid: Must be a UUID"},
		"time":                {with(`"born":"yesterday"`), "born: Must be a date and time"},
		"time without a zone": {with(`"born":"2024-01-02T03:04:05"`), "born: Must be a date and time"},
		"time of a far zone":  {with(`"born":"2024-02-29T23:59:59+24:00"`), "born: Must be a date and time"},
		"time that is not":    {with(`"born":"2023-02-29T03:04:05Z"`), "born: Must be a date and time"},

		"a list of one": {with(`"tags":"a"`), "tags: Must be a list"},
		"too many":      {with(`"tags":["a","b","c","d"]`), "tags: Must have at most 3 items"},
		"an item":       {with(`"tags":["a","bbbbb"]`), "tags[1]: Must have at most 4 characters"},
		"a null item":   {with(`"tags":[null]`), "tags[0]: May not be null"},
		"an item's own": {with(`"tags":["a,b"]`), "tags[0]: Must match"},
		"too few":       {with(`"options":[]`), "options: Must have at least 1 items"},
		"a pair of one": {with(`"options":[["a"]]`), "options[0]: Must have between 2 and 2 items"},
		"in a pair":     {with(`"options":[["a","bbbb"]]`), "options[0][1]: Must have at most 3 characters"},

		"not an object":    {with(`"address":[]`), "address: Must be an object"},
		"nested":           {with(`"address":{"code":1}`), "address.code: Must be a string"},
		"nested, required": {with(`"address":{}`), "address.code: Is required"},
		"nested, null":     {with(`"address":null`), "address: May not be null"},
		"map":              {with(`"limits":{"a":1,"b":"x"}`), "limits.b: Must be an integer"},
		"map, odd name":    {with(`"limits":{"odd name":"x"}`), "limits: Must be an integer"},
		"map, control":     {with(`"limits":{"a\n":1}`), "limits: A name in it may not hold control characters"},
		"map, nested":      {with(`"homes":{"a":{}}`), "homes.a.code: Is required"},

		"anything: NUL":         {with(`"free":"\u0000"`), "free: May not hold control characters"},
		"anything: nested NUL":  {with(`"free":{"a":[{"b":"\u0000"}]}`), "free.a[0].b: May not hold control characters"},
		"anything: NUL in name": {with(`"free":{"\u0000":1}`), "free: A name in it may not hold control characters"},
		"anything: 1e400":       {with(`"raw":[1e400]`), "raw[0]: Must be a number that a 64-bit float can hold"},
		"two wrong": {
			`{"name":"` + long + `","age":"x"}`, "Input Error - name: Must have between 1 and 5 characters|Input Error - age: Must be an integer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := call(t, s, http.MethodPost, "/people", c.body)
			wantMessage(t, w, http.StatusBadRequest, c.want)
			if strings.Contains(w.Body.String(), long) {
				t.Error("the value is repeated")
			}
		})
	}
}

func TestValidateTakes(t *testing.T) {
	s := people(t)
	for name, body := range map[string]string{
		"least":               with(``),
		"an unknown name":     with(`"nickname":{"NAME":1,"x":"\u0000"}`),
		"characters":          `{"name":"ééééé"}`,
		"line breaks":         with(`"notes":"a\r\n\tb"`),
		"null":                with(`"email":null,"uuid":null,"ratio":null,"free":null,"raw":null,"other":null,"role":null`),
		"e-mail":              with(`"email":"ann.o'neil+x@mail.example.com"`),
		"time":                with(`"born":"2024-02-29T23:59:59.123456+02:00"`),
		"2^53+1":              with(`"at_most":9007199254740993`),
		"int64":               with(`"at_least":9223372036854775807,"at_most":-9223372036854775808`),
		"numbers":             with(`"ratio":1e-400`),
		"anything":            with(`"free":[1,"a\nb",{"x":-0.5}],"raw":"x","loose":{"a":1e300}`),
		"read-only, wrong":    with(`"id":"x","link":7`),
		"unknown near nested": with(`"address":{"code":"x","planet":null}`),
		"map":                 with(`"limits":{"":1,"a b":2},"homes":{}`),
	} {
		t.Run(name, func(t *testing.T) {
			wantStatus(t, call(t, s, http.MethodPost, "/people", body), http.StatusOK)
		})
	}
	wantStatus(t, call(t, s, http.MethodPut, "/people/1", `{}`), http.StatusOK)
	wantMessage(t, call(t, s, http.MethodPut, "/people/1", `{"name":null}`), http.StatusBadRequest, "name: May not be null")
}

// A short body must not make an answer that is many times longer.
func TestRefusalsAreBounded(t *testing.T) {
	s := mounted(t, rest.Operation{
		Method: http.MethodPost, Path: "/lists", Body: rest.SchemaOf[struct {
			List []string       `json:"list"`
			Map  map[string]int `json:"map"`
			Free any            `json:"free"`
		}](), Handle: readBody,
	})
	var many strings.Builder
	for i := range 20_000 {
		many.WriteString(`"` + strings.Repeat("k", i%50) + string(rune('a'+i%26)) + string(rune(0x4e00+i)) + `":"x",`)
	}
	for name, body := range map[string]string{
		"list": `{"list":[` + strings.Repeat("1,", 200_000) + `1]}`,
		"map":  `{"map":{` + many.String() + `"z":"x"}}`,
		"free": `{"free":[` + strings.Repeat(`"\u0000",`, 50_000) + `1]}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := call(t, s, http.MethodPost, "/lists", body)
			wantStatus(t, w, http.StatusBadRequest)
			if n := len(messages(t, w)); n != 100 {
				t.Errorf("%d messages", n)
			}
		})
	}
}

func TestHandMadeSchema(t *testing.T) {
	body := &rest.Schema{Type: "object", Properties: []rest.Property{
		{Name: "code", Schema: &rest.Schema{Type: "string", Pattern: "^[a-z]$"}},
		{Name: "list", Schema: &rest.Schema{Type: "array", Items: &rest.Schema{Type: "string", Pattern: "^[a-z]$"}}},
		{Name: "any", Schema: &rest.Schema{Type: "array"}},
	}}
	s := mounted(t, rest.Operation{Method: http.MethodPost, Path: "/x", Body: body, Handle: readBody})
	wantMessage(t, call(t, s, http.MethodPost, "/x", `{"code":"AA","list":["a","b"]}`), 400, "code: Must match")
	wantMessage(t, call(t, s, http.MethodPost, "/x", `{"list":["a","B"]}`), 400, "list[1]: Must match")
	wantStatus(t, call(t, s, http.MethodPost, "/x", `{"any":[1,"x",null]}`), 200)
}
