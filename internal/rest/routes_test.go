package rest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest"
)

func op(method, path, access string) rest.Operation {
	return rest.Operation{Method: method, Path: path, Access: access, ID: method + " " + path}
}

func routed(t testing.TB) *rest.Service {
	t.Helper()
	pattern := op("PUT", "/policies/{policy}/acl/{access}", "confd.policies.{policy}.acl.create")
	pattern.Pattern = "access"
	public := op("GET", "/status", "")
	public.Public = true
	return mounted(t,
		op("GET", "/users", "confd.users.read"),
		op("POST", "/users", "confd.users.create"),
		op("GET", "/users/{user_id}", "confd.users.{user_id}.read"),
		op("DELETE", "/users/{user_id}", "confd.users.{user_id}.delete"),
		op("POST", "/users/import", "confd.users.import.create"),
		op("GET", "/users/{user_uuid}/lines/{line_id}", "confd.users.{user_uuid}.lines.{line_id}.read"),
		op("GET", "/users/me/funckeys", "confd.users.me.funckeys.read"),
		op("GET", "/users/{user_id}/{part}", "confd.users.{user_id}.{part}.read"),
		op("HEAD", "/tokens/{token}", "confd.tokens.read"),
		op("GET", "/tokens/{token}", "confd.tokens.list"),
		op("GET", "/pairs/{a}/{b}", "confd.pairs.{b}.{a}.{b}.read"),
		op("GET", "/undocumented", ""),
		op("GET", "/a/{1}/{2}/{3}/{4}/{5}/{6}", "confd.{6}.{5}.{4}.{3}.{2}.{1}"),
		op("GET", "/", "confd.root.read"),
		pattern, public,
		op("DELETE", "/policies/{policy}/acl/{access}", "confd.policies.{policy}.acl.delete"),
	)
}

func TestMatch(t *testing.T) {
	s := routed(t)
	for name, c := range map[string]struct {
		method, path string
		op           string
		access       string
		allow        string
	}{
		"collection":          {"GET", "/users", "GET /users", "confd.users.read", ""},
		"one":                 {"GET", "/users/17", "GET /users/{user_id}", "confd.users.17.read", ""},
		"HEAD by GET":         {"HEAD", "/users/17", "GET /users/{user_id}", "confd.users.17.read", ""},
		"HEAD of its own":     {"HEAD", "/tokens/x", "HEAD /tokens/{token}", "confd.tokens.read", ""},
		"GET beside HEAD":     {"GET", "/tokens/x", "GET /tokens/{token}", "confd.tokens.list", ""},
		"literal first":       {"POST", "/users/import", "POST /users/import", "confd.users.import.create", ""},
		"literal, method":     {"GET", "/users/import", "", "confd.#", "POST"},
		"back from a literal": {"GET", "/users/import/lines", "GET /users/{user_id}/{part}", "confd.users.import.lines.read", ""},
		"back, deeper":        {"GET", "/users/me/lines/3", "GET /users/{user_uuid}/lines/{line_id}", "confd.users.me.lines.3.read", ""},
		"literal deeper":      {"GET", "/users/me/funckeys", "GET /users/me/funckeys", "confd.users.me.funckeys.read", ""},
		"another name":        {"GET", "/users/17/lines/3", "GET /users/{user_uuid}/lines/{line_id}", "confd.users.17.lines.3.read", ""},
		"repeated parameter":  {"GET", "/pairs/x/y", "GET /pairs/{a}/{b}", "confd.pairs.y.x.y.read", ""},
		"six parameters":      {"GET", "/a/1/2/3/4/5/6", "GET /a/{1}/{2}/{3}/{4}/{5}/{6}", "confd.6.5.4.3.2.1", ""},
		"root":                {"GET", "", "GET /", "confd.root.read", ""},
		"public":              {"GET", "/status", "GET /status", "", ""},
		"the definition":      {"GET", "/api/api.yml", "get_definition_yaml", "", ""},
		"without an access":   {"GET", "/undocumented", "GET /undocumented", "confd.#", ""},
		"another method":      {"PATCH", "/users/17", "", "confd.#", "DELETE GET HEAD"},
		"public, another":     {"POST", "/status", "", "confd.#", "GET HEAD"},
		"an odd method":       {"get", "/users", "", "confd.#", "GET HEAD POST"},
		"no such path":        {"GET", "/nope", "", "confd.#", ""},
		"too long":            {"GET", "/users/17/lines/3/4", "", "confd.#", ""},
		"part of a path":      {"GET", "/pairs/x", "", "confd.#", ""},
		"another case":        {"GET", "/Users", "", "confd.#", ""},
		"the version twice":   {"GET", "/1.1/users", "", "confd.#", ""},

		"a dot":          {"GET", "/users/a.b", "GET /users/{user_id}", "confd.users.a%2Eb.read", ""},
		"dots":           {"GET", "/users/..a.", "GET /users/{user_id}", "confd.users.%2E%2Ea%2E.read", ""},
		"an access":      {"DELETE", "/users/1.read.x", "DELETE /users/{user_id}", "confd.users.1%2Eread%2Ex.delete", ""},
		"pattern":        {"PUT", "/policies/p/acl/confd.%23", "PUT /policies/{policy}/acl/{access}", "confd.policies.p.acl.create", ""},
		"plain access":   {"PUT", "/policies/p/acl/confd.x", "PUT /policies/{policy}/acl/{access}", "confd.policies.p.acl.create", ""},
		"pattern before": {"PUT", "/policies/%2A/acl/x", "", "confd.#", ""},
		"not a pattern":  {"DELETE", "/policies/p/acl/%23", "", "confd.#", ""},
		"star":           {"GET", "/users/%2A", "", "confd.#", ""},
		"star, raw":      {"GET", "/users/*", "", "confd.#", ""},
		"denial":         {"GET", "/users/!x", "", "confd.#", ""},
		"long":           {"GET", "/users/" + strings.Repeat("x", 129), "", "confd.#", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, ok := s.Match(c.method, parsed(t, prefix+c.path))
			if !ok || m.Service != s {
				t.Fatal("not below the prefix")
			}
			got := ""
			if m.Op != nil {
				got = m.Op.ID
			}
			if got != c.op || m.Access() != c.access || strings.Join(m.Allow, " ") != c.allow {
				t.Errorf("operation %q, access %q, allow %v", got, m.Access(), m.Allow)
			}
			if m.Op == nil && m.Param("user_id") != "" {
				t.Error("it has a parameter")
			}
		})
	}
}

func TestMatchBelowThePrefix(t *testing.T) {
	s := routed(t)
	for _, path := range []string{
		"/api/confd/1.10/users", "/api/confd/1.1x", "/api/confd/1", "/api/confd", "/api/confd/users", "/api/confd/1.10", "/", "/users",
		"/API/confd/1.1/users", "/api/Confd/1.1/users", "/api/confd/v1.1/users", "/x/api/confd/1.1/users", "/api/confd/1%2E10",
	} {
		if m, ok := s.Match(http.MethodGet, parsed(t, path)); ok || m.Op != nil {
			t.Errorf("%s is below %s", path, prefix)
		}
	}
	for _, path := range []string{prefix, prefix + "/users", prefix + "?x=1", "/api/c%6fnfd/1%2E1/users"} {
		if m, ok := s.Match(http.MethodGet, parsed(t, path)); !ok || m.Op == nil {
			t.Errorf("%s is not below %s", path, prefix)
		}
	}
}

func TestParam(t *testing.T) {
	s := routed(t)
	m, _ := s.Match(http.MethodGet, parsed(t, prefix+"/users/import/lines"))
	if m.Param("user_id") != "import" || m.Param("part") != "lines" || m.Param("user_uuid") != "" {
		t.Errorf("%q %q", m.Param("user_id"), m.Param("part"))
	}
}

// Different segments never make the same word, whatever they hold.
func TestWriteWord(t *testing.T) {
	words := map[string]string{}
	for _, segment := range []string{"a", "a.b", "a..b", ".", "a.", ".a", "a2Eb", "A.b"} {
		var b strings.Builder
		rest.WriteWord(&b, segment)
		if strings.Contains(b.String(), ".") {
			t.Errorf("%q makes %q", segment, b.String())
		}
		if twin, ok := words[b.String()]; ok {
			t.Errorf("%q and %q make %q", segment, twin, b.String())
		}
		words[b.String()] = segment
	}
}

func TestServiceAtTheRoot(t *testing.T) {
	s := declared(rest.Operation{Method: http.MethodGet, Path: "/status", ID: "status", Public: true})
	s.Prefix = ""
	if err := s.Mount(); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/status", nil)
	r.Header.Set("Accept", "*/*")
	wantStatus(t, answer(s, r), http.StatusOK)
}

func TestUnmatched(t *testing.T) {
	s := routed(t)
	w := call(t, s, http.MethodPatch, "/users/17", "")
	wantMessage(t, w, http.StatusMethodNotAllowed, "it takes DELETE, GET, HEAD")
	if w.Header().Get("Allow") != "DELETE, GET, HEAD" {
		t.Errorf("Allow: %s", w.Header().Get("Allow"))
	}
	w = call(t, s, http.MethodGet, "/nope/nope", "", "Accept: text/html")
	wantMessage(t, w, http.StatusNotFound, "at /api/confd/1.1/api/openapi.json")
	if w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Allow") != "" {
		t.Errorf("%v", w.Header())
	}
	w = call(t, s, http.MethodDelete, "/policies/p/acl/%23", "")
	wantStatus(t, w, http.StatusNotFound) // and not 405, naming the method that was sent
	for target, status := range map[string]int{
		"/api/confd/1.10/users": 404, prefix + "//users": 400, prefix + "/users/../x": 400, prefix + "/users/%252e": 400,
		prefix + "/users?" + strings.Repeat("x", 3000): 414,
	} {
		r := request(t, http.MethodGet, "/users", "")
		r.RequestURI = target
		w := answer(s, r)
		wantStatus(t, w, status)
		if len(messages(t, w)) != 1 {
			t.Errorf("%s: %s", target, w.Body)
		}
	}
}

func TestAccesses(t *testing.T) {
	ops := []rest.Operation{
		op("GET", "/calls/{id}", "calld.calls.{id}.read"), op("GET", "/status", ""), op("DELETE", "", "calld.all.delete"),
	}
	ops[1].Public = true
	s, err := rest.Accesses("calld", "/api/calld/1.0", ops)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"GET /calls/a.b": "calld.calls.a%2Eb.read", "GET /status": "", "POST /calls/1": "calld.#", "GET /x": "calld.#", "DELETE ": "calld.all.delete",
	} {
		method, path, _ := strings.Cut(path, " ")
		m, ok := s.Match(method, parsed(t, "/api/calld/1.0"+path))
		if !ok || m.Access() != want {
			t.Errorf("%s %s needs %q, want %q", method, path, m.Access(), want)
		}
	}
	for name, wrong := range map[string][]rest.Operation{
		"declared twice":   {op("GET", "/a/{x}", ""), op("GET", "/a/{y}", "")},
		"which is not a p": {op("GET", "/a/{x}", "calld.{y}")},
		"not a plain":      {op("GET", "/a/{x}", "calld.{x")},
		"\"x\" twice":      {op("GET", "/a/{x}/b/{x}", "calld.{x}")},
		"more than 6":      {op("GET", "/{a}/{b}/{c}/{d}/{e}/{f}/{g}", "")},
	} {
		if _, err := rest.Accesses("calld", "/api/calld/1.0", wrong); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "service calld: GET ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMount(t *testing.T) {
	schema := &rest.Schema{Type: "string"}
	object := &rest.Schema{Type: "object"}
	for name, c := range map[string]struct {
		change func(s *rest.Service, op *rest.Operation)
		want   string
	}{
		"no error form":           {func(s *rest.Service, _ *rest.Operation) { s.Errors = nil }, "no error form"},
		"no name":                 {func(s *rest.Service, _ *rest.Operation) { s.Name = "" }, "its name is not one word"},
		"two words":               {func(s *rest.Service, _ *rest.Operation) { s.Name = "a.b" }, "its name is not one word"},
		"a wildcard":              {func(s *rest.Service, _ *rest.Operation) { s.Name = "*" }, "its name is not one word"},
		"prefix":                  {func(s *rest.Service, _ *rest.Operation) { s.Prefix = "api" }, `below the prefix "api"`},
		"prefix's slash":          {func(s *rest.Service, _ *rest.Operation) { s.Prefix = "/api/" }, `below the prefix "/api/"`},
		"no method":               {func(_ *rest.Service, o *rest.Operation) { o.Method = "" }, "no such method"},
		"a small method":          {func(_ *rest.Service, o *rest.Operation) { o.Method = "put" }, "no such method"},
		"OPTIONS":                 {func(_ *rest.Service, o *rest.Operation) { o.Method = "OPTIONS" }, "no such method"},
		"no handler":              {func(_ *rest.Service, o *rest.Operation) { o.Handle = nil }, "no handler"},
		"no ID":                   {func(_ *rest.Service, o *rest.Operation) { o.ID = "" }, "no ID"},
		"no status":               {func(_ *rest.Service, o *rest.Operation) { o.Success = 0 }, "no success status"},
		"the status of a failure": {func(_ *rest.Service, o *rest.Operation) { o.Success = 404 }, "no success status"},
		"GET with a body":         {func(_ *rest.Service, o *rest.Operation) { o.Method, o.Body = "GET", object }, "GET takes no body"},
		"optional nothing":        {func(_ *rest.Service, o *rest.Operation) { o.BodyOptional = true }, "an optional body"},
		"negative size":           {func(_ *rest.Service, o *rest.Operation) { o.MaxBody = -1 }, "negative size"},
		"conditional PUT":         {func(_ *rest.Service, o *rest.Operation) { o.Conditional = true }, "conditional"},
		"body's pattern":          {func(_ *rest.Service, o *rest.Operation) { o.Body = &rest.Schema{Type: "string", Pattern: "("} }, "body: pattern"},
		"nested pattern": {func(_ *rest.Service, o *rest.Operation) {
			o.Body = &rest.Schema{Type: "object", Properties: []rest.Property{{Name: "p", Schema: &rest.Schema{Values: &rest.Schema{Pattern: "("}}}}}
		}, "body: p: pattern"},
		"no slash":          {func(_ *rest.Service, o *rest.Operation) { o.Path = "users" }, "does not start with a slash"},
		"no path":           {func(_ *rest.Service, o *rest.Operation) { o.Path = "" }, "does not start with a slash"},
		"empty segment":     {func(_ *rest.Service, o *rest.Operation) { o.Path = "/a//b" }, `the segment ""`},
		"slash at the end":  {func(_ *rest.Service, o *rest.Operation) { o.Path = "/a/" }, `the segment ""`},
		"half a parameter":  {func(_ *rest.Service, o *rest.Operation) { o.Path = "/a/{id" }, `the segment "{id"`},
		"part of a segment": {func(_ *rest.Service, o *rest.Operation) { o.Path = "/a/x{id}" }, `the segment "x{id}"`},
		"no parameter name": {func(_ *rest.Service, o *rest.Operation) { o.Path = "/a/{}" }, `the segment "{}"`},
		"nested braces":     {func(_ *rest.Service, o *rest.Operation) { o.Path = "/a/{{id}}" }, `the segment "{{id}}"`},
		"dots":              {func(_ *rest.Service, o *rest.Operation) { o.Path = "/a/.." }, `the segment ".."`},
		"a star":            {func(_ *rest.Service, o *rest.Operation) { o.Path = "/a/*" }, `the segment "*"`},
		"an escape":         {func(_ *rest.Service, o *rest.Operation) { o.Path = "/a/%41" }, `the segment "%41"`},
		"a query":           {func(_ *rest.Service, o *rest.Operation) { o.Path = "/a?b" }, `the segment "a?b"`},
		"not ASCII":         {func(_ *rest.Service, o *rest.Operation) { o.Path = "/é" }, `the segment "é"`},
		"parameter twice":   {func(_ *rest.Service, o *rest.Operation) { o.Path = "/a/{x}/{x}" }, `the parameter "x" twice`},
		"seven parameters":  {func(_ *rest.Service, o *rest.Operation) { o.Path = "/{a}/{b}/{c}/{d}/{e}/{f}/{g}" }, "more than 6 parameters"},
		"pattern not there": {func(_ *rest.Service, o *rest.Operation) { o.Pattern = "acl" }, `pattern parameter "acl" is not in the path`},
		"pattern, part":     {func(_ *rest.Service, o *rest.Operation) { o.Path, o.Pattern = "/x{acl}", "acl" }, `the segment "x{acl}"`},
		"pattern in access": {func(_ *rest.Service, o *rest.Operation) {
			o.Path, o.Pattern, o.Access = "/{acl}", "acl", "confd.{acl}.x"
		}, "not a plain parameter"},
		"public with access":   {func(_ *rest.Service, o *rest.Operation) { o.Public, o.Access = true, "confd.x" }, "both public and with an access"},
		"another service":      {func(_ *rest.Service, o *rest.Operation) { o.Access = "auth.users.read" }, "not one of this service's"},
		"service's name only":  {func(_ *rest.Service, o *rest.Operation) { o.Access = "confd" }, "not one of this service's"},
		"similar service":      {func(_ *rest.Service, o *rest.Operation) { o.Access = "confdx.users" }, "not one of this service's"},
		"empty word":           {func(_ *rest.Service, o *rest.Operation) { o.Access = "confd..read" }, `access "confd..read"`},
		"mixed word":           {func(_ *rest.Service, o *rest.Operation) { o.Path, o.Access = "/{id}", "confd.x{id}.read" }, "a parameter must be a whole word"},
		"two in a word":        {func(_ *rest.Service, o *rest.Operation) { o.Path, o.Access = "/{a}/{b}", "confd.{a}{b}.read" }, "a parameter must be a whole word"},
		"half a wildcard":      {func(_ *rest.Service, o *rest.Operation) { o.Access = "confd.a*.read" }, `access "confd.a*.read"`},
		"unknown parameter":    {func(_ *rest.Service, o *rest.Operation) { o.Access = "confd.{id}.read" }, `the access names "id"`},
		"unclosed parameter":   {func(_ *rest.Service, o *rest.Operation) { o.Access = "confd.{id.read" }, "a parameter must be a whole word"},
		"query without name":   {func(_ *rest.Service, o *rest.Operation) { o.Query = []rest.Parameter{{Schema: schema}} }, "has no name"},
		"query without schema": {func(_ *rest.Service, o *rest.Operation) { o.Query = []rest.Parameter{{Name: "q"}} }, "q has no schema"},
		"query twice": {func(_ *rest.Service, o *rest.Operation) {
			o.Query = []rest.Parameter{{Name: "q", Schema: schema}, {Name: "q", Schema: schema}}
		}, "two query parameters are called q"},
		"status of success": {func(_ *rest.Service, o *rest.Operation) { o.Statuses = []int{204} }, "204 is not the status of a refusal"},
		"unknown status":    {func(_ *rest.Service, o *rest.Operation) { o.Statuses = []int{499} }, "499 is not"},
		"same ID": {func(s *rest.Service, o *rest.Operation) {
			s.Operations = append(s.Operations, op("GET", "/z", ""))
			s.Operations[1] = *o
			s.Operations[1].Path = "/z"
		}, `two operations are called "x"`},
		"same route": {func(s *rest.Service, o *rest.Operation) {
			o.Path = "/z/{a}"
			twin := *o
			twin.ID, twin.Path = "y", "/z/{b}"
			s.Operations = append(s.Operations, twin)
			s.Operations[0] = *o
		}, "declared twice"},
		"the definition's ID": {func(_ *rest.Service, o *rest.Operation) { o.ID = "get_definition_json" }, "two operations are called"},
	} {
		t.Run(name, func(t *testing.T) {
			s := declared(rest.Operation{Method: http.MethodPut, Path: "/x", ID: "x"})
			s.Operations = slices.Clone(s.Operations)
			first := &s.Operations[0]
			c.change(s, first)
			err := s.Mount()
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "service "+s.Name+": ") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	t.Run("twice", func(t *testing.T) {
		s := mounted(t, op("GET", "/x", ""))
		if err := s.Mount(); err == nil || !strings.Contains(err.Error(), "mounted twice") {
			t.Errorf("%v", err)
		}
	})
	t.Run("wildcards in an access", func(t *testing.T) {
		s := mounted(t, op("GET", "/x", "confd.x.#"))
		if m, _ := s.Match("GET", parsed(t, prefix+"/x")); m.Access() != "confd.x.#" {
			t.Errorf("%s", m.Access())
		}
	})
}

func TestUUIDParam(t *testing.T) {
	s := mounted(t, rest.Operation{Method: http.MethodGet, Path: "/users/{user_uuid}", Handle: uuidOf})
	const id = "0f6dd0c5-6ae3-44ab-9d44-7a63b8ab9e1c"
	if w := call(t, s, http.MethodGet, "/users/"+id, ""); w.Code != 200 || w.Body.String() != `"`+id+`"` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := call(t, s, http.MethodGet, "/users/"+strings.ToUpper(id), ""); w.Code != 200 || w.Body.String() != `"`+id+`"` {
		t.Errorf("in upper case: %d %s", w.Code, w.Body)
	}
	for _, other := range []string{"17", "x", strings.ReplaceAll(id, "-", ""), id + "0", "urn:uuid:" + id, strings.Replace(id, "c5-", "-c5", 1)} {
		wantMessage(t, call(t, s, http.MethodGet, "/users/"+other, ""), http.StatusNotFound, "There is no such user")
	}
}

func uuidOf(_ context.Context, r *rest.Request) (rest.Reply, error) {
	id, err := r.UUIDParam("user_uuid")
	return rest.Reply{Body: id}, err
}
