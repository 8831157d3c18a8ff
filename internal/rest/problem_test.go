package rest_test

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
)

// A client that asks for problems by name gets one, whatever the form of the service is; others get that form.
func TestProblems(t *testing.T) {
	t.Parallel()
	about := apierr.New(apierr.Invalid, "field 'context': Context was not found").On("lines[0].context")
	fields := &apierr.Error{Kind: apierr.Invalid, Fields: []apierr.Field{
		{Name: "lines[1].options.a/b", Message: "Is required", Constraint: "required"}, {Name: "limit", Message: "Must be 1 or more", Query: true},
	}}
	for _, c := range []struct {
		accept string
		err    error
		want   string
	}{
		{"application/json", about, `["Input Error - field 'context': Context was not found"]`},
		{"*/*", about, `["Input Error - field 'context': Context was not found"]`},
		{"application/json, application/problem+json;q=0", about, `["Input Error - field 'context': Context was not found"]`},
		{"application/json, application/problem+json", about, `{"title":"Bad Request","status":400,"detail":"field 'context': Context was not found",` +
			`"error_id":"invalid-data","errors":[{"detail":"field 'context': Context was not found","pointer":"#/lines/0/context"}]}`},
		{"application/problem+json", fields, `{"title":"Bad Request","status":400,"detail":"lines[1].options.a/b: Is required; limit: Must be 1 or more",` +
			`"error_id":"invalid-data","errors":[{"detail":"Is required","pointer":"#/lines/1/options/a~1b"},{"detail":"Must be 1 or more","parameter":"limit"}]}`},
		{
			"application/problem+json", apierr.New(apierr.NotFound, "User was not found"),
			`{"title":"Not Found","status":404,"detail":"User was not found","error_id":"not-found"}`,
		},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.Header.Set("Accept", c.accept)
		w := httptest.NewRecorder()
		rest.WriteError(w, r, rest.MessageList, c.err)
		wantType := "application/json"
		if json.Valid(w.Body.Bytes()) && w.Body.Bytes()[0] == '{' {
			wantType = "application/problem+json"
		}
		if got := w.Body.String(); got != c.want || w.Header().Get("Content-Type") != wantType {
			t.Errorf("Accept: %s: %s %s\nwant %s", c.accept, w.Header().Get("Content-Type"), got, c.want)
		}
	}
}
