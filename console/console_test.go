package console_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/console"
)

func TestConsole(t *testing.T) {
	t.Parallel()
	h, err := console.New([]console.Entry{{Name: "auth", Title: "Auth", Prefix: "/api/auth/0.1", Definition: "/api/auth/0.1/api/openapi.json"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, method, path string
		status             int
		contains           string
	}{
		{"page", "GET", "/console/", 200, "swagger-ui-bundle.js"},
		{"own script", "GET", "/console/console.js", 200, "X-Auth-Token"},
		{"services", "GET", "/console/services.json", 200, `"prefix":"/api/auth/0.1"`},
		{"swagger ui", "GET", "/console/ui/swagger-ui-bundle.js", 200, "SwaggerUIBundle"},
		{"password reset", "GET", "/console/reset.html", 200, `<script src="reset.js"`},
		{"unknown", "GET", "/console/nothing", 404, ""},
		{"no writes", "POST", "/console/", 405, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, c.path, http.NoBody))
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.contains) {
				t.Errorf("%s %s answered %d without %q", c.method, c.path, w.Code, c.contains)
			}
			if c.status == 200 && !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
				t.Error("no content security policy")
			}
		})
	}
}

// The pages name no other host: nothing is fetched from anywhere else.
func TestNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	h, err := console.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/console/", "/console/console.js", "/console/console.css", "/console/reset.html", "/console/reset.js"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if body := w.Body.String(); strings.Contains(body, "http://") || strings.Contains(body, "https://") || strings.Contains(body, "//cdn") {
			t.Errorf("%s names another host", path)
		}
	}
}
