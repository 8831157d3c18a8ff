package authsvc_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// guest is a third-party backend that returns what the test sets.
type guest struct {
	name, method string
	answer       func(a authsvc.Attempt) (authsvc.Identity, error)
	asked        int
	mu           sync.Mutex
}

func (g *guest) Name() string { return g.name }

func (g *guest) Method() string { return g.method }

func (g *guest) Authenticate(_ context.Context, a authsvc.Attempt) (authsvc.Identity, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	return g.answer(a)
}

func says(id authsvc.Identity) func(authsvc.Attempt) (authsvc.Identity, error) {
	return func(authsvc.Attempt) (authsvc.Identity, error) { return id, nil }
}

func refuses(authsvc.Attempt) (authsvc.Identity, error) {
	return authsvc.Identity{}, authsvc.ErrRefused
}

// fails fails the test unless the login is refused in the one way common to all refusals.
func (s *server) fails(body, user, password string) {
	s.t.Helper()
	a := s.do("POST", "/token", "", body, resttest.Basic(user, password)).Refused(401, "unauthorized")
	if a.Text("message") != "Authentication Failed" {
		s.t.Fatalf("a failure of its own: %s", a.Body)
	}
}

// undecided fails the test unless the response is the one common to all undecided logins.
func (s *server) undecided(body, user, password string) {
	s.t.Helper()
	a := s.do("POST", "/token", "", body, resttest.Basic(user, password)).Refused(503, "backend-unavailable")
	if a.Header.Get("Retry-After") == "" || a.Text("message") != "The login cannot be checked now; try again shortly" {
		s.t.Fatalf("an answer of its own: %v %s", a.Header, a.Body)
	}
}

func TestBackendsAreTriedInOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		alice, _, _ := s.account(admin, "alice", "confd.#")
		broken := &guest{name: "broken", method: "native", answer: func(authsvc.Attempt) (authsvc.Identity, error) {
			return authsvc.Identity{}, errors.New("the server is down")
		}}
		no := &guest{name: "no", method: "native", answer: refuses}
		yes := &guest{name: "yes", method: "native", answer: says(authsvc.Identity{UserUUID: strings.ToUpper(alice)})}
		never := &guest{name: "never", method: "native", answer: refuses}

		s.svc.UseBackends([]authsvc.Backend{broken, no, yes, never})
		if got := s.do("POST", "/token", "", "{}", resttest.Basic("whoever", "whatever")).Want(200).Text("data.auth_id"); got != alice {
			t.Errorf("the token is %s's", got)
		}
		if broken.asked != 1 || no.asked != 1 || yes.asked != 1 || never.asked != 0 {
			t.Errorf("asked %d, %d, %d, %d times", broken.asked, no.asked, yes.asked, never.asked)
		}
		s.fails("{}", "", "")
		if list := s.do("GET", "/backends", "", "").Want(200); list.Body != `{"data":["broken","no","yes","never"]}` {
			t.Errorf("backends: %s", list.Body)
		}
		s.svc.UseBackends([]authsvc.Backend{broken, no})
		s.undecided("{}", "alice", "secret of alice") // the unreachable one might have accepted it
		s.svc.UseBackends(s.svc.DefaultBackends())
		s.login("alice", "secret of alice")

		busy := &guest{name: "busy", method: "native", answer: func(authsvc.Attempt) (authsvc.Identity, error) {
			return authsvc.Identity{}, authsvc.Refuse(http.StatusTooManyRequests, nil, "Later")
		}}
		s.svc.UseBackends([]authsvc.Backend{busy, yes})
		s.do("POST", "/token", "", "{}", resttest.Basic("whoever", "whatever")).Want(429)
	})
}

// A backend can only authenticate enabled users of its method.
func TestBackendsVouchForTheirOwnUsers(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		below := s.tenant(admin, "below")
		user := func(name, more string, edit ...func(*http.Request)) string {
			t.Helper()
			return s.do("POST", "/users", admin, `{"username":"`+name+`"`+more+`}`, edit...).Want(200).Text("uuid")
		}
		native, disabled := user("native", ""), user("disabled", `,"enabled":false`)
		ldap := user("ldap", `,"authentication_method":"ldap"`)
		there := user("there", `,"email_address":"there@example.test"`, resttest.In(below))
		user("here", `,"email_address":"here@example.test"`)
		unknown := "7d7e0f5e-2c5a-4b0e-8f0a-000000000000"
		for _, c := range []struct {
			name, method string
			id           authsvc.Identity
			want         string // empty: refused
		}{
			{"native user", "native", authsvc.Identity{UserUUID: native}, native},
			{"disabled user", "native", authsvc.Identity{UserUUID: disabled}, ""},
			{"user of another method", "native", authsvc.Identity{UserUUID: ldap}, ""},
			{"native user by ldap", "ldap", authsvc.Identity{UserUUID: native}, ""},
			{"ldap user", "ldap", authsvc.Identity{UserUUID: ldap}, ldap},
			{"unknown user", "native", authsvc.Identity{UserUUID: unknown}, ""},
			{"no UUID", "native", authsvc.Identity{UserUUID: ".*"}, ""},
			{"nobody", "native", authsvc.Identity{}, ""},
			{"by address", "native", authsvc.Identity{Logins: []string{"other@example.test", "THERE@example.test"}}, there},
			{"by address in the tenant", "native", authsvc.Identity{TenantUUID: below, Logins: []string{"there@example.test"}}, there},
			{"by address in another tenant", "native", authsvc.Identity{TenantUUID: below, Logins: []string{"here@example.test"}}, ""},
			{"addresses of two users", "native", authsvc.Identity{Logins: []string{"here@example.test", "there@example.test"}}, ""},
			{"two addresses of one", "native", authsvc.Identity{Logins: []string{"there", "there@example.test"}}, there},
		} {
			t.Run(c.name, func(t *testing.T) {
				s := s.in(t)
				s.svc.UseBackends([]authsvc.Backend{&guest{name: "guest", method: c.method, answer: says(c.id)}})
				a := s.do("POST", "/token", "", "{}", resttest.Basic("whoever", "whatever"))
				if c.name == "no UUID" { // a faulty backend
					a.Refused(503, "backend-unavailable")
					return
				}
				if c.want == "" {
					a.Refused(401, "unauthorized")
					return
				}
				if got := a.Want(200).Text("data.auth_id"); got != c.want {
					t.Errorf("the token is %s's, want %s", got, c.want)
				}
			})
		}
	})
}

// The first login binds a user to the entry's ID; from then on addresses mean nothing.
func TestIdentitiesAreBound(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		alice := s.do("POST", "/users", admin, `{"username":"alice"}`).Want(200).Text("uuid")
		bob := s.do("POST", "/users", admin, `{"username":"bob"}`).Want(200).Text("uuid")
		g := &guest{name: "guest", method: "native"}
		s.svc.UseBackends([]authsvc.Backend{g})
		as := func(id, login string) resttest.Answer {
			g.answer = says(authsvc.Identity{ID: id, Logins: []string{login}})
			return s.do("POST", "/token", "", "{}", resttest.Basic("whoever", "whatever"))
		}
		token := func(a resttest.Answer, want string) string {
			t.Helper()
			if got := a.Want(200).Text("data.auth_id"); got != want {
				t.Fatalf("the token is %s's, want %s", got, want)
			}
			return a.Text("data.token")
		}
		token(as("1", "alice"), alice)
		token(as("1", "bob"), alice)                  // the entry was given another's address
		as("2", "alice").Refused(401, "unauthorized") // another entry was given the address
		as("", "alice").Refused(401, "unauthorized")  // the directory shows no ID any more
		token(as("2", "bob"), bob)
		again := token(as("1", "nobody"), alice)
		s.do("PUT", "/users/"+alice, s.adminBy(g, "admin"), `{"enabled":false}`).Want(200)
		as("1", "alice").Refused(401, "unauthorized")
		s.do("GET", "/token/"+again, "", "").Want(404)
		s.do("DELETE", "/users/"+bob, s.adminBy(g, "admin"), "").Want(204)
		as("2", "alice").Refused(401, "unauthorized")
	})
}

// Several concurrent first logins bind the user once, and all of them succeed.
func TestFirstLoginsAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		alice := s.do("POST", "/users", s.admin(), `{"username":"alice"}`).Want(200).Text("uuid")
		s.svc.UseBackends([]authsvc.Backend{&guest{name: "guest", method: "native", answer: says(authsvc.Identity{ID: "1", Logins: []string{"alice"}})}})
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				a := s.do("POST", "/token", "", "{}", resttest.Basic(fmt.Sprint("login", i), "whatever"))
				if a.Status != 200 || a.Text("data.auth_id") != alice {
					t.Errorf("status %d: %s", a.Status, a.Body)
				}
			})
		}
		wg.Wait()
		if n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM auth_identity`); n != 1 || err != nil {
			t.Errorf("%d identities, %v", n, err)
		}
	})
}

// An unknown login and a wrong password ask the same backends, whatever the previous ones said.
func TestEveryBackendIsAsked(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		s.account(s.admin(), "alice", "confd.#")
		last := &guest{name: "last", method: "native", answer: refuses}
		wrongMethod := &guest{name: "first", method: "ldap"}
		s.svc.UseBackends([]authsvc.Backend{wrongMethod, s.svc.DatabaseBackend(), last})
		for i, login := range []string{"alice", "nobody", "admin"} {
			wrongMethod.answer = says(authsvc.Identity{Logins: []string{login}})
			s.fails("{}", login, "wrong")
			if wrongMethod.asked != i+1 || last.asked != i+1 {
				t.Errorf("%s: asked %d and %d times", login, wrongMethod.asked, last.asked)
			}
		}
	})
}

// adminBy logs the administrator in through a guest.
func (s *server) adminBy(g *guest, login string) string {
	s.t.Helper()
	g.answer = says(authsvc.Identity{Logins: []string{login}})
	return s.do("POST", "/token", "", "{}", resttest.Basic("whoever", "whatever")).Want(200).Text("data.token")
}

func TestAttemptsAreNotPrinted(t *testing.T) {
	a := authsvc.Attempt{Login: "typed-here", Password: "hunter2"}
	for _, text := range []string{fmt.Sprint(a), fmt.Sprintf("%+v", a), fmt.Sprintf("%#v", a), fmt.Sprintf("%v", &a)} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "typed") {
			t.Errorf("printed: %s", text)
		}
	}
}
