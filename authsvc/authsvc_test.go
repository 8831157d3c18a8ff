package authsvc_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

// server is the service with its cache and nothing in front: as the gate does, it finds the principal of the token, and
// unlike the gate it checks no access, so that the service's own rules are what is tested.
type server struct {
	t     *testing.T
	svc   *authsvc.Service
	cache *tokens.Cache
}

var cheap = authsvc.HashParams{Memory: 64, Time: 1, Threads: 1}

const adminPassword = "the administrator's password"

func newServer(t *testing.T, db store.DB) *server {
	t.Helper()
	svc, err := authsvc.New(authsvc.Options{DB: db, Hash: cheap, Sealer: sealed.New(sealed.Options{DB: db, File: filepath.Join(t.TempDir(), "sealing-key")})})
	if err != nil {
		t.Fatal(err)
	}
	cache, err := tokens.NewCache(svc, tokens.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cache.Close)
	svc.UseCache(cache)
	_, err = svc.Bootstrap(t.Context(), authsvc.Admin{
		Username: "admin", Password: adminPassword, File: filepath.Join(t.TempDir(), "admin-credentials"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &server{t: t, svc: svc, cache: cache}
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (s *server) do(method, path, token, body string, edit ...func(r *http.Request)) answer {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, "/api/auth/0.1"+path, strings.NewReader(body))
	if body == "" {
		r = httptest.NewRequestWithContext(s.t.Context(), method, "/api/auth/0.1"+path, http.NoBody)
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json")
	for _, e := range edit {
		e(r)
	}
	if token != "" {
		p, err := s.cache.Principal(s.t.Context(), token)
		if err != nil {
			return answer{status: http.StatusUnauthorized}
		}
		r = r.WithContext(principal.NewContext(r.Context(), p))
	}
	w := httptest.NewRecorder()
	s.svc.REST().ServeHTTP(w, r)
	text, err := io.ReadAll(w.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{w.Code, w.Header(), string(text)}
}

// want fails the test when the status is another.
func (a answer) want(t *testing.T, status int) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// json is the body's field at a path such as "data.token".
func (a answer) json(t *testing.T, path string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("body %q: %v", a.body, err)
	}
	for name := range strings.SplitSeq(path, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			t.Fatalf("no %s in %s", path, a.body)
		}
		if v, ok = object[name]; !ok {
			t.Fatalf("no %s in %s", path, a.body)
		}
	}
	return v
}

func (a answer) text(t *testing.T, path string) string {
	t.Helper()
	s, ok := a.json(t, path).(string)
	if !ok {
		t.Fatalf("%s is no string in %s", path, a.body)
	}
	return s
}

func basic(user, password string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(user, password) }
}

func (s *server) login(user, password string) string {
	s.t.Helper()
	return s.do("POST", "/token", "", "{}", basic(user, password)).want(s.t, 200).text(s.t, "data.token")
}

func (s *server) admin() string {
	s.t.Helper()
	return s.login("admin", adminPassword)
}

// account makes a user with a policy of these accesses, and answers both UUIDs and a token.
func (s *server) account(admin, name string, accesses ...string) (user, policy, token string) {
	s.t.Helper()
	list, err := json.Marshal(accesses)
	if err != nil {
		s.t.Fatal(err)
	}
	user = s.do("POST", "/users", admin, `{"username":"`+name+`","password":"secret of `+name+`","purpose":"external_api"}`).want(s.t, 200).text(s.t, "uuid")
	policy = s.do("POST", "/policies", admin, `{"name":"`+name+`","acl":`+string(list)+`}`).want(s.t, 200).text(s.t, "uuid")
	s.do("PUT", "/users/"+user+"/policies/"+policy, admin, "").want(s.t, 204)
	return user, policy, s.login(name, "secret of "+name)
}
