package ldap

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	goldap "github.com/go-ldap/ldap/v3"
)

// session is one connection to a directory, for one login.
type session struct {
	ctx      context.Context // ends at the latest when the time for the login is over; the connection ends with it
	config   Config
	password string // the user's: to keep it out of errors
	conn     *goldap.Conn
	stop     func() bool // lets go of ctx
}

// open connects, and secures the connection as configured: it answers a session over TLS or none.
func open(ctx context.Context, c Config, password string) (*session, error) {
	s := &session{ctx: ctx, config: c, password: password}
	raw, secured, err := s.connect()
	if err != nil {
		return nil, err
	}
	s.conn = goldap.NewConn(&wire{Conn: secured, left: maxAnswers, version2: c.ProtocolVersion == 2}, c.ProtocolSecurity == LDAPS)
	s.conn.Start()
	s.stop = context.AfterFunc(ctx, func() { _ = raw.Close() }) // whoever reads or writes then gets an error at once
	if c.ProtocolSecurity == StartTLS {
		if err := s.conn.StartTLS(c.tls()); err != nil {
			s.stop()
			_ = raw.Close() // without a farewell, so that nothing more is said in plain text
			_ = s.conn.Close()
			return nil, s.failure("starting TLS", err)
		}
	}
	return s, nil
}

// connect returns the TCP connection, and the same or the TLS connection over it.
func (s *session) connect() (raw, secured net.Conn, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, ConnectTimeout)
	defer cancel()
	address := net.JoinHostPort(s.config.Host, strconv.Itoa(s.config.Port))
	dialer := net.Dialer{Control: s.config.Reach.control(s.config.Host)}
	raw, err = dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, nil, s.failure("connecting to the directory", err)
	}
	if s.config.ProtocolSecurity != LDAPS {
		return raw, raw, nil
	}
	secure := tls.Client(raw, s.config.tls())
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, nil, s.failure("securing the connection to the directory", err)
	}
	return raw, secure, nil
}

// tls always verifies the certificate and the name in it: no field turns that off.
func (c Config) tls() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.Host, RootCAs: c.RootCAs}
}

// close takes leave of the server and closes the connection.
func (s *session) close() {
	if s.conn.Unbind() != nil {
		_ = s.conn.Close()
	}
	s.stop()
}

// maxDiagnostic is how much of a server's own words an error repeats, in bytes.
const maxDiagnostic = 200

// failure says in what step a directory failed and how. What the server says is repeated, because directories
// tell there what an operator needs, unless it holds one of the passwords.
func (s *session) failure(doing string, err error) error {
	if s.ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, s.ctx.Err())
	}
	var answer *goldap.Error
	if !errors.As(err, &answer) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	says := answer.Err.Error()
	for _, secret := range []string{s.password, s.config.BindPassword} {
		if secret != "" && strings.Contains(says, secret) {
			says = "(its words held a password)"
		}
	}
	says = says[:min(len(says), maxDiagnostic)]
	if answer.ResultCode >= goldap.ErrorNetwork { // no code of a directory, but the library's
		return fmt.Errorf("%s: %q", doing, says)
	}
	return fmt.Errorf("%s: the directory answered %d (%s) %q", doing,
		answer.ResultCode, goldap.LDAPResultCodeMap[answer.ResultCode], says)
}
