package mail

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/ringfence/ringfence/internal/webaddress"
)

// How the connection to the mail server is encrypted.
const (
	// StartTLS begins in clear and continues only when the server offers STARTTLS. Port 587.
	StartTLS = "starttls"
	// ImplicitTLS encrypts from the first byte. Port 465.
	ImplicitTLS = "tls"
	// NoTLS is for a mail server on the same host. Port 25.
	NoTLS = "none"
)

// Validity is how long the token of a link is valid.
const Validity = time.Hour

const defaultTimeout = 30 * time.Second

// Config says how mails are sent. The zero value sends none.
type Config struct {
	// Host is the mail server's name or IP address. If it is empty there is none, and the other fields about it must be empty
	// too.
	Host string
	// Port is the mail server's. Default: 587, 465 or 25, depending on TLS.
	Port int
	// Username and Password are for AUTH PLAIN, or LOGIN where the server offers only that. Default: no authentication.
	Username, Password string
	// TLS is StartTLS, ImplicitTLS or NoTLS. NoTLS is refused unless the host is this one. Default: StartTLS.
	TLS string
	// CAFile holds, in PEM, the only certificates that may sign the mail server's. Default: those of the system.
	CAFile string
	// Timeout bounds a send, from the connection to the server's last reply. Default: 30 seconds.
	Timeout time.Duration
	// From is the sender, as "pbx@example.com" or "Example PBX <pbx@example.com>". Required with a host.
	From string
	// BaseURL is the address at which browsers reach this service, such as "https://pbx.example.com". Links begin with it. It is
	// https, or http on this host alone, has no query, and its host is in ASCII. Required with a host.
	BaseURL string
	// Templates is a folder with files that replace the texts, see the package's documentation. Default: none.
	Templates string
}

func (c Config) withDefaults() Config {
	c.TLS = cmp.Or(c.TLS, StartTLS)
	c.Port = cmp.Or(c.Port, map[string]int{StartTLS: 587, ImplicitTLS: 465, NoTLS: 25}[c.TLS])
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	return c
}

// checkServer checks what concerns the mail server; c has its defaults.
func (c Config) checkServer() error {
	switch {
	case !hostName.MatchString(c.Host) && !isIP(c.Host):
		return fmt.Errorf("mail host %q is neither a name nor an IP address", c.Host)
	case c.TLS != StartTLS && c.TLS != ImplicitTLS && c.TLS != NoTLS:
		return fmt.Errorf("mail TLS %q is none of %s, %s and %s", c.TLS, StartTLS, ImplicitTLS, NoTLS)
	case c.TLS == NoTLS && !webaddress.Local(c.Host):
		return fmt.Errorf("mail TLS %q is for a mail server on this host, and %s is another", NoTLS, c.Host)
	case c.TLS == NoTLS && c.CAFile != "":
		return fmt.Errorf("a mail CA file is of no use with TLS %q", NoTLS)
	case c.Port < 1 || c.Port > 65535:
		return fmt.Errorf("mail port %d is not a port", c.Port)
	case (c.Username == "") != (c.Password == ""):
		return errors.New("a mail username and password go together")
	case c.Timeout < 0:
		return fmt.Errorf("mail timeout %s is negative", c.Timeout)
	case c.From == "":
		return errors.New("a mail sender is missing: set From")
	case c.BaseURL == "":
		return errors.New("a base URL is missing; the links in mails begin with it")
	}
	return nil
}

// hostless returns an error if fields about the mail server are set without its host.
func (c Config) hostless() error {
	if c.Port != 0 || c.Username != "" || c.Password != "" || c.TLS != "" || c.CAFile != "" || c.From != "" {
		return errors.New("a mail host is missing")
	}
	return nil
}

func (c Config) tlsConfig() (*tls.Config, error) {
	config := &tls.Config{ServerName: c.Host, MinVersion: tls.VersionTLS12}
	var err error
	if config.RootCAs, err = webaddress.Roots(c.CAFile); err != nil {
		return nil, fmt.Errorf("reading the mail server's CA file: %w", err)
	}
	return config, nil
}

func parseFrom(from string) (*mail.Address, error) {
	address, err := mail.ParseAddress(from)
	if err != nil {
		return nil, fmt.Errorf("reading the mail sender %q: %w", from, err)
	}
	if hasControl(address.Name) {
		return nil, fmt.Errorf("the mail sender's name %q holds a control character", address.Name)
	}
	if err := checkAddress(address.Address); err != nil {
		return nil, fmt.Errorf("the mail sender %q: %w", from, err)
	}
	return address, nil
}

// parseBase reads a base URL: https, or http of this host, with an ASCII host, and without user information, a query and a fragment.
func parseBase(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the base URL: %w", err)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the base URL %q begins with neither https:// nor http://", base)
	case u.User != nil:
		return nil, errors.New("the base URL holds user information")
	case !hostName.MatchString(u.Hostname()) && !isIP(u.Hostname()):
		return nil, fmt.Errorf("the base URL %q has no host in ASCII", base)
	case !webaddress.Private(u):
		return nil, fmt.Errorf("the base URL %q begins with http://, which is for this host alone: tokens are in links", base)
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(base, "#"):
		return nil, fmt.Errorf("the base URL %q has a query or a fragment", base)
	}
	return u, nil
}

// encode percent-encodes everything but letters, digits and "-_.~", so that the value stays the same in a path, a query and a
// fragment.
func encode(value string) string {
	return strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,252}[A-Za-z0-9])?$`)

func isIP(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.Zone() == ""
}
