package main_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// No operation of the authentication service fails on a value that a client may send for a parameter or a field: odd values are
// refused or accepted, and none reaches the database in a form that it cannot read.
func TestOddValues(t *testing.T) {
	for name, address := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newOperationsSite(t, address(t))
			named := s.named(t)
			for _, path := range slices.Sorted(maps.Keys(s.definition.Paths.Map())) {
				operations := s.definition.Paths.Value(path).Operations()
				for _, method := range slices.Sorted(maps.Keys(operations)) {
					t.Run(method+" "+path, func(t *testing.T) { s.odd(t, method, path, operations[method], named) })
				}
			}
			s.Do(t, "GET", authBase+"/users", s.admin, "").Want(200)
		})
	}
}

// Values of parameters, and of fields.
var (
	oddTexts = []string{
		"", "x", "0", "-1", "9223372036854775808", "true", "00000000-0000-4000-8000-000000000000", "urn:uuid:00000000-0000-4000-8000-000000000000",
		"a,b", "'", "%", "_", "é", "2026-01-01T00:00:00Z", "a.b.c", strings.Repeat("x", 300),
	}
	oddFields = []any{
		nil, "", "x", "00000000-0000-4000-8000-000000000000", -1, 1.5, 1e300, true,
		[]any{},
		[]any{1},
		[]any{nil},
		map[string]any{},
		strings.Repeat("é", 5000), "a\u0000b", "\u202e",
	}
)

// named makes objects for paths to name.
func (s *operationsSite) named(t *testing.T) map[string]string {
	t.Helper()
	user, email := s.address(t)
	return map[string]string{
		"user_uuid": user, "email_uuid": email, "group_uuid": s.group(t), "policy_uuid": s.aPolicy(t), "tenant_uuid": s.tenant(t),
		"parent_tenant_uuid": s.tenant(t), "session_uuid": user, "client_id": "a.b", "auth_type": "mobile", "idp_type": "native",
		"access": "a.b", "audit_entry_id": "1", "token": s.token,
	}
}

// odd sends one odd value at a time. It deletes only objects that do not exist, so that the next operation still has its own.
func (s *operationsSite) odd(t *testing.T, method, path string, op *openapi3.Operation, named map[string]string) {
	t.Helper()
	fill := func(odd, value string) string {
		out := authBase + path
		for name, usual := range named {
			if name == odd {
				usual = value
			}
			out = strings.ReplaceAll(out, "{"+name+"}", url.PathEscape(usual))
		}
		return out
	}
	body := ""
	if op.RequestBody != nil {
		body = "{}"
	}
	send := func(path, body string) {
		t.Helper()
		a := s.Do(t, method, path, s.admin, body, resttest.Basic("nobody", "x"))
		if a.Status >= 500 && a.Status != http.StatusNotImplemented && a.Status != http.StatusServiceUnavailable {
			t.Errorf("%s %s: %d %s", path, body, a.Status, a.Body)
		}
	}
	for _, p := range op.Parameters {
		for _, value := range oddTexts {
			switch {
			case p.Value.In == openapi3.ParameterInQuery:
				send(fill("", "")+"?"+p.Value.Name+"="+url.QueryEscape(value), body)
			case p.Value.In == openapi3.ParameterInPath && value != "":
				send(fill(p.Value.Name, value), body)
			}
		}
	}
	if op.RequestBody == nil || method == http.MethodDelete {
		return
	}
	for _, whole := range []string{"null", "[]", "1", `"x"`, `[{}]`, `{"x":1}`} {
		send(fill("", ""), whole)
	}
	content := op.RequestBody.Value.Content.Get("application/json")
	if content == nil { // a form of a page
		return
	}
	schema := content.Schema.Value
	usual := map[string]any{}
	for _, name := range schema.Required {
		usual[name] = "x1"
	}
	for name := range schema.Properties {
		for _, value := range oddFields {
			changed := maps.Clone(usual)
			changed[name] = value
			text, err := json.Marshal(changed)
			if err != nil {
				t.Fatal(err)
			}
			send(fill("", ""), string(text))
		}
	}
}
