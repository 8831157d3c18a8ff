package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/mail"
	"net/url"

	"github.com/google/uuid"
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
	if c.ResetURL != "" {
		if err := checkReset(c.ResetURL); err != nil {
			return nil, err
		}
	}
	if c.ConfirmationValidity < 0 || c.ResetValidity < 0 {
		return nil, errors.New("a link's validity is negative")
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

// Confirmation sends the link with which to confirm the address,
// <base>/api/auth/0.1/emails/<uuid>/confirm?token=<token>. One attempt: see ErrTemporary.
func (s *Sender) Confirmation(ctx context.Context, to Recipient, emailUUID, token string) error {
	if !s.Enabled() {
		return ErrNotConfigured
	}
	if err := checkUUID(emailUUID); err != nil {
		return fmt.Errorf("making a confirmation mail: %w", err)
	}
	link := s.base.JoinPath("api/auth/0.1/emails", emailUUID, "confirm").String() + "?token=" + encode(token)
	m, err := s.message(s.templates.confirmation, to, link, s.config.ConfirmationValidity)
	if err != nil {
		return fmt.Errorf("making a confirmation mail: %w", err)
	}
	if err := s.send(ctx, m, to.Address, token); err != nil {
		return fmt.Errorf("sending a confirmation mail: %w", err)
	}
	return nil
}

// PasswordReset sends the link with which to choose a new password, as Config.ResetURL says. One attempt: see ErrTemporary.
func (s *Sender) PasswordReset(ctx context.Context, to Recipient, userUUID, token string) error {
	if !s.Enabled() {
		return ErrNotConfigured
	}
	if err := checkUUID(userUUID); err != nil {
		return fmt.Errorf("making a password reset mail: %w", err)
	}
	reset := s.config.ResetURL
	if reset == "" {
		reset = s.base.JoinPath("console/reset.html").String() + "#user_uuid=" + userPlace + "&token=" + tokenPlace
	}
	m, err := s.message(s.templates.reset, to, fill(reset, userUUID, token), s.config.ResetValidity)
	if err != nil {
		return fmt.Errorf("making a password reset mail: %w", err)
	}
	if err := s.send(ctx, m, to.Address, token); err != nil {
		return fmt.Errorf("sending a password reset mail: %w", err)
	}
	return nil
}

// ConfirmedPage returns the page for GET /emails/{email_uuid}/confirm, as text/html; charset=utf-8. The address is escaped; it
// may be empty. It works without a mail server, and on a nil Sender with the default template.
func (s *Sender) ConfirmedPage(address string) ([]byte, error) {
	t, data := defaults, page{Address: address}
	if s != nil {
		t, data.Site = s.templates, s.site
	}
	html, err := render(t.confirmed, data)
	if err != nil {
		return nil, fmt.Errorf("making the confirmation page: %w", err)
	}
	return []byte(html), nil
}

func checkUUID(id string) error {
	if err := uuid.Validate(id); err != nil {
		return fmt.Errorf("reading the UUID for the link: %w", err)
	}
	return nil
}
