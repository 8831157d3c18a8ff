package resttest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Hostile tries every operation of a service by the definition that it serves, with bodies, headers and queries that nobody should
// send. Each must be refused with 4xx, or be accepted as the definition says, when it happens to be valid; a refusal changes
// nothing.
type Hostile struct {
	// Client is a caller who may do everything.
	Client *Client
	// Params are values of path parameters, by their names, of objects that exist.
	Params map[string]string
	// State returns all that a refused request must leave alone.
	State func() string
	// Missing are what refusals say, whatever was sent, of something that is not configured for the test: "mail-not-configured".
	Missing []string
}

// HostileSeed is the variable that changes which bodies are tried. Its value is a number.
const HostileSeed = "RINGFENCE_TEST_SEED"

const (
	hostileTexts    = 6  // of unreadable, for each operation that reads JSON or nothing: package rest reads it for all
	hostileBodies   = 24 // of each operation, at most, beside these
	hostileRepeats  = 8  // that are tried again for what they change
	hostilePatience = time.Minute
)

// definition is what matters here of an OpenAPI definition.
type definition struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Schemas    map[string]*schema          `json:"schemas"`
		Parameters map[string]definedParameter `json:"parameters"`
	} `json:"components"`
}

type operation struct {
	Body *struct {
		Content map[string]struct {
			Schema *schema `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`
	Parameters []definedParameter         `json:"parameters"`
	Responses  map[string]json.RawMessage `json:"responses"`
}

// definedParameter is one, or where the definition has it.
type definedParameter struct {
	Ref  string `json:"$ref"`
	In   string `json:"in"`
	Name string `json:"name"`
}

type schema struct {
	Ref        string             `json:"$ref"`
	Type       any                `json:"type"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Items      *schema            `json:"items"`
	OneOf      []*schema          `json:"oneOf"`
	AnyOf      []*schema          `json:"anyOf"`
	AllOf      []*schema          `json:"allOf"`
	Enum       []any              `json:"enum"`
	Example    json.RawMessage    `json:"example"`
	Default    json.RawMessage    `json:"default"`
	More       json.RawMessage    `json:"additionalProperties"`
}

// Run tries all operations.
func (h Hostile) Run(t *testing.T) {
	t.Helper()
	seed := uint64(1)
	if text := os.Getenv(HostileSeed); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", HostileSeed, seed)
	var d definition
	Decode(t, h.Client.Get("/api/openapi.json").Want(http.StatusOK).Body, &d)
	tried, counts := 0, map[int]int{}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			random := rand.New(rand.NewPCG(seed, uint64(tried))) //nolint:gosec // no secret
			x := &hostile{Hostile: h, t: t, d: &d, method: strings.ToUpper(method), path: path, rand: random, counts: counts}
			if method == "parameters" {
				continue
			}
			Decode(t, string(d.Paths[path][method]), &x.op)
			x.run()
			tried++
		}
	}
	t.Logf("%d operations, the responses by status: %v", tried, counts)
	if tried < 10 {
		t.Errorf("only %d operations were tried", tried)
	}
}

// hostile is the trial of one operation.
type hostile struct {
	Hostile
	t            *testing.T
	d            *definition
	method, path string
	op           operation
	rand         *rand.Rand
	bodies       []func() string // made when they are chosen: most are not, and some are large
	failures     int
	counts       map[int]int // of the responses, by status
}

func (x *hostile) run() {
	x.t.Helper()
	texts := slices.Clone(unreadable)
	x.rand.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	if x.op.Body == nil {
		texts = texts[:hostileTexts]
	} else if content, ok := x.op.Body.Content["application/json"]; ok {
		texts = texts[:hostileTexts]
		x.at(content.Schema, 0, func(text string) string { return text })
	}
	x.rand.Shuffle(len(x.bodies), func(i, j int) { x.bodies[i], x.bodies[j] = x.bodies[j], x.bodies[i] })
	for _, body := range x.bodies[:min(len(x.bodies), hostileBodies)] {
		texts = append(texts, body())
	}
	var refused []string
	for _, body := range texts {
		if x.try(body) >= http.StatusBadRequest {
			refused = append(refused, body)
		}
	}
	before := x.State()
	x.rand.Shuffle(len(refused), func(i, j int) { refused[i], refused[j] = refused[j], refused[i] })
	for _, body := range refused[:min(len(refused), hostileRepeats)] {
		if x.try(body) < http.StatusBadRequest {
			before = x.State() // an earlier request has made it valid
		}
	}
	before = x.headers(before)
	x.queries()
	if after := x.State(); after != before {
		x.t.Errorf("%s %s: a refused request changed something:\n%s", x.method, x.path, difference(before, after))
	}
}

// difference returns the lines of the second text that the first one does not have.
func difference(before, after string) string {
	old := strings.Split(before, "\n")
	return strings.Join(slices.DeleteFunc(strings.Split(after, "\n"), func(line string) bool { return slices.Contains(old, line) }), "\n")
}

// headers tries what the body's kind, the wanted kind, the tenant and the version may not be. It returns the state that is not to
// change any more.
func (x *hostile) headers(before string) string {
	for name, values := range map[string][]string{
		"Content-Type": {
			"text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16", "application/jsonp", "multipart/form-data", "/",
			strings.Repeat("a", 5_000),
		},
		"Accept":      {"text/nothing", "application/json;q=0", "\x01", strings.Repeat("a/b,", 2_000)},
		"Wazo-Tenant": {"", "x", "00000000-0000-4000-8000-000000000000", "*", "\xff", strings.Repeat("0", 5_000)},
		"If-Match":    {"x", `"`, `W/"x"`, strings.Repeat(`"a",`, 2_000)},
	} {
		for _, value := range values {
			if x.send(x.unknown(), `{"a":1}`, func(r *http.Request) { r.Header[name] = []string{value} }) < http.StatusBadRequest && x.method != http.MethodGet {
				before = x.State() // the operation does not look at it
			}
		}
	}
	return before
}

// badQueries are values that a query parameter cannot have, whatever the operation.
var badQueries = map[string][]string{
	"order":     {"nothing", "password", "tenant_uuid", "id;drop", "1", "(select 1)", "ID,id"},
	"direction": {"", "up", "ASC", "asc,desc", "1"},
	"limit":     {"", "0", "-1", "1.5", "x", "true", "9223372036854775808", "0x1", " 1", "1e1"},
	"offset":    {"", "-1", "1.5", "x", "9223372036854775808"},
	"recurse":   {"", "maybe", "2", "truetrue"},
	"view":      {"", "nothing"},
}

// queries tries what the documented parameters of a read cannot be: the refusal names the parameter. Others are ignored.
func (x *hostile) queries() {
	if x.method != http.MethodGet || x.send(x.known(), "") >= http.StatusBadRequest {
		return
	}
	refused := func(name, query string) {
		x.t.Helper()
		got := x.Client.Get(x.known() + "?" + query)
		if got.Status != http.StatusBadRequest || !strings.Contains(got.Body, name) && !strings.Contains(got.Body, "The query ") {
			x.t.Errorf("GET %s?%.100s: %d %.300s", x.path, query, got.Status, got.Body)
		}
	}
	known := map[string]bool{}
	for _, p := range x.op.Parameters {
		if p.Ref != "" {
			p = x.d.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
		}
		if p.In != "query" {
			continue
		}
		known[p.Name] = true
		for _, value := range badQueries[p.Name] {
			refused(p.Name, p.Name+"="+url.QueryEscape(value))
		}
		for _, value := range []string{"%00", "a%0ab", "%FF%FE", "%1b"} {
			refused(p.Name, p.Name+"="+value)
		}
		if got := x.Client.Get(x.known() + "?" + p.Name + "=" + strings.Repeat("%C3%A9", 600)); got.Status >= 500 {
			x.t.Errorf("GET %s: a long %s: %d %s", x.path, p.Name, got.Status, got.Body)
		}
	}
	for name := range badQueries {
		if got := x.Client.Get(x.known() + "?" + name + "=nothing"); !known[name] && got.Status != http.StatusOK && !strings.Contains(got.Body, name) {
			x.t.Errorf("GET %s with %s: %d %s", x.path, name, got.Status, got.Body)
		}
	}
	x.Client.Get(x.known() + "?no_such_filter=%27&NAME=x&x[]=1").Want(http.StatusOK)
}

// try sends a body to an object that exists; but a DELETE, which may ignore it, to none.
func (x *hostile) try(body string) int {
	path := x.known()
	if x.method == http.MethodDelete {
		path = x.unknown()
	}
	return x.send(path, body)
}

func (x *hostile) send(path, body string, edits ...Edit) int {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), hostilePatience)
	defer cancel()
	got, err := x.Client.Try(ctx, x.method, path, body, edits...)
	x.counts[got.Status]++
	_, documented := x.op.Responses[strconv.Itoa(got.Status)]
	switch {
	case x.failures > 3: // more would say the same
	case slices.ContainsFunc(x.Missing, func(text string) bool { return strings.Contains(got.Body, text) }):
	case err != nil:
		x.failures++
		x.t.Errorf("%s %s %.200q: %v", x.method, path, body, err)
	case got.Status >= 500, got.Status < 400 && !documented:
		x.failures++
		x.t.Errorf("%s %s %.200q: %d %.300s", x.method, path, body, got.Status, got.Body)
	}
	return got.Status
}

var parameter = regexp.MustCompile(`\{(\w+)\}`)

// known fills the path with objects that exist.
func (x *hostile) known() string {
	return parameter.ReplaceAllStringFunc(x.path, func(in string) string {
		if value, ok := x.Params[in[1:len(in)-1]]; ok {
			return value
		}
		return "1"
	})
}

// unknown fills the path with objects that do not exist, if it has any.
func (x *hostile) unknown() string {
	return parameter.ReplaceAllStringFunc(x.path, func(in string) string {
		if strings.HasSuffix(in, "uuid}") {
			return "a9f39a6c-5d0a-4c43-9a8f-3a3a2d0a0f11"
		}
		return "987654321"
	})
}

// at adds bodies that hold a bad value at this place and at all places within it. wrap puts a value there.
func (x *hostile) at(s *schema, depth int, wrap func(string) string) {
	s = x.resolve(s)
	add := func(body func() string) { x.bodies = append(x.bodies, func() string { return wrap(body()) }) }
	for range 3 {
		value := hostileValues[x.rand.IntN(len(hostileValues))]
		add(func() string { return value })
	}
	if depth > 4 {
		return
	}
	for _, choices := range [][]*schema{s.OneOf, s.AnyOf, s.AllOf} {
		for _, one := range choices {
			x.at(one, depth+1, wrap)
		}
	}
	if s.Items != nil {
		x.at(s.Items, depth+1, func(text string) string { return wrap("[" + text + "]") })
		add(func() string { return "[" + strings.Repeat(x.good(s.Items, 0)+",", 3_000) + x.good(s.Items, 0) + "]" })
	}
	for name, p := range s.Properties {
		x.at(p, depth+1, func(text string) string {
			return wrap(fmt.Sprintf("{%s%q:%s}", x.required(s, name, depth), name, text))
		})
		for _, again := range []string{name, strings.ToUpper(name)} {
			add(func() string {
				good := x.good(p, 0)
				return fmt.Sprintf("{%s%q:%s,%q:%s}", x.required(s, name, depth), name, good, again, good)
			})
		}
	}
	var more schema
	if json.Unmarshal(s.More, &more) == nil {
		for _, key := range []string{"1", "0", "-1", "", "a", "99999999999999999999", `\u0000`, "constructor"} {
			x.at(&more, depth+1, func(text string) string { return wrap(`{"` + key + `":` + text + `}`) })
		}
	}
}

func (x *hostile) resolve(s *schema) *schema {
	for s != nil && s.Ref != "" {
		s = x.d.Components.Schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]]
	}
	if s == nil {
		return &schema{}
	}
	return s
}

// required returns the properties, but one, that an object must have, each with a good value and a comma.
func (x *hostile) required(s *schema, except string, depth int) string {
	var out strings.Builder
	for _, name := range s.Required {
		if name != except {
			fmt.Fprintf(&out, "%q:%s,", name, x.good(s.Properties[name], depth))
		}
	}
	return out.String()
}

// good returns a value that the schema allows, as far as it says so.
func (x *hostile) good(s *schema, depth int) string {
	s = x.resolve(s)
	switch {
	case len(s.Example) > 0:
		return string(s.Example)
	case len(s.Default) > 0:
		return string(s.Default)
	case len(s.Enum) > 0:
		text, _ := json.Marshal(s.Enum[0])
		return string(text)
	case len(s.OneOf) > 0 && depth < 4:
		return x.good(s.OneOf[0], depth+1)
	case len(s.Properties) > 0 && depth < 4:
		return "{" + strings.TrimSuffix(x.required(s, "", depth+1), ",") + "}"
	}
	switch s.Type {
	case "integer", "number":
		return "1"
	case "boolean":
		return "true"
	case "array":
		return "[]"
	case "object":
		return "{}"
	}
	return `"a"`
}

// unreadable are bodies of any operation.
var unreadable = []string{
	" \n", "null", "[]", "{}", `"x"`, "1", "true", `{"name":`, `{} {}`, `{}x`, "\ufeff{}", `{'a':1}`, `{/* */}`, `{"a":1,}`, "a=b&c=d", "<a/>", "\x00",
	"\xff\xfe", `{"a":"\ud800"}`, "{\"a\":\"\xc3\x28\"}", `{"\u0000":1}`, `{"":1}`, "{\"a\":\"\x01\"}", `{"a":1e999}`,
	`{"__proto__":{},"constructor":{}}`, `[{}]`, `[[]]`, `{"a":1,"a":2}`, `{"a":1,"A":2}`,
	strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000), strings.Repeat("[", 100_000),
	`{"a":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}", `{"a":"` + strings.Repeat("x", 200_000) + `"}`,
	"{" + strings.Repeat(`"a":1,`, 20_000) + `"b":1}`, strings.Repeat("9", 100_000),
}

// hostileValues are values of any place. Few places accept any of them.
var hostileValues = []string{
	"null", "true", "false", "0", "-1", "1.5", "1e-7", "1e400", "-0", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
	"99999999999999999999999999", "2147483648", "01", "NaN", `""`, `" "`, `"1"`, `"\u0000"`, `"\ud800"`, "\"\xff\"", "\"a\x1bb\"", `"a\nb"`,
	`"\u2028\u202e"`, `"𝒳"`, `"%s%n"`, `"${SHELL(id)}"`, `"'; DROP TABLE x; --"`, `"../../etc/passwd"`, `"*"`, `"#"`, `"!"`,
	`"00000000-0000-4000-8000-000000000000"`, `"2026-13-45T99:99:99"`, `"` + strings.Repeat("x", 100_000) + `"`, `"` + strings.Repeat("é", 300) + `"`,
	"[]", "{}", "[null]", "[[]]", "[{}]", "[1]", `["a"]`, `["a","a"]`, `[["a"]]`, `[["a","b","c"]]`, `[["a",null]]`, `{"a":1}`, `{"":{}}`,
	`[{"id":0}]`, `[{"id":9223372036854775808}]`, `[{"id":null}]`, `[{"uuid":"x"}]`, `[{"uuid":null}]`, `{"id":1}`,
	`{"uuid":"00000000-0000-4000-8000-000000000000"}`, `{"type":"user"}`, `{"type":{}}`, `{"type":"user","user_id":-1}`, `{"type":"x"}`,
	`{"type":null}`, strings.Repeat("[", 500) + strings.Repeat("]", 500), strings.Repeat(`{"a":`, 500) + "1" + strings.Repeat("}", 500),
	"[" + strings.Repeat("1,", 5_000) + "1]",
}
