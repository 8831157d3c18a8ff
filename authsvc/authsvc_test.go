package authsvc_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/backend/ldap/ldaptest"
	"github.com/ringfence/ringfence/authsvc/password"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/internal/tokens"
)

// server is the service with its cache and without a gate. Like the gate, it finds the principal of the token; unlike the gate,
// it checks no access, so that the tests exercise the service's own rules.
type server struct {
	t     *testing.T
	db    store.DB
	svc   *authsvc.Service
	cache *tokens.Cache
}

// each runs a test on a fresh database of each engine, and once more with every transaction run, rolled back, and run again:
// serializable transactions may run more than once.
func each(t *testing.T, test func(t *testing.T, db store.DB)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, test)
	t.Run("twice", func(t *testing.T) { test(t, twice{storetest.SQLite(t)}) })
}

// twice is a database that runs each successful transaction again.
type twice struct{ store.DB }

var errUndo = errors.New("undone, to be run again")

func (d twice) InTx(ctx context.Context, fn func(ctx context.Context, tx store.Conn) error) error {
	err := d.DB.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return errUndo
	})
	if !errors.Is(err, errUndo) {
		return err
	}
	return d.DB.InTx(ctx, fn)
}

var cheap = password.Params{Memory: 64, Time: 1, Threads: 1}

// cheapest are settings that make passwords almost free, and allow them to be one character long.
var cheapest = authsvc.Settings{Passwords: password.Settings{Params: cheap, Shortest: 1}}

// lenient are limits that no test reaches by accident.
var lenient = authsvc.Limits{FreeGuesses: 1_000_000, NetworkGuesses: authsvc.Rate{Burst: 1_000_000, Every: time.Second}}

const adminPassword = "the administrator's password"

func newServer(t *testing.T, db store.DB) *server {
	t.Helper()
	box := sealed.New(sealed.Options{File: filepath.Join(t.TempDir(), "sealing-key")})
	if err := box.Prepare(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	s := newNode(t, db, box)
	_, err := s.svc.Bootstrap(t.Context(), authsvc.Admin{
		Username: "admin", Password: adminPassword, File: filepath.Join(t.TempDir(), "admin-credentials"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newNode returns a server on a database that it does not change.
func newNode(t *testing.T, db store.DB, box authsvc.Sealer) *server {
	t.Helper()
	svc, err := authsvc.New(authsvc.Options{DB: db, Sealer: box, Settings: authsvc.Settings{Passwords: cheapest.Passwords, Limits: lenient, Directories: *ldaptest.Reach}})
	if err != nil {
		t.Fatal(err)
	}
	cache, err := tokens.NewCache(svc, tokens.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cache.Close)
	svc.UseCache(cache)
	return &server{t: t, db: db, svc: svc, cache: cache}
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

// want fails the test if the status is another.
func (a answer) want(t *testing.T, status int) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// json returns the body's field at a path such as "data.token".
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

// account creates a user with a policy of these accesses, and returns both UUIDs and a token.
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

// in makes a request act in a tenant.
func in(tenant string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Wazo-Tenant", tenant) }
}

// tenant creates a tenant below the one that the edit names, or below the administrator's own.
func (s *server) tenant(admin, name string, edit ...func(*http.Request)) string {
	s.t.Helper()
	return s.do("POST", "/tenants", admin, `{"name":"`+name+`"}`, edit...).want(s.t, 200).text(s.t, "uuid")
}

// refused fails the test unless the response is a refusal with this status and error_id, in the form of both kinds of client.
func (a answer) refused(t *testing.T, status int, id string) answer {
	t.Helper()
	a.want(t, status)
	if got := a.text(t, "error_id"); got != id {
		t.Fatalf("error_id %q, want %q: %s", got, id, a.body)
	}
	reason, _ := a.json(t, "reason").([]any)
	if a.json(t, "status_code") != float64(status) || len(reason) != 1 || reason[0] != a.text(t, "message") || a.json(t, "timestamp") == 0.0 {
		t.Fatalf("the refusal is not of the two forms that clients read: %s", a.body)
	}
	if _, ok := a.json(t, "details").(map[string]any); !ok {
		t.Fatalf("details are no object: %s", a.body)
	}
	return a
}

// lacks fails the test unless the response refuses because this access is missing.
func (a answer) lacks(t *testing.T, access string) {
	t.Helper()
	a.refused(t, 403, "forbidden")
	if got := a.text(t, "details.required_access"); got != access {
		t.Fatalf("required_access %q, want %q: %s", got, access, a.body)
	}
}

// list is the body of a list.
type list struct {
	Total    int              `json:"total"`
	Filtered int              `json:"filtered"`
	Items    []map[string]any `json:"items"`
}

func (a answer) list(t *testing.T) list {
	t.Helper()
	a.want(t, 200)
	var l list
	if err := json.Unmarshal([]byte(a.body), &l); err != nil || l.Items == nil {
		t.Fatalf("no list, %v: %s", err, a.body)
	}
	return l
}

// column returns a field of all the items.
func (l list) column(name string) []string {
	out := []string{}
	for _, item := range l.Items {
		text, _ := item[name].(string)
		out = append(out, text)
	}
	return out
}

func ifMatch(tag string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("If-Match", tag) }
}

// winners returns how many of several concurrent requests for one thing succeeded. The others must be told that it is taken.
func winners(t *testing.T, answers []answer) (won int) {
	t.Helper()
	for _, a := range answers {
		switch a.status {
		case 200:
			won++
		case 409:
		default:
			t.Errorf("%d: %s", a.status, a.body)
		}
	}
	return won
}
