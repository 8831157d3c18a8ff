package rest_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"

	"github.com/ringfence/ringfence/internal/rest"
)

// described is a service that uses everything that a definition can express.
func described(t testing.TB, form rest.ErrorForm) *rest.Service {
	t.Helper()
	s := declared(
		rest.Operation{
			Method: http.MethodGet, Path: "/people", ID: "list_people", Tag: "people", Summary: "List people", Access: "confd.people.read",
			Query: userList.Parameters(), Reply: rest.ListOf(rest.SchemaOf[person](), true), Tenanted: true,
		},
		rest.Operation{
			Method: http.MethodPost, Path: "/people", ID: "create_person", Tag: "people", Access: "confd.people.create", Description: "Makes one.",
			Body: rest.SchemaOf[person](), Reply: rest.SchemaOf[person](), Success: http.StatusCreated, Statuses: []int{409}, Tagged: true, Located: true,
		},
		rest.Operation{
			Method: http.MethodGet, Path: "/people/{person_id}", ID: "get_person", Access: "confd.people.{person_id}.read",
			Reply: rest.SchemaOf[person](), Conditional: true, Statuses: []int{404},
		},
		rest.Operation{
			Method: http.MethodPut, Path: "/people/{person_id}", ID: "update_person", Access: "confd.people.{person_id}.update",
			Body: rest.SchemaOf[person]().Partial(), BodyOptional: true, Success: http.StatusNoContent,
		},
		rest.Operation{Method: http.MethodGet, Path: "/pages", ID: "pages", Reply: rest.SchemaOf[page[pair[address, *address]]]()},
		rest.Operation{Method: http.MethodGet, Path: "/export", ID: "export", Access: "confd.export.read", Produces: "text/csv"},
		rest.Operation{
			Method: http.MethodPut, Path: "/policies/{policy}/acl/{access}", ID: "add_access", Pattern: "access", Access: "confd.policies.{policy}.acl.create",
			Success: http.StatusNoContent, Query: []rest.Parameter{{Name: "why", Schema: &rest.Schema{Type: "string"}, Required: true}},
		},
		rest.Operation{Method: http.MethodGet, Path: "/status", ID: "status", Public: true, Success: 299},
	)
	s.Errors = form
	if err := s.Mount(); err != nil {
		t.Fatal(err)
	}
	return s
}

func loaded(t testing.TB, text []byte) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatalf("the definition is not valid: %v\n%s", err, text)
	}
	return doc
}

// spoken is an object of which some names and values are not read as they are written.
type spoken struct {
	UUID     string `json:"uuid" format:"uuid" readOnly:"true"`
	Exten    string `json:"exten" maxLength:"10"`
	RingTime *int64 `json:"ring_time"`
	Type     string `json:"type" enum:"all,one_by_one,incall"`
	Code     string `json:"code" maxLength:"10"`
}

// A definition says how people read its names, where these do not say it themselves, and what people look for first.
func TestDefinitionSpeaks(t *testing.T) {
	nothing := func(method, path, id string) rest.Operation {
		return rest.Operation{Method: method, Path: path, ID: id, Access: "confd.#", Reply: rest.SchemaOf[spoken]()}
	}
	service := func(columns ...string) *rest.Service {
		s := declared(nothing(http.MethodGet, "/funckeys/templates", "a"), nothing(http.MethodPut, "/people/{person_id}/callerids/{id}", "b"),
			nothing(http.MethodGet, "/incalls", "c"), nothing(http.MethodGet, "/sip/{id}/queue-members", "d"))
		s.Words = map[string]string{"/funckeys/templates": "function key templates", "callerids": "caller IDs", "exten": "number", "type=all": "all at once", "code=fwdunc": "forward all calls", "code=paging": "paging", "incall": "incoming call", "incalls": "incoming calls"}
		s.Columns = map[string][]string{"spoken": columns}
		if err := s.Mount(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	doc := loaded(t, service("exten", "type").Definition())
	for path, want := range map[string]string{
		"/funckeys/templates": "Function key templates", "/people/{person_id}/callerids/{id}": "Caller IDs", "/incalls": "Incoming calls", "/sip/{id}/queue-members": "Queue members",
	} {
		for _, op := range doc.Paths.Value(path).Operations() {
			if op.Extensions["x-title"] != want {
				t.Errorf("%s is titled %v, want %s", path, op.Extensions["x-title"], want)
			}
		}
	}
	schema := doc.Components.Schemas["spoken"].Value
	for name, want := range map[string]string{"uuid": "UUID", "exten": "Number", "ring_time": "", "type": ""} {
		if got := schema.Properties[name].Value.Title; got != want {
			t.Errorf("%s is read %q, want %q", name, got, want)
		}
	}
	if got := schema.Properties["type"].Value.Extensions["x-enum-labels"]; !reflect.DeepEqual(got, map[string]any{"all": "All at once", "incall": "Incoming call"}) {
		t.Errorf("the values are read %v", got)
	}
	// Of an attribute that may have any text they are those that somebody has said.
	if got := schema.Properties["code"].Value.Extensions["x-enum-labels"]; !reflect.DeepEqual(got, map[string]any{"fwdunc": "Forward all calls"}) {
		t.Errorf("the codes are read %v", got)
	}
	if got := schema.Extensions["x-columns"]; !reflect.DeepEqual(got, []any{"exten", "type"}) {
		t.Errorf("the columns are %v", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a column that is no attribute is taken")
		}
	}()
	service("number").Definition()
}

func TestDefinition(t *testing.T) {
	doc := loaded(t, described(t, rest.MessageList).Definition())
	if doc.Info.Title != "Configuration" || doc.Info.Version != "1.1" || doc.Servers[0].URL != prefix {
		t.Errorf("%+v", doc.Info)
	}
	list := doc.Paths.Value("/people").Get
	if list.OperationID != "list_people" || list.Summary != "List people" || !slices.Equal(list.Tags, []string{"people"}) {
		t.Errorf("%+v", list)
	}
	if list.Description != "**Required ACL:** `confd.people.read`" || list.Extensions["x-required-acl"] != "confd.people.read" {
		t.Errorf("required access: %q, %v", list.Description, list.Extensions)
	}
	for _, name := range []string{"order", "direction", "limit", "offset", "search", "recurse", "uuid", "email"} {
		if p := list.Parameters.GetByInAndName("query", name); p == nil || p.Required {
			t.Errorf("parameter %s: %+v", name, p)
		}
	}
	if p := list.Parameters.GetByInAndName("query", "limit").Schema.Value; *p.Min != 1 || !p.Type.Is("integer") {
		t.Errorf("limit: %+v", p)
	}
	if p := list.Parameters.GetByInAndName("query", "order").Schema.Value; !reflect.DeepEqual(p.Enum, []any{"lastname", "firstname"}) {
		t.Errorf("order: %+v", p)
	}
	if list.Parameters.GetByInAndName("header", "Wazo-Tenant") == nil {
		t.Error("no Wazo-Tenant")
	}
	items := list.Responses.Status(200).Value.Content["application/json"].Schema.Value.Properties["items"].Value
	if items.Items.Ref != "#/components/schemas/person" {
		t.Errorf("items: %s", items.Items.Ref)
	}

	create := doc.Paths.Value("/people").Post
	if create.Description != "**Required ACL:** `confd.people.create`\n\nMakes one." || !create.RequestBody.Value.Required {
		t.Errorf("%q %v", create.Description, create.RequestBody.Value.Required)
	}
	if got := statuses(create); got != "201 400 401 403 406 409 413 414 415 500 503" {
		t.Errorf("statuses of a create: %s", got)
	}
	if made := create.Responses.Status(201).Value.Headers; made["ETag"] == nil || made["Location"] == nil {
		t.Errorf("headers of a create: %v", made)
	}
	read := doc.Paths.Value("/people/{person_id}").Get
	if got := statuses(read); got != "200 304 400 401 403 404 406 412 413 414 415 500 503" {
		t.Errorf("statuses of a read: %s", got)
	}
	if read.Responses.Status(200).Value.Headers["ETag"] == nil || read.Responses.Status(304).Value.Headers["ETag"] == nil {
		t.Error("no ETag")
	}
	if read.Parameters.GetByInAndName("header", "If-None-Match") == nil || read.Responses.Status(503).Value.Headers["Retry-After"] == nil {
		t.Error("no If-None-Match, or no Retry-After")
	}
	if p := read.Parameters.GetByInAndName("path", "person_id"); p == nil || !p.Required {
		t.Errorf("person_id: %+v", p)
	}
	update := doc.Paths.Value("/people/{person_id}").Put
	if update.RequestBody.Value.Required || update.RequestBody.Value.Content["application/json"].Schema.Ref != "#/components/schemas/personUpdate" {
		t.Errorf("%+v", update.RequestBody.Value)
	}
	if undocumented := doc.Paths.Value("/pages").Get; undocumented.Extensions["x-required-acl"] != "confd.#" || undocumented.Description != "**Required ACL:** `confd.#`" {
		t.Errorf("%v", undocumented.Extensions)
	}
	export := doc.Paths.Value("/export").Get
	if export.Responses.Status(200).Value.Content["text/csv"] == nil || statuses(export) != "200 400 401 403 413 414 415 500 503" {
		t.Errorf("%s", statuses(export))
	}
	acl := doc.Paths.Value("/policies/{policy}/acl/{access}").Put
	if p := acl.Parameters.GetByInAndName("path", "access"); p.Extensions["x-acl-pattern"] != true {
		t.Errorf("access: %v", p.Extensions)
	}
	if p := acl.Parameters.GetByInAndName("path", "policy"); p.Extensions["x-acl-pattern"] != nil {
		t.Errorf("policy: %v", p.Extensions)
	}
	if !acl.Parameters.GetByInAndName("query", "why").Required {
		t.Error("why is not required")
	}
	for _, path := range []string{"/status", "/api/openapi.json", "/api/api.yml"} {
		public := doc.Paths.Value(path).Get
		if public.Extensions["x-required-acl"] != nil || public.Description != "" || public.Security == nil || len(*public.Security) != 0 {
			t.Errorf("%s: %+v", path, public)
		}
	}
	if doc.Components.SecuritySchemes["token"].Value.Name != "X-Auth-Token" || len(*list.Security) != 1 {
		t.Error("no security scheme")
	}
}

func statuses(op *openapi3.Operation) string {
	var out []string
	for status := range op.Responses.Map() {
		out = append(out, status)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestDefinitionOfSchemas(t *testing.T) {
	s := described(t, rest.MessageList)
	doc := loaded(t, s.Definition())
	all := doc.Components.Schemas
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "Error Problem address pagepairaddressaddress pairaddressaddress person personUpdate problemPart" {
		t.Errorf("components %s", got)
	}
	p := all["person"].Value
	if !slices.Equal(p.Required, []string{"name"}) || len(all["personUpdate"].Value.Required) != 0 {
		t.Errorf("required: %v, %v", p.Required, all["personUpdate"].Value.Required)
	}
	property := func(name string) *openapi3.SchemaRef { return p.Properties[name] }
	if id := property("id").Value; !id.ReadOnly {
		t.Errorf("id: %+v", id)
	}
	if secret := property("secret").Value; !secret.WriteOnly || !secret.Nullable {
		t.Errorf("secret: %+v", secret)
	}
	if role := property("role").Value; !reflect.DeepEqual(role.Enum, []any{"user", "admin", nil}) || role.Default != "user" {
		t.Errorf("role: %+v", role)
	}
	if age := property("age").Value; *age.Min != 1 || *age.Max != 150 || age.Default != 30.0 {
		t.Errorf("age: %+v", age)
	}
	if update := all["personUpdate"].Value.Properties["age"].Value; update.Default != nil || *update.Min != 1 {
		t.Errorf("age of an update: %+v", update)
	}
	if tags := property("tags").Value; *tags.MaxItems != 3 || *tags.Items.Value.MaxLength != 4 || !reflect.DeepEqual(tags.Default, []any{}) {
		t.Errorf("tags: %+v", tags)
	}
	if property("address").Ref != "#/components/schemas/address" {
		t.Errorf("address: %+v", property("address"))
	}
	other := property("other").Value
	if !other.Nullable || other.AllOf[0].Ref != "#/components/schemas/address" || other.Description != "Another one." || all["address"].Value.Description != "" {
		t.Errorf("other: %+v", other)
	}
	if limits := property("limits").Value; limits.AdditionalProperties.Schema.Value.Type.Is("string") || !limits.AdditionalProperties.Schema.Value.Type.Is("integer") {
		t.Errorf("limits: %+v", limits)
	}
	for name, c := range map[string]struct {
		value any
		ok    bool
	}{
		"name": {nil, false}, "email": {nil, true}, "other": {nil, true}, "address": {nil, false}, "role": {nil, true}, "free": {nil, true}, "born": {nil, true},
	} {
		if err := property(name).Value.VisitJSON(c.value); (err == nil) != c.ok {
			t.Errorf("%s: null: %v", name, err)
		}
	}
}

// The body of each form of refusal matches the definition.
func TestDefinitionOfRefusals(t *testing.T) {
	for name, form := range map[string]rest.ErrorForm{"list": rest.MessageList, "code": rest.CodeMessage, "auth": rest.AuthErrors} {
		t.Run(name, func(t *testing.T) {
			s := described(t, form)
			doc := loaded(t, s.Definition())
			content := doc.Paths.Value("/people").Post.Responses.Status(400).Value.Content["application/json"]
			if content.Schema.Ref != "#/components/schemas/Error" {
				t.Fatalf("%+v", content)
			}
			for _, status := range []int{406, 415} {
				if got := doc.Paths.Value("/people").Post.Responses.Status(status).Value.Content; got != nil {
					t.Errorf("%d has a body: %v", status, got)
				}
			}
			w := call(t, s, http.MethodPost, "/nope", "{}")
			wantStatus(t, w, http.StatusNotFound)
			var body any
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
				t.Fatal(err)
			}
			if err := content.Schema.Value.VisitJSON(body); err != nil {
				t.Errorf("%s: %v", w.Body, err)
			}
		})
	}
}

func TestDefinitionIsServed(t *testing.T) {
	s := described(t, rest.MessageList)
	w := call(t, s, http.MethodGet, "/api/openapi.json", "", "Accept: ")
	wantStatus(t, w, http.StatusOK)
	if w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Cache-Control") != "no-cache" || w.Header().Get("ETag") == "" {
		t.Errorf("%v", w.Header())
	}
	if w.Body.String() != string(s.Definition()) {
		t.Error("another definition is served")
	}
	var fromJSON, fromYAML any
	if err := json.Unmarshal(w.Body.Bytes(), &fromJSON); err != nil {
		t.Fatal(err)
	}
	again := call(t, s, http.MethodGet, "/api/openapi.json", "", "If-None-Match: "+w.Header().Get("ETag"))
	wantStatus(t, again, http.StatusNotModified)

	w = call(t, s, http.MethodGet, "/api/api.yml", "", "Accept: text/html")
	wantStatus(t, w, http.StatusOK)
	if w.Header().Get("Content-Type") != "application/yaml" {
		t.Errorf("%v", w.Header())
	}
	loaded(t, w.Body.Bytes())
	if err := yaml.Unmarshal(w.Body.Bytes(), &fromYAML); err != nil {
		t.Fatal(err)
	}
	// Through JSON, so that both have the same types of numbers.
	text, err := json.Marshal(fromYAML)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &fromYAML); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(fromJSON, fromYAML) {
		t.Error("the YAML says something else than the JSON")
	}
	for range 5 { // the same after every start, so that its tag is
		if again := described(t, rest.MessageList); string(again.Definition()) != string(s.Definition()) {
			t.Fatal("the same service has another definition")
		}
	}
}

func TestDefinitionDefaults(t *testing.T) {
	s := declared(op("GET", "/x", ""))
	s.Title, s.Version, s.Prefix = "", "", ""
	if err := s.Mount(); err != nil {
		t.Fatal(err)
	}
	if doc := loaded(t, s.Definition()); doc.Info.Title != "confd" || doc.Info.Version != "1.0" || doc.Servers[0].URL != "/" {
		t.Errorf("%+v", doc.Info)
	}
}

// Two types of one name would overwrite each other.
func TestSchemasOfOneName(t *testing.T) {
	type Error struct {
		Mine int `json:"mine"`
	}
	one := func() *rest.Schema {
		type clash struct {
			A string `json:"a"`
		}
		return rest.SchemaOf[clash]()
	}
	two := func() *rest.Schema {
		type clash struct {
			A string `json:"a" maxLength:"3"`
		}
		return rest.SchemaOf[clash]()
	}
	around := func(inner *rest.Schema) *rest.Schema {
		return &rest.Schema{Name: "around", Type: "object", Properties: []rest.Property{{Name: "inner", Schema: inner}}}
	}
	for name, schemas := range map[string][]*rest.Schema{
		"clash": {one(), two()}, "Error": {rest.SchemaOf[Error]()}, `clash" within`: {around(one()), around(two())},
	} {
		name, _, _ := strings.Cut(name, `"`)
		var ops []rest.Operation
		for i, schema := range schemas {
			ops = append(ops, rest.Operation{Method: http.MethodGet, Path: "/x/" + string(rune('a'+i)), Reply: schema})
		}
		if err := declared(ops...).Mount(); err == nil || !strings.Contains(err.Error(), `two schemas are called "`+name+`"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	mounted(t, rest.Operation{Method: http.MethodGet, Path: "/x", Reply: one()}, rest.Operation{Method: http.MethodGet, Path: "/y", Reply: one()})
}

// offered is an object of which only some fields are harmless to send.
type offered struct {
	UUID     string   `json:"uuid" format:"uuid"`
	Label    string   `json:"label" maxLength:"20"`
	Context  string   `json:"context" required:"true" names:"contexts.name" example:"default"`
	Other    *string  `json:"other" names:"contexts.name"`
	Password string   `json:"password" maxLength:"20"`
	Secret   string   `json:"secret" writeOnly:"true"`
	Kind     string   `json:"kind" enum:"a,b"`
	Enabled  bool     `json:"enabled" default:"true"`
	Goal     goal     `json:"goal" required:"true"`
	Tags     []string `json:"tags"`
	ID       int64    `json:"id" readOnly:"true"`
}

// A console offers a body that can be sent as it stands: it has what is required, and texts, but no key, no password and nothing that need
// not be named.
func TestExampleOfABody(t *testing.T) {
	operation := func(id string, body *rest.Schema) rest.Operation {
		return rest.Operation{Method: http.MethodPut, Path: "/" + id, ID: id, Access: "confd.#", Body: body, Success: http.StatusNoContent}
	}
	s := declared(operation("parts", rest.SchemaOf[offered]()), operation("whole", rest.SchemaOf[offered]().Exemplified(`{"context":"x","goal":{"type":"none"}}`)),
		operation("nothing", rest.SchemaOf[struct {
			Enabled bool `json:"enabled"`
		}]()))
	s.Examples = map[string]string{"label": "Sales"}
	if err := s.Mount(); err != nil {
		t.Fatal(err)
	}
	doc := loaded(t, s.Definition())
	for path, want := range map[string]string{
		"/parts": `{"context":"default","goal":{"type":"none"},"label":"Sales"}`, "/whole": `{"context":"x","goal":{"type":"none"}}`, "/nothing": `null`,
	} {
		content := doc.Paths.Value(path).Put.RequestBody.Value.Content["application/json"]
		if got, err := json.Marshal(content.Example); err != nil || string(got) != want {
			t.Errorf("%s: %s, want %s (%v)", path, got, want, err)
		}
		if path != "/nothing" && content.Schema.Ref != "#/components/schemas/offered" {
			t.Errorf("%s: %+v", path, content.Schema)
		}
	}
	wrong := declared(operation("wrong", rest.SchemaOf[offered]().Exemplified(`{"goal":{"type":"none"}}`)))
	if err := wrong.Mount(); err == nil || !strings.Contains(err.Error(), "context: Is required") {
		t.Errorf("an example that is refused: %v", err)
	}
}
