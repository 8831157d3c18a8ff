package console_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
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
		{"page", "GET", "/console/", 200, "app/main.js"},
		{"own script", "GET", "/console/app/api.js", 200, "X-Auth-Token"},
		{"explorer", "GET", "/console/api/", 200, "swagger-ui-bundle.js"},
		{"services", "GET", "/console/services.json", 200, `"prefix":"/api/auth/0.1"`},
		{"swagger ui", "GET", "/console/ui/swagger-ui-bundle.js", 200, "SwaggerUIBundle"},
		{"password reset", "GET", "/console/reset.html", 200, `<script src="reset.js"`},
		{"unknown", "GET", "/console/nothing", 404, ""},
		{"two slashes", "GET", "/console//", 404, ""},
		{"dots", "GET", "/console/app/../", 404, ""},
		{"dots in the explorer", "GET", "/console/api/../", 404, ""},
		{"dots in Swagger UI", "GET", "/console/ui/../ui/swagger-ui-bundle.js", 404, ""},
		{"no UTF-8", "GET", "/console/%ff", 404, ""},
		{"a null byte", "GET", "/console/%00", 404, ""},
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
	if err := fs.WalkDir(os.DirFS("assets"), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "LICENSE" { // which no page loads
			return err
		}
		text, err := os.ReadFile(filepath.Join("assets", path))
		if err != nil {
			return err
		}
		if strings.Contains(strings.ReplaceAll(string(text), "http://www.w3.org/2000/svg", ""), "://") || strings.Contains(string(text), "//cdn") {
			t.Errorf("%s names another host", path)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// What the browser loads before the first page is small: the page, its style, and what its script imports at once.
func TestFirstLoadIsSmall(t *testing.T) {
	t.Parallel()
	imports := regexp.MustCompile(`(?m)^(?:import|export) [^;]*from '(\./|\.\./)([^']+)';`)
	loaded := map[string]int{}
	var load func(path string)
	load = func(path string) {
		if _, known := loaded[path]; known {
			return
		}
		text, err := os.ReadFile(filepath.Join("assets", path))
		if err != nil {
			t.Fatal(err)
		}
		loaded[path] = len(text)
		for _, found := range imports.FindAllStringSubmatch(string(text), -1) {
			load(filepath.Join(filepath.Dir(path), found[1]+found[2]))
		}
	}
	for _, path := range []string{"index.html", "console.css", "icon.svg", "app/main.js"} {
		load(path)
	}
	total := 0
	for _, n := range loaded {
		total += n
	}
	if total > 200<<10 || loaded["app/list.js"] == 0 || loaded["app/definitions.js"] == 0 {
		t.Errorf("the first page loads %d bytes: %v", total, loaded)
	}
}

// The half of a session that the gateway keeps goes to the console's own pages alone, and is no right to anything.
func TestSession(t *testing.T) {
	t.Parallel()
	h, err := console.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, body, cookie string, headers ...string) *httptest.ResponseRecorder {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), method, "/console/session", strings.NewReader(body))
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Content-Type", "application/json")
		if cookie != "" {
			r.Header.Set("Cookie", cookie)
		}
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be kept in caches", method)
		}
		return w
	}
	kept := ask("PUT", `{"half": "aWQ=.aGFsZg=="}`, "")
	if kept.Code != http.StatusNoContent {
		t.Fatalf("PUT: %d", kept.Code)
	}
	cookie := kept.Result().Cookies()[0]
	if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/console/session" || cookie.Domain != "" || cookie.MaxAge != 0 {
		t.Errorf("the cookie is %v", cookie)
	}
	if got := ask("GET", "", cookie.Name+"="+cookie.Value).Body.String(); got != `{"half":"aWQ=.aGFsZg=="}`+"\n" {
		t.Errorf("GET: %q", got)
	}
	if got := ask("GET", "", cookie.Name+"=<script>").Body.String(); got != `{"half":""}`+"\n" {
		t.Errorf("a cookie that is none: %q", got)
	}
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Site", ""}, {"Content-Type", "text/plain"}} {
			if w := ask(method, `{"half": "aWQ=.aGFsZg=="}`, cookie.Name+"="+cookie.Value, headers...); w.Code != http.StatusForbidden || w.Body.Len() > 0 || len(w.Result().Cookies()) > 0 {
				t.Errorf("%s with %v: %d", method, headers, w.Code)
			}
		}
	}
	for _, body := range []string{"", "[]", `{"half": ""}`, `{"half": "no dot"}`, `{"half": "a.b\r\nc"}`, `{"half": "a.` + strings.Repeat("b", 600) + `"}`, strings.Repeat("x", 5000)} {
		if w := ask("PUT", body, ""); w.Code != http.StatusBadRequest || len(w.Result().Cookies()) > 0 {
			t.Errorf("PUT %.40q: %d", body, w.Code)
		}
	}
	if gone := ask("DELETE", "", "").Result().Cookies(); len(gone) != 1 || gone[0].MaxAge >= 0 {
		t.Errorf("DELETE: %v", gone)
	}
	if w := ask("POST", "", ""); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}
