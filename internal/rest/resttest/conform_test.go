package resttest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// recorded is a test that only remembers why it failed.
type recorded struct {
	testing.TB
	why string
}

func (*recorded) Helper() {}

func (r *recorded) Errorf(format string, args ...any) { r.why += fmt.Sprintf(format, args...) }

// A response must be declared, with its status, its type and its fields; one with some fields only, if the client asked for those.
func TestConform(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../confdsvc/testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := resttest.ReadDefinitions(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		method, target string
		status         int
		kind, body     string
		want           string // "": it is declared
	}{
		{"GET", "/api/confd/1.1/configuration/live_reload", 200, "application/json", `{"enabled":true,"also":true}`, "also"},
		{"GET", "/api/confd/1.1/configuration/live_reload", 200, "application/json", `{"enabled":true}`, ""},
		{"GET", "/api/confd/1.1/configuration/live_reload", 200, "application/json", `{"enabled":"yes"}`, "boolean"},
		{"GET", "/api/confd/1.1/configuration/live_reload", 200, "text/html", `<html>`, "it is no text/html"},
		{"GET", "/api/confd/1.1/configuration/live_reload", 418, "application/json", `{}`, "it has no such status"},
		{"GET", "/api/confd/1.1/contexts", 200, "application/json", `{"total":1,"items":[{"id":"1"}]}`, "integer"},
		{"GET", "/api/confd/1.1/contexts?fields=id", 200, "application/json", `{"total":1,"items":[{"id":1}]}`, ""},
		{"GET", "/api/confd/1.1/contexts?fields=id", 200, "application/json", `{"total":1,"items":[{"id":"1"}]}`, "integer"},
		{"GET", "/api/confd/1.1/contexts?fields=id", 200, "application/json", `{"total":1,"items":[{"id":1,"x":1}]}`, "x"},
		{"GET", "/api/confd/1.1/contexts?fields=id", 200, "application/json", `{"total":1,"items":[{"id":1,"name":"default"}]}`, "name"},
		{"GET", "/api/confd/1.1/contexts?fields=id,name", 200, "application/json", `{"total":1,"items":[{"id":1}]}`, "name"},
		{"GET", "/api/confd/1.1/contexts?fields=id&fields=name", 200, "application/json", `{"total":1,"items":[{"id":1,"name":"default"}]}`, ""},
		{"GET", "/api/confd/1.1/contexts/1?fields=id", 200, "application/json", `{"id":1}`, ""},
		{"GET", "/api/confd/1.1/contexts/1?fields=id", 200, "application/json", `{"id":1,"name":"default"}`, "name"},
		{"GET", "/api/confd/1.1/nothing", 418, "text/html", "", ""},
		{"GET", "/elsewhere", 418, "text/html", "", ""},
	} {
		fake := &recorded{TB: t}
		answer := &resttest.Answer{T: fake, Asked: tt.method + " " + tt.target, Status: tt.status, Header: http.Header{"Content-Type": {tt.kind}}, Body: tt.body}
		r := httptest.NewRequestWithContext(t.Context(), tt.method, tt.target, nil)
		definitions.Conform(fake, r.URL.EscapedPath(), r, answer)
		if (fake.why == "") != (tt.want == "") || !strings.Contains(fake.why, tt.want) {
			t.Errorf("%s %s %d %s: %q, want %q", tt.method, tt.target, tt.status, tt.body, fake.why, tt.want)
		}
	}
}
