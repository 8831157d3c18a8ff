package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// quitTimeout is how long a server that has the mail may take for QUIT.
const quitTimeout = 2 * time.Second

// send delivers one mail over its own connection, which is closed when send returns, or when ctx or the time limit ends. The
// token must not appear in the error.
func (s *Sender) send(ctx context.Context, m *gomail.Msg, to, token string) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	step, err := s.deliver(ctx, m, to)
	if err == nil {
		return nil
	}
	step += " " + s.address()
	if ctx.Err() != nil {
		// The connection's own error would only say that it was closed.
		return &sendError{step: step, text: ctx.Err().Error(), cause: ctx.Err(), temporary: true}
	}
	return failed(step, err, s.config.Password, token, encode(token))
}

// deliver connects and transfers the mail. On failure it also returns, in words, the step that failed. It manages the connection
// itself: go-mail leaves it open when STARTTLS or AUTH fails, moves its deadline with every step, and forgets the context once
// connected.
func (s *Sender) deliver(ctx context.Context, m *gomail.Msg, to string) (string, error) {
	const connecting = "connecting to"
	conn, err := s.dial(ctx)
	if err != nil {
		return connecting, err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	encrypted := conn
	if s.config.TLS == ImplicitTLS {
		handshake := tls.Client(conn, s.tls)
		if err := handshake.HandshakeContext(ctx); err != nil {
			return connecting, err
		}
		encrypted = handshake
	}
	login := &auth{config: s.config}
	dialer, err := s.client(encrypted, login)
	if err != nil {
		return connecting, err
	}
	client, err := dialer.DialToSMTPClientWithContext(ctx)
	switch {
	case err != nil && login.Auth != nil:
		return "authenticating with", err
	case err != nil:
		return connecting, err
	}
	if step, err := hand(client, m, s.from.Address, to); err != nil {
		return step, err
	}
	// The server has the mail now, even if QUIT fails.
	if err := conn.SetDeadline(time.Now().Add(quitTimeout)); err == nil {
		_ = client.Quit()
	}
	return "", nil
}

// hand transfers the mail to the server. On failure it also returns the step that failed.
func hand(client *smtp.Client, m *gomail.Msg, from, to string) (string, error) {
	if err := client.Mail("<" + from + ">"); err != nil {
		return "giving the sender to", err
	}
	if err := client.Rcpt("<" + to + ">"); err != nil {
		return "giving the recipient to", err
	}
	text, err := client.Data()
	if err != nil {
		return "announcing the text to", err
	}
	if _, err := m.WriteTo(text); err != nil {
		return "writing the text to", err
	}
	if err := text.Close(); err != nil {
		return "handing the text to", err
	}
	return "", nil
}

func (s *Sender) address() string {
	return net.JoinHostPort(s.config.Host, strconv.Itoa(s.config.Port))
}

// dial connects. Without TLS it checks that the name resolves to this host.
func (s *Sender) dial(ctx context.Context) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.address())
	if err != nil {
		return nil, err
	}
	if s.config.TLS == NoTLS {
		remote, ok := conn.RemoteAddr().(*net.TCPAddr)
		if !ok || !remote.IP.IsLoopback() {
			_ = conn.Close()
			return nil, errors.New("the name resolves to another host, and TLS is off")
		}
	}
	return conn, nil
}

// client returns a go-mail client for one send over the connection: go-mail's clients cannot be shared.
func (s *Sender) client(conn net.Conn, login smtp.Auth) (*gomail.Client, error) {
	options := []gomail.Option{
		gomail.WithDialContextFunc(func(context.Context, string, string) (net.Conn, error) { return conn, nil }),
		gomail.WithHELO(s.helo()),
		gomail.WithTimeout(2 * s.config.Timeout), // the context's timeout is shorter, so it decides
		gomail.WithTLSConfig(s.tls),
		gomail.WithoutSMTPUTF8(), // addresses are ASCII
	}
	switch s.config.TLS {
	case StartTLS:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	case ImplicitTLS:
		options = append(options, gomail.WithSSL())
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	}
	if s.config.Username != "" {
		options = append(options, gomail.WithSMTPAuthCustom(login))
	}
	return gomail.NewClient(s.config.Host, options...)
}

// helo returns the name in our greeting: the base URL's host, which is ours and public, rather than the name of this machine or
// container.
func (s *Sender) helo() string {
	host := s.base.Hostname()
	switch {
	case !isIP(host):
		return host
	case strings.Contains(host, ":"):
		return "[IPv6:" + host + "]"
	default:
		return "[" + host + "]"
	}
}

// auth is PLAIN, or LOGIN if the server offers only that. go-mail's own choice would prefer CRAM-MD5 and NTLM, and does not know
// that a connection is encrypted if it did not encrypt it itself.
type auth struct {
	config    Config
	smtp.Auth // nil until it has started
}

// Start begins the authentication, but never in clear text with another host.
func (a *auth) Start(server *smtp.ServerInfo) (string, []byte, error) {
	c := a.config
	if !server.TLS && c.TLS != NoTLS {
		return "", nil, errors.New("authentication needs an encrypted connection")
	}
	switch {
	case slices.Contains(server.Auth, "PLAIN"):
		a.Auth = smtp.PlainAuth("", c.Username, c.Password, server.Name, !server.TLS)
	case slices.Contains(server.Auth, "LOGIN"):
		a.Auth = smtp.LoginAuth(c.Username, c.Password, server.Name, !server.TLS)
	default:
		return "", nil, fmt.Errorf("it offers neither AUTH PLAIN nor AUTH LOGIN, but %q", server.Auth)
	}
	return a.Auth.Start(server)
}
