package caddymodule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/authsvc/backend/ldap"
	"github.com/ringfence/ringfence/authsvc/mail"
	"github.com/ringfence/ringfence/authsvc/password"
	"github.com/ringfence/ringfence/internal/tokens"
)

// Passwords configure the cost of checking a password. password.Settings has the defaults.
type Passwords struct {
	// MemoryKiB, Passes and Lanes are argon2id's parameters (RFC 9106). Default: 19456, 2, 1. MemoryKiB must be at least 7168.
	MemoryKiB uint32 `json:"memory_kib,omitempty"`
	Passes    uint32 `json:"passes,omitempty"`
	Lanes     uint8  `json:"lanes,omitempty"`
	// Shortest is the least number of characters of a new password. Default: 8.
	Shortest int `json:"shortest,omitempty"`
}

// leastMemory, in KiB, is that of the weakest parameters that OWASP recommends for argon2id: a mistaken unit must not make all
// passwords cheap to guess.
const leastMemory = 7 * 1024

// options has the memory with its unit.
func (p *Passwords) options(known map[string]value) {
	delete(known, "memory_kib")
	known["memory"] = memory(&p.MemoryKiB)
}

func (p *Passwords) settings() (password.Settings, error) {
	if p == nil {
		return password.Settings{}, nil
	}
	params := password.Params{
		Memory:  cmp.Or(p.MemoryKiB, password.DefaultParams.Memory),
		Time:    cmp.Or(p.Passes, password.DefaultParams.Time),
		Threads: cmp.Or(p.Lanes, password.DefaultParams.Threads),
	}
	if p.MemoryKiB != 0 && params.Memory < leastMemory {
		return password.Settings{}, fmt.Errorf("passwords: the memory is %d KiB, and must be at least %d", params.Memory, leastMemory)
	}
	return password.Settings{Params: params, Shortest: p.Shortest}, nil
}

// Sessions bound tokens. authsvc.Sessions has the defaults.
type Sessions struct {
	// Lifetime is the lifetime of a token whose request names none. Default: 2h.
	Lifetime caddy.Duration `json:"lifetime,omitempty"`
	// MaxLifetime is the longest lifetime that a request may ask for. Default: 3650 days.
	MaxLifetime caddy.Duration `json:"max_lifetime,omitempty"`
	// PerUser is how many live tokens a user may have. Default: 100.
	PerUser int `json:"per_user,omitempty"`
}

func (s *Sessions) settings() authsvc.Sessions {
	if s == nil {
		return authsvc.Sessions{}
	}
	return authsvc.Sessions{Lifetime: time.Duration(s.Lifetime), MaxLifetime: time.Duration(s.MaxLifetime), PerUser: s.PerUser}
}

// Directories says where tenants' directories may be, since tenants choose the addresses. Each entry is a network (10.0.0.0/8),
// an address, or a host name as tenants write it.
type Directories struct {
	// Allow lists places that are always allowed, even loopback and link-local addresses. Default: none.
	Allow []string `json:"allow,omitempty"`
	// Only lists the only places that are allowed beside Allow. Default: all but this machine and its link-local network.
	Only []string `json:"only,omitempty"`
}

func (d *Directories) reach(repl *caddy.Replacer) (r ldap.Reach, err error) {
	if d == nil {
		return r, nil
	}
	for _, list := range []struct {
		texts  []string
		places *[]ldap.Place
	}{{d.Allow, &r.Allow}, {d.Only, &r.Only}} {
		for _, text := range list.texts {
			place, err := ldap.ParsePlace(repl.ReplaceAll(text, ""))
			if err != nil {
				return r, fmt.Errorf("directories: %w", err)
			}
			*list.places = append(*list.places, place)
		}
	}
	return r, nil
}

func (a *App) loadSettings(repl *caddy.Replacer) (err error) {
	if a.settings.Passwords, err = a.Passwords.settings(); err != nil {
		return err
	}
	a.settings.Sessions = a.Sessions.settings()
	if a.settings.Directories, err = a.Directories.reach(repl); err != nil {
		return err
	}
	a.settings.SelfRegistration = a.SelfRegistration
	if a.Mail != nil {
		sender, err := a.Mail.sender(repl, a.PublicURL)
		if err != nil {
			return fmt.Errorf("preparing to send mails: %w", err)
		}
		a.settings.Mailer = sender
	}
	if a.SelfRegistration && (a.Mail == nil || a.Mail.Server == "") {
		return errors.New("self_registration needs a mail server, since a new user must confirm an address")
	}
	if err := a.settings.Check(); err != nil {
		return fmt.Errorf("reading the settings of the authentication service: %w", err)
	}
	return nil
}

// Mail says how the authentication service sends mails: those that confirm an address, and those that reset a password. Texts may
// hold placeholders, such as {env.SMTP_PASSWORD} or {file./run/secrets/smtp}.
type Mail struct {
	// Server is the mail server, as host or host:port. The default port depends on TLS: 587, 465 or 25.
	Server string `json:"server" caddyfile:"argument"`
	// From is the sender, as "Example PBX <pbx@example.com>".
	From string `json:"from"`
	// Username and Password are for the mail server. Default: no authentication.
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
	// TLS is starttls, tls (from the first byte) or none (for a mail server on this host). Default: starttls.
	TLS string `json:"tls,omitempty"`
	// CA is a PEM file with the authorities that may sign the mail server's certificate. Default: the system's.
	CA string `json:"ca,omitempty"`
	// Templates is a folder with texts that replace those of the mails. Default: none.
	Templates string `json:"templates,omitempty"`
	// Timeout bounds the sending of a mail. Default: 30s.
	Timeout caddy.Duration `json:"timeout,omitempty"`
}

// sender makes the sender, without contacting the mail server. Links begin with the public URL.
func (m *Mail) sender(repl *caddy.Replacer, publicURL string) (*mail.Sender, error) {
	for _, text := range []*string{&m.Server, &m.From, &m.Username, &m.Password, &m.TLS, &m.CA, &m.Templates} {
		*text = repl.ReplaceAll(*text, "")
	}
	c := mail.Config{
		Host: m.Server, Username: m.Username, Password: m.Password, TLS: m.TLS, CAFile: m.CA, Timeout: time.Duration(m.Timeout),
		From: m.From, BaseURL: publicURL, Templates: m.Templates,
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

func from(ctx context.Context) tokens.From {
	ip, _ := caddyhttp.GetVar(ctx, caddyhttp.ClientIPVarKey).(string)
	return tokens.FromAddress(ip)
}

// ConfiguredPolicy is a policy that the configuration creates in the master tenant, for all tenants.
type ConfiguredPolicy struct {
	// Slug is also the name.
	Slug string `json:"slug"`
	// ACL lists its patterns.
	ACL []string `json:"acl"`
}

// ConfiguredGroup is a group that the configuration creates in every tenant.
type ConfiguredGroup struct {
	// Slug is also the name.
	Slug string `json:"slug"`
	// Policies are slugs of default_policies.
	Policies []string `json:"policies"`
}

func (a *App) loadConfigured() error {
	var c authsvc.Configured
	for _, p := range a.DefaultPolicies {
		c.Policies = append(c.Policies, authsvc.ConfiguredPolicy{Slug: p.Slug, Description: "Made by the configuration.", ACL: p.ACL})
	}
	for _, g := range a.TenantDefaultGroups {
		c.Groups = append(c.Groups, authsvc.ConfiguredGroup{Slug: g.Slug, Policies: g.Policies})
	}
	c.AllUsers = slices.Clone(a.AllUsersPolicies)
	own := a.DefaultUserPolicy
	if own == "" {
		own = authsvc.DefaultUserPolicy
	}
	if own != "none" {
		c.AllUsers = append(c.AllUsers, own)
	}
	given := slices.ContainsFunc(c.Policies, func(p authsvc.ConfiguredPolicy) bool { return strings.EqualFold(p.Slug, authsvc.DefaultUserPolicy) })
	if own == authsvc.DefaultUserPolicy && !given {
		c.Policies = append(c.Policies, authsvc.ConfiguredPolicy{
			Slug: own, Description: "What users may do with their own account. Made by the configuration.", ACL: authsvc.OwnAccount(),
		})
	}
	if err := c.Check(); err != nil {
		return fmt.Errorf("reading default_policies, all_users_policies, tenant_default_groups and default_user_policy: %w", err)
	}
	a.configured = c
	return nil
}
