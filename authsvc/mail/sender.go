package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// Sender makes and sends mails. It is safe for concurrent use, and holds no connection between two sends. A nil Sender is a
// Sender without a mail server.
type Sender struct {
	config    Config
	tls       *tls.Config
	from      *mail.Address
	base      *url.URL
	site      string // base's host
	templates *templates
}

// New checks the configuration and the templates, without contacting anybody. Without a host it returns a Sender that is not
// Enabled. The error of a template names its file and line.
func New(c Config) (*Sender, error) {
	s := &Sender{}
	var err error
	if s.templates, err = loadTemplates(c.Templates); err != nil {
		return nil, err
	}
	if c.BaseURL != "" {
		if s.base, err = parseBase(c.BaseURL); err != nil {
			return nil, err
		}
		s.site = s.base.Hostname()
	}
	if c.Host == "" {
		if err := c.hostless(); err != nil {
			return nil, err
		}
		return s, nil
	}
	s.config = c.withDefaults()
	if err := s.config.checkServer(); err != nil {
		return nil, err
	}
	if s.from, err = parseFrom(c.From); err != nil {
		return nil, err
	}
	if s.tls, err = s.config.tlsConfig(); err != nil {
		return nil, err
	}
	return s, nil
}

// Enabled reports whether there is a mail server. Without one every send returns ErrNotConfigured.
func (s *Sender) Enabled() bool { return s != nil && s.config.Host != "" }

// Confirmation sends the link with which to confirm the address, <base>/api/auth/0.1/emails/<uuid>/confirm?token=<token>. It makes one attempt.
func (s *Sender) Confirmation(ctx context.Context, to Recipient, emailUUID, token string) error {
	return s.mail(ctx, "confirmation", to, emailUUID, token, func() (mailTemplate, string) {
		return s.templates.confirmation, s.base.JoinPath("api/auth/0.1/emails", emailUUID, "confirm").String() + "?token=" + encode(token)
	})
}

// PasswordReset sends the link to the console's page on which to choose a new password. The fragment keeps the token out of access logs and Referer
// headers. It makes one attempt.
func (s *Sender) PasswordReset(ctx context.Context, to Recipient, userUUID, token string) error {
	return s.mail(ctx, "password reset", to, userUUID, token, func() (mailTemplate, string) {
		return s.templates.reset, s.base.JoinPath("console/reset.html").String() + "#user_uuid=" + encode(userUUID) + "&token=" + encode(token)
	})
}

// Test sends a mail that says that mails arrive, in one attempt. The text of an error may be shown: it has what the server said.
func (s *Sender) Test(ctx context.Context, address string) error {
	if !s.Enabled() {
		return ErrNotConfigured
	}
	if err := (Recipient{Address: address}).check(); err != nil {
		return err
	}
	text := "This is the mail that was sent to test the mail server of " + s.site + ".\r\n\r\nThere is nothing to do: mails arrive.\r\n"
	return s.send(ctx, s.letter("", address, "Test of "+s.site, text), address, "")
}

// Fax sends a fax that was received at some time, as an attachment, in one attempt. The text of an error does not hold the address.
func (s *Sender) Fax(ctx context.Context, address, text, name string, tiff io.Reader) error {
	if !s.Enabled() {
		return ErrNotConfigured
	}
	if err := (Recipient{Address: address}).check(); err != nil {
		return err
	}
	m := s.letter("", address, "Fax", text)
	if err := m.AttachReader(name, tiff, gomail.WithFileContentType("image/tiff")); err != nil {
		return fmt.Errorf("attaching a fax: %w", err)
	}
	return s.send(ctx, m, address, address)
}

// mail sends a mail with a link, which has a UUID and a token.
func (s *Sender) mail(ctx context.Context, what string, to Recipient, id, token string, of func() (mailTemplate, string)) error {
	if !s.Enabled() {
		return ErrNotConfigured
	}
	if err := uuid.Validate(id); err != nil {
		return fmt.Errorf("making a %s mail: reading the UUID for the link: %w", what, err)
	}
	template, link := of()
	m, err := s.message(template, to, link)
	if err != nil {
		return fmt.Errorf("making a %s mail: %w", what, err)
	}
	if err := s.send(ctx, m, to.Address, token); err != nil {
		return fmt.Errorf("sending a %s mail: %w", what, err)
	}
	return nil
}

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
	if ctx.Err() != nil { // the connection's own error would only say that it was closed
		return fmt.Errorf("%s: %w", step, ctx.Err())
	}
	text := err.Error()
	if reply, ok := errors.AsType[*textproto.Error](err); ok {
		text = fmt.Sprintf("the server answered %d %s", reply.Code, reply.Msg)
	}
	return fmt.Errorf("%s: %s", step, quotable(text, s.config.Password, token, encode(token)))
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

var (
	// ErrNotConfigured is the error of every send if there is no mail server.
	ErrNotConfigured = errors.New("no mail server is configured")
	// ErrRecipient is wrapped by an error if nothing was sent because the recipient's address or a name cannot stand in a mail
	// header.
	ErrRecipient = errors.New("unfit recipient")
)

// long matches what may be a token, a link or an encoded password.
var long = regexp.MustCompile(`[A-Za-z0-9+/_=%-]{20,}`)

// quotable makes an error, which may quote the server, fit for a log line. Servers quote commands that they do not know and links that they do not
// like, so the secrets, and every run of characters that could be an encoded secret, are removed.
func quotable(said string, secrets ...string) string {
	for _, secret := range secrets {
		if secret != "" {
			said = strings.ReplaceAll(said, secret, "...")
		}
	}
	said = long.ReplaceAllString(said, "...")
	said = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(said, "?"))
	const limit = 300
	if runes := []rune(said); len(runes) > limit {
		said = string(runes[:limit]) + "..."
	}
	return said
}
