package authsvc

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/ringfence/ringfence/authsvc/backend/ldap"
	"github.com/ringfence/ringfence/authsvc/mail"
	"github.com/ringfence/ringfence/authsvc/password"
	"github.com/ringfence/ringfence/authsvc/throttle"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/tokens"
)

// Mailer sends the service's mails; *mail.Sender implements it. It is safe for concurrent use. Links begin with the mailer's
// configured URL, and never with a request's Host header.
type Mailer interface {
	// Enabled reports whether there is a mail server.
	Enabled() bool
	// Confirmation and PasswordReset make one attempt. Their errors may be logged.
	Confirmation(ctx context.Context, to mail.Recipient, emailUUID, token string) error
	PasswordReset(ctx context.Context, to mail.Recipient, userUUID, token string) error
	// Test sends a mail that only says that mails arrive. The text of its error may be shown.
	Test(ctx context.Context, address string) error
}

// Limits slow down guessing and flooding. A zero field means its default.
type Limits = throttle.Limits

// Rate is an allowance: Burst at once, and one more per Every.
type Rate = throttle.Rate

// Settings are what an operator may change while the service runs. The zero value means the defaults.
type Settings struct {
	// Mailer sends mails. Default: none are sent.
	Mailer Mailer
	// SelfRegistration lets strangers create accounts, each in its own tenant. Default: false.
	SelfRegistration bool
	// Passwords configure the cost of passwords, and how many may wait.
	Passwords password.Settings
	// Sessions bound tokens.
	Sessions Sessions
	// Limits slow down guessing and flooding.
	Limits Limits
	// Directories says where tenants' directories may be. Default: anywhere but this machine and its link-local network, as
	// ldap.Reach says.
	Directories ldap.Reach
}

// Sessions bound tokens; each token is a session. A zero field means its default.
type Sessions struct {
	// Lifetime is the lifetime of a token whose request names none, in whole seconds. Default: 2 hours, or MaxLifetime if that is
	// less.
	Lifetime time.Duration
	// MaxLifetime is the longest lifetime that a request may ask for. Default and limit: 10 years of 365 days.
	MaxLifetime time.Duration
	// PerUser is how many live tokens a user may have, except internal users; a further login is refused with 429. Default: 100.
	PerUser int
}

const (
	// maxExpiration is the longest lifetime of a token in the API.
	maxExpiration = 315360000 * time.Second
	maxPerUser    = 1_000_000
)

func (l Sessions) withDefaults() (Sessions, error) {
	l.MaxLifetime = cmp.Or(l.MaxLifetime, maxExpiration)
	l.Lifetime = cmp.Or(l.Lifetime, min(2*time.Hour, l.MaxLifetime))
	l.PerUser = cmp.Or(l.PerUser, 100)
	if l.Lifetime < time.Second || l.Lifetime%time.Second != 0 || l.MaxLifetime%time.Second != 0 ||
		l.Lifetime > l.MaxLifetime || l.MaxLifetime > maxExpiration {
		return l, errors.New("lifetimes of tokens: the default must be at least a second, and no longer than the longest, " +
			"which is ten years at most; both are whole seconds")
	}
	if l.PerUser < 1 || l.PerUser > maxPerUser {
		return l, errors.New("sessions of a user must be from one to a million")
	}
	return l, nil
}

// Check returns the error that UseSettings would return.
func (settings Settings) Check() error {
	_, err := settings.withDefaults()
	return err
}

func (settings Settings) withDefaults() (Settings, error) {
	if settings.Mailer == nil {
		settings.Mailer = (*mail.Sender)(nil)
	}
	var passwords, sessions error
	settings.Passwords, passwords = settings.Passwords.WithDefaults()
	settings.Sessions, sessions = settings.Sessions.withDefaults()
	settings.Limits = settings.Limits.WithDefaults()
	return settings, errors.Join(passwords, sessions)
}

// UseSettings checks the settings, and replaces the current ones. Requests in progress keep those that they began with.
func (s *Service) UseSettings(settings Settings) error {
	settings, err := settings.withDefaults()
	if err != nil {
		return err
	}
	if err := s.hasher.Use(settings.Passwords); err != nil {
		return err
	}
	s.settings.Store(&settings)
	return nil
}

// Close waits for the mails that are being sent, at most a few seconds. The database must be open until then.
func (s *Service) Close() { s.background.close() }

// clientNetwork returns the network that the request comes from.
func (s *Service) clientNetwork(r *http.Request) string {
	return throttle.Network(s.clientAddress(r))
}

// clientAddress returns the address that the request comes from, without a port.
func (s *Service) clientAddress(r *http.Request) string {
	if s.clientIP != nil {
		return s.clientIP(r)
	}
	return PeerIP(r)
}

// lookUp looks up a secret that a client has sent, unless too many unknown ones have come. A secret is unknown if look returns an
// error of kind Unauthorized.
func (s *Service) lookUp(ctx context.Context, r *http.Request, secret string, look func() error) error {
	return s.secrets.Look(ctx, tokens.FromAddress(s.clientAddress(r)), tokens.DigestOf(secret), func() (known bool, err error) {
		err = look()
		e := apierr.As(err)
		return e == nil || e.Kind != apierr.Unauthorized, err
	})
}

// PeerIP returns the address of a request's peer, without a port.
func PeerIP(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr
}
