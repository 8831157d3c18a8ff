package mailtest

import (
	"io"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// session is the server's side of one connection.
type session struct {
	server   *Server
	conn     *smtp.Conn
	username string
	from     string
	to       []string
}

func (s *Server) session(c *smtp.Conn) (smtp.Session, error) {
	return &session{server: s, conn: c}, nil
}

// AuthMechanisms returns the mechanisms that the server offers.
func (s *session) AuthMechanisms() []string {
	if s.server.options.Username == "" {
		return nil
	}
	return []string{s.server.options.Mechanism}
}

// Auth begins an authentication.
func (s *session) Auth(mechanism string) (sasl.Server, error) {
	check := func(username, password string) error {
		if ask := s.server.options.Auth; ask != nil {
			if err := ask(s.server, username); err != nil {
				return err
			}
		}
		if username != s.server.options.Username || password != s.server.options.Password {
			return smtp.ErrAuthFailed
		}
		s.username = username
		return nil
	}
	switch {
	case mechanism != s.server.options.Mechanism:
		return nil, smtp.ErrAuthUnknownMechanism
	case mechanism == sasl.Login:
		return &loginServer{check: check}, nil
	default:
		return sasl.NewPlainServer(func(_, username, password string) error { return check(username, password) }), nil
	}
}

// loginServer implements AUTH LOGIN, which go-sasl has only for clients.
type loginServer struct {
	check    func(username, password string) error
	username string
	step     int
}

// Next asks for the username, then for the password.
func (l *loginServer) Next(response []byte) (challenge []byte, done bool, err error) {
	l.step++
	switch l.step {
	case 1:
		return []byte("Username:"), false, nil
	case 2:
		l.username = string(response)
		return []byte("Password:"), false, nil
	default:
		return nil, true, l.check(l.username, string(response))
	}
}

// Mail accepts the sender.
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.server.options.Username != "" && s.username == "" {
		return smtp.ErrAuthRequired
	}
	s.from = from
	return nil
}

// Rcpt accepts a recipient.
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if ask := s.server.options.Rcpt; ask != nil {
		if err := ask(s.server, to); err != nil {
			return err
		}
	}
	s.to = append(s.to, to)
	return nil
}

// Data accepts the text.
func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if ask := s.server.options.Data; ask != nil {
		if err := ask(s.server, text); err != nil {
			return err
		}
	}
	m := Message{From: s.from, To: s.to, Data: text, Username: s.username, Hello: s.conn.Hostname()}
	if state, ok := s.conn.TLSConnectionState(); ok {
		m.TLS = state.Version
	}
	select {
	case s.server.messages <- m:
		return nil
	default:
		return &smtp.SMTPError{Code: 452, EnhancedCode: smtp.EnhancedCode{4, 2, 2}, Message: "too many messages"}
	}
}

// Reset forgets the current mail.
func (s *session) Reset() { s.from, s.to = "", nil }

// Logout ends the connection.
func (s *session) Logout() error { return nil }

var _ smtp.AuthSession = (*session)(nil)
