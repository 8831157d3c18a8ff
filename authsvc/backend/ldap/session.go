package ldap

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	ber "github.com/go-asn1-ber/asn1-ber"
	goldap "github.com/go-ldap/ldap/v3"
)

// session is one connection to a directory, for one login.
type session struct {
	ctx      context.Context // ends when the time for the login is over, and ends the connection
	config   Config
	password string // the user's, to keep it out of errors
	conn     *goldap.Conn
	stop     func() bool // releases ctx
}

// open connects, and secures the connection as configured: it returns a session over TLS, or fails.
func open(ctx context.Context, c Config, password string) (*session, error) {
	s := &session{ctx: ctx, config: c, password: password}
	raw, secured, err := s.connect()
	if err != nil {
		return nil, err
	}
	s.conn = goldap.NewConn(&wire{Conn: secured, left: maxAnswers, version2: c.ProtocolVersion == 2}, c.ProtocolSecurity == LDAPS)
	s.conn.Start()
	s.stop = context.AfterFunc(ctx, func() { _ = raw.Close() }) // a pending read or write then fails at once
	if c.ProtocolSecurity == StartTLS {
		if err := s.conn.StartTLS(c.tls()); err != nil {
			s.stop()
			_ = raw.Close() // without an unbind, so that nothing more is sent in plain text
			_ = s.conn.Close()
			return nil, s.failure("starting TLS", err)
		}
	}
	return s, nil
}

// connect returns the TCP connection, and the connection to use: the same, or TLS over it.
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

// tls always verifies the certificate and its name: no field turns that off.
func (c Config) tls() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.Host, RootCAs: c.RootCAs}
}

func (s *session) close() {
	if s.conn.Unbind() != nil {
		_ = s.conn.Close()
	}
	s.stop()
}

// maxDiagnostic is how much of a server's message an error repeats, in bytes.
const maxDiagnostic = 200

// failure says in which step a directory failed and how. It repeats the server's message, which often has what an operator needs,
// unless the message holds one of the passwords.
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
	if answer.ResultCode >= goldap.ErrorNetwork { // the library's code, not the directory's
		return fmt.Errorf("%s: %q", doing, says)
	}
	return fmt.Errorf("%s: the directory returned %d (%s) %q", doing,
		answer.ResultCode, goldap.LDAPResultCodeMap[answer.ResultCode], says)
}

// maxAnswers is how many bytes a directory may send in one session: a handshake, and one entry with four attributes. The library
// itself would accept messages of two gigabytes.
const maxAnswers = 256 << 10

var errTooLong = fmt.Errorf("the directory sent more than %d bytes", maxAnswers)

// wire is the connection as the library sees it.
type wire struct {
	net.Conn
	left     int // how much may still be read
	version2 bool
}

func (w *wire) Read(p []byte) (int, error) {
	if w.left <= 0 {
		return 0, errTooLong
	}
	n, err := w.Conn.Read(p[:min(len(p), w.left)])
	w.left -= n
	return n, err
}

// Write receives whole messages, one per call, where the version matters: version 2 has no StartTLS.
func (w *wire) Write(message []byte) (int, error) {
	if w.version2 {
		var err error
		if message, err = inVersion2(message); err != nil {
			return 0, err
		}
	}
	return w.Conn.Write(message)
}

// inVersion2 sets the protocol version of a bind, which the library always writes as 3. Other messages have no version, and those
// that we send are the same in both versions (RFC 1777, RFC 4511).
func inVersion2(message []byte) ([]byte, error) {
	packet, err := ber.DecodePacketErr(message)
	if err != nil || len(packet.Children) < 2 {
		return nil, errors.New("reading a message of the library's own making")
	}
	op := packet.Children[1]
	if op.ClassType != ber.ClassApplication || op.Tag != goldap.ApplicationBindRequest {
		return message, nil
	}
	// The operation is the end of the message, and begins with the version: type, length 1, value.
	version := len(message) - op.Data.Len() + 2
	message = slices.Clone(message)
	message[version] = 2
	return message, nil
}
