package gate_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/gate"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/target"
)

const callsDefinition = `
openapi: 3.0.3
info: {title: Calls, version: "1.0"}
servers:
  - url: https://calls.example/api/calls/1.0/
components:
  parameters:
    access: {name: access, in: path, required: true, x-acl-pattern: true}
paths:
  x-comment: nothing
  /:
    get: {x-required-acl: calls.root.read}
  /calls:
    get:
      description: "**Required ACL:** ` + "`calls.calls.read`" + `. Lists calls; see ` + "`limit`" + `."
      responses: {200: {description: ok}}
    post:
      x-required-acl: calls.calls.create
      description: "**Required ACL:** ` + "`calls.calls.create`" + `"
    options: {x-required-acl: calls.calls.read}
  /calls/{call_id}:
    get:
      description: |
        Reads one call.

        **Required ACL**: ` + "`calls.calls.{call_id}.read`" + `
    delete: {x-required-acl: "calls.calls.{call_id}.delete"}
  /calls/mine:
    get: {x-required-acl: calls.mine.read}
  /policies/{policy}/acl/{access}:
    parameters:
      - $ref: '#/components/parameters/access'
    put: {x-required-acl: "calls.policies.{policy}.update"}
  /wild:
    get: {x-required-acl: "calls.*.read"}
  /health:
    get: {security: []}
  /alternatives:
    get: {description: "**Required ACL:** ` + "`calls.a.read` or `calls.b.read`" + `"}
  /alternatives/comma:
    get: {description: "**Required ACL:** ` + "`calls.a.read`, `calls.b.read`" + `"}
  /alternatives/twice:
    get: {description: "**Required ACL:** ` + "`calls.a.read`. **Required ACL:** `calls.b.read`" + `"}
  /alternatives/list:
    get: {x-required-acl: [calls.a.read, calls.b.read]}
  /contradiction:
    get: {x-required-acl: calls.a.read, description: "**Required ACL:** ` + "`calls.b.read`" + `"}
  /unquoted:
    get: {description: "**Required ACL:** calls.a.read"}
  /stranger/{id}:
    get: {x-required-acl: "calls.stranger.{uuid}.read"}
  /glued/{id}:
    get: {x-required-acl: "calls.x{id}.read"}
  /unclosed/{id}:
    get: {x-required-acl: "calls.{id.read"}
  /empty:
    get: {x-required-acl: "calls..read"}
  /other:
    get: {x-required-acl: "confd.other.read"}
  /everything:
    get: {x-required-acl: "calls"}
  /denial:
    get: {x-required-acl: "!calls.x"}
  /policies/{policy}/bad/{access}:
    get:
      parameters: [{$ref: '#/components/parameters/access'}]
      x-required-acl: "calls.policies.{policy}.{access}.read"
  /misplaced:
    get:
      parameters: [{$ref: '#/components/parameters/access'}, {$ref: 'other.yml#/x'}, {$ref: '#/components/nothing/here'}]
      x-required-acl: "calls.misplaced.read"
  /twins/{a}:
    get: {x-required-acl: "calls.twins.{a}.read"}
  /twins/{b}:
    get: {x-required-acl: "calls.twins.{b}.admin"}
    put: {x-required-acl: "calls.twins.{b}.update"}
  /files/{name}.{ext}:
    get: {x-required-acl: "calls.files.read"}
  /many/{a}/{b}/{c}/{d}/{e}/{f}/{g}:
    get: {x-required-acl: "calls.many.read"}
  no/slash:
    get: {x-required-acl: "calls.no.read"}
  /elsewhere:
    $ref: 'other.yml'
  /slash/:
    get: {x-required-acl: "calls.slash.read"}
  /malformed: nothing
`

func TestDefinition(t *testing.T) {
	d, err := gate.NewDefinition("calls", "", []byte(callsDefinition), []gate.Route{
		{Method: "GET", Path: "/api/calls/1.0/health"}, {Method: "POST", Path: "/api/calls/1.0/hooks/{id}"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if d.Prefix() != "/api/calls/1.0" {
		t.Errorf("prefix %q", d.Prefix())
	}
	const all = "calls.#"
	tests := []struct{ method, path, want string }{
		{"GET", "", "calls.root.read"},
		{"GET", "/calls", "calls.calls.read"},
		{"HEAD", "/calls", "calls.calls.read"},
		{"POST", "/calls", "calls.calls.create"},
		{"PUT", "/calls", all},
		{"OPTIONS", "/calls", all},
		{"GET", "/calls/17", "calls.calls.17.read"},
		{"GET", "/calls/a.b", "calls.calls.a%2Eb.read"},
		{"DELETE", "/calls/17", "calls.calls.17.delete"},
		{"GET", "/calls/mine", "calls.mine.read"},
		{"DELETE", "/calls/mine", all},
		{"GET", "/calls/17/x", all},
		{"PUT", "/policies/p/acl/x.%23", "calls.policies.p.update"},
		{"PUT", "/policies/p/acl/x", "calls.policies.p.update"},
		{"GET", "/wild", "calls.*.read"},
		{"GET", "/health", ""},
		{"HEAD", "/health", ""},
		{"POST", "/health", all},
		{"POST", "/hooks/1", ""},
		{"GET", "/hooks/1", all},
		{"GET", "/alternatives", all},
		{"GET", "/alternatives/comma", all},
		{"GET", "/alternatives/twice", all},
		{"GET", "/alternatives/list", all},
		{"GET", "/contradiction", all},
		{"GET", "/unquoted", all},
		{"GET", "/stranger/1", all},
		{"GET", "/glued/1", all},
		{"GET", "/unclosed/1", all},
		{"GET", "/empty", all},
		{"GET", "/other", all},
		{"GET", "/everything", all},
		{"GET", "/denial", all},
		{"GET", "/policies/p/bad/x", all},
		{"GET", "/misplaced", "calls.misplaced.read"},
		{"GET", "/twins/1", all},
		{"PUT", "/twins/1", "calls.twins.1.update"},
		{"GET", "/files/a.txt", all},
		{"GET", "/many/a/b/c/d/e/f/g", all},
		{"GET", "/elsewhere", all},
		{"GET", "/slash", all},
		{"GET", "/malformed", all},
	}
	for _, tt := range tests {
		got, ok := d.Route(tt.method, parse(t, "/api/calls/1.0"+tt.path))
		if !ok || got.Access != tt.want || got.Public != (tt.want == "") || got.Service != "calls" || got.Match != nil {
			t.Errorf("%s %s needs %+v, want %q", tt.method, tt.path, got, tt.want)
		}
	}
	if need, _ := d.Route("PUT", parse(t, "/api/calls/1.0/policies/p/acl/x")); !need.Pattern {
		t.Error("the pattern parameter takes no pattern")
	}
	if need, _ := d.Route("PUT", parse(t, "/api/calls/1.0/policies/%2A/acl/x")); need.Pattern {
		t.Error("a plain parameter takes a pattern")
	}
	for _, path := range []string{"/api/calls/1.1/calls", "/api/calls", "/api/Calls/1.0/calls", "/"} {
		if _, ok := d.Route("GET", parse(t, path)); ok {
			t.Errorf("GET %s is routed", path)
		}
	}
	warnings := d.Warnings()
	for _, about := range []string{
		"GET /alternatives:", "GET /alternatives/comma:", "GET /alternatives/twice:", "GET /alternatives/list:", "GET /contradiction:", "GET /unquoted:",
		"GET /stranger/{id}:", "GET /glued/{id}:", "GET /unclosed/{id}:", "GET /empty:", "GET /other:", "GET /everything:", "GET /denial:", "GET /policies/{policy}/bad/{access}:",
		"GET /misplaced:", "GET /twins/{b}:", "path /files/{name}.{ext}:", "path /many/", "path no/slash:", "path /elsewhere:", "path /slash/:", "GET /health:",
	} {
		if !slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, about) }) {
			t.Errorf("no warning about %s", about)
		}
	}
	if len(warnings) != 22 {
		t.Errorf("%d warnings:\n%s", len(warnings), strings.Join(warnings, "\n"))
	}
}

func parse(tb testing.TB, uri string) *target.Target {
	tb.Helper()
	got, err := target.Parse(uri)
	if err != nil {
		tb.Fatal(err)
	}
	return &got
}

func TestDefinitionForms(t *testing.T) {
	tests := []struct {
		name, prefix, document string
		want                   string // the prefix
	}{
		{"Swagger in JSON with tabs", "", "{\n\t\"swagger\": \"2.0\",\n\t\"basePath\": \"/0.1\",\n\t\"paths\": {\"/a\": {\"get\": {\"x-required-acl\": \"s.a.read\"}}}}", "/0.1"},
		{"Swagger in YAML", "", "swagger: '2.0'\nbasePath: /0.1\npaths: {/a: {get: {x-required-acl: s.a.read}}}", "/0.1"},
		{"prefix of the configuration", "/api/s/0.1", "swagger: '2.0'\nbasePath: /0.1\npaths: {/a: {get: {x-required-acl: s.a.read}}}", "/api/s/0.1"},
		{"relative server", "", "openapi: 3.1.0\nservers: [{url: /v1}]\npaths: {/a: {get: {x-required-acl: s.a.read}}}", "/v1"},
		{"server at the root", "", "openapi: 3.1.0\nservers: [{url: 'https://x/'}]\npaths: {/a: {get: {x-required-acl: s.a.read}}}", "/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := gate.NewDefinition("s", tt.prefix, []byte(tt.document), nil)
			if err != nil {
				t.Fatal(err)
			}
			if d.Prefix() != tt.want || len(d.Warnings()) > 0 {
				t.Errorf("prefix %q, warnings %q", d.Prefix(), d.Warnings())
			}
			need, ok := d.Route("GET", parse(t, strings.TrimSuffix(tt.want, "/")+"/a"))
			if !ok || need.Access != "s.a.read" {
				t.Errorf("need %+v", need)
			}
		})
	}
}

// What a service of ours publishes is read back to the same accesses.
func TestDefinitionOfOurs(t *testing.T) {
	s := confd(t)
	w := httptest.NewRecorder()
	r := request(t, "GET", s.Prefix+"/api/openapi.json", "Accept", "application/json")
	s.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	d, err := gate.NewDefinition("confd", s.Prefix, w.Body.Bytes(), []gate.Route{{Method: "GET", Path: s.Prefix + "/wizard"}})
	if err != nil {
		t.Fatal(err)
	}
	own := gate.Services([]*rest.Service{s})[0]
	for _, op := range s.Operations {
		if strings.HasPrefix(op.Path, "/api/") {
			continue // public by nature; a definition makes nothing public
		}
		path := strings.NewReplacer("{", "", "}", "").Replace(op.Path)
		ours, _ := own.Route(op.Method, parse(t, s.Prefix+path))
		theirs, _ := d.Route(op.Method, parse(t, s.Prefix+path))
		if ours.Access != theirs.Access || ours.Public != theirs.Public {
			t.Errorf("%s %s needs %q, by its definition %q", op.Method, op.Path, ours.Access, theirs.Access)
		}
	}
}

func TestRoutersRefuse(t *testing.T) {
	const document = "swagger: '2.0'\npaths: {}"
	route := func(method, path string) []gate.Route { return []gate.Route{{Method: method, Path: path}} }
	definitions := []struct {
		name, service, prefix, document string
		public                          []gate.Route
	}{
		{"not YAML", "s", "/s", "{", nil},
		{"not YAML either", "s", "/s", "a: [", nil},
		{"neither kind", "s", "/s", "a: 1\npaths: {}", nil},
		{"Swagger 1", "s", "/s", "swagger: '1.2'\npaths: {}", nil},
		{"no paths", "s", "/s", "swagger: '2.0'", nil},
		{"no prefix", "s", "", document, nil},
		{"prefix with a variable", "s", "", "openapi: 3.0.0\nservers: [{url: '{host}/x'}]\npaths: {}", nil},
		{"two words", "s.t", "/s", document, nil},
		{"no service", "", "/s", document, nil},
		{"wildcard", "*", "/s", document, nil},
		{"prefix without a slash", "s", "s", document, nil},
		{"prefix with an ACL's sign", "s", "/s/*", document, nil},
		{"public method", "s", "/s", document, route("OPTIONS", "/s/x")},
		{"public elsewhere", "s", "/s", document, route("GET", "/secret/x")},
		{"public beside the prefix", "s", "/s", document, route("GET", "/secret")},
		{"public with a dot segment", "s", "/s", document, route("GET", "/s/../x")},
		{"public with a slash at the end", "s", "/s", document, route("GET", "/s/x/")},
		{"public with an empty parameter", "s", "/s", document, route("GET", "/s/{}")},
		{"public with a broken parameter", "s", "/s", document, route("GET", "/s/{a}b}")},
		{"public with half a parameter", "s", "/s", document, route("GET", "/s/x{a}")},
		{"public with a wildcard", "s", "/s", document, route("GET", "/s/*")},
		{"public with many parameters", "s", "/s", document, route("GET", "/s/{a}/{b}/{c}/{d}/{e}/{f}/{g}")},
	}
	for _, tt := range definitions {
		if _, err := gate.NewDefinition(tt.service, tt.prefix, []byte(tt.document), tt.public); err == nil {
			t.Errorf("%s: a definition is accepted", tt.name)
		}
		if !strings.HasPrefix(tt.document, document) || tt.prefix == "" {
			continue
		}
		if _, err := gate.NewDerived(tt.service, tt.prefix, tt.public); err == nil {
			t.Errorf("%s: a derived router is accepted", tt.name)
		}
	}
	if d, err := gate.NewDerived("s", "/s", []gate.Route{{Method: "GET", Path: "/s"}}); err != nil {
		t.Errorf("a public prefix: %v", err)
	} else if need, _ := d.Route("GET", parse(t, "/s")); !need.Public {
		t.Errorf("a public prefix needs %q", need.Access)
	}
	if _, err := gate.NewDerived("s", "/s", []gate.Route{{Method: "GET", Path: "/s/a"}, {Method: "GET", Path: "/s/a"}}); err == nil {
		t.Error("a public route given twice is accepted")
	}
}

// A parameter that a path has twice leaves open which one an access means: the path keeps its place, and needs everything.
func TestDefinitionRepeatsAParameter(t *testing.T) {
	d, err := gate.NewDefinition("calls", "/api", []byte(`
openapi: 3.0.3
paths:
  /calls/{id}/legs/{id}:
    get: {x-required-acl: "calls.legs.{id}.read"}
    delete: {x-required-acl: "calls.legs.delete"}
    put: {x-required-acl: "calls.legs.update", parameters: [{name: id, in: path, x-acl-pattern: true}]}
  /calls/{call}/{what}/{leg}:
    get: {x-required-acl: "calls.any.read"}
    post: {x-required-acl: "calls.any.create"}
  /calls/{id}/tones/{id}:
    get: {x-required-acl: "calls.tones.read"}
  /calls/{call}/tones/{tone}:
    get: {x-required-acl: "calls.tones.{tone}.read"}
    put: {x-required-acl: "calls.tones.{tone}.update"}
  /calls/{id}:
    get: {x-required-acl: "calls.{id}.read"}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	const all = "calls.#"
	for _, tt := range []struct{ method, path, want string }{
		{"GET", "/calls/1/legs/2", all},
		{"HEAD", "/calls/1/legs/2", all},
		{"DELETE", "/calls/1/legs/2", all},
		{"PUT", "/calls/1/legs/2", all},
		{"PUT", "/calls/1/legs/%2A", all},
		{"POST", "/calls/1/legs/2", all},
		{"GET", "/calls/1/hooks/2", "calls.any.read"},
		{"GET", "/calls/1/tones/2", all},
		{"PUT", "/calls/1/tones/2", "calls.tones.2.update"},
		{"GET", "/calls/1", "calls.1.read"},
	} {
		need, ok := d.Route(tt.method, parse(t, "/api"+tt.path))
		if !ok || need.Access != tt.want || need.Public || need.Pattern {
			t.Errorf("%s %s needs %+v, want %q", tt.method, tt.path, need, tt.want)
		}
	}
	warnings := d.Warnings()
	for _, want := range []string{
		"path /calls/{id}/legs/{id}: it has the parameter {id} twice; it needs calls.#",
		"path /calls/{id}/tones/{id}: it has the parameter {id} twice; it needs calls.#",
	} {
		if !slices.Contains(warnings, want) {
			t.Errorf("no warning %q", want)
		}
	}
	if len(warnings) != 3 { // and the twins
		t.Errorf("%d warnings:\n%s", len(warnings), strings.Join(warnings, "\n"))
	}
}

// A definition is shown as JSON, with the paths of the gateway in place of the daemon's own.
func TestDefinitionShown(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ document, want string }{
		"swagger": {
			"swagger: '2.0'\nhost: agentd:9493\nschemes: [http]\nbasePath: /1.0\npaths:\n  /agents:\n    get:\n      tags: [agents]\n      responses:\n        200: {description: all}\n",
			`{"basePath":"/api/agentd","paths":{"/agents":{"get":{"responses":{"200":{"description":"all"}},"tags":["agents"]}}},"swagger":"2.0"}`,
		},
		"openapi": {
			`{"openapi": "3.0.3", "servers": [{"url": "http://agentd:9493/1.0"}], "paths": {}}`,
			`{"openapi":"3.0.3","paths":{},"servers":[{"url":"/api/agentd"}]}`,
		},
		"servers of a path and of an operation": {
			`{"openapi": "3.0.3", "paths": {"/agents": {"servers": [{"url": "http://a"}], "parameters": [], "get": {"servers": [{"url": "http://b"}], "responses": {}}}}}`,
			`{"openapi":"3.0.3","paths":{"/agents":{"get":{"responses":{}},"parameters":[]}},"servers":[{"url":"/api/agentd"}]}`,
		},
		"schemes of an operation": {
			`{"swagger": "2.0", "paths": {"/agents": {"get": {"schemes": ["http"], "responses": {}}}}}`,
			`{"basePath":"/api/agentd","paths":{"/agents":{"get":{"responses":{}}}},"swagger":"2.0"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := gate.NewDefinition("agentd", "/api/agentd", []byte(tt.document), nil)
			if err != nil {
				t.Fatal(err)
			}
			shown, err := d.Shown()
			if err != nil || string(shown) != tt.want || d.Name() != "agentd" || d.Prefix() != "/api/agentd" {
				t.Errorf("%v: %s %s\n%s\nwant\n%s", err, d.Name(), d.Prefix(), shown, tt.want)
			}
		})
	}
}
