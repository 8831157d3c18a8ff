package authsvc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/password"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// hanging is a backend that blocks on one tenant's users until it is released, and refuses all others.
type hanging struct {
	tenant  string
	release chan struct{}
}

func (hanging) Name() string { return "hanging" }

func (h hanging) Authenticate(_ context.Context, a authsvc.Attempt) (authsvc.Identity, error) {
	if a.TenantUUID == h.tenant {
		<-h.release
		return authsvc.Identity{}, errors.New("it does not answer")
	}
	return authsvc.Identity{}, authsvc.ErrRefused
}

// waitFor waits until so many logins ask a backend.
func (s *server) waitFor(n int, backend, tenant string) {
	s.t.Helper()
	for s.svc.Asking(backend, tenant) != n {
		if s.t.Context().Err() != nil {
			s.t.Fatalf("%d ask, not %d", s.svc.Asking(backend, tenant), n)
		}
		runtime.Gosched()
	}
}

// A backend that hangs for a tenant holds up only that tenant's logins. It does not hold up logins that it decides, or users who
// have their password here, however few places there are for hashing.
func TestBackendThatHangs(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		s.settle(authsvc.Settings{Limits: lenient, Passwords: password.Settings{Queue: 1}})
		admin := s.admin()
		acme, other := s.tenant(admin, "acme"), s.tenant(admin, "other")
		h := hanging{acme, make(chan struct{})}
		s.svc.UseBackends([]authsvc.Backend{s.svc.DatabaseBackend(), h})
		byAcme, byOther := `{"tenant_id":"`+acme+`"}`, `{"tenant_id":"`+other+`"}`
		var waiting sync.WaitGroup
		for n := range 32 {
			waiting.Go(func() { s.undecided(byAcme, fmt.Sprint("user", n), "x") })
			s.waitFor(n+1, h.Name(), acme)
		}
		s.undecided(byAcme, "one more", "x") // at once: no place is free
		for range 5 {
			s.admin()
			s.fails(byOther, "admin", "wrong")
			s.do("POST", "/token", "", byAcme, resttest.Basic("admin", adminPassword)).Want(200)
		}
		s.waitFor(32, h.Name(), acme)
		close(h.release)
		waiting.Wait()
		s.waitFor(0, h.Name(), acme)
	})
}

// An undecided login is not a wrong guess, whether the client waits for the end or not; a faulty backend does not end the
// process.
func TestUndecidedIsNoGuess(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		alice, _, _ := s.account(s.admin(), "alice", "confd.#")
		s.settle(authsvc.Settings{Limits: authsvc.Limits{FreeGuesses: 2, NetworkGuesses: authsvc.Rate{Burst: 2, Every: time.Hour}}})
		s.freeze()
		g := &guest{name: "guest", method: "native"}
		s.svc.UseBackends([]authsvc.Backend{s.svc.DatabaseBackend(), g})
		for _, trouble := range []func(authsvc.Attempt) (authsvc.Identity, error){
			func(authsvc.Attempt) (authsvc.Identity, error) {
				return authsvc.Identity{}, errors.New("the server is down")
			},
			func(authsvc.Attempt) (authsvc.Identity, error) { panic("a fault") },
		} {
			g.answer = trouble
			for range 5 {
				s.undecided("{}", "al", "of the guest's")
			}
		}
		for range 5 {
			ctx, leave := context.WithCancel(t.Context())
			g.answer = func(authsvc.Attempt) (authsvc.Identity, error) {
				leave()
				return authsvc.Identity{}, errors.New("too late")
			}
			s.do("POST", "/token", "", "{}", resttest.Basic("al", "of the guest's"), func(r *http.Request) { *r = *r.WithContext(ctx) })
		}
		g.answer = says(authsvc.Identity{UserUUID: alice})
		s.do("POST", "/token", "", "{}", resttest.Basic("al", "of the guest's")).Want(200)
		g.answer = refuses // but a refused login is one
		s.fails("{}", "bob", "wrong")
		s.fails("{}", "bob", "wrong")
		s.do("POST", "/token", "", "{}", resttest.Basic("bob", "wrong")).Want(429)
	})
}

// The owner of a directory that never responds cannot try an unlimited number of passwords on the other backends.
func TestUndecidedGuessesAreBounded(t *testing.T) {
	each(t, func(t *testing.T, db store.DB) {
		s := newServer(t, db)
		admin := s.admin()
		evil := s.tenant(admin, "evil")
		s.account(admin, "alice", "confd.#")
		s.freeze()
		down := &guest{name: "guest", method: "ldap", answer: func(a authsvc.Attempt) (authsvc.Identity, error) {
			if a.TenantUUID == "" {
				return authsvc.Identity{}, authsvc.ErrRefused
			}
			return authsvc.Identity{}, errors.New("it is down")
		}}
		s.svc.UseBackends([]authsvc.Backend{s.svc.DatabaseBackend(), down})
		byEvil, in := `{"tenant_id":"`+evil+`"}`, resttest.Basic("alice", "secret of alice")
		s.do("POST", "/token", "", byEvil, in).Want(200)
		for range 100 {
			s.undecided(byEvil, "alice", "wrong")
		}
		asked := down.asked
		s.undecided(byEvil, "Alice", "secret of alice") // the same response, and nobody has checked it
		if down.asked != asked {
			t.Error("the backend was asked")
		}
		s.do("POST", "/token", "", "{}", in).Want(200) // Alice herself names another tenant, or none
		s.pass(time.Minute)
		s.do("POST", "/token", "", byEvil, in).Want(200)
	})
}

// The time that an unusable directory takes reveals nothing about its address: a closed port, another protocol, silence, an
// unknown name, a forbidden address.
func TestTroubleTakesAllTheTime(t *testing.T) {
	t.Parallel()
	db := storetest.SQLite(t)
	s := newServer(t, db)
	admin := s.admin()
	const all = 500 * time.Millisecond
	s.svc.UseDirectoryTimeout(all)
	listen := func(answer string) (port int, closeIt func()) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				if answer != "" {
					_, _ = c.Write([]byte(answer))
					_ = c.Close()
				}
			}
		}()
		t.Cleanup(func() { _ = l.Close() })
		return l.Addr().(*net.TCPAddr).Port, func() { _ = l.Close() }
	}
	closed, closeIt := listen("")
	closeIt()
	silent, _ := listen("")
	other, _ := listen("SSH-2.0-x\r\n")
	for name, where := range map[string]string{
		"closed":       fmt.Sprintf(`"host":"127.0.0.1","port":%d`, closed),
		"silent":       fmt.Sprintf(`"host":"127.0.0.1","port":%d`, silent),
		"other":        fmt.Sprintf(`"host":"127.0.0.1","port":%d`, other),
		"nobody":       `"host":"nobody.invalid","port":389`,
		"out of reach": fmt.Sprintf(`"host":"192.0.2.1","port":%d`, silent),
	} {
		tenant := s.tenant(admin, strings.ReplaceAll(name, " ", "-"))
		s.do("PUT", "/backends/ldap", admin, `{`+where+`,"user_base_dn":"dc=example","user_login_attribute":"uid","user_email_attribute":"mail"}`, resttest.In(tenant)).Want(200)
		for _, security := range []string{"", "tls", "ldaps"} {
			s.do("PUT", "/backends/ldap", admin, strings.Replace(`{`+where+`,"protocol_security":"S","user_base_dn":"dc=example","user_login_attribute":"uid","user_email_attribute":"mail"}`, `"S"`, `"`+security+`"`, 1), resttest.In(tenant)).Want(200)
			// As if the operator had allowed it once: setting it is refused.
			if _, err := db.Exec(t.Context(), "UPDATE auth_ldap_config SET host = '0.0.0.0' WHERE host = '192.0.2.1'"); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			s.undecided(`{"tenant_id":"`+tenant+`"}`, "alice", "x")
			if took := time.Since(began); took < all {
				t.Errorf("%s %s: after %s", name, security, took)
			}
		}
	}
}
