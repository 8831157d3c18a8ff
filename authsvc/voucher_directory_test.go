package authsvc_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/authsvc/backend/ldap/ldaptest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// A session that began by a directory which somebody has set up depends on them still when somebody else sets up the right one.
// So does an entry that was bound then. Both end when the entry is forgotten.
func TestADirectoryOfBeforeLetsNobodyIn(t *testing.T) {
	d := ldaptest.Start(t)
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s, admin, clerk, mighty, acme := newClerk(t, db, d)
		const offline = `{"tenant_id":"acme","access_type":"offline","client_id":"c"}`
		users, begun := map[string]string{}, map[string]resttest.Answer{}
		enter := func(name string, status int) resttest.Answer {
			t.Helper()
			return s.do("POST", "/token", "", offline, resttest.Basic(name, ldaptest.Password(name))).Want(status)
		}
		for _, name := range []string{"alice", "bob"} {
			users[name] = s.do("POST", "/users", admin, `{"username":"`+name+`@example.test","authentication_method":"ldap"}`, resttest.In(acme)).Want(200).Text("uuid")
		}
		enter("bob", 200) // is bound before
		s.do("PUT", "/backends/ldap", clerk, directory(d, ""), resttest.In(acme)).Want(200)
		for name := range users {
			begun[name] = enter(name, 200)
		}
		s.do("PUT", "/backends/ldap", admin, directory(d, ""), resttest.In(acme)).Want(200)
		dead := func(name string) {
			t.Helper()
			s.lives(begun[name].Text("data.token"), false)
			s.do("POST", "/token", "", `{"client_id":"c","refresh_token":"`+begun[name].Text("data.refresh_token")+`"}`).Want(401)
		}
		for name, user := range users {
			s.do("PUT", "/users/"+user+"/policies/"+mighty, admin, "").Want(204)
			dead(name)
			enter(name, 401)
		}
		s.do("DELETE", "/idp/ldap/users/"+users["alice"], admin, "").Want(204)
		s.do("PUT", "/idp/ldap/users/"+users["alice"], admin, "").Want(204)
		enter("bob", 401)
		enter("alice", 200)
		dead("alice")
		s.do("DELETE", "/backends/ldap", admin, "", resttest.In(acme)).Want(204)
		s.do("PUT", "/backends/ldap", admin, directory(d, ""), resttest.In(acme)).Want(200)
		enter("bob", 200)
		dead("bob")
	})
}

// A directory that answers only after another was configured vouches by the one who has set it up.
func TestADirectoryThatAnswersLate(t *testing.T) {
	d := ldaptest.Start(t)
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s, admin, clerk, mighty, acme := newClerk(t, db, d)
		alice := s.do("POST", "/users", admin, `{"username":"alice@example.test","authentication_method":"ldap"}`, resttest.In(acme)).Want(200).Text("uuid")
		late := before(t, d.Port, func() {
			s.do("PUT", "/backends/ldap", admin, directory(d, ""), resttest.In(acme)).Want(200)
		})
		s.do("PUT", "/backends/ldap", clerk, strings.Replace(directory(d, ""), fmt.Sprintf(`"port":%d`, d.Port), fmt.Sprintf(`"port":%d`, late), 1), resttest.In(acme)).Want(200)
		session := s.do("POST", "/token", "", `{"tenant_id":"acme"}`, resttest.Basic("alice", ldaptest.Password("alice"))).Want(200).Text("data.token")
		s.do("PUT", "/users/"+alice+"/policies/"+mighty, admin, "").Want(204)
		s.lives(session, false)
	})
}

// An entry that is forgotten while somebody logs in by it still depends on those who have set up the directory.
func TestAnEntryForgottenDuringALogin(t *testing.T) {
	d := ldaptest.Start(t)
	storetest.Each(t, func(t *testing.T, db store.DB) {
		s, admin, clerk, mighty, acme := newClerk(t, db, d)
		alice := s.do("POST", "/users", admin, `{"username":"alice@example.test","authentication_method":"ldap"}`, resttest.In(acme)).Want(200).Text("uuid")
		asked := 0
		late := before(t, d.Port, func() {
			if asked++; asked == 2 { // whether the user may have a refresh token, after the login was checked
				s.do("DELETE", "/backends/ldap", admin, "", resttest.In(acme)).Want(204)
				s.do("PUT", "/backends/ldap", admin, directory(d, ""), resttest.In(acme)).Want(200)
			}
		})
		s.do("PUT", "/backends/ldap", clerk, strings.Replace(directory(d, ""), fmt.Sprintf(`"port":%d`, d.Port), fmt.Sprintf(`"port":%d`, late), 1), resttest.In(acme)).Want(200)
		a := s.do("POST", "/token", "", `{"tenant_id":"acme","access_type":"offline","client_id":"c"}`, resttest.Basic("alice", ldaptest.Password("alice"))).Want(200)
		s.do("PUT", "/users/"+alice+"/policies/"+mighty, admin, "").Want(204)
		s.lives(a.Text("data.token"), false)
		s.do("POST", "/token", "", `{"client_id":"c","refresh_token":"`+a.Text("data.refresh_token")+`"}`).Want(401)
		if asked < 2 {
			t.Errorf("the directory was asked %d times", asked)
		}
	})
}

// before returns a port that leads to another one of this machine, once something has happened.
func before(t *testing.T, port int, happens func()) int {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			happens()
			out, err := new(net.Dialer).DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				t.Error(err)
				return
			}
			work.Go(func() { _, _ = io.Copy(out, in); _ = out.Close() })
			work.Go(func() { _, _ = io.Copy(in, out); _ = in.Close() })
		}
	})
	t.Cleanup(func() { _ = l.Close(); work.Wait() })
	return l.Addr().(*net.TCPAddr).Port
}

// newClerk returns a server, the tokens of its administrator and of a clerk of the helpdesk, a policy that holds more than the clerk, and a
// tenant whose users log in by the directory.
func newClerk(t *testing.T, db store.DB, d *ldaptest.Server) (s *server, admin, clerk, mighty, acme string) {
	t.Helper()
	s = newLDAPServer(t, db, d)
	admin = s.admin()
	_, _, clerk = s.account(admin, "clerk", helpdesk...)
	return s, admin, clerk, s.mighty(admin), s.acmeTenant(admin, d)
}
