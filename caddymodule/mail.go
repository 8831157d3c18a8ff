package caddymodule

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/mail"
	"github.com/ringfence/ringfence/internal/tokens"
)

// Mail says how the authentication service sends mails: those that confirm an address, and those that reset a password. Texts may
// hold placeholders, such as {env.SMTP_PASSWORD} or {file./run/secrets/smtp}.
type Mail struct {
	// Server is the mail server, as host or host:port. The default port depends on TLS: 587, 465 or 25.
	Server string `json:"server"`
	// From is the sender, as "Example PBX <pbx@example.com>".
	From string `json:"from"`
	// Username and Password are for the mail server. Default: no authentication.
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
	// TLS is starttls, tls (from the first byte) or none (for a mail server on this host). Default: starttls.
	TLS string `json:"tls,omitempty"`
	// CA is a PEM file with the authorities that may sign the mail server's certificate. Default: the system's.
	CA string `json:"ca,omitempty"`
	// ResetURL is the page on which a user chooses a password, with :user_uuid and :token as placeholders. Default:
	// /console/reset.html below the public URL.
	ResetURL string `json:"reset_url,omitempty"`
	// Templates is a folder with texts that replace those of the mails. Default: none.
	Templates string `json:"templates,omitempty"`
	// Timeout bounds the sending of a mail. Default: 30s.
	Timeout caddy.Duration `json:"timeout,omitempty"`
	// ConfirmationValidity and ResetValidity are how long the links are valid, from a minute to a week. Default: 1h.
	ConfirmationValidity caddy.Duration `json:"confirmation_validity,omitempty"`
	ResetValidity        caddy.Duration `json:"reset_validity,omitempty"`
}

// sender makes the sender, without contacting the mail server. Links begin with the public URL.
func (m *Mail) sender(repl *caddy.Replacer, publicURL string) (*mail.Sender, error) {
	for _, text := range []*string{&m.Server, &m.From, &m.Username, &m.Password, &m.TLS, &m.CA, &m.ResetURL, &m.Templates} {
		*text = repl.ReplaceAll(*text, "")
	}
	c := mail.Config{
		Host: m.Server, Username: m.Username, Password: m.Password, TLS: m.TLS, CAFile: m.CA, Timeout: time.Duration(m.Timeout),
		From: m.From, BaseURL: publicURL, ResetURL: m.ResetURL, Templates: m.Templates,
		ConfirmationValidity: time.Duration(m.ConfirmationValidity), ResetValidity: time.Duration(m.ResetValidity),
	}
	if host, port, err := net.SplitHostPort(m.Server); err == nil {
		if c.Host = host; port != "" {
			if c.Port, err = strconv.Atoi(port); err != nil {
				return nil, fmt.Errorf("the mail server's port %q is not a number", port)
			}
		}
	}
	if c.Host != "" && publicURL == "" {
		return nil, needsPublicURL("mail")
	}
	return mail.New(c)
}

// clientIP returns the client's address, from a trusted proxy's header where the server's trusted_proxies says so.
func clientIP(r *http.Request) string {
	if ip, ok := caddyhttp.GetVar(r.Context(), caddyhttp.ClientIPVarKey).(string); ok && ip != "" {
		return ip
	}
	return authsvc.PeerIP(r)
}

// from returns the origin of a request, from its context.
func from(ctx context.Context) tokens.From {
	ip, _ := caddyhttp.GetVar(ctx, caddyhttp.ClientIPVarKey).(string)
	return tokens.FromAddress(ip)
}

// parseMail reads
//
//	mail <server> {
//	    from                  <address>
//	    username              <name>
//	    password              <password>
//	    tls                   starttls|tls|none
//	    ca                    <file>
//	    reset_url             <url>
//	    templates             <folder>
//	    timeout               <duration>
//	    confirmation_validity <duration>
//	    reset_validity        <duration>
//	}
func (a *App) parseMail(d *caddyfile.Dispenser) error {
	m, err := once(d, "mail", &a.Mail)
	if err != nil {
		return err
	}
	if err := oneArgument(d, &m.Server); err != nil {
		return err
	}
	return block(d, "mail", map[string]value{
		"from": text(&m.From), "username": text(&m.Username), "password": text(&m.Password), "tls": text(&m.TLS), "ca": text(&m.CA),
		"reset_url": text(&m.ResetURL), "templates": text(&m.Templates), "timeout": duration(&m.Timeout),
		"confirmation_validity": duration(&m.ConfirmationValidity), "reset_validity": duration(&m.ResetValidity),
	})
}
