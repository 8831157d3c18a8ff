package ldaptest

import (
	"fmt"

	goldap "github.com/go-ldap/ldap/v3"
)

// Change sets an attribute of the person uid to these values, as the directory's administrator. Without values it removes the
// attribute.
func (s *Server) Change(uid, attribute string, values ...string) {
	s.tb.Helper()
	s.administer(func(conn *goldap.Conn) error {
		request := goldap.NewModifyRequest("uid="+goldap.EscapeDN(uid)+","+PeopleDN, nil)
		request.Replace(attribute, values)
		return conn.Modify(request)
	})
}

// Remove removes the person uid.
func (s *Server) Remove(uid string) {
	s.tb.Helper()
	s.administer(func(conn *goldap.Conn) error {
		return conn.Del(goldap.NewDelRequest("uid="+goldap.EscapeDN(uid)+","+PeopleDN, nil))
	})
}

func (s *Server) administer(do func(*goldap.Conn) error) {
	s.tb.Helper()
	conn, err := goldap.DialURL(fmt.Sprintf("ldap://%s:%d", Host, s.Port))
	if err != nil {
		s.tb.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.Bind("cn=admin,"+BaseDN, AdminPassword); err != nil {
		s.tb.Fatal(err)
	}
	if err := do(conn); err != nil {
		s.tb.Fatal(err)
	}
}
