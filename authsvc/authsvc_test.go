package authsvc_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/backend/ldap/ldaptest"
	"github.com/ringfence/ringfence/authsvc/password"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
	"github.com/ringfence/ringfence/internal/tokens"
)

// server is the service with its cache and without a gate. Like the gate, it finds the principal of the token; unlike the gate,
// it checks no access, so that the tests exercise the service's own rules.
type server struct {
	t      *testing.T
	db     store.DB
	svc    *authsvc.Service
	cache  *tokens.Cache
	client *resttest.Client
	box    authsvc.Sealer
	// tenantChanges counts what the service says of tenants.
	tenantChanges *atomic.Int64
}

// each runs a test on a fresh database of each engine. On SQLite every transaction is run, rolled back, and run again: serializable transactions may
// run more than once.
func each(t *testing.T, test func(t *testing.T, db store.DB)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { test(t, twice{storetest.SQLite(t)}) })
	t.Run("postgres", func(t *testing.T) { test(t, storetest.Postgres(t)) })
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

// smallCache is for the tokens of a test. One for those of an installation takes longer to empty than most tests.
var smallCache = tokens.Options{Capacity: 10_000}

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
	s := &server{t: t, db: db, tenantChanges: new(atomic.Int64)}
	svc, err := authsvc.New(authsvc.Options{DB: db, Sealer: box, Settings: authsvc.Settings{Passwords: cheapest.Passwords, Limits: lenient, Directories: *ldaptest.Reach}, TenantChanged: func() { s.tenantChanges.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	cache, err := tokens.NewCache(svc, smallCache)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cache.Close)
	svc.UseCache(cache)
	s.svc, s.cache, s.client, s.box = svc, cache, clientOf(t, svc), box
	return s
}

func clientOf(t *testing.T, svc *authsvc.Service) *resttest.Client {
	t.Helper()
	return resttest.To(t, svc.REST(), "/api/auth/0.1", nil)
}

// do sends a request of the token's owner; an empty token is not sent.
func (s *server) do(method, path, token, body string, edits ...resttest.Edit) resttest.Answer {
	s.t.Helper()
	client := *s.client
	client.T = s.t
	if token != "" {
		p, err := s.cache.Principal(s.t.Context(), token)
		if err != nil {
			return resttest.Answer{T: s.t, Asked: method + " " + path, Status: http.StatusUnauthorized}
		}
		client.Principal = p
	}
	return client.Do(method, path, body, edits...)
}

// in returns the same server for a subtest.
func (s *server) in(t *testing.T) *server {
	other := *s
	other.t = t
	return &other
}

func (s *server) login(user, password string) string {
	s.t.Helper()
	return s.do("POST", "/token", "", "{}", resttest.Basic(user, password)).Want(200).Text("data.token")
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
	user = s.do("POST", "/users", admin, `{"username":"`+name+`","password":"secret of `+name+`","purpose":"external_api"}`).Want(200).Text("uuid")
	policy = s.do("POST", "/policies", admin, `{"name":"`+name+`","acl":`+string(list)+`}`).Want(200).Text("uuid")
	s.do("PUT", "/users/"+user+"/policies/"+policy, admin, "").Want(204)
	return user, policy, s.login(name, "secret of "+name)
}

// tenant creates a tenant below the one that the edit names, or below the administrator's own.
func (s *server) tenant(admin, name string, edit ...func(*http.Request)) string {
	s.t.Helper()
	return s.do("POST", "/tenants", admin, `{"name":"`+name+`"}`, edit...).Want(200).Text("uuid")
}

// winners returns how many of several concurrent requests for one thing succeeded. The others must be told that it is taken.
func winners(t *testing.T, answers []resttest.Answer) (won int) {
	t.Helper()
	for _, a := range answers {
		switch a.Status {
		case 200:
			won++
		case 409:
		default:
			t.Errorf("%d: %s", a.Status, a.Body)
		}
	}
	return won
}
